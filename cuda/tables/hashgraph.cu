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
 * counts, scans and places it alone (hashgraph_bins.cuh).  Pairs carry values, not
 * input positions.  Static: built by one insert, which does not wait.
 */
#include "retrieve.cuh"
#include "hashgraph_bins.cuh"
#include "systems.h"

#define BIN_ROWS 4096                   /* hash values of a bin, at most */

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
		return { offset, keys, values, range, cfg.seed, group, 0 };
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

template <class K, class V>
int hashgraph<K, V>::build_v2(const kh_kv *p, kh_stream s, kh_err *err)
{
	const unsigned kb = sizeof(K) * 8;
	kh_scratch<K> mixed, key;
	kh_scratch<V> value;
	kh_bins<K, V> b = {};
	int rc;

	if ((rc = mixed.take(this, p->n, s, err)) ||
	    (rc = key.take(this, p->n, s, err)) ||
	    (rc = value.take(this, p->n, s, err)) ||
	    (rc = kh_mix_keys(p->keys, p->n, kb, cfg.seed, mixed.p, s, err)))
		return rc;
	kh_sort o = { mixed.p, p->values, key.p,         value.p,
		      p->n,    kb,        sizeof(V) * 8, (int)(kb - bins_log2),
		      (int)kb };
	if ((rc = kh_sort_pairs(this, &o, s, err)))
		return rc;
	b.one = { key.p, value.p, (uint32_t)p->n };
	b.runs = 1;
	b.bins_log2 = bins_log2;
	b.bins = 1u << bins_log2;
	b.rows = range >> bins_log2;
	b.offset = offset;
	b.keys = keys;
	b.values = values;
	return kh_bins_build(this, b, p->n, s, err);
}

/* --- probe-new -------------------------------------------------------------------- */

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
	kh_number<<<kh_blocks(q->n), KH_BLOCK, 0, s>>>(index.p, q->n);
	kh_kv p = { q->keys, index.p, q->n };
	if ((rc = g.build(&p, s, err)))
		return rc;
	kh_intersect<K, V><<<kh_blocks(q->n), KH_BLOCK, 0, s>>>(view(), key.p, value.p, q->n,
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
