/*
 * match_kernels.cuh - fragments compared with text: match.cu, and match_plain.cu for databases
 * without alleles
 *
 * The kernels run one after the other in a stream:
 *
 *	mark    which k-mers are seeds, word by word
 *	short   a thread a fragment: those that are easily decided (match_short.h), by some of
 *	        their seeds, and what is not, by all
 *	match   a warp a fragment, or a part of a long one: what is left of these, and the parts
 *	        that are compared first (match_warp.cuh)
 *	sum     the calls of long fragments, by the claims of these parts
 *	match, sum
 *	        the same of the other parts, where those do not tell enough
 *
 * Long fragments of very many species are left to the host: their call has the taxon
 * KH_GPU_CALL_LEFT.
 */
#ifndef KH_CUDA_KERNELS_MATCH_KERNELS_CUH
#define KH_CUDA_KERNELS_MATCH_KERNELS_CUH

#include "cuda/kernels/match_short.h"
#include "cuda/kernels/match_warp.cuh"
#include "cuda/kernels/syncmers.cuh"

namespace {

constexpr unsigned BLOCK = 64;
constexpr unsigned MATCH_EACH = 16;     /* warps on a multiprocessor, at most */

/* Marks the k-mers of each word that are features, as if all words were one sequence: those of a
 * record that lie inside it are right. */
template <int H>
__global__ void __launch_bounds__(THREADS) mark_kernel(kh_gpu_query q)
{
	const uint32_t w = blockIdx.x * THREADS + threadIdx.x;
	const kh_sampling sampling = q.rule.sampling;

	if (w == q.n_words)
		q.mark[w] = 0;          /* read beside the last one */
	if (w >= q.n_words)
		return;
	const uint64_t amb = q.amb[w] | (uint64_t)q.amb[w + 1] << 32;
	const uint64_t a = q.bases[w], b = q.bases[w + 1];
	const uint32_t are = sampling.s <= 16 ? syncmers_of<H, uint32_t>(a, b, sampling.s)
					      : syncmers_of<H>(a, b, sampling.s);

	q.mark[w] = leave_out(sampling, q.bases, w, are & ~smear(amb, sampling.k));
}

template <bool ALL_SEEDS>
__global__ void __launch_bounds__(BLOCK) short_kernel(const __grid_constant__ kh_gpu_query q)
{
	__shared__ kh_match_db db;
	__shared__ kh_short_shared shared[BLOCK / 32];
	const uint32_t at = blockIdx.x * BLOCK + threadIdx.x;
	const uint32_t n = ALL_SEEDS ? q.counts[KH_GPU_AGAIN] : q.n;

	if (threadIdx.x == 0)
		db = q.text;
	__syncthreads();
	const uint32_t i = at >= n ? 0 : ALL_SEEDS ? q.again[at] : at;
	const bool has = at < n && (ALL_SEEDS || !kh_gpu_is_long(&q, i));
	const kh_short_end end = kh_short_compare(&q, &db, i, has, ALL_SEEDS,
						  &shared[threadIdx.x / 32]);

	if (!has)
		return;
	if (end == KH_SHORT_AGAIN)
		q.again[atomicAdd(&q.counts[KH_GPU_AGAIN], 1)] = i;
	if (end == KH_SHORT_LEFT)
		q.rest[atomicAdd(&q.counts[KH_GPU_REST], 1)] = i;
}

/* The fragments are those of q.rest; or all, if the features found are wanted, which threads do not
 * look for.  Of a long fragment, which features its parts have found is not kept. */
__device__ void match_one(const kh_gpu_query &q, const kh_match_db *db, bool first, warp_match *w,
			  uint32_t i)
{
	if (i >= q.n && !kh_gpu_wants_part(&q, i - q.n, first))
		return;
	if (i < q.n && q.found && kh_gpu_is_long(&q, i)) {
		if (lane_id() == 0)
			kh_gpu_leave_to_host(&q, i);
		return;
	}
	compare(&q, db, w, i);
}

/* A block is a warp, so that none waits for another one.  FIRST: parts that are compared first, and
 * fragments. */
template <bool FIRST>
__global__ void __launch_bounds__(32, 16) match_kernel(const __grid_constant__ kh_gpu_query q)
{
	__shared__ kh_match_db db;
	__shared__ warp_match work;
	const uint32_t rest = !FIRST ? 0 : q.found ? q.n : q.counts[KH_GPU_REST];
	const uint32_t parts = q.found ? 0 : q.n_slices;

	if (threadIdx.x == 0)
		db = q.text;
	__syncthreads();
	for (;;) {
		uint32_t at = 0;

		if (lane_id() == 0)
			at = atomicAdd(&q.counts[FIRST ? KH_GPU_REST_TAKEN : KH_GPU_PARTS_TAKEN],
				       1);
		at = __shfl_sync(ALL, at, 0);
		if (at >= rest + parts)
			break;
		match_one(q, &db, FIRST, &work,
			  !FIRST || at >= rest ? q.n + at - rest : q.found ? at : q.rest[at]);
	}
}

template <bool FIRST>
__global__ void __launch_bounds__(BLOCK) sum_kernel(const __grid_constant__ kh_gpu_query q)
{
	__shared__ kh_match_db db;
	const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;

	if (threadIdx.x == 0)
		db = q.text;
	__syncthreads();
	if (i < q.n_longs)
		kh_gpu_sum(&q, &db, &q.longs[i], FIRST);
}

template <int H>
void mark(const kh_gpu_query *q, cudaStream_t stream)
{
	mark_kernel<H><<<q->n_words / THREADS + 1, THREADS, 0, stream>>>(*q);
}

void mark_any(const kh_gpu_query *q, cudaStream_t stream)
{
	switch ((q->rule.sampling.k - q->rule.sampling.s) / 2) {
	case 1: mark<1>(q, stream); break;
	case 2: mark<2>(q, stream); break;
	case 3: mark<3>(q, stream); break;
	case 4: mark<4>(q, stream); break;
	case 5: mark<5>(q, stream); break;
	case 6: mark<6>(q, stream); break;
	case 7: mark<7>(q, stream); break;
	default: mark<8>(q, stream); break;
	}
}

/* Launches them. */
int match(const kh_gpu_query *q, cudaStream_t stream)
{
	const uint32_t items = q->n + q->n_slices, most = blocks_on_device(MATCH_EACH);
	const uint32_t longs = (q->n_longs + BLOCK - 1) / BLOCK;

	mark_any(q, stream);
	if (!q->found) {
		const uint32_t n = (q->n + BLOCK - 1) / BLOCK;

		short_kernel<false><<<n, BLOCK, 0, stream>>>(*q);
		short_kernel<true><<<n, BLOCK, 0, stream>>>(*q);
	}
	match_kernel<true><<<items < most ? items : most, 32, 0, stream>>>(*q);
	if (q->n_longs > 0 && !q->found) {
		sum_kernel<true><<<longs, BLOCK, 0, stream>>>(*q);
		match_kernel<false><<<q->n_slices < most ? q->n_slices : most, 32, 0, stream>>>(*q);
		sum_kernel<false><<<longs, BLOCK, 0, stream>>>(*q);
	}
	return cudaGetLastError();
}

/* Bytes of local memory that all threads of the one that needs most take on the current device. */
int match_local(uint64_t *bytes)
{
	void (*const kernel[])(kh_gpu_query) = { short_kernel<false>, short_kernel<true>,
						 match_kernel<true>, match_kernel<false>,
						 sum_kernel<true>, sum_kernel<false> };
	int device, blocks = 0, threads = 0;
	cudaError_t e = cudaSuccess;
	size_t most = 0;

	for (int i = 0; i < (int)(sizeof kernel / sizeof *kernel) && e == cudaSuccess; i++) {
		cudaFuncAttributes a;

		e = cudaFuncGetAttributes(&a, kernel[i]);
		if (e == cudaSuccess && a.localSizeBytes > most)
			most = a.localSizeBytes;
	}
	if (e == cudaSuccess)
		e = cudaGetDevice(&device);
	if (e == cudaSuccess)
		e = cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, device);
	if (e == cudaSuccess)
		e = cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor,
					   device);
	*bytes = (uint64_t)blocks * (uint64_t)threads * most;
	return e;
}

} /* namespace */

#endif
