/* threads.cuh - what all kernels share: threads, warps and blocks */
#ifndef KH_CUDA_KERNELS_THREADS_CUH
#define KH_CUDA_KERNELS_THREADS_CUH

#include <cuda_runtime_api.h>
#include <stdint.h>

namespace {

constexpr unsigned THREADS = 256;       /* of a block, where nothing else is said */
constexpr unsigned ALL = 0xffffffffu;   /* lanes of a warp */

/* Blocks for so many threads. */
inline unsigned blocks_for(uint64_t n)
{
	return (unsigned)((n + THREADS - 1) / THREADS);
}

/* So many blocks for each multiprocessor of the current device, where only the device knows how
 * much there is to do.  If it cannot be asked, cudaGetLastError says so after the launch. */
inline unsigned blocks_on_device(unsigned each)
{
	int device = 0, n = 1;

	if (cudaGetDevice(&device) == cudaSuccess)
		cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, device);
	return each * (unsigned)n;
}

__device__ __forceinline__ uint64_t thread_number()
{
	return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ __forceinline__ unsigned lane_id()
{
	return threadIdx.x & 31;
}

/* A mask of the lanes before this one. */
__device__ __forceinline__ unsigned lanes_below()
{
	return (1u << lane_id()) - 1;
}

} /* namespace */

#endif
