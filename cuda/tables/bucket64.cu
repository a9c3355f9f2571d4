/*
 * bucket64.cu - row 5 improved: 64-byte buckets for today's memory
 *
 * WarpCore's SingleValue (IV-B) with what the H200 asks for.  A random read of 64 bytes
 * costs what one of 32 does, so a bucket has 64 bytes and a quad of lanes reads it whole,
 * four queries in flight a lane.  Buckets come from a bijective mix by multiply-shift;
 * where one is full, steps of up to 1024 buckets follow, the key's own (linear ones cluster: at
 * load 0.9 they read 1.45 buckets a look-up, these 1.22).  That map is monotone and the steps
 * are short, so a large batch is first partitioned by the top 8 bits of the mix: the part of the table that a
 * partition goes to stays in the cache, and inserts cost two streams through memory in
 * place of a random read and a random CAS.  No erase: first-empty order is what makes
 * equal keys meet.
 */
#include "retrieve.cuh"
#include "systems.h"

#define PART_BITS 8
#define PART_MIN                                                                         \
	(UINT64_C(48) << 20)   /* bytes of table below which the cache holds it all */

enum outcome { DONE, AGAIN, ONWARD };

/* Smallest slot of the quad's bucket that has x, and smallest empty one; 99: none. */
template <class K, class V>
static __device__ void inspect(uint4 b, K x, int &hit, int &open)
{
	int lane = threadIdx.x & 3;
	unsigned both = 0x6363u;

	if (kh_bucket64_view<K, V>::narrow) {
		unsigned e = KH_FULL, second = 2 * lane + 1, first = 2 * lane;
		unsigned h = b.x == (uint32_t)x   ? first
			     : b.z == (uint32_t)x ? second
						  : 99;
		unsigned o = b.x == e ? first : b.z == e ? second : 99;
		both = h << 8 | o;
	} else {
		uint64_t k = (uint64_t)b.y << 32 | b.x;
		both = (k == (uint64_t)x ? lane : 99u) << 8 |
		       (k == ~UINT64_C(0) ? lane : 99u);
	}
	both = __vminu4(both, __shfl_xor_sync(KH_FULL, both, 1));
	both = __vminu4(both, __shfl_xor_sync(KH_FULL, both, 2));
	hit = both >> 8 & 255;
	open = both & 255;
}

/* The owner of slot s stores the value beside its key. */
template <class K, class V> static __device__ void set_value(uint4 *bucket, int s, V v)
{
	if (kh_bucket64_view<K, V>::narrow)
		((uint32_t *)bucket)[2 * s + 1] = (uint32_t)v;
	else
		((uint64_t *)bucket)[2 * s + 1] = v;
}

template <class K, class V>
static __device__ outcome take_slot(uint4 *bucket, int s, K x, V v)
{
	if (kh_bucket64_view<K, V>::narrow) {
		uint64_t mine = (uint64_t)v << 32 | (uint32_t)x;
		uint64_t old = kh_cas((uint64_t *)bucket + s, ~UINT64_C(0), mine);

		if (old == ~UINT64_C(0))
			return DONE;
		if ((uint32_t)old != (uint32_t)x)
			return AGAIN;
	} else {
		uint64_t old =
			kh_cas((uint64_t *)bucket + 2 * s, ~UINT64_C(0), (uint64_t)x);

		if (old != ~UINT64_C(0) && old != (uint64_t)x)
			return AGAIN;
	}
	set_value<K, V>(bucket, s, v);
	return DONE;
}

/* All lanes of the quad, with one pair and its bucket b. */
template <class K, class V>
static __device__ outcome try_bucket(uint4 *bucket, uint4 b, bool on, K x, V v)
{
	int hit, open, res = ONWARD, lane = threadIdx.x & 3;
	const int per = kh_bucket64_view<K, V>::SLOTS / 4;

	inspect<K, V>(b, x, hit, open);
	int s = hit < 99 ? hit : open;
	if (on && s < 99 && s / per == lane) {
		res = DONE;
		if (hit < 99)
			set_value<K, V>(bucket, s, v);
		else
			res = take_slot<K, V>(bucket, s, x, v);
	}
	res = kh_quad(res, s < 99 ? s / per : 0);
	return s < 99 ? (outcome)res : ONWARD;
}

template <class K, class V>
static __global__ void __launch_bounds__(KH_PROBE_BLOCK)
	insert_pairs(kh_bucket64_view<K, V> w, kh_kv p, bool mixed,
		     unsigned long long *note)
{
	size_t i = kh_thread_id();
	bool todo = i < p.n;
	K x = todo ? ((const K *)p.keys)[i] : 0;
	V v = todo ? ((const V *)p.values)[i] : 0;
	uint32_t at, steps = 0;
	int lane = threadIdx.x & 3;
	uint4 b[4];

	x = mixed ? x : kh_mix(x, w.seed);
	at = kh_reduce(x, w.n);
	if (todo && w.is_mark(x)) {
		w.side.put(0, v);
		todo = false;
	}
#pragma unroll
	for (int r = 0; r < 4; r++)
		b[r] = __ldcg(w.buckets + 4 * (size_t)kh_quad(at, r) + lane);
#pragma unroll
	for (int r = 0; r < 4; r++) {
		bool on = kh_quad((int)todo, r);
		outcome o = try_bucket<K, V>(w.buckets + 4 * (size_t)kh_quad(at, r), b[r],
					     on, kh_quad(x, r), kh_quad(v, r));
		if (lane == r && todo) {
			todo = o != DONE;
			at = o == ONWARD ? w.next(at, x) : at;
			steps = o == ONWARD;
		}
	}
	while (__any_sync(KH_FULL, todo)) {
		unsigned open = kh_quad_ballot(todo);
		int r = open ? __ffs(open) - 1 : 0;

		uint4 *bucket = w.buckets + 4 * (size_t)kh_quad(at, r);
		if (open)
			b[0] = __ldcg(bucket + lane);
		outcome o = try_bucket<K, V>(bucket, b[0], open != 0, kh_quad(x, r),
					     kh_quad(v, r));
		if (open && lane == r) {
			todo = o != DONE;
			at = o == ONWARD ? w.next(at, x) : at;
			steps += o == ONWARD;
			if (todo && steps >= w.n) {
				atomicAdd(note + KH_NOTE_FAILED, 1ull);
				todo = false;
			}
		}
	}
}

/* One bucket for one query of the quad: found, absent (DONE), or further on.  Slots
 * fill in order, so a bucket has room exactly if its last slot is empty. */
template <class K, class V>
static __device__ outcome look(uint4 b, K x, V &v, bool &found)
{
	unsigned hit, room;
	V mine;

	if (kh_bucket64_view<K, V>::narrow) {
		bool first = b.x == (uint32_t)x;
		hit = kh_quad_ballot(first || b.z == (uint32_t)x);
		mine = (V)(first ? b.y : b.w);
		room = kh_quad_ballot(b.z == KH_FULL);
	} else {
		hit = kh_quad_ballot(((uint64_t)b.y << 32 | b.x) == (uint64_t)x);
		mine = (V)((uint64_t)b.w << 32 | b.z);
		room = kh_quad_ballot((b.x & b.y) == KH_FULL);
	}
	found = hit != 0;
	v = kh_quad(mine, hit ? __ffs(hit) - 1 : 0);
	return found || (room & 8) ? DONE : ONWARD;
}

template <class K, class V>
static __device__ void answer(const kh_bucket64_view<K, V> &w, const kh_found &out,
			      size_t i, K x, V v, bool found)
{
	if (w.is_mark(x)) {
		found = w.side.size(0) > 0;
		v = found ? w.side.list(0)[0] : (V)out.missing;
	}
	((V *)out.values)[i] = v;
	if (out.found)
		out.found[i] = found;
}

/* A quad a bucket: four first buckets in flight a lane, then the few that go on. */
template <class K, class V>
static __global__ void __launch_bounds__(KH_PROBE_BLOCK)
	find_quads(kh_bucket64_view<K, V> w, kh_keys q, kh_found out)
{
	size_t i = kh_thread_id();
	bool mine = i < q.n, todo = mine, found = false;
	K x = mine ? kh_mix(((const K *)q.keys)[i], w.seed) : 0;
	uint32_t at = kh_reduce(x, w.n), steps = 0;
	V v = (V)out.missing;
	int lane = threadIdx.x & 3;
	uint4 b[4];

#pragma unroll
	for (int r = 0; r < 4; r++)
		b[r] = __ldg(w.buckets + 4 * (size_t)kh_quad(at, r) + lane);
#pragma unroll
	for (int r = 0; r < 4; r++) {
		V got = 0;
		bool hit;
		outcome o = look<K, V>(b[r], kh_quad(x, r), got, hit);
		if (lane == r && todo) {
			v = hit ? got : v;
			found = hit;
			todo = o != DONE;
		}
	}
	while (__any_sync(KH_FULL, todo)) {
		unsigned open = kh_quad_ballot(todo);
		int r = open ? __ffs(open) - 1 : 0;
		V got = 0;
		bool hit;

		if (open && lane == r) {
			at = w.next(at, x);
			steps++;
		}
		const uint4 *next = w.buckets + 4 * (size_t)kh_quad(at, r) + lane;
		if (open)
			b[0] = __ldg(next);
		outcome o = look<K, V>(b[0], kh_quad(x, r), got, hit);
		if (open && lane == r) {
			v = hit ? got : v;
			found = hit;
			todo = o != DONE && steps < w.n;
		}
	}
	if (mine)
		answer(w, out, i, x, v, found);
}

/* One lane a bucket: it reads all 64 bytes by itself, and lanes need not wait for
 * others. */
template <class K, class V>
static __global__ void __launch_bounds__(KH_PROBE_BLOCK)
	find_lanes(kh_bucket64_view<K, V> w, kh_keys q, kh_found out)
{
	size_t i = kh_thread_id();

	if (i >= q.n)
		return;
	K x = kh_mix(((const K *)q.keys)[i], w.seed);
	uint32_t at = kh_reduce(x, w.n);
	bool found = false, last = false;
	V v = (V)out.missing;
	for (uint32_t steps = 0; steps < w.n && !found && !last; steps++) {
		const uint4 *p = w.buckets + 4 * (size_t)at;
		uint4 b[4];
#pragma unroll
		for (int k = 0; k < 4; k++)
			b[k] = __ldg(p + k);
#pragma unroll
		for (int k = 0; k < 4; k++) {
			if (w.narrow) {
				bool one = b[k].x == (uint32_t)x,
				     two = b[k].z == (uint32_t)x;
				v = one ? (V)b[k].y : two ? (V)b[k].w : v;
				found |= one || two;
			} else {
				bool one =
					((uint64_t)b[k].y << 32 | b[k].x) == (uint64_t)x;
				v = one ? (V)((uint64_t)b[k].w << 32 | b[k].z) : v;
				found |= one;
			}
		}
		last = w.narrow ? b[3].z == KH_FULL : (b[3].x & b[3].y) == KH_FULL;
		at = w.next(at, x);
	}
	answer(w, out, i, x, v, found);
}

template <class K, class V>
static __global__ void count_used(kh_bucket64_view<K, V> w, unsigned long long *note)
{
	uint64_t i = kh_thread_id(), n = (uint64_t)w.n * w.SLOTS;
	K k;
	V v;
	bool used = i < n && w.slot((uint32_t)(i / w.SLOTS), (int)(i % w.SLOTS), k, v);
	unsigned all = __ballot_sync(KH_FULL, used);

	if ((threadIdx.x & 31) == 0 && all)
		atomicAdd(note + KH_NOTE_USED, (unsigned long long)__popc(all));
}

template <class K, class V> struct bucket64 : kh_table {
	typedef kh_bucket64_view<K, V> view_type;
	uint4 *buckets;
	kh_side<V> side;
	uint32_t n;

	view_type view() const { return { buckets, side, n, cfg.seed, 1 }; }
	int put(const kh_kv *p, bool mixed, kh_stream s, kh_err *err)
	{
		insert_pairs<K, V>
			<<<kh_blocks(p->n, KH_PROBE_BLOCK), KH_PROBE_BLOCK, 0, s>>>(
				view(), *p, mixed, note);
		return kh_launched("insert", err);
	}
	int insert(const kh_kv *p, kh_stream s, kh_err *err)
	{
		const unsigned kb = sizeof(K) * 8;
		kh_scratch<K> mixed, key;
		kh_scratch<V> value;
		int rc;

		if (p->n == 0)
			return KH_OK;
		if (cfg.direct || (uint64_t)n * 64 < PART_MIN || p->n < n)
			return put(p, false, s, err);
		if ((rc = mixed.take(this, p->n, s, err)) ||
		    (rc = key.take(this, p->n, s, err)) ||
		    (rc = value.take(this, p->n, s, err)) ||
		    (rc = kh_mix_keys(p->keys, p->n, kb, cfg.seed, mixed.p, s, err)))
			return rc;
		kh_sort o = { mixed.p, p->values, key.p,         value.p,
			      p->n,    kb,        sizeof(V) * 8, (int)kb - PART_BITS,
			      (int)kb };
		if ((rc = kh_sort_pairs(this, &o, s, err)))
			return rc;
		kh_kv parted = { key.p, value.p, p->n };
		return put(&parted, true, s, err);
	}
	int find(const kh_keys *q, const kh_found *o, kh_stream s, kh_err *err)
	{
		unsigned blocks = kh_blocks(q->n, KH_PROBE_BLOCK);

		if (cfg.group == 1)
			find_lanes<K, V>
				<<<blocks, KH_PROBE_BLOCK, 0, s>>>(view(), *q, *o);
		else
			find_quads<K, V>
				<<<blocks, KH_PROBE_BLOCK, 0, s>>>(view(), *q, *o);
		return kh_launched("find", err);
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
	int stats(kh_stream s, kh_table_stats *st, kh_err *err)
	{
		unsigned long long got[KH_NOTES];
		int rc = kh_cuda(cudaMemsetAsync(note + KH_NOTE_USED, 0, sizeof *note, s),
				 "stats", err);

		if (rc)
			return rc;
		count_used<K, V><<<kh_blocks(slots), KH_BLOCK, 0, s>>>(view(), note);
		if ((rc = kh_cuda(cudaMemcpyAsync(got, note, sizeof got,
						  cudaMemcpyDeviceToHost, s),
				  "stats", err)) ||
		    (rc = kh_cuda(cudaStreamSynchronize(s), "stats", err)))
			return rc;
		st->pairs = got[KH_NOTE_USED] + got[KH_NOTE_SIDE];
		return KH_OK;
	}
};

template <class K, class V>
static int open_bucket64(const kh_table_config *c, kh_stream s, kh_table **out,
			 kh_err *err)
{
	typedef bucket64<K, V> T;
	typedef kh_bind<T> B;
	static const kh_table_fn fn = { B::insert, B::find,  B::count, B::retrieve,
					B::fold,   nullptr,  nullptr,  nullptr,
					nullptr,   B::stats, B::view };
	T *t = kh_table_make<T>();
	int rc;

	*out = t;
	if ((rc = kh_table_init(t, &fn, c, s, err)))
		return rc;
	t->n = kh_next_prime((uint64_t)(c->capacity / c->load / T::view_type::SLOTS) + 1);
	t->slots = (uint64_t)t->n * T::view_type::SLOTS;
	rc = kh_take(t, &t->buckets, (size_t)t->n * 4, 0xff, s, err);
	return rc ? rc : t->side.take(t, 1, s, err);
}

int kh_bucket64_open(const kh_table_config *c, kh_stream s, kh_table **t, kh_err *err)
{
	return KH_DISPATCH(open_bucket64, c, c, s, t, err);
}
