/*
 * counters.cu - the features that fragments have found, into the counters of their taxa
 *
 * A warp a fragment.  All queues of a device count in the same registers; nearly always what a
 * feature would raise is high enough already, and is only read.  A stale register, from the cache
 * of a multiprocessor, is lower than it should be, and then costs an atomic operation that changes
 * nothing.
 */
#include "classify/hll.h"
#include "cuda/kernels/queries.cuh"
#include "cuda/kernels/tuning.h"

namespace {

constexpr unsigned WARPS_A_BLOCK = 8;

/* The registers of a taxon: their number, or KH_GPU_NO_SET where there is no room for them.  The
 * first warp that asks for a taxon gives it a number; the others wait these few instructions, so
 * that no registers are given away twice. */
__device__ uint32_t set_of(const kh_gpu_counters &c, uint32_t taxon)
{
	volatile uint32_t *const set = &c.set[taxon];
	uint32_t now = *set;

	if (now == KH_GPU_SET_FREE) {
		now = atomicCAS(&c.set[taxon], KH_GPU_SET_FREE, KH_GPU_SET_BUSY);
		if (now == KH_GPU_SET_FREE) {
			const uint32_t n = atomicAdd(c.n, 1);

			now = n < c.cap ? n + 1 : KH_GPU_NO_SET;
			atomicExch(&c.set[taxon], now);
		}
	}
	while (now == KH_GPU_SET_BUSY)
		now = *set;
	return now == KH_GPU_NO_SET ? KH_GPU_NO_SET : now - 1;
}

/* Raises a register, one byte of a word. */
__device__ void raise(uint32_t *reg, const kh_hll &x)
{
	uint32_t *const word = reg + x.at / 4;
	const unsigned shift = 8 * (x.at % 4);
	uint32_t old = *word, seen;

	for (; (old >> shift & 255) < x.value; old = seen) {
		seen = atomicCAS(word, old, (old & ~(255u << shift)) | x.value << shift);
		if (seen == old)
			break;
	}
}

__device__ void count(const kh_gpu_query &q, uint32_t i, const kh_call &call, uint32_t set)
{
	const kh_gpu_counters &c = q.counters;
	uint32_t *const reg = c.reg + (size_t)set * (KH_HLL_SIZE / 4);
	uint32_t at = 0;

	if (lane_id() == 0) {
		atomicAdd((unsigned long long *)&c.found[set], (unsigned long long)call.found);
		at = q.found_at[i];
		q.found_at[i] = KH_GPU_COUNTED;
	}
	at = __shfl_sync(ALL, at, 0);
	for (uint32_t x = lane_id(); x < call.found; x += 32)
		raise(reg, kh_hll_of(q.found[at + x]));
}

__global__ void __launch_bounds__(32 * WARPS_A_BLOCK)
	counters_kernel(const __grid_constant__ queries all)
{
	const kh_gpu_query &q = all.q[blockIdx.y];
	const uint32_t i = blockIdx.x * WARPS_A_BLOCK + threadIdx.x / 32;

	if (i >= q.n || q.call[i].taxon == KH_NO_TAXON || q.call[i].taxon == KH_GPU_CALL_LEFT)
		return;
	const kh_call call = q.call[i];
	uint32_t set = 0;

	if (lane_id() == 0)
		set = set_of(q.counters, call.taxon);
	set = __shfl_sync(ALL, set, 0);
	if (set != KH_GPU_NO_SET)
		count(q, i, call, set);
	else if (lane_id() == 0)
		atomicAdd(&q.counts[KH_GPU_UNCOUNTED_FOUND], 1);
}

} /* namespace */

extern "C" int kh_gpu_counters_prepare(void)
{
	return share_alike(counters_kernel);
}

extern "C" int kh_gpu_counters_add(const kh_gpu_query *const q[], uint32_t n, cudaStream_t stream)
{
	const queries all = gather(q, n, [](const kh_gpu_query &x) {
		return x.counters.set && x.n > 0;
	});

	if (all.n > 0)
		counters_kernel<<<blocks_of(all, WARPS_A_BLOCK, fragments_of), 32 * WARPS_A_BLOCK,
				  0, stream>>>(all);
	return cudaGetLastError();
}
