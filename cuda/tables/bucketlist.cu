/*
 * bucketlist.cu - WarpCore's BucketListHashTable (Juenger et al. 2020, IV-C)
 *
 * A single-value table whose values are handles: tail bucket, number of values, and one
 * of four states (none, blocked, ready, full) in 64 bits, changed by CAS.  Buckets of
 * values grow by lambda from s0; they come from one pool by an atomic counter, and all
 * but a key's first begin with the place of the one before.  A thread that finds the tail
 * full blocks the handle, takes a bucket and opens the handle again; the others wait with
 * back-off.
 * Departures: lanes of a warp that append to one list reserve their places by one CAS;
 * bucket sizes stand in a table of sums (lambda's powers are not recomputed by every
 * insert) and stop growing at 2^20 values; the count has 30 bits; the handles of the two
 * mark keys lie in side cells.
 */
#include <math.h>
#include "cuda/tables/bucketlist.cuh"
#include "cuda/tables/open_addressing.cuh"

#define BUCKET_MAX (UINT32_C(1) << 20)

/* Takes a bucket of n values from the pool; ~0: the pool has not enough left. */
static __device__ uint64_t pool_take(unsigned long long *note, uint64_t pool, uint32_t n)
{
	uint64_t at = atomicAdd(note + KHT_NOTE_POOL, (unsigned long long)n);

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
	kht_bucketlist_view<K, V> w;
	uint64_t pool;
	unsigned long long *note;

	/* Appends a bucket to the list, whose handle this thread has blocked; `old` is what it
	 * was. */
	__device__ reserved grow(uint64_t *handle, uint64_t old, uint32_t want) const
	{
		uint32_t n = kht_handle_count(old), place, level = w.growth.level(n, place);
		uint32_t size = w.growth.size(level), link = level > 0, got = min(want, size);
		uint64_t at = pool_take(note, pool, size + link);

		if (at == ~UINT64_C(0)) {
			atomicExch((unsigned long long *)handle, (unsigned long long)old);
			return { 0, 0, true };
		}
		if (link)
			w.pool[at] = (V)kht_handle_tail(old);
		__threadfence();
		atomicExch(
			(unsigned long long *)handle,
			(unsigned long long)kht_handle(got == size ? KHT_LIST_FULL : KHT_LIST_READY,
						       n + got, (uint32_t)at));
		return { at + link, got, false };
	}
	/* One attempt to reserve up to `want` values at the list's end. */
	__device__ reserved reserve(uint64_t *handle, uint32_t want) const
	{
		uint64_t h = __ldcg(handle);
		kht_list_state st = kht_handle_state(h);
		uint32_t n = kht_handle_count(h), tail = kht_handle_tail(h), place;

		if (st == KHT_LIST_BLOCKED)
			return { 0, 0, false };
		if (st != KHT_LIST_READY) {
			if (kht_cas(handle, h, kht_handle(KHT_LIST_BLOCKED, n, tail)) != h)
				return { 0, 0, false };
			return grow(handle, h, want);
		}
		uint32_t level = w.growth.level(n, place), left = w.growth.size(level) - place;
		uint32_t got = min(want, left);
		if (kht_cas(handle, h,
			    kht_handle(got == left ? KHT_LIST_FULL : KHT_LIST_READY, n + got,
				       tail)) != h)
			return { 0, 0, false };
		return { (uint64_t)tail + (level > 0) + place, got, false };
	}
	/* Of lanes with the same handle the first one reserves places for all. */
	__device__ bool append(uint64_t *handle, V v) const
	{
		unsigned lane = threadIdx.x & 31, wait = 16;

		for (;;) {
			unsigned peers =
				__match_any_sync(__activemask(), (unsigned long long)handle);
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

template <class K, class V> static __global__ void insert_values(list_tail<K, V> t, kht_kv p)
{
	kht_group g(t.w.group);
	size_t i = kht_group_id(t.w.group);

	if (i >= p.n)
		return;
	K key = ((const K *)p.keys)[i];
	V value = ((const V *)p.values)[i];
	int m = kht_mark<K>::of(key);
	uint64_t *handle = nullptr;

	if (m >= 0) {
		handle = t.w.side.values + m;
	} else {
		kht_placed to = kht_slot_claim(t.w.slots, t.w.cops, g, key, UINT64_C(0));
		if (to.slot != ~(size_t)0)
			handle = &t.w.slots.slot[to.slot].v;
	}
	if (g.lane == 0 && !(handle && t.append(handle, value)))
		atomicAdd(t.note + KHT_NOTE_FAILED, 1ull);
}

template <class K, class V> struct bucketlist : kht_table {
	typedef kht_bucketlist_view<K, V> view_type;
	kht_tally<K> slots_;
	kht_side<uint64_t> side;
	kht_cops cops;
	uint32_t *sums;
	uint32_t last;
	V *pool_;
	unsigned group;

	view_type view() const { return { slots_, side, cops, { sums, last }, pool_, group }; }
	int open(kht_stream s, kh_err *err);
	int grow(kht_stream s, kh_err *err);
	int used(kht_stream s, kh_err *err) { return kht_slots_count(this, slots_, s, err); }
	void stats(const unsigned long long *, kht_table_stats *st)
	{
		st->pool_used = st->pool_used < st->pool ? st->pool_used : st->pool;
	}
	int insert(const kht_kv *p, kht_stream s, kh_err *err)
	{
		list_tail<K, V> t = { view(), cfg.pool, note };

		insert_values<K, V>
			<<<kht_blocks(p->n * group, KHT_PROBE_BLOCK), KHT_PROBE_BLOCK, 0, s>>>(t,
											       *p);
		return kht_launched("insert", err);
	}
};

/* The sums of bucket sizes s0, ceil(lambda s0) .. */
template <class K, class V> int bucketlist<K, V>::grow(kht_stream s, kh_err *err)
{
	uint32_t sum[KHT_GROWTH];
	double size = cfg.first;

	for (uint64_t i = 0, all = 0; i < KHT_GROWTH; i++) {
		all += last = (uint32_t)size;
		sum[i] = all < 0x3fffffff ? (uint32_t)all : 0x3fffffff + (uint32_t)i;
		size = ceil(size * cfg.growth - 1e-9);
		size = size < BUCKET_MAX ? size : BUCKET_MAX;
	}
	return kht_to_device(sums, sum, sizeof sum, "bucket sizes", s, err);
}

template <class K, class V> int bucketlist<K, V>::open(kht_stream s, kh_err *err)
{
	int rc;

	cfg.growth = cfg.growth >= 1 ? cfg.growth : 1.1;
	cfg.first = cfg.first ? cfg.first : 1;
	cfg.pool = cfg.pool ? cfg.pool : 2 * cfg.capacity + cfg.distinct * cfg.first;
	cfg.window = cfg.window ? cfg.window : 8;
	if (cfg.pool > UINT32_MAX)
		return kh_fail(err, KH_EUSAGE, "a pool of %llu values: below 2^32 are possible",
			       (unsigned long long)cfg.pool);
	if (cfg.first > BUCKET_MAX)
		return kh_fail(err, KH_EUSAGE, "first buckets of %u values: 2^20 are the most",
			       cfg.first);
	group = cfg.group ? cfg.group : 4;
	cops = kht_cops::make(&cfg, cfg.distinct, group);
	slots = cops.slots();
	if ((rc = slots_.take(this, slots, s, err)) || (rc = side.take(this, 1, s, err)) ||
	    (rc = kht_take(this, &sums, KHT_GROWTH, 0, s, err)) || (rc = grow(s, err)))
		return rc;
	return kht_take(this, &pool_, cfg.pool, 0, s, err);
}

int kht_bucketlist_open(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	return kht_make_wide<bucketlist, KHT_BUCKETLIST_CAN, kht_by_view>(c, s, t, err);
}
