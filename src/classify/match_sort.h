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

/* Sorts candidates, 32 or so, or such as are nearly in order: by insertion. */
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

#ifndef __CUDACC__
enum { KH_SORT_BITS = 8 };

/* Of some numbers, becomes how many there are in front of each. */
static inline void kh_sort_places(uint16_t at[1 << KH_SORT_BITS])
{
	uint64_t sum = 0;

	/* four at a time: each of a product's 16 bits has the sum of those below it */
	for (uint32_t i = 0; i < 1 << KH_SORT_BITS; i += 4) {
		uint64_t four;

		memcpy(&four, at + i, sizeof four);
		const uint64_t up_to = (four + (sum >> 48)) * UINT64_C(0x0001000100010001);
		const uint64_t before = up_to - four;

		memcpy(at + i, &before, sizeof before);
		sum = up_to;
	}
}

/* Sorts many candidates, by way of `other`: first by the lowest bits of their bins, by which those of
 * a region differ, then by the highest ones, by which regions differ.  Hardly any is not in order
 * then, which is by insertion. */
static inline void kh_sort_many(uint64_t *a, uint64_t *other, uint32_t n)
{
	uint16_t low[1 << KH_SORT_BITS] = { 0 }, high[1 << KH_SORT_BITS] = { 0 };
	uint64_t least = a[0], most = a[0];

	for (uint32_t i = 1; i < n; i++) {
		least = a[i] < least ? a[i] : least;
		most = a[i] > most ? a[i] : most;
	}
	least = least >> 32 << 32;
	const uint32_t span = (uint32_t)((most - least) >> 32);
	const uint32_t bits = span > 0 ? kh_log2(span) + 1 : 1;
	const uint32_t shift = 32 + (bits > KH_SORT_BITS ? bits - KH_SORT_BITS : 0);

	for (uint32_t i = 0; i < n; i++) {
		low[(uint8_t)((a[i] - least) >> 32)]++;
		high[(a[i] - least) >> shift]++;
	}
	kh_sort_places(low);
	kh_sort_places(high);
	for (uint32_t i = 0; i < n; i++)
		other[low[(uint8_t)((a[i] - least) >> 32)]++] = a[i];
	for (uint32_t i = 0; i < n; i++)
		a[high[(other[i] - least) >> shift]++] = other[i];
	kh_sort_few(a, n);
}

static_assert(KH_SORT_BITS == 8, "a byte of a bin");
#endif

#endif
