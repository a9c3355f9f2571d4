/*
 * original.cuh - what all originals share: pairs out of two arrays, values to where find() wants
 * them, and how a map of theirs becomes a table
 *
 * Their mark for a free slot is the key ~0, which must not occur; what they give for a key that is
 * not there is the value ~0.
 */
#ifndef KHT_ORIGINAL_CUH
#define KHT_ORIGINAL_CUH

#include <exception>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/transform_output_iterator.h>
#include "cuda/tables/host.cuh"
#include "tests/bench/program/tables/originals.h"

template <class P, class K, class V> struct original_pair {
	const K *keys;
	const V *values;

	__host__ __device__ P operator()(size_t i) const { return { keys[i], values[i] }; }
};

template <class V> struct original_value {
	V missing;

	__host__ __device__ V operator()(V v) const { return v == (V)~(V)0 ? missing : v; }
};

/* n pairs, as an iterator over P. */
template <class P, class K, class V> static auto original_pairs(const K *keys, const V *values)
{
	return thrust::make_transform_iterator(thrust::counting_iterator<size_t>(0),
					       original_pair<P, K, V> { keys, values });
}

/* An iterator that writes values, and `missing` for those that are ~0. */
template <class V> static auto original_values(V *out, V missing)
{
	return thrust::make_transform_output_iterator(out, original_value<V> { missing });
}

/* M: a type of map that is made of the number of pairs and the load, has insert(), find(), size(),
 * slots(), and erase() if it is ERASES.  What they throw becomes a status. */
template <class M> struct original : kht_table {
	typedef typename M::key_type K;
	typedef typename M::value_type V;
	M *map;
	uint64_t stored;

	template <class F> static int guarded(kh_err *err, F f)
	{
		try {
			f();
		} catch (const std::bad_alloc &) {
			return kh_fail_nomem(err);
		} catch (const std::exception &e) {
			return kh_fail(err, KH_EDEVICE, "%s", e.what());
		}
		return kht_launched("an original", err);
	}
	static original *self(kht_table *t) { return static_cast<original *>(t); }
	static int insert(kht_table *t, const kht_kv *p, kht_stream s, kh_err *err)
	{
		return guarded(err, [&] {
			self(t)->map->insert((const K *)p->keys, (const V *)p->values, p->n, s);
		});
	}
	static int find(kht_table *t, const kht_keys *q, const kht_found *o, kht_stream s,
			kh_err *err)
	{
		return guarded(err, [&] {
			self(t)->map->find((const K *)q->keys, q->n, (V *)o->values,
					   (V)o->missing, s);
		});
	}
	static int erase(kht_table *t, const kht_keys *q, kht_stream s, kh_err *err)
	{
		return guarded(err, [&] {
			if constexpr (M::ERASES)
				self(t)->map->erase((const K *)q->keys, q->n, s);
		});
	}
	static int used(kht_table *t, kht_stream s, kh_err *err)
	{
		return guarded(err, [&] { self(t)->stored = self(t)->map->size(s); });
	}
	static void stats(kht_table *t, const unsigned long long *, kht_table_stats *st)
	{
		st->pairs = self(t)->stored;
		st->slots = self(t)->map->slots();
		st->bytes = st->slots * (sizeof(K) + sizeof(V));
	}
	static void close(kht_table *t) { delete self(t)->map; }
	static int open(const kht_table_config *c, kht_stream s, kht_table **out, kh_err *err)
	{
		static const kht_table_fn fn = functions();
		original *t = (original *)calloc(1, sizeof *t);
		int rc;

		*out = t;
		rc = kht_table_init(t, &fn, c, s, err);
		return rc ? rc : guarded(err, [&] { t->map = new M(c->capacity, c->load); });
	}
	static kht_table_fn functions()
	{
		kht_table_fn f = {};

		f.insert = insert;
		f.find = find;
		f.erase = M::ERASES ? erase : nullptr;
		f.used = used;
		f.stats = stats;
		f.close = close;
		return f;
	}
};

/* M<K, V> of the widths of the config. */
template <template <class, class> class M>
static int original_open(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	if (c->key_bits == 32 && c->value_bits == 32)
		return original<M<uint32_t, uint32_t>>::open(c, s, t, err);
	if (c->key_bits == 64 && c->value_bits == 64)
		return original<M<uint64_t, uint64_t>>::open(c, s, t, err);
	return kh_fail(err, KH_EUSAGE, "originals: keys and values of equal width");
}

#endif
