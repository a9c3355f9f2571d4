/*
 * classify.cuh - fragments to calls: what both kernels share
 *
 * Two kernels that give what kh_classify_job gives.  In the first (classify_warp.cu) a
 * warp takes a fragment that is one segment: its features, their lists and a
 * table bin -> matches stay in shared memory.  What does not fit there, and what is more
 * than one segment, is left to the second (classify_block.cu): a block of threads a
 * fragment, with room in device memory that always suffices, and counts by taxon that are
 * summed over segments.
 *
 * Hits of a window are looked up in the table bin by bin instead of by sorting.  For one
 * segment no table by taxon is needed: the greatest h of a taxon is that of its best
 * window, and what is added for overpopulated features depends on the taxon alone.
 */
#ifndef KH_CUDA_KERNELS_CLASSIFY_CUH
#define KH_CUDA_KERNELS_CLASSIFY_CUH

#include "cuda/kernels/device.cuh"

namespace {

/* What a kernel does with a fragment (kh_gpu_query). */
enum pass {
	WHOLE,
	FEATURES_ONLY,                  /* writes them; no more */
	LISTS_GIVEN                     /* takes them, and their lists */
};

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

__device__ inline uint64_t starts_of(const kh_sampling &sk, uint64_t len)
{
	return len < sk.k ? 0 : len - sk.k + 1;
}

} /* namespace */

#endif
