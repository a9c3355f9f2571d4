/*
 * cuco.cu - NVIDIA's cuCollections: static_map, double hashing, buckets of two slots;
 * static_multimap.  Their bloom_filter is in cuco_filter.cu, for in one file both define the same
 * kernels.
 */
#include "cuda/tables/bench/cuco_identity.cuh"
#include <cuco/static_map.cuh>
#include <cuco/static_multimap.cuh>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/tuple.h>
#include "cuda/tables/bench/original.cuh"

template <class K, class V> struct cuco_map {
	typedef K key_type;
	typedef V value_type;
	static constexpr unsigned CAN = KHT_TABLE_FIND | KHT_TABLE_DYNAMIC | KHT_TABLE_ERASE;
	typedef cuco::double_hashing<1, cuco::default_hash_function<K>> probing;
	cuco::static_map<K, V, cuco::extent<size_t>, cuda::thread_scope_device,
			 cuda::std::equal_to<K>, probing, cuco::cuda_allocator<cuda::std::byte>,
			 cuco::storage<2>>
		map;

	cuco_map(size_t n, double load)
		: map(cuco::extent<size_t> { (size_t)((double)n / load) + 1 },
		      cuco::empty_key<K> { (K)~(K)0 }, cuco::empty_value<V> { (V)~(V)0 },
		      cuco::erased_key<K> { ORIGINAL_ERASED<K> })
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
	void erase(const K *keys, size_t n, cudaStream_t s)
	{
		map.erase_async(keys, keys + n, cuda::stream_ref { s });
	}
	size_t size(cudaStream_t s) { return map.size(cuda::stream_ref { s }); }
	size_t slots() { return map.capacity(); }
	size_t bytes() { return map.capacity() * (sizeof(K) + sizeof(V)); }
};

template <class K, class V> struct cuco_multi {
	typedef K key_type;
	typedef V value_type;
	typedef cuco::static_multimap<K, V> table;
	typedef cuco::pair<K, V> pair;
	static constexpr unsigned CAN = KHT_TABLE_MULTI | KHT_TABLE_DYNAMIC;
	table map;
	size_t stored = 0;

	cuco_multi(size_t n, double load)
		: map((size_t)((double)n / load) + 1, cuco::empty_key<K> { (K)~(K)0 },
		      cuco::empty_value<V> { (V)~(V)0 })
	{
	}
	void insert(const K *keys, const V *values, size_t n, cudaStream_t s)
	{
		auto p = original_pairs<pair>(keys, values);

		map.insert(p, p + n, s);
		stored += n;
	}
	/* The values of all keys, mixed. */
	void retrieve(const K *keys, size_t n, uint64_t *offsets, V *out, cudaStream_t s)
	{
		auto first = thrust::make_zip_iterator(
			thrust::make_tuple(thrust::make_discard_iterator(), out));
		uint64_t total = (uint64_t)(map.retrieve(keys, keys + n, first, s) - first);

		cudaMemcpyAsync(offsets + n, &total, sizeof total, cudaMemcpyHostToDevice, s);
	}
	/* What it should hold: it counts only by keys. */
	size_t size(cudaStream_t) { return stored; }
	size_t slots() { return map.get_capacity(); }
	size_t bytes() { return map.get_capacity() * (sizeof(K) + sizeof(V)); }
};

extern "C" const kht_table_system kht_original_cuco = { "cuco", "cuCollections, static_map",
							cuco_map<uint32_t, uint32_t>::CAN, 0.8,
							original_open<cuco_map> };
extern "C" const kht_table_system kht_original_cuco_multi = {
	"cuco-multi", "cuCollections, static_multimap", cuco_multi<uint32_t, uint32_t>::CAN, 0.8,
	original_open<cuco_multi>
};
