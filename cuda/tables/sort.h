/*
 * sort.h - what the tables take from CUB, compiled once
 *
 * All of them enqueue; scratch comes from the table's pool.
 */
#ifndef KH_TABLES_SORT_H
#define KH_TABLES_SORT_H

#include "table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Pairs to sort stably by bits [from, to) of unsigned keys.  Widths 32 or 64. */
typedef struct kh_sort {
	const void *keys, *values;
	void *keys_out, *values_out;
	size_t n;
	unsigned key_bits, value_bits;
	int from, to;
} kh_sort;

int kh_sort_pairs(kh_table *t, const kh_sort *s, kh_stream stream, kh_err *err);
int kh_sort_keys(kh_table *t, const kh_sort *s, kh_stream stream, kh_err *err);

/* out[0] = 0, out[i + 1] = in[0] + .. + in[i * stride]: offsets of lists of those
 * lengths. */
int kh_scan_offsets(kh_table *t, const uint32_t *in, unsigned stride, size_t n,
		    uint64_t *out, kh_stream stream, kh_err *err);
/* The same modulo 2^32: n + 1 places. */
int kh_scan_counts(kh_table *t, const uint32_t *in, size_t n, uint32_t *out,
		   kh_stream stream, kh_err *err);

/* out[i] = mix of key i. */
int kh_mix_keys(const void *keys, size_t n, unsigned bits, uint64_t seed, void *out,
		kh_stream stream, kh_err *err);

#ifdef __cplusplus
}
#endif
#endif
