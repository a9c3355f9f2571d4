/*
 * placing.cuh - scans for "sort, then place": entry i goes to slot i + max over j <= i of
 * (S * home(j) - j), so that every home's entries follow each other from its bucket on
 */
#ifndef KHT_PLACING_CUH
#define KHT_PLACING_CUH

#include <limits.h>
#include "cuda/tables/views.cuh"
#include "cuda/tables/host.cuh"

/* Exclusive scan over the block's threads; *total, if given, gets op over all. */
template <class T, class F> static __device__ T kht_block_scan(T x, T zero, F op, T *total)
{
	__shared__ T warp_sum[KHT_BLOCK / 32];
	unsigned lane = threadIdx.x & 31, warp = threadIdx.x / 32;
	T all = zero;

	__syncthreads();
	for (int d = 1; d < 32; d *= 2) {
		T y = __shfl_up_sync(KHT_FULL, x, d);
		if ((int)lane >= d)
			x = op(x, y);
	}
	if (lane == 31)
		warp_sum[warp] = x;
	T before = __shfl_up_sync(KHT_FULL, x, 1);
	if (lane == 0)
		before = zero;
	__syncthreads();
	for (unsigned w = 0; w < KHT_BLOCK / 32; w++) {
		if (w == warp)
			before = op(before, all);
		all = op(all, warp_sum[w]);
	}
	if (total)
		*total = all;
	return before;
}

struct kht_plus {
	template <class T> __device__ T operator()(T a, T b) const { return a + b; }
};
struct kht_max {
	template <class T> __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};

/* Exclusive scan of a small array by one block; x[n] gets the total. */
template <class T, class F>
static __global__ void __launch_bounds__(KHT_BLOCK) kht_scan_tiles(T *x, uint32_t n, T zero, F op)
{
	uint32_t each = (n + KHT_BLOCK - 1) / KHT_BLOCK, from = min(n, threadIdx.x * each);
	uint32_t to = min(n, from + each);
	T sum = zero, all;

	for (uint32_t i = from; i < to; i++)
		sum = op(sum, x[i]);
	sum = kht_block_scan(sum, zero, op, &all);
	for (uint32_t i = from; i < to; i++) {
		T mine = x[i];
		x[i] = sum;
		sum = op(sum, mine);
	}
	if (threadIdx.x == 0)
		x[n] = all;
}

#endif
