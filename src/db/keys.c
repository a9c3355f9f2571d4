/* keys.c - the sections of a database that genomes can be added to: index/keys.h, and excerpts */
#include <config.h>
#include "db/load_in.h"

#include <stdlib.h>
#include "base/mem.h"
#include "base/threads.h"
#include "index/grow.h"

int kh_db_find_keys(kh_db *db, kh_err *err)
{
	const kh_db_header *h = db->h;
	const void *section = (const char *)db->map + h->keys.at;
	const uint64_t n = h->unmapped;

	if (h->keys.bytes == 0)
		return KH_OK;
	if (!kh_keys_find(&db->keys, section, h->keys.bytes, db->dir, n))
		return kh_db_bad(db, "its keys are not as many as its index has", err);
	for (uint64_t i = 0; i < n; i++)
		if (db->keys.unmapped[i] >= h->sequences ||
		    (i > 0 && db->keys.unmapped[i] <= db->keys.unmapped[i - 1]))
			return kh_db_bad(db, "its sequences without a taxon are out of order", err);
	return KH_OK;
}

int kh_db_find_excerpts(kh_db *db, kh_err *err)
{
	const kh_db_header *h = db->h;
	const kh_db_excerpt *e = kh_db_section(db, KH_SEC_EXCERPTS);
	const uint64_t n = h->excerpts.bytes / sizeof *e;

	for (uint64_t i = 0; i < n; i++)
		if (e[i].seq >= h->sequences || e[i].known != KH_EXCERPT ||
		    (i > 0 && (e[i].seq < e[i - 1].seq ||
			       (e[i].seq == e[i - 1].seq && e[i].number <= e[i - 1].number))))
			return kh_db_bad(db, "its excerpts are damaged", err);
	db->excerpt = n > 0 ? e : NULL;
	db->n_excerpts = n;
	return KH_OK;
}

/* --- all of them ------------------------------------------------------------------ */
struct check {
	kh_old_index old;
	_Atomic unsigned next;
};

static int check_worker(void *arg, unsigned worker, kh_err *err)
{
	struct check *c = arg;
	kh_grow_scratch scratch = { .word = NULL };
	const kh_pairs none = { .n = 0 };
	unsigned range;
	int rc = KH_OK;

	(void)worker;
	while (!rc && (range = c->next++) < KH_RANGES)
		rc = kh_old_join(&c->old, range, &none, c->old.bins, &scratch, err);
	kh_grow_scratch_clear(&scratch);
	return rc;
}

int kh_db_check_keys(const kh_db *db, unsigned threads, kh_err *err)
{
	const uint32_t n = db->h->n_species;
	struct check c = { .old = { .path = db->path, .image = db->image, .dir = db->dir,
				    .keys = &db->keys, .bins = &db->bins,
				    .n_bins = (uint32_t)db->h->bins, .gap = db->h->gap,
				    .tax = db->tax } };
	uint32_t *vote_to;
	int rc;

	if (!db->keys.word)
		return KH_OK;
	vote_to = kh_array(n + (size_t)1, sizeof *vote_to, err);
	if (!vote_to)
		return KH_ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		vote_to[i] = db->bins.first[db->h->n_targets + i];
	c.old.vote_to = vote_to;
	kh_old_steady(&c.old);
	rc = kh_side_by_side(threads, check_worker, &c, err);
	free(vote_to);
	return rc;
}
