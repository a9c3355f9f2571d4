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
#ifndef KHT_HASHGRAPH_BINS_CUH
#define KHT_HASHGRAPH_BINS_CUH

#include <type_traits>
#include "cuda/tables/views.cuh"
#include "cuda/tables/hash.cuh"
#include "cuda/tables/dtable_kernels.h"
#include "cuda/tables/host.cuh"

#define KHT_BIN_CHUNK (1u << 14) /* pairs of a large bin that a block takes at a time */
#define KHT_BIN_GRID  1024
#define KHT_BIN_AHEAD 4 /* loads of a thread in flight */

/* The type of values where there are none. */
struct kht_none {
};
template <class V> static constexpr unsigned kht_value_size = sizeof(V);
template <> constexpr unsigned kht_value_size<kht_none> = 0;

template <class K, class V> struct kht_bins {
	const kht_run *run; /* on the device; NULL: there is but `one` */
	kht_run one;
	unsigned runs, teams;     /* of a block, each takes a run at a time; a power of two */
	uint32_t *start;          /* [run][bins + 1]: where a bin is in each run */
	uint32_t *before;         /* [bins + 1]: the sums over the runs */
	uint32_t bins_log2, rows; /* of the whole hash range: bins, rows of one */
	uint32_t first, bins;     /* that this table has */
	uint32_t limit, stage;    /* pairs: more is a large bin; fit in shared memory */
	uint32_t *large;          /* [0] their number, then they */
	uint32_t *offset;
	K *keys;
	V *values;

	__device__ kht_run of(unsigned r) const { return run ? run[r] : one; }
	__device__ const uint32_t *at(unsigned r, uint32_t bin) const
	{
		return start + (size_t)r * (bins + 1) + bin;
	}
	/* Of the bin. */
	__device__ uint32_t row(K x) const { return kht_reduce((K)(x << bins_log2), rows); }
	/* First pair of the bin in the table; bins: the number of pairs. */
	__device__ uint32_t from(uint32_t bin) const { return before[bin]; }
};

template <class K> static __device__ __forceinline__ uint32_t kht_top_bits(K x, uint32_t n)
{
	return n ? (uint32_t)(x >> (sizeof(K) * 8 - n)) : 0;
}

/* f(key, value) for the pairs of a run from `from` to `to` that are those of one thread
 * of `size`; the loads go ahead of the calls. */
template <class K, class V, class F>
static __device__ __forceinline__ void kht_run_each(const kht_run &u, uint32_t from, uint32_t to,
						    unsigned thread, unsigned size, F f)
{
	if (to - from <= thread)
		return;
	for (uint32_t i = from + thread;; i += KHT_BIN_AHEAD * size) {
		const uint32_t left = to - i; /* so that no sum runs over 2^32 */
		K x[KHT_BIN_AHEAD];
		V v[KHT_BIN_AHEAD];

#pragma unroll
		for (unsigned k = 0; k < KHT_BIN_AHEAD; k++)
			if (k * size < left) {
				x[k] = ((const K *)u.keys)[i + k * size];
				if constexpr (kht_value_size<V> != 0)
					v[k] = ((const V *)u.values)[i + k * size];
			}
#pragma unroll
		for (unsigned k = 0; k < KHT_BIN_AHEAD; k++)
			if (k * size < left)
				f(x[k], v[k]);
		if (left <= KHT_BIN_AHEAD * size)
			return;
	}
}

/* The pairs of a bin, by the whole block. */
template <class V, unsigned BLOCK, class K, class W, class F>
static __device__ void kht_bin_each(const kht_bins<K, W> &b, uint32_t bin, F f)
{
	const unsigned team = BLOCK / b.teams;

	for (unsigned r = threadIdx.x / team; r < b.runs; r += b.teams)
		kht_run_each<K, V>(b.of(r), b.at(r, bin)[0], b.at(r, bin)[1], threadIdx.x % team,
				   team, f);
}

template <class K, class V> static __global__ void kht_find_bins(kht_bins<K, V> b)
{
	uint32_t bin = (uint32_t)kht_thread_id();
	kht_run u = b.of(blockIdx.y);
	uint32_t from = 0, to = u.n;

	if (bin > b.bins)
		return;
	while (from < to) {
		uint32_t mid = from + (to - from) / 2;
		if (kht_top_bits(((const K *)u.keys)[mid], b.bins_log2) < b.first + bin)
			from = mid + 1;
		else
			to = mid;
	}
	b.start[(size_t)blockIdx.y * (b.bins + 1) + bin] = from;
}

/* Adds up the runs once, so that the threads of a bin's block need not do it. */
template <class K, class V> static __global__ void kht_add_runs(kht_bins<K, V> b)
{
	uint32_t bin = (uint32_t)kht_thread_id(), n = 0;

	if (bin > b.bins)
		return;
	for (unsigned r = 0; r < b.runs; r++)
		n += *b.at(r, bin);
	b.before[bin] = n;
}

/* Exclusive scan of c[0 .. n), plus `first`; also written to out, which may be c. */
template <unsigned BLOCK>
static __device__ void kht_scan_rows(uint32_t *c, uint32_t n, uint32_t first, uint32_t *out)
{
	__shared__ uint32_t warp_sum[BLOCK / 32];
	unsigned lane = threadIdx.x & 31, warp = threadIdx.x / 32;
	uint32_t carry = first;

	for (uint32_t from = 0; from < n; from += BLOCK) {
		uint32_t i = from + threadIdx.x, mine = i < n ? c[i] : 0, x = mine, all = 0;

		for (int d = 1; d < 32; d *= 2) {
			uint32_t y = __shfl_up_sync(KHT_FULL, x, d);
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
static __device__ void kht_scan_stretches(uint32_t *c, uint32_t n, uint32_t first, uint32_t *out)
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
		sum += __shfl_xor_sync(KHT_FULL, sum, d);
	if (lane == 0)
		warp_sum[warp] = sum;
	__syncthreads();
	sum = lane < warp ? warp_sum[lane] : 0;
	for (int d = 16; d > 0; d /= 2)
		sum += __shfl_xor_sync(KHT_FULL, sum, d);
	carry += sum;
	for (uint32_t i = from + lane; i - lane < to; i += 32) {
		const uint32_t mine = i < to ? c[i] : 0;
		uint32_t x = mine;

		for (int d = 1; d < 32; d *= 2) {
			uint32_t y = __shfl_up_sync(KHT_FULL, x, d);
			x += (int)lane >= d ? y : 0;
		}
		if (i < to)
			out[i] = c[i] = carry + x - mine;
		carry += __shfl_sync(KHT_FULL, x, 31);
	}
	__syncthreads();
}

/* One bin a block: count, scan, place; the placing in shared memory if the bin fits, so
 * that memory sees whole lines.  Three small blocks on a multiprocessor, or one large. */
template <class K, class V, unsigned BLOCK>
static __global__ void __launch_bounds__(BLOCK, BLOCK > 512                 ? 1
						: sizeof(K) + sizeof(V) > 8 ? 2
									    : 3)
	kht_build_bins(kht_bins<K, V> b)
{
	extern __shared__ unsigned long long kht_bin_stage[];
	K *key = (K *)kht_bin_stage;
	V *value = (V *)(key + b.stage);
	uint32_t *counter = (uint32_t *)((char *)value + b.stage * kht_value_size<V>);
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
	kht_bin_each<kht_none, BLOCK>(b, blockIdx.x,
				      [&](K x, kht_none) { atomicAdd(counter + b.row(x), 1u); });
	__syncthreads();
	if constexpr (BLOCK > 512)
		kht_scan_stretches<BLOCK>(counter, b.rows, from, b.offset + first);
	else
		kht_scan_rows<BLOCK>(counter, b.rows, from, b.offset + first);
	bool fits = to - from <= b.stage;
	kht_bin_each<V, BLOCK>(b, blockIdx.x, [&](K x, V v) {
		uint32_t at = atomicAdd(counter + b.row(x), 1u);

		(fits ? key - from : b.keys)[at] = x;
		if constexpr (kht_value_size<V> != 0)
			(fits ? value - from : b.values)[at] = v;
	});
	__syncthreads();
	for (uint32_t i = from + threadIdx.x; fits && i < to; i += BLOCK) {
		b.keys[i] = key[i - from];
		if constexpr (kht_value_size<V> != 0)
			b.values[i] = value[i - from];
	}
}

/* Adds one to *p for each lane and returns what it was; lanes with the same p go as
 * one. */
static __device__ __forceinline__ uint32_t kht_add_together(uint32_t *p)
{
	unsigned lane = threadIdx.x & 31, active = __activemask();
	unsigned same = __match_any_sync(active, (unsigned long long)p), old = 0;
	int leader = __ffs(same) - 1;

	if ((int)lane == leader)
		old = atomicAdd(p, (uint32_t)__popc(same));
	return __shfl_sync(same, old, leader) + __popc(same & ((1u << lane) - 1));
}

/* All blocks count the large bins, with the offsets themselves as counters. */
template <class K, class V, bool PLACE> static __global__ void kht_large_bins(kht_bins<K, V> b)
{
	typedef std::conditional_t<PLACE, V, kht_none> W;

	for (uint32_t l = 0; l < b.large[0]; l++)
		for (unsigned r = 0; r < b.runs; r++) {
			uint32_t bin = b.large[1 + l], to = b.at(r, bin)[1];
			uint32_t *offset = b.offset + bin * b.rows;

			auto place = [&](K x, W v) {
				uint32_t at = kht_add_together(offset + b.row(x));
				if constexpr (PLACE)
					b.keys[at] = x;
				if constexpr (kht_value_size<W> != 0)
					b.values[at] = v;
			};

			for (uint64_t c = b.at(r, bin)[0] + (uint64_t)blockIdx.x * KHT_BIN_CHUNK;
			     c < to; c += KHT_BIN_GRID * KHT_BIN_CHUNK)
				kht_run_each<K, W>(b.of(r), (uint32_t)c,
						   (uint32_t)min((uint64_t)to, c + KHT_BIN_CHUNK),
						   threadIdx.x, KHT_BLOCK, place);
		}
}

/* Counts to offsets; and, after placing moved each offset to its row's end, back
 * again. */
template <class K, class V>
static __global__ void __launch_bounds__(KHT_BLOCK) kht_large_scan(kht_bins<K, V> b, bool back)
{
	for (uint32_t l = blockIdx.x; l < b.large[0]; l += gridDim.x) {
		uint32_t bin = b.large[1 + l], from = b.from(bin);
		uint32_t *offset = b.offset + bin * b.rows;

		if (!back)
			kht_scan_rows<KHT_BLOCK>(offset, b.rows, from, offset);
		/* from the end, so that each offset is read before it changes */
		for (uint32_t t = back ? (b.rows + KHT_BLOCK - 1) / KHT_BLOCK : 0; t-- > 0;) {
			uint32_t i = t * KHT_BLOCK + threadIdx.x, x = from;

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
static int kht_bins_launch(const kht_bins<K, V> &b, kht_stream s, kh_err *err)
{
	const unsigned bytes = b.stage * (sizeof(K) + kht_value_size<V>) + b.rows * 4;
	int rc = kht_cuda(cudaFuncSetAttribute(kht_build_bins<K, V, BLOCK>,
					       cudaFuncAttributeMaxDynamicSharedMemorySize,
					       (int)bytes),
			  "HashGraph", err);

	if (!rc)
		kht_build_bins<K, V, BLOCK><<<b.bins, BLOCK, bytes, s>>>(b);
	return rc;
}

/* Makes the rows of n pairs in all.  b has the runs, the bins and the table's arrays; the rest of
 * it is filled in here. */
template <class K, class V>
static int kht_bins_build(kht_table *t, kht_bins<K, V> b, uint64_t n, kht_stream s, kh_err *err)
{
	const uint32_t mean = (uint32_t)(n / b.bins), pair = sizeof(K) + kht_value_size<V>;
	kht_scratch<uint32_t> start, before, large;
	uint32_t room;
	int rc = kht_hashgraph_bin_memory(t->device, &room, err);

	if (rc)
		return rc;
	room = (room - b.rows * 4) / pair;
	/* The mean of few bins may be that of one key: then all are large. */
	b.limit = mean > 32768 ? 8 * 32768 : mean > 8192 ? 8 * mean : 65536;
	b.stage = mean + mean / 4 > 1024 ? mean + mean / 4 : 1024;
	b.stage = (b.stage < room ? b.stage : room) & ~3u;
	for (b.teams = 1; b.teams < b.runs && b.teams < 16;)
		b.teams *= 2;
	if ((rc = start.take(t, (size_t)b.runs * (b.bins + 1), s, err)) ||
	    (b.runs > 1 && (rc = before.take(t, (size_t)b.bins + 1, s, err))) ||
	    (rc = large.take(t, n / b.limit + 2, s, err)) ||
	    (rc = kht_cuda(cudaMemsetAsync(large.p, 0, 4, s), "HashGraph", err)))
		return rc;
	b.start = start.p;
	b.before = b.runs > 1 ? before.p : start.p;
	b.large = large.p;
	kht_find_bins<K, V><<<dim3(kht_blocks(b.bins + 1), b.runs), KHT_BLOCK, 0, s>>>(b);
	if (b.runs > 1)
		kht_add_runs<K, V><<<kht_blocks(b.bins + 1), KHT_BLOCK, 0, s>>>(b);
	if ((rc = b.rows <= 8192 ? kht_bins_launch<K, V, 512>(b, s, err)
				 : kht_bins_launch<K, V, 1024>(b, s, err)))
		return rc;
	kht_large_bins<K, V, false><<<KHT_BIN_GRID, KHT_BLOCK, 0, s>>>(b);
	kht_large_scan<K, V><<<64, KHT_BLOCK, 0, s>>>(b, false);
	kht_large_bins<K, V, true><<<KHT_BIN_GRID, KHT_BLOCK, 0, s>>>(b);
	kht_large_scan<K, V><<<64, KHT_BLOCK, 0, s>>>(b, true);
	return kht_launched("HashGraph", err);
}

/* Queries in the order of their rows: neighbours read the same rows of the table. */
template <class K, class V>
static __global__ void kht_intersect(kht_hashgraph_view<K, V> t, const K *mix,
				     const uint32_t *query, size_t n, uint32_t *counts)
{
	size_t i = kht_thread_id();

	if (i >= n)
		return;
	K x = mix[i];
	uint32_t h = t.row(x), c = 0;
	for (uint32_t j = t.offset[h]; j < t.offset[h + 1]; j++)
		c += t.keys[j] == x;
	counts[query[i]] = c;
}

static __global__ void kht_number(uint32_t *p, size_t n)
{
	size_t i = kht_thread_id();

	if (i < n)
		p[i] = (uint32_t)i;
}

#endif
