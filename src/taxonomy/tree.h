/*
 * tree.h - the preorder tree as the index and the rule of classify see it   [HD]
 *
 * Taxa are numbered in preorder (taxonomy.h): the clade of taxon t is the numbers t to end[t] - 1.
 * So the LCA of a set of taxa is the LCA of its least and its greatest number, and an extent, these
 * two, is enough to find it.
 */
#ifndef KH_TAXONOMY_TREE_H
#define KH_TAXONOMY_TREE_H

#include <stdint.h>
#include "kmer/kmer.h"

#define KH_NO_TAXON UINT32_MAX

/* Arrays by preorder number, borrowed from a kh_taxonomy, which documents them. */
typedef struct kh_tree {
	uint32_t n;
	const uint32_t *parent, *end;
	const uint32_t *species;        /* self or ancestor; KH_NO_TAXON: above species */
	const uint32_t *genus;          /* what a call below genus is raised to, or KH_NO_TAXON */
} kh_tree;

/* The LCA of the taxa lo <= hi, and of any set with this extent. */
static KH_HD uint32_t kh_tree_lca(const kh_tree *t, uint32_t lo, uint32_t hi)
{
	while (hi >= t->end[lo])
		lo = t->parent[lo];
	return lo;
}

/* The species that a taxon belongs to, or, if it has none, the taxon itself. */
static KH_HD uint32_t kh_tree_own_species(const kh_tree *t, uint32_t taxon)
{
	return t->species[taxon] != KH_NO_TAXON ? t->species[taxon] : taxon;
}

/* Is `taxon` in the clade, or its root? */
static KH_HD int kh_tree_within(const kh_tree *t, uint32_t clade, uint32_t taxon)
{
	return clade <= taxon && taxon < t->end[clade];
}

/* The least and the greatest number of a set of taxa; empty: lo > hi. */
typedef struct kh_extent {
	uint32_t lo, hi;
} kh_extent;

static KH_HD kh_extent kh_extent_empty(void)
{
	kh_extent e = { UINT32_MAX, 0 };

	return e;
}

static KH_HD kh_extent kh_extent_add(kh_extent e, uint32_t taxon)
{
	e.lo = taxon < e.lo ? taxon : e.lo;
	e.hi = taxon > e.hi ? taxon : e.hi;
	return e;
}

static KH_HD int kh_extent_any(kh_extent e)
{
	return e.lo <= e.hi;
}

#endif
