/*
 * seen.h - windows of a read, and the text that they were compared with
 *
 * Close species and their strains have much of their text in common.  So half of the windows of a
 * nanopore read are compared with text that a window was compared with before, at another place.
 */
#ifndef KH_TEXT_SEEN_H
#define KH_TEXT_SEEN_H

#include <string.h>
#include "text/asides.h"

enum {
	KH_SEEN_WINDOWS = 96,           /* the first ones are kept */
	KH_SEEN_SLOTS = 256,
	KH_SEEN_WORDS = (KH_END_WINDOW + 2 * KH_END_ASIDE + 31) / 32
};

/* A window, the text beside it and below it, and the alleles there, or zeros. */
typedef struct kh_text_window_seen {
	const kh_oriented *read;
	uint64_t columns;               /* from, to, and if it may lie at its place itself */
	uint64_t text[KH_SEEN_WORDS], alleles[KH_SEEN_WORDS];
} kh_text_window_seen;

/* To be forgotten before it is asked. */
typedef struct kh_text_seen {
	uint32_t n;
	uint8_t slot[KH_SEEN_SLOTS];    /* number of a window, plus 1 */
	kh_text_window_seen window[KH_SEEN_WINDOWS];
	kh_text_aside best[KH_SEEN_WINDOWS];    /* of each; `at` less that of its place */
} kh_text_seen;

#ifndef __CUDACC__
static inline void kh_text_see_nothing(kh_text_seen *s)
{
	s->n = 0;
	memset(s->slot, 0, sizeof s->slot);
}

static inline void kh_text_see_words(const uint32_t *text, uint64_t at, uint32_t n,
				     uint64_t to[KH_SEEN_WORDS])
{
	for (uint32_t i = 0; 32 * i < n; i++)
		to[i] = kh_text_bases(text, at + 32 * i) &
			kh_text_first(n - 32 * i < 32 ? n - 32 * i : 32);
}

/* A window of KH_END_WINDOW columns at most, and its slot. */
static inline kh_text_window_seen kh_text_see(const kh_laid *l, int64_t at, bool here,
					      uint32_t from, uint32_t to, uint32_t *slot)
{
	const uint64_t first = (uint64_t)(at + from - KH_END_ASIDE);
	const uint32_t n = to - from + 2 * KH_END_ASIDE;
	kh_text_window_seen w = { l->read, (uint64_t)here << 32 | from << 16 | to, { 0 }, { 0 } };
	uint64_t x = w.columns;

	kh_text_see_words(l->text, first, n, w.text);
	if (l->alleles)
		kh_text_see_words(l->alleles, first, n, w.alleles);
	for (uint32_t i = 0; i < KH_SEEN_WORDS; i++)
		x = (x ^ w.text[i] ^ w.alleles[i] << 1) * UINT64_C(0x9e3779b97f4a7c15);
	*slot = (uint32_t)(x >> 56) % KH_SEEN_SLOTS;
	return w;
}

/* What was found in the same window; NULL: it was not seen. */
static inline const kh_text_aside *kh_text_seen_so(const kh_text_seen *s,
						   const kh_text_window_seen *w, uint32_t slot)
{
	const uint32_t i = s->slot[slot];

	return i > 0 && memcmp(&s->window[i - 1], w, sizeof *w) == 0 ? &s->best[i - 1] : NULL;
}

static inline void kh_text_keep_seen(kh_text_seen *s, const kh_text_window_seen *w, uint32_t slot,
				     const kh_text_aside *best, int64_t at)
{
	if (s->n == KH_SEEN_WINDOWS)
		return;
	s->window[s->n] = *w;
	s->best[s->n] = *best;
	s->best[s->n].at -= at;
	s->slot[slot] = (uint8_t)++s->n;
}
#endif

#endif
