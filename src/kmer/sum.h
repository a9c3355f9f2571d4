/* sum.h - the stretch of columns with the greatest sum: text.h   [HD] */
#ifndef KH_KMER_SUM_H
#define KH_KMER_SUM_H

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

/* The stretch with the greatest sum: its matches are more than its mismatches by that. */
static KH_HD kh_alignment kh_text_sum_stretch(const kh_text_sum *s)
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

#endif
