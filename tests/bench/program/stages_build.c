/*
 * stages_build.c - what the CPU does in a build, between reading and writing
 *
 *	sample, partition       by blocks of the references
 *	sort, encode            by ranges of the index
 *	write                   the index that came out
 */
#include <config.h>
#include "tests/bench/program/bench_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "index/pairs.h"

struct build {
	kh_bench *b;
	kh_bench_refs *r;
	bool keep;              /* sample: keep the pairs with the items */
	double pairs;
	kh_store *store;
	kh_pairs sorted[KH_RANGES];
	kh_bins bins;
	kh_taxonomy tax;
	char *image;            /* KH_RANGES images in a row; NULL: not kept */
	size_t at[KH_RANGES + 1];
};

/* --- sample ----------------------------------------------------------------------- */
static int keep(kh_pairs *to, const kh_pairs *from, kh_err *err)
{
	to->n = from->n;
	to->key = kh_array(to->n, sizeof *to->key, err);
	to->loc = kh_array(to->n, sizeof *to->loc, err);
	if (!to->key || !to->loc)
		return KH_ENOMEM;
	if (to->n) {
		memcpy(to->key, from->key, to->n * sizeof *to->key);
		memcpy(to->loc, from->loc, to->n * sizeof *to->loc);
	}
	return KH_OK;
}

static int sample_worker(void *arg, unsigned worker, kh_err *err)
{
	const struct build *u = arg;
	kh_features made = { .key = NULL };
	int rc = KH_OK;

	(void)worker;
	for (uint64_t i; !rc && kh_bench_take(u->b, &i);) {
		kh_bench_item *x = &u->r->item[i % u->r->n];
		const kh_block_pieces s = { .bases = x->bases, .amb = x->amb, .n_words = x->n_words,
				      .piece = x->piece, .n = x->n };

		rc = kh_pieces_features(&made, &s, &u->r->sampling, err);
		const kh_pairs pairs = { .key = made.key, .loc = made.bin, .n = made.n };
		if (!rc && u->keep)
			rc = keep(&x->pairs, &pairs, err);
	}
	free(made.key);
	free(made.bin);
	return rc;
}

static int sample_all(void *arg, kh_bench_pass *p, kh_err *err)
{
	struct build *u = arg;

	return kh_bench_threads(u->b, p, u->r->n, sample_worker, u, err);
}

/* --- partition -------------------------------------------------------------------- */
static int add_worker(void *arg, unsigned worker, kh_err *err)
{
	const struct build *u = arg;
	int rc = KH_OK;

	(void)worker;
	for (uint64_t i; !rc && kh_bench_take(u->b, &i);) {
		const kh_bench_item *x = &u->r->item[i % u->r->n];

		rc = kh_store_add(u->store, i, x->pairs.key, x->pairs.loc, x->pairs.n, err);
	}
	return rc;
}

/* Partitions; the store of the last run is kept. */
static int partition(void *arg, kh_bench_pass *p, kh_err *err)
{
	struct build *u = arg;
	int rc;

	kh_store_free(u->store);
	u->store = NULL;
	rc = kh_store_new(&u->store, 0, u->b->folder, err);
	return rc ? rc : kh_bench_threads(u->b, p, u->r->n, add_worker, u, err);
}

/* --- sort ------------------------------------------------------------------------- */
static int sort_worker(void *arg, unsigned worker, kh_err *err)
{
	struct build *u = arg;
	kh_pair_scratch room = { .key = NULL };
	int rc = KH_OK;

	(void)worker;
	for (uint64_t i; !rc && kh_bench_take(u->b, &i);) {
		kh_pairs pairs;

		rc = kh_store_range(u->store, (unsigned)(i % KH_RANGES), NULL, &room, &pairs, err);
		if (!rc && u->keep)
			rc = keep(&u->sorted[i], &pairs, err);
	}
	kh_pair_scratch_clear(&room);
	return rc;
}

static int sort_all(void *arg, kh_bench_pass *p, kh_err *err)
{
	struct build *u = arg;

	return kh_bench_threads(u->b, p, KH_RANGES, sort_worker, u, err);
}

/* --- encode ----------------------------------------------------------------------- */
static int encode_worker(void *arg, unsigned worker, kh_err *err)
{
	struct build *u = arg;
	kh_image im = { .bucket = NULL };
	int rc = KH_OK;

	(void)worker;
	for (uint64_t i; !rc && kh_bench_take(u->b, &i);) {
		rc = kh_index_encode(&im, &u->sorted[i % KH_RANGES], &u->bins, &u->tax, err);
		if (rc || !u->keep)
			continue;
		size_t buckets = (size_t)(im.range.buckets + 1) * sizeof *im.bucket;

		if (u->image) {
			memcpy(u->image + u->at[i], im.bucket, buckets);
			memcpy(u->image + u->at[i] + buckets, im.loc,
			       im.range.n_locs * sizeof *im.loc);
		} else {
			u->at[i + 1] = (size_t)kh_range_bytes(&im.range, 32);
		}
	}
	kh_image_clear(&im);
	return rc;
}

static int encode_all(void *arg, kh_bench_pass *p, kh_err *err)
{
	struct build *u = arg;

	return kh_bench_threads(u->b, p, KH_RANGES, encode_worker, u, err);
}

/* Makes the whole image: ranges are encoded once for their sizes and once for their bytes. */
static int make_image(struct build *u, kh_err *err)
{
	kh_bench_pass once = { u->b->o->threads, 1, 0 };
	int rc;

	u->keep = true;
	rc = encode_all(u, &once, err);
	for (int i = 0; i < KH_RANGES; i++)
		u->at[i + 1] += u->at[i];
	if (!rc) {
		u->image = kh_array(u->at[KH_RANGES], 1, err);
		rc = u->image ? encode_all(u, &once, err) : KH_ENOMEM;
	}
	u->keep = false;
	return rc;
}

/* --- all -------------------------------------------------------------------------- */
/* Runs a stage once more, to keep what the next stage begins with. */
static int once(struct build *u, kh_bench_fn *fn, kh_err *err)
{
	kh_bench_pass p = { u->b->o->threads, 1, 0 };
	int rc;

	u->keep = true;
	rc = fn(u, &p, err);
	u->keep = false;
	return rc;
}

/* The least that each pair moves in and out of memory: 12 bytes, and 5 of the index. */
static kh_bench_limit moved(const kh_bench *b, double bytes)
{
	return (kh_bench_limit) { b->memory.rate / bytes, b->memory.of };
}

static int stages(struct build *u, kh_err *err)
{
	kh_bench *b = u->b;
	kh_bench_stage s = { "build: sample", &kh_unit_bases, (double)u->r->starts, { 0, NULL },
			     sample_all, u, false };
	int rc = once(u, sample_all, err);

	for (size_t i = 0; i < u->r->n; i++)
		u->pairs += (double)u->r->item[i].pairs.n;
	s.limit = moved(b, 0.375 + 12 * u->pairs / s.amount);
	if (!rc)
		rc = kh_bench_measure(b, &s, NULL, err);
	if (!rc && u->pairs == 0)
		rc = kh_fail(err, KH_EFORMAT, "the references have no feature");
	if (rc)
		return rc;
	const kh_bench_stage part = { "build: partition",
				      &kh_unit_pairs,
				      u->pairs,
				      moved(b, 24),
				      partition,
				      u,
				      false },
			     sort = { "build: gather, sort",
				      &kh_unit_pairs,
				      u->pairs,
				      moved(b, 24),
				      sort_all,
				      u,
				      false },
			     encode = { "build: encode",
					&kh_unit_pairs,
					u->pairs,
					moved(b, 12 + 5),
					encode_all,
					u,
					false };
	if ((rc = kh_bench_measure(b, &part, NULL, err)) || (rc = once(u, partition, err)) ||
	    (rc = kh_bench_measure(b, &sort, NULL, err)) || (rc = once(u, sort_all, err)))
		return rc;
	rc = kh_bench_measure(b, &encode, NULL, err);
	if (!rc)
		rc = make_image(u, err);
	return rc ? rc : kh_bench_write_index(b, u->image, u->at[KH_RANGES], err);
}

int kh_bench_build_cpu(kh_bench *b, kh_bench_refs *r, kh_err *err)
{
	uint32_t zero = 0, one = 1;
	struct build *u = kh_array(1, sizeof *u, err);
	int rc;

	if (!u)
		return KH_ENOMEM;
	u->b = b;
	u->r = r;
	u->bins = (kh_bins) { .n = r->n_seq, .first = r->first, .taxon = r->taxon,
			      .n_targets = r->n_seq, .votes = KH_NO_BIN };
	u->tax = (kh_taxonomy) { .n = 1, .taxid = &one, .parent = &zero, .end = &one };
	rc = stages(u, err);
	kh_store_free(u->store);
	for (int i = 0; i < KH_RANGES; i++) {
		free(u->sorted[i].key);
		free(u->sorted[i].loc);
	}
	free(u->image);
	free(u);
	return rc;
}
