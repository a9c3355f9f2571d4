/* write_db.c - the database file of a build, section by section */
#include <config.h>
#include "build/build_in.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "base/mem.h"
#include "base/progress.h"

static const char zero[64];             /* a range ends at a multiple of 64 */

/* With one process, a range is written to the file at once. */
static int write_range(struct build *b, const kh_image *im, const size_t bytes[3], kh_err *err)
{
	int rc = kh_db_append(b->out.w, im->bucket, bytes[0], err);

	if (!rc)
		rc = kh_db_append(b->out.w, im->loc, bytes[1], err);
	return rc ? rc : kh_db_append(b->out.w, zero, bytes[2], err);
}

/* With several, it is kept until its place in the file is known. */
static int keep_range(struct build *b, const kh_image *im, const size_t bytes[3], kh_err *err)
{
	const size_t n = bytes[0] + bytes[1] + bytes[2];
	char *p = malloc(n);

	if (!p)
		return kh_fail(err, KH_ENOMEM, "out of memory: %zu bytes", n);
	memcpy(p, im->bucket, bytes[0]);
	if (bytes[1] > 0)
		memcpy(p + bytes[0], im->loc, bytes[1]);
	memset(p + bytes[0] + bytes[1], 0, bytes[2]);
	b->out.kept[b->out.ranges] = (kh_db_stretch) { p, n };
	return KH_OK;
}

/* What a range forgets of its keys goes behind the index, where classifying does not read it. */
static int keep_keys(struct build *b, const kh_image *im, kh_err *err)
{
	const size_t bytes = im->n_rest * sizeof *im->rest;
	char *p = malloc(bytes ? bytes : 1);

	if (!p)
		return kh_fail_nomem(err);
	if (bytes > 0)
		memcpy(p, im->rest, bytes);
	b->out.keys[b->out.ranges] = (kh_db_stretch) { p, bytes };
	b->out.n_full[b->out.ranges] = im->n_full;
	b->out.keys_bytes += bytes;
	return KH_OK;
}

static int write_counted_range(struct build *b, const kh_image *im, kh_err *err)
{
	kh_range *r = &b->out.dir[b->out.ranges];
	const size_t buckets = (size_t)(im->range.buckets + 1) * sizeof *im->bucket;
	const uint32_t bits = b->taxa.bins.bins.bits;
	const size_t locs = (size_t)kh_words_bytes(im->range.n_locs, bits);
	const size_t bytes[3] = { buckets, locs,
				  (size_t)kh_range_bytes(&im->range, bits) - buckets - locs };
	int rc = b->o->comm ? keep_range(b, im, bytes, err) : write_range(b, im, bytes, err);

	if (!rc && b->o->growable)
		rc = keep_keys(b, im, err);
	*r = im->range;
	r->first_bucket = b->out.image_bytes / 64;
	r->first_loc = (b->out.image_bytes + buckets) / 4;
	b->out.image_bytes += kh_range_bytes(r, bits);
	return rc;
}

static int write_seeds(struct build *b, const kh_image *im, kh_err *err)
{
	kh_seed_range *r = &b->out.seeds[b->out.ranges];
	const size_t lines = (size_t)kh_seed_line_bytes(&im->seeds);
	const size_t lists = (size_t)im->seeds.words * sizeof *im->loc;
	const size_t bytes[3] = { lines, lists,
				  (size_t)kh_seed_bytes(&im->seeds) - lines - lists };

	*r = im->seeds;
	r->first_line = b->out.image_bytes / 64;
	r->first_word = (b->out.image_bytes + lines) / 4;
	b->out.image_bytes += kh_seed_bytes(r);
	return write_range(b, im, bytes, err);
}

static int sink(void *arg, const kh_image *im, kh_err *err)
{
	struct build *b = arg;
	const int rc = b->o->text ? write_seeds(b, im, err) : write_counted_range(b, im, err);

	b->sum->header.locations += im->locations;
	b->out.ranges++;
	kh_progress(&(kh_step) { .doing = "wrote",
				 .things = "ranges of the index",
				 .started = b->out.started,
				 .done = b->out.ranges,
				 .total = b->o->comm ? 0 : KH_RANGES });
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

/* Numbers of the sequences that are no targets, among all. */
static int write_unmapped_numbers(struct build *b, kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = 0; i < b->refs.n && !rc; i++) {
		const uint32_t number = (uint32_t)i;

		if (b->taxa.to[i] == KH_DROP)
			rc = kh_db_append(b->out.w, &number, sizeof number, err);
	}
	return rc;
}

static int write_keys(struct build *b, kh_err *err)
{
	struct file *f = &b->out;
	int rc = kh_db_begin(f->w, KH_SEC_KEYS, err);

	if (!rc)
		rc = kh_db_append(f->w, f->n_full, KH_RANGES * sizeof *f->n_full, err);
	if (!rc)
		rc = write_unmapped_numbers(b, err);
	for (unsigned r = 0; r < KH_RANGES && !rc; r++)
		rc = kh_db_append(f->w, f->keys[r].p, f->keys[r].n, err);
	return rc;
}

static void count_features(const struct build *b, kh_db_header *h)
{
	for (unsigned i = 0; i < KH_RANGES; i++) {
		const kh_range *r = &b->out.dir[i];
		const kh_seed_range *s = &b->out.seeds[i];

		h->features += b->o->text ? s->seeds : r->keys;
		h->entries += b->o->text ? s->seeds : r->entries;
		h->over += b->o->text ? s->over : r->over;
	}
}

/* The digest goes on where that of the database that this one adds to ended. */
static void describe(struct build *b)
{
	kh_db_header *h = &b->sum->header;
	const kh_db_header *base = b->o->base ? b->o->base->h : NULL;

	kh_db_set_sampling(h, &b->sampling);
	h->runs = 1;
	h->max_bytes = b->o->max_db_size;
	h->max_span = b->o->max_span;
	h->gap = b->gap;
	h->max_locations = b->o->max_locations;
	h->word_bits = b->taxa.bins.bins.bits;
	h->n_species = b->taxa.bins.bins.n - b->taxa.bins.bins.n_targets;
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
	kh_db_header *h = &b->sum->header;
	const void *dir = b->o->text ? (void *)b->out.seeds : b->out.dir;
	const size_t record = b->o->text ? sizeof *b->out.seeds : sizeof *b->out.dir;
	int rc;

	describe(b);
	if ((rc = kh_db_begin(b->out.w, KH_SEC_DIR, err)) ||
	    (rc = kh_db_append(b->out.w, dir, KH_RANGES * record, err)) ||
	    (rc = kh_build_text_write(b, err)) || (rc = kh_build_translated_write(b, err)) ||
	    (rc = write_taxa(b, err)) || (rc = write_targets(b, err)) ||
	    (rc = write_ids(b, KH_SEC_IDS, true, err)) ||
	    (rc = write_ids(b, KH_SEC_UNMAPPED, false, err)) ||
	    (rc = b->o->growable ? write_keys(b, err) : KH_OK))
		return rc;
	kh_minima(h, h->minima);
	kh_progress_end();
	if (!kh_build_tells(b))
		return KH_OK;
	rc = kh_build_excerpts_write(b, err);
	return rc ? rc : kh_build_told(b, err);
}

/* Makes the index of this process's share of the pairs; with one process, a second thread makes
 * the checksums meanwhile. */
static int make_index(struct build *b, kh_err *err)
{
	const struct taxa *t = &b->taxa;
	const bool moved = !b->o->text && (b->o->comm || t->n_targets < b->refs.n);
	const kh_remap remap = { .old = { .n = (uint32_t)b->mine.n_own, .first = t->old_first },
				 .to = t->to + b->mine.first_seq };
	const kh_finish f = { .bins = &t->bins.bins,
			      .tax = t->tax,
			      .remap = moved ? &remap : NULL,
			      .sink = sink,
			      .arg = b,
			      .ready = ready,
			      .old = b->o->base && !b->o->text ? &b->base.old : NULL,
			      .keep_keys = b->o->growable };
	struct indexing x = { .b = b, .f = &f };

	return b->o->comm ? write_index(&x, err)
			  : kh_db_with_helper(b->out.w, write_index, &x, err);
}

int kh_build_write(struct build *b, kh_err *err)
{
	kh_comm *c = b->o->comm;
	struct file *out = &b->out;
	const double t = kh_seconds();
	int rc = KH_OK;

	out->started = t;
	out->dir = kh_array(KH_RANGES, sizeof *out->dir, err);
	if (!out->dir || (c && !(out->kept = kh_array(KH_RANGES, sizeof *out->kept, err))))
		return KH_ENOMEM;
	out->seeds = kh_array(KH_RANGES, sizeof *out->seeds, err);
	out->keys = kh_array(KH_RANGES, sizeof *out->keys, err);
	out->n_full = kh_array(KH_RANGES, sizeof *out->n_full, err);
	if (!out->seeds || !out->keys || !out->n_full)
		return KH_ENOMEM;
	if (kh_comm_self(c) == 0)
		rc = kh_db_begin(out->w, KH_SEC_INDEX, err);
	if (!rc)
		rc = make_index(b, err);
	if (!rc)
		rc = kh_build_join(b, err);
	if (!rc)
		rc = kh_build_gather_excerpts(b, err);
	if (!rc && kh_comm_self(c) == 0)
		rc = write_rest(b, err);
	b->sum->seconds_write += kh_seconds() - t;
	return rc;
}

int kh_build_commit(struct build *b, kh_err *err)
{
	kh_comm *c = b->o->comm;
	const double t = kh_seconds();
	int rc = KH_OK;

	if (b->o->base)
		rc = kh_db_unchanged(b->o->base, err);
	if (!rc && kh_comm_self(c) == 0)
		rc = kh_db_commit(b->out.w, &b->sum->header, err);
	/* exit status 0 of any process has to mean that the file is there */
	if (!rc && c)
		rc = kh_comm_barrier(c, err);
	b->sum->seconds_write += kh_seconds() - t;
	return rc;
}
