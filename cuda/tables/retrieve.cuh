/*
 * retrieve.cuh - count, retrieve and fold over any view (spans.cuh)
 *
 * WarpCore IV-B4: a pass that counts, an exclusive scan, a pass that copies.
 */
#ifndef KHT_RETRIEVE_CUH
#define KHT_RETRIEVE_CUH

#include "cuda/tables/group.cuh"
#include "cuda/tables/host.cuh"
#include "cuda/tables/sort.h"

template <class W>
static __global__ void kht_count_kernel(W w, const typename W::key_type *keys, size_t n,
					uint32_t *counts)
{
	kht_group g(w.group);
	size_t i = kht_group_id(w.group);

	if (i >= n)
		return;
	uint32_t c = w.each(g, keys[i], [](uint32_t, typename W::value_type) {});
	if (g.lane == 0)
		counts[i] = c;
}

template <class W>
static __global__ void kht_copy_kernel(W w, kht_keys q, kht_lists out, unsigned long long *note)
{
	typedef typename W::value_type V;
	kht_group g(w.group);
	size_t i = kht_group_id(w.group);

	if (i >= q.n)
		return;
	uint64_t at = out.offsets[i];
	w.each(g, ((const typename W::key_type *)q.keys)[i], [&](uint32_t k, V v) {
		if (at + k < out.capacity)
			((V *)out.values)[at + k] = v;
	});
	if (i == 0 && g.lane == 0 && out.offsets[q.n] > out.capacity)
		atomicAdd(note + KHT_NOTE_TRUNCATED,
			  (unsigned long long)(out.offsets[q.n] - out.capacity));
}

template <class W>
static __global__ void kht_fold_kernel(W w, const typename W::key_type *keys, size_t n,
				       uint64_t *sums)
{
	kht_group g(w.group);
	size_t i = kht_group_id(w.group);
	uint64_t sum = 0;

	if (i >= n)
		return;
	w.each(g, keys[i], [&](uint32_t, typename W::value_type v) { sum += v; });
	sum = g.sum(sum);
	if (g.lane == 0)
		sums[i] = sum;
}

template <class W>
static int kht_view_count(const W &w, const kht_keys *q, uint32_t *counts, kht_stream s,
			  kh_err *err)
{
	kht_count_kernel<<<kht_blocks(q->n * w.group), KHT_BLOCK, 0, s>>>(
		w, (const typename W::key_type *)q->keys, q->n, counts);
	return kht_launched("count", err);
}

template <class W>
static int kht_view_fold(const W &w, const kht_keys *q, uint64_t *sums, kht_stream s, kh_err *err)
{
	kht_fold_kernel<<<kht_blocks(q->n * w.group), KHT_BLOCK, 0, s>>>(
		w, (const typename W::key_type *)q->keys, q->n, sums);
	return kht_launched("fold", err);
}

template <class W>
static int kht_view_retrieve(kht_table *t, const W &w, const kht_keys *q, const kht_lists *out,
			     kht_stream s, kh_err *err)
{
	kht_scratch<uint32_t> counts;
	int rc = counts.take(t, q->n, s, err);

	if (!rc)
		rc = kht_view_count(w, q, counts.p, s, err);
	if (!rc)
		rc = kht_scan_offsets(t, counts.p, 1, q->n, out->offsets, s, err);
	if (rc)
		return rc;
	kht_copy_kernel<<<kht_blocks(q->n * w.group), KHT_BLOCK, 0, s>>>(w, *q, *out, t->note);
	return kht_launched("retrieve", err);
}

/* Count, retrieve and fold of a table of type T by its view, as kht_make() needs them. */
template <class T> struct kht_by_view {
	static int count(kht_table *t, const kht_keys *q, uint32_t *counts, kht_stream s,
			 kh_err *err)
	{
		return kht_view_count(static_cast<T *>(t)->view(), q, counts, s, err);
	}
	static int retrieve(kht_table *t, const kht_keys *q, const kht_lists *out, kht_stream s,
			    kh_err *err)
	{
		return kht_view_retrieve(t, static_cast<T *>(t)->view(), q, out, s, err);
	}
	static int fold(kht_table *t, const kht_keys *q, uint64_t *sums, kht_stream s, kh_err *err)
	{
		return kht_view_fold(static_cast<T *>(t)->view(), q, sums, s, err);
	}
};

#endif
