/*
 * shard.h - which member of a group of devices has which ranges of the index
 *
 * The hash range is cut into runs of whole ranges with near-equal numbers of locations
 * (multi-GPU HashGraph, Alg. 2: counts of bins of the hash range summed over all members, prefix
 * sum, binary search), so that no member holds more, whatever the duplicates.
 */
#ifndef KH_INDEX_SHARD_H
#define KH_INDEX_SHARD_H

#include "index/index.h"

#define KH_MEMBERS_MAX 256 /* a run of ranges may be empty */

/* Member m of n has the ranges first[m] .. first[m + 1] - 1. */
typedef struct kh_shards {
	unsigned n;
	uint16_t first[KH_MEMBERS_MAX + 1];
} kh_shards;

/* Cut i of n goes where the prefix sum of weights comes nearest to i / n of all. */
void kh_shards_cut(kh_shards *s, const uint64_t weight[KH_RANGES], unsigned n);
/* As if all ranges weighed the same: range p is of member p * n / 256. */
void kh_shards_even(kh_shards *s, unsigned n);
unsigned kh_shards_owner(const kh_shards *s, unsigned range);

#endif
