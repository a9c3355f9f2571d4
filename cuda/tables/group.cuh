/*
 * group.cuh - groups of 1 to 32 lanes that probe together
 *
 * WarpCore (Juenger et al. 2020, IV-B) calls them cooperative groups.  The size is known
 * at run time only: a vote costs the same, and six copies of every kernel are saved.
 * A quad is another kind of group: four lanes that read one 64-byte bucket, 16 bytes a lane, in
 * step with the rest of the warp.
 */
#ifndef KHT_GROUP_CUH
#define KHT_GROUP_CUH

#include <stdint.h>

#define KHT_FULL 0xffffffffu

struct kht_group {
	unsigned size, lane; /* lanes; this one's number among them */
	unsigned shift, mask;

	__device__ explicit kht_group(unsigned n)
	{
		unsigned in_warp = threadIdx.x & 31;

		size = n;
		lane = in_warp & (n - 1);
		shift = in_warp & ~(n - 1);
		mask = (n == 32 ? KHT_FULL : (1u << n) - 1) << shift;
	}
	__device__ unsigned ballot(bool p) const
	{
		if (size == 1)
			return p;
		return (__ballot_sync(mask, p) & mask) >> shift;
	}
	template <class T> __device__ T from(T x, unsigned r) const
	{
		if (size == 1)
			return x;
		return __shfl_sync(mask, x, shift + r);
	}
	template <class T> __device__ T sum(T x) const
	{
		for (unsigned d = size / 2; d > 0; d /= 2)
			x += __shfl_xor_sync(mask, x, d);
		return x;
	}
};

/* First of the group's threads: the number of its query. */
static __device__ __forceinline__ size_t kht_group_id(unsigned size)
{
	return (blockIdx.x * (size_t)blockDim.x + threadIdx.x) / size;
}

static __device__ __forceinline__ size_t kht_thread_id()
{
	return blockIdx.x * (size_t)blockDim.x + threadIdx.x;
}

/* The four lanes of a quad exchange with lane r of it; all warps take part. */
template <class T> static __device__ __forceinline__ T kht_quad(T x, int r)
{
	return __shfl_sync(KHT_FULL, x, r, 4);
}

static __device__ __forceinline__ unsigned kht_quad_ballot(bool p)
{
	return __ballot_sync(KHT_FULL, p) >> (threadIdx.x & 28) & 15u;
}

#endif
