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
#include "index/seeds.h"

struct build {
	kh_bench *b;
	kh_bench_refs *r;
	bool keep;              /* sample: keep the pairs with the items */
	double pairs;
	kh_store *store;
	kh_pairs sorted[KH_RANGES];
	kh_bins bins;
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

		rc = kh_store_range(u->store, (unsigned)(i % KH_RANGES), &room, &pairs, err);
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
/* A copy of the sorted pairs of a range, which encoding does not leave as they are. */
static int copy_pairs(kh_pairs *to, kh_pair_scratch *room, const kh_pairs *from, kh_err *err)
{
	const int rc = kh_pair_scratch_grow(room, from->n, err);

	*to = (kh_pairs) { .key = room->key, .loc = room->loc, .n = from->n };
	if (!rc && from->n) {
		memcpy(to->key, from->key, from->n * sizeof *to->key);
		memcpy(to->loc, from->loc, from->n * sizeof *to->loc);
	}
	return rc;
}

static int encode_worker(void *arg, unsigned worker, kh_err *err)
{
	struct build *u = arg;
	kh_pair_scratch room = { .key = NULL };
	kh_image im = { .line = NULL };
	kh_pairs pairs;
	int rc = KH_OK;

	(void)worker;
	for (uint64_t i; !rc && kh_bench_take(u->b, &i);) {
		rc = copy_pairs(&pairs, &room, &u->sorted[i % KH_RANGES], err);
		if (!rc)
			rc = kh_seeds_encode(&im, &room, &pairs, &u->bins, err);
		if (rc || !u->keep)
			continue;
		const size_t lines = (size_t)kh_seed_line_bytes(&im.range);

		if (u->image) {
			if (lines)
				memcpy(u->image + u->at[i], im.line, lines);
			if (im.range.words)
				memcpy(u->image + u->at[i] + lines, im.word,
				       im.range.words * sizeof *im.word);
		} else {
			u->at[i + 1] = (size_t)kh_seed_bytes(&im.range);
		}
	}
	kh_pair_scratch_clear(&room);
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
	struct build *u = kh_array(1, sizeof *u, err);
	int rc;

	if (!u)
		return KH_ENOMEM;
	u->b = b;
	u->r = r;
	u->bins = (kh_bins) { .first = r->first, .taxon = r->taxon, .species = r->species,
			      .n_targets = r->n_seq, .n_species = 1,
			      .bits = kh_seed_bits(r->first[r->n_seq]) };
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
