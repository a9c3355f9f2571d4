/*
 * cut.h - lists cut by species: too many locations in one give way to a vote for it (bins.h)
 */
#ifndef KH_INDEX_CUT_H
#define KH_INDEX_CUT_H

#include <stddef.h>
#include "index/bins.h"

/* Scratch of one thread, to be cleared; it may be used again, with the same bins. */
typedef struct kh_cut {
	const kh_bins *bins;
	uint32_t *in;           /* what each species has of the current list; zero between lists */
	uint32_t *species;      /* of each location */
	uint32_t *much;         /* the species that have too much (kh_bins_much) */
	size_t cap_species, cap_much;
} kh_cut;

/* Room for lists of up to `longest` locations. */
int kh_cut_grow(kh_cut *c, const kh_bins *bins, size_t longest, kh_err *err);
/* Cuts n ascending, distinct locations in place; returns the number of words left, which ascend,
 * too.  Behind the locations may stand votes, of a list that was cut before and has got more
 * locations since. */
size_t kh_cut_list(kh_cut *c, uint32_t *loc, size_t n);
void kh_cut_clear(kh_cut *c);

#endif
