/*
 * span_retrieve.cuh - retrieve for tables whose lists are contiguous
 *
 * The first pass leaves a span a query; after the scan the copy is cut by output, not by
 * query, so that one list of 10^6 values costs what 10^6 lists of one do: a block writes
 * a tile of KH_TILE values.  It marks in shared memory where a list begins and how far
 * its source is from there; a running maximum of those places tells each value its
 * list.
 */
#ifndef KH_TABLES_SPAN_RETRIEVE_CUH
#define KH_TABLES_SPAN_RETRIEVE_CUH

#include "retrieve.cuh"

#define KH_TILE      2048
#define KH_TILE_EACH (KH_TILE / KH_BLOCK)

/* first[t]: the query whose list has the first value of tile t. */
static __global__ void kh_tile_starts(const uint64_t *offsets, size_t n, uint64_t tiles,
				      uint32_t *first)
{
	size_t i = kh_thread_id();

	if (i >= n)
		return;
	uint64_t from = offsets[i], to = offsets[i + 1];
	for (uint64_t t = (from + KH_TILE - 1) / KH_TILE; t * KH_TILE < to && t < tiles;
	     t++)
		first[t] = (uint32_t)i;
}

/* Inclusive running maximum over the tile: thread i holds the places 8i .. 8i + 7. */
static __device__ void kh_tile_heads(uint16_t *head)
{
	__shared__ uint16_t warp_max[KH_BLOCK / 32];
	unsigned lane = threadIdx.x & 31, warp = threadIdx.x / 32;
	uint16_t *mine = head + threadIdx.x * KH_TILE_EACH;
	uint16_t h[KH_TILE_EACH];
	int run = 0;

	for (int k = 0; k < KH_TILE_EACH; k++) {
		run = max(run, (int)mine[k]);
		h[k] = (uint16_t)run;
	}
	for (int d = 1; d < 32; d *= 2) {
		int x = __shfl_up_sync(KH_FULL, run, d);
		if ((int)lane >= d)
			run = max(run, x);
	}
	if (lane == 31)
		warp_max[warp] = (uint16_t)run;
	int before = __shfl_up_sync(KH_FULL, run, 1);
	before = lane ? before : 0;
	__syncthreads();
	for (unsigned w = 0; w < warp; w++)
		before = max(before, (int)warp_max[w]);
	for (int k = 0; k < KH_TILE_EACH; k++)
		mine[k] = (uint16_t)max(before, (int)h[k]);
	__syncthreads();
}

template <class V>
static __global__ void __launch_bounds__(KH_BLOCK)
	kh_copy_tiles(const kh_span *span, size_t n, const uint32_t *first,
		      const V *values, kh_lists out, unsigned long long *note)
{
	__shared__ __align__(16) uint16_t head[KH_TILE];
	__shared__ uint32_t delta[KH_TILE];
	uint64_t total = out.offsets[n], tile = blockIdx.x * (uint64_t)KH_TILE;

	if (blockIdx.x == 0 && threadIdx.x == 0 && total > out.capacity)
		atomicAdd(note + KH_NOTE_TRUNCATED,
			  (unsigned long long)(total - out.capacity));
	if (tile >= total)
		return;
	for (unsigned k = threadIdx.x; k < KH_TILE; k += KH_BLOCK)
		head[k] = 0;
	__syncthreads();
	uint64_t end = min(min(total, out.capacity), tile + KH_TILE);
	size_t from = first[blockIdx.x];
	size_t to = tile + KH_TILE < total && tile + KH_TILE < out.capacity
			    ? first[blockIdx.x + 1] + 1
			    : n;
	for (size_t j = from + threadIdx.x; j < to; j += KH_BLOCK) {
		kh_span s = span[j];
		uint64_t at = out.offsets[j];

		if (s.len == 0 || at >= end)
			continue;
		unsigned p = at > tile ? (unsigned)(at - tile) : 0;
		head[p] = (uint16_t)p;
		delta[p] = s.start - (uint32_t)at;
	}
	__syncthreads();
	kh_tile_heads(head);
#pragma unroll
	for (unsigned k = 0; k < KH_TILE_EACH; k++) {
		unsigned p = threadIdx.x + k * KH_BLOCK;

		if (tile + p < end)
			((V *)out.values)[tile + p] =
				values[(uint32_t)(tile + p) + delta[head[p]]];
	}
}

/* Scan and copy, once the spans are there. */
template <class V>
static int kh_span_copy(kh_table *t, const kh_span *span, size_t n, const V *values,
			const kh_lists *out, kh_stream s, kh_err *err)
{
	uint64_t tiles = (out->capacity + KH_TILE - 1) / KH_TILE;
	kh_scratch<uint32_t> first;
	int rc = kh_scan_offsets(t, &span->len, 2, n, out->offsets, s, err);

	if (!rc)
		rc = first.take(t, tiles + 1, s, err);
	if (rc || tiles == 0)
		return rc;
	kh_tile_starts<<<kh_blocks(n), KH_BLOCK, 0, s>>>(out->offsets, n, tiles, first.p);
	kh_copy_tiles<V><<<(unsigned)tiles, KH_BLOCK, 0, s>>>(span, n, first.p, values,
							      *out, t->note);
	return kh_launched("retrieve", err);
}

template <class W>
static __global__ void kh_span_kernel(W w, const typename W::key_type *keys, size_t n,
				      kh_span *spans, uint32_t *counts)
{
	size_t i = kh_thread_id();

	if (i >= n)
		return;
	kh_span s = w.span(keys[i]);
	if (spans)
		spans[i] = s;
	if (counts)
		counts[i] = s.len;
}

#endif
