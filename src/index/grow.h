/*
 * grow.h - an index taken apart, and its pairs merged with those of more genomes
 *
 * If the keys of an index are known in full (keys.h), the pairs of key and location can be made
 * again from each of its ranges, in order; votes of species are among the locations.  They are
 * merged with the pairs of new sequences, whose bins lie behind the old ones, and encoded as if
 * all sequences had been read at once.
 */
#ifndef KH_INDEX_GROW_H
#define KH_INDEX_GROW_H

#include <stdbool.h>
#include "index/keys.h"

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
	const kh_taxonomy *tax;         /* of the old index, for messages */
} kh_old_index;

/* Room of one worker, to be cleared; it may be used again. */
typedef struct kh_grow_room {
	uint64_t *key;
	uint32_t *loc;
	size_t cap[2];
} kh_grow_room;

/* The pairs of an old range, in order of key and new location, to room->key and loc: *n of them.
 * Neither the index nor its keys are trusted: what is not sound fails. */
int kh_old_pairs(const kh_old_index *o, unsigned range, kh_grow_room *room, size_t *n,
		 kh_err *err);
/* The same with the pairs p merged in, which are in this order, too; *out points into room. */
int kh_old_merge(const kh_old_index *o, unsigned range, const kh_pairs *p, kh_grow_room *room,
		 kh_pairs *out, kh_err *err);
void kh_grow_room_clear(kh_grow_room *room);

#endif
