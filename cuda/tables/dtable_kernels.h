/* dtable_kernels.h - what a table over several GPUs does on each; all enqueue */
#ifndef KHT_DTABLE_KERNELS_H
#define KHT_DTABLE_KERNELS_H

#include <cuda_runtime_api.h>
#include "cuda/tables/hashgraph_part.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KHT_DBINS_MAX 15 /* log2 of the bins whose counters fit in a block */

/* Mixes of keys, and how many fall into each of 2^bins_log2 bins, which is added. */
typedef struct kht_dhash {
	const void *keys;
	void *mixed;
	size_t n;
	unsigned key_bits, bins_log2;
	uint64_t seed;
	uint32_t *count;
} kht_dhash;
int kht_dt_hash(const kht_dhash *h, cudaStream_t s, kh_err *err);

/* Counts of bins: count[chunk][bin]. */
typedef struct kht_dcounts {
	const uint32_t *count;
	unsigned chunks;
	uint32_t bins;
	unsigned members;
} kht_dcounts;
/* sum[bin]: over the chunks. */
int kht_dt_sum(const kht_dcounts *c, uint64_t *sum, cudaStream_t s, kh_err *err);
/* split[m]: first bin of member m, split[members]: the number of bins; so that the sums are
 * as near to equal as bins allow.  sum (becomes its own exclusive scan) NULL: equal ranges. */
int kht_dt_split(const kht_dcounts *c, uint64_t *sum, uint32_t *split, cudaStream_t s, kh_err *err);
/* row[member][chunk]: keys of the chunk that are the member's. */
int kht_dt_owners(const kht_dcounts *c, const uint32_t *split, uint64_t *row, cudaStream_t s,
		  kh_err *err);

/* p[i] = i */
int kht_dt_number(uint32_t *p, size_t n, cudaStream_t s, kh_err *err);

/* Answers that came back.  n queries; index: which query each answer is of, or NULL: the
 * members' come one after the other, and all add up. */
typedef struct kht_danswers {
	const uint32_t *count, *index;
	size_t n;
	unsigned each; /* answers a query */
} kht_danswers;
int kht_dt_counts(const kht_danswers *a, uint32_t *counts, cudaStream_t s, kh_err *err);
/* The lists of n queries, of which those of answer j begin at values[start[j]], put together:
 * t lends scratch. */
int kht_dt_lists(kht_table *t, const kht_danswers *a, const uint64_t *start, const void *values,
		 unsigned value_bits, const kht_lists *out, cudaStream_t s, kh_err *err);
/* row[member][chunk] = start[bound[i + 1]] - start[bound[i]], with i = chunk * members +
 * member. */
int kht_dt_lengths(const kht_dcounts *c, const uint64_t *start, const uint64_t *bound,
		   uint64_t *row, cudaStream_t s, kh_err *err);

#ifdef __cplusplus
}
#endif
#endif
