/* cut.h - the bins of a seed, cut by species: the first KH_SPECIES_PLACES in one stay */
#ifndef KH_INDEX_CUT_H
#define KH_INDEX_CUT_H

#include <stddef.h>
#include "index/bins.h"
#include "index/pairs.h"

/* Scratch of one thread, to be cleared; it may be used again, with the same bins. */
typedef struct kh_cut {
	uint32_t *in;           /* what each species has of the current list; zero between lists */
	uint32_t *species;      /* of each bin */
	size_t cap_species;
} kh_cut;

/* The list of the pairs from .. to - 1, which have one key: their distinct bins, cut by species.
 * It has room for one of each, and may be where their bins are. */
int kh_pairs_list(const kh_pairs *p, size_t from, size_t to, kh_cut *cut, const kh_bins *bins,
		  uint32_t *list, size_t *n, kh_err *err);
void kh_cut_clear(kh_cut *c);

#endif
