/* check.cu - checks the structure of an index on a device: all that a look-up relies on */
#include "cuda/kernels/device.cuh"

namespace {

__device__ bool list_ok(const kh_gpu_index &ix, const kh_range *r, uint64_t at,
			uint8_t len, uint32_t n_bins)
{
	const uint32_t n = kh_list_words(len), limit = len == KH_LIST_OVER ? ix.tree.n : n_bins;
	uint32_t last = 0;

	if (at > r->n_locs || n > r->n_locs - at)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t x = kh_word(ix.image, kh_range_word(r, at + i, ix.bits), ix.bits);

		if (x >= limit || (i > 0 && x <= last))
			return false;
		last = x;
	}
	return true;
}

/* One bucket against the one behind it: what kh_index_check asks for, but for totals.  If the home
 * goes on there, so do its tags. */
__device__ bool bucket_ok(const kh_gpu_index &ix, const kh_range *r, const kh_bucket *b,
			  uint32_t i, uint32_t n_bins)
{
	const unsigned carried = b->flags & KH_BUCKET_CARRIED;
	const bool goes_on = (b->flags & KH_BUCKET_GOES_ON) != 0;
	uint64_t words = kh_bucket_base(b);
	unsigned n = 0;

	if (b->flags > (KH_BUCKET_CARRIED | KH_BUCKET_GOES_ON) ||
	    carried > KH_BUCKET_SLOTS || (i == 0 && (words != 0 || carried > 0)))
		return false;
	for (; n < KH_BUCKET_SLOTS && b->len[n]; n++) {
		if (n > 0 && n != carried && b->tag[n] <= b->tag[n - 1])
			return false;
		if (!list_ok(ix, r, words, b->len[n], n_bins))
			return false;
		words += kh_list_words(b->len[n]);
	}
	if (n < carried || (goes_on && n < KH_BUCKET_SLOTS))
		return false;
	for (unsigned j = n; j < KH_BUCKET_SLOTS; j++)
		if (b->len[j] || b->tag[j])
			return false;
	if (i == r->buckets)
		return !goes_on && n == carried && words == r->n_locs;
	return kh_bucket_base(b + 1) == words &&
	       goes_on == ((b[1].flags & KH_BUCKET_CARRIED) > 0) &&
	       (!goes_on || carried == KH_BUCKET_SLOTS ||
		b[1].tag[0] > b->tag[KH_BUCKET_SLOTS - 1]);
}

__global__ void __launch_bounds__(THREADS)
	check_kernel(kh_gpu_index ix, uint32_t n_bins, uint32_t first, uint32_t *bad,
		     uint32_t *entries)
{
	const uint32_t p = first + blockIdx.y;
	const kh_range *r = ix.dir + p;
	uint32_t n = 0;

	for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i <= r->buckets;
	     i += (uint64_t)gridDim.x * THREADS) {
		const kh_bucket *b = ix.image + r->first_bucket + i;

		if (!bucket_ok(ix, r, b, (uint32_t)i, n_bins))
			atomicMin(&bad[p], (uint32_t)i);
		for (unsigned j = 0; j < KH_BUCKET_SLOTS; j++)
			n += b->len[j] != 0;
	}
	for (int d = 16; d > 0; d /= 2)
		n += __shfl_xor_sync(ALL, n, d);
	if (lane_id() == 0)
		atomicAdd(&entries[p], n);
}

} /* namespace */

extern "C" int kh_gpu_index_check(const kh_gpu_index *ix, uint32_t n_bins, uint32_t first,
				  uint32_t n, uint32_t *bad, uint32_t *entries,
				  cudaStream_t stream)
{
	if (n == 0)
		return cudaSuccess;
	check_kernel<<<dim3(32, n), THREADS, 0, stream>>>(*ix, n_bins, first, bad,
							  entries);
	return cudaGetLastError();
}
