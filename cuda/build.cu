/*
 * build.cu - pairs to ranges of the index: gather, sort, entries, places, lists, buckets
 *
 * All ranges of a wave are worked on at once: their sorted pairs lie one behind the
 * other, and a thread finds its range from the top 8 bits of the key.  The contract of
 * each step is in index.h; the code that it must equal is kh_index_encode.
 */
#include "kernels.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace {

constexpr unsigned THREADS = 256;

unsigned blocks_for(uint64_t n)
{
	return (unsigned)((n + THREADS - 1) / THREADS);
}

__device__ uint64_t thread_number()
{
	return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

/* --- gathering ---------------------------------------------------------------------- */
__device__ uint32_t sequence_of(const kh_gpu_remap &m, uint32_t bin)
{
	kh_bins b = { m.n, m.first, nullptr };

	return kh_bins_target(&b, bin);
}

__global__ void gather_kernel(const kh_gpu_part *part, kh_gpu_remap remap, uint64_t *key,
			      uint32_t *bin)
{
	const kh_gpu_part p = part[blockIdx.x];
	const uint64_t step = (uint64_t)gridDim.y * blockDim.x;

	for (uint64_t i = (uint64_t)blockIdx.y * blockDim.x + threadIdx.x; i < p.n;
	     i += step) {
		uint64_t k = p.key[i];
		uint32_t b = p.bin[i];

		if (remap.n) {
			uint32_t seq = sequence_of(remap, b);

			if (remap.to[seq] == UINT32_MAX)
				k = KH_GPU_DROPPED;
			else
				b = b - remap.first[seq] + remap.to[seq];
		}
		key[p.to + i] = k;
		bin[p.to + i] = b;
	}
}

/* --- boundaries --------------------------------------------------------------------- */
__global__ void bounds_kernel(const uint64_t *key, uint64_t n, uint64_t *at)
{
	uint64_t lo = 0, hi = n;

	if (threadIdx.x > KH_RANGES)
		return;
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (key[mid] >> 40 < threadIdx.x)
			lo = mid + 1;
		else
			hi = mid;
	}
	at[threadIdx.x] = lo;
}

/* The first of ascending pair numbers that is at or behind `pair`. */
__device__ uint64_t first_from(const uint32_t *of, uint64_t n, uint64_t pair)
{
	uint64_t lo = 0, hi = n;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (of[mid] < pair)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
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

/* Of the heads: does an entry begin with it? */
struct is_entry {
	const uint64_t *key;
	const kh_gpu_range *range;

	__device__ bool operator()(uint32_t i) const
	{
		return i == 0 || place_of(range, key[i]) != place_of(range, key[i - 1]);
	}
};

/* --- places ------------------------------------------------------------------------- */
/* 19 * home - j of entry e, with its range above: the running maximum does not reach over
 * ranges then. */
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
	/* bitonic, in place: what is behind the end counts as greatest and stays there,
	 * as all merges put the smaller first */
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

__global__ void length_kernel(kh_gpu_encode e)
{
	uint64_t i = thread_number();

	if (i > e.n_entries)
		return;
	if (i == e.n_entries) {
		e.len[i] = 0;
		return;
	}
	uint32_t from = e.entry[i], to = e.entry[i + 1], n = 1;

	if (to - from > KH_GPU_MANY) {
		e.many[atomicAdd(&e.counts[1], 1)] = (uint32_t)i;
		return;
	}
	for (uint32_t j = from + 1; j < to; j++)
		n += e.bin[j] != e.bin[j - 1];
	e.len[i] = n > KH_LIST_MAX ? KH_LIST_OVER : (uint8_t)n;
	if (n > KH_LIST_MAX)
		atomicAdd(&e.range[e.key[from] >> 40].over, 1);
}

__global__ void many_length_kernel(kh_gpu_encode e)
{
	for (uint32_t x = blockIdx.x; x < e.counts[1]; x += gridDim.x) {
		const uint32_t i = e.many[x], from = e.entry[i], to = e.entry[i + 1];
		__shared__ uint32_t sum;
		uint32_t n = 0;

		__syncthreads();
		if (threadIdx.x == 0)
			sum = 0;
		__syncthreads();
		for (uint64_t j = (uint64_t)from + threadIdx.x; j < to; j += blockDim.x)
			n += j == from || e.bin[j] != e.bin[j - 1];
		atomicAdd(&sum, n);
		__syncthreads();
		if (threadIdx.x == 0) {
			e.len[i] = sum > KH_LIST_MAX ? KH_LIST_OVER : (uint8_t)sum;
			if (sum > KH_LIST_MAX)
				atomicAdd(&e.range[e.key[from] >> 40].over, 1);
		}
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

/* --- the image ---------------------------------------------------------------------- */
/* Where the buckets of range p are in `start`: B + 1 of them and the end. */
__device__ uint64_t start_of(const kh_gpu_encode &e, uint64_t p)
{
	return e.range[p].start;
}

/* start[bucket] = the first entry that lies in it or behind it. */
__global__ void start_kernel(kh_gpu_encode e)
{
	uint64_t i = thread_number();

	if (i >= e.n_entries)
		return;
	const uint64_t p = e.key[e.entry[i]] >> 40;
	uint32_t *start = e.start + start_of(e, p);
	const bool first = i == e.range[p].entry, last = i + 1 == e.range[p + 1].entry;
	uint32_t b = e.slot[i] / KH_BUCKET_SLOTS;

	for (uint32_t x = first ? 0 : e.slot[i - 1] / KH_BUCKET_SLOTS + 1; x <= b; x++)
		start[x] = (uint32_t)i;
	if (last)
		for (uint32_t x = b + 1; x <= e.range[p].B + 1; x++)
			start[x] = (uint32_t)i + 1;
}

/* Ranges without entries. */
__global__ void empty_kernel(kh_gpu_encode e)
{
	const uint32_t p = threadIdx.x;

	if (p >= KH_RANGES || e.range[p].B == 0 ||
	    e.range[p].entry != e.range[p + 1].entry)
		return;
	for (uint32_t x = 0; x <= e.range[p].B + 1; x++)
		e.start[start_of(e, p) + x] = (uint32_t)e.range[p].entry;
}

__device__ uint64_t place_of_entry(const kh_gpu_encode &e, uint64_t p, uint32_t i)
{
	return kh_key_place(e.key[e.entry[i]], e.range[p].B);
}

/* The range whose buckets have number b, all ranges' counted (those without a range in
 * this wave have none). */
__device__ uint32_t range_of_bucket(const kh_gpu_encode &e, uint64_t b)
{
	uint32_t lo = 0, hi = KH_RANGES;

	while (hi - lo > 1) {
		uint32_t mid = (lo + hi) / 2;

		if (start_of(e, mid) <= b)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

__global__ void __launch_bounds__(THREADS)
	bucket_kernel(kh_gpu_encode e, uint64_t n_start)
{
	const uint64_t at = thread_number();

	if (at >= n_start)
		return;
	const uint32_t p = range_of_bucket(e, at);
	const uint32_t b = (uint32_t)(at - start_of(e, p));

	if (b > e.range[p].B)           /* the place behind a range's last bucket */
		return;
	const uint32_t *start = e.start + start_of(e, p);
	const uint32_t from = start[b], to = start[b + 1];
	uint64_t base = e.lead[from] - e.range[p].word;
	uint32_t word[16] = { 0 };
	unsigned flags = 0;
	uint8_t *byte = (uint8_t *)word;

	for (int i = 0; i < 6; i++, base >>= 8)
		byte[i] = (uint8_t)base;
	for (uint32_t i = from; i < to; i++) {
		uint64_t place = place_of_entry(e, p, i);
		uint32_t pos = e.slot[i] % KH_BUCKET_SLOTS;

		flags += (place >> 16) < b;
		byte[7 + pos] = e.len[i];
		byte[26 + 2 * pos] = (uint8_t)place;
		byte[27 + 2 * pos] = (uint8_t)(place >> 8);
	}
	if (b < e.range[p].B && start[b + 1] < start[b + 2]
	    && place_of_entry(e, p, start[b + 1]) >> 16 == b)
		flags |= KH_BUCKET_GOES_ON;
	byte[6] = (uint8_t)flags;
	uint4 *out = (uint4 *)(e.image + e.range[p].bucket + b);
	for (int i = 0; i < 4; i++)
		out[i] = make_uint4(word[4 * i], word[4 * i + 1], word[4 * i + 2],
				    word[4 * i + 3]);
}

__device__ uint32_t taxon_of(const kh_gpu_encode &e, uint32_t bin)
{
	return e.bins.taxon[kh_bins_target(&e.bins, bin)];
}

__device__ uint32_t *list_of(const kh_gpu_encode &e, uint64_t p, uint64_t i)
{
	return (uint32_t *)e.image + e.range[p].loc + (e.lead[i] - e.range[p].word);
}

__global__ void list_kernel(kh_gpu_encode e)
{
	uint64_t i = thread_number();

	if (i >= e.n_entries)
		return;
	uint32_t from = e.entry[i], to = e.entry[i + 1], n = 0;

	if (to - from > KH_GPU_MANY)
		return;
	uint32_t *out = list_of(e, e.key[from] >> 40, i);
	if (e.len[i] == KH_LIST_OVER) {
		kh_extent x = { UINT32_MAX, 0 };

		for (uint32_t j = from; j < to; j++)
			x = kh_extent_add(x, taxon_of(e, e.bin[j]));
		out[0] = kh_tree_lca(&e.tree, x.lo, x.hi);
		return;
	}
	for (uint32_t j = from; j < to; j++)
		if (j == from || e.bin[j] != e.bin[j - 1])
			out[n++] = e.bin[j];
}

/* A block a list: at most 254 locations are kept, so one warp's order is enough. */
__global__ void many_list_kernel(kh_gpu_encode e)
{
	for (uint32_t x = blockIdx.x; x < e.counts[1]; x += gridDim.x) {
		const uint32_t i = e.many[x], from = e.entry[i], to = e.entry[i + 1];
		uint32_t *out = list_of(e, e.key[from] >> 40, i);
		__shared__ uint32_t lo, hi;

		__syncthreads();
		if (threadIdx.x == 0) {
			lo = UINT32_MAX;
			hi = 0;
		}
		__syncthreads();
		if (e.len[i] == KH_LIST_OVER) {
			for (uint64_t j = (uint64_t)from + threadIdx.x; j < to;
			     j += blockDim.x) {
				uint32_t t = taxon_of(e, e.bin[j]);

				atomicMin(&lo, t);
				atomicMax(&hi, t);
			}
			__syncthreads();
			if (threadIdx.x == 0)
				out[0] = kh_tree_lca(&e.tree, lo, hi);
		} else if (threadIdx.x < 32) {
			uint32_t n = 0;

			for (uint64_t j = from; j < to; j += 32) {
				uint64_t me = j + threadIdx.x;
				bool keep = me < to &&
					    (me == from || e.bin[me] != e.bin[me - 1]);
				unsigned mask = __ballot_sync(0xffffffffu, keep);

				if (keep)
					out[n +
					    (uint32_t)__popc(mask & ((1u << threadIdx.x) -
								     1))] = e.bin[me];
				n += (uint32_t)__popc(mask);
			}
		}
	}
}

constexpr unsigned MANY_BLOCKS = 132 * 4;

cudaError_t first_error(cudaError_t e)
{
	return e != cudaSuccess ? e : cudaGetLastError();
}

cudaError_t max_scan(const kh_gpu_encode *e, void *room, size_t *bytes, uint64_t n,
		     cudaStream_t stream)
{
	auto in = thrust::make_transform_iterator(
		thrust::make_counting_iterator<uint64_t>(0), lead_of { *e });

	return cub::DeviceScan::InclusiveScan(room, *bytes, in, e->lead, greater_of {}, n,
					      stream);
}

cudaError_t word_scan(const kh_gpu_encode *e, void *room, size_t *bytes, uint64_t n,
		      cudaStream_t stream)
{
	auto in = thrust::make_transform_iterator(
		thrust::make_counting_iterator<uint64_t>(0), words_of { e->len });

	return cub::DeviceScan::ExclusiveSum(room, *bytes, in, e->lead, n, stream);
}

cudaError_t select_heads(const kh_gpu_encode *e, void *room, size_t *bytes, uint64_t n,
			 cudaStream_t stream)
{
	return cub::DeviceSelect::If(room, *bytes,
				     thrust::make_counting_iterator<uint32_t>(0), e->head,
				     e->n_out, n, is_head { e->key }, stream);
}

cudaError_t select_entries(const kh_gpu_encode *e, void *room, size_t *bytes, uint64_t n,
			   cudaStream_t stream)
{
	return cub::DeviceSelect::If(room, *bytes, e->head, e->entry, e->n_out, n,
				     is_entry{ e->key, e->range }, stream);
}

} /* namespace */

extern "C" int kh_gpu_gather(const kh_gpu_part *part, uint32_t n,
			     const kh_gpu_remap *remap, uint64_t *key, uint32_t *bin,
			     cudaStream_t stream)
{
	if (n == 0)
		return cudaSuccess;
	gather_kernel<<<dim3(n, 8), THREADS, 0, stream>>>(part, *remap, key, bin);
	return cudaGetLastError();
}

extern "C" int kh_gpu_sort_run(kh_gpu_sort *s, cudaStream_t stream)
{
	cub::DoubleBuffer<uint64_t> key(s->key, s->key2);
	cub::DoubleBuffer<uint32_t> bin(s->bin, s->bin2);
	cudaError_t e = cub::DeviceRadixSort::SortPairs(s->room, s->room_bytes, key, bin,
							s->n, 0, s->bits, stream);

	s->key = key.Current();
	s->key2 = key.Alternate();
	s->bin = bin.Current();
	s->bin2 = bin.Alternate();
	return e;
}

extern "C" int kh_gpu_bounds(const uint64_t *key, uint64_t n, uint64_t *at,
			     cudaStream_t stream)
{
	bounds_kernel<<<1, 288, 0, stream>>>(key, n, at);
	return cudaGetLastError();
}

extern "C" size_t kh_gpu_encode_room(uint64_t n)
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
	size_t bytes = e->room_bytes;

	return select_heads(e, e->room, &bytes, e->n, stream);
}

extern "C" int kh_gpu_range_heads(const kh_gpu_encode *e, cudaStream_t stream)
{
	range_heads_kernel<<<1, 288, 0, stream>>>(*e);
	return cudaGetLastError();
}

extern "C" int kh_gpu_entries(const kh_gpu_encode *e, cudaStream_t stream)
{
	size_t bytes = e->room_bytes;

	return select_entries(e, e->room, &bytes, e->n_heads, stream);
}

extern "C" int kh_gpu_place(const kh_gpu_encode *e, cudaStream_t stream)
{
	size_t bytes = e->room_bytes;

	range_entries_kernel<<<1, 288, 0, stream>>>(*e);
	if (e->n_entries == 0)
		return cudaGetLastError();
	cudaError_t rc = max_scan(e, e->room, &bytes, e->n_entries, stream);
	if (rc == cudaSuccess)
		slot_kernel<<<blocks_for(e->n_entries), THREADS, 0, stream>>>(*e);
	return first_error(rc);
}

extern "C" int kh_gpu_lists(const kh_gpu_encode *e, cudaStream_t stream)
{
	size_t bytes = e->room_bytes;

	if (e->cap_several > 0)         /* here: how many there are */
		several_kernel<<<e->cap_several, THREADS, 0, stream>>>(*e);
	length_kernel<<<blocks_for(e->n_entries + 1), THREADS, 0, stream>>>(*e);
	many_length_kernel<<<MANY_BLOCKS, THREADS, 0, stream>>>(*e);
	cudaError_t rc = word_scan(e, e->room, &bytes, e->n_entries + 1, stream);
	if (rc == cudaSuccess)
		range_words_kernel<<<1, 288, 0, stream>>>(*e);
	return first_error(rc);
}

extern "C" int kh_gpu_fill(const kh_gpu_encode *e, uint64_t n_start, cudaStream_t stream)
{
	empty_kernel<<<1, KH_RANGES, 0, stream>>>(*e);
	if (e->n_entries > 0)
		start_kernel<<<blocks_for(e->n_entries), THREADS, 0, stream>>>(*e);
	bucket_kernel<<<blocks_for(n_start), THREADS, 0, stream>>>(*e, n_start);
	if (e->n_entries > 0) {
		list_kernel<<<blocks_for(e->n_entries), THREADS, 0, stream>>>(*e);
		many_list_kernel<<<MANY_BLOCKS, THREADS, 0, stream>>>(*e);
	}
	return cudaGetLastError();
}
