/*
 * sort.h - what the tables take from CUB, compiled once
 *
 * All of them enqueue; scratch comes from the table's pool.
 */
#ifndef KHT_SORT_H
#define KHT_SORT_H

#include "cuda/tables/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Pairs to sort stably by bits [from, to) of unsigned keys.  Widths 32 or 64. */
typedef struct kht_sort {
	const void *keys, *values;
	void *keys_out, *values_out;
	size_t n;
	unsigned key_bits, value_bits;
	int from, to;
} kht_sort;

int kht_sort_pairs(kht_table *t, const kht_sort *s, kht_stream stream, kh_err *err);
/* The same with the mixes of the keys (hash.cuh, with the table's seed) in the place of keys;
 * `values` may be NULL: keys alone. */
int kht_sort_mixes(kht_table *t, const kht_sort *s, kht_stream stream, kh_err *err);
int kht_sort_keys(kht_table *t, const kht_sort *s, kht_stream stream, kh_err *err);

/* out[0] = 0, out[i + 1] = in[0] + .. + in[i * stride]: offsets of lists of those
 * lengths. */
int kht_scan_offsets(kht_table *t, const uint32_t *in, unsigned stride, size_t n, uint64_t *out,
		     kht_stream stream, kh_err *err);
/* The same modulo 2^32: n + 1 places. */
int kht_scan_counts(kht_table *t, const uint32_t *in, size_t n, uint32_t *out, kht_stream stream,
		    kh_err *err);

#ifdef __cplusplus
}
#endif
#endif
