/* match.cu - fragments compared with references, which have alleles or not, of one database or
 * several, and their calls */
#include "cuda/kernels/match_kernels.cuh"

extern "C" int kh_gpu_queries_run(const kh_gpu_query *const q[], uint32_t n, cudaStream_t stream)
{
	int e = q[0]->db.alleles || q[0]->db.n_beside > 0
			? match(q, n, stream)
			: kh_gpu_queries_match_plain(q, n, stream);

	if (e == cudaSuccess)
		e = kh_gpu_queries_translate(q, n, stream);
	if (e == cudaSuccess)
		e = kh_gpu_census_add(q, n, stream);
	if (e == cudaSuccess)
		e = kh_gpu_counters_add(q, n, stream);
	return e;
}

extern "C" int kh_gpu_query_match_prepare(uint64_t *bytes)
{
	uint64_t plain = 0;
	int e = match_prepare(bytes);

	if (e == cudaSuccess)
		e = kh_gpu_query_match_prepare_plain(&plain);
	if (e == cudaSuccess)
		e = kh_gpu_fetch_prepare();
	if (e == cudaSuccess)
		e = kh_gpu_census_prepare();
	if (e == cudaSuccess)
		e = kh_gpu_counters_prepare();

	*bytes = plain > *bytes ? plain : *bytes;
	return e;
}
