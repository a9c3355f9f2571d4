/* sort.cu - radix sort, scan and mixing: the one place that instantiates CUB */
#include "cuda/tables/sort.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include "cuda/kernels/cub.cuh"
#include "cuda/tables/views.cuh"
#include "cuda/tables/hash.cuh"
#include "cuda/tables/host.cuh"

/* CUB is called twice: run(NULL, bytes) says how much scratch it needs, then it works.  What it
 * throws becomes a status. */
template <class F>
static int with_scratch(kht_table *t, const char *what, F run, kht_stream stream, kh_err *err)
{
	kht_scratch<char> tmp;
	size_t bytes = 0;
	int rc = kht_cuda(caught([&] { return run(nullptr, bytes); }), what, err);

	if (!rc)
		rc = tmp.take(t, bytes, stream, err);
	return rc ? rc : kht_cuda(caught([&] { return run(tmp.p, bytes); }), what, err);
}

template <class K, class V>
static int sort_pairs(kht_table *t, const kht_sort *o, kht_stream stream, kh_err *err)
{
	auto run = [&](void *p, size_t &bytes) {
		return cub::DeviceRadixSort::SortPairs(
			p, bytes, (const K *)o->keys, (K *)o->keys_out, (const V *)o->values,
			(V *)o->values_out, o->n, o->from, o->to, stream);
	};

	return with_scratch(t, "sort", run, stream, err);
}

template <class K>
static int sort_keys(kht_table *t, const kht_sort *o, kht_stream stream, kh_err *err)
{
	auto run = [&](void *p, size_t &bytes) {
		return cub::DeviceRadixSort::SortKeys(p, bytes, (const K *)o->keys,
						      (K *)o->keys_out, o->n, o->from, o->to,
						      stream);
	};

	return with_scratch(t, "sort", run, stream, err);
}

int kht_sort_pairs(kht_table *t, const kht_sort *s, kht_stream stream, kh_err *err)
{
	return KHT_DISPATCH(sort_pairs, s, t, s, stream, err);
}

int kht_sort_keys(kht_table *t, const kht_sort *s, kht_stream stream, kh_err *err)
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
static int scan(kht_table *t, const uint32_t *in, unsigned stride, size_t n, T *out,
		kht_stream stream, kh_err *err)
{
	auto it = thrust::make_transform_iterator(thrust::counting_iterator<size_t>(0),
						  strided<T> { in, stride });

	auto run = [&](void *p, size_t &bytes) {
		return cub::DeviceScan::InclusiveSum(p, bytes, it, out, n, stream);
	};
	return with_scratch(t, "scan", run, stream, err);
}

int kht_scan_offsets(kht_table *t, const uint32_t *in, unsigned stride, size_t n, uint64_t *out,
		     kht_stream stream, kh_err *err)
{
	int rc = kht_cuda(cudaMemsetAsync(out, 0, sizeof *out, stream), "scan", err);

	return rc || n == 0 ? rc : scan<uint64_t>(t, in, stride, n, out + 1, stream, err);
}

int kht_scan_counts(kht_table *t, const uint32_t *in, size_t n, uint32_t *out, kht_stream stream,
		    kh_err *err)
{
	int rc = kht_cuda(cudaMemsetAsync(out, 0, sizeof *out, stream), "scan", err);

	return rc || n == 0 ? rc : scan<uint32_t>(t, in, 1, n, out + 1, stream, err);
}

template <class K> static __global__ void mix_keys(const K *in, size_t n, uint64_t seed, K *out)
{
	size_t i = kht_thread_id();

	if (i < n)
		out[i] = kht_mix(in[i], seed);
}

template <class K>
static int sort_mixes(kht_table *t, const kht_sort *s, kht_stream stream, kh_err *err)
{
	kht_scratch<K> mixes;
	kht_sort o = *s;
	int rc = mixes.take(t, s->n, stream, err);

	if (rc)
		return rc;
	mix_keys<<<kht_blocks(s->n), KHT_BLOCK, 0, stream>>>((const K *)s->keys, s->n, t->cfg.seed,
							     mixes.p);
	o.keys = mixes.p;
	if ((rc = kht_launched("mixing keys", err)))
		return rc;
	return (o.values ? kht_sort_pairs : kht_sort_keys)(t, &o, stream, err);
}

int kht_sort_mixes(kht_table *t, const kht_sort *s, kht_stream stream, kh_err *err)
{
	return s->key_bits == 32 ? sort_mixes<uint32_t>(t, s, stream, err)
				 : sort_mixes<uint64_t>(t, s, stream, err);
}
