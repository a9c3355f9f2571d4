/*
 * plan.h - how the pairs of a build fit into the memory of a GPU, and of its host
 *
 * Arithmetic alone, so that it can be tested where there is no GPU.  It counts what the CUDA
 * builder (cuda/builder) allocates, each array rounded as the driver rounds, in four steps of
 * which each must stay below the limit:
 *
 *	reading    blocks under way, and the store: the pairs of blocks that are done
 *	gathering  the store, and a copy of its pairs in the order of blocks
 *	sorting    two copies of the pairs, and the scratch of the sort
 *	encoding   the sorted pairs, and what becomes of those of some ranges
 *
 * Pairs that one of these steps has no room for are made in waves: of runs of ranges that can be
 * sorted and encoded below the limit.  If that is known before the first block, the packed
 * references are kept on the host, which are smaller, and sampled again for each wave; else pairs
 * go to the host (index/pairs.h), and come back.
 */
#ifndef KH_BACKEND_PLAN_H
#define KH_BACKEND_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"

#define KH_PLAN_PAIR 12                 /* bytes: a key and a bin */

typedef struct kh_gpu_plan {
	uint64_t limit;                 /* bytes of the device's memory that may be taken */
	uint64_t slots;                 /* for blocks under way, until all have been read */
	uint64_t tables;                /* for bins and taxa, when all have been read */
	uint64_t again;                 /* for blocks that are sampled again, beside a wave */
	uint64_t most;                  /* kh_plan_most, kept for kh_plan_stays; 0: not yet known */
	/* Bytes of scratch that a sort, and the selections and sums of the encoder, want for so
	 * many pairs; the more pairs, the more. */
	uint64_t (*sort_scratch)(uint64_t pairs);
	uint64_t (*scan_scratch)(uint64_t pairs);
} kh_gpu_plan;

/* Bytes of the device that the driver takes for an allocation: whole pages of 2 MiB from a
 * mebibyte on; smaller ones share such pages. */
static inline uint64_t kh_plan_taken(uint64_t bytes)
{
	const uint64_t mib = UINT64_C(1) << 20;

	return bytes < mib ? bytes : (bytes + 2 * mib - 1) / (2 * mib) * (2 * mib);
}
/* What an array of so many bytes takes, which kh_gpu_room_exact makes up to 511 bytes longer. */
uint64_t kh_plan_round(uint64_t bytes);
/* The arrays of keys and of bins of so many pairs. */
uint64_t kh_plan_pairs(uint64_t pairs);

/* --- what the steps take, in all ------------------------------------------------------ */
/* `store`: bytes of the store; `blocks`: the number of blocks that it is from. */
uint64_t kh_plan_gathering(const kh_gpu_plan *p, uint64_t store, uint64_t pairs, uint64_t blocks);
uint64_t kh_plan_sorting(const kh_gpu_plan *p, uint64_t pairs);
/* While pairs are exchanged by range: those that are there, and those that come. */
uint64_t kh_plan_exchange(const kh_gpu_plan *p, uint64_t pairs, uint64_t come);
/* For ranges of so many pairs with so many keys, besides the sorted pairs and the tables. */
uint64_t kh_plan_encoding(const kh_gpu_plan *p, uint64_t pairs, uint64_t keys, unsigned ranges);

/* --- what follows from that ------------------------------------------------------------ */
/* The most pairs that can be sorted at a time. */
uint64_t kh_plan_most(const kh_gpu_plan *p);
/* The least limit with which a range of so many pairs can be sorted and encoded. */
uint64_t kh_plan_least(const kh_gpu_plan *p, uint64_t pairs);
/* The store holds `pairs` pairs of `blocks` blocks in `store` bytes, and the build has allocated
 * `used` bytes in all.  A chunk is to be made for n more pairs: how many it may have room for,
 * `usual` if that is possible; 0: n more cannot stay on the device. */
uint64_t kh_plan_chunk(const kh_gpu_plan *p, uint64_t used, uint64_t store, uint64_t pairs,
		       uint64_t blocks, uint64_t n, uint64_t usual);
/* Whether n more pairs may stay, in a chunk that has room for them. */
bool kh_plan_stays(const kh_gpu_plan *p, uint64_t store, uint64_t pairs, uint64_t blocks,
		   uint64_t n);
/* The range behind the last one of the wave that begins with range `from`; `from` itself, if not
 * even that one fits. count: the pairs of each range, below `end`. */
unsigned kh_plan_wave(const kh_gpu_plan *p, const uint64_t *count, unsigned from, unsigned end);

/* --- the host -------------------------------------------------------------------------- */
/* Where spilled pairs may go. */
typedef struct kh_host_plan {
	uint64_t memory;                /* that pairs may take; 0: no limit */
	uint64_t disk;                  /* beyond that, in a temporary file */
	const char *beside;             /* the temporary file is made in the folder of this one */
} kh_host_plan;

kh_host_plan kh_host_plan_of(uint64_t memory, const char *beside);
/* Fails if about `bytes` of `what` clearly have no room. As that is an estimate, a quarter of it
 * may be missing. */
int kh_host_plan_check(const kh_host_plan *h, uint64_t bytes, const char *what, kh_err *err);

#endif
