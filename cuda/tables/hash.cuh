/*
 * hash.cuh - the hash functions of the tables, each once, named with its source
 *
 * Every table hashes with a bijection ("mix") of the key's own width, so that two keys are equal
 * exactly when their mixes are: tables that sort or partition keep the mix in the key's place and
 * never need the key again.  A mix goes to a bucket by multiply-shift: monotone, so that mixes in
 * order are buckets in order.
 */
#ifndef KHT_HASH_CUH
#define KHT_HASH_CUH

#include <stdint.h>
#include "kmer/kmer.h"

/* MurmurHash3's 32-bit finalizer (Appleby, public domain). */
static KH_HD uint32_t kht_mix(uint32_t x, uint64_t seed)
{
	x ^= (uint32_t)seed;
	x ^= x >> 16;
	x *= 0x85ebca6bu;
	x ^= x >> 13;
	x *= 0xc2b2ae35u;
	return x ^ x >> 16;
}

/* Its 64-bit finalizer: kmer.h has it. */
static KH_HD uint64_t kht_mix(uint64_t x, uint64_t seed) { return kh_fmix64(x ^ seed); }

/* A second, independent mix: the finalizer of splitmix64 (Steele, Lea, Flood 2014), 32
 * bits of it for either width. */
static KH_HD uint32_t kht_mix2(uint64_t x, uint64_t seed)
{
	x += (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)(x >> 32);
}

/* Multiply-shift range reduction (Lemire 2019): [0, n) from a mix, monotone, n < 2^32. */
static KH_HD uint32_t kht_reduce(uint32_t mix, uint32_t n)
{
	return (uint32_t)((uint64_t)mix * n >> 32);
}

static KH_HD uint32_t kht_reduce(uint64_t mix, uint32_t n)
{
#ifdef __CUDA_ARCH__
	return (uint32_t)__umul64hi(mix, n);
#else
	return (uint32_t)((unsigned __int128)mix * n >> 64);
#endif
}

#endif
