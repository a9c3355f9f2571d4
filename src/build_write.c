/* build_write.c - the database file of a build, section by section */
#include <config.h>
#include "build_in.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "mem.h"

static int sink(void *arg, const kh_image *im, kh_err *err)
{
	static const char zero[64];
	struct build *b = arg;
	kh_range *r = &b->dir[b->ranges++];
	size_t buckets = (size_t)(im->range.buckets + 1) * sizeof *im->bucket;
	size_t locs = (size_t)im->range.n_locs * sizeof *im->loc;
	int rc = kh_db_append(b->w, im->bucket, buckets, err);

	if (!rc)
		rc = kh_db_append(b->w, im->loc, locs, err);
	*r = im->range;
	if (!rc)
		rc = kh_db_append(b->w, zero, (size_t)kh_range_bytes(r) - buckets - locs, err);
	r->first_bucket = b->image_bytes / 64;
	r->first_loc = (b->image_bytes + buckets) / 4;
	b->image_bytes += kh_range_bytes(r);
	b->sum->header.locations += im->locations;
	b->sum->header.features += r->keys;
	b->sum->header.entries += r->entries;
	b->sum->header.over += r->over;
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

/* Digests that the backend made. */
static int fetch_digests(struct build *b, kh_err *err)
{
	uint64_t *sum = kh_array(b->refs.n, sizeof *sum, err);
	int rc = sum ? b->choice.backend->builder_digests(b->builder, sum, err) : KH_ENOMEM;

	for (size_t i = 0; i < b->refs.n && !rc; i++)
		b->refs.ref[i].digest += sum[i];
	free(sum);
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
	for (unsigned i = 0; i < b->o->threads; i++)
		for (size_t j = 0; j < b->worker[i].n; j++)
			b->refs.ref[b->worker[i].part[j].seq].digest += b->worker[i].part[j].digest;
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

int kh_build_write(struct build *b, kh_err *err)
{
	kh_db_header *h = &b->sum->header;
	kh_bins bins = { b->n_targets, b->first, b->taxon };
	kh_remap remap = { { (uint32_t)b->refs.n, b->old_first, NULL }, b->to };
	kh_finish f = { &bins, b->tax, b->n_targets < b->refs.n ? &remap : NULL, sink, b, ready };
	struct indexing x = { b, &f };
	double t = kh_seconds();
	int rc;

	b->dir = kh_array(KH_RANGES, sizeof *b->dir, err);
	if (!b->dir)
		return KH_ENOMEM;
	rc = b->choice.backend->builder_digests ? fetch_digests(b, err) : KH_OK;
	if (rc)
		return rc;
	describe(b);
	if ((rc = kh_db_begin(b->w, KH_SEC_INDEX, err)) ||
	    (rc = kh_db_with_helper(b->w, write_index, &x, err)) ||
	    (rc = kh_db_begin(b->w, KH_SEC_DIR, err)) ||
	    (rc = kh_db_append(b->w, b->dir, KH_RANGES * sizeof *b->dir, err)) ||
	    (rc = write_taxa(b, err)) || (rc = write_targets(b, err)) ||
	    (rc = write_ids(b, KH_SEC_IDS, true, err)) ||
	    (rc = write_ids(b, KH_SEC_UNMAPPED, false, err)))
		return rc;
	kh_minima(h, h->minima);
	kh_progress_end();
	rc = kh_db_commit(b->w, h, err);
	b->sum->seconds_write = kh_seconds() - t;
	return rc;
}
