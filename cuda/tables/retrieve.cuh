/*
 * retrieve.cuh - count, retrieve and fold over any view of spans.cuh
 *
 * WarpCore IV-B4: a pass that counts, an exclusive scan, a pass that copies.
 */
#ifndef KH_TABLES_RETRIEVE_CUH
#define KH_TABLES_RETRIEVE_CUH

#include "sort.h"
#include "spans.cuh"

template <class W>
static __global__ void kh_count_kernel(W w, const typename W::key_type *keys, size_t n,
				       uint32_t *counts)
{
	kh_group g(w.group);
	size_t i = kh_group_id(w.group);

	if (i >= n)
		return;
	uint32_t c = w.each(g, keys[i], [](uint32_t, typename W::value_type) {});
	if (g.rank == 0)
		counts[i] = c;
}

template <class W>
static __global__ void kh_copy_kernel(W w, kh_keys q, kh_lists out,
				      unsigned long long *note)
{
	typedef typename W::value_type V;
	kh_group g(w.group);
	size_t i = kh_group_id(w.group);

	if (i >= q.n)
		return;
	uint64_t at = out.offsets[i];
	w.each(g, ((const typename W::key_type *)q.keys)[i], [&](uint32_t rank, V v) {
		if (at + rank < out.capacity)
			((V *)out.values)[at + rank] = v;
	});
	if (i == 0 && g.rank == 0 && out.offsets[q.n] > out.capacity)
		atomicAdd(note + KH_NOTE_TRUNCATED,
			  (unsigned long long)(out.offsets[q.n] - out.capacity));
}

template <class W>
static __global__ void kh_fold_kernel(W w, const typename W::key_type *keys, size_t n,
				      uint64_t *sums)
{
	kh_group g(w.group);
	size_t i = kh_group_id(w.group);
	uint64_t sum = 0;

	if (i >= n)
		return;
	w.each(g, keys[i], [&](uint32_t, typename W::value_type v) { sum += v; });
	sum = g.sum(sum);
	if (g.rank == 0)
		sums[i] = sum;
}

template <class W>
static int kh_view_count(const W &w, const kh_keys *q, uint32_t *counts, kh_stream s,
			 kh_err *err)
{
	kh_count_kernel<<<kh_blocks(q->n * w.group), KH_BLOCK, 0, s>>>(
		w, (const typename W::key_type *)q->keys, q->n, counts);
	return kh_launched("count", err);
}

template <class W>
static int kh_view_fold(const W &w, const kh_keys *q, uint64_t *sums, kh_stream s,
			kh_err *err)
{
	kh_fold_kernel<<<kh_blocks(q->n * w.group), KH_BLOCK, 0, s>>>(
		w, (const typename W::key_type *)q->keys, q->n, sums);
	return kh_launched("fold", err);
}

template <class W>
static int kh_view_retrieve(kh_table *t, const W &w, const kh_keys *q,
			    const kh_lists *out, kh_stream s, kh_err *err)
{
	kh_scratch<uint32_t> counts;
	int rc = counts.take(t, q->n, s, err);

	if (!rc)
		rc = kh_view_count(w, q, counts.p, s, err);
	if (!rc)
		rc = kh_scan_offsets(t, counts.p, 1, q->n, out->offsets, s, err);
	if (rc)
		return rc;
	kh_copy_kernel<<<kh_blocks(q->n * w.group), KH_BLOCK, 0, s>>>(w, *q, *out,
								      t->note);
	return kh_launched("retrieve", err);
}

#endif
