/* queries.cuh - several queries as a parameter of a kernel */
#ifndef KH_CUDA_KERNELS_QUERIES_CUH
#define KH_CUDA_KERNELS_QUERIES_CUH

#include "cuda/kernels/engine.h"
#include "cuda/kernels/threads.cuh"

namespace {

/* What is launched at a time; blockIdx.y is the number of a query, where nothing else is said. */
struct queries {
	uint32_t n;
	kh_gpu_query q[KH_GPU_TOGETHER];
};
static_assert(sizeof(queries) + 16 <= (CUDART_VERSION >= 12010 ? 32764 : 4096),
	      "a kernel may have so many bytes of parameters");

uint32_t fragments_of(const kh_gpu_query &q) { return q.n; }

/* Those of the n for which is(q) holds. */
template <class Is>
queries gather(const kh_gpu_query *const q[], uint32_t n, Is is)
{
	queries all;

	all.n = 0;
	for (uint32_t i = 0; i < n; i++)
		if (is(*q[i]))
			all.q[all.n++] = *q[i];
	return all;
}

/* Blocks of so many threads for the query of a launch that has most to do. */
dim3 blocks_of(const queries &all, unsigned threads, uint32_t (*has)(const kh_gpu_query &q))
{
	uint32_t most = 1;

	for (uint32_t i = 0; i < all.n; i++)
		most = max(most, has(all.q[i]));
	return dim3((most + threads - 1) / threads, all.n);
}

} /* namespace */

#endif
