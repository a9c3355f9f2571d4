/*
 * seeds_find.c - looks up many seeds at a time (seeds.h); tags are compared by SSE2: 1.1 times as
 * many pairs as by plain C (doc/speed.md)
 */
#include <config.h>
#include "index/seeds.h"

#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include "base/mem.h"

enum {
	AHEAD = 32,             /* seeds whose lines, or what these point to, are on their way */
	ROOM = KH_SEED_LEVELS * 16 * KH_LIST_MAX        /* bins that one seed may give */
};

/* A bit for each slot with this tag; free ones have tag 0. */
static inline uint32_t with_tag(const uint8_t *line, uint32_t tag, uint32_t slots)
{
#ifdef __SSE2__
	const __m128i tags = _mm_loadu_si128((const __m128i *)line);
	const __m128i equal = _mm_cmpeq_epi8(tags, _mm_set1_epi8((char)tag));

	return (uint32_t)_mm_movemask_epi8(equal) & ((1u << slots) - 1);
#else
	uint32_t equal = 0;

	for (uint32_t i = 0; i < slots; i++)
		equal |= (uint32_t)(line[i] == tag) << i;
	return equal;
#endif
}

/* Prefetches what follows from a line: lists, and the line of the next level. */
static void foresee(const kh_seed_index *x, const kh_seed_search *s, uint32_t slots)
{
	kh_seed_search next = *s;

	if (!s->line)
		return;
	for (uint32_t m = with_tag(s->line, s->tag, slots); m; m &= m - 1) {
		const uint32_t value = kh_seed_value(s->line, (uint32_t)__builtin_ctz(m), x->bits);
		uint32_t one;

		if (value >> x->bits != 0)
			__builtin_prefetch(kh_seed_bins(x, s->range, value, &one));
	}
	kh_seed_go_on(x, &next);
	if (next.line)
		__builtin_prefetch(next.line);
}

/* Writes the bins of the slots with the tag; returns where the next ones go. */
static uint32_t *take(const kh_seed_index *x, const kh_seed_search *s, uint32_t slots, uint32_t *to)
{
	for (uint32_t m = with_tag(s->line, s->tag, slots); m; m &= m - 1) {
		const uint32_t value = kh_seed_value(s->line, (uint32_t)__builtin_ctz(m), x->bits);
		const uint32_t *w;
		uint32_t one;

		if (value == 0)
			break;
		w = kh_seed_bins(x, s->range, value, &one);
		for (; *w & KH_SEED_MORE; w++)
			*to++ = *w & ~KH_SEED_MORE;
		*to++ = *w;
	}
	return to;
}

int kh_seeds_find(const kh_seed_index *x, const uint64_t *key, size_t n, kh_seeds_found *to,
		  kh_err *err)
{
	const uint32_t slots = kh_seed_slots(x->bits);
	kh_seed_search search[2 * AHEAD];
	int rc = KH_GROW(to->end, to->cap_end, n, err);
	size_t bins = 0;

	for (size_t i = 0; i < n + 2 * AHEAD && !rc; i++) {
		kh_seed_search *s = &search[i % (2 * AHEAD)];

		if (i >= 2 * AHEAD) {
			rc = KH_GROW(to->bin, to->cap_bin, bins + ROOM, err);
			for (; !rc && s->line; kh_seed_go_on(x, s))
				bins = (size_t)(take(x, s, slots, to->bin + bins) - to->bin);
			to->end[i - 2 * AHEAD] = (uint32_t)bins;
		}
		if (i >= AHEAD && i < n + AHEAD)
			foresee(x, &search[(i - AHEAD) % (2 * AHEAD)], slots);
		if (i < n) {
			*s = kh_seed_begin(x, key[i]);
			if (s->line)
				__builtin_prefetch(s->line);
		}
	}
	to->n = n;
	return rc;
}

void kh_seeds_found_clear(kh_seeds_found *f)
{
	free(f->end);
	free(f->bin);
	*f = (kh_seeds_found) { .end = NULL };
}
