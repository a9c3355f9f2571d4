/*
 * original.cuh - what all originals share: pairs out of two arrays, values to where find() wants
 * them, and how a map of theirs becomes a table
 *
 * Their mark for a free slot is the key ~0, and that for an erased one a key that the bench
 * does not make either; what they give for a key that is not there is the value ~0.
 */
#ifndef KHT_ORIGINAL_CUH
#define KHT_ORIGINAL_CUH

#include <exception>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/transform_output_iterator.h>
#include "cuda/tables/host.cuh"
#include "cuda/tables/bench/originals.h"

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

/* The mark for an erased slot. */
template <class K> constexpr K ORIGINAL_ERASED = (K)~(K)5;

template <class V> static __global__ void original_fill(V *p, size_t n, V x)
{
	size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;

	if (i < n)
		p[i] = x;
}

/* For maps that write nothing for a key that is not there. */
template <class V> static void original_no_values(V *out, size_t n, V missing, cudaStream_t s)
{
	original_fill<<<kht_blocks(n), KHT_BLOCK, 0, s>>>(out, n, missing);
}

/* M: a type of map that is made of the number of pairs and the load, has insert(), size(), slots(),
 * bytes(), and as its CAN says find(), erase(), retrieve().  What they throw becomes a status. */
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
			if constexpr ((M::CAN & KHT_TABLE_FIND) != 0)
				self(t)->map->find((const K *)q->keys, q->n, (V *)o->values,
						   (V)o->missing, s);
		});
	}
	static int erase(kht_table *t, const kht_keys *q, kht_stream s, kh_err *err)
	{
		return guarded(err, [&] {
			if constexpr ((M::CAN & KHT_TABLE_ERASE) != 0)
				self(t)->map->erase((const K *)q->keys, q->n, s);
		});
	}
	/* The last offset is right, and of maps whose lists lie mixed the last alone. */
	static int retrieve(kht_table *t, const kht_keys *q, const kht_lists *o, kht_stream s,
			    kh_err *err)
	{
		return guarded(err, [&] {
			if constexpr ((M::CAN & KHT_TABLE_MULTI) != 0)
				self(t)->map->retrieve((const K *)q->keys, q->n, o->offsets,
						       (V *)o->values, s);
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
		st->bytes = self(t)->map->bytes();
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
		f.find = M::CAN & KHT_TABLE_FIND ? find : nullptr;
		f.erase = M::CAN & KHT_TABLE_ERASE ? erase : nullptr;
		f.retrieve = M::CAN & KHT_TABLE_MULTI ? retrieve : nullptr;
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
