/*
 * seeds_find.c - looks up many seeds at a time (seeds.h); tags are compared by SSE2: 1.1 times as
 * many pairs as by plain C (version 0.2.0)
 */
#include <config.h>
#include "index/seeds.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include "base/mem.h"

enum {
	GROUP = 64,             /* seeds whose lines are prefetched at a time */
	TOGETHER = 8,           /* bins of a list that are written at a time */
	/* bins that one seed may give, and what is written behind them */
	ROOM = KH_SEED_LEVELS * 16 * KH_LIST_MAX + TOGETHER
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

/* Look-ups under way. */
struct lookups {
	struct {
		const uint8_t *line;    /* the first one; NULL: its range has none */
		uint32_t tag;
	} a[GROUP];
	/* those that may be in the index: the value of the first slot of the line with the tag, the
	 * other slots with it, and whether the line sends the seed on to the next level */
	struct {
		uint32_t value;         /* 0: there is no such slot, or it is free */
		uint16_t others;
		uint8_t number;
		bool on;
	} may[GROUP];
	size_t n_may;
};

/* Prefetches the lines of n seeds, with nothing else between: where pages are small, finding where
 * an address lies takes as long as reading, and a processor does several at a time only if they
 * follow each other closely. */
static void prefetch_lines(const kh_seed_index *x, const uint64_t *key, size_t n, struct lookups *q)
{
	for (size_t i = 0; i < n; i++) {
		const kh_seed_search s = kh_seed_begin(x, key[i]);

		q->a[i].line = s.line;
		q->a[i].tag = s.tag;
	}
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch(q->a[i].line);
}

/* Is the value of a slot that of a list? */
static inline bool is_list(uint32_t value, uint32_t bits)
{
	return value > UINT32_C(1) << bits && value != kh_seed_over(bits);
}

/* The words of the list of such a value; *left: how many words of lists its range has from there
 * on. */
static inline const uint32_t *list_of(const kh_seed_index *x, uint64_t key, uint32_t value,
				      uint64_t *left)
{
	const kh_seed_range *r = x->dir + kh_key_range(key);
	const uint32_t place = value - (UINT32_C(1) << x->bits) - 1;
	const uint64_t word = r->first_word + place;

	*left = r->words - place;
	return (const uint32_t *)kh_shares_near(&x->shares, x->image, 4 * word) + word;
}

/* The line of the next level. */
static const uint8_t *next_line(const kh_seed_index *x, uint64_t key)
{
	kh_seed_search s = kh_seed_begin(x, key);

	kh_seed_go_on(x, &s);
	return s.line;
}

/* Notes the seeds whose tags are in their first lines, and prefetches what is read next: a list, or
 * the next line.  Most seeds of a read that belongs nowhere end here.  A function that only
 * prefetches would be dropped by the compiler; and to prefetch NULL takes time. */
static void match_tags(const kh_seed_index *x, const uint64_t *key, size_t n, struct lookups *q)
{
	const uint32_t slots = kh_seed_slots(x->bits), last = slots - 1;

	q->n_may = 0;
	for (size_t i = 0; i < n; i++) {
		const uint8_t *line = q->a[i].line;
		const uint32_t tag = q->a[i].tag;

		if (!line)
			continue;
		const uint32_t with = with_tag(line, tag, slots);
		const bool on = line[last] <= tag &&
				kh_seed_value_of(line, last, slots, x->bits) != 0;
		uint32_t value = 0;
		uint64_t left;

		if (with == 0 && !on)
			continue;
		if (with != 0)
			value = kh_seed_value_of(line, (uint32_t)__builtin_ctz(with), slots,
						 x->bits);
		if (is_list(value, x->bits)) {
			const uint32_t *list = list_of(x, key[i], value, &left);

			__builtin_prefetch(list);
			__builtin_prefetch(list + TOGETHER - 1);
		}
		if (on)
			__builtin_prefetch(next_line(x, key[i]));
		q->may[q->n_may].value = value;
		q->may[q->n_may].others = (uint16_t)(with & (with - 1));
		q->may[q->n_may].number = (uint8_t)i;
		q->may[q->n_may++].on = on;
	}
}

#ifdef __SSE2__
/* Writes eight words of a list as bins, and returns where it goes on: how many of them are of the
 * list no processor foretells one by one. */
static inline uint64_t *take_together(const uint32_t *w, uint64_t seed, uint64_t *to, bool *more)
{
	const __m128i all = _mm_set1_epi32((int)seed);
	const __m128i bins = _mm_set1_epi32((int)~KH_SEED_MORE);
	const __m128i a = _mm_loadu_si128((const __m128i *)w);
	const __m128i b = _mm_loadu_si128((const __m128i *)w + 1);
	const __m128i x = _mm_and_si128(a, bins), y = _mm_and_si128(b, bins);
	const uint32_t on = (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(a)) |
			    (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(b)) << 4;

	_mm_storeu_si128((__m128i *)to, _mm_unpacklo_epi32(all, x));
	_mm_storeu_si128((__m128i *)to + 1, _mm_unpackhi_epi32(all, x));
	_mm_storeu_si128((__m128i *)to + 2, _mm_unpacklo_epi32(all, y));
	_mm_storeu_si128((__m128i *)to + 3, _mm_unpackhi_epi32(all, y));
	*more = on == 0xff;
	return *more ? to + TOGETHER : to + __builtin_ctz(~on) + 1;
}
#endif

/* The same of a list, behind whose beginning the range has so many words of lists. */
static uint64_t *take_list(const uint32_t *w, uint64_t left, uint64_t seed, uint64_t *to)
{
#ifdef __SSE2__
	for (bool more = true; left >= TOGETHER; w += TOGETHER, left -= TOGETHER) {
		to = take_together(w, seed, to, &more);
		if (!more)
			return to;
	}
#else
	(void)left;
#endif
	for (; *w & KH_SEED_MORE; w++)
		*to++ = (uint64_t)(*w & ~KH_SEED_MORE) << 32 | seed;
	*to++ = (uint64_t)*w << 32 | seed;
	return to;
}

/* Writes the bins of a value; returns where the next ones go. */
static inline uint64_t *take(const kh_seed_index *x, uint64_t key, uint32_t value, uint64_t seed,
			     uint64_t *to)
{
	uint64_t left;

	if (value == 0)
		return to;
	if (value <= UINT32_C(1) << x->bits) {  /* as nearly always */
		*to++ = (uint64_t)(value - 1) << 32 | seed;
		return to;
	}
	if (value == kh_seed_over(x->bits)) {
		*to++ = (uint64_t)KH_SEED_MANY << 32 | seed;
		return to;
	}
	const uint32_t *list = list_of(x, key, value, &left);

	return take_list(list, left, seed, to);
}

/* Writes the bins of the slots `with` of a line. */
static uint64_t *take_slots(const kh_seed_index *x, uint64_t key, const uint8_t *line,
			    uint32_t with, uint32_t slots, uint64_t seed, uint64_t *to)
{
	for (; with; with &= with - 1)
		to = take(x, key,
			  kh_seed_value_of(line, (uint32_t)__builtin_ctz(with), slots, x->bits),
			  seed, to);
	return to;
}

/* The same of the levels behind the first. */
static uint64_t *take_on(const kh_seed_index *x, uint64_t key, uint32_t slots, uint64_t seed,
			 uint64_t *to)
{
	kh_seed_search s = kh_seed_begin(x, key);

	for (kh_seed_go_on(x, &s); s.line; kh_seed_go_on(x, &s))
		to = take_slots(x, key, s.line, with_tag(s.line, s.tag, slots), slots, seed, to);
	return to;
}

/* Writes the bins of the seeds that may be there, of which the first one has the number
 * `first`. */
static int finish(const kh_seed_index *x, const uint64_t *key, size_t first,
		  const struct lookups *q, kh_seeds_found *to, kh_err *err)
{
	const uint32_t slots = kh_seed_slots(x->bits);

	for (size_t i = 0; i < q->n_may; i++) {
		const uint32_t number = q->may[i].number;
		const size_t seed = first + number;
		uint64_t *end;

		if (to->n + ROOM > to->cap && KH_GROW(to->bin, to->cap, to->n + ROOM, err))
			return KH_ENOMEM;
		end = take(x, key[seed], q->may[i].value, seed, to->bin + to->n);
		if (q->may[i].others != 0)
			end = take_slots(x, key[seed], q->a[number].line, q->may[i].others, slots,
					 seed, end);
		if (q->may[i].on)
			end = take_on(x, key[seed], slots, seed, end);
		to->n = (size_t)(end - to->bin);
	}
	return KH_OK;
}

/* How many of n seeds are in group b, which may be one behind the last. */
static size_t in_group(size_t n, size_t b)
{
	return b * GROUP >= n ? 0 : n - b * GROUP < GROUP ? n - b * GROUP : GROUP;
}

int kh_seeds_find(const kh_seed_index *x, const uint64_t *key, size_t n, kh_seeds_found *to,
		  kh_err *err)
{
	struct lookups q[3];
	int rc = KH_GROW(to->bin, to->cap, 1, err);     /* where bins are, even if there are none */

	to->n = 0;
	for (size_t b = 0; n > 0 && (b < 2 || in_group(n, b - 2) > 0) && !rc; b++) {
		if (in_group(n, b) > 0)
			prefetch_lines(x, key + b * GROUP, in_group(n, b), &q[b % 3]);
		if (b >= 1)
			match_tags(x, key + (b - 1) * GROUP, in_group(n, b - 1), &q[(b - 1) % 3]);
		if (b >= 2)
			rc = finish(x, key, (b - 2) * GROUP, &q[(b - 2) % 3], to, err);
	}
	return rc;
}

void kh_seeds_found_clear(kh_seeds_found *f)
{
	free(f->bin);
	*f = (kh_seeds_found) { .bin = NULL };
}
