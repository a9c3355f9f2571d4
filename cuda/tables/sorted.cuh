/* sorted.cuh - the view of sorted.cu: two binary searches */
#ifndef KHT_SORTED_CUH
#define KHT_SORTED_CUH

#include "cuda/tables/views.cuh"

template <class K, class V> struct kht_sorted_view {
	typedef K key_type;
	typedef V value_type;
	const K *keys;
	const V *values;
	uint32_t n;
	unsigned group;

	__device__ uint32_t below(K key, bool or_equal) const
	{
		uint32_t from = 0, to = n;

		while (from < to) {
			uint32_t mid = from + (to - from) / 2;
			if (keys[mid] < key || (or_equal && keys[mid] == key))
				from = mid + 1;
			else
				to = mid;
		}
		return from;
	}
	__device__ kht_span span(K key) const
	{
		uint32_t from = below(key, false);

		if (from == n || keys[from] != key)
			return { from, 0 };
		return { from, below(key, true) - from };
	}
	template <class F> __device__ uint32_t each(const kht_group &g, K key, F f) const
	{
		return kht_span_each(g, values, span(key), f);
	}
};

#endif
