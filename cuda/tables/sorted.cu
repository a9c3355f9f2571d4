/*
 * sorted.cu - row 11's other lesson: sorting and binary search as a contender
 *
 * The cs344 lecture on hashing weighs hash tables against a sorted array.  Keys stay as
 * they are, so ranges of keys are at hand too; a look-up is two binary searches, whose
 * first steps hit the cache.  Static: built by one insert.
 */
#include "span_retrieve.cuh"
#include "systems.h"

template <class K, class V> struct sorted : kh_table {
	typedef kh_sorted_view<K, V> view_type;
	K *keys;
	V *values;
	uint32_t n;

	view_type view() const { return { keys, values, n, 8 }; }
	int insert(const kh_kv *p, kh_stream s, kh_err *err)
	{
		kh_sort o = { p->keys,       p->values,     keys, values,       p->n,
			      sizeof(K) * 8, sizeof(V) * 8, 0,    sizeof(K) * 8 };

		if (n)
			return kh_fail(err, KH_EUSAGE,
				       "table sorted is built by one insert");
		n = (uint32_t)p->n;
		return n ? kh_sort_pairs(this, &o, s, err) : KH_OK;
	}
	int spans(const kh_keys *q, kh_span *span, uint32_t *counts, kh_stream s,
		  kh_err *err)
	{
		kh_span_kernel<<<kh_blocks(q->n), KH_BLOCK, 0, s>>>(
			view(), (const K *)q->keys, q->n, span, counts);
		return kh_launched("look-up", err);
	}
	int count(const kh_keys *q, uint32_t *counts, kh_stream s, kh_err *err)
	{
		return spans(q, nullptr, counts, s, err);
	}
	int retrieve(const kh_keys *q, const kh_lists *out, kh_stream s, kh_err *err)
	{
		kh_scratch<kh_span> span;
		int rc = span.take(this, q->n, s, err);

		if (!rc)
			rc = spans(q, span.p, nullptr, s, err);
		return rc ? rc : kh_span_copy<V>(this, span.p, q->n, values, out, s, err);
	}
	int fold(const kh_keys *q, uint64_t *sums, kh_stream s, kh_err *err)
	{
		return kh_view_fold(view(), q, sums, s, err);
	}
	int stats(kh_stream, kh_table_stats *st, kh_err *)
	{
		st->pairs = st->slots = n;
		return KH_OK;
	}
};

template <class K, class V>
static int open_sorted(const kh_table_config *c, kh_stream s, kh_table **out, kh_err *err)
{
	typedef sorted<K, V> T;
	typedef kh_bind<T> B;
	static const kh_table_fn fn = { B::insert, nullptr,  B::count, B::retrieve,
					B::fold,   nullptr,  nullptr,  nullptr,
					nullptr,   B::stats, B::view };
	T *t = kh_table_make<T>();
	int rc;

	*out = t;
	if ((rc = kh_table_init(t, &fn, c, s, err)) ||
	    (rc = kh_take(t, &t->keys, c->capacity, 0, s, err)))
		return rc;
	return kh_take(t, &t->values, c->capacity, 0, s, err);
}

int kh_sorted_open(const kh_table_config *c, kh_stream s, kh_table **t, kh_err *err)
{
	return KH_DISPATCH(open_sorted, c, c, s, t, err);
}
