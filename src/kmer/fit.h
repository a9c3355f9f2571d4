/* fit.h - reads compared with the references: text.h says how   [HD] */
#ifndef KH_KMER_FIT_H
#define KH_KMER_FIT_H

#include <stdbool.h>
#include "kmer/asides.h"
#include "kmer/seen.h"
#include "kmer/sum.h"
#include "kmer/take.h"
#include "kmer/text.h"

/* --- the HSP ------------------------------------------------------------------- */
typedef struct kh_text_columns {
	uint32_t from, to;
} kh_text_columns;

/* Those of the columns from .. to - 1 that are on the target, if the first base of the read would
 * be base `at` of the text, or begins in front of it. */
static KH_HD kh_text_columns kh_text_on_target(const kh_laid *l, int64_t at, uint32_t from,
					       uint32_t to)
{
	const int64_t first = (int64_t)l->begin - at, last = (int64_t)l->end - at;
	kh_text_columns c;

	c.to = last >= (int64_t)to ? to : last > 0 ? (uint32_t)last : 0;
	c.from = first <= (int64_t)from ? from : first < (int64_t)c.to ? (uint32_t)first : c.to;
	return c;
}

/* The low bits of the columns that do not match, in the word of column i, from i on.  Reads nothing
 * in front of i. */
static KH_HD uint64_t kh_text_wrong(const kh_laid *l, int64_t at, uint32_t i)
{
	const uint32_t w = i / 32, skip = i % 32;
	const uint64_t x = kh_laid_differ(l, l->read->base[w], (uint64_t)(at + (int64_t)i), skip);

	return (x | l->read->unknown[w]) >> 2 * skip << 2 * skip;
}

#ifdef KH_TEXT_SSE2
/* kh_text_wrong of all words that have some of these columns; other columns of these words count as
 * mismatches. */
static inline void kh_text_wrongs(const kh_laid *l, int64_t at, kh_text_columns c,
				  uint64_t wrong[KH_TEXT_WORDS])
{
	const uint32_t end = (c.to + 31) / 32;
	uint32_t w = c.from / 32;

	if (at + 32 * (int64_t)w >= (int64_t)l->begin)
		kh_text_wrong_words(l, (uint64_t)(at + 32 * (int64_t)w), w, end, wrong);
	else
		for (; w < end; w++)
			wrong[w] = kh_text_wrong(l, at, 32 * w > c.from ? 32 * w : c.from);
	wrong[c.from / 32] |= kh_text_first(c.from % 32) & KH_TEXT_LOW;
	wrong[end - 1] |= ~kh_text_first(c.to - 32 * (end - 1)) & KH_TEXT_LOW;
}

/* The HSP of these columns, if its score is above KH_TEXT_EIGHT. */
static inline kh_alignment kh_text_fit_eights(const kh_text_eight *eights, kh_text_columns c,
					      const uint64_t wrong[KH_TEXT_WORDS])
{
	const uint32_t end = (c.to + 31) / 32;
	int32_t now = (int32_t)c.from, best = KH_TEXT_NO_MORE;

	for (uint32_t w = c.from / 32; w < end; w++)
		now = kh_text_add_eights(eights, now, (int32_t)(32 * w), wrong[w], &best);
	return kh_text_hsp_of(best);
}
#endif

/* The HSP of the columns from .. to - 1 of a read whose first base would be base `at` of
 * the text, or that begins in front of it.  Only columns on the target count.  Where a read does
 * not belong most columns do not match, so they are taken by runs. */
static KH_HD kh_alignment kh_text_fit(const kh_laid *l, int64_t at, uint32_t from, uint32_t to)
{
	const kh_text_columns c = kh_text_on_target(l, at, from, to);
	uint32_t done = c.from;
	kh_text_sum s = kh_text_sum_from(c.from);

	if (c.from >= c.to)
		return kh_text_sum_hsp(&s);
#ifdef KH_TEXT_SSE2
	uint64_t wrong[KH_TEXT_WORDS];

	kh_text_wrongs(l, at, c, wrong);
	if (l->seen) {
		const kh_alignment fit = kh_text_fit_eights(l->seen->eights, c, wrong);

		if (fit.score > KH_TEXT_EIGHT)
			return fit;
	}
	done = c.from / 32 * 32;
	for (uint32_t w = c.from / 32; 32 * w < c.to; w++)
		kh_text_add_word(&s, &done, 32 * w, wrong[w] | wrong[w] << 1);
#else
	for (uint32_t i = done; i < c.to; i = (i / 32 + 1) * 32) {
		const uint32_t word = i / 32 * 32, left = c.to - word;
		const uint64_t x = kh_text_wrong(l, at, i) & kh_text_first(left < 32 ? left : 32);

		kh_text_add_bits(&s, &done, word, kh_text_join(x));
	}
#endif
	if (done < c.to)
		kh_text_add_matches(&s, done, c.to);
	return kh_text_sum_hsp(&s);
}

/* How many of the columns from .. to - 1 match: no HSP of them has a greater score. */
static KH_HD uint32_t kh_text_matches(const kh_laid *l, int64_t at, uint32_t from, uint32_t to)
{
	const kh_text_columns c = kh_text_on_target(l, at, from, to);
	uint32_t n = 0;

#ifdef KH_TEXT_SSE2
	uint64_t wrong[KH_TEXT_WORDS + 2];
	const uint32_t end = (c.to + 31) / 32;

	if (c.from >= c.to)
		return 0;
	kh_text_wrongs(l, at, c, wrong);
	wrong[end] = wrong[end + 1] = 0;
	n = 32 * (end - c.from / 32);
	for (uint32_t w = c.from / 32; w < end; w += 3)         /* counts of two bits */
		n -= kh_text_count(wrong[w] + wrong[w + 1] + wrong[w + 2]);
#else
	for (uint32_t i = c.from; i < c.to; i = (i / 32 + 1) * 32) {
		const uint32_t end = (i / 32 + 1) * 32 < c.to ? (i / 32 + 1) * 32 : c.to;
		const uint64_t x = kh_text_wrong(l, at, i);

		n += end - i - kh_text_count(x & kh_text_first(end - i / 32 * 32));
	}
#endif
	return n;
}

/* In how many of the columns from .. to - 1 the text has an allele. */
static KH_HD uint32_t kh_text_alleles(const kh_laid *l, int64_t at, uint32_t from, uint32_t to)
{
	const kh_text_columns c = kh_text_on_target(l, at, from, to);
	uint32_t n = 0;

	for (uint32_t i = c.from; KH_ALLELES && l->alleles && i < c.to; i += 32) {
		const uint64_t x = kh_text_bases(l->alleles, (uint64_t)(at + (int64_t)i));
		const uint32_t left = c.to - i;

		n += kh_text_count((x | x >> 1) & KH_TEXT_LOW &
				   kh_text_first(left < 32 ? left : 32));
	}
	return n;
}

/* Could an HSP of the columns from .. to - 1 have a score of KH_END_SCORE?  Nearly always none
 * has where a read does not belong, which is found by four columns at a time, as by
 * kh_text_halves.  Columns that are not there count as matches. */
static KH_HD bool kh_text_may_score(const kh_laid *l, int64_t at, uint32_t from, uint32_t to)
{
	const kh_text_columns c = kh_text_on_target(l, at, from, to);
	uint32_t half = 0, most = 0;            /* of a sum */

	for (uint32_t i = c.from; i < c.to; i = (i / 32 + 1) * 32) {
		const uint32_t end = (i / 32 + 1) * 32 < c.to ? (i / 32 + 1) * 32 : c.to;
		uint64_t x = (kh_text_wrong(l, at, i) & kh_text_first(end - i / 32 * 32)) >>
			     2 * (i % 32);

		for (uint32_t k = i; k < end; k += 4, x >>= 8) {
			const uint32_t differ = kh_text_count(x & 0x55);

			half = half + 2 > differ ? half + 2 - differ : 0;
			most = half > most ? half : most;
		}
	}
	return 2 * most + 4 >= KH_END_SCORE;
}

#ifndef __CUDACC__
/* Are these columns on the target in all ways to lie? */
static inline bool kh_text_is_inside(const kh_laid *l, int64_t at, uint32_t from, uint32_t to)
{
	const int64_t begin = at + from - KH_END_ASIDE, end = at + to + KH_END_ASIDE;

	return begin >= (int64_t)l->begin && end <= (int64_t)l->end;
}

/* Are their bases known? */
static inline bool kh_text_is_known(const kh_laid *l, uint32_t from, uint32_t to)
{
	uint64_t unknown = 0;

	for (uint32_t w = from / 32; 32 * w < to; w++)
		unknown |= l->read->unknown[w];
	return unknown == 0;
}
#endif

#ifdef KH_TEXT_SSE2
/* Compares some columns in one more way, number i, and keeps it if it is the best one. */
static inline void kh_text_try_aside(const kh_laid *l, int64_t at, uint32_t i, uint32_t from,
				     uint32_t to, kh_text_aside *best, uint32_t *which)
{
	kh_alignment fit = kh_text_fit(l, at + kh_text_aside_of(i), from, to);

	fit.score = kh_text_less_gap(fit.score, i);
	if (fit.score > best->fit.score ||
	    (fit.score > 0 && fit.score == best->fit.score && i < *which)) {
		best->fit = fit;
		best->at = at + kh_text_aside_of(i);
		*which = i;
	}
}

/* kh_text_fit_aside, where halves of sums say which ways are to be compared. */
static inline kh_text_aside kh_text_fit_by_halves(const kh_laid *l, int64_t at, bool here,
						  uint32_t from, uint32_t to)
{
	kh_text_aside best = { { 0, 0, 0, 0, 0 }, at };
	uint32_t which = KH_ASIDES, left = KH_ALL_WAYS;

	if (here)
		kh_text_try_aside(l, at, 0, from, to, &best, &which);
	if (best.fit.score + KH_GAP_COST >= to - from)
		return best;
	const __m128i halves = kh_text_halves(l, at, from, to);
	uint8_t half[KH_ASIDES - 1];

	_mm_storeu_si128((__m128i *)half, halves);
	while ((left &= kh_text_ways_better(halves, best.fit.score)) != 0) {
		const uint32_t top = kh_text_top_way(half, left);

		left &= ~(1u << top);
		kh_text_try_aside(l, at, kh_text_number_of_way(top), from, to, &best, &which);
	}
	return best;
}
#endif

/* The best HSP of some columns of a read that lie aside of `at` or, if `here` says so, at it, too.
 * An HSP that lies aside has paid for the gap.  Of equal ones the one that is less far aside is
 * taken, and of these the one further on.  The way with the greatest bound comes first: it usually
 * wins, and then most others can be skipped. */
static KH_HD_CALLED kh_text_aside kh_text_try_asides(const kh_laid *l, int64_t at, bool here,
						     uint32_t from, uint32_t to)
{
	const uint32_t first = here ? 0 : 1;
	uint32_t most[KH_ASIDES], top = first, which = KH_ASIDES;
	kh_text_aside best = { { 0, 0, 0, 0, 0 }, at };

#ifdef KH_TEXT_SSE2
	if (to - from <= KH_ASIDE_COLUMNS && kh_text_is_known(l, from, to) &&
	    kh_text_is_inside(l, at, from, to))
		return kh_text_fit_by_halves(l, at, here, from, to);
#endif
	for (uint32_t i = first; i < KH_ASIDES; i++) {
		const int64_t aside = at + kh_text_aside_of(i);
		const bool may = kh_text_may_score(l, aside, from, to);

		most[i] = may ? kh_text_less_gap(kh_text_matches(l, aside, from, to), i) : 0;
		top = most[i] > most[top] ? i : top;
	}
	for (uint32_t n = first; n <= KH_ASIDES; n++) {
		const uint32_t i = n == first ? top : n - 1;

		if (most[i] == 0 || most[i] < best.fit.score || (n > first && i == top))
			continue;
		kh_alignment fit = kh_text_fit(l, at + kh_text_aside_of(i), from, to);

		fit.score = kh_text_less_gap(fit.score, i);
		if (fit.score > best.fit.score ||
		    (fit.score > 0 && fit.score == best.fit.score && i < which)) {
			best.fit = fit;
			best.at = at + kh_text_aside_of(i);
			which = i;
		}
	}
	return best;
}

#ifndef __CUDACC__
/* The same of a window of KH_END_WINDOW columns at most, which are all on the target, in all ways,
 * and known. */
static inline kh_text_aside kh_text_fit_window(const kh_laid *l, int64_t at, uint32_t from,
					       uint32_t to)
{
	kh_text_seen *s = l->seen;
	kh_text_window_seen *w = &s->window[s->n];
	uint8_t *slot = &s->slot[(from + 5 * to) % KH_SEEN_SLOTS];
	const kh_text_window_seen *near, *same;
	kh_text_aside best;

	kh_text_see(w, l, at, from, to);
	same = kh_text_seen_so(s, w, *slot, &near);
	if (!same) {
#ifdef KH_TEXT_SSE2
		kh_text_window_fit(w, l, at, near);
#else
		w->best = kh_text_try_asides(l, at, true, from, to);
		w->best.at -= at;
		w->bounded = false;
#endif
		kh_text_keep_seen(s, w, slot);
	}
	best = same ? same->best : w->best;
	best.at += at;
	return best;
}
#endif

/* The same of columns that may be a window. */
static KH_HD kh_text_aside kh_text_fit_aside(const kh_laid *l, int64_t at, bool here, uint32_t from,
					     uint32_t to)
{
#ifndef __CUDACC__
	if (here && l->seen && l->seen->known && to - from <= KH_END_WINDOW &&
	    kh_text_is_inside(l, at, from, to))
		return kh_text_fit_window(l, at, from, to);
#endif
	return kh_text_try_asides(l, at, here, from, to);
}

/* What goes on in front of the best HSP of a read, or behind it. */
typedef struct kh_text_side {
	int64_t at;                     /* how the last HSP lies */
	uint32_t edge;                  /* where what is left begins, or ends */
	bool front, part;               /* of a part of a long read */
	bool done;
} kh_text_side;

static KH_HD kh_text_side kh_text_side_of(const kh_alignment *fit, int64_t at, bool front,
					  bool part)
{
	const kh_text_side s = { at, front ? fit->from : fit->to, front, part, false };

	return s;
}

/* Columns of a read where its next HSP is sought. */
typedef struct kh_text_window {
	uint32_t from, n;
} kh_text_window;

/* The next HSP lies up to 8 bases aside of the last one, as after an insertion or a deletion.
 * Of a read there is one at most, which may be anywhere.  A part has errors all along: there it is
 * sought in a window that begins where the last one ends, or, if there was none, in the middle of
 * the last window.  False: there is no window left. */
static KH_HD bool kh_text_next_window(const kh_laid *l, const kh_text_side *s, kh_text_window *w)
{
	const uint32_t left = s->front ? s->edge : l->len - s->edge;

	w->n = s->part && left > KH_END_WINDOW ? KH_END_WINDOW : left;
	w->from = s->front ? s->edge - w->n : s->edge;
	return !s->done && left >= KH_END_BASES;
}

/* Takes what was found in a window; false: nothing. */
static KH_HD bool kh_text_take_window(kh_text_side *s, const kh_text_window *w,
				      const kh_text_aside *found)
{
	s->at = found->at;
	s->done = !s->part;
	if (found->fit.score > 0) {
		s->edge = s->front ? found->fit.from : found->fit.to;
		return true;
	}
	s->done |= w->n < KH_END_WINDOW;
	s->edge = s->front ? s->edge - w->n / 2 : s->edge + w->n / 2;
	return false;
}

/* The next HSP; false: there is none. */
static KH_HD bool kh_text_go_on(const kh_laid *l, kh_text_side *s, kh_alignment *end)
{
	kh_text_window w;

	while (kh_text_next_window(l, s, &w)) {
		const kh_text_aside found =
			kh_text_fit_aside(l, s->at, s->part, w.from, w.from + w.n);

		*end = found.fit;
		if (kh_text_take_window(s, &w, &found))
			return true;
	}
	return false;
}

/* Are so many bases in front of the best HSP of a read, or behind it, that it may go on
 * there? */
static KH_HD bool kh_text_may_go_on(const kh_laid *l, const kh_alignment *fit)
{
	return fit->from >= KH_END_BASES || l->len - fit->to >= KH_END_BASES;
}

static KH_HD void kh_text_add_end(kh_alignment *fit, const kh_alignment *end)
{
	fit->score += end->score;
	fit->matches += end->matches;
	fit->columns += end->columns;
	fit->from = end->from < fit->from ? end->from : fit->from;
	fit->to = end->to > fit->to ? end->to : fit->to;
}

/* Adds to the best HSP of a read that lies at `at` what goes on in front of it, and behind. */
static KH_HD void kh_text_fit_ends(const kh_laid *l, int64_t at, bool part, kh_alignment *fit)
{
	kh_text_side side[2];
	kh_alignment end;

	side[0] = kh_text_side_of(fit, at, false, part);
	side[1] = kh_text_side_of(fit, at, true, part);
	for (int i = 0; i < 2; i++)
		while (kh_text_go_on(l, &side[i], &end))
			kh_text_add_end(fit, &end);
}

/* --- the mate's place ------------------------------------------------------------- */
/* How many of the first 64 bases of a read (of all, if there are fewer) differ from the text, if
 * the read lies at base i of it. */
static KH_HD uint32_t kh_text_begins(const kh_laid *l, uint64_t i)
{
	const kh_oriented *r = l->read;
	const uint32_t n = l->len;
	uint64_t x = kh_laid_differ(l, r->base[0], i, 0) | r->unknown[0], y = 0;

	x &= kh_text_first(n < 32 ? n : 32);
	if (n > 32)
		y = (kh_laid_differ(l, r->base[1], i + 32, 0) | r->unknown[1]) &
		    kh_text_first(n < 64 ? n - 32 : 32);
	return kh_text_count(x) + kh_text_count(y);
}

/* Of the places from .. to of the text, the first one where fewest of these differ; *differ is
 * their number. */
static KH_HD_CALLED uint64_t kh_text_nearest(const kh_laid *l, uint64_t from, uint64_t to,
					     uint32_t *differ)
{
	uint64_t where = from;
	uint32_t least = UINT32_MAX;

	for (uint64_t i = from; i <= to; i++) {
		const uint32_t d = kh_text_begins(l, i);

		if (d < least) {
			least = d;
			where = i;
		}
	}
	*differ = least;
	return where;
}

#endif
