/*
 * asides.h - how a read may lie a few bases aside, and its greatest sums, all at a time   [HD]
 *
 * The sums are for the CPU, where it has SSE2, what kh_text_fit of fit.h says of each way to lie,
 * as a byte of a vector: twice as many nanopore reads as by plain C (doc/speed.md).
 */
#ifndef KH_TEXT_ASIDES_H
#define KH_TEXT_ASIDES_H

#include <stdbool.h>
#include "text/text.h"

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

#if defined __SSE2__ && !defined __CUDACC__
#define KH_TEXT_SUMS 1
#include <emmintrin.h>

/* A sum, and one more than it, fits into a byte. */
enum { KH_ASIDE_COLUMNS = 254, KH_ASIDE_ROOM = 288 };

/* A byte for each of 32 bases. */
static inline void kh_text_bytes(uint64_t bases, __m128i to[2])
{
	const __m128i x = _mm_cvtsi64_si128((long long)bases), two = _mm_set1_epi8(3);
	const __m128i a = _mm_and_si128(x, two), b = _mm_and_si128(_mm_srli_epi64(x, 2), two);
	const __m128i c = _mm_and_si128(_mm_srli_epi64(x, 4), two);
	const __m128i d = _mm_and_si128(_mm_srli_epi64(x, 6), two);
	const __m128i ab = _mm_unpacklo_epi8(a, b), cd = _mm_unpacklo_epi8(c, d);

	to[0] = _mm_unpacklo_epi16(ab, cd);
	to[1] = _mm_unpackhi_epi16(ab, cd);
}

/* For each base, and 32 bases of a text or their alleles: 2 where one of them is that base, else
 * 0. */
static inline void kh_text_equal(uint64_t bases, uint64_t alleles, uint8_t to[4][KH_ASIDE_ROOM],
				 uint32_t at)
{
	const __m128i two = _mm_set1_epi8(2);
	__m128i x[2], y[2];

	kh_text_bytes(bases, x);
	kh_text_bytes(alleles, y);
	for (int base = 0; base < 4; base++)
		for (int i = 0; i < 2; i++) {
			const __m128i is = _mm_set1_epi8((char)base);
			const __m128i same = _mm_or_si128(_mm_cmpeq_epi8(x[i], is),
							  _mm_cmpeq_epi8(y[i], is));

			_mm_store_si128((__m128i *)(to[base] + at) + i, _mm_and_si128(same, two));
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

/* Where a read lies from 8 bases in front of `at` to 8 behind it, but for `at` itself: could any of
 * its columns from .. to - 1 have a score of KH_END_SCORE?  Nearly always none has, and that is
 * found by four columns at a time, whose sums are even.  A stretch that begins inside of four gains
 * 2 at most by that, and one that ends there 2, or 3 behind the last four: of these 5 one is lost
 * for a stretch of whole fours, as 9 is not even. */
static inline bool kh_text_may_lie_aside(const kh_laid *l, int64_t at, uint32_t from, uint32_t to)
{
	uint8_t text[KH_ASIDE_COLUMNS + 64], alleles[KH_ASIDE_COLUMNS + 64];
	uint32_t read[KH_ASIDE_COLUMNS / 4 + 16];
	const uint32_t n = to - from, bases = n + 2 * KH_END_ASIDE;
	const uint64_t first = (uint64_t)(at + from - KH_END_ASIDE);
	const __m128i two = _mm_set1_epi8(2);
	__m128i now = _mm_setzero_si128(), most = now;  /* halves of sums */

	kh_text_read_fours(l->read, from, to, read);
	kh_text_fours(l->text, first, bases, text);
	if (l->alleles)
		kh_text_fours(l->alleles, first, bases, alleles);
	for (uint32_t i = 0; i + 4 <= n; i += 4) {
		const __m128i x = _mm_xor_si128(kh_text_ways(text, i),
						_mm_set1_epi32((int)read[i / 4]));
		__m128i differ = kh_text_any_fours(x);

		if (l->alleles)
			differ = _mm_and_si128(differ, kh_text_any_fours(_mm_xor_si128(
							       x, kh_text_ways(alleles, i))));
		now = _mm_subs_epu8(_mm_add_epi8(now, two), kh_text_count_fours(differ));
		most = _mm_max_epu8(most, now);
	}
	most = _mm_subs_epu8(most, _mm_set1_epi8((KH_END_SCORE - 4) / 2 - 1));
	return _mm_movemask_epi8(_mm_cmpeq_epi8(most, _mm_setzero_si128())) != 0xffff;
}

/* The greatest sums of n <= KH_ASIDE_COLUMNS columns of a read from `from` on, whose bases are all
 * known: a byte for each way to lie from 7 bases in front of `at` to 8 behind it, all of which are
 * on the target. */
static inline __m128i kh_text_sums(const kh_laid *l, int64_t at, uint32_t from, uint32_t n)
{
	_Alignas(16) uint8_t equal[4][KH_ASIDE_ROOM];
	const uint64_t first = (uint64_t)(at + from - KH_END_ASIDE + 1);
	const __m128i one = _mm_set1_epi8(1);
	__m128i now = _mm_setzero_si128(), most = now;
	uint64_t read = 0;

	for (uint32_t i = 0; i < n + 2 * KH_END_ASIDE - 1; i += 32) {
		const uint64_t bases = kh_text_bases(l->text, first + i);
		const uint64_t other = l->alleles ? kh_text_bases(l->alleles, first + i) : 0;

		kh_text_equal(bases, bases ^ other, equal, i);
	}
	for (uint32_t i = 0; i < n; i++, read >>= 2) {
		if (i == 0 || (from + i) % 32 == 0)
			read = l->read->base[(from + i) / 32] >> 2 * ((from + i) % 32);
		const __m128i same = _mm_loadu_si128((const __m128i *)(equal[read & 3] + i));

		/* one more, or one less, but not below 0 */
		now = _mm_subs_epu8(_mm_adds_epu8(now, same), one);
		most = _mm_max_epu8(most, now);
	}
	return most;
}

/* Of the ways to lie that have these sums, the best one, of equal ones the one that is less far
 * aside: its number.  *score: its sum, less what the gap costs; 0: none is of use. */
static inline uint32_t kh_text_best_sum(__m128i sum, bool here, uint32_t *score)
{
	const __m128i centre = _mm_set_epi32(0, 0, (int)(255u << 24), 0);
	const __m128i cost = _mm_andnot_si128(centre, _mm_set1_epi8(KH_GAP_COST));
	const __m128i few = _mm_cmpeq_epi8(_mm_subs_epu8(sum, _mm_set1_epi8(KH_END_SCORE - 1)),
					   _mm_setzero_si128());
	const __m128i out = here ? few : _mm_or_si128(few, centre);
	const __m128i x = _mm_andnot_si128(out, _mm_subs_epu8(sum, cost));
	__m128i top = _mm_max_epu8(x, _mm_srli_si128(x, 8));
	uint32_t i = 0;

	top = _mm_max_epu8(top, _mm_srli_si128(top, 4));
	top = _mm_max_epu8(top, _mm_srli_si128(top, 2));
	top = _mm_max_epu8(top, _mm_srli_si128(top, 1));
	*score = (uint32_t)_mm_cvtsi128_si32(top) & 255;
	if (*score > 0) {
		const __m128i best = _mm_cmpeq_epi8(x, _mm_set1_epi8((char)*score));
		const int mask = _mm_movemask_epi8(best);

		while (!(mask >> (KH_END_ASIDE - 1 + kh_text_aside_of(i)) & 1))
			i++;
	}
	return i;
}
#endif

#endif
