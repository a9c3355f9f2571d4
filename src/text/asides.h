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

enum { KH_ASIDE_COLUMNS = 255 };        /* a sum fits into a byte */

/* Writes a byte for each of 32 bases. */
static inline void kh_text_bytes(uint64_t bases, uint8_t *to)
{
	const __m128i x = _mm_cvtsi64_si128((long long)bases), two = _mm_set1_epi8(3);
	const __m128i a = _mm_and_si128(x, two), b = _mm_and_si128(_mm_srli_epi64(x, 2), two);
	const __m128i c = _mm_and_si128(_mm_srli_epi64(x, 4), two);
	const __m128i d = _mm_and_si128(_mm_srli_epi64(x, 6), two);
	const __m128i ab = _mm_unpacklo_epi8(a, b), cd = _mm_unpacklo_epi8(c, d);

	_mm_storeu_si128((__m128i *)to, _mm_unpacklo_epi16(ab, cd));
	_mm_storeu_si128((__m128i *)to + 1, _mm_unpackhi_epi16(ab, cd));
}

/* Writes a byte for each base of a word of a read; those that are unknown are no base of a text. */
static inline void kh_text_read_bytes(const kh_oriented *r, uint32_t w, uint8_t *to)
{
	uint8_t unknown[32];

	kh_text_bytes(r->base[w], to);
	if (r->unknown[w] == 0)
		return;
	kh_text_bytes(r->unknown[w], unknown);
	for (int i = 0; i < 32; i++)
		to[i] |= (uint8_t)(unknown[i] << 2);
}

/* Where a read lies from 8 bases in front of `at` to 8 behind it, but for `at` itself: the greatest
 * sums of its columns from .. to - 1, which are 255 at most and on the target everywhere.  Is any
 * of use? */
static inline bool kh_text_sums(const kh_laid *l, int64_t at, uint32_t from, uint32_t to,
				uint8_t sum[2 * KH_END_ASIDE])
{
	uint8_t text[KH_ASIDE_COLUMNS + 64], read[KH_ASIDE_COLUMNS + 64];
	const uint32_t n = to - from, first = from / 32 * 32;
	const __m128i one = _mm_set1_epi8(1);
	__m128i now = _mm_setzero_si128(), most = now;

	for (uint32_t i = 0; i < n + 2 * KH_END_ASIDE; i += 32)
		kh_text_bytes(kh_text_bases(l->text, (uint64_t)(at + from - KH_END_ASIDE + i)),
			      text + i);
	for (uint32_t i = first; i < to; i += 32)
		kh_text_read_bytes(l->read, i / 32, read + i - first);
	for (uint32_t i = 0; i < n; i++) {
		const __m128i front = _mm_loadl_epi64((const __m128i *)(text + i));
		const __m128i behind =
			_mm_loadl_epi64((const __m128i *)(text + i + KH_END_ASIDE + 1));
		const __m128i base = _mm_set1_epi8((char)read[from - first + i]);
		const __m128i same = _mm_cmpeq_epi8(_mm_unpacklo_epi64(front, behind), base);

		now = _mm_adds_epu8(now, _mm_and_si128(same, one));
		now = _mm_subs_epu8(now, _mm_andnot_si128(same, one));
		most = _mm_max_epu8(most, now);
	}
	_mm_storeu_si128((__m128i *)sum, most);
	most = _mm_subs_epu8(most, _mm_set1_epi8(KH_END_SCORE - 1));
	return _mm_movemask_epi8(_mm_cmpeq_epi8(most, _mm_setzero_si128())) != 0xffff;
}
#endif

#endif
