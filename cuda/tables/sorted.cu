/*
 * sorted.cu - sorting and binary search, beside the hash tables
 *
 * The cs344 lecture on hashing weighs hash tables against a sorted array.  Keys stay as
 * they are, so ranges of keys are at hand too; a look-up is two binary searches, whose
 * first steps hit the cache.  Static: built by one insert.
 */
#include "cuda/tables/sorted.cuh"
#include "cuda/tables/retrieve.cuh"

template <class K, class V> struct sorted : kht_table {
	typedef kht_sorted_view<K, V> view_type;
	K *keys;
	V *values;
	uint32_t n;

	view_type view() const { return { keys, values, n, 8 }; }
	int open(kht_stream s, kh_err *err)
	{
		int rc = kht_take(this, &keys, cfg.capacity, 0, s, err);

		return rc ? rc : kht_take(this, &values, cfg.capacity, 0, s, err);
	}
	int insert(const kht_kv *p, kht_stream s, kh_err *err)
	{
		kht_sort o = { p->keys,       p->values,     keys, values,       p->n,
			       sizeof(K) * 8, sizeof(V) * 8, 0,    sizeof(K) * 8 };

		n = (uint32_t)p->n;
		slots = n;
		return kht_sort_pairs(this, &o, s, err);
	}
	int spans(const kht_keys *q, kht_span *span, uint32_t *counts, kht_stream s, kh_err *err)
	{
		kht_span_kernel<<<kht_blocks(q->n), KHT_BLOCK, 0, s>>>(view(), (const K *)q->keys,
								       q->n, span, counts);
		return kht_launched("look-up", err);
	}
};

int kht_sorted_open(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	return kht_make_wide<sorted, KHT_SORTED_CAN, kht_by_spans>(c, s, t, err);
}
