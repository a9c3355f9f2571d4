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
	BLOCK = 64,             /* seeds whose lines are asked for at a time */
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

/* A look-up under way, and the slots of its first line that have the tag. */
struct asked {
	kh_seed_search s;
	uint32_t with;
};

/* Asks for the lines of n seeds, with nothing else between: where pages are small, finding where an
 * address lies takes as long as reading, and a processor does several at a time only if they follow
 * each other closely. */
static void ask(const kh_seed_index *x, const uint64_t *key, size_t n, struct asked *a)
{
	for (size_t i = 0; i < n; i++)
		a[i].s = kh_seed_begin(x, key[i]);
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch(a[i].s.line);
}

/* Notes the slots with the tag, and asks for what follows from them: lists, and the line of the
 * next level. */
static void foresee(const kh_seed_index *x, size_t n, struct asked *a)
{
	const uint32_t slots = kh_seed_slots(x->bits);

	for (size_t i = 0; i < n; i++) {
		kh_seed_search next = a[i].s;

		if (!next.line)
			continue;
		a[i].with = with_tag(next.line, next.tag, slots);
		for (uint32_t m = a[i].with; m; m &= m - 1) {
			const uint32_t slot = (uint32_t)__builtin_ctz(m);
			const uint32_t value = kh_seed_value_of(next.line, slot, slots, x->bits);
			uint32_t one;

			if (value >> x->bits != 0)
				__builtin_prefetch(kh_seed_bins(x, next.range, value, &one));
		}
		kh_seed_go_on(x, &next);
		__builtin_prefetch(next.line);
	}
}

/* Writes the bins of the slots `with`; returns where the next ones go. */
static uint32_t *take(const kh_seed_index *x, const kh_seed_search *s, uint32_t with,
		      uint32_t slots, uint32_t *to)
{
	for (uint32_t m = with; m; m &= m - 1) {
		const uint32_t slot = (uint32_t)__builtin_ctz(m);
		const uint32_t value = kh_seed_value_of(s->line, slot, slots, x->bits);
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

/* Writes the bins of n seeds behind the first *bins of them all, and where each one's end. */
static int finish(const kh_seed_index *x, struct asked *a, size_t n, kh_seeds_found *to,
		  uint32_t *end, size_t *bins, kh_err *err)
{
	const uint32_t slots = kh_seed_slots(x->bits);
	int rc = KH_OK;

	for (size_t i = 0; i < n && !rc; i++) {
		kh_seed_search *s = &a[i].s;
		uint32_t with = a[i].with;

		if (*bins + ROOM > to->cap_bin)
			rc = KH_GROW(to->bin, to->cap_bin, *bins + ROOM, err);
		while (!rc && s->line) {
			*bins = (size_t)(take(x, s, with, slots, to->bin + *bins) - to->bin);
			kh_seed_go_on(x, s);
			with = s->line ? with_tag(s->line, s->tag, slots) : 0;
		}
		end[i] = (uint32_t)*bins;
	}
	return rc;
}

/* How many of n seeds are in block b, which may be one behind the last. */
static size_t in_block(size_t n, size_t b)
{
	return b * BLOCK >= n ? 0 : n - b * BLOCK < BLOCK ? n - b * BLOCK : BLOCK;
}

int kh_seeds_find(const kh_seed_index *x, const uint64_t *key, size_t n, kh_seeds_found *to,
		  kh_err *err)
{
	struct asked asked[3][BLOCK];
	int rc = KH_GROW(to->end, to->cap_end, n, err);
	size_t bins = 0;

	for (size_t b = 0; (b < 2 || in_block(n, b - 2) > 0) && !rc; b++) {
		if (in_block(n, b) > 0)
			ask(x, key + b * BLOCK, in_block(n, b), asked[b % 3]);
		if (b >= 1)
			foresee(x, in_block(n, b - 1), asked[(b - 1) % 3]);
		if (b >= 2)
			rc = finish(x, asked[(b - 2) % 3], in_block(n, b - 2), to,
				    to->end + (b - 2) * BLOCK, &bins, err);
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
