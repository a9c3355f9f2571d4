/* hashgraph_part.cu - the HashGraph of one of several GPUs (Tripathy, Green 2021) */
#include "cuda/tables/hashgraph.cuh"
#include "cuda/tables/retrieve.cuh"
#include "cuda/tables/hashgraph_bins.cuh"

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
