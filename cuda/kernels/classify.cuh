/*
 * classify.cuh - fragments to calls: what the kernels share
 *
 * They give the same calls as kh_classify_job.  They run one after the other in a stream, each on
 * what the ones before it have left:
 *
 *	warps                   fragments of one segment (classify_warp.cu)
 *	warps                   slices: the segments of long fragments (slices_warp.cu)
 *	blocks of threads       slices that were too crowded (classify_block.cu)
 *	blocks of threads       fragments that were too crowded; and long ones, of what their
 *	                        slices have noted
 *
 * A warp has the features, their lists and a table bin -> matches in shared memory; a block has
 * room in device memory that always suffices, with counts by taxon.  A slice needs none but its
 * own features, so the slices of one fragment, of any length, are spread over the whole device, and
 * what is left to a block is to add up some dozens of notes for each.
 *
 * Hits of a window are looked up in the table bin by bin instead of by sorting.  For one
 * segment no table by taxon is needed: the greatest h of a taxon is that of its best
 * window, and what is added for overpopulated features depends on the taxon alone.
 */
#ifndef KH_CUDA_KERNELS_CLASSIFY_CUH
#define KH_CUDA_KERNELS_CLASSIFY_CUH

#include "cuda/kernels/device.cuh"

#include <type_traits>

namespace {

/* Launches a kernel for the pass of a query: launch gets that as a type. */
template <class Launch>
cudaError_t launch_pass(const kh_gpu_query *q, Launch launch)
{
	switch (q->pass) {
	case KH_GPU_WHOLE:
		launch(std::integral_constant<enum kh_gpu_pass, KH_GPU_WHOLE> {});
		break;
	case KH_GPU_FEATURES:
		launch(std::integral_constant<enum kh_gpu_pass, KH_GPU_FEATURES> {});
		break;
	case KH_GPU_LISTS:
		launch(std::integral_constant<enum kh_gpu_pass, KH_GPU_LISTS> {});
	}
	return cudaGetLastError();
}

struct fragment {
	kh_gpu_record r[2];
	bool mate;

	__device__ fragment(const kh_gpu_query &q, uint32_t i)
	{
		mate = q.mates != 0;
		r[0] = q.record[q.mates == UINT32_MAX ? 2 * i : i];
		r[1] = mate ? q.record[q.mates == UINT32_MAX ? 2 * i + 1 : q.mates + i]
			    : kh_gpu_record { 0, 0 };
	}

	__device__ bool one_segment(const kh_rule &rule) const
	{
		return (uint64_t)r[0].len + r[1].len <= rule.max_span;
	}
};

__device__ inline uint64_t starts_of(const kh_sampling &rule, uint64_t len)
{
	return len < rule.k ? 0 : len - rule.k + 1;
}

/* Where a slice has its features: k-mers that start at [from, to) of the packed sequences, in a
 * segment of `span` bases. */
struct slice_range {
	uint64_t from, to;
	uint32_t span;

	__device__ slice_range(const kh_gpu_query &q, const kh_gpu_slice &s)
	{
		const fragment f(q, s.fragment);
		const uint32_t most = q.rule.max_span;
		const uint32_t of_first = (uint32_t)(((uint64_t)f.r[0].len + most - 1) / most);
		const bool mate = s.number >= of_first;
		const kh_gpu_record r = f.r[mate];
		const uint64_t at = (uint64_t)(s.number - (mate ? of_first : 0)) * most;
		const uint64_t starts = starts_of(q.rule.sampling, r.len);

		from = (uint64_t)r.word * 32 + at;
		to = (uint64_t)r.word * 32 + (at + most < starts ? at + most : starts);
		span = r.len < most ? r.len : most;
	}
};

/* Places in q.found that suffice for a fragment. */
__device__ inline uint32_t found_most(const kh_gpu_query &q, const fragment &f)
{
	const kh_sampling &rule = q.rule.sampling;
	uint32_t most = 0;

	for (int m = 0; m < 1 + f.mate; m++)
		most += (uint32_t)(kh_sampling_bound(&rule, f.r[m].len) +
				   (f.r[m].len / q.rule.max_span + 1) * (rule.s + 1));
	return most;
}

/* Places for n notes; false: there is no room. */
__device__ inline bool note_room(const kh_gpu_query &q, uint32_t n, uint32_t *at)
{
	const unsigned long long from =
		atomicAdd((unsigned long long *)(q.counts + KH_GPU_NOTES), n);

	*at = (uint32_t)from;
	return from + n <= q.cap_notes;
}

/* The target, or species, of a bin (kh_bins_target). */
__device__ inline uint32_t target_of(const kh_gpu_index &ix, uint32_t bin)
{
	const uint32_t *guess = ix.guess + (bin >> ix.guess_shift);

	return last_of(guess[0], guess[1] + 1, [&](uint32_t i) { return ix.bins.first[i] <= bin; });
}

} /* namespace */

#endif
