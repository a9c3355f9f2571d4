/*
 * hashgraph_part.h - the part of a HashGraph that one of several GPUs has: a run of its
 * bins, and so of its hash values; what comes in and is asked are mixes
 */
#ifndef KHT_HASHGRAPH_PART_H
#define KHT_HASHGRAPH_PART_H

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

#ifdef __cplusplus
}
#endif
#endif
