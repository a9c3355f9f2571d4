/* decide_parts.cu - for the bench: the kernel of warps, stopped early */
#include "decide_warp.cuh"

extern "C" int kh_gpu_query_upto(const kh_gpu_query *q, int part, cudaStream_t stream)
{
	if (q->n == 0)
		return cudaSuccess;
	switch (part) {
	case KH_GPU_SAMPLE:
		return launch_warps<UPTO_SAMPLE>(q, stream);
	case KH_GPU_LOOK_UP:
		return launch_warps<UPTO_LOOK_UP>(q, stream);
	case KH_GPU_CANDIDATES:
		return launch_warps<UPTO_CANDIDATES>(q, stream);
	default:
		return kh_gpu_query_run(q, stream);
	}
}
