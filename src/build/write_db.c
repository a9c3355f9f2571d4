/* write_db.c - the database file of a build, section by section */
#include <config.h>
#include "build/build_in.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "base/mem.h"
#include "base/progress.h"

static const char zero[64];             /* a range ends at a multiple of 64 */

/* Writes a range behind those before it. */
static int sink(void *arg, const kh_image *im, kh_err *err)
{
	struct build *b = arg;
	kh_seed_range *r = &b->out.dir[b->out.ranges++];
	const size_t lines = (size_t)kh_seed_line_bytes(&im->range);
	const size_t lists = (size_t)im->range.words * sizeof *im->word;
	int rc = kh_db_append(b->out.w, im->line, lines, err);

	if (!rc)
		rc = kh_db_append(b->out.w, im->word, lists, err);
	if (!rc)
		rc = kh_db_append(b->out.w, zero, (size_t)kh_seed_bytes(&im->range) - lines - lists,
				  err);
	*r = im->range;
	r->first_line = b->out.image_bytes / 64;
	r->first_word = (b->out.image_bytes + lines) / 4;
	b->out.image_bytes += kh_seed_bytes(r);
	b->sum->header.locations += im->locations;
	kh_progress(&(kh_step) { .doing = "wrote",
				 .things = "ranges of the index",
				 .started = b->out.started,
				 .done = b->out.ranges,
				 .total = KH_RANGES });
	return rc;
}

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

		if ((b->taxa.to[i] != KH_DROP) == targets)
			rc = kh_db_append(b->out.w, id, strlen(id) + 1, err);
	}
	return rc;
}

static void count_features(const struct build *b, kh_db_header *h)
{
	for (unsigned i = 0; i < KH_RANGES; i++) {
		h->features += b->out.dir[i].seeds;
		h->over += b->out.dir[i].over;
	}
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
	h->n_taxa = b->taxa.tax->n;
	count_features(b, h);
	h->unmapped_bases = base ? base->unmapped_bases : 0;
	h->digest = base ? base->digest : 0;
	for (size_t i = 0; i < b->refs.n; i++) {
		const char *id = kh_refs_id(&b->refs, i);
		const kh_ref *r = &b->refs.ref[i];

		if (b->taxa.to[i] == KH_DROP)
			h->unmapped_bases += r->bases;
		if (i < b->base.n)
			continue;
		h->digest = kh_fmix64(h->digest ^ XXH3_64bits(id, strlen(id)));
		h->digest = kh_fmix64(h->digest ^ r->digest) ^ r->bases;
	}
}

static void ready(void *arg)
{
	struct build *b = arg;

	b->sum->seconds_ready = kh_seconds() - b->in.begun;
}

struct indexing {
	struct build *b;
	const kh_finish *f;
};

static int write_index(void *arg, kh_err *err)
{
	const struct indexing *x = arg;

	return x->b->on.choice.backend->build.finish(x->b->in.builder, x->f, err);
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
	const kh_finish f = { .bins = &b->taxa.bins.bins, .sink = sink, .arg = b, .ready = ready };
	struct indexing x = { .b = b, .f = &f };
	struct file *out = &b->out;
	const double t = kh_seconds();
	int rc;

	out->started = t;
	out->dir = kh_array(KH_RANGES, sizeof *out->dir, err);
	rc = out->dir ? kh_db_begin(out->w, KH_SEC_INDEX, err) : KH_ENOMEM;
	if (!rc)        /* a second thread makes the checksums meanwhile */
		rc = kh_db_with_helper(out->w, write_index, &x, err);
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
