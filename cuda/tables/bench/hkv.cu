/*
 * hkv.cu - NVIDIA's HierarchicalKV, all in the GPU's memory, for pairs of 64-bit keys and values:
 * a cache that puts out the pair used longest ago where a bucket of 128 is full, which the checks
 * show; with one bucket a key, and with two
 */
#include <merlin_hashtable.cuh>
#include "cuda/tables/bench/original.cuh"

template <class K, class V, nv::merlin::TableMode MODE> struct hkv_map {
	typedef K key_type;
	typedef V value_type;
	static constexpr bool TWO = MODE == nv::merlin::TableMode::kMemory;
	static constexpr unsigned CAN =
		KHT_TABLE_FIND | KHT_TABLE_DYNAMIC | (TWO ? 0 : KHT_TABLE_ERASE);
	static constexpr size_t BUCKET = 128;
	typedef nv::merlin::EvictStrategy evict;
	nv::merlin::HashTable<K, V, uint64_t, evict::kLru, nv::merlin::Sm80> map;
	size_t room;
	bool *found;

	hkv_map(size_t n, double load) : room(((size_t)((double)n / load) / BUCKET + 1) * BUCKET)
	{
		nv::merlin::HashTableOptions o;

		o.init_capacity = o.max_capacity = room;
		o.max_hbm_for_vectors = TWO ? 0 : room * sizeof(V) * 2;
		o.max_bucket_size = BUCKET;
		o.dim = 1;
		o.max_load_factor = 1;
		for (o.num_of_buckets_per_alloc = 1;
		     o.num_of_buckets_per_alloc * BUCKET * 8 <= room;)
			o.num_of_buckets_per_alloc *= 2; /* a few allocations are enough */
		o.table_mode = MODE;
		map.init(o);
		if (cudaMalloc(&found, n))
			throw std::bad_alloc();
	}
	~hkv_map() { cudaFree(found); }
	void insert(const K *keys, const V *values, size_t n, cudaStream_t s)
	{
		map.insert_or_assign(n, keys, values, nullptr, s);
	}
	/* At most as many keys as the map has room for. */
	void find(const K *keys, size_t n, V *out, V missing, cudaStream_t s)
	{
		original_no_values(out, n, missing, s);
		map.find(n, keys, out, found, nullptr, s);
	}
	void erase(const K *keys, size_t n, cudaStream_t s) { map.erase(n, keys, s); }
	size_t size(cudaStream_t s) { return map.size(s); }
	size_t slots() { return room; }
	/* A score of 8 bytes and a digest of one for each pair. */
	size_t bytes() { return room * (sizeof(K) + sizeof(V) + 9); }
};

template <nv::merlin::TableMode MODE>
static int open_hkv(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	if (c->key_bits != 64 || c->value_bits != 64)
		return kh_fail(err, KH_EUSAGE, "HierarchicalKV: keys and values of 64 bits");
	return original<hkv_map<uint64_t, uint64_t, MODE>>::open(c, s, t, err);
}

extern "C" const kht_table_system kht_original_hkv = {
	"hkv", "HierarchicalKV, one bucket a key",
	hkv_map<uint64_t, uint64_t, nv::merlin::TableMode::kThroughput>::CAN, 0.8,
	open_hkv<nv::merlin::TableMode::kThroughput>
};
extern "C" const kht_table_system kht_original_hkv2 = {
	"hkv2", "HierarchicalKV, two buckets a key",
	hkv_map<uint64_t, uint64_t, nv::merlin::TableMode::kMemory>::CAN, 0.8,
	open_hkv<nv::merlin::TableMode::kMemory>
};
