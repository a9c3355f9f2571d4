/* sort.cu - radix sort, scan and mixing: the one place that instantiates CUB */
#include "sort.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include "group.cuh"
#include "hash.cuh"
#include "host.cuh"

template <class K, class V>
static int sort_pairs(kh_table *t, const kh_sort *o, kh_stream stream, kh_err *err)
{
	kh_scratch<char> tmp;
	size_t bytes = 0;
	int rc;

	auto run = [&](void *p) {
		return cub::DeviceRadixSort::SortPairs(
			p, bytes, (const K *)o->keys, (K *)o->keys_out,
			(const V *)o->values, (V *)o->values_out, o->n, o->from, o->to,
			stream);
	};
	rc = kh_cuda(run(nullptr), "sort", err);
	if (!rc)
		rc = tmp.take(t, bytes, stream, err);
	if (!rc)
		rc = kh_cuda(run(tmp.p), "sort", err);
	return rc;
}

template <class K>
static int sort_keys(kh_table *t, const kh_sort *o, kh_stream stream, kh_err *err)
{
	kh_scratch<char> tmp;
	size_t bytes = 0;
	int rc;

	auto run = [&](void *p) {
		return cub::DeviceRadixSort::SortKeys(p, bytes, (const K *)o->keys,
						      (K *)o->keys_out, o->n, o->from,
						      o->to, stream);
	};
	rc = kh_cuda(run(nullptr), "sort", err);
	if (!rc)
		rc = tmp.take(t, bytes, stream, err);
	if (!rc)
		rc = kh_cuda(run(tmp.p), "sort", err);
	return rc;
}

int kh_sort_pairs(kh_table *t, const kh_sort *s, kh_stream stream, kh_err *err)
{
	if (s->key_bits == 32 && s->value_bits == 32)
		return sort_pairs<uint32_t, uint32_t>(t, s, stream, err);
	if (s->key_bits == 32)
		return sort_pairs<uint32_t, uint64_t>(t, s, stream, err);
	if (s->value_bits == 32)
		return sort_pairs<uint64_t, uint32_t>(t, s, stream, err);
	return sort_pairs<uint64_t, uint64_t>(t, s, stream, err);
}

int kh_sort_keys(kh_table *t, const kh_sort *s, kh_stream stream, kh_err *err)
{
	return s->key_bits == 32 ? sort_keys<uint32_t>(t, s, stream, err)
				 : sort_keys<uint64_t>(t, s, stream, err);
}

template <class T> struct strided {
	const uint32_t *in;
	unsigned stride;
	__host__ __device__ T operator()(size_t i) const { return in[i * stride]; }
};

template <class T>
static int scan(kh_table *t, const uint32_t *in, unsigned stride, size_t n, T *out,
		kh_stream stream, kh_err *err)
{
	auto it = thrust::make_transform_iterator(thrust::counting_iterator<size_t>(0),
						  strided<T> { in, stride });
	kh_scratch<char> tmp;
	size_t bytes = 0;
	int rc =
		kh_cuda(cub::DeviceScan::InclusiveSum(nullptr, bytes, it, out, n, stream),
			"scan", err);

	if (!rc)
		rc = tmp.take(t, bytes, stream, err);
	if (!rc)
		rc = kh_cuda(
			cub::DeviceScan::InclusiveSum(tmp.p, bytes, it, out, n, stream),
			"scan", err);
	return rc;
}

int kh_scan_offsets(kh_table *t, const uint32_t *in, unsigned stride, size_t n,
		    uint64_t *out, kh_stream stream, kh_err *err)
{
	int rc = kh_cuda(cudaMemsetAsync(out, 0, sizeof *out, stream), "scan", err);

	return rc || n == 0 ? rc : scan<uint64_t>(t, in, stride, n, out + 1, stream, err);
}

int kh_scan_counts(kh_table *t, const uint32_t *in, size_t n, uint32_t *out,
		   kh_stream stream, kh_err *err)
{
	int rc = kh_cuda(cudaMemsetAsync(out, 0, sizeof *out, stream), "scan", err);

	return rc || n == 0 ? rc : scan<uint32_t>(t, in, 1, n, out + 1, stream, err);
}

template <class K>
static __global__ void mix_keys(const K *in, size_t n, uint64_t seed, K *out)
{
	size_t i = kh_thread_id();

	if (i < n)
		out[i] = kh_mix(in[i], seed);
}

int kh_mix_keys(const void *keys, size_t n, unsigned bits, uint64_t seed, void *out,
		kh_stream stream, kh_err *err)
{
	if (n == 0)
		return KH_OK;
	if (bits == 32)
		mix_keys<<<kh_blocks(n), KH_BLOCK, 0, stream>>>((const uint32_t *)keys, n,
								seed, (uint32_t *)out);
	else
		mix_keys<<<kh_blocks(n), KH_BLOCK, 0, stream>>>((const uint64_t *)keys, n,
								seed, (uint64_t *)out);
	return kh_launched("mixing keys", err);
}
