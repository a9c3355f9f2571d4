/*
 * distinct.h - how many features, and how many different ones, a taxon's reads had
 *
 * A counter of 2^12 registers (hll.h) for each taxon that is called, made when first needed;
 * relative error about 1.6 %. Registers are maxima and the counts are sums, so the result does not
 * depend on how the reads were divided among workers.
 */
#ifndef KH_CLASSIFY_DISTINCT_H
#define KH_CLASSIFY_DISTINCT_H

#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"
#include "classify/hll.h"

typedef struct kh_distinct {
	uint32_t n;                     /* taxa */
	/* n: with repeats, the seeds that the text has where reads lie (match.c: note_keys); by
	 * Kraken 2's rule, the minimizers that the table has */
	uint64_t *found;
	uint8_t **reg;                  /* n: NULL, or KH_HLL_SIZE registers */
	/* rooms for registers, the last one first: taxa that it is for, and how many more */
	struct kh_registers *room;
	uint32_t in_room, left;
} kh_distinct;

int kh_distinct_init(kh_distinct *s, uint32_t n, kh_err *err);
void kh_distinct_clear(kh_distinct *s);
int kh_distinct_add(kh_distinct *s, uint32_t taxon, const uint64_t *key, size_t n, kh_err *err);
/* Adds what another counter has for `taxon`, as registers and features found. */
int kh_distinct_take(kh_distinct *s, uint32_t taxon, uint64_t found,
		     const uint8_t reg[KH_HLL_SIZE], kh_err *err);
/* Adds what `from` has counted for `taxon` to what s has for `into`. */
int kh_distinct_join(kh_distinct *s, uint32_t into, const kh_distinct *from, uint32_t taxon,
		     kh_err *err);
uint64_t kh_distinct_count(const kh_distinct *s, uint32_t taxon);

#endif
