/*
 * bucket64.cu - one value a key, in buckets of 64 bytes
 *
 * WarpCore's SingleValue (IV-B), adapted to the H200.  A random read of 64 bytes
 * costs what one of 32 does, so a bucket has 64 bytes and a quad of lanes reads it whole,
 * four queries in flight a lane.  Buckets come from a bijective mix by multiply-shift;
 * where one is full, steps of up to 1024 buckets follow, the key's own (linear ones cluster: at
 * load 0.9 they read 1.45 buckets a look-up, these 1.22).  That map is monotone and the steps
 * are short, so a large batch is first partitioned by the top 8 bits of the mix: the part of
 * the table that a partition goes to stays in the cache, and inserts cost two streams through
 * memory in place of a random read and a random CAS.  No erase: first-empty order is what makes
 * equal keys meet.
 */
#include "cuda/tables/bucket64.cuh"
#include "cuda/tables/retrieve.cuh"

#define PART_BITS 8
#define PART_MIN  (UINT64_C(48) << 20) /* bytes of table below which the cache holds it all */

enum outcome { DONE, AGAIN, ONWARD };

/* Finds the first slot of the quad's bucket that has x, and the first empty one; 99: none. */
template <class K, class V> static __device__ void inspect(uint4 b, K x, int &hit, int &open)
{
	int lane = threadIdx.x & 3;
	unsigned both = 0x6363u;

	if (kht_bucket64_view<K, V>::narrow) {
		unsigned e = KHT_FULL, second = 2 * lane + 1, first = 2 * lane;
		unsigned h = b.x == (uint32_t)x ? first : b.z == (uint32_t)x ? second : 99;
		unsigned o = b.x == e ? first : b.z == e ? second : 99;
		both = h << 8 | o;
	} else {
		uint64_t k = (uint64_t)b.y << 32 | b.x;
		both = (k == (uint64_t)x ? lane : 99u) << 8 | (k == ~UINT64_C(0) ? lane : 99u);
	}
	both = __vminu4(both, __shfl_xor_sync(KHT_FULL, both, 1));
	both = __vminu4(both, __shfl_xor_sync(KHT_FULL, both, 2));
	hit = both >> 8 & 255;
	open = both & 255;
}

/* The owner of slot s stores the value beside its key. */
template <class K, class V> static __device__ void set_value(uint4 *bucket, int s, V v)
{
	if (kht_bucket64_view<K, V>::narrow)
		((uint32_t *)bucket)[2 * s + 1] = (uint32_t)v;
	else
		((uint64_t *)bucket)[2 * s + 1] = v;
}

template <class K, class V> static __device__ outcome take_slot(uint4 *bucket, int s, K x, V v)
{
	if (kht_bucket64_view<K, V>::narrow) {
		uint64_t mine = (uint64_t)v << 32 | (uint32_t)x;
		uint64_t old = kht_cas((uint64_t *)bucket + s, ~UINT64_C(0), mine);

		if (old == ~UINT64_C(0))
			return DONE;
		if ((uint32_t)old != (uint32_t)x)
			return AGAIN;
	} else {
		uint64_t old = kht_cas((uint64_t *)bucket + 2 * s, ~UINT64_C(0), (uint64_t)x);

		if (old != ~UINT64_C(0) && old != (uint64_t)x)
			return AGAIN;
	}
	set_value<K, V>(bucket, s, v);
	return DONE;
}

/* Inserts one pair, whose bucket is b, with all lanes of the quad. */
template <class K, class V>
static __device__ outcome try_bucket(uint4 *bucket, uint4 b, bool on, K x, V v)
{
	int hit, open, res = ONWARD, lane = threadIdx.x & 3;
	const int per = kht_bucket64_view<K, V>::SLOTS / 4;

	inspect<K, V>(b, x, hit, open);
	int s = hit < 99 ? hit : open;
	if (on && s < 99 && s / per == lane) {
		res = DONE;
		if (hit < 99)
			set_value<K, V>(bucket, s, v);
		else
			res = take_slot<K, V>(bucket, s, x, v);
	}
	res = kht_quad(res, s < 99 ? s / per : 0);
	return s < 99 ? (outcome)res : ONWARD;
}

template <class K, class V>
static __global__ void __launch_bounds__(KHT_PROBE_BLOCK)
	insert_pairs(kht_bucket64_view<K, V> w, kht_kv p, bool mixed, unsigned long long *note)
{
	size_t i = kht_thread_id();
	bool todo = i < p.n;
	K x = todo ? ((const K *)p.keys)[i] : 0;
	V v = todo ? ((const V *)p.values)[i] : 0;
	uint32_t at, steps = 0;
	int lane = threadIdx.x & 3;
	uint4 b[4];

	x = mixed ? x : kht_mix(x, w.seed);
	at = kht_reduce(x, w.n);
	if (todo && w.is_mark(x)) {
		w.side.put(0, v);
		todo = false;
	}
#pragma unroll
	for (int r = 0; r < 4; r++)
		b[r] = __ldcg(w.buckets + 4 * (size_t)kht_quad(at, r) + lane);
#pragma unroll
	for (int r = 0; r < 4; r++) {
		bool on = kht_quad((int)todo, r);
		outcome o = try_bucket<K, V>(w.buckets + 4 * (size_t)kht_quad(at, r), b[r], on,
					     kht_quad(x, r), kht_quad(v, r));
		if (lane == r && todo) {
			todo = o != DONE;
			at = o == ONWARD ? w.next(at, x) : at;
			steps = o == ONWARD;
		}
	}
	while (__any_sync(KHT_FULL, todo)) {
		unsigned open = kht_quad_ballot(todo);
		int r = open ? __ffs(open) - 1 : 0;

		uint4 *bucket = w.buckets + 4 * (size_t)kht_quad(at, r);
		if (open)
			b[0] = __ldcg(bucket + lane);
		outcome o =
			try_bucket<K, V>(bucket, b[0], open != 0, kht_quad(x, r), kht_quad(v, r));
		if (open && lane == r) {
			todo = o != DONE;
			at = o == ONWARD ? w.next(at, x) : at;
			steps += o == ONWARD;
			if (todo && steps >= w.n) {
				atomicAdd(note + KHT_NOTE_FAILED, 1ull);
				todo = false;
			}
		}
	}
}

/* One bucket for one query of the quad: found, absent (DONE), or further on.  Slots
 * fill in order, so a bucket has room exactly if its last slot is empty. */
template <class K, class V> static __device__ outcome look(uint4 b, K x, V &v, bool &found)
{
	unsigned hit, room;
	V mine;

	if (kht_bucket64_view<K, V>::narrow) {
		bool first = b.x == (uint32_t)x;
		hit = kht_quad_ballot(first || b.z == (uint32_t)x);
		mine = (V)(first ? b.y : b.w);
		room = kht_quad_ballot(b.z == KHT_FULL);
	} else {
		hit = kht_quad_ballot(((uint64_t)b.y << 32 | b.x) == (uint64_t)x);
		mine = (V)((uint64_t)b.w << 32 | b.z);
		room = kht_quad_ballot((b.x & b.y) == KHT_FULL);
	}
	found = hit != 0;
	v = kht_quad(mine, hit ? __ffs(hit) - 1 : 0);
	return found || (room & 8) ? DONE : ONWARD;
}

template <class K, class V>
static __device__ void answer(const kht_bucket64_view<K, V> &w, const kht_found &out, size_t i, K x,
			      V v, bool found)
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
static __global__ void __launch_bounds__(KHT_PROBE_BLOCK)
	find_quads(kht_bucket64_view<K, V> w, kht_keys q, kht_found out)
{
	size_t i = kht_thread_id();
	bool mine = i < q.n, todo = mine, found = false;
	K x = mine ? kht_mix(((const K *)q.keys)[i], w.seed) : 0;
	uint32_t at = kht_reduce(x, w.n), steps = 0;
	V v = (V)out.missing;
	int lane = threadIdx.x & 3;
	uint4 b[4];

#pragma unroll
	for (int r = 0; r < 4; r++)
		b[r] = __ldg(w.buckets + 4 * (size_t)kht_quad(at, r) + lane);
#pragma unroll
	for (int r = 0; r < 4; r++) {
		V got = 0;
		bool hit;
		outcome o = look<K, V>(b[r], kht_quad(x, r), got, hit);
		if (lane == r && todo) {
			v = hit ? got : v;
			found = hit;
			todo = o != DONE;
		}
	}
	while (__any_sync(KHT_FULL, todo)) {
		unsigned open = kht_quad_ballot(todo);
		int r = open ? __ffs(open) - 1 : 0;
		V got = 0;
		bool hit;

		if (open && lane == r) {
			at = w.next(at, x);
			steps++;
		}
		const uint4 *next = w.buckets + 4 * (size_t)kht_quad(at, r) + lane;
		if (open)
			b[0] = __ldg(next);
		outcome o = look<K, V>(b[0], kht_quad(x, r), got, hit);
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
static __global__ void __launch_bounds__(KHT_PROBE_BLOCK)
	find_lanes(kht_bucket64_view<K, V> w, kht_keys q, kht_found out)
{
	size_t i = kht_thread_id();

	if (i >= q.n)
		return;
	K x = kht_mix(((const K *)q.keys)[i], w.seed);
	uint32_t at = kht_reduce(x, w.n);
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
				bool one = b[k].x == (uint32_t)x, two = b[k].z == (uint32_t)x;
				v = one ? (V)b[k].y : two ? (V)b[k].w : v;
				found |= one || two;
			} else {
				bool one = ((uint64_t)b[k].y << 32 | b[k].x) == (uint64_t)x;
				v = one ? (V)((uint64_t)b[k].w << 32 | b[k].z) : v;
				found |= one;
			}
		}
		last = w.narrow ? b[3].z == KHT_FULL : (b[3].x & b[3].y) == KHT_FULL;
		at = w.next(at, x);
	}
	answer(w, out, i, x, v, found);
}

template <class K, class V>
static __global__ void count_used(kht_bucket64_view<K, V> w, unsigned long long *note)
{
	uint64_t i = kht_thread_id(), n = (uint64_t)w.n * w.SLOTS;
	K k;
	V v;
	bool used = i < n && w.slot((uint32_t)(i / w.SLOTS), (int)(i % w.SLOTS), k, v);
	unsigned all = __ballot_sync(KHT_FULL, used);

	if ((threadIdx.x & 31) == 0 && all)
		atomicAdd(note + KHT_NOTE_USED, (unsigned long long)__popc(all));
}

template <class K, class V> struct bucket64 : kht_table {
	typedef kht_bucket64_view<K, V> view_type;
	uint4 *buckets;
	kht_side<V> side;
	uint32_t n;

	view_type view() const { return { buckets, side, n, cfg.seed, 1 }; }
	int put(const kht_kv *p, bool mixed, kht_stream s, kh_err *err)
	{
		insert_pairs<K, V><<<kht_blocks(p->n, KHT_PROBE_BLOCK), KHT_PROBE_BLOCK, 0, s>>>(
			view(), *p, mixed, note);
		return kht_launched("insert", err);
	}
	int insert(const kht_kv *p, kht_stream s, kh_err *err)
	{
		const int kb = sizeof(K) * 8;
		kht_scratch<K> key;
		kht_scratch<V> value;
		int rc;

		if (cfg.direct || (uint64_t)n * 64 < PART_MIN || p->n < n)
			return put(p, false, s, err);
		if ((rc = key.take(this, p->n, s, err)) || (rc = value.take(this, p->n, s, err)))
			return rc;
		kht_sort o = { p->keys,       p->values,     key.p,          value.p, p->n,
			       sizeof(K) * 8, sizeof(V) * 8, kb - PART_BITS, kb };
		kht_kv parted = { key.p, value.p, p->n };
		rc = kht_sort_mixes(this, &o, s, err);
		return rc ? rc : put(&parted, true, s, err);
	}
	int find(const kht_keys *q, const kht_found *o, kht_stream s, kh_err *err)
	{
		unsigned blocks = kht_blocks(q->n, KHT_PROBE_BLOCK);

		if (cfg.group == 1)
			find_lanes<K, V><<<blocks, KHT_PROBE_BLOCK, 0, s>>>(view(), *q, *o);
		else
			find_quads<K, V><<<blocks, KHT_PROBE_BLOCK, 0, s>>>(view(), *q, *o);
		return kht_launched("find", err);
	}
	int used(kht_stream s, kh_err *err)
	{
		count_used<K, V><<<kht_blocks(slots), KHT_BLOCK, 0, s>>>(view(), note);
		return kht_launched("stats", err);
	}
	void stats(const unsigned long long *counters, kht_table_stats *st)
	{
		st->pairs += counters[KHT_NOTE_SIDE];
	}
	int open(kht_stream s, kh_err *err)
	{
		const int per = view_type::SLOTS;
		int rc;

		n = kht_next_prime((uint64_t)(cfg.capacity / cfg.load / per) + 1);
		slots = (uint64_t)n * per;
		rc = kht_take(this, &buckets, (size_t)n * 4, 0xff, s, err);
		return rc ? rc : side.take(this, 1, s, err);
	}
};

int kht_bucket64_open(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	return kht_make_wide<bucket64, KHT_BUCKET64_CAN, kht_by_view>(c, s, t, err);
}
