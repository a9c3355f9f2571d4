/*
 * asides.h - the ways in which a read may lie a few bases aside, and bounds of their scores   [HD]
 *
 * With SSE2 a byte of a vector stands for each way, so the CPU has the bounds of all ways at once,
 * and kh_text_fit (fit.h) has to compare the read in few of them.
 */
#ifndef KH_KMER_ASIDES_H
#define KH_KMER_ASIDES_H

#include <stdbool.h>
#include "kmer/text.h"

enum { KH_ASIDES = 2 * KH_END_ASIDE + 1 };

/* How far aside number i of KH_ASIDES is: 0, 1, -1, 2, -2 ... */
static KH_HD int64_t kh_text_aside_of(uint32_t i)
{
	return i % 2 ? (int64_t)(i + 1) / 2 : -(int64_t)(i / 2);
}

static KH_HD uint32_t kh_text_less_gap(uint32_t score, uint32_t i)
{
	return score < KH_END_SCORE ? 0 : i > 0 ? score - KH_GAP_COST : score;
}

/* An HSP, and where its read lies. */
typedef struct kh_text_aside {
	kh_alignment fit;
	int64_t at;
} kh_text_aside;

#if defined __SSE2__ && !defined __CUDACC__
#define KH_TEXT_SSE2 1
#include <emmintrin.h>

/* The half of a sum fits into a byte. */
enum { KH_ASIDE_COLUMNS = 254 };

/* 64 bases from a byte on, less so many bits; left: 64 less these. */
static inline __m128i kh_text_two_at(const uint8_t *at, __m128i bits, __m128i left)
{
	return _mm_or_si128(_mm_srl_epi64(_mm_loadu_si128((const __m128i *)at), bits),
			    _mm_sll_epi64(_mm_loadu_si128((const __m128i *)(at + 8)), left));
}

/* As kh_text_bases, 64 bases. */
static inline __m128i kh_text_two(const uint32_t *text, uint64_t i)
{
	const int bits = 2 * (int)(i % 4);

	return kh_text_two_at((const uint8_t *)text + i / 4, _mm_cvtsi32_si128(bits),
			      _mm_cvtsi32_si128(64 - bits));
}

/* As kh_text_wrong of fit.h, of words of a read, the first of which lies at base `at`, and perhaps
 * of the one behind them. */
static inline void kh_text_wrong_words(const kh_laid *l, uint64_t at, uint32_t word, uint32_t end,
				       uint64_t *wrong)
{
	const __m128i bits = _mm_cvtsi32_si128(2 * (int)(at % 4));
	const __m128i left = _mm_cvtsi32_si128(64 - 2 * (int)(at % 4));
	const uint8_t *text = (const uint8_t *)l->text + at / 4;
	const uint8_t *alleles = l->alleles ? (const uint8_t *)l->alleles + at / 4 : NULL;
	const kh_oriented *r = l->read;

	for (; word < end; word += 2, text += 16) {
		const __m128i read = _mm_loadu_si128((const __m128i *)(r->base + word));
		const __m128i unknown = _mm_loadu_si128((const __m128i *)(r->unknown + word));
		const __m128i x = _mm_xor_si128(read, kh_text_two_at(text, bits, left));
		__m128i differ = _mm_or_si128(x, _mm_srli_epi64(x, 1));

		if (alleles) {
			const __m128i y = _mm_xor_si128(x, kh_text_two_at(alleles, bits, left));

			differ = _mm_and_si128(differ, _mm_or_si128(y, _mm_srli_epi64(y, 1)));
			alleles += 16;
		}
		differ = _mm_or_si128(_mm_and_si128(differ, _mm_set1_epi8(0x55)), unknown);
		_mm_storeu_si128((__m128i *)(wrong + word), differ);
	}
}

/* Writes a byte for each base of the text from `at` on: it, and three bases behind it. */
static inline void kh_text_fours(const uint32_t *text, uint64_t at, uint32_t n, uint8_t *to)
{
	for (uint32_t i = 0; i < n; i += 28) {  /* the last three of 32 are not whole */
		const __m128i a = _mm_cvtsi64_si128((long long)kh_text_bases(text, at + i));
		const __m128i ab = _mm_unpacklo_epi8(a, _mm_srli_epi64(a, 2));
		const __m128i cd = _mm_unpacklo_epi8(_mm_srli_epi64(a, 4), _mm_srli_epi64(a, 6));

		_mm_storeu_si128((__m128i *)(to + i), _mm_unpacklo_epi16(ab, cd));
		_mm_storeu_si128((__m128i *)(to + i) + 1, _mm_unpackhi_epi16(ab, cd));
	}
}

/* The same of the first 16 of some bases, in a vector. */
static inline __m128i kh_text_fours_of(uint64_t bases)
{
	const __m128i a = _mm_cvtsi64_si128((long long)bases);
	const __m128i ab = _mm_unpacklo_epi8(a, _mm_srli_epi64(a, 2));
	const __m128i cd = _mm_unpacklo_epi8(_mm_srli_epi64(a, 4), _mm_srli_epi64(a, 6));

	return _mm_unpacklo_epi16(ab, cd);
}

/* Writes each four bases of a read four times, from which a processor fills a vector at once. */
static inline void kh_text_read_fours(const kh_oriented *r, uint32_t from, uint32_t to,
				      uint32_t *fours)
{
	const uint32_t sh = 2 * (from % 32);

	for (uint32_t w = from / 32; 32 * w < to; w++, fours += 8) {
		const uint64_t more = 32 * (w + 1) < to ? r->base[w + 1] : 0;
		const __m128i x = _mm_cvtsi64_si128(
			(long long)(sh > 0 ? r->base[w] >> sh | more << (64 - sh) : r->base[w]));
		const __m128i twice = _mm_unpacklo_epi8(x, x);

		_mm_storeu_si128((__m128i *)fours, _mm_unpacklo_epi16(twice, twice));
		_mm_storeu_si128((__m128i *)fours + 1, _mm_unpackhi_epi16(twice, twice));
	}
}

/* The low bits of bases that are not 0, in bytes of four. */
static inline __m128i kh_text_any_fours(__m128i x)
{
	return _mm_and_si128(_mm_or_si128(x, _mm_srli_epi16(x, 1)), _mm_set1_epi8(0x55));
}

/* How many of such bases are in each byte. */
static inline __m128i kh_text_count_fours(__m128i x)
{
	const __m128i pair = _mm_set1_epi8(0x11);

	x = _mm_add_epi8(_mm_and_si128(x, pair), _mm_and_si128(_mm_srli_epi16(x, 2), pair));
	return _mm_and_si128(_mm_add_epi8(x, _mm_srli_epi16(x, 4)), _mm_set1_epi8(0x0f));
}

/* The bytes of four from number i on, for each way to lie: those in front, and those behind. */
static inline __m128i kh_text_ways(const uint8_t *fours, uint32_t i)
{
	return _mm_unpacklo_epi64(
		_mm_loadl_epi64((const __m128i *)(fours + i)),
		_mm_loadl_epi64((const __m128i *)(fours + i + KH_END_ASIDE + 1)));
}

/* 0, if n bases of the alleles from base i on, and what fills up words of 32, are none. */
static inline uint64_t kh_text_any_allele(const uint32_t *alleles, uint64_t i, uint32_t n)
{
	uint64_t any = 0;

	for (uint32_t k = 0; k < n; k += 32)
		any |= kh_text_bases(alleles, i + k);
	return any;
}

/* Where a read lies from 8 bases in front of `at` to 8 behind it, but for `at` itself: halves of
 * sums of its columns from .. to - 1, a byte for each way to lie.  They are found by four columns
 * at a time, whose sums are even.  An HSP that begins inside of four gains 2 at most by that,
 * and one that ends there 2, or 3 behind the last four. */
static inline __m128i kh_text_halves(const kh_laid *l, int64_t at, uint32_t from, uint32_t to)
{
	uint8_t text[KH_ASIDE_COLUMNS + 64], alleles[KH_ASIDE_COLUMNS + 64];
	uint32_t read[KH_ASIDE_COLUMNS / 4 + 16];
	const uint32_t n = to - from, bases = n + 2 * KH_END_ASIDE;
	const uint64_t first = (uint64_t)(at + from - KH_END_ASIDE);
	const bool others = l->alleles && kh_text_any_allele(l->alleles, first, bases) != 0;
	const __m128i two = _mm_set1_epi8(2);
	__m128i now = _mm_setzero_si128(), most = now;

	kh_text_read_fours(l->read, from, to, read);
	kh_text_fours(l->text, first, bases, text);
	if (others)
		kh_text_fours(l->alleles, first, bases, alleles);
	for (uint32_t i = 0; i + 4 <= n; i += 4) {
		const __m128i x = _mm_xor_si128(kh_text_ways(text, i),
						_mm_set1_epi32((int)read[i / 4]));
		__m128i differ = kh_text_any_fours(x);

		if (others)
			differ = _mm_and_si128(differ, kh_text_any_fours(_mm_xor_si128(
							       x, kh_text_ways(alleles, i))));
		now = _mm_subs_epu8(_mm_add_epi8(now, two), kh_text_count_fours(differ));
		most = _mm_max_epu8(most, now);
	}
	return most;
}

/* All ways to lie but `at` itself, as bits. */
#define KH_ALL_WAYS ((1u << (KH_ASIDES - 1)) - 1)

/* Which ways could be as good as one with such a score?  A sum is at most twice its half, and 5
 * more.  So a sum of KH_END_SCORE, 14, has a half of 5 at least. */
static inline uint32_t kh_text_ways_better(__m128i halves, uint32_t score)
{
	const uint32_t half = (score + KH_GAP_COST - 5 + 1) / 2, low = (KH_END_SCORE - 4) / 2;
	const __m128i few =
		_mm_subs_epu8(_mm_set1_epi8((char)(half > low ? half : low)), halves);

	return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(few, _mm_setzero_si128()));
}

/* The one with the greatest half of some ways. */
static inline uint32_t kh_text_top_way(const uint8_t *half, uint32_t ways)
{
	uint32_t top = 0, most = 0;

	for (; ways != 0; ways &= ways - 1) {
		const uint32_t i = (uint32_t)__builtin_ctz(ways);

		top = half[i] > most ? i : top;
		most = half[i] > most ? half[i] : most;
	}
	return top;
}

/* The number, of KH_ASIDES, of a way to lie that is bit i of these. */
static inline uint32_t kh_text_number_of_way(uint32_t i)
{
	return i < KH_END_ASIDE ? 2 * (KH_END_ASIDE - i) : 2 * (i - KH_END_ASIDE) + 1;
}

static inline uint32_t kh_text_way_of_number(uint32_t i)
{
	return i % 2 ? KH_END_ASIDE + i / 2 : KH_END_ASIDE - i / 2;
}
#endif

#endif
