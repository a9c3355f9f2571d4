/* match.cu - fragments compared with text, which has alleles or not */
#include "cuda/kernels/match_kernels.cuh"

extern "C" int kh_gpu_queries_match(const kh_gpu_query *const q[], uint32_t n, cudaStream_t stream)
{
	return q[0]->text.alleles ? match(q, n, stream)
				  : kh_gpu_queries_match_plain(q, n, stream);
}

extern "C" int kh_gpu_query_match_local(uint64_t *bytes)
{
	uint64_t plain = 0;
	const int e = kh_gpu_query_match_local_plain(&plain), x = match_local(bytes);

	*bytes = plain > *bytes ? plain : *bytes;
	return e != cudaSuccess ? e : x;
}
