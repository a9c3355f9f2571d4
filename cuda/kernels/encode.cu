/*
 * encode.cu - sorted pairs to the entries of the index: keys, entries, places, lengths
 *
 * All ranges of a wave are worked on at once: their sorted pairs lie one behind the
 * other, and a thread finds its range from the top 8 bits of the key.  The contract of
 * each step is in index.h; the code that it must equal is kh_index_encode.
 */
#include "cuda/kernels/cut.cuh"
#include "cuda/kernels/cub.cuh"

#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace {

/* --- ranges ------------------------------------------------------------------------- */
/* The first of ascending pair numbers that is at or behind `pair`. */
__device__ uint64_t first_from(const uint32_t *of, uint64_t n, uint64_t pair)
{
	return first_of(n, [&](uint64_t i) { return of[i] >= pair; });
}

__global__ void range_heads_kernel(kh_gpu_encode e)
{
	if (threadIdx.x <= KH_RANGES)
		e.range[threadIdx.x].head =
			first_from(e.head, e.n_heads, e.range[threadIdx.x].pair);
}

__global__ void range_entries_kernel(kh_gpu_encode e)
{
	if (threadIdx.x == 0)
		e.entry[e.n_entries] = (uint32_t)e.n;
	if (threadIdx.x <= KH_RANGES)
		e.range[threadIdx.x].entry =
			first_from(e.entry, e.n_entries, e.range[threadIdx.x].pair);
}

/* --- keys and entries --------------------------------------------------------------- */
struct is_head {
	const uint64_t *key;

	__device__ bool operator()(uint32_t i) const
	{
		return i == 0 || key[i] != key[i - 1];
	}
};

/* Home bucket and tag of a key, with its range above them. */
__device__ uint64_t place_of(const kh_gpu_range *range, uint64_t key)
{
	return (key >> 40) << 48 | kh_key_place(key, range[key >> 40].B);
}

/* Whether an entry begins with this head. */
struct is_entry {
	const uint64_t *key;
	const kh_gpu_range *range;

	__device__ bool operator()(uint32_t i) const
	{
		return i == 0 || place_of(range, key[i]) != place_of(range, key[i - 1]);
	}
};

/* --- places ------------------------------------------------------------------------- */
/* 19 * home - j of entry j of its range.  The number of the range stands in the bits above, so
 * that the running maximum begins anew in each range. */
struct lead_of {
	kh_gpu_encode e;

	__device__ uint64_t operator()(uint64_t i) const
	{
		uint64_t key = e.key[e.entry[i]], p = key >> 40;
		uint64_t home = kh_key_place(key, e.range[p].B) >> 16;

		return (p << 48) + (UINT64_C(1) << 40) + KH_BUCKET_SLOTS * home -
		       (i - e.range[p].entry);
	}
};

struct greater_of {
	__device__ uint64_t operator()(uint64_t a, uint64_t b) const
	{
		return a > b ? a : b;
	}
};

__global__ void slot_kernel(kh_gpu_encode e)
{
	uint64_t i = thread_number();

	if (i >= e.n_entries)
		return;
	uint32_t from = e.entry[i], to = e.entry[i + 1];
	uint64_t key = e.key[from], p = key >> 40;
	uint64_t home = kh_key_place(key, e.range[p].B) >> 16;
	uint64_t lead = (e.lead[i] & ((UINT64_C(1) << 48) - 1)) - (UINT64_C(1) << 40);
	uint64_t slot = lead + (i - e.range[p].entry);

	e.slot[i] = (uint32_t)slot;
	if (slot / KH_BUCKET_SLOTS > home + 1)
		e.range[p].failed = 1;
	if (e.key[to - 1] != key) {
		uint32_t at = atomicAdd(&e.counts[0], 1);

		if (at < e.cap_several)
			e.several[at] = (uint32_t)i;
	}
}

/* --- lists -------------------------------------------------------------------------- */
/* The bins of an entry of several keys in ascending order, by a block of threads. */
__global__ void several_kernel(kh_gpu_encode e)
{
	const uint32_t i = e.several[blockIdx.x], from = e.entry[i], to = e.entry[i + 1];
	const uint64_t n = to - from;
	uint64_t size = 1;

	while (size < n)
		size *= 2;
	/* A bitonic sort in place.  Places behind the end count as the greatest numbers and never
	 * move, as all merges put the smaller number first. */
	for (uint64_t k = 2; k <= size; k *= 2)
		for (uint64_t j = k / 2; j > 0; j /= 2) {
			__syncthreads();
			for (uint64_t a = threadIdx.x; a < size; a += blockDim.x) {
				uint64_t b = j == k / 2 ? a ^ (k - 1) : a ^ j;

				if (b > a && b < n && e.bin[from + a] > e.bin[from + b]) {
					uint32_t x = e.bin[from + a];

					e.bin[from + a] = e.bin[from + b];
					e.bin[from + b] = x;
				}
			}
		}
}

/* The list of entry i has n words, from its first pair's place on. */
__device__ void set_length(const kh_gpu_encode &e, uint32_t i, uint32_t n)
{
	e.len[i] = n > KH_LIST_MAX ? KH_LIST_OVER : (uint8_t)n;
	if (n > KH_LIST_MAX)
		atomicAdd(&e.range[e.key[e.entry[i]] >> 40].over, 1);
}

__device__ uint32_t taxon_of(const kh_gpu_encode &e, uint32_t bin)
{
	return e.bins.taxon[kh_bins_target(&e.bins, bin)];
}

/* One thread makes a list that has too few locations to be cut. */
__device__ void short_list(const kh_gpu_encode &e, uint32_t i, uint32_t from, uint32_t to)
{
	kh_extent x = kh_extent_empty();
	const uint32_t n = distinct_bins(e, from, to);

	set_length(e, i, n);
	if (n <= KH_LIST_MAX)
		return;
	for (uint32_t j = from; j < from + n; j++)
		x = kh_extent_add(x, taxon_of(e, e.bin[j]));
	e.bin[from] = kh_tree_lca(&e.tree, x.lo, x.hi);
}

/* A warp makes a list that may have to be cut. */
__device__ void longer_list(const kh_gpu_encode &e, species_table &t, uint32_t i, uint32_t from,
			    uint32_t to)
{
	uint32_t n = cut_one_species(e, from, to);
	kh_extent x = kh_extent_empty();

	if (n > 0) {
		if (by_warp::index() == 0)
			set_length(e, i, n);
		return;
	}
	n = cut_words<by_warp>(e, t, from, to);
	if (by_warp::index() == 0)
		set_length(e, i, n);
	if (n <= KH_LIST_MAX) {
		cut_in_place(e, t, from, to);
		return;
	}
	for (uint32_t j = from + by_warp::index(); j < to; j += 32)
		x = kh_extent_add(x, taxon_of(e, e.bin[j]));
	x.lo = __reduce_min_sync(ALL, x.lo);
	x.hi = __reduce_max_sync(ALL, x.hi);
	if (by_warp::index() == 0)
		e.bin[from] = kh_tree_lca(&e.tree, x.lo, x.hi);
}

/* The list of n pairs, if a thread alone can make it. */
__device__ bool list_by_thread(const kh_gpu_encode &e, uint32_t i, uint32_t from, uint32_t n)
{
	if (n == 1)                     /* its bin stands where the list does */
		e.len[i] = 1;
	else if (n <= most_of(e))
		short_list(e, i, from, from + n);
	else if (const uint32_t words = cut_row(e, from, from + n))
		set_length(e, i, words);
	else
		return false;
	return true;
}

/* Writes the words of each list over the bins of its pairs; entries of very many pairs are left
 * to the next kernel.  Each thread has an entry; if its list may have to be cut and is not plainly
 * of one species, the whole warp works on it. */
__global__ void __launch_bounds__(THREADS) length_kernel(kh_gpu_encode e)
{
	__shared__ species_table table[THREADS / 32];
	const uint64_t i = thread_number();
	uint32_t from = 0, to = 0;

	if (i == e.n_entries)
		e.len[i] = 0;
	if (i < e.n_entries) {
		from = e.entry[i];
		to = e.entry[i + 1];
	}
	const uint32_t n = to - from;
	bool left = false;
	if (n > KH_GPU_MANY)
		e.many[atomicAdd(&e.counts[1], 1)] = (uint32_t)i;
	else if (n > 0)
		left = !list_by_thread(e, (uint32_t)i, from, n);
	for (unsigned rest = __ballot_sync(ALL, left); rest; rest &= rest - 1) {
		const int lane = __ffs((int)rest) - 1;

		longer_list(e, table[threadIdx.x / 32], __shfl_sync(ALL, (uint32_t)i, lane),
			    __shfl_sync(ALL, from, lane), __shfl_sync(ALL, to, lane));
	}
}

/* A block makes the list of an entry of very many pairs.  At most 254 words are kept, so one warp
 * writes them. */
__device__ void long_list(const kh_gpu_encode &e, species_table &t, kh_extent &x, uint32_t i)
{
	const uint32_t from = e.entry[i], to = e.entry[i + 1];
	const uint32_t n = cut_words<by_block>(e, t, from, to);

	if (threadIdx.x == 0) {
		set_length(e, i, n);
		x = kh_extent_empty();
	}
	__syncthreads();
	if (n <= KH_LIST_MAX) {
		if (threadIdx.x < 32)
			cut_in_place(e, t, from, to);
		return;
	}
	for (uint64_t j = (uint64_t)from + threadIdx.x; j < to; j += blockDim.x) {
		const uint32_t taxon = taxon_of(e, e.bin[j]);

		atomicMin(&x.lo, taxon);
		atomicMax(&x.hi, taxon);
	}
	__syncthreads();
	if (threadIdx.x == 0)
		e.bin[from] = kh_tree_lca(&e.tree, x.lo, x.hi);
}

__global__ void __launch_bounds__(THREADS) many_length_kernel(kh_gpu_encode e)
{
	__shared__ species_table table;
	__shared__ kh_extent extent;

	for (uint32_t x = blockIdx.x; x < e.counts[1]; x += gridDim.x) {
		long_list(e, table, extent, e.many[x]);
		__syncthreads();
	}
}

struct words_of {
	const uint8_t *len;

	__device__ uint64_t operator()(uint64_t i) const { return kh_list_words(len[i]); }
};

__global__ void range_words_kernel(kh_gpu_encode e)
{
	if (threadIdx.x <= KH_RANGES)
		e.range[threadIdx.x].word = e.lead[e.range[threadIdx.x].entry];
}

/* --- scans and selections ----------------------------------------------------------- */
cudaError_t first_error(cudaError_t e)
{
	return e != cudaSuccess ? e : cudaGetLastError();
}

cudaError_t max_scan(const kh_gpu_encode *e, void *scratch, size_t *bytes, uint64_t n,
		     cudaStream_t stream)
{
	auto in = thrust::make_transform_iterator(
		thrust::make_counting_iterator<uint64_t>(0), lead_of { *e });

	return caught([&] {
		return cub::DeviceScan::InclusiveScan(scratch, *bytes, in, e->lead,
						      greater_of {}, n, stream);
	});
}

cudaError_t word_scan(const kh_gpu_encode *e, void *scratch, size_t *bytes, uint64_t n,
		      cudaStream_t stream)
{
	auto in = thrust::make_transform_iterator(
		thrust::make_counting_iterator<uint64_t>(0), words_of { e->len });

	return caught([&] {
		return cub::DeviceScan::ExclusiveSum(scratch, *bytes, in, e->lead, n,
						     stream);
	});
}

cudaError_t select_heads(const kh_gpu_encode *e, void *scratch, size_t *bytes, uint64_t n,
			 cudaStream_t stream)
{
	return caught([&] {
		return cub::DeviceSelect::If(scratch, *bytes,
					     thrust::make_counting_iterator<uint32_t>(0),
					     e->head, e->n_out, n, is_head { e->key },
					     stream);
	});
}

cudaError_t select_entries(const kh_gpu_encode *e, void *scratch, size_t *bytes, uint64_t n,
			   cudaStream_t stream)
{
	return caught([&] {
		return cub::DeviceSelect::If(scratch, *bytes, e->head, e->entry, e->n_out, n,
					     is_entry { e->key, e->range }, stream);
	});
}

} /* namespace */

extern "C" size_t kh_gpu_encode_scratch(uint64_t n)
{
	kh_gpu_encode e = {};
	size_t a = 0, b = 0, c = 0, d = 0;

	max_scan(&e, nullptr, &a, n + 1, nullptr);
	word_scan(&e, nullptr, &b, n + 1, nullptr);
	select_heads(&e, nullptr, &c, n, nullptr);
	select_entries(&e, nullptr, &d, n, nullptr);
	a = a > b ? a : b;
	c = c > d ? c : d;
	return a > c ? a : c;
}

extern "C" int kh_gpu_heads(const kh_gpu_encode *e, cudaStream_t stream)
{
	size_t bytes = e->scratch_bytes;

	return select_heads(e, e->scratch, &bytes, e->n, stream);
}

extern "C" int kh_gpu_range_heads(const kh_gpu_encode *e, cudaStream_t stream)
{
	range_heads_kernel<<<1, 288, 0, stream>>>(*e);
	return cudaGetLastError();
}

extern "C" int kh_gpu_entries(const kh_gpu_encode *e, cudaStream_t stream)
{
	size_t bytes = e->scratch_bytes;

	return select_entries(e, e->scratch, &bytes, e->n_heads, stream);
}

extern "C" int kh_gpu_place(const kh_gpu_encode *e, cudaStream_t stream)
{
	size_t bytes = e->scratch_bytes;

	range_entries_kernel<<<1, 288, 0, stream>>>(*e);
	if (e->n_entries == 0)
		return cudaGetLastError();
	cudaError_t rc = max_scan(e, e->scratch, &bytes, e->n_entries, stream);
	if (rc == cudaSuccess)
		slot_kernel<<<blocks_for(e->n_entries), THREADS, 0, stream>>>(*e);
	return first_error(rc);
}

extern "C" int kh_gpu_lists(const kh_gpu_encode *e, cudaStream_t stream)
{
	size_t bytes = e->scratch_bytes;

	if (e->cap_several > 0)         /* here: how many there are */
		several_kernel<<<e->cap_several, THREADS, 0, stream>>>(*e);
	length_kernel<<<blocks_for(e->n_entries + 1), THREADS, 0, stream>>>(*e);
	many_length_kernel<<<blocks_on_device(4), THREADS, 0, stream>>>(*e);
	cudaError_t rc = word_scan(e, e->scratch, &bytes, e->n_entries + 1, stream);
	if (rc == cudaSuccess)
		range_words_kernel<<<1, 288, 0, stream>>>(*e);
	return first_error(rc);
}
