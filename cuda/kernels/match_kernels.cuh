/*
 * match_kernels.cuh - fragments compared with the references: match.cu, and match_plain.cu for one
 * database without alleles
 *
 * The kernels run one after the other in a stream, each for several queries:
 *
 *	mark    which k-mers are seeds, word by word
 *	want    if some of the database lies on the host, a thread a fragment: which lines of the
 *	        index its seeds are looked for in; when fetch.cu has brought these, where those go
 *	        on that are full; and then what text their anchors are compared with
 *	short   a thread a fragment: those that are easily decided (match_short.h), by some of
 *	        their seeds, and what is not, by all
 *	match   a warp a fragment, or a part of a long one: what is left of these, and the parts
 *	        that are compared first (match_warp.cuh)
 *	sum     the calls of long fragments, by the claims of these parts
 *	match, sum
 *	        the same of the other parts, where those do not tell enough
 *
 * Long fragments of very many species are left to the host: their call has the taxon
 * KH_GPU_CALL_LEFT.  So are all long ones if the features found are wanted, as those of parts are
 * not kept.
 */
#ifndef KH_CUDA_KERNELS_MATCH_KERNELS_CUH
#define KH_CUDA_KERNELS_MATCH_KERNELS_CUH

#include "cuda/kernels/match_short.h"
#include "cuda/kernels/match_warp.cuh"
#include "cuda/kernels/queries.cuh"
#include "cuda/kernels/syncmers.cuh"
#include "cuda/kernels/tuning.h"

namespace {

constexpr unsigned BLOCK = 64;

/* Marks the k-mers of each word that are looked up, as if all words were one sequence: those of a
 * record that lie inside it are right.  H = 0: by minhash, else (k - s) / 2 of syncmers. */
template <int H>
__global__ void __launch_bounds__(THREADS) mark_kernel(const __grid_constant__ queries all)
{
	const kh_gpu_query &q = all.q[blockIdx.y];
	const uint32_t w = blockIdx.x * THREADS + threadIdx.x;
	const kh_sampling sampling = q.rule.sampling;

	if (w == q.n_words)
		q.mark[w] = 0;          /* read beside the last one */
	if (w >= q.n_words)
		return;
	const uint64_t amb = q.amb[w] | (uint64_t)q.amb[w + 1] << 32;
	const uint64_t a = q.bases[w], b = q.bases[w + 1];
	uint32_t are;

	if constexpr (H == 0)
		are = minhash_may(sampling, q.bases, w);
	else
		are = sampling.s <= 16 ? syncmers_of<H, uint32_t>(a, b, sampling.s)
				       : syncmers_of<H>(a, b, sampling.s);

	q.mark[w] = leave_out(sampling, q.bases, w, are & ~smear(amb, sampling.k));
}

/* Number `at` of the fragments that are compared by some seeds, or by all. */
__device__ __forceinline__ uint32_t nth(const kh_gpu_query &q, uint32_t at, bool all_seeds)
{
	return all_seeds ? q.again[at] : at;
}

/* What is fetched, in this order. */
enum { LINES, MORE_LINES, TEXT };

template <int WHAT>
__global__ void __launch_bounds__(BLOCK) want_kernel(const __grid_constant__ queries all,
						     bool all_seeds)
{
	__shared__ kh_match_db db;
	const kh_gpu_query &q = all.q[blockIdx.y];
	const uint32_t at = blockIdx.x * BLOCK + threadIdx.x;
	const uint32_t n = all_seeds ? q.counts[KH_GPU_AGAIN] : q.n;

	if (threadIdx.x == 0)
		db = q.db;
	__syncthreads();
	if (at >= n)
		return;
	const uint32_t i = nth(q, at, all_seeds);

	if (!all_seeds && kh_gpu_is_long(&q, i))
		return;
	if constexpr (WHAT == LINES)
		kh_short_want_lines(&q, &db, i, all_seeds);
	else if constexpr (WHAT == MORE_LINES)
		kh_short_want_more_lines(&q, &db, i, all_seeds);
	else
		kh_short_want_text(&q, &db, i, all_seeds);
}

/* By some seeds, or by all: one kernel, as instructions have to fit into the caches. */
__global__ void __launch_bounds__(BLOCK) short_kernel(const __grid_constant__ queries all,
						      bool all_seeds)
{
	__shared__ kh_match_db db;
	__shared__ kh_short_shared shared[BLOCK / 32];
	const kh_gpu_query &q = all.q[blockIdx.y];
	const uint32_t at = blockIdx.x * BLOCK + threadIdx.x;
	const uint32_t n = all_seeds ? q.counts[KH_GPU_AGAIN] : q.n;

	if (blockIdx.x * BLOCK >= n)
		return;
	if (threadIdx.x == 0)
		db = q.db;
	__syncthreads();
	const uint32_t i = at >= n ? 0 : nth(q, at, all_seeds);
	const bool has = at < n && (all_seeds || !kh_gpu_is_long(&q, i));
	const kh_short_end end = kh_short_compare(&q, &db, i, has, all_seeds,
						  &shared[threadIdx.x / 32]);

	if (at < n && !has && q.found)
		kh_gpu_leave_to_host(&q, i);
	if (!has)
		return;
	if (end == KH_SHORT_AGAIN)
		q.again[atomicAdd(&q.counts[KH_GPU_AGAIN], 1)] = i;
	if (end == KH_SHORT_LEFT)
		q.rest[atomicAdd(&q.counts[KH_GPU_REST], 1)] = i;
}

/* A block is a warp, so that none waits for another one, and helps where there is something left:
 * in query `at` of all, and then in the others.  first_round: parts that are compared first, and
 * fragments. */
__global__ void __launch_bounds__(32, 16) match_kernel(const __grid_constant__ queries all,
						       bool first_round)
{
	__shared__ kh_match_db db;
	__shared__ warp_match work;

	if (threadIdx.x == 0)
		db = all.q[0].db;
	__syncthreads();
	for (uint32_t done = 0, at = blockIdx.x % all.n; done < all.n;) {
		const kh_gpu_query &q = all.q[at];
		const uint32_t rest = first_round ? q.counts[KH_GPU_REST] : 0;
		const uint32_t parts = q.found ? 0 : q.n_slices;
		uint32_t i = 0;

		if (lane_id() == 0)
			i = atomicAdd(&q.counts[first_round ? KH_GPU_REST_TAKEN
							    : KH_GPU_PARTS_TAKEN], 1);
		i = __shfl_sync(ALL, i, 0);
		if (i >= rest + parts) {
			at = at + 1 < all.n ? at + 1 : 0;
			done++;
			continue;
		}
		if (i < rest)
			compare(&q, &db, &work, q.rest[i]);
		else if (kh_gpu_wants_part(&q, i - rest, first_round))
			compare(&q, &db, &work, q.n + i - rest);
	}
}

__global__ void __launch_bounds__(BLOCK) sum_kernel(const __grid_constant__ queries all,
						    bool first_round)
{
	__shared__ kh_match_db db;
	const kh_gpu_query &q = all.q[blockIdx.y];
	const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;

	if (threadIdx.x == 0)
		db = q.db;
	__syncthreads();
	if (i < q.n_longs && !q.found)
		kh_gpu_sum(&q, &db, &q.longs[i], first_round);
}

uint32_t words_of(const kh_gpu_query &q) { return q.n_words + 1; }
uint32_t longs_of(const kh_gpu_query &q) { return q.n_longs; }

template <int H>
void mark(const queries &all, cudaStream_t stream)
{
	mark_kernel<H><<<blocks_of(all, THREADS, words_of), THREADS, 0, stream>>>(all);
}

void mark_any(const queries &all, cudaStream_t stream)
{
	const kh_sampling &rule = all.q[0].rule.sampling;

	switch (rule.scheme == KH_MINHASH ? 0 : (rule.k - rule.s) / 2) {
	case 0: mark<0>(all, stream); break;
	case 1: mark<1>(all, stream); break;
	case 2: mark<2>(all, stream); break;
	case 3: mark<3>(all, stream); break;
	case 4: mark<4>(all, stream); break;
	case 5: mark<5>(all, stream); break;
	case 6: mark<6>(all, stream); break;
	case 7: mark<7>(all, stream); break;
	default: mark<8>(all, stream); break;
	}
}

/* Brings what fragments need next; text takes the place of lines. */
template <int WHAT>
int fetch(const queries &all, bool all_seeds, cudaStream_t stream)
{
	const kh_gpu_fetch *f = &all.q[0].fetch;
	const int e = WHAT == MORE_LINES ? cudaSuccess : kh_gpu_fetch_begin(f, stream);

	if (e != cudaSuccess)
		return e;
	want_kernel<WHAT><<<blocks_of(all, BLOCK, fragments_of), BLOCK, 0, stream>>>(all,
										  all_seeds);
	return kh_gpu_fetch_run(f, stream);
}

/* Compares fragments by some seeds, or by all. */
int shorts(const queries &all, bool all_seeds, cudaStream_t stream)
{
	int e = cudaSuccess;

	if (all.q[0].fetch.cap > 0 &&
	    ((e = fetch<LINES>(all, all_seeds, stream)) != cudaSuccess ||
	     (e = fetch<MORE_LINES>(all, all_seeds, stream)) != cudaSuccess ||
	     (e = fetch<TEXT>(all, all_seeds, stream)) != cudaSuccess))
		return e;
	short_kernel<<<blocks_of(all, BLOCK, fragments_of), BLOCK, 0, stream>>>(all, all_seeds);
	return cudaSuccess;
}

/* Launches them. */
int match(const kh_gpu_query *const q[], uint32_t n, cudaStream_t stream)
{
	const uint32_t most = blocks_on_device(KH_TUNE_MATCH_EACH);
	const queries all = gather(q, n, [](const kh_gpu_query &x) { return x.n > 0; });
	uint64_t items = 0, parts = 0;

	for (uint32_t i = 0; i < all.n; i++) {
		items += (uint64_t)all.q[i].n + all.q[i].n_slices;
		parts += all.q[i].n_slices;
	}
	if (items == 0)
		return cudaSuccess;
	const dim3 longs = blocks_of(all, BLOCK, longs_of);

	mark_any(all, stream);
	for (int all_seeds = 0; all_seeds < 2; all_seeds++) {
		const int e = shorts(all, all_seeds != 0, stream);

		if (e != cudaSuccess)
			return e;
	}
	match_kernel<<<min(items, (uint64_t)most), 32, 0, stream>>>(all, true);
	if (parts > 0) {
		sum_kernel<<<longs, BLOCK, 0, stream>>>(all, true);
		match_kernel<<<min(parts, (uint64_t)most), 32, 0, stream>>>(all, false);
		sum_kernel<<<longs, BLOCK, 0, stream>>>(all, false);
	}
	return cudaGetLastError();
}

/* Makes them ready on the current device; bytes of local memory that all threads of the one that
 * needs most take there. */
int match_prepare(uint64_t *bytes)
{
	void (*const kernel[])(queries, bool) = { short_kernel, match_kernel, sum_kernel };
	int device, blocks = 0, threads = 0;
	cudaError_t e = share_alike(want_kernel<LINES>, want_kernel<MORE_LINES>,
				    want_kernel<TEXT>, short_kernel, match_kernel,
				    sum_kernel, mark_kernel<0>,
				    mark_kernel<1>, mark_kernel<2>, mark_kernel<3>, mark_kernel<4>,
				    mark_kernel<5>, mark_kernel<6>, mark_kernel<7>, mark_kernel<8>);
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
