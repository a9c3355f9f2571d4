/*
 * sketches.h - how many features, and how many different ones, a taxon's reads had
 *
 * A HyperLogLog counter (Flajolet et al. 2007) of 2^12 registers for each taxon that is
 * called, made when first needed; relative error about 1.6 %.  Registers are maxima and the
 * counts are sums, so the result does not depend on who counted what.
 */
#ifndef KH_SKETCHES_H
#define KH_SKETCHES_H

#include <stddef.h>
#include <stdint.h>
#include "msg.h"

#define KH_HLL_BITS 12
#define KH_HLL_SIZE (1 << KH_HLL_BITS)

typedef struct kh_sketches {
	uint32_t n;                     /* taxa */
	uint64_t *found;                /* n: features found in the index, with repeats */
	uint8_t **reg;                  /* n: NULL, or KH_HLL_SIZE registers */
} kh_sketches;

int kh_sketches_init(kh_sketches *s, uint32_t n, kh_err *err);
void kh_sketches_clear(kh_sketches *s);
int kh_sketches_add(kh_sketches *s, uint32_t taxon, const uint64_t *key, size_t n, kh_err *err);
/* What `from` has counted for `taxon` joins what s has for `into`. */
int kh_sketches_join(kh_sketches *s, uint32_t into, const kh_sketches *from, uint32_t taxon,
		     kh_err *err);
uint64_t kh_sketches_distinct(const kh_sketches *s, uint32_t taxon);

#endif
