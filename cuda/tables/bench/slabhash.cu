/*
 * slabhash.cu - SlabHash (Ashkiani et al. 2018): chains of slabs of 128 bytes, for pairs of 32-bit
 * keys and values
 *
 * It works on the default stream, which those of the bench wait for.  The bytes are those of the
 * first slab of each chain; its allocator's memory for others is not counted.
 */
#include <cuda_runtime.h>
#include <slab_hash.cuh>
#include "cuda/tables/bench/original.cuh"

static __global__ void tidy(uint32_t *values, size_t n, uint32_t missing)
{
	size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;

	if (i < n && values[i] == SEARCH_NOT_FOUND)
		values[i] = missing;
}

template <class K, class V> struct slab_map {
	typedef K key_type;
	typedef V value_type;
	static constexpr unsigned CAN = KHT_TABLE_FIND | KHT_TABLE_DYNAMIC | KHT_TABLE_ERASE;
	static constexpr uint32_t SLAB = 15; /* pairs */
	DynamicAllocatorT slabs;
	uint32_t buckets;
	GpuSlabHash<K, V, SlabHashTypeT::ConcurrentMap> map;
	uint64_t stored = 0;

	slab_map(size_t n, double load)
		: buckets((uint32_t)((double)n / load / SLAB) + 1), map(buckets, &slabs, 0, 1)
	{
	}
	void insert(const K *keys, const V *values, size_t n, cudaStream_t)
	{
		map.buildBulkWithUniqueKeys((K *)keys, (V *)values, (uint32_t)n);
		stored += n;
	}
	void find(const K *keys, size_t n, V *out, V missing, cudaStream_t)
	{
		map.searchIndividual((K *)keys, out, (uint32_t)n);
		tidy<<<kht_blocks(n), KHT_BLOCK>>>(out, n, missing);
	}
	void erase(const K *keys, size_t n, cudaStream_t)
	{
		map.deleteIndividual((K *)keys, (uint32_t)n);
		stored -= n;
	}
	/* What it should hold: it does not count. */
	size_t size(cudaStream_t) { return stored; }
	size_t slots() { return (size_t)buckets * SLAB; }
	size_t bytes() { return (size_t)buckets * 128; }
};

static int open_slabhash(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	if (c->key_bits != 32 || c->value_bits != 32)
		return kh_fail(err, KH_EUSAGE, "SlabHash: keys and values of 32 bits");
	return original<slab_map<uint32_t, uint32_t>>::open(c, s, t, err);
}

extern "C" const kht_table_system kht_original_slabhash = {
	"slabhash", "SlabHash", slab_map<uint32_t, uint32_t>::CAN, 0.8, open_slabhash
};
