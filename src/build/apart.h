/* apart.h - the bases in which a tile of a strain differs from text that was kept: strains.c */
#ifndef KH_BUILD_APART_H
#define KH_BUILD_APART_H

#include "kmer/text.h"

enum {
	KH_APART_PART = 8,      /* bases: where an insertion or a deletion may be */
	KH_APART_PARTS = KH_TEXT_SPAN / KH_APART_PART
};

/* How many bases differ up to each part of a tile. */
typedef struct kh_apart {
	uint16_t sum[KH_APART_PARTS + 1];
	uint32_t parts;
} kh_apart;

/* A tile of n bases as it lies along the text from base `at` on. */
typedef struct kh_apart_tile {
	const kh_oriented *tile;
	const uint32_t *text;
	uint64_t at;
	uint32_t n;
} kh_apart_tile;

static inline void kh_apart_count(const kh_apart_tile *t, kh_apart *to)
{
	uint32_t all = 0;

	to->parts = (t->n + KH_APART_PART - 1) / KH_APART_PART;
	for (uint32_t i = 0; i < t->n; i += 32) {
		const uint32_t bases = t->n - i < 32 ? t->n - i : 32;
		uint64_t x = kh_text_differ(t->tile->base[i / 32],
					    kh_text_bases(t->text, t->at + i));

		x = bases < 32 ? x & ((UINT64_C(1) << 2 * bases) - 1) : x;
		for (uint32_t j = 0; j < 32 && i + j < t->n; j += KH_APART_PART) {
			to->sum[(i + j) / KH_APART_PART] = (uint16_t)all;
			all += kh_text_count(x >> 2 * j &
					     ((UINT64_C(1) << 2 * KH_APART_PART) - 1));
		}
	}
	to->sum[to->parts] = (uint16_t)all;
}

/* The fewest bases of a tile that differ if its columns in front of some part, *cut, lie in one
 * place, and the others in another one. */
static inline uint32_t kh_apart_least(const kh_apart *front, const kh_apart *behind, uint32_t *cut)
{
	uint32_t least = UINT32_MAX;

	for (uint32_t i = 0; i <= front->parts; i++) {
		const uint32_t x = front->sum[i] + (uint32_t)behind->sum[front->parts] -
				   behind->sum[i];

		*cut = x < least ? i : *cut;
		least = x < least ? x : least;
	}
	return least;
}

/* Does a column of the tile differ? */
static inline int kh_apart_differs(const kh_apart_tile *t, uint32_t column)
{
	const uint64_t at = t->at + column;

	return (t->tile->base[column / 32] >> 2 * (column % 32) & 3) !=
	       (t->text[at / KH_TEXT_WORD] >> 2 * (at % KH_TEXT_WORD) & 3);
}

/* The column, near the part that kh_apart_least found, in front of which the tile lies in one
 * place, and behind it in the other one: what differs from the wrong one is no allele. */
static inline uint32_t kh_apart_cut(const kh_apart_tile *front, const kh_apart_tile *behind,
				    uint32_t part)
{
	const uint32_t near = part * KH_APART_PART < front->n ? part * KH_APART_PART : front->n;
	const uint32_t from = near > KH_APART_PART ? near - KH_APART_PART : 0;
	const uint32_t to = near + KH_APART_PART < front->n ? near + KH_APART_PART : front->n;
	uint32_t cut = from;
	int apart = 0, least = 0;       /* less those of a cut at `from` */

	for (uint32_t i = from; i < to; i++) {
		apart += kh_apart_differs(front, i) - kh_apart_differs(behind, i);
		cut = apart < least ? i + 1 : cut;
		least = apart < least ? apart : least;
	}
	return cut;
}

#endif
