/*
 * kmer.h - 2-bit bases, canonical k-mers and their mix   [HD]
 *
 * Compiled by the C compiler and by nvcc, so that each rule exists once: keep to
 * the common subset of C11 and C++17, no tables, no I/O.
 *
 * A packed sequence is two arrays: 32 bases a 64-bit word, the first base in the
 * lowest two bits; and a bit a base, 32 a word, set where the base is not one of
 * ACGTU.  A record starts at a multiple of 32; behind its last base the mask bits
 * of the last word are set.
 *
 * A k-mer as a number has its first base in the highest of its 2k bits.
 *
 * Example, k = 8 and A, C, G, T = 0 to 3: GATTACAG is 0x84f2 as packed bits, 0x8f12 as a number.
 * Its reverse complement CTGTAATC is 0x7b0d, which is less, so this is the canonical k-mer, and
 * its key is 0x50ae88c2ed0e.
 */
#ifndef KH_KMER_H
#define KH_KMER_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define KH_HD __host__ __device__ __forceinline__
#define KH_HD_CALLED __host__ __device__ __noinline__   /* what is long and called in many places */
#else
#define KH_HD inline
#define KH_HD_CALLED inline
#endif

/* In front of a loop that a kernel should not have several times over, as compilers like to: its
 * code has to fit into the caches of a multiprocessor. */
#ifdef __CUDA_ARCH__
#define KH_ROLLED _Pragma("unroll 1")
#else
#define KH_ROLLED
#endif

/* In front of a short loop that the CPU should have several times over. */
#define KH_UNROLLED _Pragma("GCC unroll 8")

#define KH_K_MIN 8
#define KH_K_MAX 31
#define KH_KEY_BITS 48

/* Seeds: the key of the index, the order of sampling and the rank of a feature must not be
 * related. */
#define KH_INDEX_SEED UINT64_C(0x6b6d657268617368)
#define KH_ORDER_SEED UINT64_C(0x9e3779b97f4a7c15)
#define KH_RANK_SEED UINT64_C(0x7468696e206f7574)

static KH_HD unsigned kh_packed_base(const uint64_t *bases, uint64_t i)
{
	return (unsigned)(bases[i >> 5] >> (2 * (i & 31))) & 3u;
}

static KH_HD unsigned kh_packed_amb(const uint32_t *amb, uint64_t i)
{
	return (amb[i >> 5] >> (i & 31)) & 1u;
}

/* How many k-mers of n bases have one that is not known; their masks begin at `amb`. */
static KH_HD uint32_t kh_ambiguous_kmers(const uint32_t *amb, uint64_t n, uint32_t k)
{
	uint32_t any = 0, count = 0, run = 0;

	for (uint64_t w = 0; w < n / 32; w++)
		any |= amb[w];
	if (n % 32)
		any |= amb[n / 32] & ((UINT32_C(1) << n % 32) - 1);
	for (uint64_t i = 0; any && i < n; i++) {
		run = kh_packed_amb(amb, i) ? k : run > 0 ? run - 1 : 0;
		count += i + 1 >= k && run > 0;
	}
	return count;
}

static KH_HD uint64_t kh_kmer_mask(unsigned k)
{
	return (UINT64_C(1) << 2 * k) - 1;
}

/* The low 2k bits with their k bases in reverse order. */
static KH_HD uint64_t kh_kmer_reverse(uint64_t x, unsigned k)
{
	x = (x >> 2 & UINT64_C(0x3333333333333333)) | (x & UINT64_C(0x3333333333333333)) << 2;
	x = (x >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f)) | (x & UINT64_C(0x0f0f0f0f0f0f0f0f)) << 4;
	x = (x >> 8 & UINT64_C(0x00ff00ff00ff00ff)) | (x & UINT64_C(0x00ff00ff00ff00ff)) << 8;
	x = (x >> 16 & UINT64_C(0x0000ffff0000ffff)) | (x & UINT64_C(0x0000ffff0000ffff)) << 16;
	x = x >> 32 | x << 32;
	return x >> (64 - 2 * k);
}

/* Reverse complement of the low 2k bits. */
static KH_HD uint64_t kh_kmer_rc(uint64_t x, unsigned k)
{
	return kh_kmer_reverse(~x, k);
}

/* The finalizer of MurmurHash3 (Appleby): a bijection on 64 bits. */
static KH_HD uint64_t kh_fmix64(uint64_t x)
{
	x ^= x >> 33;
	x *= UINT64_C(0xff51afd7ed558ccd);
	x ^= x >> 33;
	x *= UINT64_C(0xc4ceb9fe1a85ec53);
	return x ^ x >> 33;
}

/* The key under which the index keeps a canonical k-mer: 48 bits. */
static KH_HD uint64_t kh_key(uint64_t canonical)
{
	return kh_fmix64(canonical ^ KH_INDEX_SEED) >> (64 - KH_KEY_BITS);
}

#endif
