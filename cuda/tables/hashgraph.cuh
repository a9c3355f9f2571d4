/* hashgraph.cuh - the view of hashgraph.cu: pairs in the order of their hash values */
#ifndef KHT_HASHGRAPH_CUH
#define KHT_HASHGRAPH_CUH

#include "cuda/tables/views.cuh"
#include "cuda/tables/hash.cuh"

/* Pairs of hash value h: offset[h] up to offset[h + 1]; keys are kept as their mixes. */
template <class K, class V> struct kht_hashgraph_view {
	typedef K key_type;
	typedef V value_type;
	const uint32_t *offset;
	const K *keys;
	const V *values;
	uint32_t range; /* of all GPUs that share the table */
	uint64_t seed;
	unsigned group;
	uint32_t skip; /* rows of the GPUs before this one */

	__device__ uint32_t row(K x) const { return kht_reduce(x, range) - skip; }
	template <class F> __device__ uint32_t each(const kht_group &g, K key, F f) const
	{
		return each_mix(g, kht_mix(key, seed), f);
	}
	template <class F> __device__ uint32_t each_mix(const kht_group &g, K x, F f) const
	{
		uint32_t h = row(x), from = offset[h], to = offset[h + 1], n = 0;

		for (uint32_t i = from; i < to; i += g.size) {
			bool hit = i + g.lane < to && keys[i + g.lane] == x;
			unsigned all = g.ballot(hit);

			if (hit)
				f(n + __popc(all & ((1u << g.lane) - 1)), values[i + g.lane]);
			n += __popc(all);
		}
		return n;
	}
};

#endif
