/* device.cuh - what the kernels share: sampling by a warp, looking up by four lanes */
#ifndef KH_CUDA_KERNELS_DEVICE_CUH
#define KH_CUDA_KERNELS_DEVICE_CUH

#include "cuda/kernels/engine.h"
#include "cuda/kernels/threads.cuh"

/* --- sampling -------------------------------------------------------------------------
 */
/* A warp's room for the orders of s-mers of a tile of starts. */
static constexpr unsigned SMER_TILE = 128;
static constexpr unsigned SMER_ROOM = SMER_TILE + 16;

/* Calls emit(keep, at) for each start in [from, to), with all lanes together; `keep` says whether a
 * syncmer starts there, which may be a repeat.  If `step` warps share the starts, each takes every
 * step-th tile. */
template <class Emit>
static __device__ void warp_syncmers(const kh_sampling &rule, const kh_gpu_query &q,
				     uint64_t from, uint64_t to, uint64_t step,
				     uint32_t *o, Emit emit)
{
	const unsigned w = rule.k - rule.s + 1, lane = lane_id();

	for (uint64_t at = from; at < to; at += step * SMER_TILE) {
		unsigned m = to - at < SMER_TILE ? (unsigned)(to - at) : SMER_TILE;

		for (unsigned i = lane; i < m + w - 1; i += 32)
			o[i] = kh_smer_order(kh_bits_canonical(
				kh_packed_bits(q.bases, at + i, rule.s), rule.s));
		__syncwarp();
		for (unsigned i = lane; i < ((m + 31) & ~31u); i += 32) {
			bool keep = i < m && kh_syncmer_keep(o + i, w) &&
				    !kh_packed_ambiguous(q.amb, at + i, rule.k);

			if (keep && rule.least)
				keep = kh_sampling_takes(&rule, kh_key(kh_bits_canonical(
					kh_packed_bits(q.bases, at + i, rule.k), rule.k)));
			emit(keep, at + i);
		}
		__syncwarp();
	}
}

/* Sets *key to that of the k-mer that starts at `at`; false: it is left out as a repeat. */
static __device__ __forceinline__ bool key_at(const kh_gpu_query &q, uint64_t at, uint64_t *key)
{
	const kh_sampling &rule = q.rule.sampling;
	const uint64_t x = kh_packed_bits(q.bases, at, rule.k);

	*key = kh_key(kh_bits_canonical(x, rule.k));
	return !kh_sampling_repeat(&rule, x);
}

/* fmix64 is a bijection: its inverse. */
static __device__ __forceinline__ uint64_t unmix64(uint64_t x)
{
	x ^= x >> 33;
	x *= UINT64_C(0x9cb4b2f8129337db);
	x ^= x >> 33;
	x *= UINT64_C(0x4f74430c22a54005);
	return x ^ x >> 33;
}

static __device__ __forceinline__ uint64_t warp_min(uint64_t x)
{
	for (int d = 16; d > 0; d /= 2) {
		uint64_t y = __shfl_xor_sync(ALL, x, d);

		x = y < x ? y : x;
	}
	return x;
}

/* Calls emit(i, key) in lane 0 for the features of one minhash window that are left in, ascending
 * by order; returns their number.  The first `cap` orders are kept in `room`, the others are
 * computed each time.  All ones mean that there is none, because the only number with that order
 * is not a canonical k-mer. */
template <class Emit>
static __device__ unsigned warp_minhash(const kh_sampling &rule, const uint64_t *bases,
					const uint32_t *amb, uint64_t at, uint64_t end,
					uint64_t *room, unsigned cap, Emit emit)
{
	const unsigned lane = lane_id(), m = (unsigned)(end - at);
	uint64_t last = 0;
	unsigned n = 0, taken = 0;
	auto order = [&](unsigned i) {
		return kh_packed_ambiguous(amb, at + i, rule.k)
			       ? ~UINT64_C(0)
			       : kh_minhash_order(kh_bits_canonical(
					 kh_packed_bits(bases, at + i, rule.k), rule.k));
	};

	for (unsigned i = lane; i < m && i < cap; i += 32)
		room[i] = order(i);
	for (; n < rule.s; n++) {
		uint64_t least = ~UINT64_C(0);

		for (unsigned i = lane; i < m; i += 32) {
			uint64_t h = i < cap ? room[i] : order(i);

			if ((n == 0 || h > last) && h < least)
				least = h;
		}
		least = warp_min(least);
		if (least == ~UINT64_C(0))
			break;
		const uint64_t kmer = unmix64(least) ^ KH_ORDER_SEED, key = kh_key(kmer);

		if (kh_sampling_takes(&rule, key) && !kh_sampling_repeat(&rule, kmer)) {
			if (lane == 0)
				emit(taken, key);
			taken++;
		}
		last = least;
	}
	__syncwarp();
	return taken;
}

/* --- looking up --------------------------------------------------------------------- */
/* Which of the 16-bit halves of a word equal the tag: bits 0 and 1. */
static __device__ __forceinline__ unsigned halves_equal(uint32_t x, uint32_t tag)
{
	return ((x & 0xffff) == tag) | (unsigned)((x >> 16) == tag) << 1;
}

/* Words of the lists in the bytes [from, to) of the 4 that start at byte p. */
static __device__ __forceinline__ unsigned words_between(uint32_t x, int p, int to)
{
	int lo = 7 - p < 0   ? 0
		 : 7 - p > 4 ? 4
			     : 7 - p,
	    hi = to - p < 0   ? 0
		 : to - p > 4 ? 4
			      : to - p;
	uint32_t mask = (hi >= 4 ? ~0u : (1u << 8 * hi) - 1) &
			~(lo >= 4 ? ~0u : (1u << 8 * lo) - 1);
	uint32_t over = __vcmpeq4(x, 0xffffffffu);

	x = ((x & ~over) | (over & 0x01010101u)) & mask;
	return (x & 0xff) + (x >> 8 & 0xff) + (x >> 16 & 0xff) + (x >> 24);
}

/* Four lanes (quad: their mask) with a quarter of a bucket each: the list of `tag` among
 * positions [from, to), its `bit` counted in words of the range; n = 0: it is not there. */
static __device__ __forceinline__ kh_list quad_match(uint4 v, unsigned quad,
						     unsigned from, unsigned to,
						     uint32_t tag)
{
	const int q = (int)(lane_id() & 3);
	unsigned bits = 0;
	kh_list l = { 0, 0, 0 };

	if (q > 0) {
		unsigned e = halves_equal(v.x, tag) | halves_equal(v.y, tag) << 2 |
			     halves_equal(v.z, tag) << 4 | halves_equal(v.w, tag) << 6;

		bits = q == 1 ? e >> 5 : e << (q == 2 ? 3 : 11);
	}
	bits |= __shfl_xor_sync(quad, bits, 1, 4);
	bits |= __shfl_xor_sync(quad, bits, 2, 4);
	bits &= ((1u << to) - 1) & ~((1u << from) - 1);
	if (bits == 0)
		return l;

	const int i = __ffs((int)bits) - 1, byte = 7 + i, c = byte & 15;
	uint32_t word = c < 4 ? v.x : c < 8 ? v.y : c < 12 ? v.z : v.w;
	uint32_t len = __shfl_sync(quad, word >> 8 * (c & 3) & 0xff, byte >> 4, 4);
	uint64_t base = (uint64_t)__shfl_sync(quad, v.x, 0, 4)
			| (uint64_t)(__shfl_sync(quad, v.y, 0, 4) & 0xffff) << 32;
	unsigned sum = 0;

	if (q < 2)
		sum = words_between(v.x, 16 * q, byte) +
		      words_between(v.y, 16 * q + 4, byte) +
		      words_between(v.z, 16 * q + 8, byte) +
		      words_between(v.w, 16 * q + 12, byte);
	sum += __shfl_xor_sync(quad, sum, 1, 4);
	sum = __shfl_sync(quad, sum, 0, 4);
	l.bit = base + sum;             /* words; the caller knows the rest */
	l.n = kh_list_words(len);
	l.over = len == KH_LIST_OVER;
	return l;
}

/* Prefetches memory that will be read soon.  The address need not be valid. */
static __device__ __forceinline__ void ask_for(const void *p)
{
	asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
}

/* Prefetches the home bucket of a key. */
static __device__ __forceinline__ void ask_for_bucket(const kh_gpu_index &ix, uint64_t key)
{
	const kh_range *r = ix.dir + kh_key_range(key);
	const char *b = (const char *)(ix.image + r->first_bucket +
				       (kh_key_place(key, r->buckets) >> 16));

	ask_for(b);
	ask_for(b + 32);
}

/* A bucket in registers. */
struct bucket {
	uint32_t w[16];

	__device__ __forceinline__ explicit bucket(const uint4 *p)
	{
#pragma unroll
		for (int i = 0; i < 4; i++) {
			const uint4 v = __ldg(p + i);

			w[4 * i] = v.x;
			w[4 * i + 1] = v.y;
			w[4 * i + 2] = v.z;
			w[4 * i + 3] = v.w;
		}
	}

	__device__ __forceinline__ unsigned flags() const { return w[1] >> 16 & 0xff; }
	__device__ __forceinline__ unsigned carried() const { return flags() & KH_BUCKET_CARRIED; }

	__device__ __forceinline__ bool goes_on(uint32_t tag) const
	{
		return (flags() & KH_BUCKET_GOES_ON) &&
		       (carried() == KH_BUCKET_SLOTS || tag > w[15] >> 16);
	}

	/* The list of `tag` among positions [from, to), its `bit` counted in words of the range;
	 * n = 0: it is not there. */
	__device__ __forceinline__ kh_list match(unsigned from, unsigned to, uint32_t tag) const
	{
		unsigned bits = w[6] >> 16 == tag, sum = 0;
		uint32_t word = 0;

#pragma unroll
		for (int i = 7; i < 16; i++)
			bits |= halves_equal(w[i], tag) << (2 * i - 13);
		bits &= ((1u << to) - 1) & ~((1u << from) - 1);
		if (bits == 0)
			return kh_list { 0, 0, 0 };

		const int byte = 6 + __ffs((int)bits);

#pragma unroll
		for (int i = 1; i < 7; i++) {
			sum += words_between(w[i], 4 * i, byte);
			word |= w[i] & -(uint32_t)(byte / 4 == i);
		}
		const uint32_t len = word >> 8 * (byte & 3) & 0xff;

		return kh_list { (w[0] | (uint64_t)(w[1] & 0xffff) << 32) + sum,
				 kh_list_words(len), len == KH_LIST_OVER };
	}
};

/* kh_index_find, by each thread for a key of its own. */
static __device__ __forceinline__ kh_list lane_find(const kh_gpu_index &ix, uint64_t key)
{
	const kh_range *r = ix.dir + kh_key_range(key);
	const uint64_t place = kh_key_place(key, r->buckets);
	const uint32_t tag = (uint32_t)(place & 0xffff);
	const uint4 *p = (const uint4 *)(ix.image + r->first_bucket + (place >> 16));
	kh_list l;
	bool on = true;

	/* not unrolled: with one copy of the code for both buckets, a bucket stays in registers */
#pragma unroll 1
	for (int next = 0; on; next++) {
		const bucket b(p + 4 * next);

		l = b.match(next ? 0 : b.carried(), next ? b.carried() : KH_BUCKET_SLOTS, tag);
		on = !next && l.n == 0 && b.goes_on(tag);
	}
	if (l.n > 0)
		l.bit = kh_range_word(r, l.bit, ix.bits);
	return l;
}

/* kh_index_find by four neighbouring lanes, all with the same key. */
static __device__ __forceinline__ kh_list quad_find(const kh_gpu_index &ix, uint64_t key)
{
	const unsigned lane = lane_id(), quad = 0xfu << (lane & ~3u);
	const kh_range *r = ix.dir + kh_key_range(key);
	const uint64_t place = kh_key_place(key, r->buckets);
	const uint32_t tag = (uint32_t)(place & 0xffff);
	const uint4 *b =
		(const uint4 *)(ix.image + r->first_bucket + (place >> 16)) + (lane & 3);
	uint4 v = __ldg(b);
	unsigned flags = __shfl_sync(quad, v.y, 0, 4) >> 16 & 0xff;
	unsigned carried = flags & KH_BUCKET_CARRIED;
	uint32_t last = __shfl_sync(quad, v.w, 3, 4) >> 16;
	kh_list l = quad_match(v, quad, carried, KH_BUCKET_SLOTS, tag);

	if (l.n == 0 && (flags & KH_BUCKET_GOES_ON) &&
	    (carried == KH_BUCKET_SLOTS || tag > last)) {
		v = __ldg(b + 4);
		carried = __shfl_sync(quad, v.y, 0, 4) >> 16 & KH_BUCKET_CARRIED;
		l = quad_match(v, quad, 0, carried, tag);
	}
	if (l.n > 0)
		l.bit = kh_range_word(r, l.bit, ix.bits);
	return l;
}

#endif
