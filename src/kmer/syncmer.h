/*
 * syncmer.h - the inner loops of syncmer sampling
 *
 * The plain C version is the specification (it is kh_syncmer_keep() of sampling.h over all
 * starts, and kh_key() of each k-mer); if s <= 16, the same is taken in AVX2 (avx2.h) where the
 * machine has it (KH_SIMD=none in the environment forbids it).
 */
#ifndef KH_KMER_SYNCMER_H
#define KH_KMER_SYNCMER_H

#include <string.h>
#include "kmer/sampling.h"

#define KH_SYNCMER_TILE 1024

/* Of the n <= KH_SYNCMER_TILE starts from base `at`, those whose k-mer is a syncmer, to
 * start[] (less `at`, ascending, room for n + 16); their number.  Bases are taken as they are,
 * ambiguous or not.  Words up to the one of the last k-mer's last base are read. */
typedef size_t kh_syncmer_fn(const kh_sampling *rule, const uint64_t *bases, uint64_t at, size_t n,
			     uint32_t *start);

kh_syncmer_fn kh_syncmer_plain;
kh_syncmer_fn *kh_syncmer_avx2(const kh_sampling *rule);   /* NULL: not here, or s > 16 */
kh_syncmer_fn *kh_syncmer_get(const kh_sampling *rule);

/* Of n k-mers, by kh_packed_bits(), the keys, in place. */
typedef void kh_keys_fn(uint64_t *x, size_t n, unsigned k);

kh_keys_fn kh_keys_plain;
kh_keys_fn *kh_keys_avx2(void);                            /* NULL: not here */
kh_keys_fn *kh_keys_get(void);

/* The 32 bases from `at` on, a multiple of four, the first one lowest; `end`, a multiple of 32:
 * bases that may be read.  Zeros stand for those behind them. */
static inline uint64_t kh_bases_from(const uint64_t *bases, uint64_t at, uint64_t end)
{
	uint64_t word;

	if (at + 32 > end)
		return bases[end / 32 - 1] >> 2 * (at + 32 - end);
	memcpy(&word, (const unsigned char *)bases + at / 4, sizeof word);
	return word;
}

/* Orders of the s-mers that start at `from` .. from + n - 1. */
void kh_smer_orders(const uint64_t *bases, uint64_t from, unsigned s, size_t n, uint32_t *o);

#endif
