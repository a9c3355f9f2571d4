/*
 * cuco.cu - NVIDIA's cuCollections: static_map, double hashing, buckets of two slots
 *
 * Releases before that for CCCL 3 use thrust::identity, which CCCL 3 has no longer.
 */
#include <cuda/std/version>
#if CCCL_MAJOR_VERSION >= 3
namespace thrust {
template <class T = void> struct identity {
	template <class U> __host__ __device__ U &&operator()(U &&x) const
	{
		return static_cast<U &&>(x);
	}
};
}
#endif
#include <cuco/static_map.cuh>
#include "tests/bench/program/tables/originals/original.cuh"

template <class K, class V> struct cuco_map {
	typedef K key_type;
	typedef V value_type;
	static constexpr bool ERASES = false;
	typedef cuco::double_hashing<1, cuco::default_hash_function<K>> probing;
	cuco::static_map<K, V, cuco::extent<size_t>, cuda::thread_scope_device,
			 cuda::std::equal_to<K>, probing, cuco::cuda_allocator<cuda::std::byte>,
			 cuco::storage<2>>
		map;

	cuco_map(size_t n, double load)
		: map(cuco::extent<size_t> { (size_t)((double)n / load) + 1 },
		      cuco::empty_key<K> { (K)~(K)0 }, cuco::empty_value<V> { (V)~(V)0 })
	{
	}
	void insert(const K *keys, const V *values, size_t n, cudaStream_t s)
	{
		auto p = original_pairs<cuco::pair<K, V>>(keys, values);

		map.insert_async(p, p + n, cuda::stream_ref { s });
	}
	void find(const K *keys, size_t n, V *out, V missing, cudaStream_t s)
	{
		map.find_async(keys, keys + n, original_values(out, missing),
			       cuda::stream_ref { s });
	}
	size_t size(cudaStream_t s) { return map.size(cuda::stream_ref { s }); }
	size_t slots() { return map.capacity(); }
};

extern "C" const kht_table_system kht_original_cuco = { "cuco", "cuCollections, static_map",
							KHT_TABLE_FIND | KHT_TABLE_DYNAMIC, 0.8,
							original_open<cuco_map> };
