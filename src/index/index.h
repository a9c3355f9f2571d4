/*
 * index.h - the index: 256 ranges by the top 8 bits of the 48-bit key   [HD]
 *
 * What a range looks like is in seeds.h.  The bytes of all ranges are the same in the file, in host
 * and in GPU memory.  The contract is kmerhash-db(5).
 *
 * Example: GATTACAG has the key 0x50ae88c2ed0e (kmer.h), so it is in range 0x50; the other 40 bits
 * lead to a line there (seeds.h).
 */
#ifndef KH_INDEX_H
#define KH_INDEX_H

#include "index/bins.h"
#include "kmer/kmer.h"

#define KH_RANGES 256
#define KH_RANGE_BIT (KH_KEY_BITS - 8)  /* the first bit of a key's range */

#define KH_SEED_LEVELS 7

typedef struct kh_seed_range {
	uint64_t first_line;            /* in units of 64 bytes from the section's start */
	uint64_t first_word;            /* of the lists, in units of 4 bytes from there */
	uint32_t words, lists;          /* of and number of these */
	uint32_t seeds;
	uint32_t over;                  /* of these, that have too many bins */
	uint32_t slots;                 /* in use */
	uint32_t lines[KH_SEED_LEVELS];
} kh_seed_range;

static_assert(sizeof(kh_seed_range) == 64, "kh_seed_range is part of the file format");

static KH_HD uint32_t kh_key_range(uint64_t key)
{
	return (uint32_t)(key >> KH_RANGE_BIT);
}

/* A word of `bits` bits, which starts at bit `bit` of p, the lowest first. */
static KH_HD uint32_t kh_word(const void *p, uint64_t bit, uint32_t bits)
{
	const uint32_t *w = (const uint32_t *)p;
	/* the 32-bit words with its first and its last bit, which may be the same */
	const uint64_t two = w[bit >> 5] | (uint64_t)w[(bit + bits - 1) >> 5] << 32;

	return (uint32_t)(two >> (bit & 31)) & (uint32_t)(((uint64_t)1 << bits) - 1);
}

#endif
