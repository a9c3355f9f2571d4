/*
 * counters.cu - the features that fragments have found, into the counters of their taxa
 *
 * A thread a fragment, whose features are marked among its k-mers; keys are made here and not by
 * the kernels that compare, as these have few threads, each of which waits for its memory.  All
 * queues of a device count in the same registers; nearly always what a feature would raise is high
 * enough already, and is only read.  A stale register, from the cache of a multiprocessor, is lower
 * than it should be, and then costs an atomic operation that changes nothing.
 */
#include "classify/hll.h"
#include "cuda/kernels/match_item.h"
#include "cuda/kernels/queries.cuh"
#include "cuda/kernels/tuning.h"

namespace {

/* The registers of a taxon: their number, or KH_GPU_NO_SET where there is no room for them.  The
 * first thread that asks for a taxon gives it a number; the others wait these few instructions, so
 * that no registers are given away twice. */
__device__ uint32_t set_of(const kh_gpu_counters &c, uint32_t taxon)
{
	volatile uint32_t *const set = &c.set[taxon];
	uint32_t now = *set;

	/* within the loop, where threads of this warp may wait for it */
	for (; now == KH_GPU_SET_FREE || now == KH_GPU_SET_BUSY; now = *set)
		if (now == KH_GPU_SET_FREE &&
		    atomicCAS(&c.set[taxon], KH_GPU_SET_FREE, KH_GPU_SET_BUSY) == KH_GPU_SET_FREE) {
			const uint32_t n = atomicAdd(c.n, 1);

			atomicExch(&c.set[taxon], n < c.cap ? n + 1 : KH_GPU_NO_SET);
		}
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
	kh_gpu_had x = { i };

	atomicAdd((unsigned long long *)&c.found[set], (unsigned long long)call.found);
	for (uint32_t k = 0; k < call.found; k++)
		raise(reg, kh_hll_of(kh_gpu_next_had(&q, &x)));
}

/* Leaves those of a fragment to the host. */
__device__ void leave(const kh_gpu_query &q, uint32_t i, const kh_call &call)
{
	const uint32_t at = atomicAdd(&q.counts[KH_GPU_FOUND], call.found);
	kh_gpu_had x = { i };

	atomicAdd(&q.counts[KH_GPU_UNCOUNTED_FOUND], 1);
	q.found_at[i] = at;
	for (uint32_t k = 0; k < call.found; k++)
		q.found[at + k] = kh_gpu_next_had(&q, &x);
}

__global__ void __launch_bounds__(THREADS) counters_kernel(const __grid_constant__ queries all)
{
	const kh_gpu_query &q = all.q[blockIdx.y];
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x;

	if (i >= q.n)
		return;
	const kh_call call = q.call[i];
	uint32_t set = KH_GPU_NO_SET;

	q.found_at[i] = KH_GPU_COUNTED;
	if (call.taxon == KH_NO_TAXON || call.taxon == KH_GPU_CALL_LEFT)
		return;
	if (q.counters.set)
		set = set_of(q.counters, call.taxon);
	if (set != KH_GPU_NO_SET)
		count(q, i, call, set);
	else
		leave(q, i, call);
}

} /* namespace */

extern "C" int kh_gpu_counters_prepare(void)
{
	return share_alike(counters_kernel);
}

extern "C" int kh_gpu_counters_add(const kh_gpu_query *const q[], uint32_t n, cudaStream_t stream)
{
	const queries all = gather(q, n, [](const kh_gpu_query &x) {
		return x.found && x.n > 0;
	});

	if (all.n > 0)
		counters_kernel<<<blocks_of(all, THREADS, fragments_of), THREADS, 0, stream>>>(all);
	return cudaGetLastError();
}
