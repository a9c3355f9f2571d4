/* made_index.h - pairs for a range of the index, of a tree and targets that are made up */
#ifndef KH_TEST_MADE_INDEX_H
#define KH_TEST_MADE_INDEX_H

#include <string.h>
#include "index/seeds.h"
#include "load_tree.h"

/* --- a tree of 11 taxa: root; two genera with two species each; strains ----------- */
enum { N_TAXA = 11, N_TARGETS = 9, TARGET_BINS = 120, GAP = 1, N_SPECIES = 5,
       N_BINS = N_TARGETS * (TARGET_BINS + GAP) };

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
	OK(load_tree(&t, &raw, err));
	return t;
}

/* Targets, and their species. */
static inline kh_bins small_bins(void)
{
	static uint32_t first[N_TARGETS + 1], taxon[N_TARGETS + N_SPECIES];
	static uint32_t species_row[N_TARGETS];

	for (uint32_t i = 0; i < N_TARGETS; i++) {
		first[i] = i * (TARGET_BINS + GAP);
		taxon[i] = target_taxon[i];
		species_row[i] = N_TARGETS + target_species[i];
	}
	first[N_TARGETS] = N_BINS;
	for (uint32_t i = 0; i < N_SPECIES; i++)
		taxon[N_TARGETS + i] = species_taxon[i];
	return (kh_bins) { .first = first, .taxon = taxon, .species_row = species_row,
			   .n_targets = N_TARGETS, .n_species = N_SPECIES,
			   .bits = kh_seed_bits(N_BINS) };
}

/* --- pairs ------------------------------------------------------------------------ */
typedef struct pair {
	uint64_t key;
	uint32_t bin;
} pair;

typedef struct pairs {
	pair *v;
	size_t n, cap;
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

static inline int by_key(const void *a, const void *b)
{
	const pair *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->bin > y->bin) - (x->bin < y->bin);
}

#endif
