/*
 * hll.h - where a counter of distinct features notes one of them   [HD]
 *
 * HyperLogLog (Flajolet et al. 2007): the first bits of a feature's hash choose a register, which
 * keeps the greatest place of the first bit that is set among the others.  distinct.h makes an
 * estimate of the registers.
 */
#ifndef KH_CLASSIFY_HLL_H
#define KH_CLASSIFY_HLL_H

#include "kmer/kmer.h"

#define KH_HLL_BITS 12
#define KH_HLL_SIZE (1 << KH_HLL_BITS)

typedef struct kh_hll {
	uint32_t at;                    /* the register, */
	uint32_t value;                 /*   which is at least this */
} kh_hll;

static KH_HD kh_hll kh_hll_of(uint64_t key)
{
	const uint64_t h = kh_fmix64(key + 1);
	const uint64_t rest = h << KH_HLL_BITS | KH_HLL_SIZE / 2;
	kh_hll x;

	x.at = (uint32_t)(h >> (64 - KH_HLL_BITS));
#ifdef __CUDA_ARCH__
	x.value = 1 + (uint32_t)__clzll((long long)rest);
#else
	x.value = 1 + (uint32_t)__builtin_clzll(rest);
#endif
	return x;
}

#endif
