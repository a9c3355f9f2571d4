/*
 * hashgraph.cu - rows 1 to 3: HashGraph V1, V2 and probe-new (Green 2019, Alg. 1 to 3)
 *
 * The table is a sparse matrix in compressed rows: row h holds the pairs whose key hashes
 * to h.  V1 counts with atomics, scans, and places with atomics, all over the whole
 * range. V2 first puts the input into bins of neighbouring hash values, and then does
 * the same bin by bin, in cache.  probe-new builds a second HashGraph of the queries
 * over the same range and intersects row with row.
 * Departures.  Hash values come from a bijective mix by multiply-shift, not by modulo:
 * bins are then runs of sorted high bits, and two keys are equal when their mixes are, so
 * the mix is what a row keeps.  V2 bins by CUB's radix passes over those bits, not by one
 * atomic counter a bin, and a bin's counters fit in the shared memory of a block that
 * counts, scans and places it alone; a bin far above the mean (one key, very often) is
 * left to many blocks and counters in the offset array itself.  Pairs carry values, not
 * input positions.  Static: built by one insert, which does not wait.
 */
#include "retrieve.cuh"
#include "systems.h"

#define BIN_ROWS   4096                   /* hash values a block has counters for */
#define STAGE      5120 /* pairs that it can put in order in shared memory */
#define BIN_BLOCK  512
#define CHUNK      (1u << 14) /* pairs of a large bin that a block takes at a time */
#define LARGE_GRID 1024

template <class K, class V> struct hashgraph : kh_table {
	typedef kh_hashgraph_view<K, V> view_type;
	uint32_t *offset;               /* range + 1 */
	K *keys;
	V *values;
	uint32_t range, bins_log2, n;   /* range is a multiple of 2^bins_log2 */
	unsigned group;                 /* lanes a row: about the pairs of a key */
	bool v2;

	view_type view() const
	{
		return { offset, keys, values, range, cfg.seed, group };
	}
	int build_v1(const kh_kv *p, kh_stream s, kh_err *err);
	int build_v2(const kh_kv *p, kh_stream s, kh_err *err);
	int build(const kh_kv *p, kh_stream s, kh_err *err)
	{
		return v2 ? build_v2(p, s, err) : build_v1(p, s, err);
	}
	int insert(const kh_kv *p, kh_stream s, kh_err *err)
	{
		if (n)
			return kh_fail(err, KH_EUSAGE,
				       "a HashGraph is built by one insert");
		n = (uint32_t)p->n;
		return n ? build(p, s, err) : KH_OK;
	}
	int count(const kh_keys *q, uint32_t *c, kh_stream s, kh_err *err)
	{
		return kh_view_count(view(), q, c, s, err);
	}
	int retrieve(const kh_keys *q, const kh_lists *o, kh_stream s, kh_err *err)
	{
		return kh_view_retrieve(this, view(), q, o, s, err);
	}
	int fold(const kh_keys *q, uint64_t *sums, kh_stream s, kh_err *err)
	{
		return kh_view_fold(view(), q, sums, s, err);
	}
	int join(const kh_keys *q, uint32_t *counts, kh_stream s, kh_err *err);
	int stats(kh_stream, kh_table_stats *st, kh_err *)
	{
		st->pairs = n;
		st->slots = range;
		return KH_OK;
	}
};

/* --- V1 --------------------------------------------------------------------------- */

template <class K>
static __global__ void v1_count(const K *keys, size_t n, uint32_t range, uint64_t seed,
				uint32_t *counter)
{
	size_t i = kh_thread_id();

	if (i < n)
		atomicAdd(counter + kh_reduce(kh_mix(keys[i], seed), range), 1u);
}

template <class K, class V>
static __global__ void v1_place(const K *keys, const V *values, size_t n,
				hashgraph<K, V> t, uint32_t *counter)
{
	size_t i = kh_thread_id();

	if (i >= n)
		return;
	K x = kh_mix(keys[i], t.cfg.seed);
	uint32_t h = kh_reduce(x, t.range), at = t.offset[h] + atomicAdd(counter + h, 1u);
	t.keys[at] = x;
	t.values[at] = values[i];
}

template <class K, class V>
int hashgraph<K, V>::build_v1(const kh_kv *p, kh_stream s, kh_err *err)
{
	kh_scratch<uint32_t> counter;
	int rc = counter.take(this, (size_t)range + 1, s, err);

	if (!rc)
		rc = kh_cuda(cudaMemsetAsync(counter.p, 0, (size_t)range * 4, s),
			     "HashGraph", err);
	if (rc)
		return rc;
	v1_count<K><<<kh_blocks(p->n), KH_BLOCK, 0, s>>>((const K *)p->keys, p->n, range,
							 cfg.seed, counter.p);
	if ((rc = kh_scan_counts(this, counter.p, range, offset, s, err)) ||
	    (rc = kh_cuda(cudaMemsetAsync(counter.p, 0, (size_t)range * 4, s),
			  "HashGraph", err)))
		return rc;
	v1_place<K, V><<<kh_blocks(p->n), KH_BLOCK, 0, s>>>(
		(const K *)p->keys, (const V *)p->values, p->n, *this, counter.p);
	return kh_launched("HashGraph V1", err);
}

/* --- V2 --------------------------------------------------------------------------- */

template <class K, class V> struct binned {
	hashgraph<K, V> t;
	const K *key;                   /* mixes, in bins */
	const V *value;
	uint32_t n, limit;              /* pairs above which a bin is large */
	uint32_t *start;                /* of the bins, and the end */
	uint32_t *large;                /* [0] their number, then they */

	__device__ uint32_t rows() const { return t.range >> t.bins_log2; }
	__device__ uint32_t row(K x) const { return kh_reduce(x, t.range); }
};

static __device__ __forceinline__ uint32_t top_bits(uint32_t x, uint32_t n)
{
	return n ? x >> (32 - n) : 0;
}
static __device__ __forceinline__ uint32_t top_bits(uint64_t x, uint32_t n)
{
	return n ? (uint32_t)(x >> (64 - n)) : 0;
}

template <class K, class V> static __global__ void find_bins(binned<K, V> b)
{
	uint32_t bin = (uint32_t)kh_thread_id(), from = 0, to = b.n;

	if (bin > 1u << b.t.bins_log2)
		return;
	while (from < to) {
		uint32_t mid = from + (to - from) / 2;
		if (top_bits(b.key[mid], b.t.bins_log2) < bin)
			from = mid + 1;
		else
			to = mid;
	}
	b.start[bin] = from;
	if (bin == 1u << b.t.bins_log2)
		b.t.offset[b.t.range] = b.n;
}

/* Exclusive scan of c[0 .. n) in shared memory, plus `first`; also written to out. */
static __device__ void scan_rows(uint32_t *c, uint32_t n, uint32_t first, uint32_t *out)
{
	__shared__ uint32_t warp_sum[BIN_BLOCK / 32];
	unsigned lane = threadIdx.x & 31, warp = threadIdx.x / 32;
	uint32_t carry = first;

	for (uint32_t from = 0; from < n; from += BIN_BLOCK) {
		uint32_t i = from + threadIdx.x, mine = i < n ? c[i] : 0, x = mine,
			 all = 0;

		for (int d = 1; d < 32; d *= 2) {
			uint32_t y = __shfl_up_sync(KH_FULL, x, d);
			x += (int)lane >= d ? y : 0;
		}
		if (lane == 31)
			warp_sum[warp] = x;
		__syncthreads();
		for (unsigned w = 0; w < BIN_BLOCK / 32; w++) {
			x += w < warp ? warp_sum[w] : 0;
			all += warp_sum[w];
		}
		if (i < n)
			out[i] = c[i] = carry + x - mine;
		carry += all;
		__syncthreads();
	}
}

/* One bin a block: count, scan, place; the placing in shared memory if the bin fits, so
 * that memory sees whole lines. */
template <class K, class V>
static __global__ void __launch_bounds__(BIN_BLOCK) build_bins(binned<K, V> b)
{
	extern __shared__ unsigned long long stage[];
	__shared__ uint32_t counter[BIN_ROWS];
	K *key = (K *)stage;
	V *value = (V *)(key + STAGE);
	uint32_t from = b.start[blockIdx.x], to = b.start[blockIdx.x + 1];
	uint32_t rows = b.rows(), first = blockIdx.x * rows;

	if (to - from > b.limit) {
		if (threadIdx.x == 0)
			b.large[1 + atomicAdd(b.large, 1u)] = blockIdx.x;
		return;
	}
	for (uint32_t i = threadIdx.x; i < rows; i += BIN_BLOCK)
		counter[i] = 0;
	__syncthreads();
	for (uint32_t i = from + threadIdx.x; i < to; i += BIN_BLOCK)
		atomicAdd(counter + b.row(b.key[i]) - first, 1u);
	__syncthreads();
	scan_rows(counter, rows, from, b.t.offset + first);
	bool fits = to - from <= STAGE;
	K *key_to = fits ? key - from : b.t.keys;
	V *value_to = fits ? value - from : b.t.values;
	for (uint32_t i = from + threadIdx.x; i < to; i += BIN_BLOCK) {
		K x = b.key[i];
		uint32_t at = atomicAdd(counter + b.row(x) - first, 1u);

		key_to[at] = x;
		value_to[at] = b.value[i];
	}
	__syncthreads();
	for (uint32_t i = from + threadIdx.x; fits && i < to; i += BIN_BLOCK) {
		b.t.keys[i] = key[i - from];
		b.t.values[i] = value[i - from];
	}
}

/* Adds one to *p for each lane and returns what it was; lanes with the same p go as
 * one. */
static __device__ uint32_t add_together(uint32_t *p)
{
	unsigned lane = threadIdx.x & 31, active = __activemask();
	unsigned same = __match_any_sync(active, (unsigned long long)p), old = 0;
	int leader = __ffs(same) - 1;

	if ((int)lane == leader)
		old = atomicAdd(p, (uint32_t)__popc(same));
	return __shfl_sync(same, old, leader) + __popc(same & ((1u << lane) - 1));
}

/* The large bins, by all blocks, with the offsets themselves as counters. */
template <class K, class V, bool PLACE> static __global__ void large_bins(binned<K, V> b)
{
	for (uint32_t l = 0; l < b.large[0]; l++) {
		uint32_t bin = b.large[1 + l], from = b.start[bin], to = b.start[bin + 1];

		for (uint64_t c = from + (uint64_t)blockIdx.x * CHUNK; c < to;
		     c += LARGE_GRID * CHUNK)
			for (uint64_t i = c + threadIdx.x;
			     i < min((uint64_t)to, c + CHUNK); i += KH_BLOCK) {
				K x = b.key[i];
				uint32_t at = add_together(b.t.offset + b.row(x));

				if (PLACE) {
					b.t.keys[at] = x;
					b.t.values[at] = b.value[i];
				}
			}
	}
}

/* Counts to offsets; and, after placing moved each offset to its row's end, back
 * again. */
template <class K, class V>
static __global__ void __launch_bounds__(BIN_BLOCK) large_scan(binned<K, V> b, bool back)
{
	__shared__ uint32_t row[BIN_ROWS];
	uint32_t rows = b.rows();

	for (uint32_t l = blockIdx.x; l < b.large[0]; l += gridDim.x) {
		uint32_t bin = b.large[1 + l], *offset = b.t.offset + (size_t)bin * rows;

		__syncthreads();
		for (uint32_t i = threadIdx.x; i < rows; i += BIN_BLOCK)
			row[i] = offset[i];
		__syncthreads();
		if (!back)
			scan_rows(row, rows, b.start[bin], offset);
		for (uint32_t i = threadIdx.x; back && i < rows; i += BIN_BLOCK)
			offset[i] = i ? row[i - 1] : b.start[bin];
	}
}

template <class K, class V>
int hashgraph<K, V>::build_v2(const kh_kv *p, kh_stream s, kh_err *err)
{
	const unsigned kb = sizeof(K) * 8, bins = 1u << bins_log2;
	kh_scratch<K> mixed, key;
	kh_scratch<V> value;
	kh_scratch<uint32_t> start, large;
	uint32_t n_pairs = (uint32_t)p->n, limit = 65536;
	int rc;

	if (n_pairs / bins * 8 > limit)
		limit = n_pairs / bins * 8;
	if ((rc = mixed.take(this, p->n, s, err)) ||
	    (rc = key.take(this, p->n, s, err)) ||
	    (rc = value.take(this, p->n, s, err)) ||
	    (rc = start.take(this, bins + 1, s, err)) ||
	    (rc = large.take(this, n_pairs / limit + 2, s, err)) ||
	    (rc = kh_cuda(cudaMemsetAsync(large.p, 0, 4, s), "HashGraph", err)) ||
	    (rc = kh_cuda(cudaMemsetAsync(offset, 0, (size_t)range * 4, s), "HashGraph",
			  err)) ||
	    (rc = kh_mix_keys(p->keys, p->n, kb, cfg.seed, mixed.p, s, err)))
		return rc;
	kh_sort o = { mixed.p, p->values, key.p,         value.p,
		      p->n,    kb,        sizeof(V) * 8, (int)(kb - bins_log2),
		      (int)kb };
	if ((rc = kh_sort_pairs(this, &o, s, err)))
		return rc;
	binned<K, V> b = { *this, key.p, value.p, n_pairs, limit, start.p, large.p };
	find_bins<K, V><<<kh_blocks(bins + 1), KH_BLOCK, 0, s>>>(b);
	const int stage = STAGE * (sizeof(K) + sizeof(V));
	if ((rc = kh_cuda(cudaFuncSetAttribute(
				  build_bins<K, V>,
				  cudaFuncAttributeMaxDynamicSharedMemorySize, stage),
			  "HashGraph V2", err)))
		return rc;
	build_bins<K, V><<<bins, BIN_BLOCK, stage, s>>>(b);
	large_bins<K, V, false><<<LARGE_GRID, KH_BLOCK, 0, s>>>(b);
	large_scan<K, V><<<64, BIN_BLOCK, 0, s>>>(b, false);
	large_bins<K, V, true><<<LARGE_GRID, KH_BLOCK, 0, s>>>(b);
	large_scan<K, V><<<64, BIN_BLOCK, 0, s>>>(b, true);
	return kh_launched("HashGraph V2", err);
}

/* --- probe-new -------------------------------------------------------------------- */

/* Queries in the order of their rows: neighbours read the same rows of the table. */
template <class K, class V>
static __global__ void intersect(kh_hashgraph_view<K, V> t, const K *mix,
				 const uint32_t *query, size_t n, uint32_t *counts)
{
	size_t i = kh_thread_id();

	if (i >= n)
		return;
	K x = mix[i];
	uint32_t h = kh_reduce(x, t.range), c = 0;
	for (uint32_t j = t.offset[h]; j < t.offset[h + 1]; j++)
		c += t.keys[j] == x;
	counts[query[i]] = c;
}

static __global__ void number(uint32_t *p, size_t n)
{
	size_t i = kh_thread_id();

	if (i < n)
		p[i] = (uint32_t)i;
}

template <class K, class V>
int hashgraph<K, V>::join(const kh_keys *q, uint32_t *counts, kh_stream s, kh_err *err)
{
	kh_scratch<uint32_t> row, value, index;
	kh_scratch<K> key;
	hashgraph<K, uint32_t> g = {};
	int rc;

	if (q->n >= UINT32_MAX)
		return kh_fail(err, KH_EUSAGE,
			       "a batch of %zu queries: below 2^32 are possible", q->n);
	if ((rc = row.take(this, (size_t)range + 1, s, err)) ||
	    (rc = value.take(this, q->n, s, err)) ||
	    (rc = index.take(this, q->n, s, err)) || (rc = key.take(this, q->n, s, err)))
		return rc;
	(kh_table &)g = *this;
	g.offset = row.p;
	g.keys = key.p;
	g.values = value.p;
	g.range = range;
	g.bins_log2 = bins_log2;
	g.v2 = v2;
	number<<<kh_blocks(q->n), KH_BLOCK, 0, s>>>(index.p, q->n);
	kh_kv p = { q->keys, index.p, q->n };
	if ((rc = g.build(&p, s, err)))
		return rc;
	intersect<K, V><<<kh_blocks(q->n), KH_BLOCK, 0, s>>>(view(), key.p, value.p, q->n,
							     counts);
	return kh_launched("probe-new", err);
}

/* --- the two tables --------------------------------------------------------------- */

template <class K, class V>
static int open_hashgraph(const kh_table_config *c, bool v2, kh_stream s, kh_table **out,
			  kh_err *err)
{
	typedef hashgraph<K, V> T;
	typedef kh_bind<T> B;
	static const kh_table_fn fn = { B::insert, nullptr,  B::count, B::retrieve,
					B::fold,   B::join,  nullptr,  nullptr,
					nullptr,   B::stats, B::view };
	T *t = kh_table_make<T>();
	double rows = c->capacity / (c->range > 0 ? c->range : 1) + 1;
	uint64_t bins = 2;
	int rc;

	*out = t;
	if ((rc = kh_table_init(t, &fn, c, s, err)))
		return rc;
	if (rows > 4e9)
		return kh_fail(err, KH_EUSAGE, "a hash range of %.0f: 4e9 is the most",
			       rows);
	t->bins_log2 = 1;
	while (bins * BIN_ROWS < rows || bins < c->bins)
		bins *= 2, t->bins_log2++;
	t->range = (uint32_t)(((uint64_t)rows + bins - 1) / bins * bins);
	t->v2 = v2;
	t->group = c->group ? c->group : 1;
	while (!c->group && t->group < 32 && t->group * c->distinct * 2 <= c->capacity)
		t->group *= 2;
	if ((rc = kh_take(t, &t->offset, (size_t)t->range + 1, 0, s, err)) ||
	    (rc = kh_take(t, &t->keys, c->capacity, 0, s, err)))
		return rc;
	return kh_take(t, &t->values, c->capacity, 0, s, err);
}

int kh_hashgraph1_open(const kh_table_config *c, kh_stream s, kh_table **t, kh_err *err)
{
	return KH_DISPATCH(open_hashgraph, c, c, false, s, t, err);
}

int kh_hashgraph2_open(const kh_table_config *c, kh_stream s, kh_table **t, kh_err *err)
{
	return KH_DISPATCH(open_hashgraph, c, c, true, s, t, err);
}
