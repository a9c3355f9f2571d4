/*
 * pairs.cu - pairs of a build gathered and sorted, and where each range of them begins
 */
#include "cuda/kernels/pairs.cuh"
#include "cuda/kernels/cub.cuh"

#include <cub/device/device_radix_sort.cuh>

namespace {

/* --- gathering ---------------------------------------------------------------------- */
__device__ uint32_t sequence_of(const kh_gpu_remap &m, uint32_t bin)
{
	kh_bins b = { m.n, m.first, nullptr };

	return kh_bins_target(&b, bin);
}

__global__ void gather_kernel(const kh_gpu_pairs *part, kh_gpu_remap remap, uint64_t *key,
			      uint32_t *bin)
{
	const kh_gpu_pairs p = part[blockIdx.x];
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

} /* namespace */

extern "C" int kh_gpu_gather(const kh_gpu_pairs *part, uint32_t n,
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
	cudaError_t e = caught([&] {
		return cub::DeviceRadixSort::SortPairs(s->room, s->room_bytes, key, bin,
						       s->n, 0, s->bits, stream);
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
