/*
 * hashgraph_bins.cuh - the second half of HashGraph V2: from pairs in bins to rows
 *
 * A bin is a run of hash values, and so of the high bits of mixes; the pairs come as one
 * run or several, each in the order of its bins: one of a table on its own, one a sender
 * and chunk in a table over several GPUs, which so bins its pairs once, before they
 * travel.  A block counts, scans and places a bin in shared memory; a bin far above the
 * mean (one key, very often) is left to many blocks and counters in the offset array
 * itself.
 */
#ifndef KH_TABLES_HASHGRAPH_BINS_CUH
#define KH_TABLES_HASHGRAPH_BINS_CUH

#include <type_traits>
#include "group.cuh"
#include "hash.cuh"
#include "hashgraph_part.h"
#include "host.cuh"

#define KH_BIN_CHUNK  (1u << 14) /* pairs of a large bin that a block takes at a time */
#define KH_BIN_GRID   1024
#define KH_BIN_AHEAD  4                 /* loads of a thread in flight */

/* In place of values where there are none. */
struct kh_none {
};
template <class V> static constexpr unsigned kh_value_size = sizeof(V);
template <> constexpr unsigned kh_value_size<kh_none> = 0;

template <class K, class V> struct kh_bins {
	const kh_run *run;              /* on the device; NULL: there is but `one` */
	kh_run one;
	unsigned runs, teams; /* of a block, each takes a run at a time; a power of two */
	uint32_t *start;                /* [run][bins + 1]: where a bin is in each run */
	uint32_t *before;               /* [bins + 1]: the sums over the runs */
	uint32_t bins_log2, rows;       /* of the whole hash range: bins, rows of one */
	uint32_t first, bins;           /* that this table has */
	uint32_t limit, stage;          /* pairs: more is a large bin; fit in shared memory */
	uint32_t *large;                /* [0] their number, then they */
	uint32_t *offset;
	K *keys;
	V *values;

	__device__ kh_run of(unsigned r) const { return run ? run[r] : one; }
	__device__ const uint32_t *at(unsigned r, uint32_t bin) const
	{
		return start + (size_t)r * (bins + 1) + bin;
	}
	/* Of the bin. */
	__device__ uint32_t row(K x) const
	{
		return kh_reduce((K)(x << bins_log2), rows);
	}
	/* First pair of the bin in the table; bins: the number of pairs. */
	__device__ uint32_t from(uint32_t bin) const { return before[bin]; }
};

template <class K> static __device__ __forceinline__ uint32_t kh_top_bits(K x, uint32_t n)
{
	return n ? (uint32_t)(x >> (sizeof(K) * 8 - n)) : 0;
}

/* f(key, value) for the pairs of a run from `from` to `to` that are those of one thread
 * of `size`; the loads go ahead of the calls. */
template <class K, class V, class F>
static __device__ __forceinline__ void kh_run_each(const kh_run &u, uint32_t from,
						   uint32_t to, unsigned rank,
						   unsigned size, F f)
{
	if (to - from <= rank)
		return;
	for (uint32_t i = from + rank;; i += KH_BIN_AHEAD * size) {
		const uint32_t left = to - i;   /* so that no sum runs over 2^32 */
		K x[KH_BIN_AHEAD];
		V v[KH_BIN_AHEAD];

#pragma unroll
		for (unsigned k = 0; k < KH_BIN_AHEAD; k++)
			if (k * size < left) {
				x[k] = ((const K *)u.keys)[i + k * size];
				if constexpr (kh_value_size<V> > 0)
					v[k] = ((const V *)u.values)[i + k * size];
			}
#pragma unroll
		for (unsigned k = 0; k < KH_BIN_AHEAD; k++)
			if (k * size < left)
				f(x[k], v[k]);
		if (left <= KH_BIN_AHEAD * size)
			return;
	}
}

/* The pairs of a bin, by the whole block. */
template <class V, unsigned BLOCK, class K, class W, class F>
static __device__ void kh_bin_each(const kh_bins<K, W> &b, uint32_t bin, F f)
{
	const unsigned team = BLOCK / b.teams;

	for (unsigned r = threadIdx.x / team; r < b.runs; r += b.teams)
		kh_run_each<K, V>(b.of(r), b.at(r, bin)[0], b.at(r, bin)[1],
				  threadIdx.x % team, team, f);
}

template <class K, class V> static __global__ void kh_find_bins(kh_bins<K, V> b)
{
	uint32_t bin = (uint32_t)kh_thread_id();
	kh_run u = b.of(blockIdx.y);
	uint32_t from = 0, to = u.n;

	if (bin > b.bins)
		return;
	while (from < to) {
		uint32_t mid = from + (to - from) / 2;
		if (kh_top_bits(((const K *)u.keys)[mid], b.bins_log2) < b.first + bin)
			from = mid + 1;
		else
			to = mid;
	}
	b.start[(size_t)blockIdx.y * (b.bins + 1) + bin] = from;
}

/* Once, so that the threads of a bin's block need not add up all runs. */
template <class K, class V> static __global__ void kh_add_runs(kh_bins<K, V> b)
{
	uint32_t bin = (uint32_t)kh_thread_id(), n = 0;

	if (bin > b.bins)
		return;
	for (unsigned r = 0; r < b.runs; r++)
		n += *b.at(r, bin);
	b.before[bin] = n;
}

/* Exclusive scan of c[0 .. n), plus `first`; also written to out, which may be c. */
template <unsigned BLOCK>
static __device__ void kh_scan_rows(uint32_t *c, uint32_t n, uint32_t first, uint32_t *out)
{
	__shared__ uint32_t warp_sum[BLOCK / 32];
	unsigned lane = threadIdx.x & 31, warp = threadIdx.x / 32;
	uint32_t carry = first;

	for (uint32_t from = 0; from < n; from += BLOCK) {
		uint32_t i = from + threadIdx.x, mine = i < n ? c[i] : 0, x = mine,
			 all = 0;

		for (int d = 1; d < 32; d *= 2) {
			uint32_t y = __shfl_up_sync(KH_FULL, x, d);
			x += (int)lane >= d ? y : 0;
		}
		if (lane == 31)
			warp_sum[warp] = x;
		__syncthreads();
		for (unsigned w = 0; w < BLOCK / 32; w++) {
			x += w < warp ? warp_sum[w] : 0;
			all += warp_sum[w];
		}
		if (i < n)
			out[i] = c[i] = carry + x - mine;
		carry += all;
		__syncthreads();
	}
}

/* The same by a large block, of many rows: each warp goes through a stretch of its own, so that
 * warps wait for each other twice and not for every BLOCK rows. */
template <unsigned BLOCK>
static __device__ void kh_scan_stretches(uint32_t *c, uint32_t n, uint32_t first, uint32_t *out)
{
	constexpr unsigned WARPS = BLOCK / 32;
	__shared__ uint32_t warp_sum[WARPS];
	const unsigned lane = threadIdx.x & 31, warp = threadIdx.x / 32;
	const uint32_t each = (n + BLOCK - 1) / BLOCK * 32, from = min(warp * each, n),
		       to = min(from + each, n);
	uint32_t sum = 0, carry = first;

	for (uint32_t i = from + lane; i < to; i += 32)
		sum += c[i];
	for (int d = 16; d > 0; d /= 2)
		sum += __shfl_xor_sync(KH_FULL, sum, d);
	if (lane == 0)
		warp_sum[warp] = sum;
	__syncthreads();
	sum = lane < warp ? warp_sum[lane] : 0;
	for (int d = 16; d > 0; d /= 2)
		sum += __shfl_xor_sync(KH_FULL, sum, d);
	carry += sum;
	for (uint32_t i = from + lane; i - lane < to; i += 32) {
		const uint32_t mine = i < to ? c[i] : 0;
		uint32_t x = mine;

		for (int d = 1; d < 32; d *= 2) {
			uint32_t y = __shfl_up_sync(KH_FULL, x, d);
			x += (int)lane >= d ? y : 0;
		}
		if (i < to)
			out[i] = c[i] = carry + x - mine;
		carry += __shfl_sync(KH_FULL, x, 31);
	}
	__syncthreads();
}

/* One bin a block: count, scan, place; the placing in shared memory if the bin fits, so
 * that memory sees whole lines.  Three small blocks on a multiprocessor, or one large. */
template <class K, class V, unsigned BLOCK>
static __global__ void __launch_bounds__(BLOCK, BLOCK > 512 ? 1 : sizeof(K) + sizeof(V) > 8 ? 2 : 3)
	kh_build_bins(kh_bins<K, V> b)
{
	extern __shared__ unsigned long long kh_bin_stage[];
	K *key = (K *)kh_bin_stage;
	V *value = (V *)(key + b.stage);
	uint32_t *counter = (uint32_t *)((char *)value + b.stage * kh_value_size<V>);
	uint32_t from = b.from(blockIdx.x), to = b.from(blockIdx.x + 1);
	uint32_t first = blockIdx.x * b.rows;
	bool large = to - from > b.limit;

	if (blockIdx.x == 0 && threadIdx.x == 0)
		b.offset[b.bins * b.rows] = b.from(b.bins);
	if (large && threadIdx.x == 0)
		b.large[1 + atomicAdd(b.large, 1u)] = blockIdx.x;
	for (uint32_t i = threadIdx.x; i < b.rows; i += BLOCK)
		(large ? b.offset + first : counter)[i] = 0;
	if (large)
		return;
	__syncthreads();
	kh_bin_each<kh_none, BLOCK>(
		b, blockIdx.x, [&](K x, kh_none) { atomicAdd(counter + b.row(x), 1u); });
	__syncthreads();
	if constexpr (BLOCK > 512)
		kh_scan_stretches<BLOCK>(counter, b.rows, from, b.offset + first);
	else
		kh_scan_rows<BLOCK>(counter, b.rows, from, b.offset + first);
	bool fits = to - from <= b.stage;
	kh_bin_each<V, BLOCK>(b, blockIdx.x, [&](K x, V v) {
		uint32_t at = atomicAdd(counter + b.row(x), 1u);

		(fits ? key - from : b.keys)[at] = x;
		if constexpr (kh_value_size<V> > 0)
			(fits ? value - from : b.values)[at] = v;
	});
	__syncthreads();
	for (uint32_t i = from + threadIdx.x; fits && i < to; i += BLOCK) {
		b.keys[i] = key[i - from];
		if constexpr (kh_value_size<V> > 0)
			b.values[i] = value[i - from];
	}
}

/* Adds one to *p for each lane and returns what it was; lanes with the same p go as
 * one. */
static __device__ __forceinline__ uint32_t kh_add_together(uint32_t *p)
{
	unsigned lane = threadIdx.x & 31, active = __activemask();
	unsigned same = __match_any_sync(active, (unsigned long long)p), old = 0;
	int leader = __ffs(same) - 1;

	if ((int)lane == leader)
		old = atomicAdd(p, (uint32_t)__popc(same));
	return __shfl_sync(same, old, leader) + __popc(same & ((1u << lane) - 1));
}

/* The large bins, by all blocks, with the offsets themselves as counters. */
template <class K, class V, bool PLACE>
static __global__ void kh_large_bins(kh_bins<K, V> b)
{
	typedef std::conditional_t<PLACE, V, kh_none> W;

	for (uint32_t l = 0; l < b.large[0]; l++)
		for (unsigned r = 0; r < b.runs; r++) {
			uint32_t bin = b.large[1 + l], to = b.at(r, bin)[1];
			uint32_t *offset = b.offset + bin * b.rows;

			auto place = [&](K x, W v) {
				uint32_t at = kh_add_together(offset + b.row(x));
				if constexpr (PLACE)
					b.keys[at] = x;
				if constexpr (kh_value_size<W> > 0)
					b.values[at] = v;
			};

			for (uint64_t c = b.at(r, bin)[0] +
					  (uint64_t)blockIdx.x * KH_BIN_CHUNK;
			     c < to; c += KH_BIN_GRID * KH_BIN_CHUNK)
				kh_run_each<K, W>(
					b.of(r), (uint32_t)c,
					(uint32_t)min((uint64_t)to, c + KH_BIN_CHUNK),
					threadIdx.x, KH_BLOCK, place);
		}
}

/* Counts to offsets; and, after placing moved each offset to its row's end, back
 * again. */
template <class K, class V>
static __global__ void __launch_bounds__(KH_BLOCK) kh_large_scan(kh_bins<K, V> b, bool back)
{
	for (uint32_t l = blockIdx.x; l < b.large[0]; l += gridDim.x) {
		uint32_t bin = b.large[1 + l], from = b.from(bin);
		uint32_t *offset = b.offset + bin * b.rows;

		if (!back)
			kh_scan_rows<KH_BLOCK>(offset, b.rows, from, offset);
		/* From the end, so that what comes before is read before it changes. */
		for (uint32_t t = back ? (b.rows + KH_BLOCK - 1) / KH_BLOCK : 0; t-- > 0;) {
			uint32_t i = t * KH_BLOCK + threadIdx.x, x = from;

			if (i > 0 && i < b.rows)
				x = offset[i - 1];
			__syncthreads();
			if (i < b.rows)
				offset[i] = x;
			__syncthreads();
		}
	}
}

template <class K, class V, unsigned BLOCK>
static int kh_bins_launch(const kh_bins<K, V> &b, kh_stream s, kh_err *err)
{
	const unsigned bytes = b.stage * (sizeof(K) + kh_value_size<V>)+b.rows * 4;
	int rc = kh_cuda(cudaFuncSetAttribute(kh_build_bins<K, V, BLOCK>,
					      cudaFuncAttributeMaxDynamicSharedMemorySize,
					      (int)bytes),
			 "HashGraph", err);

	if (!rc)
		kh_build_bins<K, V, BLOCK><<<b.bins, BLOCK, bytes, s>>>(b);
	return rc;
}

/* Rows of n pairs in all; b has runs, bins and the table's arrays, the rest comes here. */
template <class K, class V>
static int kh_bins_build(kh_table *t, kh_bins<K, V> b, uint64_t n, kh_stream s, kh_err *err)
{
	const uint32_t mean = (uint32_t)(n / b.bins), pair = sizeof(K) + kh_value_size<V>;
	const uint32_t room = (KH_BIN_MEMORY - b.rows * 4) / pair;
	kh_scratch<uint32_t> start, before, large;
	int rc;

	/* The mean of few bins may be that of one key: then all are large. */
	b.limit = mean > 32768 ? 8 * 32768 : mean > 8192 ? 8 * mean : 65536;
	b.stage = mean + mean / 4 > 1024 ? mean + mean / 4 : 1024;
	b.stage = (b.stage < room ? b.stage : room) & ~3u;
	for (b.teams = 1; b.teams < b.runs && b.teams < 16;)
		b.teams *= 2;
	if ((rc = start.take(t, (size_t)b.runs * (b.bins + 1), s, err)) ||
	    (b.runs > 1 && (rc = before.take(t, (size_t)b.bins + 1, s, err))) ||
	    (rc = large.take(t, n / b.limit + 2, s, err)) ||
	    (rc = kh_cuda(cudaMemsetAsync(large.p, 0, 4, s), "HashGraph", err)))
		return rc;
	b.start = start.p;
	b.before = b.runs > 1 ? before.p : start.p;
	b.large = large.p;
	kh_find_bins<K, V><<<dim3(kh_blocks(b.bins + 1), b.runs), KH_BLOCK, 0, s>>>(b);
	if (b.runs > 1)
		kh_add_runs<K, V><<<kh_blocks(b.bins + 1), KH_BLOCK, 0, s>>>(b);
	if ((rc = b.rows <= 8192 ? kh_bins_launch<K, V, 512>(b, s, err)
				 : kh_bins_launch<K, V, 1024>(b, s, err)))
		return rc;
	kh_large_bins<K, V, false><<<KH_BIN_GRID, KH_BLOCK, 0, s>>>(b);
	kh_large_scan<K, V><<<64, KH_BLOCK, 0, s>>>(b, false);
	kh_large_bins<K, V, true><<<KH_BIN_GRID, KH_BLOCK, 0, s>>>(b);
	kh_large_scan<K, V><<<64, KH_BLOCK, 0, s>>>(b, true);
	return kh_launched("HashGraph", err);
}

/* Queries in the order of their rows: neighbours read the same rows of the table. */
template <class K, class V>
static __global__ void kh_intersect(kh_hashgraph_view<K, V> t, const K *mix,
				    const uint32_t *query, size_t n, uint32_t *counts)
{
	size_t i = kh_thread_id();

	if (i >= n)
		return;
	K x = mix[i];
	uint32_t h = t.row(x), c = 0;
	for (uint32_t j = t.offset[h]; j < t.offset[h + 1]; j++)
		c += t.keys[j] == x;
	counts[query[i]] = c;
}

static __global__ void kh_number(uint32_t *p, size_t n)
{
	size_t i = kh_thread_id();

	if (i < n)
		p[i] = (uint32_t)i;
}

#endif
