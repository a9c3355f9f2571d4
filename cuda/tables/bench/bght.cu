/*
 * bght.cu - BGHT (Awad et al. 2021): bucketed cuckoo hashing with three functions, for pairs of
 * 32-bit keys and values, in buckets of 4 and of 16 slots
 */
#include <bght/bcht.hpp>
#include "cuda/tables/bench/original.cuh"

template <class K, class V, int SLOTS> struct bght_map {
	typedef K key_type;
	typedef V value_type;
	static constexpr unsigned CAN = KHT_TABLE_FIND;
	bght::bcht<K, V, bght::MurmurHash3_32<K>, bght::equal_to<K>, cuda::thread_scope_device,
		   bght::cuda_allocator<char>, SLOTS>
		map;
	size_t room;

	bght_map(size_t n, double load)
		: map((size_t)((double)n / load) + 1, (K)~(K)0, (V)~(V)0),
		  room(((size_t)((double)n / load) + SLOTS) / SLOTS * SLOTS)
	{
	}
	void insert(const K *keys, const V *values, size_t n, cudaStream_t s)
	{
		auto p = original_pairs<bght::pair<K, V>>(keys, values);

		(void)map.insert(p, p + n, s); /* what it loses is missed by the check */
	}
	void find(const K *keys, size_t n, V *out, V missing, cudaStream_t s)
	{
		map.find(keys, keys + n, original_values(out, missing), s);
	}
	size_t size(cudaStream_t s) { return map.size(s); }
	size_t slots() { return room; }
	size_t bytes() { return room * (sizeof(K) + sizeof(V)); }
};

template <int SLOTS>
static int open_bght(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	if (c->key_bits != 32 || c->value_bits != 32)
		return kh_fail(err, KH_EUSAGE, "BGHT: keys and values of 32 bits");
	return original<bght_map<uint32_t, uint32_t, SLOTS>>::open(c, s, t, err);
}

extern "C" const kht_table_system kht_original_bght4 = { "bght4", "BGHT, buckets of 4",
							 KHT_TABLE_FIND, 0.8, open_bght<4> };
extern "C" const kht_table_system kht_original_bght16 = { "bght16", "BGHT, buckets of 16",
							  KHT_TABLE_FIND, 0.8, open_bght<16> };
