/*
 * exchange.cu - features to the members that own them, and their lists back (rounds.c)
 *
 * The member that asks puts its features in order of their owners and keeps the place of each,
 * because the answers come back in that order.  An owner answers with the length of each list, a
 * byte as in its bucket, and with the words of all lists one behind the other.  On both sides,
 * sums of the lengths say where each list lies.
 */
#include "cuda/kernels/cub.cuh"
#include "cuda/kernels/device.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace {

static_assert(KH_GPU_MEMBERS_MAX <= THREADS, "a thread for each member");

/* --- the member that asks ----------------------------------------------------------- */
/* In place of what is no feature: no key is greater, and it stands behind all. */
constexpr uint64_t NONE = (UINT64_C(1) << KH_KEY_BITS) - 1;

/* Numbers the features. */
__global__ void __launch_bounds__(THREADS) number_kernel(kh_gpu_route r)
{
	for (uint64_t i = thread_number(); i < r.bound; i += (uint64_t)gridDim.x * THREADS) {
		r.place[i] = (uint32_t)i;
		if (i >= *r.n)
			r.key[i] = NONE;
	}
}

/* The features below a range. */
__device__ uint64_t keys_below(const kh_gpu_route &r, uint32_t n, unsigned range)
{
	return first_of(n, [&](uint64_t i) { return kh_key_range(r.out[i]) >= range; });
}

__global__ void __launch_bounds__(THREADS) place_kernel(kh_gpu_route r)
{
	const uint32_t n = *r.n;

	if (blockIdx.x == 0 && threadIdx.x < r.members)
		r.sent[threadIdx.x] = r.flag + keys_below(r, n, r.first[threadIdx.x + 1]) -
				      keys_below(r, n, r.first[threadIdx.x]);
	for (uint64_t i = thread_number(); i < n; i += (uint64_t)gridDim.x * THREADS)
		r.place[r.order[i]] = (uint32_t)i;
}

/* Owners have runs of ranges, and so of keys; buckets, and lists, lie in the order of keys.  Sorts
 * are stable, so what is no feature, which comes last, stays behind features of an equal key. */
cudaError_t sort_features(const kh_gpu_route *r, size_t *bytes, cudaStream_t stream)
{
	return caught([&] {
		return cub::DeviceRadixSort::SortPairs(r->scratch, *bytes, (const uint64_t *)r->key,
						       r->out, (const uint32_t *)r->place,
						       r->order, r->bound, r->from, KH_KEY_BITS,
						       stream);
	});
}

/* --- the owner's side --------------------------------------------------------------- */
__global__ void __launch_bounds__(THREADS) find_kernel(kh_gpu_reply r)
{
	const uint64_t step = (uint64_t)gridDim.x * THREADS / 4;

	for (uint64_t i = ((uint64_t)blockIdx.x * THREADS + threadIdx.x) / 4; i < r.n;
	     i += step) {
		const kh_list l = quad_find(r.ix, r.key[i]);

		if ((threadIdx.x & 3) == 0) {
			r.len[i] = (uint8_t)(l.over ? KH_LIST_OVER : l.n);
			r.bit[i] = l.bit;
		}
	}
}

__global__ void words_kernel(kh_gpu_reply r)
{
	if (threadIdx.x < r.members)
		r.words[threadIdx.x] = r.before[r.from[threadIdx.x + 1]] -
				       r.before[r.from[threadIdx.x]];
}

/* Eight lanes copy a list. */
__global__ void __launch_bounds__(THREADS) pack_kernel(kh_gpu_reply r)
{
	const uint64_t step = (uint64_t)gridDim.x * THREADS / 8;

	for (uint64_t i = ((uint64_t)blockIdx.x * THREADS + threadIdx.x) / 8; i < r.n;
	     i += step) {
		const uint32_t n = kh_list_words(r.len[i]);

		for (uint32_t j = threadIdx.x & 7; j < n; j += 8)
			r.word[r.before[i] + j] =
				kh_word(r.ix.image, r.bit[i] + (uint64_t)j * r.ix.bits, r.ix.bits);
	}
}

/* --- at home again ------------------------------------------------------------------ */
__global__ void __launch_bounds__(THREADS)
	lists_kernel(const uint8_t *len, const uint64_t *before, const uint32_t *place,
		     uint64_t n, kh_list *list)
{
	for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < n;
	     i += (uint64_t)gridDim.x * THREADS) {
		const uint32_t at = place[i];

		list[i] = kh_list { before[at] * 32, kh_list_words(len[at]),
				    len[at] == KH_LIST_OVER };
	}
}

struct words_at {
	const uint8_t *len;
	uint64_t n;

	__device__ uint64_t operator()(uint64_t i) const
	{
		return i < n ? kh_list_words(len[i]) : 0;
	}
};

/* before[i]: words of the lists in front of list i, i = 0 .. n. */
cudaError_t sum_lengths(const uint8_t *len, uint64_t n, uint64_t *before, void *scratch,
			size_t *bytes, cudaStream_t stream)
{
	auto in = thrust::make_transform_iterator(
		thrust::make_counting_iterator<uint64_t>(0), words_at { len, n });

	return caught([&] {
		return cub::DeviceScan::ExclusiveSum(scratch, *bytes, in, before, n + 1,
						     stream);
	});
}

unsigned grid()
{
	return blocks_on_device(8);
}

/* Blocks for look-ups.  A read over the bus takes long, but few of them keep the bus busy: these
 * leave room for other kernels, and read in few places at a time. */
unsigned grid_of(const kh_gpu_reply *r)
{
	return r->by_bus ? grid() / 4 : grid();
}

} /* namespace */

extern "C" size_t kh_gpu_route_scratch(uint64_t bound, int from)
{
	kh_gpu_route r = {};
	size_t bytes = 0;

	r.bound = bound;
	r.from = from;
	return sort_features(&r, &bytes, nullptr) == cudaSuccess ? bytes + 1 : 0;
}

extern "C" int kh_gpu_route_run(const kh_gpu_route *r, cudaStream_t stream)
{
	size_t bytes = r->scratch_bytes;
	cudaError_t e;

	number_kernel<<<grid(), THREADS, 0, stream>>>(*r);
	e = cudaGetLastError();
	if (e == cudaSuccess)
		e = sort_features(r, &bytes, stream);
	if (e != cudaSuccess)
		return e;
	place_kernel<<<grid(), THREADS, 0, stream>>>(*r);
	return cudaGetLastError();
}

extern "C" size_t kh_gpu_sums_scratch(uint64_t n)
{
	size_t bytes = 0;

	return sum_lengths(nullptr, n, nullptr, nullptr, &bytes, nullptr) == cudaSuccess
		       ? bytes + 1
		       : 0;
}

extern "C" int kh_gpu_reply_find(const kh_gpu_reply *r, cudaStream_t stream)
{
	size_t bytes = r->scratch_bytes;
	cudaError_t e;

	find_kernel<<<grid_of(r), THREADS, 0, stream>>>(*r);
	e = cudaGetLastError();
	if (e == cudaSuccess)
		e = sum_lengths(r->len, r->n, r->before, r->scratch, &bytes, stream);
	if (e != cudaSuccess)
		return e;
	words_kernel<<<1, THREADS, 0, stream>>>(*r);
	return cudaGetLastError();
}

extern "C" int kh_gpu_reply_pack(const kh_gpu_reply *r, cudaStream_t stream)
{
	pack_kernel<<<grid_of(r), THREADS, 0, stream>>>(*r);
	return cudaGetLastError();
}

extern "C" int kh_gpu_take_lists(const kh_gpu_taken *t, cudaStream_t stream)
{
	size_t bytes = t->scratch_bytes;
	cudaError_t e = sum_lengths(t->len, t->n, t->before, t->scratch, &bytes, stream);

	if (e != cudaSuccess)
		return e;
	lists_kernel<<<grid(), THREADS, 0, stream>>>(t->len, t->before, t->place, t->n,
						   t->list);
	return cudaGetLastError();
}
