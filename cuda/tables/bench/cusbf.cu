/*
 * cusbf.cu - cuSBF (Dortmann, Vieth, Schmidt 2026), a filter that is fed by sequence: shards of 256
 * bits chosen by minimizers of 16 bases, runs of four s-mers of 28, as its authors measure it
 *
 * A k-mer and its reverse complement are two to it.
 */
#include <cusbf/filter.cuh>
#include "cuda/tables/bench/filter.cuh"

struct cusbf_filter {
	static constexpr unsigned ANSWER = 8;
	typedef cusbf::Config<KHT_ORIGINAL_K, 28, 16, 4> config;
	cusbf::filter<config> filter;

	explicit cusbf_filter(size_t bits) : filter(bits) {}
	static cusbf::device_span<const uint64_t> words(const kht_sequence &q)
	{
		return { q.bases, q.words };
	}
	template <class R> static void must(const R &r)
	{
		if (!r)
			throw std::runtime_error("cuSBF failed");
	}
	void insert(const kht_sequence &q, size_t, cudaStream_t s)
	{
		must(filter.insert_dense_packed_async(words(q), q.words * 32,
						      cuda::stream_ref { s }));
	}
	void query(const kht_sequence &q, size_t n, void *found, cudaStream_t s)
	{
		must(filter.contains_dense_packed_async(words(q), q.words * 32,
							{ (uint8_t *)found, n },
							cuda::stream_ref { s }));
	}
	size_t bytes() { return filter.filter_bits() / 8; }
};

extern "C" const kht_original_filter kht_original_cusbf = original_filter<cusbf_filter>("cusbf");
