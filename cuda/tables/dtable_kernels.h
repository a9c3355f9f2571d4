/*
 * dtable_kernels.h - what a table over several GPUs does on each; all enqueue
 *
 * First the part of a HashGraph that one of several GPUs has: a run of its bins, and so of its hash
 * values; what comes in and is asked are mixes.
 */
#ifndef KHT_DTABLE_KERNELS_H
#define KHT_DTABLE_KERNELS_H

#include <cuda_runtime_api.h>
#include "cuda/tables/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Pairs in the order of their bins; values: NULL where there are none. */
typedef struct kht_run {
	const void *keys, *values;
	uint32_t n;
} kht_run;

/* The arrays are the caller's: offset has bins * rows + 1 places, the others n. */
typedef struct kht_hashgraph_part {
	unsigned key_bits, value_bits; /* value_bits 0: keys alone */
	uint32_t bins_log2, rows;      /* of the whole hash range: bins, rows of one */
	uint32_t first, bins;          /* that this part has */
	uint64_t n;                    /* pairs, below 2^32 */
	uint32_t *offset;
	void *keys, *values;
	unsigned group; /* lanes that read a row together */
} kht_hashgraph_part;

/* Shared memory that a block of the device may take for a bin: the pairs, and a counter a row. */
int kht_hashgraph_bin_memory(int device, uint32_t *bytes, kh_err *err);
/* Rows that a bin may have at most, a power of two; and pairs in the mean. */
uint32_t kht_hashgraph_bin_rows(unsigned key_bits, unsigned value_bits, uint32_t memory);
/* From runs on the device.  t lends scratch. */
int kht_hashgraph_part_build(kht_table *t, const kht_hashgraph_part *p, const kht_run *run,
			     unsigned runs, kht_stream stream, kh_err *err);
/* q->keys are mixes of hash values that this part has; counts[i]: how many are equal. */
int kht_hashgraph_part_count(const kht_hashgraph_part *p, const kht_keys *q, uint32_t *counts,
			     kht_stream stream, kh_err *err);
/* Lists to where out->offsets says, which the counts gave. */
int kht_hashgraph_part_copy(kht_table *t, const kht_hashgraph_part *p, const kht_keys *q,
			    const kht_lists *out, kht_stream stream, kh_err *err);
/* The same counts by intersecting the rows with those of q, of which a value is the place
 * of the count (probe-new). */
int kht_hashgraph_part_join(const kht_hashgraph_part *p, const kht_hashgraph_part *q,
			    uint32_t *counts, kht_stream stream, kh_err *err);

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
