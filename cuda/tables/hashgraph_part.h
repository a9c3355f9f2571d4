/*
 * hashgraph_part.h - the part of a HashGraph that one of several GPUs has: a run of its
 * bins, and so of its hash values; what comes in and is asked are mixes
 */
#ifndef KH_TABLES_HASHGRAPH_PART_H
#define KH_TABLES_HASHGRAPH_PART_H

#include "table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Shared memory that a block takes for a bin: the pairs, and a counter a row. */
#define KH_BIN_MEMORY (224u << 10)

/* Pairs in the order of their bins; values: NULL where there are none. */
typedef struct kh_run {
	const void *keys, *values;
	uint32_t n;
} kh_run;

/* The arrays are the caller's: offset has bins * rows + 1 places, the others n. */
typedef struct kh_hashgraph_part {
	unsigned key_bits, value_bits;  /* value_bits 0: keys alone */
	uint32_t bins_log2, rows;       /* of the whole hash range: bins, rows of one */
	uint32_t first, bins;           /* that this part has */
	uint64_t n;                     /* pairs, below 2^32 */
	uint32_t *offset;
	void *keys, *values;
	unsigned group;                 /* lanes that read a row together */
} kh_hashgraph_part;

/* Rows that a bin may have at most, a power of two; and pairs in the mean. */
uint32_t kh_hashgraph_bin_rows(unsigned key_bits, unsigned value_bits);
/* From runs on the device.  t lends scratch. */
int kh_hashgraph_part_build(kh_table *t, const kh_hashgraph_part *p, const kh_run *run,
			    unsigned runs, kh_stream stream, kh_err *err);
/* q->keys are mixes of hash values that this part has; counts[i]: how many are equal. */
int kh_hashgraph_part_count(const kh_hashgraph_part *p, const kh_keys *q, uint32_t *counts,
			    kh_stream stream, kh_err *err);
/* Lists to where out->offsets says, which the counts gave. */
int kh_hashgraph_part_copy(kh_table *t, const kh_hashgraph_part *p, const kh_keys *q,
			   const kh_lists *out, kh_stream stream, kh_err *err);
/* The same counts by intersecting the rows with those of q, of which a value is the place
 * of the count (probe-new). */
int kh_hashgraph_part_join(const kh_hashgraph_part *p, const kh_hashgraph_part *q,
			   uint32_t *counts, kh_stream stream, kh_err *err);

#ifdef __cplusplus
}
#endif
#endif
