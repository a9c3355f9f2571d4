/*
 * cuco_filter.cu - NVIDIA's cuCollections: bloom_filter, which is given each k-mer of a sequence
 * for itself
 */
#include "cuda/tables/bench/cuco_identity.cuh"
#include <cuco/bloom_filter.cuh>
#include "cuda/tables/bench/filter.cuh"

struct cuco_filter {
	static constexpr unsigned ANSWER = 8;
	typedef cuco::bloom_filter<uint64_t> table;
	table filter;

	explicit cuco_filter(size_t bits)
		: filter(cuco::extent<size_t> { bits / (table::words_per_block *
							sizeof(table::word_type) * 8) })
	{
	}
	void insert(const kht_sequence &q, size_t n, cudaStream_t s)
	{
		auto k = original_kmers(q);

		filter.add_async(k, k + n, cuda::stream_ref { s });
	}
	void query(const kht_sequence &q, size_t n, void *found, cudaStream_t s)
	{
		auto k = original_kmers(q);

		filter.contains_async(k, k + n, (bool *)found, cuda::stream_ref { s });
	}
	size_t bytes()
	{
		return (size_t)filter.block_extent() * table::words_per_block *
		       sizeof(table::word_type);
	}
};

extern "C" const kht_original_filter kht_original_cuco_filter =
	original_filter<cuco_filter>("cuco-filter");
