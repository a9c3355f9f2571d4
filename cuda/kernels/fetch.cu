/* fetch.cu - chunks of the host's memory put in order, and copied to the device (fetch.h) */
#include "cuda/kernels/fetch.h"
#include "cuda/kernels/threads.cuh"
#include "cuda/kernels/tuning.h"

namespace {

constexpr unsigned BLOCK = 1024;
constexpr uint32_t EACH = KH_GPU_BUCKETS / BLOCK;         /* buckets of a thread */

/* The sum of x over the threads before this one, of a block. */
__device__ uint32_t sum_before(uint32_t x)
{
	__shared__ uint32_t of_warp[BLOCK / 32];
	uint32_t sum = x;

	for (unsigned d = 1; d < 32; d *= 2) {
		const uint32_t y = __shfl_up_sync(ALL, sum, d);

		sum += lane_id() >= d ? y : 0;
	}
	if (lane_id() == 31)
		of_warp[threadIdx.x / 32] = sum;
	__syncthreads();
	for (unsigned w = 0; w < threadIdx.x / 32; w++)
		sum += of_warp[w];
	return sum - x;
}

/* How many chunks a bucket has becomes where its first one is in their order. */
__global__ void __launch_bounds__(BLOCK) begin_kernel(const __grid_constant__ kh_gpu_fetch f)
{
	uint32_t *mine = f.bucket + EACH * threadIdx.x;
	uint32_t sum = 0;

	for (uint32_t i = 0; i < EACH; i++)
		sum += mine[i];
	uint32_t at = sum_before(sum);

	for (uint32_t i = 0; i < EACH; i++) {
		const uint32_t n = mine[i];

		mine[i] = at;
		at += n;
	}
	if (threadIdx.x == BLOCK - 1)
		*f.n_ordered = at;
}

__global__ void __launch_bounds__(THREADS) order_kernel(const __grid_constant__ kh_gpu_fetch f)
{
	const uint32_t n = min(*f.n, f.cap);

	for (uint64_t i = *f.n_before + thread_number(); i < n;
	     i += (uint64_t)gridDim.x * THREADS) {
		const uint64_t from = f.from[i];

		if (from)
			f.order[f.bucket[from >> f.shift & (KH_GPU_BUCKETS - 1)] + f.rank[i]] =
				(uint32_t)i;
	}
}

/* Four lanes copy a chunk, in one access.  What is wanted next is put in order by itself. */
__global__ void __launch_bounds__(THREADS) copy_kernel(const __grid_constant__ kh_gpu_fetch f)
{
	const uint32_t n = *f.n_ordered, lane = threadIdx.x % 4;

	for (uint32_t i = thread_number(); i < KH_GPU_BUCKETS; i += gridDim.x * THREADS)
		f.bucket[i] = 0;
	if (thread_number() == 0)
		*f.n_before = *f.n;

	for (uint64_t k = thread_number() / 4; k < n; k += (uint64_t)gridDim.x * (THREADS / 4)) {
		const uint32_t i = f.order[k];

		((uint4 *)(f.to + (uint64_t)i * KH_GPU_CHUNK))[lane] =
			((const uint4 *)f.from[i])[lane];
	}
}

} /* namespace */

extern "C" int kh_gpu_fetch_begin(const kh_gpu_fetch *f, cudaStream_t stream)
{
	return cudaMemsetAsync(f->n, 0, KH_GPU_FETCH_COUNTS, stream);
}

extern "C" int kh_gpu_fetch_run(const kh_gpu_fetch *f, cudaStream_t stream)
{
	begin_kernel<<<1, BLOCK, 0, stream>>>(*f);
	order_kernel<<<blocks_on_device(8), THREADS, 0, stream>>>(*f);
	copy_kernel<<<blocks_on_device(KH_TUNE_FETCH_EACH), THREADS, 0, stream>>>(*f);
	return cudaGetLastError();
}

extern "C" int kh_gpu_fetch_prepare(void)
{
	return share_alike(begin_kernel, order_kernel, copy_kernel);
}
