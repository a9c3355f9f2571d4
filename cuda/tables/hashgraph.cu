/*
 * hashgraph.cu - HashGraph V1, V2 and probe-new (Green 2019, Alg. 1 to 3)
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
 * counts, scans and places it alone (hashgraph_bins.cuh).  Pairs carry values, not
 * input positions.  Static: built by one insert, which does not wait.
 * At the end the HashGraph of one of several GPUs (Tripathy, Green 2021).
 */
#include "cuda/tables/hashgraph.cuh"
#include "cuda/tables/retrieve.cuh"
#include "cuda/tables/hashgraph_bins.cuh"

#define BIN_ROWS 4096 /* hash values of a bin, at most */

template <class K, class V> struct hashgraph : kht_table {
	typedef kht_hashgraph_view<K, V> view_type;
	uint32_t *offset; /* range + 1 */
	K *keys;
	V *values;
	uint32_t range, bins_log2; /* range is a multiple of 2^bins_log2 */
	unsigned group;               /* lanes a row: about the pairs of a key */
	bool v2;

	view_type view() const { return { offset, keys, values, range, cfg.seed, group, 0 }; }
	int build_v1(const kht_kv *p, kht_stream s, kh_err *err);
	int build_v2(const kht_kv *p, kht_stream s, kh_err *err);
	int insert(const kht_kv *p, kht_stream s, kh_err *err)
	{
		return v2 ? build_v2(p, s, err) : build_v1(p, s, err);
	}
	int open(kht_stream s, kh_err *err);
	int join(const kht_keys *q, uint32_t *counts, kht_stream s, kh_err *err);
};

/* --- V1 --------------------------------------------------------------------------- */

template <class K>
static __global__ void v1_count(const K *keys, size_t n, uint32_t range, uint64_t seed,
				uint32_t *counter)
{
	size_t i = kht_thread_id();

	if (i < n)
		atomicAdd(counter + kht_reduce(kht_mix(keys[i], seed), range), 1u);
}

template <class K, class V>
static __global__ void v1_place(const K *keys, const V *values, size_t n, hashgraph<K, V> t,
				uint32_t *counter)
{
	size_t i = kht_thread_id();

	if (i >= n)
		return;
	K x = kht_mix(keys[i], t.cfg.seed);
	uint32_t h = kht_reduce(x, t.range), at = t.offset[h] + atomicAdd(counter + h, 1u);
	t.keys[at] = x;
	t.values[at] = values[i];
}

template <class K, class V>
int hashgraph<K, V>::build_v1(const kht_kv *p, kht_stream s, kh_err *err)
{
	kht_scratch<uint32_t> counter;
	int rc = counter.take(this, (size_t)range + 1, s, err);

	if (!rc)
		rc = kht_cuda(cudaMemsetAsync(counter.p, 0, (size_t)range * 4, s), "HashGraph",
			      err);
	if (rc)
		return rc;
	v1_count<K><<<kht_blocks(p->n), KHT_BLOCK, 0, s>>>((const K *)p->keys, p->n, range,
							   cfg.seed, counter.p);
	if ((rc = kht_scan_counts(this, counter.p, range, offset, s, err)) ||
	    (rc = kht_cuda(cudaMemsetAsync(counter.p, 0, (size_t)range * 4, s), "HashGraph", err)))
		return rc;
	v1_place<K, V><<<kht_blocks(p->n), KHT_BLOCK, 0, s>>>(
		(const K *)p->keys, (const V *)p->values, p->n, *this, counter.p);
	return kht_launched("HashGraph V1", err);
}

/* --- V2 --------------------------------------------------------------------------- */

template <class K, class V>
int hashgraph<K, V>::build_v2(const kht_kv *p, kht_stream s, kh_err *err)
{
	const int kb = sizeof(K) * 8;
	kht_scratch<K> key;
	kht_scratch<V> value;
	kht_bins<K, V> b = {};
	int rc;

	if ((rc = key.take(this, p->n, s, err)) || (rc = value.take(this, p->n, s, err)))
		return rc;
	kht_sort o = { p->keys,       p->values,     key.p,               value.p, p->n,
		       sizeof(K) * 8, sizeof(V) * 8, kb - (int)bins_log2, kb };
	if ((rc = kht_sort_mixes(this, &o, s, err)))
		return rc;
	b.one = { key.p, value.p, (uint32_t)p->n };
	b.runs = 1;
	b.bins_log2 = bins_log2;
	b.bins = 1u << bins_log2;
	b.rows = range >> bins_log2;
	b.offset = offset;
	b.keys = keys;
	b.values = values;
	return kht_bins_build(this, b, p->n, s, err);
}

/* --- probe-new -------------------------------------------------------------------- */

template <class K, class V>
int hashgraph<K, V>::join(const kht_keys *q, uint32_t *counts, kht_stream s, kh_err *err)
{
	kht_scratch<uint32_t> row, value, index;
	kht_scratch<K> key;
	hashgraph<K, uint32_t> g = {};
	int rc;

	if (q->n >= UINT32_MAX)
		return kh_fail(err, KH_EUSAGE, "a batch of %zu queries: below 2^32 are possible",
			       q->n);
	if ((rc = row.take(this, (size_t)range + 1, s, err)) ||
	    (rc = value.take(this, q->n, s, err)) || (rc = index.take(this, q->n, s, err)) ||
	    (rc = key.take(this, q->n, s, err)))
		return rc;
	(kht_table &)g = *this;
	g.offset = row.p;
	g.keys = key.p;
	g.values = value.p;
	g.range = range;
	g.bins_log2 = bins_log2;
	g.v2 = v2;
	kht_number<<<kht_blocks(q->n), KHT_BLOCK, 0, s>>>(index.p, q->n);
	kht_kv p = { q->keys, index.p, q->n };
	if ((rc = g.insert(&p, s, err)))
		return rc;
	kht_intersect<K, V>
		<<<kht_blocks(q->n), KHT_BLOCK, 0, s>>>(view(), key.p, value.p, q->n, counts);
	return kht_launched("probe-new", err);
}

/* --- the two tables --------------------------------------------------------------- */

template <class K, class V> int hashgraph<K, V>::open(kht_stream s, kh_err *err)
{
	const double rows = cfg.capacity / (cfg.range > 0 ? cfg.range : 1) + 1;
	uint64_t bins = 2;
	int rc;

	if (rows > 4e9)
		return kh_fail(err, KH_EUSAGE, "a hash range of %.0f: 4e9 is the most", rows);
	bins_log2 = 1;
	while (bins * BIN_ROWS < rows || bins < cfg.bins)
		bins *= 2, bins_log2++;
	range = (uint32_t)(((uint64_t)rows + bins - 1) / bins * bins);
	slots = range;
	group = cfg.group ? cfg.group : 1;
	while (!cfg.group && group < 32 && group * cfg.distinct * 2 <= cfg.capacity)
		group *= 2;
	if ((rc = kht_take(this, &offset, (size_t)range + 1, 0, s, err)) ||
	    (rc = kht_take(this, &keys, cfg.capacity, 0, s, err)))
		return rc;
	return kht_take(this, &values, cfg.capacity, 0, s, err);
}

template <class K, class V> struct hashgraph2 : hashgraph<K, V> {
	int open(kht_stream s, kh_err *err)
	{
		this->v2 = true;
		return hashgraph<K, V>::open(s, err);
	}
};

int kht_hashgraph1_open(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	return kht_make_wide<hashgraph, KHT_HASHGRAPH_CAN, kht_by_view>(c, s, t, err);
}

int kht_hashgraph2_open(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	return kht_make_wide<hashgraph2, KHT_HASHGRAPH_CAN, kht_by_view>(c, s, t, err);
}

/* --- one of several GPUs ---------------------------------------------------------- */

/* Queries that are mixes already. */
template <class K, class V> struct mixed_view : kht_hashgraph_view<K, V> {
	template <class F> __device__ uint32_t each(const kht_group &g, K x, F f) const
	{
		return this->each_mix(g, x, f);
	}
};

template <class K, class V> static mixed_view<K, V> view_of(const kht_hashgraph_part *p)
{
	mixed_view<K, V> w;

	w.offset = p->offset;
	w.keys = (const K *)p->keys;
	w.values = (const V *)p->values;
	w.range = p->rows << p->bins_log2;
	w.seed = 0;
	w.group = p->group;
	w.skip = p->first * p->rows;
	return w;
}

/* Less what the kernels have besides, below 3 KiB. */
int kht_hashgraph_bin_memory(int device, uint32_t *bytes, kh_err *err)
{
	int most = 0;
	int rc = kht_cuda(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin,
						 device),
			  "HashGraph", err);

	*bytes = (uint32_t)most - 3072;
	return rc;
}

uint32_t kht_hashgraph_bin_rows(unsigned key_bits, unsigned value_bits, uint32_t memory)
{
	uint32_t rows = 1024, pair = (key_bits + value_bits) / 8;

	/* A counter a row, and a quarter more pairs than there are in the mean. */
	while (rows < 16384 && rows * 2 * (4 + pair + pair / 4) <= memory)
		rows *= 2;
	return rows;
}

template <class K, class V>
static int build(kht_table *t, const kht_hashgraph_part *p, const kht_run *run, unsigned runs,
		 kht_stream s, kh_err *err)
{
	kht_bins<K, V> b = {};

	b.run = run;
	b.runs = runs;
	b.bins_log2 = p->bins_log2;
	b.rows = p->rows;
	b.first = p->first;
	b.bins = p->bins;
	b.offset = p->offset;
	b.keys = (K *)p->keys;
	b.values = (V *)p->values;
	return kht_bins_build(t, b, p->n, s, err);
}

int kht_hashgraph_part_build(kht_table *t, const kht_hashgraph_part *p, const kht_run *run,
			     unsigned runs, kht_stream s, kh_err *err)
{
	if (p->bins == 0)
		return KH_OK;
	if (p->value_bits == 0)
		return p->key_bits == 32 ? build<uint32_t, kht_none>(t, p, run, runs, s, err)
					 : build<uint64_t, kht_none>(t, p, run, runs, s, err);
	return KHT_DISPATCH(build, p, t, p, run, runs, s, err);
}

/* Counting reads no values, of whatever width. */
int kht_hashgraph_part_count(const kht_hashgraph_part *p, const kht_keys *q, uint32_t *counts,
			     kht_stream s, kh_err *err)
{
	if (q->n == 0)
		return KH_OK;
	if (p->key_bits == 32)
		return kht_view_count(view_of<uint32_t, uint32_t>(p), q, counts, s, err);
	return kht_view_count(view_of<uint64_t, uint32_t>(p), q, counts, s, err);
}

template <class K, class V>
static int copy(kht_table *t, const kht_hashgraph_part *p, const kht_keys *q, const kht_lists *out,
		kht_stream s, kh_err *err)
{
	kht_copy_kernel<<<kht_blocks(q->n * p->group), KHT_BLOCK, 0, s>>>(view_of<K, V>(p), *q,
									  *out, t->note);
	return kht_launched("retrieve", err);
}

int kht_hashgraph_part_copy(kht_table *t, const kht_hashgraph_part *p, const kht_keys *q,
			    const kht_lists *out, kht_stream s, kh_err *err)
{
	return q->n ? KHT_DISPATCH(copy, p, t, p, q, out, s, err) : KH_OK;
}

template <class K>
static int join(const kht_hashgraph_part *p, const kht_hashgraph_part *q, uint32_t *counts,
		kht_stream s, kh_err *err)
{
	kht_intersect<K, uint32_t>
		<<<kht_blocks(q->n), KHT_BLOCK, 0, s>>>(view_of<K, uint32_t>(p), (const K *)q->keys,
							(const uint32_t *)q->values, q->n, counts);
	return kht_launched("probe-new", err);
}

int kht_hashgraph_part_join(const kht_hashgraph_part *p, const kht_hashgraph_part *q,
			    uint32_t *counts, kht_stream s, kh_err *err)
{
	if (q->n == 0)
		return KH_OK;
	return p->key_bits == 32 ? join<uint32_t>(p, q, counts, s, err)
				 : join<uint64_t>(p, q, counts, s, err);
}
