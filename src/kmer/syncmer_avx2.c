/* syncmer_avx2.c - eight starts at a time; s-mers of up to 16 bases, in 32 bits */
#include <config.h>
#include "kmer/syncmer.h"

#ifdef __x86_64__
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

/* The pairs of bits of each 32-bit lane in reverse order. */
AVX2 static inline __m256i reverse_pairs(__m256i x)
{
	const __m256i swap = _mm256_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12,
					      3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
	const __m256i four = _mm256_set1_epi8(0x0f), two = _mm256_set1_epi8(0x33);

	x = _mm256_shuffle_epi8(x, swap);
	x = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(x, 4), four),
			    _mm256_slli_epi32(_mm256_and_si256(x, four), 4));
	return _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(x, 2), two),
			       _mm256_slli_epi32(_mm256_and_si256(x, two), 2));
}

/* kh_smer_order() of each lane, its highest bit flipped: for signed comparison. */
AVX2 static inline __m256i order(__m256i x)
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
AVX2 static inline __m256i orders_of(uint64_t word, unsigned s)
{
	const __m256i mask = _mm256_set1_epi32((int)kh_kmer_mask(s));
	__m256i w, even, odd, x, fwd;

	w = _mm256_set1_epi64x((long long)word);
	even = _mm256_srlv_epi64(w, _mm256_setr_epi64x(0, 4, 8, 12));
	odd = _mm256_srlv_epi64(w, _mm256_setr_epi64x(2, 6, 10, 14));
	x = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
	x = _mm256_and_si256(x, mask);
	fwd = _mm256_srl_epi32(reverse_pairs(x), _mm_cvtsi32_si128(32 - 2 * (int)s));
	return order(_mm256_min_epu32(fwd, _mm256_xor_si256(x, mask)));
}

/* All orders from base `from`, a multiple of four; `end`, a multiple of 32: bases that may be
 * read. Of what is read behind them, no bit is needed. */
AVX2 static void orders(const uint64_t *bases, uint64_t from, uint64_t end, unsigned s, size_t n,
			uint32_t *o)
{
	for (size_t i = 0; i < n; i += 8)
		_mm256_storeu_si256((__m256i *)(o + i),
				    orders_of(kh_bases_from(bases, from + i, end), s));
}

/* The least of the h orders from each of eight places. */
AVX2 static inline __m256i least_of(const uint32_t *o, unsigned h)
{
	__m256i least = _mm256_loadu_si256((const __m256i *)o);

	for (unsigned j = 1; j < h; j++)
		least = _mm256_min_epi32(least, _mm256_loadu_si256((const __m256i *)(o + j)));
	return least;
}

/* As many orders stand before the middle of a window as behind it: h.  The least of those behind
 * it is the least of those before the middle of a later window. */
AVX2 static size_t syncmers(const kh_sampling *sk, const uint64_t *bases, uint64_t at, size_t n,
			    uint32_t *start)
{
	const unsigned h = (sk->k - sk->s) / 2, skip = (unsigned)(at & 3);
	const uint64_t end = (at + n + sk->k - 1 + 31) / 32 * 32;
	uint32_t o[KH_SYNCMER_TILE + 64], least[KH_SYNCMER_TILE + 32];
	const uint32_t *first = o + skip;
	size_t m = 0;

	orders(bases, at - skip, end, sk->s, skip + n + 2 * h, o);
	for (size_t i = 0; i < n + h + 1; i += 8)
		_mm256_storeu_si256((__m256i *)(least + i), least_of(first + i, h));
	for (size_t i = 0; i < n; i += 8) {
		const __m256i mid = _mm256_loadu_si256((const __m256i *)(first + i + h));
		const __m256i before = _mm256_loadu_si256((const __m256i *)(least + i));
		const __m256i behind = _mm256_loadu_si256((const __m256i *)(least + i + h + 1));
		const __m256i less = _mm256_cmpgt_epi32(_mm256_min_epi32(before, behind), mid);
		unsigned kept = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(less));

		if (n - i < 8)
			kept &= (1u << (n - i)) - 1;
		for (; kept; kept &= kept - 1)
			start[m++] = (uint32_t)(i + (unsigned)__builtin_ctz(kept));
	}
	return m;
}

kh_syncmer_fn *kh_syncmer_avx2(const kh_sampling *sk)
{
	return sk->s <= 16 && __builtin_cpu_supports("avx2") ? syncmers : NULL;
}
#else
kh_syncmer_fn *kh_syncmer_avx2(const kh_sampling *sk)
{
	(void)sk;
	return NULL;
}
#endif
