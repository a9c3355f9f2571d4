/*
 * many.h - the same for many words, keys or places at once: plain C, or AVX-512 where the machine
 * has it (KH_SIMD in the environment forbids it); both give the same
 */
#ifndef KH_INDEX_MANY_H
#define KH_INDEX_MANY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "index/index.h"

/* What is added to words from some on. */
enum { KH_STEPS_MAX = 8 };
typedef struct kh_steps {
	uint32_t n, at[KH_STEPS_MAX], by[KH_STEPS_MAX];
} kh_steps;

typedef struct kh_many {
	const char *name;
	/* Packs n words to `bits` bits each, in place: none comes to lie behind where it was.  Bits
	 * up to a multiple of 32 are zero. */
	void (*pack)(uint32_t *word, uint64_t n, uint32_t bits);
	/* The n words of `bits` bits (1 to 32) from bit `bit` of p on.  Of p, up to 7 bytes behind
	 * them are read. */
	void (*unpack)(const void *p, uint64_t bit, uint32_t bits, uint32_t *word, size_t n);
	/* Replaces n places, home and tag, by the keys that have these rests in a range of B
	 * buckets.  False: the keys do not ascend from `least` on, one has more than 40 bits, or
	 * another place. */
	bool (*keys)(uint64_t *place, const uint32_t *rest, size_t n, uint32_t B, uint64_t least);
	/* The other way: places in a range of B buckets and, unless rest is NULL, rests. */
	void (*places)(const uint64_t *key, size_t n, uint32_t B, uint64_t *place, uint32_t *rest);
	/* Writes the places of the 19 positions of bucket `number`, as if it were the home of
	 * all. */
	void (*homes)(const kh_bucket *b, uint64_t number, uint64_t *place);
	/* Adds to each of n words by[s] of every step with at[s] <= the word as it was.  False: a
	 * word was not below `end`. */
	bool (*move)(uint32_t *word, size_t n, const kh_steps *steps, uint32_t end);
} kh_many;

const kh_many *kh_many_get(void);
const kh_many *kh_many_plain(void);
const kh_many *kh_many_avx512(void);            /* NULL: the machine has it not */

#endif
