/* pairs.cuh - what pairs.cu, encode.cu and image.cu share */
#ifndef KH_CUDA_KERNELS_PAIRS_CUH
#define KH_CUDA_KERNELS_PAIRS_CUH

#include "cuda/kernels/kernels.h"

namespace {

constexpr unsigned THREADS = 256;
/* How many blocks work on the few entries of many pairs, each on one after the other. */
constexpr unsigned MANY_BLOCKS = 132 * 4;

inline unsigned blocks_for(uint64_t n)
{
	return (unsigned)((n + THREADS - 1) / THREADS);
}

__device__ __forceinline__ uint64_t thread_number()
{
	return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

} /* namespace */

#endif
