/* write_db.c - the database file of a build, section by section */
#include <config.h>
#include "build/build_in.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "base/mem.h"
#include "base/progress.h"

static int write_taxa(struct build *b, kh_err *err)
{
	const kh_taxonomy *t = b->taxa.tax;
	int rc = kh_db_begin(b->out.w, KH_SEC_TAXA, err);

	for (uint32_t i = 0; i < t->n && !rc; i++) {
		kh_db_taxon x = { t->taxid[i], t->parent[i], t->end[i], t->rank[i], t->name[i] };

		rc = kh_db_append(b->out.w, &x, sizeof x, err);
	}
	if (!rc && !(rc = kh_db_begin(b->out.w, KH_SEC_NAMES, err)))
		rc = kh_db_append(b->out.w, t->names, t->names_len, err);
	return rc;
}

static int write_targets(struct build *b, kh_err *err)
{
	uint64_t id = 0;
	int rc = kh_db_begin(b->out.w, KH_SEC_TARGETS, err);

	for (uint32_t i = 0; i < b->taxa.n_targets && !rc; i++) {
		const kh_ref *r = &b->refs.ref[b->taxa.target[i]];
		kh_db_target x = { b->taxa.first[i], b->taxa.taxon[i], r->bases, r->digest, id };

		b->sum->header.bases += r->bases;
		id += strlen(kh_refs_id(&b->refs, b->taxa.target[i])) + 1;
		rc = kh_db_append(b->out.w, &x, sizeof x, err);
	}
	return rc;
}

/* Writes the ids of the sequences that are targets, or of those that are not. */
static int write_ids(struct build *b, enum kh_section s, bool targets, kh_err *err)
{
	int rc = kh_db_begin(b->out.w, s, err);

	for (size_t i = 0; i < b->refs.n && !rc; i++) {
		const char *id = kh_refs_id(&b->refs, i);

		if (b->taxa.dropped[i] != targets)
			rc = kh_db_append(b->out.w, id, strlen(id) + 1, err);
	}
	return rc;
}

/* The digest goes on where that of the database that this one adds to ended. */
static void describe(struct build *b)
{
	kh_db_header *h = &b->sum->header;
	const kh_db_header *base = b->o->base ? b->o->base->h : NULL;

	kh_db_set_sampling(h, &b->sampling);
	h->max_bytes = b->o->max_db_size;
	h->word_bits = b->taxa.bins.bins.bits;
	h->sequences = b->refs.n;
	h->unmapped = b->refs.n - b->taxa.n_targets;
	h->n_targets = b->taxa.n_targets;
	b->sum->species = b->taxa.bins.bins.n_species;
	h->n_taxa = b->taxa.tax->n;
	for (unsigned i = 0; i < KH_RANGES; i++) {
		h->features += b->out.dir[i].seeds;
		h->over += b->out.dir[i].over;
	}
	h->unmapped_bases = base ? base->unmapped_bases : 0;
	h->digest = base ? base->digest : 0;
	for (size_t i = 0; i < b->refs.n; i++) {
		const char *id = kh_refs_id(&b->refs, i);
		const kh_ref *r = &b->refs.ref[i];

		if (b->taxa.dropped[i])
			h->unmapped_bases += r->bases;
		if (i < b->base.n)
			continue;
		h->digest = kh_fmix64(h->digest ^ XXH3_64bits(id, strlen(id)));
		h->digest = kh_fmix64(h->digest ^ r->digest) ^ r->bases;
	}
}

/* Writes the sections behind the index. */
static int write_rest(struct build *b, kh_err *err)
{
	int rc;

	describe(b);
	if ((rc = kh_db_begin(b->out.w, KH_SEC_DIR, err)) ||
	    (rc = kh_db_append(b->out.w, b->out.dir, KH_RANGES * sizeof *b->out.dir, err)) ||
	    (rc = kh_build_text_write(b, err)) || (rc = kh_build_translated_write(b, err)) ||
	    (rc = write_taxa(b, err)) || (rc = write_targets(b, err)) ||
	    (rc = write_ids(b, KH_SEC_IDS, true, err)) ||
	    (rc = write_ids(b, KH_SEC_UNMAPPED, false, err)))
		return rc;
	kh_progress_end();
	return KH_OK;
}

int kh_build_write(struct build *b, kh_err *err)
{
	const double t = kh_seconds();
	int rc = kh_build_index_write(b, err);

	if (!rc)
		rc = write_rest(b, err);
	b->sum->seconds_write += kh_seconds() - t;
	return rc;
}

int kh_build_commit(struct build *b, kh_err *err)
{
	const double t = kh_seconds();
	int rc = b->o->base ? kh_db_unchanged(b->o->base, err) : KH_OK;

	if (!rc)
		rc = kh_db_commit(b->out.w, &b->sum->header, err);
	b->sum->seconds_write += kh_seconds() - t;
	return rc;
}
