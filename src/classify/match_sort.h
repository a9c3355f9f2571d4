/*
 * match_sort.h - the candidates of a mate, in order   [HD]
 *
 * They come list by list, each ascending.  Kernels have few of them, which are inserted one after
 * another; the CPU takes eight bits at a time, without a branch that depends on them.
 */
#ifndef KH_CLASSIFY_MATCH_SORT_H
#define KH_CLASSIFY_MATCH_SORT_H

#include <string.h>
#include "classify/match_segment.h"

#ifndef __CUDACC__
/* Sorts candidates by up to eight bits of what they are above `least`; equal ones stay in their
 * order. */
static inline void kh_sort_by(const uint64_t *from, uint64_t *to, uint32_t n, uint64_t least,
			      uint32_t shift, uint32_t bits)
{
	const uint32_t mask = (1u << bits) - 1;
	uint32_t at[256] = { 0 }, sum = 0;

	for (uint32_t i = 0; i < n; i++)
		at[(from[i] - least) >> shift & mask]++;
	for (uint32_t i = 0; i <= mask; i++) {
		const uint32_t here = at[i];

		at[i] = sum;
		sum += here;
	}
	for (uint32_t i = 0; i < n; i++)
		to[at[(from[i] - least) >> shift & mask]++] = from[i];
}

/* Sorts many candidates, whose seeds are below 128, by way of `other`. */
static inline void kh_sort_many(uint64_t *a, uint64_t *other, uint32_t n)
{
	uint64_t *from = a, *to = other, *swap;
	uint64_t least = a[0], most = a[0];
	bool seeds = true;              /* are in order */

	for (uint32_t i = 1; i < n; i++) {
		least = a[i] < least ? a[i] : least;
		most = a[i] > most ? a[i] : most;
		seeds &= (uint32_t)a[i] >= (uint32_t)a[i - 1];
	}
	least = least >> 32 << 32;
	const uint32_t span = (uint32_t)((most - least) >> 32);
	const uint32_t all = span > 0 ? kh_log2(span) + 1 : 1;
	const uint32_t times = (all + 7) / 8, bits = (all + times - 1) / times;

	for (uint32_t i = seeds; i <= times; i++) {
		kh_sort_by(from, to, n, least, i > 0 ? 32 + (i - 1) * bits : 0,
			   i > 0 ? bits : 7);
		swap = from;
		from = to;
		to = swap;
	}
	if (from != a)
		memcpy(a, from, n * sizeof *a);
}

static_assert(KH_MATCH_SEEDS <= 128, "seven bits have the number of a seed");
#endif

/* Sorts candidates, 32 or so: by insertion. */
static KH_HD void kh_sort_few(uint64_t *a, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		const uint64_t x = a[i];
		uint32_t j = i;

		for (; j > 0 && a[j - 1] > x; j--)
			a[j] = a[j - 1];
		a[j] = x;
	}
}

#endif
