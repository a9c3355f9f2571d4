/* match_plain.cu - the same kernels as in match.cu, for one database, of text without alleles: most
 * large ones have none, and what looks for them takes registers */
#define KH_ALLELES 0
#define KH_SEVERAL 0
#include "cuda/kernels/match_kernels.cuh"

extern "C" int kh_gpu_queries_match_plain(const kh_gpu_query *const q[], uint32_t n,
					  cudaStream_t stream)
{
	return match(q, n, stream);
}

extern "C" int kh_gpu_query_match_prepare_plain(uint64_t *bytes)
{
	return match_prepare(bytes);
}
