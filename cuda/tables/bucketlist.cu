/*
 * bucketlist.cu - row 7: WarpCore's BucketListHashTable (Juenger et al. 2020, IV-C)
 *
 * A single-value table whose values are handles: tail bucket, number of values, and one
 * of four states (none, blocked, ready, full) in 64 bits, changed by CAS.  Buckets of
 * values grow by lambda from s0; they come from one pool by an atomic counter, and all
 * but a key's first begin with the place of the one before.  Whoever finds the tail full
 * blocks the handle, takes a bucket and opens the handle again; others wait with
 * back-off.
 * Departures: lanes of a warp that append to one list reserve their places by one CAS;
 * bucket sizes stand in a table of sums (lambda's powers are not recomputed by every
 * insert) and stop growing at 2^20 values; the count has 30 bits; the handles of the two
 * mark keys lie in side cells.
 */
#include <math.h>
#include "open_addressing.cuh"
#include "systems.h"

#define BUCKET_MAX (UINT32_C(1) << 20)

/* A bucket of n values from the pool; ~0: it has run dry. */
static __device__ uint64_t pool_take(unsigned long long *note, uint64_t pool, uint32_t n)
{
	uint64_t at = atomicAdd(note + KH_NOTE_POOL, (unsigned long long)n);

	if (at + n <= pool)
		return at;
	return ~UINT64_C(0);
}

/* Room for `got` values from pool[at] on; 0: look again. */
struct reserved {
	uint64_t at;
	uint32_t got;
	bool dry;
};

template <class K, class V> struct list_tail {
	kh_bucketlist_view<K, V> w;
	uint64_t pool;
	unsigned long long *note;

	/* The handle is ours (blocked); old is what it was. */
	__device__ reserved grow(uint64_t *handle, uint64_t old, uint32_t want) const
	{
		uint32_t n = kh_handle_count(old), place,
			 level = w.growth.level(n, place);
		uint32_t size = w.growth.size(level), link = level > 0,
			 got = min(want, size);
		uint64_t at = pool_take(note, pool, size + link);

		if (at == ~UINT64_C(0)) {
			atomicExch((unsigned long long *)handle, (unsigned long long)old);
			return { 0, 0, true };
		}
		if (link)
			w.pool[at] = (V)kh_handle_tail(old);
		__threadfence();
		atomicExch((unsigned long long *)handle,
			   (unsigned long long)kh_handle(got == size ? KH_LIST_FULL
								     : KH_LIST_READY,
							 n + got, (uint32_t)at));
		return { at + link, got, false };
	}
	/* One attempt to reserve up to `want` values at the list's end. */
	__device__ reserved reserve(uint64_t *handle, uint32_t want) const
	{
		uint64_t h = __ldcg(handle);
		kh_list_state st = kh_handle_state(h);
		uint32_t n = kh_handle_count(h), tail = kh_handle_tail(h), place;

		if (st == KH_LIST_BLOCKED)
			return { 0, 0, false };
		if (st != KH_LIST_READY) {
			if (kh_cas(handle, h, kh_handle(KH_LIST_BLOCKED, n, tail)) != h)
				return { 0, 0, false };
			return grow(handle, h, want);
		}
		uint32_t level = w.growth.level(n, place),
			 left = w.growth.size(level) - place;
		uint32_t got = min(want, left);
		if (kh_cas(handle, h,
			   kh_handle(got == left ? KH_LIST_FULL : KH_LIST_READY, n + got,
				     tail)) != h)
			return { 0, 0, false };
		return { (uint64_t)tail + (level > 0) + place, got, false };
	}
	/* Lanes with the same handle go as one: their first reserves for all. */
	__device__ bool append(uint64_t *handle, V v) const
	{
		unsigned lane = threadIdx.x & 31, wait = 16;

		for (;;) {
			unsigned peers = __match_any_sync(__activemask(),
							  (unsigned long long)handle);
			unsigned leader = __ffs(peers) - 1,
				 mine = __popc(peers & ((1u << lane) - 1));
			reserved r = { 0, 0, false };

			if (lane == leader)
				r = reserve(handle, __popc(peers));
			r.at = __shfl_sync(peers, r.at, leader);
			r.got = __shfl_sync(peers, r.got, leader);
			r.dry = __shfl_sync(peers, (int)r.dry, leader);
			if (r.dry)
				return false;
			if (mine < r.got) {
				w.pool[r.at + mine] = v;
				return true;
			}
			if (r.got == 0) {
				__nanosleep(wait);
				wait = wait < 8192 ? wait * 2 : wait;
			}
		}
	}
};

template <class K, class V>
static __global__ void insert_values(list_tail<K, V> t, kh_kv p)
{
	kh_group g(t.w.group);
	size_t i = kh_group_id(t.w.group);

	if (i >= p.n)
		return;
	K key = ((const K *)p.keys)[i];
	V value = ((const V *)p.values)[i];
	int m = kh_mark<K>::of(key);
	uint64_t *handle = nullptr;

	if (m >= 0) {
		handle = t.w.side.values + m;
	} else {
		kh_placed to = kh_slot_claim(t.w.slots, t.w.cops, g, key, UINT64_C(0));
		if (to.slot != ~(size_t)0)
			handle = &t.w.slots.slot[to.slot].v;
	}
	if (g.rank == 0 && !(handle && t.append(handle, value)))
		atomicAdd(t.note + KH_NOTE_FAILED, 1ull);
}

template <class K, class V> struct bucketlist : kh_table {
	typedef kh_bucketlist_view<K, V> view_type;
	kh_tally<K> slots_;
	kh_side<uint64_t> side;
	kh_cops cops;
	uint32_t *sums;
	uint32_t last;
	V *pool_;
	unsigned group;

	view_type view() const
	{
		return { slots_, side, cops, { sums, last }, pool_, group };
	}
	int grow(kh_stream s, kh_err *err);
	int insert(const kh_kv *p, kh_stream s, kh_err *err)
	{
		list_tail<K, V> t = { view(), cfg.pool, note };

		if (p->n == 0)
			return KH_OK;
		insert_values<K, V><<<kh_blocks(p->n * group, KH_PROBE_BLOCK),
				      KH_PROBE_BLOCK, 0, s>>>(t, *p);
		return kh_launched("insert", err);
	}
	int count(const kh_keys *q, uint32_t *c, kh_stream s, kh_err *err)
	{
		return kh_view_count(view(), q, c, s, err);
	}
	int retrieve(const kh_keys *q, const kh_lists *o, kh_stream s, kh_err *err)
	{
		return kh_view_retrieve(this, view(), q, o, s, err);
	}
	int fold(const kh_keys *q, uint64_t *sums_out, kh_stream s, kh_err *err)
	{
		return kh_view_fold(view(), q, sums_out, s, err);
	}
	int stats(kh_stream s, kh_table_stats *st, kh_err *err)
	{
		st->pool_used = st->pool_used < st->pool ? st->pool_used : st->pool;
		return kh_slots_stats(this, slots_, 0, s, st, err);
	}
};

/* The sums of bucket sizes s0, ceil(lambda s0) .. */
template <class K, class V> int bucketlist<K, V>::grow(kh_stream s, kh_err *err)
{
	uint32_t sum[KH_GROWTH];
	double size = cfg.first;

	for (uint64_t i = 0, all = 0; i < KH_GROWTH; i++) {
		all += last = (uint32_t)size;
		sum[i] = all < 0x3fffffff ? (uint32_t)all : 0x3fffffff + (uint32_t)i;
		size = ceil(size * cfg.growth - 1e-9);
		size = size < BUCKET_MAX ? size : BUCKET_MAX;
	}
	int rc =
		kh_cuda(cudaMemcpyAsync(sums, sum, sizeof sum, cudaMemcpyHostToDevice, s),
			"bucket sizes", err);
	return rc ? rc : kh_cuda(cudaStreamSynchronize(s), "bucket sizes", err);
}

template <class K, class V>
static int open_bucketlist(const kh_table_config *c, kh_stream s, kh_table **out,
			   kh_err *err)
{
	typedef bucketlist<K, V> T;
	typedef kh_bind<T> B;
	static const kh_table_fn fn = { B::insert, nullptr,  B::count, B::retrieve,
					B::fold,   nullptr,  nullptr,  nullptr,
					nullptr,   B::stats, B::view };
	kh_table_config d = *c;
	T *t = kh_table_make<T>();
	int rc;

	d.growth = d.growth >= 1 ? d.growth : 1.1;
	d.first = d.first ? d.first : 1;
	d.pool = d.pool ? d.pool : 2 * d.capacity + d.distinct * d.first;
	d.window = d.window ? d.window : 8;
	*out = t;
	if (d.pool > UINT32_MAX)
		return kh_fail(err, KH_EUSAGE,
			       "a pool of %llu values: below 2^32 are possible",
			       (unsigned long long)d.pool);
	if (d.first > BUCKET_MAX)
		return kh_fail(err, KH_EUSAGE,
			       "first buckets of %u values: 2^20 are the most", d.first);
	if ((rc = kh_table_init(t, &fn, &d, s, err)))
		return rc;
	t->group = d.group ? d.group : 4;
	t->cops = kh_cops::make(&d, d.distinct, t->group);
	t->slots = t->cops.slots();
	if ((rc = t->slots_.take(t, t->slots, s, err)) ||
	    (rc = t->side.take(t, 1, s, err)) ||
	    (rc = kh_take(t, &t->sums, KH_GROWTH, 0, s, err)) || (rc = t->grow(s, err)))
		return rc;
	return kh_take(t, &t->pool_, d.pool, 0, s, err);
}

int kh_bucketlist_open(const kh_table_config *c, kh_stream s, kh_table **t, kh_err *err)
{
	return KH_DISPATCH(open_bucketlist, c, c, s, t, err);
}
