/* dtable_kernels.h - what a table over several GPUs does on each; all enqueue */
#ifndef KH_DTABLE_KERNELS_H
#define KH_DTABLE_KERNELS_H

#include <cuda_runtime_api.h>
#include "hashgraph_part.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KH_DBINS_MAX 15                 /* log2 of the bins whose counters fit in a block */

/* Mixes of keys, and how many fall into each of 2^bins_log2 bins, which is added. */
typedef struct kh_dhash {
	const void *keys;
	void *mixed;
	size_t n;
	unsigned key_bits, bins_log2;
	uint64_t seed;
	uint32_t *count;
} kh_dhash;
int kh_dt_hash(const kh_dhash *h, cudaStream_t s, kh_err *err);

/* Counts of bins: count[chunk][bin]. */
typedef struct kh_dcounts {
	const uint32_t *count;
	unsigned chunks;
	uint32_t bins;
	unsigned members;
} kh_dcounts;
/* sum[bin]: over the chunks. */
int kh_dt_sum(const kh_dcounts *c, uint64_t *sum, cudaStream_t s, kh_err *err);
/* split[m]: first bin of member m, split[members]: the number of bins; so that the sums are
 * as near to equal as bins allow.  sum (becomes its own exclusive scan) NULL: equal ranges. */
int kh_dt_split(const kh_dcounts *c, uint64_t *sum, uint32_t *split, cudaStream_t s,
		kh_err *err);
/* row[member][chunk]: keys of the chunk that are the member's. */
int kh_dt_owners(const kh_dcounts *c, const uint32_t *split, uint64_t *row, cudaStream_t s,
		 kh_err *err);

/* p[i] = i */
int kh_dt_number(uint32_t *p, size_t n, cudaStream_t s, kh_err *err);

/* Answers that came back.  n queries; index: which query each answer is of, or NULL: the
 * members' come one after the other, and all add up. */
typedef struct kh_danswers {
	const uint32_t *count, *index;
	size_t n;
	unsigned each;                  /* answers a query */
} kh_danswers;
int kh_dt_counts(const kh_danswers *a, uint32_t *counts, cudaStream_t s, kh_err *err);
/* The lists of n queries, of which those of answer j begin at values[start[j]], put together:
 * t lends scratch. */
int kh_dt_lists(kh_table *t, const kh_danswers *a, const uint64_t *start, const void *values,
		unsigned value_bits, const kh_lists *out, cudaStream_t s, kh_err *err);
/* row[member][chunk] = start[bound[i + 1]] - start[bound[i]], with i = chunk * members +
 * member. */
int kh_dt_lengths(const kh_dcounts *c, const uint64_t *start, const uint64_t *bound,
		  uint64_t *row, cudaStream_t s, kh_err *err);

#ifdef __cplusplus
}
#endif
#endif
