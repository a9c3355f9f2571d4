/* decide.cu - fragments to calls (decide.cuh): the kernel of warps, then that of blocks */
#include "decide_warp.cuh"

extern "C" int kh_gpu_query_run(const kh_gpu_query *q, cudaStream_t stream)
{
	if (q->n == 0)
		return cudaSuccess;
	warp_kernel<<<(q->n + WARPS - 1) / WARPS, 32 * WARPS, 0, stream>>>(*q);
	cudaError_t e = cudaGetLastError();
	return e != cudaSuccess ? e : kh_gpu_query_left(q, stream);
}
