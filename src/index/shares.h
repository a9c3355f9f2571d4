/*
 * shares.h - bytes that lie in several memories: of devices, or of the host   [HD]
 *
 * They are cut into tiles of equal size, a power of two.  A memory has a run of tiles, and beside
 * it KH_SHARES_BESIDE bytes more in front and behind, so that what is read at a time lies in one
 * memory: a line, a list, what a read is compared with.
 */
#ifndef KH_INDEX_SHARES_H
#define KH_INDEX_SHARES_H

#include "kmer/kmer.h"

#define KH_SHARES_BESIDE 4096
#define KH_SHARES_TILES 256             /* at most */

/* Where to find a section of them, such as the index or the text. */
typedef struct kh_shares {
	const uint64_t *tile;           /* tile[i]: from where all bytes count for those in tile i;
					 * NULL: the section lies in one memory */
	uint64_t first;                 /* of all bytes, that of the section */
	uint32_t shift;                 /* bytes of a tile are 2^shift */
} kh_shares;

/* From where the bytes of a section count for those near byte i of it: `whole`, if it lies in one
 * memory. */
static KH_HD const void *kh_shares_near(const kh_shares *s, const void *whole, uint64_t i)
{
	return s->tile ? (const void *)(uintptr_t)(s->tile[(s->first + i) >> s->shift] + s->first)
		       : whole;
}

/* The least size of tiles with which there are not too many. */
static inline uint32_t kh_shares_shift(uint64_t bytes)
{
	uint32_t shift = 12;

	while (bytes >> shift >= KH_SHARES_TILES)
		shift++;
	return shift;
}

#endif
