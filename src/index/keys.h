/*
 * keys.h - what an index forgets of its keys, so that genomes can be added to it
 *
 * An entry knows home and tag, 16 bits behind its home: that tells keys apart well enough, but
 * when keys are added a range gets more buckets, and where a key goes then depends on the bits
 * that were forgotten.  So does which keys share an entry, and what is left of a list when it is
 * cut anew.  A database that genomes can be added to has a section with what is needed besides:
 *
 *	of each entry, the rest of its key
 *	of an entry with several keys, or overpopulated: each key, with its list, cut by species
 *
 * Lists are cut before they are kept here, too.  Adding locations to a list that was cut, and
 * cutting it again, gives what cutting the whole list at once gives: a species with a vote had
 * too many targets or locations, and will have more.  (An overpopulated list, however, must be
 * kept, and not only its LCA: with one location more a species may have too many, so that a single
 * vote takes the place of its locations, and the list may be short enough then.)
 */
#ifndef KH_INDEX_KEYS_H
#define KH_INDEX_KEYS_H

#include "index/index.h"

__extension__ typedef unsigned __int128 kh_wide;

/* To divide many numbers by the same one, d. */
typedef struct kh_divisor {
	uint64_t up;                    /* 2^64 / d + 1; d 1: 0 */
	uint64_t down;                  /* (2^64 - 1) / d */
} kh_divisor;

static inline kh_divisor kh_divisor_of(uint32_t d)
{
	return (kh_divisor) { d > 1 ? UINT64_MAX / d + 1 : 0, UINT64_MAX / d };
}

/* x / d, rounded down: (x * up) / 2^64 exceeds x / d by at most x / 2^64, which is less than 1 /
 * d. */
static inline uint32_t kh_divided(uint32_t x, kh_divisor d)
{
	return d.up ? (uint32_t)((kh_wide)x * d.up >> 64) : x;
}

/* The low 40 bits y of a key with home and tag `place` in a range of B buckets are this one, the
 * least of such keys, plus the rest: ceil(place * 2^24 / B). */
static inline uint64_t kh_key_least(uint64_t place, uint32_t B, kh_divisor by_b)
{
	const uint64_t z = place << 24;
	const uint64_t q = (uint64_t)((kh_wide)z * by_b.down >> 64);  /* z / B, or 1 less */
	const uint64_t rest = z - q * B;

	return q + (rest > 0) + (rest > B);
}

static inline uint32_t kh_key_rest(uint64_t key, uint32_t B, kh_divisor by_b)
{
	const uint64_t z = (key & ((UINT64_C(1) << 40) - 1)) * B;

	return kh_divided((uint32_t)(z & 0xffffff), by_b);
}

/* Bits that any rest of a key of such a range can be written with, at least 1. */
static inline uint32_t kh_rest_bits(uint32_t B)
{
	const uint32_t rests = ((UINT32_C(1) << 24) + B - 1) / B;
	uint32_t bits = 1;

	while (rests > UINT32_C(1) << bits)
		bits++;
	return bits;
}

/* --- the section -------------------------------------------------------------------- */
/* The section, in words of 32 bits, borrowed from the file. */
typedef struct kh_keys {
	const uint32_t *word;           /* NULL: the database has no such section */
	const uint32_t *unmapped;       /* numbers, among all sequences, of those without a taxon */
	uint64_t at[KH_RANGES + 1];     /* where the parts of the ranges begin */
} kh_keys;

/* How many words the rests of a range take; what is kept in full follows them. */
static inline uint64_t kh_rests_words(const kh_range *r)
{
	return kh_words_bytes(r->entries, kh_rest_bits(r->buckets)) / 4;
}

/* `section`: aligned to 8.  Returns 0 if its parts do not add up to its bytes. */
int kh_keys_find(kh_keys *k, const void *section, uint64_t bytes, const kh_range *dir,
		 uint64_t n_unmapped);

/* --- making it ---------------------------------------------------------------------- */
/* The next entry of im, which has several keys or is overpopulated; im->rest has its rest
 * already. */
int kh_keys_add(kh_image *im, const kh_lists *l, const kh_entry *e, kh_err *err);
/* When all entries have been added: im->rest becomes the range's part of the section. */
int kh_keys_end(kh_image *im, kh_err *err);

#endif
