/*
 * grow.h - an index taken apart, and its lists joined by the pairs of more genomes
 *
 * If the keys of an index are known in full (keys.h), each of its ranges can be made lists again
 * (lists.h); votes of species are among the locations.  The pairs of new sequences, whose bins lie
 * behind the old ones, join these lists, which are then encoded as if all sequences had been read
 * at once.
 */
#ifndef KH_INDEX_GROW_H
#define KH_INDEX_GROW_H

#include <stdbool.h>
#include "index/keys.h"
#include "index/many.h"
#include "kmer/sampling.h"

/* Where the votes of a species of the old index go, if not to a bin of the new one. */
#define KH_VOTE_NONE UINT32_MAX                 /* none of its targets is left */
#define KH_VOTE_SPLIT (UINT32_MAX - 1)          /* they are of several species now */

/* What all workers share; everything is borrowed. */
typedef struct kh_old_index {
	const char *path;               /* for messages */
	const void *image;
	const kh_range *dir;
	const kh_keys *keys;
	const kh_bins *bins;            /* as they are in the old index */
	uint32_t n_bins;                /* of the old index; every location is below */
	uint32_t gap;                   /* unused bins behind that of each species */
	const uint32_t *to;             /* by old target: its first bin, or KH_DROP; NULL: where
					 * it was */
	const uint32_t *vote_to;        /* by old species, from 0; one at least */
	/* by kh_old_steady(): all lists stay in order and cut as they are, as targets are where
	 * they were, and species in the order that they had; and how votes move then, if that is
	 * said in a few steps */
	bool steady;
	kh_steps steps;
	kh_sampling sampling;           /* of the new index, which may leave out more features */
	const kh_taxonomy *tax;         /* of the old index, for messages */
} kh_old_index;

void kh_old_steady(kh_old_index *o);

/* Room of one worker, to be cleared; it may be used again. */
typedef struct kh_grow_scratch {
	kh_lists lists;
	kh_cut cut;
	uint32_t *word, *list;          /* some lists, taken apart; one that was kept in full */
	size_t cap_word, cap_list;
} kh_grow_scratch;

/* The lists of those features of an old range that are left in, to scratch->lists, joined by the
 * pairs p, of bins `now`.  Neither the index nor its keys are trusted: what is not sound fails. */
int kh_old_join(const kh_old_index *o, unsigned range, const kh_pairs *p, const kh_bins *now,
		kh_grow_scratch *scratch, kh_err *err);
void kh_grow_scratch_clear(kh_grow_scratch *scratch);

#endif
