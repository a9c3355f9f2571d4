/* build_write.c - the database file of a build, section by section */
#include <config.h>
#include "build_in.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "mem.h"

static const char zero[64];             /* a range ends at a multiple of 64 */

/* Of one rank, a range goes to the file at once. */
static int write_range(struct build *b, const kh_image *im, const size_t bytes[3], kh_err *err)
{
	int rc = kh_db_append(b->w, im->bucket, bytes[0], err);

	if (!rc)
		rc = kh_db_append(b->w, im->loc, bytes[1], err);
	return rc ? rc : kh_db_append(b->w, zero, bytes[2], err);
}

/* Of several, it is kept until it is known what goes before it. */
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
	b->kept[b->ranges] = (kh_db_stretch) { p, n };
	return KH_OK;
}

static int sink(void *arg, const kh_image *im, kh_err *err)
{
	struct build *b = arg;
	kh_range *r = &b->dir[b->ranges];
	const size_t buckets = (size_t)(im->range.buckets + 1) * sizeof *im->bucket;
	const size_t locs = (size_t)im->range.n_locs * sizeof *im->loc;
	const size_t bytes[3] = { buckets, locs, (size_t)kh_range_bytes(&im->range) - buckets - locs };
	int rc = b->o->comm ? keep_range(b, im, bytes, err) : write_range(b, im, bytes, err);

	*r = im->range;
	r->first_bucket = b->image_bytes / 64;
	r->first_loc = (b->image_bytes + buckets) / 4;
	b->image_bytes += kh_range_bytes(r);
	b->sum->header.locations += im->locations;
	b->ranges++;
	kh_progress("wrote range %u of %d", b->ranges, KH_RANGES);
	return rc;
}

static int write_taxa(struct build *b, kh_err *err)
{
	const kh_taxonomy *t = b->tax;
	int rc = kh_db_begin(b->w, KH_SEC_TAXA, err);

	for (uint32_t i = 0; i < t->n && !rc; i++) {
		kh_db_taxon x = { t->taxid[i], t->parent[i], t->end[i], t->rank[i], t->name[i] };

		rc = kh_db_append(b->w, &x, sizeof x, err);
	}
	if (!rc && !(rc = kh_db_begin(b->w, KH_SEC_NAMES, err)))
		rc = kh_db_append(b->w, t->names, t->names_len, err);
	return rc;
}

static int write_targets(struct build *b, kh_err *err)
{
	uint64_t id = 0;
	int rc = kh_db_begin(b->w, KH_SEC_TARGETS, err);

	for (uint32_t i = 0; i < b->n_targets && !rc; i++) {
		const kh_ref *r = &b->refs.ref[b->target[i]];
		kh_db_target x = { b->first[i], b->taxon[i], r->bases, r->digest, id };

		b->sum->header.bases += r->bases;
		id += strlen(kh_refs_id(&b->refs, b->target[i])) + 1;
		rc = kh_db_append(b->w, &x, sizeof x, err);
	}
	return rc;
}

/* Ids of the sequences that are targets, or of those that are not. */
static int write_ids(struct build *b, enum kh_section s, bool targets, kh_err *err)
{
	int rc = kh_db_begin(b->w, s, err);

	for (size_t i = 0; i < b->refs.n && !rc; i++) {
		const char *id = kh_refs_id(&b->refs, i);

		if ((b->to[i] != KH_DROP) == targets)
			rc = kh_db_append(b->w, id, strlen(id) + 1, err);
	}
	return rc;
}

static void describe(struct build *b)
{
	kh_db_header *h = &b->sum->header;

	h->sketch = b->sketch;
	h->max_span = b->o->max_span;
	h->gap = b->gap;
	h->sequences = b->refs.n;
	h->unmapped = b->refs.n - b->n_targets;
	h->n_targets = b->n_targets;
	h->n_taxa = b->tax->n;
	for (unsigned i = 0; i < KH_RANGES; i++) {
		h->features += b->dir[i].keys;
		h->entries += b->dir[i].entries;
		h->over += b->dir[i].over;
	}
	for (size_t i = 0; i < b->refs.n; i++) {
		const char *id = kh_refs_id(&b->refs, i);
		const kh_ref *r = &b->refs.ref[i];

		if (b->to[i] == KH_DROP)
			h->unmapped_bases += r->bases;
		h->digest = kh_fmix64(h->digest ^ XXH3_64bits(id, strlen(id)));
		h->digest = kh_fmix64(h->digest ^ r->digest) ^ r->bases;
	}
}

static void ready(void *arg)
{
	struct build *b = arg;

	b->sum->seconds_ready = kh_seconds() - b->begun;
}

struct indexing {
	struct build *b;
	const kh_finish *f;
};

static int write_index(void *arg, kh_err *err)
{
	const struct indexing *x = arg;

	return x->b->choice.backend->builder_finish(x->b->builder, x->f, err);
}

/* All that stands behind the index; the file is complete. */
static int write_rest(struct build *b, kh_err *err)
{
	kh_db_header *h = &b->sum->header;
	int rc;

	describe(b);
	if ((rc = kh_db_begin(b->w, KH_SEC_DIR, err)) ||
	    (rc = kh_db_append(b->w, b->dir, KH_RANGES * sizeof *b->dir, err)) ||
	    (rc = write_taxa(b, err)) || (rc = write_targets(b, err)) ||
	    (rc = write_ids(b, KH_SEC_IDS, true, err)) ||
	    (rc = write_ids(b, KH_SEC_UNMAPPED, false, err)))
		return rc;
	kh_minima(h, h->minima);
	kh_progress_end();
	return kh_db_commit(b->w, h, err);
}

int kh_build_write(struct build *b, kh_err *err)
{
	kh_comm *c = b->o->comm;
	kh_bins bins = { b->n_targets, b->first, b->taxon };
	kh_remap remap = { { (uint32_t)b->n_own, b->old_first, NULL }, b->to + b->first_seq };
	kh_finish f = { &bins, b->tax, c || b->n_targets < b->refs.n ? &remap : NULL, sink, b, ready };
	struct indexing x = { b, &f };
	double t = kh_seconds();
	int rc = KH_OK;

	b->dir = kh_array(KH_RANGES, sizeof *b->dir, err);
	if (!b->dir || (c && !(b->kept = kh_array(KH_RANGES, sizeof *b->kept, err))))
		return KH_ENOMEM;
	if (kh_comm_rank(c) == 0)
		rc = kh_db_begin(b->w, KH_SEC_INDEX, err);
	if (!rc)
		rc = c ? write_index(&x, err) : kh_db_with_helper(b->w, write_index, &x, err);
	if (!rc)
		rc = kh_build_join(b, err);
	if (!rc && kh_comm_rank(c) == 0)
		rc = write_rest(b, err);
	if (!rc && c)                   /* exit status 0 of any rank means: it is there */
		rc = kh_comm_barrier(c, err);
	b->sum->seconds_write = kh_seconds() - t;
	return rc;
}
