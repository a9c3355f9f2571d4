/*
 * classify_parts.cu - the kernel of warps (classify_warp.cu), stopped early
 *
 * The results so far are added up into the call; otherwise the compiler would leave the work out.
 */
#include "tests/bench/program/gpu/kernels.h"
#include "cuda/kernels/candidates_warp.cuh"

namespace {

__device__ void keep(const kh_gpu_query &q, uint32_t i, uint32_t x, uint32_t y)
{
	const kh_call call = { __reduce_add_sync(ALL, x), 0, __reduce_add_sync(ALL, y), 0 };

	if (lane_id() == 0)
		q.call[i] = call;
}

__device__ void keep_features(const kh_gpu_query &q, const small_room &w, unsigned n, uint32_t i,
			      bool lists)
{
	uint32_t keys = 0, locs = 0;

	for (unsigned j = lane_id(); j < n; j += 32) {
		keys += (uint32_t)w.key[j];
		if (lists)
			locs += (uint32_t)w.loc[j] + w.before[j];
	}
	keep(q, i, keys, locs);
}

__device__ void keep_candidates(const kh_gpu_query &q, const candidates<small_room> &c, uint32_t i)
{
	uint32_t h = 0, taxa = 0;

#pragma unroll
	for (unsigned x = 0; x < small_room::EACH; x++) {
		h += c.h[x];
		taxa += c.h[x] ? c.taxon[x] : 0;
	}
	keep(q, i, h, taxa);
}

template <enum kh_gpu_bench_upto P>
__device__ void one_fragment(const kh_gpu_query &q, small_room &w, uint32_t i)
{
	const fragment f(q, i);
	bin_table t;
	candidates<small_room> c;

	if (!f.one_segment(q.rule))
		return;
	const unsigned n = sample_fragment(q, w, f);
	if (n > small_room::FEATURES)
		return;
	if (P == KH_GPU_BENCH_SAMPLE)
		return keep_features(q, w, n, i, false);
	const uint32_t total = find_lists<KH_GPU_WHOLE>(q, w, n, 0);
	if (P == KH_GPU_BENCH_LOOK_UP)
		return keep_features(q, w, n, i, true);
	if (total == 0)
		over_only(q, w, c);
	else if (count_bins(q, w, n, total, &t))
		make_candidates(q, w, n, f.mate ? q.rule.max_span : f.r[0].len, t, c);
	else
		return;
	keep_candidates(q, c, i);
}

template <enum kh_gpu_bench_upto P>
__global__ void __launch_bounds__(32 * WARPS) part_kernel(kh_gpu_query q)
{
	__shared__ small_room room[WARPS];
	const uint32_t i = blockIdx.x * WARPS + threadIdx.x / 32;

	if (i < q.n)
		one_fragment<P>(q, room[threadIdx.x / 32], i);
}

template <enum kh_gpu_bench_upto P>
cudaError_t launch(const kh_gpu_query *q, cudaStream_t stream)
{
	part_kernel<P><<<(q->n + WARPS - 1) / WARPS, 32 * WARPS, 0, stream>>>(*q);
	return cudaGetLastError();
}

} /* namespace */

extern "C" int kh_gpu_bench_run_upto(const kh_gpu_query *q, enum kh_gpu_bench_upto upto,
				     cudaStream_t stream)
{
	if (q->n == 0)
		return cudaSuccess;
	switch (upto) {
	case KH_GPU_BENCH_SAMPLE:
		return launch<KH_GPU_BENCH_SAMPLE>(q, stream);
	case KH_GPU_BENCH_LOOK_UP:
		return launch<KH_GPU_BENCH_LOOK_UP>(q, stream);
	case KH_GPU_BENCH_CANDIDATES:
		return launch<KH_GPU_BENCH_CANDIDATES>(q, stream);
	default:
		return cudaErrorInvalidValue;
	}
}
