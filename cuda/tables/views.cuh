/*
 * views.cuh - groups of lanes that probe together, and views: the values of a key, inside a kernel,
 * without a copy
 *
 * WarpCore (Juenger et al. 2020, IV-B) calls groups of 1 to 32 lanes cooperative groups.  The size
 * is known at run time only: a vote costs the same, and six copies of every kernel are saved.
 * A quad is another kind of group: four lanes that read one 64-byte bucket, 16 bytes a lane, in
 * step with the rest of the warp.
 *
 * A view is plain data that a kernel takes by value (kht_table_view() fills it).  Each has
 *
 *     uint32_t each(const kht_group &g, key, f)
 *
 * called by all lanes of a group with the same key: f(i, value) runs once a value, on
 * some lane, with i = 0, 1 ..; the number of values comes back on every lane.  A view's
 * `group` is the size that suits it; any power of two up to 32 works.  Views of tables
 * whose lists are contiguous also have span(key): the values as one array.
 */
#ifndef KHT_VIEWS_CUH
#define KHT_VIEWS_CUH

#include "cuda/tables/hash.cuh"

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

/* len values from values[start]. */
struct kht_span {
	uint32_t start, len;
};

template <class V, class F>
static __device__ uint32_t kht_span_each(const kht_group &g, const V *values, kht_span s, F f)
{
	for (uint32_t i = g.lane; i < s.len; i += g.size)
		f(i, values[(size_t)s.start + i]);
	return s.len;
}

#endif
