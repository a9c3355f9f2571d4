/*
 * spans.cuh - views: the values of a key, inside a kernel, without a copy; lists in one piece
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
#ifndef KHT_SPANS_CUH
#define KHT_SPANS_CUH

#include "cuda/tables/group.cuh"
#include "cuda/tables/hash.cuh"

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
