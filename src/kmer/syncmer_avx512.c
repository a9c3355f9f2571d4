/*
 * syncmer_avx512.c - sixteen starts at a time, s-mers of up to 16 bases; eight keys at a time:
 * 1.02 to 1.08 times as many pairs as by AVX2 (doc/speed.md)
 */
#include <config.h>
#include "kmer/syncmer.h"

#ifdef __x86_64__
#include <immintrin.h>
#include <stdbool.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,popcnt")))
#define AVX512_INLINE static inline AVX512 __attribute__((always_inline))

/* The bytes in each group of `n` in reverse order, n = 4 or 8. */
AVX512_INLINE __m512i reverse_bytes(__m512i x, unsigned n)
{
	const __m128i four = _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
	const __m128i eight = _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);

	return _mm512_shuffle_epi8(x, _mm512_broadcast_i32x4(n == 4 ? four : eight));
}

/* The four pairs of bits of each byte in reverse order. */
AVX512_INLINE __m512i reverse_pairs(__m512i x)
{
	const __m512i four = _mm512_set1_epi8(0x0f), two = _mm512_set1_epi8(0x33);

	x = _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(x, 4), four),
			    _mm512_slli_epi32(_mm512_and_si512(x, four), 4));
	return _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(x, 2), two),
			       _mm512_slli_epi32(_mm512_and_si512(x, two), 2));
}

/* --- orders of s-mers ------------------------------------------------------------- */
/* kh_smer_order() of each lane. */
AVX512_INLINE __m512i order(__m512i x)
{
	x = _mm512_xor_si512(x, _mm512_set1_epi32(0x5bd1e995));
	x = _mm512_xor_si512(x, _mm512_srli_epi32(x, 16));
	x = _mm512_mullo_epi32(x, _mm512_set1_epi32((int)0x85ebca6b));
	x = _mm512_xor_si512(x, _mm512_srli_epi32(x, 13));
	x = _mm512_mullo_epi32(x, _mm512_set1_epi32((int)0xc2b2ae35));
	return _mm512_xor_si512(x, _mm512_srli_epi32(x, 16));
}

/* Orders of the s-mers at the sixteen bases from the one that lies lowest in a word of 32. */
AVX512_INLINE __m512i orders_of(uint64_t word, unsigned s)
{
	const __m512i mask = _mm512_set1_epi32((int)kh_kmer_mask(s));
	const __m512i shift = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
	const __m512i low_halves = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24,
						     26, 28, 30);
	const __m512i w = _mm512_set1_epi64((long long)word);
	const __m512i lo = _mm512_srlv_epi64(w, shift);
	const __m512i hi = _mm512_srli_epi64(lo, 16);
	__m512i x = _mm512_permutex2var_epi32(lo, low_halves, hi), fwd;

	x = _mm512_and_si512(x, mask);
	fwd = reverse_pairs(reverse_bytes(x, 4));
	fwd = _mm512_srl_epi32(fwd, _mm_cvtsi32_si128(32 - 2 * (int)s));
	return order(_mm512_min_epu32(fwd, _mm512_xor_si512(x, mask)));
}

/* All orders from base `from`, a multiple of four; `end`, a multiple of 32: bases that may be
 * read. Of what is read behind them, no bit is needed. */
AVX512_INLINE void orders(const uint64_t *bases, uint64_t from, uint64_t end, unsigned s, size_t n,
			  uint32_t *o)
{
	for (size_t i = 0; i < n; i += 16)
		_mm512_storeu_si512(o + i, orders_of(kh_bases_from(bases, from + i, end), s));
}

/* --- syncmers --------------------------------------------------------------------- */
/* The least of the h orders from each of sixteen places. */
AVX512_INLINE __m512i least_of(const uint32_t *o, unsigned h)
{
	__m512i least = _mm512_loadu_si512(o);

	for (unsigned j = 1; j < h; j++)
		least = _mm512_min_epu32(least, _mm512_loadu_si512(o + j));
	return least;
}

/* As many orders stand before the middle of a window as behind it: h.  The least of those behind
 * it is the least of those before the middle of a later window. */
AVX512 static size_t syncmers(const kh_sampling *rule, const uint64_t *bases, uint64_t at, size_t n,
			      uint32_t *start)
{
	const unsigned h = (rule->k - rule->s) / 2, skip = (unsigned)(at & 3);
	const uint64_t end = (at + n + rule->k - 1 + 31) / 32 * 32;
	const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
					       15);
	uint32_t o[KH_SYNCMER_TILE + 80], least[KH_SYNCMER_TILE + 48];
	const uint32_t *first = o + skip;
	size_t m = 0;

	orders(bases, at - skip, end, rule->s, skip + n + 2 * h, o);
	for (size_t i = 0; i < n + h + 1; i += 16)
		_mm512_storeu_si512(least + i, least_of(first + i, h));
	for (size_t i = 0; i < n; i += 16) {
		const __m512i before = _mm512_loadu_si512(least + i);
		const __m512i behind = _mm512_loadu_si512(least + i + h + 1);
		const __m512i i16 = _mm512_add_epi32(lane, _mm512_set1_epi32((int)i));
		__mmask16 kept = _mm512_cmplt_epu32_mask(_mm512_loadu_si512(first + i + h),
							 _mm512_min_epu32(before, behind));

		if (n - i < 16)
			kept &= (__mmask16)((1u << (n - i)) - 1);
		_mm512_storeu_si512(start + m, _mm512_maskz_compress_epi32(kept, i16));
		m += (size_t)__builtin_popcount(kept);
	}
	return m;
}

static bool usable(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("popcnt");
}

kh_syncmer_fn *kh_syncmer_avx512(const kh_sampling *rule)
{
	return rule->s <= 16 && usable() ? syncmers : NULL;
}

/* --- keys ------------------------------------------------------------------------- */
/* kh_fmix64() of each lane. */
AVX512_INLINE __m512i fmix64(__m512i x)
{
	x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 33));
	x = _mm512_mullo_epi64(x, _mm512_set1_epi64((long long)0xff51afd7ed558ccd));
	x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 33));
	x = _mm512_mullo_epi64(x, _mm512_set1_epi64((long long)0xc4ceb9fe1a85ec53));
	return _mm512_xor_si512(x, _mm512_srli_epi64(x, 33));
}

AVX512 static void keys(uint64_t *x, size_t n, unsigned k)
{
	const __m512i mask = _mm512_set1_epi64((long long)kh_kmer_mask(k));
	const __m512i seed = _mm512_set1_epi64((long long)KH_INDEX_SEED);

	for (size_t i = 0; i < n; i += 8) {
		const __mmask8 some = (__mmask8)(n - i < 8 ? (1u << (n - i)) - 1 : 255);
		const __m512i bits = _mm512_maskz_loadu_epi64(some, x + i);
		__m512i fwd = reverse_pairs(reverse_bytes(bits, 8)), key;

		fwd = _mm512_srl_epi64(fwd, _mm_cvtsi32_si128(64 - 2 * (int)k));
		key = _mm512_min_epu64(fwd, _mm512_xor_si512(bits, mask));
		key = fmix64(_mm512_xor_si512(key, seed));
		key = _mm512_srli_epi64(key, 64 - KH_KEY_BITS);
		_mm512_mask_storeu_epi64(x + i, some, key);
	}
}

kh_keys_fn *kh_keys_avx512(void)
{
	return usable() ? keys : NULL;
}
#else
kh_syncmer_fn *kh_syncmer_avx512(const kh_sampling *rule)
{
	(void)rule;
	return NULL;
}

kh_keys_fn *kh_keys_avx512(void)
{
	return NULL;
}
#endif
