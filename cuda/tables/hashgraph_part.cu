/* hashgraph_part.cu - row 4: the HashGraph of one of several GPUs (Tripathy, Green 2021) */
#include "retrieve.cuh"
#include "hashgraph_bins.cuh"

/* Queries that are mixes already. */
template <class K, class V> struct mixed_view : kh_hashgraph_view<K, V> {
	template <class F> __device__ uint32_t each(const kh_group &g, K x, F f) const
	{
		return this->each_mix(g, x, f);
	}
};

template <class K, class V> static mixed_view<K, V> view_of(const kh_hashgraph_part *p)
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

uint32_t kh_hashgraph_bin_rows(unsigned key_bits, unsigned value_bits)
{
	uint32_t rows = 1024, pair = (key_bits + value_bits) / 8;

	/* A counter a row, and a quarter more pairs than there are in the mean. */
	while (rows < 16384 && rows * 2 * (4 + pair + pair / 4) <= KH_BIN_MEMORY)
		rows *= 2;
	return rows;
}

template <class K, class V>
static int build(kh_table *t, const kh_hashgraph_part *p, const kh_run *run, unsigned runs,
		 kh_stream s, kh_err *err)
{
	kh_bins<K, V> b = {};

	b.run = run;
	b.runs = runs;
	b.bins_log2 = p->bins_log2;
	b.rows = p->rows;
	b.first = p->first;
	b.bins = p->bins;
	b.offset = p->offset;
	b.keys = (K *)p->keys;
	b.values = (V *)p->values;
	return kh_bins_build(t, b, p->n, s, err);
}

int kh_hashgraph_part_build(kh_table *t, const kh_hashgraph_part *p, const kh_run *run,
			    unsigned runs, kh_stream s, kh_err *err)
{
	if (p->bins == 0)
		return KH_OK;
	if (p->value_bits == 0)
		return p->key_bits == 32
			       ? build<uint32_t, kh_none>(t, p, run, runs, s, err)
			       : build<uint64_t, kh_none>(t, p, run, runs, s, err);
	return KH_DISPATCH(build, p, t, p, run, runs, s, err);
}

/* Counting reads no values, of whatever width. */
int kh_hashgraph_part_count(const kh_hashgraph_part *p, const kh_keys *q, uint32_t *counts,
			    kh_stream s, kh_err *err)
{
	if (q->n == 0)
		return KH_OK;
	if (p->key_bits == 32)
		return kh_view_count(view_of<uint32_t, uint32_t>(p), q, counts, s, err);
	return kh_view_count(view_of<uint64_t, uint32_t>(p), q, counts, s, err);
}

template <class K, class V>
static int copy(kh_table *t, const kh_hashgraph_part *p, const kh_keys *q,
		const kh_lists *out, kh_stream s, kh_err *err)
{
	kh_copy_kernel<<<kh_blocks(q->n * p->group), KH_BLOCK, 0, s>>>(view_of<K, V>(p), *q,
								       *out, t->note);
	return kh_launched("retrieve", err);
}

int kh_hashgraph_part_copy(kh_table *t, const kh_hashgraph_part *p, const kh_keys *q,
			   const kh_lists *out, kh_stream s, kh_err *err)
{
	return q->n ? KH_DISPATCH(copy, p, t, p, q, out, s, err) : KH_OK;
}

template <class K>
static int join(const kh_hashgraph_part *p, const kh_hashgraph_part *q, uint32_t *counts,
		kh_stream s, kh_err *err)
{
	kh_intersect<K, uint32_t><<<kh_blocks(q->n), KH_BLOCK, 0, s>>>(
		view_of<K, uint32_t>(p), (const K *)q->keys, (const uint32_t *)q->values,
		q->n, counts);
	return kh_launched("probe-new", err);
}

int kh_hashgraph_part_join(const kh_hashgraph_part *p, const kh_hashgraph_part *q,
			   uint32_t *counts, kh_stream s, kh_err *err)
{
	if (q->n == 0)
		return KH_OK;
	return p->key_bits == 32 ? join<uint32_t>(p, q, counts, s, err)
				 : join<uint64_t>(p, q, counts, s, err);
}
