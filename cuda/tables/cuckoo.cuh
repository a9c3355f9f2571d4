/* cuckoo.cuh - the view of cuckoo.cu: one slot of each sub-table */
#ifndef KHT_CUCKOO_CUH
#define KHT_CUCKOO_CUH

#include <type_traits>
#include "cuda/tables/slots.cuh"

template <class K, class V> struct cuckoo_view {
	typedef K key_type;
	typedef V value_type;
	static constexpr bool packed = sizeof(K) == 4 && sizeof(V) == 4;
	typedef typename std::conditional<packed, unsigned long long, unsigned>::type slot_type;
	static constexpr slot_type NONE = ~(slot_type)0;
	slot_type *slot;
	const K *keys; /* of the pairs, by number */
	const V *values;
	kht_side<V> side;      /* packed: the key ~0 */
	uint32_t size, tables; /* slots a sub-table */
	uint64_t seed;
	unsigned group;

	__device__ size_t place(K key, uint32_t j) const
	{
		uint64_t h = kh_fmix64((uint64_t)key ^ kh_fmix64(seed + 1 + j));
		return (size_t)j * size + kht_reduce(h, size);
	}
	__device__ K key_of(slot_type s) const { return packed ? (K)s : keys[(uint32_t)s]; }
	__device__ V value_of(slot_type s) const
	{
		return packed ? (V)((uint64_t)s >> 32) : values[(uint32_t)s];
	}
	__device__ bool is_mark(K key) const { return packed && key == kht_mark<K>::EMPTY; }

	__device__ bool find(K key, V &v) const
	{
		if (is_mark(key)) {
			v = side.list(0)[0];
			return side.size(0) > 0;
		}
		for (uint32_t j = 0; j < tables; j++) {
			slot_type s = slot[place(key, j)];
			if (s != NONE && key_of(s) == key) {
				v = value_of(s);
				return true;
			}
		}
		return false;
	}
	template <class F> __device__ uint32_t each(const kht_group &g, K key, F f) const
	{
		V v;
		bool hit = find(key, v);

		if (hit && g.lane == 0)
			f(0, v);
		return hit;
	}
};

#endif
