/*
 * seen.h - windows of a part of a long read, and the text that they were compared with
 *
 * Close species and their strains have much of their text in common.  So a window mostly comes to
 * text that it was compared with before, at another place: then the result is known.  Or the text
 * differs from that in a few bases: each makes a sum at most 2 greater, in any way to lie.  So the
 * best way of the other place is tried first, and nearly always no other way can be better.
 */
#ifndef KH_KMER_SEEN_H
#define KH_KMER_SEEN_H

#include <string.h>
#include "kmer/asides.h"
#include "kmer/sum.h"

enum {
	KH_SEEN_WINDOWS = 96,           /* the first ones are kept */
	KH_SEEN_SLOTS = 256,
	KH_SEEN_NEAR = 6,               /* bases that differ, at most */
	KH_SEEN_WORDS = (KH_END_WINDOW + 2 * KH_END_ASIDE + 31) / 32
};

/* A window, its bases, the text beside it and below it, and the alleles there, or zeros; and what
 * was found. */
typedef struct kh_text_window_seen {
	const kh_text_eight *eights;
	const kh_oriented *read;
	uint32_t from, to;
	uint64_t base[2];
	uint64_t text[KH_SEEN_WORDS], alleles[KH_SEEN_WORDS];
	kh_text_aside best;             /* `at` less that of its place */
	uint8_t half[KH_ASIDES - 1];    /* of the sum in each way but 0, as kh_text_halves has it */
	uint8_t here;                   /* the sum in way 0, at most */
	uint8_t way;                    /* the best one */
	bool bounded;                   /* half and here are known */
	uint8_t next;                   /* of the same slot, plus 1 */
} kh_text_window_seen;

/* To be begun once, and forgotten before each part. */
typedef struct kh_text_seen {
	kh_text_eight eights[256];
	bool known;                     /* all bases of the part are */
	uint32_t n;
	uint8_t slot[KH_SEEN_SLOTS];    /* number of a window, plus 1 */
	kh_text_window_seen window[KH_SEEN_WINDOWS + 1];        /* the last one is not kept */
} kh_text_seen;

#ifndef __CUDACC__
/* Forgets windows for those of a part of so many bases from base `at` on. */
static inline void kh_text_see_nothing(kh_text_seen *s, const uint32_t *amb, uint64_t at,
				       uint32_t len)
{
	const uint64_t first = at / 32, end = at + len;
	uint32_t any = 0;

	for (uint64_t w = first; 32 * w < end; w++) {
		const uint32_t in_front = w == first ? (UINT32_C(1) << at % 32) - 1 : 0;
		const uint32_t in = end - 32 * w < 32 ? (UINT32_C(1) << end % 32) - 1 : UINT32_MAX;

		any |= amb[w] & in & ~in_front;
	}
	s->known = any == 0;
	s->n = 0;
	memset(s->slot, 0, sizeof s->slot);
}

/* --- a window --------------------------------------------------------------------------- */
/* The bases from base i on that the mask has. */
static inline void kh_text_see_words(const uint32_t *text, uint64_t i,
				     const uint64_t mask[KH_SEEN_WORDS], uint64_t *to)
{
	uint32_t k = 0;

#ifdef KH_TEXT_SSE2
	const __m128i two = _mm_loadu_si128((const __m128i *)mask);

	_mm_storeu_si128((__m128i *)to, _mm_and_si128(kh_text_two(text, i), two));
	k = 2;
#endif
	for (; k < KH_SEEN_WORDS; k++)
		to[k] = kh_text_bases(text, i + 32 * k) & mask[k];
}

/* The first n bases of some words. */
static inline void kh_text_see_mask(uint32_t n, uint64_t mask[KH_SEEN_WORDS])
{
	KH_UNROLLED
	for (uint32_t i = 0; i < KH_SEEN_WORDS; i++)
		mask[i] = n > 32 * i ? kh_text_first(n - 32 * i) : 0;
}

/* A window of KH_END_WINDOW columns at most. */
static inline void kh_text_see(kh_text_window_seen *w, const kh_laid *l, int64_t at, uint32_t from,
			       uint32_t to)
{
	const uint64_t first = (uint64_t)(at + from - KH_END_ASIDE);
	uint64_t mask[KH_SEEN_WORDS];

	w->eights = l->seen->eights;
	w->read = l->read;
	w->from = from;
	w->to = to;
	kh_text_see_mask(to - from + 2 * KH_END_ASIDE, mask);
	kh_text_see_words(l->text, first, mask, w->text);
	if (l->alleles)
		kh_text_see_words(l->alleles, first, mask, w->alleles);
	else
		memset(w->alleles, 0, sizeof w->alleles);
}

/* Is the text of two windows the same, and are the alleles? */
static inline bool kh_text_seen_same(const kh_text_window_seen *a, const kh_text_window_seen *b)
{
	uint64_t differ = 0;

	KH_UNROLLED
	for (uint32_t i = 0; i < KH_SEEN_WORDS; i++)
		differ |= (a->text[i] ^ b->text[i]) | (a->alleles[i] ^ b->alleles[i]);
	return differ == 0;
}

/* The window with the same text that was seen before, or NULL.  *near: the last one seen that has
 * the same columns and whose sums are known, or NULL. */
static inline const kh_text_window_seen *kh_text_seen_so(const kh_text_seen *s,
							 const kh_text_window_seen *w,
							 uint32_t number,
							 const kh_text_window_seen **near)
{
	const kh_text_window_seen *x;

	*near = NULL;
	for (; number > 0; number = x->next) {
		x = &s->window[number - 1];
		if (x->from != w->from || x->to != w->to || x->read != w->read)
			continue;
		if (kh_text_seen_same(x, w))
			return x;
		*near = x->bounded ? x : *near;
	}
	return NULL;
}

/* Keeps window number s->n, if there is room. */
static inline void kh_text_keep_seen(kh_text_seen *s, kh_text_window_seen *w, uint8_t *slot)
{
	if (s->n == KH_SEEN_WINDOWS)
		return;
	w->next = *slot;
	*slot = (uint8_t)++s->n;
}
#endif

#ifdef KH_TEXT_SSE2
/* --- text that is nearly the same ------------------------------------------------------- */
/* In how many bases does the text of two windows differ: in what bases a read has for a match? */
static inline uint32_t kh_text_seen_differ(const kh_text_window_seen *a,
					   const kh_text_window_seen *b)
{
	uint64_t n = 0;

	KH_UNROLLED
	for (uint32_t i = 0; i < KH_SEEN_WORDS; i++) {
		const uint64_t text = a->text[i] ^ b->text[i];

		/* what is the text here may be the allele there */
		n += kh_text_differ(a->alleles[i], b->alleles[i]) |
		     (kh_text_differ(text, 0) & kh_text_differ(text, a->alleles[i]));
	}
	return kh_text_count(n);        /* counts of two bits */
}

/* Takes its bases out of the read. */
static inline void kh_text_see_read(kh_text_window_seen *w)
{
	const uint64_t *base = w->read->base + w->from / 32;
	const uint32_t sh = 2 * (w->from % 32), words = (w->to - 1) / 32 - w->from / 32;

	KH_UNROLLED
	for (uint32_t i = 0; i < 2; i++)
		w->base[i] = (i <= words ? base[i] >> sh : 0) |
			     (i + 1 <= words ? base[i + 1] << 1 << (63 - sh) : 0);
}

/* --- ways to lie ------------------------------------------------------------------------ */
/* The columns that do not match in way i; others of these words do not count. */
static inline uint64_t kh_text_window_wrong(const kh_text_window_seen *w, uint32_t i, uint32_t word)
{
	const uint32_t sh = 2 * (uint32_t)(KH_END_ASIDE + kh_text_aside_of(i));
	const uint64_t *text = w->text + word, *alleles = w->alleles + word;
	const uint64_t x = w->base[word] ^ (text[0] >> sh | text[1] << 1 << (63 - sh));
	const uint64_t y = x ^ (alleles[0] >> sh | alleles[1] << 1 << (63 - sh));

	return (x | x >> 1) & (y | y >> 1) & KH_TEXT_LOW;
}

/* The best HSP in way i, if its score is above KH_TEXT_EIGHT. */
static inline kh_alignment kh_text_window_hsp(const kh_text_window_seen *w, uint32_t i)
{
	int32_t now = (int32_t)w->from, best = KH_TEXT_NO_MORE;

	for (uint32_t word = 0; w->from + 32 * word < w->to; word++) {
		const uint32_t first = w->from + 32 * word, left = w->to - first;
		const uint64_t x = kh_text_window_wrong(w, i, word) |
				   (~kh_text_first(left < 32 ? left : 32) & KH_TEXT_LOW);

		now = kh_text_add_eights(w->eights, now, (int32_t)first, x, &best);
	}
	return kh_text_hsp_of(best);
}

/* Compares a window in way i, which may be the best one. */
static inline void kh_text_window_try(kh_text_window_seen *w, uint32_t i)
{
	kh_alignment fit = kh_text_window_hsp(w, i);

	if (i == 0)
		w->here = (uint8_t)fit.score;
	else                            /* less than was known of it before */
		w->half[kh_text_way_of_number(i)] =
			(uint8_t)(fit.score > 5 ? (fit.score - 4) / 2 : 0);
	fit.score = kh_text_less_gap(fit.score, i);
	if (fit.score > w->best.fit.score ||
	    (fit.score > 0 && fit.score == w->best.fit.score && i < w->way)) {
		w->best.fit = fit;
		w->best.at = kh_text_aside_of(i);
		w->way = (uint8_t)i;
	}
}

/* Compares the window in each of the ways that are left and could be the best one. */
static inline void kh_text_window_search(kh_text_window_seen *w, uint32_t left)
{
	const __m128i halves = _mm_loadu_si128((const __m128i *)w->half);

	while ((left &= kh_text_ways_better(halves, w->best.fit.score)) != 0) {
		const uint32_t top = kh_text_top_way(w->half, left);

		left &= ~(1u << top);
		kh_text_window_try(w, kh_text_number_of_way(top));
	}
}

/* How many columns match in way 0: no sum is greater. */
static inline uint32_t kh_text_window_matches(const kh_text_window_seen *w)
{
	const uint32_t n = w->to - w->from;
	uint64_t wrong = kh_text_window_wrong(w, 0, 0) & kh_text_first(n < 32 ? n : 32);

	if (n > 32)
		wrong += kh_text_window_wrong(w, 0, 1) & kh_text_first(n - 32);
	return n - kh_text_count(wrong);        /* counts of two bits */
}

/* Compares a window as none before: first in way 0, if that looks like the best one. */
static inline void kh_text_window_alone(kh_text_window_seen *w, const kh_laid *l, int64_t at)
{
	const uint32_t n = w->to - w->from, here = kh_text_window_matches(w);

	w->here = (uint8_t)here;
	w->bounded = true;
	if (2 * here > n) {
		kh_text_window_try(w, 0);
		w->bounded = w->best.fit.score + KH_GAP_COST < n;
	}
	if (!w->bounded)
		return;
	_mm_storeu_si128((__m128i *)w->half, kh_text_halves(l, at, w->from, w->to));
	kh_text_window_search(w, KH_ALL_WAYS);
	if (2 * here <= n && here >= KH_END_SCORE && here >= w->best.fit.score)
		kh_text_window_try(w, 0);
}

/* Compares a window whose text differs in so many bases from the text of window `near`. */
static inline void kh_text_window_near(kh_text_window_seen *w, const kh_text_window_seen *near,
				       uint32_t differ)
{
	const __m128i halves = _mm_loadu_si128((const __m128i *)near->half);
	const uint32_t here = near->here + 2 * differ;
	uint32_t left = KH_ALL_WAYS;

	_mm_storeu_si128((__m128i *)w->half,
			 _mm_adds_epu8(halves, _mm_set1_epi8((char)differ)));
	if (near->best.fit.score > 0 && near->way > 0) {
		left &= ~(1u << kh_text_way_of_number(near->way));
		kh_text_window_try(w, near->way);
	}
	if (here >= KH_END_SCORE && here >= w->best.fit.score)
		kh_text_window_try(w, 0);
	kh_text_window_search(w, left);
	w->bounded = false;
}

/* Compares a window.  near: the same columns beside other text, or NULL. */
static inline void kh_text_window_fit(kh_text_window_seen *w, const kh_laid *l, int64_t at,
				      const kh_text_window_seen *near)
{
	const uint32_t differ = near ? kh_text_seen_differ(near, w) : KH_SEEN_NEAR + 1;

	memset(&w->best, 0, sizeof w->best);
	w->way = KH_ASIDES;
	kh_text_see_read(w);
	if (differ <= KH_SEEN_NEAR)
		kh_text_window_near(w, near, differ);
	else
		kh_text_window_alone(w, l, at);
}
#endif

#endif
