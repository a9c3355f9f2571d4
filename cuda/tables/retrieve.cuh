/*
 * retrieve.cuh - count, retrieve and fold over any view (views.cuh), and over views whose lists are
 * contiguous
 *
 * WarpCore IV-B4: a pass that counts, an exclusive scan, a pass that copies.
 * Of contiguous lists the first pass leaves a span a query; after the scan the copy is cut by
 * output, not by query, so that one list of 10^6 values costs what 10^6 lists of one do: a block
 * writes a tile of KHT_TILE values.  It marks in shared memory where a list begins and how far
 * its source is from there; a running maximum of those places tells each value its list.
 */
#ifndef KHT_RETRIEVE_CUH
#define KHT_RETRIEVE_CUH

#include "cuda/tables/host.cuh"
#include "cuda/tables/sort.h"
#include "cuda/tables/views.cuh"

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

/* --- lists in one piece ----------------------------------------------------------- */

#define KHT_TILE      2048
#define KHT_TILE_EACH (KHT_TILE / KHT_BLOCK)

/* first[t]: the query whose list has the first value of tile t. */
static __global__ void kht_tile_starts(const uint64_t *offsets, size_t n, uint64_t tiles,
				       uint32_t *first)
{
	size_t i = kht_thread_id();

	if (i >= n)
		return;
	uint64_t from = offsets[i], to = offsets[i + 1];
	for (uint64_t t = (from + KHT_TILE - 1) / KHT_TILE; t * KHT_TILE < to && t < tiles; t++)
		first[t] = (uint32_t)i;
}

/* Inclusive running maximum over the tile: thread i holds the places 8i .. 8i + 7. */
static __device__ void kht_tile_heads(uint16_t *head)
{
	__shared__ uint16_t warp_max[KHT_BLOCK / 32];
	unsigned lane = threadIdx.x & 31, warp = threadIdx.x / 32;
	uint16_t *mine = head + threadIdx.x * KHT_TILE_EACH;
	uint16_t h[KHT_TILE_EACH];
	int run = 0;

	for (int k = 0; k < KHT_TILE_EACH; k++) {
		run = max(run, (int)mine[k]);
		h[k] = (uint16_t)run;
	}
	for (int d = 1; d < 32; d *= 2) {
		int x = __shfl_up_sync(KHT_FULL, run, d);
		if ((int)lane >= d)
			run = max(run, x);
	}
	if (lane == 31)
		warp_max[warp] = (uint16_t)run;
	int before = __shfl_up_sync(KHT_FULL, run, 1);
	before = lane ? before : 0;
	__syncthreads();
	for (unsigned w = 0; w < warp; w++)
		before = max(before, (int)warp_max[w]);
	for (int k = 0; k < KHT_TILE_EACH; k++)
		mine[k] = (uint16_t)max(before, (int)h[k]);
	__syncthreads();
}

/* A list in one piece.  Where lists have several, f is called for each of them with the number of
 * its first value, where that lies, and its length. */
struct kht_one_piece {
	template <class F> __device__ void pieces(kht_span s, F f) const { f(0, s.start, s.len); }
};

template <class V, class P>
static __global__ void __launch_bounds__(KHT_BLOCK)
	kht_copy_tiles(const kht_span *span, P lists, size_t n, const uint32_t *first,
		       const V *values, kht_lists out, unsigned long long *note)
{
	__shared__ __align__(16) uint16_t head[KHT_TILE];
	__shared__ uint32_t delta[KHT_TILE];
	uint64_t total = out.offsets[n], tile = blockIdx.x * (uint64_t)KHT_TILE;

	if (blockIdx.x == 0 && threadIdx.x == 0 && total > out.capacity)
		atomicAdd(note + KHT_NOTE_TRUNCATED, (unsigned long long)(total - out.capacity));
	if (tile >= total)
		return;
	for (unsigned k = threadIdx.x; k < KHT_TILE; k += KHT_BLOCK)
		head[k] = 0;
	__syncthreads();
	uint64_t end = min(min(total, out.capacity), tile + KHT_TILE);
	size_t from = first[blockIdx.x];
	size_t to = tile + KHT_TILE < total && tile + KHT_TILE < out.capacity
			    ? first[blockIdx.x + 1] + 1
			    : n;
	for (size_t j = from + threadIdx.x; j < to; j += KHT_BLOCK) {
		kht_span s = span[j];
		uint64_t at = out.offsets[j];

		if (s.len == 0 || at >= end)
			continue;
		lists.pieces(s, [&](uint32_t k, uint32_t start, uint32_t len) {
			uint64_t to = at + k;

			if (to >= end || to + len <= tile)
				return;
			unsigned p = to > tile ? (unsigned)(to - tile) : 0;
			head[p] = (uint16_t)p;
			delta[p] = start - (uint32_t)to;
		});
	}
	__syncthreads();
	kht_tile_heads(head);
#pragma unroll
	for (unsigned k = 0; k < KHT_TILE_EACH; k++) {
		unsigned p = threadIdx.x + k * KHT_BLOCK;

		if (tile + p < end)
			((V *)out.values)[tile + p] = values[(uint32_t)(tile + p) + delta[head[p]]];
	}
}

/* Scan and copy, once the spans are there. */
template <class V, class P = kht_one_piece>
static int kht_span_copy(kht_table *t, const kht_span *span, size_t n, const V *values,
			 const kht_lists *out, kht_stream s, kh_err *err, P lists = P())
{
	uint64_t tiles = (out->capacity + KHT_TILE - 1) / KHT_TILE;
	kht_scratch<uint32_t> first;
	int rc = kht_scan_offsets(t, &span->len, 2, n, out->offsets, s, err);

	if (!rc)
		rc = first.take(t, tiles + 1, s, err);
	if (rc || tiles == 0)
		return rc;
	kht_tile_starts<<<kht_blocks(n), KHT_BLOCK, 0, s>>>(out->offsets, n, tiles, first.p);
	kht_copy_tiles<V, P><<<(unsigned)tiles, KHT_BLOCK, 0, s>>>(span, lists, n, first.p, values,
								  *out, t->note);
	return kht_launched("retrieve", err);
}

template <class W>
static __global__ void kht_span_kernel(W w, const typename W::key_type *keys, size_t n,
				       kht_span *spans, uint32_t *counts)
{
	size_t i = kht_thread_id();

	if (i >= n)
		return;
	kht_span s = w.span(keys[i]);
	if (spans)
		spans[i] = s;
	if (counts)
		counts[i] = s.len;
}

/* What kht_by_view is, for tables that have spans(): where each key's list lies, or its length,
 * or both.  Their views have `values`. */
template <class T> struct kht_by_spans {
	static int count(kht_table *t, const kht_keys *q, uint32_t *counts, kht_stream s,
			 kh_err *err)
	{
		return static_cast<T *>(t)->spans(q, nullptr, counts, s, err);
	}
	template <class P>
	static int retrieve_by(T *t, const kht_keys *q, const kht_lists *out, P lists,
			       kht_stream s, kh_err *err)
	{
		kht_scratch<kht_span> span;
		int rc = span.take(t, q->n, s, err);

		if (!rc)
			rc = t->spans(q, span.p, nullptr, s, err);
		return rc ? rc
			  : kht_span_copy(t, span.p, q->n, t->view().values, out, s, err, lists);
	}
	static int retrieve(kht_table *t, const kht_keys *q, const kht_lists *out, kht_stream s,
			    kh_err *err)
	{
		return retrieve_by(static_cast<T *>(t), q, out, kht_one_piece(), s, err);
	}
	static int fold(kht_table *t, const kht_keys *q, uint64_t *sums, kht_stream s, kh_err *err)
	{
		return kht_by_view<T>::fold(t, q, sums, s, err);
	}
};

/* The same for tables whose lists have several pieces, which their views know. */
template <class T> struct kht_by_pieces : kht_by_spans<T> {
	static int retrieve(kht_table *t, const kht_keys *q, const kht_lists *out, kht_stream s,
			    kh_err *err)
	{
		T *self = static_cast<T *>(t);

		return kht_by_spans<T>::retrieve_by(self, q, out, self->view(), s, err);
	}
};

#endif
