/*
 * filter.h - a Bloom filter of k-mers that is fed, and asked, by sequence
 *
 * Sequences are packed as src/kmer/kmer.h has them, in device memory: 32 bases a word, the first in
 * the lowest bits, and a mask of what is none.  Kernels take the canonical k-mers out of them; a
 * k-mer across a masked base is none.  k-mers and their reverse complements are the same.
 *
 *     kht_filter_open(&(kht_filter_config) { .capacity = kmers, .k = 31 }, stream, &f, &err);
 *     kht_filter_insert(f, &sequence, stream, &err);
 *     kht_filter_query(f, &sequence, found, stream, &err);
 *     kht_filter_close(f);
 *
 * All enqueue; inserts may overlap inserts, queries queries, and the caller orders all else.
 */
#ifndef KHT_FILTER_H
#define KHT_FILTER_H

#include "cuda/tables/table.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kht_filter kht_filter;

typedef struct kht_filter_config {
	uint64_t capacity; /* k-mers */
	unsigned bits;     /* of memory a k-mer; 0: 16 */
	unsigned k;        /* 8 to 31 */
	unsigned m;        /* bases of a minimizer, 4 to k; 0: five eighths of k */
	uint64_t seed;
} kht_filter_config;

typedef struct kht_sequence {
	const uint64_t *bases;
	const uint32_t *masked;
	size_t words;
} kht_sequence;

int kht_filter_open(const kht_filter_config *c, kht_stream s, kht_filter **f, kh_err *err);
/* The caller must have waited for the filter's work.  NULL is allowed. */
void kht_filter_close(kht_filter *f);
int kht_filter_insert(kht_filter *f, const kht_sequence *q, kht_stream s, kh_err *err);
/* Bit i of found[w]: the k-mer at base 32 w + i was inserted, or is a false positive. */
int kht_filter_query(kht_filter *f, const kht_sequence *q, uint32_t *found, kht_stream s,
		     kh_err *err);
uint64_t kht_filter_bytes(const kht_filter *f);

/* The part of false positives to be expected when `kmers` distinct ones of random sequence are in a
 * filter of that many bytes. */
double kht_filter_theory(const kht_filter *f, double kmers);

#ifdef __cplusplus
}
#endif
#endif
