/*
 * asides.h - the greatest sums of a read that lies a few bases aside, all at a time: 1.5 times as
 * many nanopore reads as by plain C (doc/speed.md)
 *
 * For the CPU, where it has SSE2, what kh_text_fit of fit.h says of each way to lie: a byte of
 * a vector for each of them.
 */
#ifndef KH_TEXT_ASIDES_H
#define KH_TEXT_ASIDES_H

#include <stdbool.h>
#include "text/text.h"

#ifdef __SSE2__
#include <emmintrin.h>

enum { KH_ASIDE_COLUMNS = 253 };        /* a sum, and a match more, fit into a byte */

/* A byte for each of 32 bases. */
typedef struct kh_text_bytes {
	__m128i lo, hi;
} kh_text_bytes;

static inline kh_text_bytes kh_text_bytes_of(uint64_t bases)
{
	const __m128i x = _mm_cvtsi64_si128((long long)bases), two = _mm_set1_epi8(3);
	const __m128i a = _mm_and_si128(x, two), b = _mm_and_si128(_mm_srli_epi64(x, 2), two);
	const __m128i c = _mm_and_si128(_mm_srli_epi64(x, 4), two);
	const __m128i d = _mm_and_si128(_mm_srli_epi64(x, 6), two);
	const __m128i ab = _mm_unpacklo_epi8(a, b), cd = _mm_unpacklo_epi8(c, d);
	const kh_text_bytes y = { _mm_unpacklo_epi16(ab, cd), _mm_unpackhi_epi16(ab, cd) };

	return y;
}

/* Writes each byte four times, from which a processor fills a vector at once. */
static inline void kh_text_four_times(__m128i x, uint32_t to[16])
{
	const __m128i lo = _mm_unpacklo_epi8(x, x), hi = _mm_unpackhi_epi8(x, x);

	_mm_storeu_si128((__m128i *)to, _mm_unpacklo_epi16(lo, lo));
	_mm_storeu_si128((__m128i *)to + 1, _mm_unpackhi_epi16(lo, lo));
	_mm_storeu_si128((__m128i *)to + 2, _mm_unpacklo_epi16(hi, hi));
	_mm_storeu_si128((__m128i *)to + 3, _mm_unpackhi_epi16(hi, hi));
}

/* Writes each base of a word of a read four times; those that are unknown are no base of a text. */
static inline void kh_text_read_bytes(const kh_oriented *r, uint32_t w, uint32_t to[32])
{
	kh_text_bytes x = kh_text_bytes_of(r->base[w]);

	if (r->unknown[w] != 0) {
		const kh_text_bytes u = kh_text_bytes_of(r->unknown[w]);

		/* no byte has more than two bits, so none is moved into another one */
		x.lo = _mm_or_si128(x.lo, _mm_slli_epi16(u.lo, 2));
		x.hi = _mm_or_si128(x.hi, _mm_slli_epi16(u.hi, 2));
	}
	kh_text_four_times(x.lo, to);
	kh_text_four_times(x.hi, to + 16);
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

/* Writes each four bases of a read four times.  False: some are unknown. */
static inline bool kh_text_read_fours(const kh_oriented *r, uint32_t from, uint32_t to,
				      uint32_t *fours)
{
	const uint32_t sh = 2 * (from % 32);
	uint64_t unknown = 0;

	for (uint32_t w = from / 32; 32 * w < to; w++, fours += 8) {
		const uint64_t more = 32 * (w + 1) < to ? r->base[w + 1] : 0;
		const __m128i x = _mm_cvtsi64_si128(
			(long long)(sh > 0 ? r->base[w] >> sh | more << (64 - sh) : r->base[w]));
		const __m128i twice = _mm_unpacklo_epi8(x, x);

		_mm_storeu_si128((__m128i *)fours, _mm_unpacklo_epi16(twice, twice));
		_mm_storeu_si128((__m128i *)fours + 1, _mm_unpackhi_epi16(twice, twice));
		unknown |= r->unknown[w];
	}
	return unknown == 0;
}

/* In how many bases two vectors of bytes of four differ. */
static inline __m128i kh_text_differ_fours(__m128i a, __m128i b)
{
	const __m128i pair = _mm_set1_epi8(0x11);
	__m128i x = _mm_xor_si128(a, b);

	x = _mm_and_si128(_mm_or_si128(x, _mm_srli_epi16(x, 1)), _mm_set1_epi8(0x55));
	x = _mm_add_epi8(_mm_and_si128(x, pair), _mm_and_si128(_mm_srli_epi16(x, 2), pair));
	return _mm_and_si128(_mm_add_epi8(x, _mm_srli_epi16(x, 4)), _mm_set1_epi8(0x0f));
}

/* Where a read lies from 8 bases in front of `at` to 8 behind it, but for `at` itself: could any of
 * its columns from .. to - 1 have a score of KH_END_SCORE?  Nearly always none has, and that is
 * found by four columns at a time, whose sums are even.  A stretch that begins inside of four gains
 * 2 at most by that, and one that ends there 2, or 3 behind the last four: of these 5 one is lost
 * for a stretch of whole fours, as 9 is not even. */
static inline bool kh_text_may_lie_aside(const kh_laid *l, int64_t at, uint32_t from, uint32_t to)
{
	uint8_t text[KH_ASIDE_COLUMNS + 64];
	uint32_t read[KH_ASIDE_COLUMNS / 4 + 16];
	const uint32_t n = to - from;
	const __m128i two = _mm_set1_epi8(2);
	__m128i now = _mm_setzero_si128(), most = now;  /* halves of sums */

	if (!kh_text_read_fours(l->read, from, to, read))
		return true;
	kh_text_fours(l->text, (uint64_t)(at + from - KH_END_ASIDE), n + 2 * KH_END_ASIDE, text);
	for (uint32_t i = 0; i + 4 <= n; i += 4) {
		const __m128i front = _mm_loadl_epi64((const __m128i *)(text + i));
		const __m128i behind =
			_mm_loadl_epi64((const __m128i *)(text + i + KH_END_ASIDE + 1));
		const __m128i differ = kh_text_differ_fours(_mm_unpacklo_epi64(front, behind),
							    _mm_set1_epi32((int)read[i / 4]));

		now = _mm_subs_epu8(_mm_add_epi8(now, two), differ);
		most = _mm_max_epu8(most, now);
	}
	most = _mm_subs_epu8(most, _mm_set1_epi8((KH_END_SCORE - 4) / 2 - 1));
	return _mm_movemask_epi8(_mm_cmpeq_epi8(most, _mm_setzero_si128())) != 0xffff;
}

/* Where a read lies from 8 bases in front of `at` to 8 behind it, but for `at` itself: the greatest
 * sums of its columns from .. to - 1, which are KH_ASIDE_COLUMNS at most and on the target
 * everywhere.  Is any of use? */
static inline bool kh_text_sums(const kh_laid *l, int64_t at, uint32_t from, uint32_t to,
				uint8_t sum[2 * KH_END_ASIDE])
{
	uint8_t text[KH_ASIDE_COLUMNS + 64];
	uint32_t read[KH_ASIDE_COLUMNS + 64];
	const uint32_t n = to - from, first = from / 32 * 32, *base = read + (from - first);
	const __m128i one = _mm_set1_epi8(1), two = _mm_set1_epi8(2);
	__m128i now = _mm_setzero_si128(), most = now;

	for (uint32_t i = 0; i < n + 2 * KH_END_ASIDE; i += 32) {
		const kh_text_bytes x = kh_text_bytes_of(
			kh_text_bases(l->text, (uint64_t)(at + from - KH_END_ASIDE + i)));

		_mm_storeu_si128((__m128i *)(text + i), x.lo);
		_mm_storeu_si128((__m128i *)(text + i) + 1, x.hi);
	}
	for (uint32_t i = first; i < to; i += 32)
		kh_text_read_bytes(l->read, i / 32, read + (i - first));
	for (uint32_t i = 0; i < n; i++) {
		const __m128i front = _mm_loadl_epi64((const __m128i *)(text + i));
		const __m128i behind =
			_mm_loadl_epi64((const __m128i *)(text + i + KH_END_ASIDE + 1));
		const __m128i same = _mm_cmpeq_epi8(_mm_unpacklo_epi64(front, behind),
						    _mm_set1_epi32((int)base[i]));

		/* a match adds 1, a mismatch takes 1, if there is one */
		now = _mm_subs_epu8(_mm_adds_epu8(now, _mm_and_si128(same, two)), one);
		most = _mm_max_epu8(most, now);
	}
	_mm_storeu_si128((__m128i *)sum, most);
	most = _mm_subs_epu8(most, _mm_set1_epi8(KH_END_SCORE - 1));
	return _mm_movemask_epi8(_mm_cmpeq_epi8(most, _mm_setzero_si128())) != 0xffff;
}
#endif

#endif
