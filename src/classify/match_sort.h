/*
 * match_sort.h - the anchors of a mate, in order   [HD]
 *
 * They come list by list, each ascending.  Kernels have few of them, which are inserted one after
 * another; the CPU takes eight bits at a time, without a branch that depends on them, and inserts
 * what is left.
 */
#ifndef KH_CLASSIFY_MATCH_SORT_H
#define KH_CLASSIFY_MATCH_SORT_H

#include <string.h>
#include "classify/match_types.h"

/* Puts anchor i in order, where those in front of it are. */
static KH_HD void kh_anchors_insert(uint64_t *a, uint32_t i)
{
	const uint64_t x = a[i];

	for (; i > 0 && a[i - 1] > x; i--)
		a[i] = a[i - 1];
	a[i] = x;
}

/* Sorts anchors, 32 or so: by insertion. */
static KH_HD void kh_anchors_sort_few(uint64_t *a, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		kh_anchors_insert(a, i);
}

#ifndef __CUDACC__
enum {
	KH_SORT_BITS = 8,
	KH_SORT_TWICE = 22      /* bits of bins: with more, regions that differ only in bits between
				 * these twice eight are too many for insertion */
};

/* Of some numbers, becomes how many there are in front of each. */
static inline void kh_sort_starts(uint16_t at[1 << KH_SORT_BITS])
{
	uint64_t sum = 0;

	/* four at a time: each of a product's 16 bits has the sum of those below it */
	KH_UNROLLED
	for (uint32_t i = 0; i < 1 << KH_SORT_BITS; i += 4) {
		uint64_t four;

		memcpy(&four, at + i, sizeof four);
		const uint64_t up_to = (four + (sum >> 48)) * UINT64_C(0x0001000100010001);
		const uint64_t before = up_to - four;

		memcpy(at + i, &before, sizeof before);
		sum = up_to;
	}
}

/* Eight bits of an anchor. */
static inline uint8_t kh_sort_digit(uint64_t anchor, uint32_t shift)
{
	return (uint8_t)(anchor >> shift);
}

static_assert(KH_SORT_BITS == 8, "a byte");

/* Puts anchors in the order of such bits, of each of which `at` has the first place; equal ones
 * stay in their order. */
static inline void kh_sort_by(const uint64_t *from, uint64_t *to, uint32_t n, uint32_t shift,
			      uint16_t at[1 << KH_SORT_BITS])
{
	KH_UNROLLED
	for (uint32_t i = 0; i < n; i++)
		to[at[kh_sort_digit(from[i], shift)]++] = from[i];
}

/* The same by bits that are not counted yet. */
static inline void kh_sort_between(uint64_t *a, uint64_t *other, uint32_t n, uint32_t shift)
{
	uint16_t at[1 << KH_SORT_BITS] = { 0 };

	KH_UNROLLED
	for (uint32_t i = 0; i < n; i++)
		at[kh_sort_digit(a[i], shift)]++;
	kh_sort_starts(at);
	kh_sort_by(a, other, n, shift, at);
	memcpy(a, other, n * sizeof *a);
}

/* Sorts many anchors, by way of `other`: first by the lowest bits of their bins, by which those
 * of a region differ, then by the highest ones in which any differ, by which regions do.  Hardly
 * any is not in order then, which is by insertion. */
static inline void kh_anchors_sort_many(uint64_t *a, uint64_t *other, uint32_t n)
{
	uint16_t low_at[1 << KH_SORT_BITS] = { 0 }, high_at[1 << KH_SORT_BITS] = { 0 };
	uint64_t differ = 0;

	KH_UNROLLED
	for (uint32_t i = 1; i < n; i++)
		differ |= a[i] ^ a[0];
	const uint32_t bits = differ >> 32 > 0 ? kh_log2((uint32_t)(differ >> 32)) + 1 : 1;
	const uint32_t high = 32 + (bits > KH_SORT_BITS ? bits - KH_SORT_BITS : 0);

	KH_UNROLLED
	for (uint32_t i = 0; i < n; i++) {
		low_at[kh_sort_digit(a[i], 32)]++;
		high_at[kh_sort_digit(a[i], high)]++;
	}
	kh_sort_starts(low_at);
	kh_sort_starts(high_at);
	kh_sort_by(a, other, n, 32, low_at);
	if (bits > KH_SORT_TWICE)
		kh_sort_between(other, a, n, high - KH_SORT_BITS);
	kh_sort_by(other, a, n, high, high_at);
	KH_UNROLLED
	for (uint32_t i = 1; i < n; i++)
		if (a[i] < a[i - 1])
			kh_anchors_insert(a, i);
}
#endif

#endif
