/* sum.h - the HSP: the columns in a row with the greatest sum: text.h   [HD] */
#ifndef KH_KMER_SUM_H
#define KH_KMER_SUM_H

#include <assert.h>
#include <stdbool.h>
#include "kmer/text.h"

/* A sum over columns, which begins anew where it comes to 0, and the greatest one. */
typedef struct kh_text_sum {
	uint32_t now, from;             /* its first column */
	uint32_t best, best_from, best_to;
} kh_text_sum;

static KH_HD kh_text_sum kh_text_sum_from(uint32_t column)
{
	const kh_text_sum s = { 0, column, 0, 0, 0 };

	return s;
}

static KH_HD void kh_text_add_matches(kh_text_sum *s, uint32_t from, uint32_t to)
{
	s->now += to - from;
	if (s->now > s->best) {
		s->best = s->now;
		s->best_from = s->from;
		s->best_to = to;
	}
}

/* Adds n mismatches, of which the first one is at column `at`. */
static KH_HD void kh_text_add_mismatches(kh_text_sum *s, uint32_t at, uint32_t n)
{
	const bool on = s->now > n;

	s->from = on ? s->from : at + n;
	s->now = on ? s->now - n : 0;
}

/* The HSP: its matches are more than its mismatches by that. */
static KH_HD kh_alignment kh_text_sum_hsp(const kh_text_sum *s)
{
	const uint32_t columns = s->best_to - s->best_from;
	const kh_alignment a = { s->best, (columns + s->best) / 2, columns, s->best_from,
				 s->best_to };

	return a;
}

/* Adds the columns of a word that do not match, both bits of each: so a run is one of bits, too.
 * Of the columns in front of `done` all is known. */
static KH_HD void kh_text_add_word(kh_text_sum *s, uint32_t *done, uint32_t word, uint64_t x)
{
	while (x != 0) {
		const uint32_t first = kh_text_lowest(x);
		const uint64_t behind = x + (x & (0 - x));
		const uint32_t end = behind != 0 ? kh_text_lowest(behind) : 32;

		kh_text_add_matches(s, *done, word + first);
		kh_text_add_mismatches(s, word + first, end - first);
		*done = word + end;
		x &= behind;
	}
}

/* The same of a word with a bit for each column. */
static KH_HD void kh_text_add_bits(kh_text_sum *s, uint32_t *done, uint32_t word, uint32_t x)
{
	while (x != 0) {
		const uint32_t first = kh_lowest_bit(x), behind = x + (x & (0 - x));
		const uint32_t end = behind != 0 ? kh_lowest_bit(behind) : 32;

		kh_text_add_matches(s, *done, word + first);
		kh_text_add_mismatches(s, word + first, end - first);
		*done = word + end;
		x &= behind;
	}
}

/* --- eight columns at a time ------------------------------------------------------- */
/*
 * Where many columns do not match, runs of matches are short, and the processor mispredicts their
 * ends.  So a sum is one number, sum << 20 | 1023 - to << 10 | from: the greatest of several is the
 * first one with the greatest sum.  While a sum may go on, 1023 - to is 0.
 *
 * For eight columns, a bit set for each mismatch, a table says what they add to a sum that goes on:
 * `all` of them, and `most`, up to the first column where that is greatest.  It also has the sum
 * that begins `anew` behind the column where the sum is least: it is greater if the sum came to 0.
 */
typedef struct kh_text_eight {
	int32_t all, most, anew;
} kh_text_eight;

enum { KH_TEXT_SUM = 1 << 20, KH_TEXT_TO = 1 << 10, KH_TEXT_LAST = KH_TEXT_TO - 1 };
/* A sum that begins and ends in the same eight columns is passed over.  It is not more than eight:
 * so if the greatest one is not above that, nothing else is known of it. */
enum { KH_TEXT_EIGHT = 8, KH_TEXT_NO_MORE = (KH_TEXT_EIGHT + 1) * KH_TEXT_SUM - 1 };
static_assert(KH_TEXT_SPAN <= KH_TEXT_LAST, "a number has its columns");

#ifndef __CUDACC__
static inline void kh_text_eights_init(kh_text_eight eights[256])
{
	for (uint32_t wrong = 0; wrong < 256; wrong++) {
		int32_t sum = 0, most = -8, least = 8, at_most = 0, at_least = 0;

		for (int32_t i = 0; i < 8; i++) {
			sum += wrong >> i & 1 ? -1 : 1;
			at_most = sum > most ? i + 1 : at_most;
			most = sum > most ? sum : most;
			at_least = sum <= least ? i + 1 : at_least;
			least = sum < least ? sum : least;
		}
		eights[wrong] = (kh_text_eight) { sum * KH_TEXT_SUM,
						  most * KH_TEXT_SUM - at_most * KH_TEXT_TO,
						  (sum - least) * KH_TEXT_SUM + at_least };
	}
}

/* Adds the columns of a word from `column` on to a sum that goes on, by the low bits of those that
 * do not match; *best: the greatest sum. */
static inline int32_t kh_text_add_eights(const kh_text_eight *eights, int32_t now, int32_t column,
					 uint64_t x, int32_t *best)
{
	int32_t most = *best;

	if (x == 0) {
		now += 32 * KH_TEXT_SUM;
		most = now + (KH_TEXT_LAST - column - 32) * KH_TEXT_TO;
		*best = most > *best ? most : *best;
		return now;
	}
	x = (x | x >> 1) & UINT64_C(0x3333333333333333);
	x = (x | x >> 2) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	x |= x >> 4;
	KH_UNROLLED
	for (int i = 0; i < 4; i++) {
		const kh_text_eight *e = &eights[x >> 16 * i & 0xff];
		const int32_t on = now + e->all, anew = e->anew + column + 8 * i;
		const int32_t here = now + e->most + (KH_TEXT_LAST - column - 8 * i) * KH_TEXT_TO;

		most = here > most ? here : most;
		now = on > anew ? on : anew;
	}
	*best = most;
	return now;
}

/* The HSP of such a number. */
static inline kh_alignment kh_text_hsp_of(int32_t number)
{
	const uint32_t score = (uint32_t)number / KH_TEXT_SUM, from = (uint32_t)number % KH_TEXT_TO;
	const uint32_t to = KH_TEXT_LAST - (uint32_t)number / KH_TEXT_TO % KH_TEXT_TO;

	return (kh_alignment) { score, (to - from + score) / 2, to - from, from, to };
}
#endif

#endif
