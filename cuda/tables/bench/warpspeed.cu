/*
 * warpspeed.cu - WarpSpeed (McCoy, Pandey 2025): the table with two choices of buckets of 32 and
 * their tags aside (p2MD), which its authors find the fastest to keep; tiles of four lanes as in
 * their benchmarks
 *
 * Its headers want those of Gallatin, in gallatin/include.
 */
#include <gallatin/allocators/alloc_utils.cuh>
#include <gallatin/data_structs/ds_utils.cuh>
namespace warpSpeed {
namespace tables {
using gallatin::utils::typed_atomic_write; /* they name it so */
}
}
#include <warpSpeed/tables/p2_hashing_metadata.cuh>
#include "cuda/tables/bench/original.cuh"

#define LANES 4
#define SLOTS 32

namespace speed = warpSpeed::tables;

template <class K, class V>
using speed_table = speed::p2_metadata_table<K, (K)~(K)0, ORIGINAL_ERASED<K>, V, (V)~(V)0, (V)~(V)1,
					     LANES, SLOTS>;

enum speed_what { SPEED_INSERT, SPEED_FIND, SPEED_ERASE };

/* Each tile of a block takes a key. */
template <class T, class K, class V, speed_what WHAT>
static __global__ void each(T *t, const K *keys, const V *values, V *out, size_t n, V missing)
{
	auto tile = cg::tiled_partition<LANES>(cg::this_thread_block());
	size_t i = (blockIdx.x * (size_t)blockDim.x + threadIdx.x) / LANES;

	if (i >= n)
		return;
	if (WHAT == SPEED_INSERT) {
		t->upsert_replace(tile, keys[i], values[i]); /* the check tells what it lost */
	} else if (WHAT == SPEED_ERASE) {
		t->remove(tile, keys[i]);
	} else {
		V v = missing;
		bool there = t->find_with_reference(tile, keys[i], v);
		if (tile.thread_rank() == 0)
			out[i] = there ? v : missing;
	}
}

template <class K, class V> struct speed_map {
	typedef K key_type;
	typedef V value_type;
	typedef speed_table<K, V> table;
	static constexpr unsigned CAN = KHT_TABLE_FIND | KHT_TABLE_DYNAMIC | KHT_TABLE_ERASE;
	table *map;
	size_t buckets, stored = 0;

	speed_map(size_t n, double load) : buckets((size_t)((double)n / load) / SLOTS + 1)
	{
		map = table::generate_on_device(buckets * SLOTS, 42);
	}
	~speed_map() { table::free_on_device(map); }
	template <speed_what WHAT>
	void launch(const K *keys, const V *values, V *out, size_t n, V missing, cudaStream_t s)
	{
		each<table, K, V, WHAT><<<kht_blocks(n * LANES), KHT_BLOCK, 0, s>>>(
			map, keys, values, out, n, missing);
	}
	void insert(const K *keys, const V *values, size_t n, cudaStream_t s)
	{
		launch<SPEED_INSERT>(keys, values, nullptr, n, 0, s);
		stored += n;
	}
	void find(const K *keys, size_t n, V *out, V missing, cudaStream_t s)
	{
		launch<SPEED_FIND>(keys, nullptr, out, n, missing, s);
	}
	void erase(const K *keys, size_t n, cudaStream_t s)
	{
		launch<SPEED_ERASE>(keys, nullptr, nullptr, n, 0, s);
		stored -= n;
	}
	/* What it should hold: its own count is in managed memory. */
	size_t size(cudaStream_t) { return stored; }
	size_t slots() { return buckets * SLOTS; }
	size_t bytes()
	{
		return buckets * (sizeof(typename table::bucket_type) +
				  sizeof(typename table::md_bucket_type)) +
		       buckets / 8;
	}
};

extern "C" const kht_table_system kht_original_warpspeed = {
	"warpspeed", "WarpSpeed, p2MD", speed_map<uint32_t, uint32_t>::CAN, 0.8,
	original_open<speed_map>
};
