/*
 * syncmer_avx2.c - eight starts at a time, s-mers of up to 16 bases; four keys at a time: 1.5 times
 * as many pairs as by plain C (version 0.2.0)
 */
#include <config.h>
#include "kmer/syncmer.h"

#include "kmer/avx2.h"

#ifdef KH_AVX2

/* The bytes in each group of `n` in reverse order, n = 4 or 8. */
KH_AVX2 static inline __m256i reverse_bytes(__m256i x, unsigned n)
{
	const __m128i four = _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
	const __m128i eight = _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);

	return _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(n == 4 ? four : eight));
}

/* The four pairs of bits of each byte in reverse order. */
KH_AVX2 static inline __m256i reverse_pairs(__m256i x)
{
	const __m256i four = _mm256_set1_epi8(0x0f), two = _mm256_set1_epi8(0x33);

	x = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(x, 4), four),
			    _mm256_slli_epi32(_mm256_and_si256(x, four), 4));
	return _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(x, 2), two),
			       _mm256_slli_epi32(_mm256_and_si256(x, two), 2));
}

/* kh_smer_order() of each lane, its highest bit flipped: for signed comparison. */
KH_AVX2 static inline __m256i order(__m256i x)
{
	x = _mm256_xor_si256(x, _mm256_set1_epi32(0x5bd1e995));
	x = _mm256_xor_si256(x, _mm256_srli_epi32(x, 16));
	x = _mm256_mullo_epi32(x, _mm256_set1_epi32((int)0x85ebca6b));
	x = _mm256_xor_si256(x, _mm256_srli_epi32(x, 13));
	x = _mm256_mullo_epi32(x, _mm256_set1_epi32((int)0xc2b2ae35));
	x = _mm256_xor_si256(x, _mm256_srli_epi32(x, 16));
	return _mm256_xor_si256(x, _mm256_set1_epi32((int)0x80000000));
}

/* Orders of the s-mers at the eight bases from the one that lies lowest in a word. */
KH_AVX2 static inline __m256i orders_of(uint64_t word, unsigned s)
{
	const __m256i mask = _mm256_set1_epi32((int)kh_kmer_mask(s));
	__m256i w, even, odd, x, fwd;

	w = _mm256_set1_epi64x((long long)word);
	even = _mm256_srlv_epi64(w, _mm256_setr_epi64x(0, 4, 8, 12));
	odd = _mm256_srlv_epi64(w, _mm256_setr_epi64x(2, 6, 10, 14));
	x = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
	x = _mm256_and_si256(x, mask);
	fwd = reverse_pairs(reverse_bytes(x, 4));
	fwd = _mm256_srl_epi32(fwd, _mm_cvtsi32_si128(32 - 2 * (int)s));
	return order(_mm256_min_epu32(fwd, _mm256_xor_si256(x, mask)));
}

/* All orders from base `from`, a multiple of four; `end`, a multiple of 32: bases that may be
 * read. Of what is read behind them, no bit is needed. */
KH_AVX2 static void orders(const uint64_t *bases, uint64_t from, uint64_t end, unsigned s, size_t n,
			uint32_t *o)
{
	for (size_t i = 0; i < n; i += 8)
		_mm256_storeu_si256((__m256i *)(o + i),
				    orders_of(kh_bases_from(bases, from + i, end), s));
}

/* The least of the h orders from each of eight places. */
KH_AVX2 static inline __m256i least_of(const uint32_t *o, unsigned h)
{
	__m256i least = _mm256_loadu_si256((const __m256i *)o);

	for (unsigned j = 1; j < h; j++)
		least = _mm256_min_epi32(least, _mm256_loadu_si256((const __m256i *)(o + j)));
	return least;
}

/* A bit for each of eight places whose order, the h-th from it on, is below the least of the h
 * before that and the h behind it.  As many stand before the middle of a window as behind it: the
 * least of those behind it is the least of those before the middle of a later window. */
KH_AVX2 static inline uint64_t kept_of(const uint32_t *o, const uint32_t *least, unsigned h)
{
	const __m256i mid = _mm256_loadu_si256((const __m256i *)(o + h));
	const __m256i before = _mm256_loadu_si256((const __m256i *)least);
	const __m256i behind = _mm256_loadu_si256((const __m256i *)(least + h + 1));
	const __m256i less = _mm256_cmpgt_epi32(_mm256_min_epi32(before, behind), mid);

	return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(less));
}

/* Bits are gathered by 64 before they are walked, as nobody can foretell where a walk ends. */
KH_AVX2 static size_t syncmers(const kh_sampling *rule, const uint64_t *bases, uint64_t at,
			       size_t n, uint32_t *start)
{
	const unsigned h = (rule->k - rule->s) / 2, skip = (unsigned)(at & 3);
	const uint64_t end = (at + n + rule->k - 1 + 31) / 32 * 32;
	uint32_t o[KH_SYNCMER_TILE + 64], least[KH_SYNCMER_TILE + 32];
	const uint32_t *first = o + skip;
	size_t m = 0;

	orders(bases, at - skip, end, rule->s, skip + n + 2 * h, o);
	for (size_t i = 0; i < n + h + 1; i += 8)
		_mm256_storeu_si256((__m256i *)(least + i), least_of(first + i, h));
	for (size_t i = 0; i < n; i += 64) {
		uint64_t kept = 0;

		for (size_t j = 0; j < 64 && i + j < n; j += 8)
			kept |= kept_of(first + i + j, least + i + j, h) << j;
		if (n - i < 64)
			kept &= (UINT64_C(1) << (n - i)) - 1;
		for (; kept; kept &= kept - 1)
			start[m++] = (uint32_t)(i + (unsigned)__builtin_ctzll(kept));
	}
	return m;
}

kh_syncmer_fn *kh_syncmer_avx2(const kh_sampling *rule)
{
	return rule->s <= 16 && KH_HAS_AVX2 ? syncmers : NULL;
}

/* --- keys ------------------------------------------------------------------------- */
/* The low 64 bits of each lane times c, by halves of 32 bits. */
KH_AVX2 static inline __m256i times(__m256i x, uint64_t c)
{
	const __m256i lo = _mm256_set1_epi64x((long long)(uint32_t)c);
	const __m256i hi = _mm256_set1_epi64x((long long)(c >> 32));
	const __m256i middle = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(x, 32), lo),
						_mm256_mul_epu32(x, hi));

	return _mm256_add_epi64(_mm256_mul_epu32(x, lo), _mm256_slli_epi64(middle, 32));
}

/* kh_fmix64() of each lane. */
KH_AVX2 static inline __m256i fmix64(__m256i x)
{
	x = _mm256_xor_si256(x, _mm256_srli_epi64(x, 33));
	x = times(x, UINT64_C(0xff51afd7ed558ccd));
	x = _mm256_xor_si256(x, _mm256_srli_epi64(x, 33));
	x = times(x, UINT64_C(0xc4ceb9fe1a85ec53));
	return _mm256_xor_si256(x, _mm256_srli_epi64(x, 33));
}

/* K-mers have less than 63 bits, so they may be compared as signed numbers. */
KH_AVX2 static void keys(uint64_t *x, size_t n, unsigned k)
{
	const __m256i mask = _mm256_set1_epi64x((long long)kh_kmer_mask(k));
	const __m256i seed = _mm256_set1_epi64x((long long)KH_INDEX_SEED);
	size_t i = 0;

	for (; i + 4 <= n; i += 4) {
		const __m256i bits = _mm256_loadu_si256((const __m256i *)(x + i));
		const __m256i rc = _mm256_xor_si256(bits, mask);
		__m256i fwd = reverse_pairs(reverse_bytes(bits, 8)), key;

		fwd = _mm256_srl_epi64(fwd, _mm_cvtsi32_si128(64 - 2 * (int)k));
		key = _mm256_blendv_epi8(fwd, rc, _mm256_cmpgt_epi64(fwd, rc));
		key = fmix64(_mm256_xor_si256(key, seed));
		key = _mm256_srli_epi64(key, 64 - KH_KEY_BITS);
		_mm256_storeu_si256((__m256i *)(x + i), key);
	}
	kh_keys_plain(x + i, n - i, k);
}

kh_keys_fn *kh_keys_avx2(void)
{
	return KH_HAS_AVX2 ? keys : NULL;
}
#else
kh_syncmer_fn *kh_syncmer_avx2(const kh_sampling *rule)
{
	(void)rule;
	return NULL;
}

kh_keys_fn *kh_keys_avx2(void)
{
	return NULL;
}
#endif
