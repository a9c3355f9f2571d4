/* lookup.cu - look-ups by themselves, for the benches and the tests */
#include "tests/bench/program/gpu/kernels.h"
#include "cuda/kernels/device.cuh"

namespace {

__global__ void __launch_bounds__(THREADS)
	look_up_kernel(kh_gpu_index ix, const uint64_t *key, uint64_t n, kh_list *list)
{
	const uint64_t step = (uint64_t)gridDim.x * THREADS / 4;

	for (uint64_t i = ((uint64_t)blockIdx.x * THREADS + threadIdx.x) / 4; i < n;
	     i += step) {
		kh_list l = quad_find(ix, key[i]);

		if ((threadIdx.x & 3) == 0) {
			if (list)
				list[i] = l;
			else if (l.n == UINT32_MAX)
				asm volatile("trap;");  /* so that the compiler keeps the reads */
		}
	}
}

__global__ void __launch_bounds__(THREADS)
	read_lists_kernel(kh_gpu_index ix, const uint64_t *key, uint64_t n, uint32_t *sum)
{
	const uint64_t step = (uint64_t)gridDim.x * THREADS / 4;
	uint32_t x = 0;

	for (uint64_t i = ((uint64_t)blockIdx.x * THREADS + threadIdx.x) / 4; i < n;
	     i += step) {
		const kh_list l = quad_find(ix, key[i]);

		for (uint32_t j = threadIdx.x & 3; j < l.n; j += 4)
			x ^= kh_word(ix.image, l.bit + (uint64_t)j * ix.bits, ix.bits);
	}
	if (x == 0x12345678)
		atomicAdd(sum, x);
}

__global__ void __launch_bounds__(THREADS)
	random_kernel(const uint4 *p, uint64_t blocks, uint64_t n, uint32_t *sum)
{
	const uint64_t step = (uint64_t)gridDim.x * THREADS / 4;
	uint32_t x = 0;

	for (uint64_t i = ((uint64_t)blockIdx.x * THREADS + threadIdx.x) / 4; i < n;
	     i += step) {
		uint64_t at = __umul64hi(kh_fmix64(i + 1), blocks);
		uint4 v = __ldg(p + at * 4 + (threadIdx.x & 3));

		x += v.x ^ v.y ^ v.z ^ v.w;
	}
	if (x == 0x12345678)
		atomicAdd(sum, x);
}

} /* namespace */

extern "C" int kh_gpu_bench_look_up(const kh_gpu_index *ix, const uint64_t *key, uint64_t n,
				    kh_list *list, cudaStream_t stream)
{
	look_up_kernel<<<blocks_on_device(8), THREADS, 0, stream>>>(*ix, key, n, list);
	return cudaGetLastError();
}

extern "C" int kh_gpu_bench_read_lists(const kh_gpu_index *ix, const uint64_t *key, uint64_t n,
				       uint32_t *sum, cudaStream_t stream)
{
	read_lists_kernel<<<blocks_on_device(8), THREADS, 0, stream>>>(*ix, key, n, sum);
	return cudaGetLastError();
}

extern "C" int kh_gpu_bench_random_reads(const void *p, uint64_t blocks, uint64_t n,
					 uint32_t *sum, cudaStream_t stream)
{
	random_kernel<<<blocks_on_device(8), THREADS, 0, stream>>>((const uint4 *)p, blocks, n,
								   sum);
	return cudaGetLastError();
}
