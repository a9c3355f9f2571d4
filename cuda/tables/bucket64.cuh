/* bucket64.cuh - the view of bucket64.cu */
#ifndef KHT_BUCKET64_CUH
#define KHT_BUCKET64_CUH

#include "cuda/tables/slots.cuh"

/* A slot has the mix of a key; EMPTY as in slots.cuh.  Pairs of 64 bits are packed,
 * eight a bucket; wider ones take 16 bytes, and keys there 64 bits, four a bucket. */
template <class K, class V> struct kht_bucket64_view {
	typedef K key_type;
	typedef V value_type;
	static constexpr bool narrow = sizeof(K) == 4 && sizeof(V) == 4;
	static constexpr int SLOTS = narrow ? 8 : 4;
	uint4 *buckets;   /* four make one */
	kht_side<V> side; /* the key whose mix is EMPTY */
	uint32_t n;
	uint64_t seed;
	unsigned group;

	/* Where a full bucket sends a key: a step of its own, short, so that a partition stays
	 * together; n is a prime, so every bucket is met. */
	__device__ uint32_t step(K x) const
	{
		return 1 + kht_reduce(kht_mix2(x, seed), n > 1024 ? 1024 : n > 1 ? n - 1 : 1);
	}
	__device__ uint32_t next(uint32_t b, K x) const
	{
		uint64_t to = (uint64_t)b + step(x);

		return (uint32_t)(to < n ? to : to - n);
	}
	__device__ bool is_mark(K x) const
	{
		return (narrow || sizeof(K) == 8) && x == kht_mark<K>::EMPTY;
	}
	/* Slot s of bucket b: true if it is used; key and value. */
	__device__ bool slot(uint32_t b, int s, K &k, V &v) const
	{
		const uint64_t *p = (const uint64_t *)(buckets + 4 * (size_t)b);

		if (narrow) {
			k = (K)p[s];
			v = (V)(p[s] >> 32);
			return k != kht_mark<K>::EMPTY;
		}
		k = (K)p[2 * s];
		v = (V)p[2 * s + 1];
		return p[2 * s] != ~UINT64_C(0);
	}
	template <class F> __device__ uint32_t each(const kht_group &g, K key, F f) const
	{
		K x = kht_mix(key, seed), k;
		V v;

		if (is_mark(x)) {
			if (side.size(0) && g.lane == 0)
				f(0, side.list(0)[0]);
			return (uint32_t)side.size(0);
		}
		uint32_t b = kht_reduce(x, n);
		for (uint32_t i = 0; i < n; i++, b = next(b, x))
			for (int s = 0; s < SLOTS; s++) {
				if (!slot(b, s, k, v))
					return 0;
				if (k != x)
					continue;
				if (g.lane == 0)
					f(0, v);
				return 1;
			}
		return 0;
	}
};

#endif
