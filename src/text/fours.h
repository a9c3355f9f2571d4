/*
 * fours.h - the best stretch of columns, four at a time
 *
 * For the CPU, what kh_text_fit_each of fit.h finds one mismatch after another.  Where a read lies
 * by chance three of four columns do not match, and most places that are compared are of that kind.
 * First the greatest sum is found: how four columns change it stands in tables.  Then, from there
 * backwards, where its stretch begins.
 */
#ifndef KH_TEXT_FOURS_H
#define KH_TEXT_FOURS_H

#include "text/text.h"

/* Of four columns, those that do not match as bits: what all add to a sum; the most that some
 * first ones add; the most that a stretch has that goes on behind them, and one within them. */
static const int8_t kh_four_all[16] = { 4, 2, 2, 0, 2, 0, 0, -2, 2, 0, 0, -2, 0, -2, -2, -4 };
static const int8_t kh_four_first[16] = { 4, 2, 2, 0, 2, 0, 1, -1, 3, 1, 1, -1, 2, 0, 1, -1 };
static const int8_t kh_four_last[16] = { 4, 3, 2, 2, 2, 1, 1, 1, 2, 1, 0, 0, 0, 0, 0, 0 };
static const int8_t kh_four_within[16] = { 4, 3, 2, 2, 2, 1, 1, 1, 3, 2, 1, 1, 2, 1, 1, 0 };

/* Where a sum is first the greatest. */
typedef struct kh_text_top {
	int32_t score;
	int32_t before;                 /* the sum in front of the word that reaches it */
	uint32_t word;
} kh_text_top;

/* Goes on with the columns of a word; returns the sum behind them.  Nothing is asked within a word
 * that has mismatches, as nobody could foretell the answers. */
static inline int32_t kh_text_add_word(kh_text_top *t, int32_t sum, const uint64_t *wrong,
				       uint32_t w)
{
	const int32_t before = sum;
	uint64_t x = wrong[w];
	int32_t most = 0;

	if (x == 0) {
		if (sum + 32 > t->score)
			*t = (kh_text_top) { sum + 32, sum, w };
		return sum + 32;
	}
	x = (x | x >> 1) & UINT64_C(0x3333333333333333);
	x = (x | x >> 2) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	for (uint32_t i = 0; i < 8; i++, x >>= 8) {
		const unsigned four = x & 15;
		const int32_t on = sum + kh_four_first[four], last = kh_four_last[four];

		most = on > most ? on : most;
		most = kh_four_within[four] > most ? kh_four_within[four] : most;
		sum += kh_four_all[four];
		sum = sum > last ? sum : last;
	}
	if (most > t->score)
		*t = (kh_text_top) { most, before, w };
	return sum;
}

/* The column behind the one that reaches the greatest sum. */
static inline uint32_t kh_text_top_end(const kh_text_top *t, const uint64_t *wrong)
{
	const uint64_t x = wrong[t->word];
	int32_t sum = t->before;
	uint32_t i = 0;

	if (t->score - sum == 32)
		return 32 * t->word + 32;
	for (; sum < t->score; i++) {
		sum += x >> 2 * i & 1 ? -1 : 1;
		sum = sum > 0 ? sum : 0;
	}
	return 32 * t->word + i;
}

/* The stretch that ends in front of column `to` and has this score, the shortest. */
static inline kh_alignment kh_text_stretch(const uint64_t *wrong, uint32_t to, uint32_t score)
{
	uint32_t left = score, i = to, n = 0;

	for (;;) {
		/* matches in front of column i, in its word */
		const uint32_t w = (i - 1) / 32, in = i - 32 * w;
		const uint64_t x = wrong[w] << (64 - 2 * in);
		const uint32_t run = x ? (uint32_t)__builtin_clzll(x) / 2 : in;

		if (run >= left)
			break;
		i -= run;
		left -= run;
		if (x) {
			i--;
			left++;
			n++;
		}
	}
	return (kh_alignment) { score, to - (i - left) - n, to - (i - left), i - left, to };
}

/* The best stretch of the columns of words first .. end - 1: of each column that does not match, or
 * does not count, the low bit is set. */
static inline kh_alignment kh_text_fit_fours(const uint64_t *wrong, uint32_t first, uint32_t end)
{
	kh_text_top t = { 0, 0, 0 };
	int32_t sum = 0;

	for (uint32_t w = first; w < end; w++)
		sum = kh_text_add_word(&t, sum, wrong, w);
	if (t.score == 0)
		return (kh_alignment) { 0, 0, 0, 0, 0 };
	return kh_text_stretch(wrong, kh_text_top_end(&t, wrong), (uint32_t)t.score);
}

#endif
