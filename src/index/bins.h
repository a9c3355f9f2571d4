/*
 * bins.h - bins: the stretches of references that the index tells apart   [HD]
 *
 * A reference sequence is cut into bins of `stride` bases.  The bins of all stretches that a
 * database keeps are numbered through, in input order, with a bin between two stretches, so that no
 * read that hangs over the end of one is laid along the next.  A location in the index is such a
 * number.
 *
 * What is called a target here is a kept stretch of one.
 */
#ifndef KH_INDEX_BINS_H
#define KH_INDEX_BINS_H

#include <stdint.h>
#include "kmer/kmer.h"

#define KH_NO_BIN UINT32_MAX
#define KH_LIST_MAX 254                 /* bins of a seed; of one with more none is kept */
#define KH_LIST_OVER 255
#define KH_SPECIES_PLACES 2             /* bins of a seed in one species: the first ones stay */

/* Targets in the order of bins: number i has the bins from first[i] on.  In `taxon` species have
 * rows behind those of the targets: number i (species_no) of n_species has row n_targets + i. */
typedef struct kh_bins {
	const uint32_t *first;          /* n_targets, ascending, and the bin behind the last one */
	/* n_targets and n_species: preorder numbers of taxa */
	const uint32_t *taxon;
	const uint32_t *species_row;    /* n_targets: where the target's species is in `taxon` */
	uint32_t n_targets, n_species;
	uint32_t bits;                  /* that any bin can be written with: kh_seed_bits */
} kh_bins;

/* The number of a target's species. */
static KH_HD uint32_t kh_bins_species_no(const kh_bins *b, uint32_t target)
{
	return b->species_row[target] - b->n_targets;
}

/* The target of a bin in use: the last one with first <= bin. */
static KH_HD uint32_t kh_bins_target(const kh_bins *b, uint32_t bin)
{
	uint32_t lo = 0;

	/* the target is one of the n from lo on; a conditional move, as jumps would be
	 * mispredicted */
	for (uint32_t n = b->n_targets, half; n > 1; n -= half) {
		half = n / 2;
		lo = b->first[lo + half] <= bin ? lo + half : lo;
	}
	return lo;
}

#ifndef __CUDACC__
#include "base/msg.h"
#include "taxonomy/tree.h"

/* The bins of targets, with the arrays that they point to. */
typedef struct kh_bin_map {
	kh_bins bins;
	uint32_t *first, *taxon, *species_row;
	uint64_t end;           /* behind the last gap */
} kh_bin_map;

/* `targets` has n_targets, first and taxon, and is copied; `end` is behind the last gap. To be
 * cleared even if it fails. */
int kh_bin_map_init(kh_bin_map *m, const kh_bins *targets, uint64_t end, const kh_tree *tree,
		    kh_err *err);
void kh_bin_map_clear(kh_bin_map *m);
#endif

#endif
