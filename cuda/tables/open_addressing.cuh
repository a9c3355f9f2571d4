/*
 * open_addressing.cuh - WarpCore's open addressing (IV-B): one value a key, or one slot a
 * pair
 *
 * S is a slot layout of slots.cuh.  open_addressing.cu is this with names.
 * Departures: a group's size is known at run time only; an insert that meets a tombstone goes
 * on to look whether the key stands further along before it takes the tombstone's slot
 * (the paper would leave the key twice); the two mark keys are legal and lie in side
 * lists.
 */
#ifndef KHT_OPEN_ADDRESSING_CUH
#define KHT_OPEN_ADDRESSING_CUH

#include "cuda/tables/retrieve.cuh"
#include "cuda/tables/slots.cuh"

template <class S, bool MULTI> struct kht_slots_view {
	typedef typename S::key_type K;
	typedef K key_type;
	typedef typename S::value_type value_type;
	static constexpr bool multi = MULTI;
	S slots;
	kht_side<value_type> side;
	kht_cops cops;
	unsigned group;

	template <class F> __device__ uint32_t each(const kht_group &g, K key, F f) const
	{
		uint32_t n = 0;
		int m = kht_mark<K>::of(key);

		if (m >= 0) {
			for (uint32_t i = g.lane; i < side.size(m); i += g.size)
				f(i, side.list(m)[i]);
			return (uint32_t)side.size(m);
		}
		if (!MULTI) {
			size_t at = kht_slot_find<false>(slots, cops, g, key);
			if (at != ~(size_t)0 && g.lane == 0)
				f(0, slots.value(at));
			return at != ~(size_t)0;
		}
		kht_cops::walk w = cops.start(key);
		for (uint32_t i = 0; i < cops.windows; i++, cops.next(w))
			for (uint32_t j = 0; j < cops.window; j += g.size) {
				size_t at = w.at * cops.window + j + g.lane;
				K k = slots.key(at);
				unsigned all = g.ballot(k == key);

				if (k == key)
					f(n + __popc(all & ((1u << g.lane) - 1)), slots.value(at));
				n += __popc(all);
				if (g.ballot(k == kht_mark<K>::EMPTY))
					return n;
			}
		return n;
	}
};

/* Claims a free slot on the key's way; false: there is none. */
template <class S, class K, class V>
static __device__ bool kht_slot_push(const S &s, const kht_cops &cops, const kht_group &g, K key,
				     V v)
{
	kht_cops::walk w = cops.start(key);

	for (uint32_t i = 0; i < cops.windows; i++, cops.next(w))
		for (uint32_t j = 0; j < cops.window; j += g.size) {
			size_t at = w.at * cops.window + j + g.lane;
			K k = s.fresh(at);
			unsigned open = g.ballot(k >= kht_mark<K>::TOMB);

			for (; open; open &= open - 1) {
				unsigned r = __ffs(open) - 1;
				bool ok = false;
				if (g.lane == r)
					ok = s.claim(at, k, key, v) == k;
				if (g.ballot(ok))
					return true;
			}
		}
	return false;
}

template <class S, bool MULTI>
static __global__ void kht_slots_insert(kht_slots_view<S, MULTI> w, kht_kv p,
					unsigned long long *note)
{
	typedef typename S::key_type K;
	typedef typename S::value_type V;
	kht_group g(w.group);
	size_t i = kht_group_id(w.group);

	if (i >= p.n)
		return;
	K key = ((const K *)p.keys)[i];
	V value = p.values ? ((const V *)p.values)[i] : (V)1;
	int m = kht_mark<K>::of(key);
	bool ok;

	if (m >= 0) {
		if (g.lane == 0)
			MULTI ? w.side.push(m, value) : w.side.put(m, value);
		return;
	}
	if (MULTI) {
		ok = kht_slot_push(w.slots, w.cops, g, key, value);
	} else {
		kht_placed to = kht_slot_claim(w.slots, w.cops, g, key, value);
		ok = to.slot != ~(size_t)0;
		if (ok && !to.made && g.lane == 0)
			w.slots.set(to.slot, value);
	}
	if (!ok && g.lane == 0)
		atomicAdd(note + KHT_NOTE_FAILED, 1ull);
}

template <class S>
static __global__ void kht_slots_find(kht_slots_view<S, false> w, kht_keys q, kht_found out)
{
	typedef typename S::key_type K;
	typedef typename S::value_type V;
	kht_group g(w.group);
	size_t i = kht_group_id(w.group);

	if (i >= q.n)
		return;
	K key = ((const K *)q.keys)[i];
	int m = kht_mark<K>::of(key);
	V value = (V)out.missing;
	bool hit;

	if (m >= 0) {
		hit = w.side.size(m) > 0;
		if (hit)
			value = w.side.list(m)[0];
	} else {
		size_t at = kht_slot_find<false>(w.slots, w.cops, g, key);
		hit = at != ~(size_t)0;
		if (hit && g.lane == 0)
			value = w.slots.value(at);
	}
	if (g.lane != 0)
		return;
	((V *)out.values)[i] = value;
	if (out.found)
		out.found[i] = hit;
}

template <class S, bool MULTI>
static __global__ void kht_slots_erase(kht_slots_view<S, MULTI> w, kht_keys q)
{
	typedef typename S::key_type K;
	kht_group g(w.group);
	size_t i = kht_group_id(w.group);

	if (i >= q.n)
		return;
	K key = ((const K *)q.keys)[i];
	int m = kht_mark<K>::of(key);

	if (m >= 0) {
		if (g.lane == 0)
			w.side.drop(m);
		return;
	}
	kht_cops::walk walk = w.cops.start(key);
	for (uint32_t j = 0; j < w.cops.windows; j++, w.cops.next(walk))
		for (uint32_t o = 0; o < w.cops.window; o += g.size) {
			size_t at = walk.at * w.cops.window + o + g.lane;
			K k = w.slots.fresh(at);

			if (k == key)
				w.slots.wipe(at);
			if ((!MULTI && g.ballot(k == key)) || g.ballot(k == kht_mark<K>::EMPTY))
				return;
		}
}

/* Counts the slots in use, to note[KHT_NOTE_USED]. */
template <class S> static __global__ void kht_slots_used(S s, uint64_t n, unsigned long long *note)
{
	unsigned long long c = 0;

	for (uint64_t i = kht_thread_id(); i < n; i += (uint64_t)gridDim.x * blockDim.x)
		c += s.key(i) < kht_mark<typename S::key_type>::TOMB;
	c += __shfl_xor_sync(KHT_FULL, c, 16);
	c += __shfl_xor_sync(KHT_FULL, c, 8);
	c += __shfl_xor_sync(KHT_FULL, c, 4);
	c += __shfl_xor_sync(KHT_FULL, c, 2);
	c += __shfl_xor_sync(KHT_FULL, c, 1);
	if ((threadIdx.x & 31) == 0)
		atomicAdd(note + KHT_NOTE_USED, c);
}

template <class S>
static int kht_slots_count(kht_table *t, const S &slots, kht_stream s, kh_err *err)
{
	kht_slots_used<S><<<1024, KHT_BLOCK, 0, s>>>(slots, t->slots, t->note);
	return kht_launched("stats", err);
}

template <class S, bool MULTI> struct kht_open_table : kht_table {
	typedef kht_slots_view<S, MULTI> view_type;
	S slots_;
	kht_side<typename S::value_type> side;
	kht_cops cops;
	unsigned group, insert_group;

	view_type view() const { return { slots_, side, cops, group }; }
	int insert(const kht_kv *p, kht_stream s, kh_err *err)
	{
		view_type w = view();

		w.group = insert_group;
		kht_slots_insert<<<kht_blocks(p->n * w.group, KHT_PROBE_BLOCK), KHT_PROBE_BLOCK, 0,
				   s>>>(w, *p, note);
		return kht_launched("insert", err);
	}
	int find(const kht_keys *q, const kht_found *o, kht_stream s, kh_err *err)
	{
		kht_slots_find<S>
			<<<kht_blocks(q->n * group, KHT_PROBE_BLOCK), KHT_PROBE_BLOCK, 0, s>>>(
				view(), *q, *o);
		return kht_launched("find", err);
	}
	int erase(const kht_keys *q, kht_stream s, kh_err *err)
	{
		kht_slots_erase<<<kht_blocks(q->n * group), KHT_BLOCK, 0, s>>>(view(), *q);
		return kht_launched("erase", err);
	}
	int used(kht_stream s, kh_err *err) { return kht_slots_count(this, slots_, s, err); }
	/* Pairs whose key is a mark are beside the slots. */
	void stats(const unsigned long long *counters, kht_table_stats *st)
	{
		for (int m = 0; m < 2; m++) {
			uint64_t n = counters[KHT_NOTE_SIDE + m];
			st->pairs += n < side.room ? n : side.room;
		}
	}
	/* Memory, and probing by groups of so many lanes where the config leaves the choice. */
	int start(unsigned find_lanes, unsigned insert_lanes, kht_stream s, kh_err *err)
	{
		int rc;

		group = cfg.group ? cfg.group : find_lanes;
		insert_group = cfg.group ? cfg.group : insert_lanes;
		cops = kht_cops::make(&cfg, cfg.capacity, group);
		slots = cops.slots();
		rc = slots_.take(this, slots, s, err);
		return rc ? rc : side.take(this, MULTI ? cfg.side : 1, s, err);
	}
};

template <template <class> class T, unsigned CAN, class S>
static int kht_make_slots(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	return kht_make<T<S>, CAN, kht_by_view<T<S>>>(c, s, t, err);
}

template <template <class> class T, unsigned CAN, class K, class V>
static int kht_make_layout(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	bool narrow = sizeof(K) == 4 && sizeof(V) == 4;

	if (c->layout == KHT_LAYOUT_SOA)
		return kht_make_slots<T, CAN, kht_soa<K, V>>(c, s, t, err);
	if (c->layout == KHT_LAYOUT_AOS || (c->layout == KHT_LAYOUT_DEFAULT && !narrow))
		return kht_make_slots<T, CAN, kht_aos<K, V>>(c, s, t, err);
	if (!narrow)
		return kh_fail(err, KH_EUSAGE, "packed pairs are of 32-bit keys and values");
	return kht_make_slots<T, CAN, kht_packed>(c, s, t, err);
}

/* Makes a T over slots of the layout and the widths that c asks for; pairs of 32 bits are packed
 * unless it asks for another. */
template <template <class> class T, unsigned CAN>
static int kht_make_open(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	if (c->key_bits == 32)
		return c->value_bits == 32
			       ? kht_make_layout<T, CAN, uint32_t, uint32_t>(c, s, t, err)
			       : kht_make_layout<T, CAN, uint32_t, uint64_t>(c, s, t, err);
	return c->value_bits == 32 ? kht_make_layout<T, CAN, uint64_t, uint32_t>(c, s, t, err)
				   : kht_make_layout<T, CAN, uint64_t, uint64_t>(c, s, t, err);
}

#endif
