/*
 * window64.cuh - buckets of 64 bytes in windows: where a key may be, and what a bucket says
 *
 * The upper bits of a key's mix name its window, a run of about a thousand buckets, in which it has
 * three places: choices 0, 1 and 2.  A key that none of them has room for goes to one of three
 * buckets behind all windows, the stash: choices 3, 4 and 5.  Insertion prefers the first choice.
 *
 * A bucket tells whether any key went on from it to a later choice, at no cost of memory, by the
 * order of its last two keys: descending, if so.  A free slot has the greatest key, EMPTY; where
 * both of the two are free and the bucket sends on, the last has the next greatest, OVER.
 */
#ifndef KHT_WINDOW64_CUH
#define KHT_WINDOW64_CUH

#include <type_traits>
#include "cuda/tables/slots.cuh"

/* A window's state: 1 while a block changes it, 2 once anything was stored, and how many of its
 * keys are in the stash. */
#define KHT_WINDOW_LOCK    1u
#define KHT_WINDOW_USED    2u
#define KHT_WINDOW_SPILL   4u
#define KHT_WINDOW_CHOICES 3
#define KHT_CHOICES        6

template <class K, class V> struct kht_window64_view {
	typedef K key_type;
	typedef V value_type;
	static constexpr bool narrow = sizeof(K) == 4 && sizeof(V) == 4;
	static constexpr int SLOTS = narrow ? 8 : 4;
	/* What a slot has of a key (its mix) and of a value.  Narrow slots are pairs; in others
	 * four keys come before four values. */
	typedef typename std::conditional<narrow, uint32_t, uint64_t>::type word;
	static constexpr word EMPTY = kht_mark<word>::EMPTY, OVER = kht_mark<word>::TOMB;

	uint4 *buckets;   /* four make one */
	uint32_t *state;  /* of each window */
	kht_side<V> side; /* the keys whose mixes are EMPTY and OVER */
	unsigned log2n;   /* of the number of windows */
	uint32_t window, stash; /* buckets of each window; of the stash */
	uint64_t seed;
	unsigned group;

	/* 0 or 1: x is a mark; -1: it is not. */
	static __device__ int mark(K x)
	{
		return narrow || sizeof(K) == 8 ? kht_mark<K>::of(x) : -1;
	}
	__host__ __device__ uint32_t of(K x) const
	{
		return (uint32_t)(x >> 1 >> (sizeof(K) * 8 - 1 - log2n));
	}
	/* Choice c, below 3, in its window. */
	__device__ uint32_t within(K x, int c) const
	{
		uint32_t at = kht_reduce((K)(x << log2n), window);

		if (c == 0)
			return at;
		uint32_t h = kht_mix2(x, seed), half = (window - 1) / 2;
		at += c == 1 ? 1 + ((h & 0xffff) * half >> 16)
			     : 1 + half + ((h >> 16) * (window - 1 - half) >> 16);
		return at < window ? at : at - window;
	}
	/* Any choice, among all buckets. */
	__device__ uint32_t place(K x, int c) const
	{
		if (c < KHT_WINDOW_CHOICES)
			return of(x) * window + within(x, c);
		return (window << log2n) + kht_reduce(kht_mix2(x, seed + c), stash);
	}
	/* Whether a key that is not at choice c, whose bucket has `over`, may be at the next. */
	__device__ bool onward(K x, int c, bool over) const
	{
		return c < 2 ? over : c > 2 || (over && state[of(x)] >= KHT_WINDOW_SPILL);
	}
	/* Slot s of a bucket. */
	static __device__ word key(const uint4 *bucket, int s)
	{
		return ((const word *)bucket)[narrow ? 2 * s : s];
	}
	static __device__ word *value(uint4 *bucket, int s)
	{
		return (word *)bucket + (narrow ? 2 * s + 1 : SLOTS + s);
	}
	template <class F> __device__ uint32_t each(const kht_group &g, K k, F f) const
	{
		K x = kht_mix(k, seed);
		int m = mark(x);

		if (m >= 0) {
			if (side.size(m) && g.lane == 0)
				f(0, side.list(m)[0]);
			return (uint32_t)side.size(m);
		}
		for (int c = 0; c < KHT_CHOICES; c++) {
			uint4 *b = buckets + 4 * (size_t)place(x, c);

			for (int s = 0; s < SLOTS; s++) {
				if (key(b, s) != (word)x)
					continue;
				if (g.lane == 0)
					f(0, (V)*value(b, s));
				return 1;
			}
			if (!onward(x, c, key(b, SLOTS - 2) > key(b, SLOTS - 1)))
				break;
		}
		return 0;
	}
};

#endif
