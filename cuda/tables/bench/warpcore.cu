/*
 * warpcore.cu - WarpCore (Juenger et al. 2020) by its authors: SingleValueHashTable with groups of
 * two lanes, MultiValueHashTable, BucketListHashTable
 *
 * Its headers want those of hpc_helpers beside them, in include/helpers.
 */
#include <type_traits>
#include <warpcore/bucket_list_hash_table.cuh>
#include <warpcore/multi_value_hash_table.cuh>
#include <warpcore/single_value_hash_table.cuh>
#include "cuda/tables/bench/original.cuh"

template <class K, class V> struct warpcore_map {
	typedef K key_type;
	typedef V value_type;
	static constexpr unsigned CAN = KHT_TABLE_FIND | KHT_TABLE_DYNAMIC | KHT_TABLE_ERASE;
	warpcore::SingleValueHashTable<K, V, (K)~(K)0, ORIGINAL_ERASED<K>,
				       warpcore::defaults::probing_scheme_t<K, 2>>
		map;

	warpcore_map(size_t n, double load) : map((size_t)((double)n / load) + 1) {}
	void insert(const K *keys, const V *values, size_t n, cudaStream_t s)
	{
		map.insert(keys, values, n, s);
	}
	void find(const K *keys, size_t n, V *out, V missing, cudaStream_t s)
	{
		original_no_values(out, n, missing, s);
		map.retrieve(keys, n, out, s);
	}
	void erase(const K *keys, size_t n, cudaStream_t s) { map.erase(keys, n, s); }
	size_t size(cudaStream_t s) { return map.size(s); }
	size_t slots() { return map.capacity(); }
	size_t bytes() { return map.capacity() * (sizeof(K) + sizeof(V)); }
};

/* What the two with many values a key share: MAP is the table. */
template <class K, class V, class MAP> struct warpcore_lists {
	typedef K key_type;
	typedef V value_type;
	static constexpr unsigned CAN = KHT_TABLE_MULTI | KHT_TABLE_DYNAMIC;
	MAP map;
	size_t stored = 0;

	template <class... SIZES> explicit warpcore_lists(SIZES... sizes) : map(sizes...) {}
	void insert(const K *keys, const V *values, size_t n, cudaStream_t s)
	{
		map.insert(keys, values, n, s);
		stored += n;
	}
	void retrieve(const K *keys, size_t n, uint64_t *offsets, V *out, cudaStream_t s)
	{
		warpcore::index_t total = 0;

		map.retrieve(keys, n, offsets, offsets + 1, out, total, s);
	}
	/* What it should hold: it counts keys. */
	size_t size(cudaStream_t) { return stored; }
	size_t slots() { return 0; }
};

template <class K, class V>
using warpcore_multi_table =
	warpcore::MultiValueHashTable<K, V, (K)~(K)0, ORIGINAL_ERASED<K>,
				      warpcore::defaults::probing_scheme_t<K, 8>>;

template <class K, class V>
struct warpcore_multi : warpcore_lists<K, V, warpcore_multi_table<K, V>> {
	typedef warpcore_lists<K, V, warpcore_multi_table<K, V>> lists;

	warpcore_multi(size_t n, double load) : lists((size_t)((double)n / load) + 1) {}
	size_t bytes() { return this->map.capacity() * (sizeof(K) + sizeof(V)); }
};

template <class K, class V>
using warpcore_list_table =
	warpcore::BucketListHashTable<K, V, (K)~(K)0, ORIGINAL_ERASED<K>,
				      warpcore::defaults::value_storage_t<V>,
				      warpcore::defaults::probing_scheme_t<K, 8>>;

/* It is not told how many keys there are: there may be as many as pairs. */
template <class K, class V>
struct warpcore_list : warpcore_lists<K, V, warpcore_list_table<K, V>> {
	typedef warpcore_lists<K, V, warpcore_list_table<K, V>> lists;

	warpcore_list(size_t n, double load) : lists((size_t)((double)n / load) + 1, n * 3 / 2) {}
	size_t bytes() { return this->map.bytes_total(); }
};

extern "C" const kht_table_system kht_original_warpcore = {
	"warpcore", "WarpCore, SingleValueHashTable", warpcore_map<uint32_t, uint32_t>::CAN, 0.8,
	original_open<warpcore_map>
};
extern "C" const kht_table_system kht_original_warpcore_multi = {
	"warpcore-multi", "WarpCore, MultiValueHashTable",
	warpcore_multi<uint32_t, uint32_t>::CAN, 0.8, original_open<warpcore_multi>
};
extern "C" const kht_table_system kht_original_warpcore_list = {
	"warpcore-list", "WarpCore, BucketListHashTable", warpcore_list<uint32_t, uint32_t>::CAN,
	0.8, original_open<warpcore_list>
};
