/* sum.h - the stretch of columns with the greatest sum: text.h   [HD] */
#ifndef KH_TEXT_SUM_H
#define KH_TEXT_SUM_H

#include <stdbool.h>
#include "text/text.h"

/* A sum over columns, which begins anew where it comes to 0. */
typedef struct kh_text_sum {
	uint32_t now;
	uint32_t from, wrong;           /* its first column, and its mismatches */
	kh_alignment best;
} kh_text_sum;

static KH_HD void kh_text_add_matches(kh_text_sum *s, uint32_t from, uint32_t to)
{
	s->now += to - from;
	if (s->now > s->best.score) {
		s->best.score = s->now;
		s->best.matches = to - s->from - s->wrong;
		s->best.columns = to - s->from;
		s->best.from = s->from;
		s->best.to = to;
	}
}

/* Adds n mismatches, of which the first one is at column `at`. */
static KH_HD void kh_text_add_mismatches(kh_text_sum *s, uint32_t at, uint32_t n)
{
	const bool on = s->now > n;

	s->from = on ? s->from : at + n;
	s->wrong = on ? s->wrong + n : 0;
	s->now = on ? s->now - n : 0;
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

#endif
