/*
 * pairs.cu - pairs of a build gathered and sorted, where each range of them and each key begins,
 * and how many a range has
 */
#include "cuda/kernels/cub.cuh"
#include "cuda/kernels/builder.h"
#include "cuda/kernels/threads.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

namespace {

/* --- gathering ---------------------------------------------------------------------- */
constexpr unsigned TILE = 16 * THREADS;         /* pairs of a block */

__device__ void put_pair(const kh_gpu_gather &g, uint64_t at, uint64_t key, uint32_t bin)
{
	g.key[at] = key;
	g.bin[at] = bin;
}

/* Each block fills a tile of the output, of as many parts as that has: so the device is busy
 * whether there are many parts or one. */
__global__ void __launch_bounds__(THREADS) gather_kernel(kh_gpu_gather g)
{
	const uint64_t from = (uint64_t)blockIdx.x * TILE;
	const uint64_t to = g.total - from < TILE ? g.total : from + TILE;
	uint32_t i = last_of(0, g.n, [&](uint32_t x) { return g.part[x].to <= from; });

	for (uint64_t at = from; at < to; i++) {
		const kh_gpu_pairs p = g.part[i];
		const uint64_t end = p.to + p.n < to ? p.to + p.n : to;

		for (uint64_t x = at + threadIdx.x; x < end; x += THREADS)
			put_pair(g, x, p.key[x - p.to], p.bin[x - p.to]);
		at = end;
	}
}

/* --- boundaries --------------------------------------------------------------------- */
__global__ void bounds_kernel(const uint64_t *key, uint64_t n, uint64_t *at)
{
	const unsigned p = threadIdx.x;

	if (p <= KH_RANGES)
		at[p] = first_of(n, [&](uint64_t i) { return key[i] >> 40 >= p; });
}

/* --- keys --------------------------------------------------------------------------- */
struct is_head {
	const uint64_t *key;

	__device__ bool operator()(uint32_t i) const
	{
		return i == 0 || key[i] != key[i - 1];
	}
};

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

__global__ void range_heads_kernel(kh_gpu_encode e)
{
	if (threadIdx.x > KH_RANGES)
		return;
	kh_gpu_range *r = &e.range[threadIdx.x];

	r->head = first_of(e.n_heads, [&](uint64_t i) { return e.head[i] >= r->pair; });
}

/* --- weights ------------------------------------------------------------------------ */
__global__ void __launch_bounds__(THREADS)
	weigh_kernel(const uint64_t *key, const uint32_t *count, uint64_t most,
		     unsigned long long *weight)
{
	__shared__ uint32_t of[KH_RANGES + 1];
	const uint64_t step = (uint64_t)gridDim.x * THREADS, n = count ? *count : most;

	for (unsigned i = threadIdx.x; i <= KH_RANGES; i += THREADS)
		of[i] = 0;
	__syncthreads();
	for (uint64_t i = thread_number(); i < n; i += step)
		atomicAdd(&of[key[i] >> 40], 1);
	__syncthreads();
	for (unsigned i = threadIdx.x; i < KH_RANGES; i += THREADS)
		if (of[i])
			atomicAdd(&weight[i], (unsigned long long)of[i]);
}

} /* namespace */

extern "C" int kh_gpu_gather_run(const kh_gpu_gather *g, cudaStream_t stream)
{
	const uint64_t tiles = (g->total + TILE - 1) / TILE;

	if (tiles > 0)
		gather_kernel<<<(unsigned)tiles, THREADS, 0, stream>>>(*g);
	return cudaGetLastError();
}

extern "C" int kh_gpu_sort_run(kh_gpu_sort *s, cudaStream_t stream)
{
	cub::DoubleBuffer<uint64_t> key(s->key, s->key2);
	cub::DoubleBuffer<uint32_t> bin(s->bin, s->bin2);
	cudaError_t e = caught([&] {
		return cub::DeviceRadixSort::SortPairs(s->scratch, s->scratch_bytes, key, bin,
						       s->n, s->from, s->bits, stream);
	});

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

extern "C" size_t kh_gpu_heads_scratch(uint64_t n)
{
	kh_gpu_encode e = {};
	size_t bytes = 0;

	select_heads(&e, nullptr, &bytes, n, nullptr);
	return bytes;
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

/* A block of references is some of the work that a device has; all pairs are all of it. */
extern "C" int kh_gpu_weigh(const uint64_t *key, const uint32_t *count, uint64_t n,
			    uint64_t *weight, cudaStream_t stream)
{
	const unsigned most = blocks_on_device(count ? 2 : 16);
	const uint64_t blocks = (n + THREADS - 1) / THREADS;

	if (n > 0)
		weigh_kernel<<<blocks < most ? (unsigned)blocks : most, THREADS, 0, stream>>>(
			key, count, n, (unsigned long long *)weight);
	return cudaGetLastError();
}
