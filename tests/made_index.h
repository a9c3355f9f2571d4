/* made_index.h - a range of the index made of chosen keys, and the tree it needs */
#ifndef KH_TEST_MADE_INDEX_H
#define KH_TEST_MADE_INDEX_H

#include <string.h>
#include "index/index.h"
#include "load_tree.h"

/* --- a tree of 11 taxa: root; two genera with two species each; strains ----------- */
enum { N_TAXA = 11, N_TARGETS = 9, TARGET_BINS = 120, GAP = 10, N_SPECIES = 5,
       WORD_BITS = 11, /* N_BINS is above 1024 */
       VOTES = N_TARGETS * (TARGET_BINS + GAP), N_BINS = VOTES + N_SPECIES * (1 + GAP) };

static const uint32_t tree_taxid[N_TAXA] = { 1, 10, 100, 1000, 1001, 101, 20, 200, 2000, 201, 30 };
static const uint32_t tree_parent[N_TAXA] = { 0, 0, 1, 2, 2, 1, 0, 6, 7, 6, 0 };
static const uint32_t tree_end[N_TAXA] = { 11, 6, 5, 4, 5, 6, 10, 9, 9, 10, 11 };
static const uint32_t target_taxon[N_TARGETS] = { 3, 4, 5, 8, 9, 10, 3, 2, 8 };
/* the species that have targets, and that of each target */
static const uint32_t species_taxon[N_SPECIES] = { 2, 5, 7, 9, 10 };
static const uint32_t target_species[N_TARGETS] = { 0, 0, 1, 2, 3, 4, 0, 0, 2 };

static inline kh_taxonomy *small_tree(void)
{
	static const char *const rank[N_TAXA] = { "no rank", "genus", "species", "strain", "strain",
		"species", "genus", "species", "strain", "species", "species" };
	uint32_t name[N_TAXA];
	uint8_t ranks[N_TAXA];
	char names[N_TAXA * 8];
	kh_taxonomy raw = { .n = N_TAXA, .names = names }, *t = NULL;
	kh_err err = { 0, "" };

	for (int i = 0; i < N_TAXA; i++) {
		name[i] = (uint32_t)raw.names_len;
		ranks[i] = kh_rank_find(rank[i], strlen(rank[i]));
		raw.names_len +=
			(size_t)snprintf(names + raw.names_len, 8, i ? "t%d" : "root", i) + 1;
	}
	raw.taxid = (uint32_t *)(uintptr_t)tree_taxid;
	raw.parent = (uint32_t *)(uintptr_t)tree_parent;
	raw.end = (uint32_t *)(uintptr_t)tree_end;
	raw.name = name;
	raw.rank = ranks;
	if (load_tree(&t, &raw, &err))
		fail_msg("%s", err.msg);
	return t;
}

/* Targets, and their species; lists are not cut. */
static inline kh_bins small_bins(void)
{
	static uint32_t first[N_TARGETS + N_SPECIES], taxon[N_TARGETS + N_SPECIES];
	static uint32_t species[N_TARGETS];

	for (uint32_t i = 0; i < N_TARGETS; i++) {
		first[i] = i * (TARGET_BINS + GAP);
		taxon[i] = target_taxon[i];
		species[i] = N_TARGETS + target_species[i];
	}
	for (uint32_t i = 0; i < N_SPECIES; i++) {
		first[N_TARGETS + i] = VOTES + i * (1 + GAP);
		taxon[N_TARGETS + i] = species_taxon[i];
	}
	return (kh_bins) { .n = N_TARGETS + N_SPECIES, .first = first, .taxon = taxon,
			   .n_targets = N_TARGETS, .votes = VOTES, .species = species,
			   .bits = WORD_BITS };
}

/* A bin that is some target's. */
static inline uint32_t random_bin(void)
{
	return (uint32_t)(test_rand() % N_TARGETS * (TARGET_BINS + GAP) +
			  test_rand() % TARGET_BINS);
}

/* --- pairs ------------------------------------------------------------------------ */
typedef struct pair {
	uint64_t key;
	uint32_t bin;
} pair;

typedef struct pairs {
	pair *v;
	size_t n, cap;
	uint32_t most;          /* locations of a list in a species; 0: lists are not cut */
} pairs;

static inline void add_pair(pairs *p, uint64_t key, uint32_t bin)
{
	if (p->n == p->cap)
		p->v = realloc(p->v, (p->cap = 2 * p->cap + 64) * sizeof *p->v);
	p->v[p->n++] = (pair) { key, bin };
}

/* A key with `n` different bins. */
static inline void add_list(pairs *p, uint64_t key, unsigned n)
{
	unsigned step = n > 500 ? 1 : (unsigned)(1 + test_rand() % 2);
	uint32_t at = (uint32_t)(test_rand() % (N_TARGETS * TARGET_BINS - step * n));

	for (unsigned i = 0; i < n; i++, at += step)
		add_pair(p, key, at / TARGET_BINS * (TARGET_BINS + GAP) + at % TARGET_BINS);
}

static int by_key(const void *a, const void *b)
{
	const pair *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->bin > y->bin) - (x->bin < y->bin);
}

/* --- encoded ---------------------------------------------------------------------- */
/* The bytes as they lie in a file; every range of dir is this one. */
typedef struct made {
	void *image;
	size_t bytes;
	kh_range dir[KH_RANGES];
	uint64_t locations;
} made;

static inline int make_range(made *m, pairs *p, const kh_taxonomy *tax, kh_err *err)
{
	kh_bins bins = small_bins();
	kh_image im = { .bucket = NULL };
	kh_pairs in = { malloc(p->n * 8 + 8), malloc(p->n * 4 + 4), p->n };
	int rc;

	*m = (made) { .image = NULL };
	bins.most = p->most;
	if (p->n > 0)
		qsort(p->v, p->n, sizeof *p->v, by_key);
	for (size_t i = 0; i < p->n; i++) {
		in.key[i] = p->v[i].key;
		in.loc[i] = p->v[i].bin;
	}
	rc = kh_index_encode(&im, &in, &bins, tax, err);
	if (!rc) {
		size_t buckets = (im.range.buckets + (size_t)1) * 64;

		m->bytes = (size_t)kh_range_bytes(&im.range, WORD_BITS);
		m->image = aligned_alloc(64, m->bytes);
		memset(m->image, 0, m->bytes);
		memcpy(m->image, im.bucket, buckets);
		if (im.range.n_locs)
			memcpy((char *)m->image + buckets, im.loc,
			       kh_words_bytes(im.range.n_locs, WORD_BITS));
		m->locations = im.locations;
		for (int i = 0; i < KH_RANGES; i++) {
			m->dir[i] = im.range;
			m->dir[i].first_loc = buckets / 4;
		}
	}
	kh_image_clear(&im);
	free(in.key);
	free(in.loc);
	return rc;
}

static inline kh_bucket *made_buckets(const made *m)
{
	return m->image;
}

/* Word i of the lists, read bit by bit. */
static inline uint32_t made_word(const made *m, uint64_t i)
{
	const unsigned char *p = (const unsigned char *)m->image + m->dir[0].first_loc * 4;
	uint32_t x = 0;

	for (uint64_t b = 0, at = i * WORD_BITS; b < WORD_BITS; b++, at++)
		x |= (uint32_t)(p[at / 8] >> at % 8 & 1) << b;
	return x;
}

/* The n-th key with that home and tag in a range of B buckets. */
static inline uint64_t key_at(uint32_t B, uint64_t home, uint64_t tag, unsigned nth)
{
	uint64_t place = (home << 16 | tag) << 24;

	return (place + B - 1) / B + nth;
}

#endif
