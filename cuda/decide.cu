/* decide.cu - fragments to calls (decide.cuh): the kernel of warps, then that of blocks */
#include "decide_warp.cuh"

extern "C" int kh_gpu_query_run(const kh_gpu_query *q, cudaStream_t stream)
{
	cudaError_t e;

	if (q->n == 0)
		return cudaSuccess;
	if (!q->segment)
		e = launch_warps<WHOLE>(q, stream);
	else if (!q->list)
		e = launch_warps<FEATURES_ONLY>(q, stream);
	else
		e = launch_warps<LISTS_GIVEN>(q, stream);
	return e != cudaSuccess ? e : kh_gpu_query_left(q, stream);
}
