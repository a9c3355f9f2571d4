/*
 * open_addressing.cuh - WarpCore's open addressing (IV-B): one value a key, or one slot a
 * pair
 *
 * S is a slot layout of slots.cuh.  single.cu, multi.cu and sets.cu are this with names.
 * Departures: a group's size is a run time number; an insert that meets a tombstone goes
 * on to look whether the key stands further along before it takes the tombstone's slot
 * (the paper would leave the key twice); the two mark keys are legal and lie in side
 * lists.
 */
#ifndef KH_TABLES_OPEN_ADDRESSING_CUH
#define KH_TABLES_OPEN_ADDRESSING_CUH

#include "retrieve.cuh"

/* Claims a free slot on the key's way; false: there is none. */
template <class S, class K, class V>
static __device__ bool kh_slot_push(const S &s, const kh_cops &cops, const kh_group &g,
				    K key, V v)
{
	kh_cops::walk w = cops.start(key);

	for (uint32_t i = 0; i < cops.windows; i++, cops.next(w))
		for (uint32_t j = 0; j < cops.window; j += g.size) {
			size_t at = w.at * cops.window + j + g.rank;
			K k = s.fresh(at);
			unsigned open = g.ballot(k >= kh_mark<K>::TOMB);

			for (; open; open &= open - 1) {
				unsigned r = __ffs(open) - 1;
				bool ok = false;
				if (g.rank == r)
					ok = s.claim(at, k, key, v) == k;
				if (g.ballot(ok))
					return true;
			}
		}
	return false;
}

template <class S, bool MULTI>
static __global__ void kh_slots_insert(kh_slots_view<S, MULTI> w, kh_kv p,
				       unsigned long long *note)
{
	typedef typename S::key_type K;
	typedef typename S::value_type V;
	kh_group g(w.group);
	size_t i = kh_group_id(w.group);

	if (i >= p.n)
		return;
	K key = ((const K *)p.keys)[i];
	V value = p.values ? ((const V *)p.values)[i] : (V)1;
	int m = kh_mark<K>::of(key);
	bool ok;

	if (m >= 0) {
		if (g.rank == 0)
			MULTI ? w.side.push(m, value) : w.side.put(m, value);
		return;
	}
	if (MULTI) {
		ok = kh_slot_push(w.slots, w.cops, g, key, value);
	} else {
		kh_placed to = kh_slot_claim(w.slots, w.cops, g, key, value);
		ok = to.slot != ~(size_t)0;
		if (ok && !to.made && g.rank == 0)
			w.slots.set(to.slot, value);
	}
	if (!ok && g.rank == 0)
		atomicAdd(note + KH_NOTE_FAILED, 1ull);
}

template <class S>
static __global__ void kh_slots_find(kh_slots_view<S, false> w, kh_keys q, kh_found out)
{
	typedef typename S::key_type K;
	typedef typename S::value_type V;
	kh_group g(w.group);
	size_t i = kh_group_id(w.group);

	if (i >= q.n)
		return;
	K key = ((const K *)q.keys)[i];
	int m = kh_mark<K>::of(key);
	V value = (V)out.missing;
	bool hit;

	if (m >= 0) {
		hit = w.side.size(m) > 0;
		if (hit)
			value = w.side.list(m)[0];
	} else {
		size_t at = kh_slot_find<false>(w.slots, w.cops, g, key);
		hit = at != ~(size_t)0;
		if (hit && g.rank == 0)
			value = w.slots.value(at);
	}
	if (g.rank != 0)
		return;
	((V *)out.values)[i] = value;
	if (out.found)
		out.found[i] = hit;
}

template <class S, bool MULTI>
static __global__ void kh_slots_erase(kh_slots_view<S, MULTI> w, kh_keys q)
{
	typedef typename S::key_type K;
	kh_group g(w.group);
	size_t i = kh_group_id(w.group);

	if (i >= q.n)
		return;
	K key = ((const K *)q.keys)[i];
	int m = kh_mark<K>::of(key);

	if (m >= 0) {
		if (g.rank == 0)
			w.side.drop(m);
		return;
	}
	kh_cops::walk walk = w.cops.start(key);
	for (uint32_t j = 0; j < w.cops.windows; j++, w.cops.next(walk))
		for (uint32_t o = 0; o < w.cops.window; o += g.size) {
			size_t at = walk.at * w.cops.window + o + g.rank;
			K k = w.slots.fresh(at);

			if (k == key)
				w.slots.wipe(at);
			if ((!MULTI && g.ballot(k == key)) ||
			    g.ballot(k == kh_mark<K>::EMPTY))
				return;
		}
}

/* Slots in use, to note[KH_NOTE_USED]. */
template <class S>
static __global__ void kh_slots_used(S s, uint64_t n, unsigned long long *note)
{
	unsigned long long c = 0;

	for (uint64_t i = kh_thread_id(); i < n; i += (uint64_t)gridDim.x * blockDim.x)
		c += s.key(i) < kh_mark<typename S::key_type>::TOMB;
	c += __shfl_xor_sync(KH_FULL, c, 16);
	c += __shfl_xor_sync(KH_FULL, c, 8);
	c += __shfl_xor_sync(KH_FULL, c, 4);
	c += __shfl_xor_sync(KH_FULL, c, 2);
	c += __shfl_xor_sync(KH_FULL, c, 1);
	if ((threadIdx.x & 31) == 0)
		atomicAdd(note + KH_NOTE_USED, c);
}

/* Waits: pairs stored, those of the mark keys among them. */
template <class S>
static int kh_slots_stats(kh_table *t, const S &slots, uint64_t room, kh_stream s,
			  kh_table_stats *st, kh_err *err)
{
	unsigned long long note[KH_NOTES];
	int rc = kh_cuda(cudaMemsetAsync(t->note + KH_NOTE_USED, 0, sizeof *note, s),
			 "stats", err);

	if (rc)
		return rc;
	kh_slots_used<S><<<1024, KH_BLOCK, 0, s>>>(slots, t->slots, t->note);
	if ((rc = kh_launched("stats", err)) ||
	    (rc = kh_cuda(cudaMemcpyAsync(note, t->note, sizeof note,
					  cudaMemcpyDeviceToHost, s),
			  "stats", err)) ||
	    (rc = kh_cuda(cudaStreamSynchronize(s), "stats", err)))
		return rc;
	st->pairs = note[KH_NOTE_USED];
	for (int m = 0; m < 2; m++)
		st->pairs +=
			note[KH_NOTE_SIDE + m] < room ? note[KH_NOTE_SIDE + m] : room;
	return KH_OK;
}

template <class S, bool MULTI> struct kh_open_table : kh_table {
	typedef kh_slots_view<S, MULTI> view_type;
	S slots_;
	kh_side<typename S::value_type> side;
	kh_cops cops;
	unsigned group, insert_group;

	view_type view() const { return { slots_, side, cops, group }; }
	int insert(const kh_kv *p, kh_stream s, kh_err *err)
	{
		view_type w = view();

		w.group = insert_group;
		if (p->n == 0)
			return KH_OK;
		kh_slots_insert<<<kh_blocks(p->n * w.group, KH_PROBE_BLOCK),
				  KH_PROBE_BLOCK, 0, s>>>(w, *p, note);
		return kh_launched("insert", err);
	}
	int find(const kh_keys *q, const kh_found *o, kh_stream s, kh_err *err)
	{
		kh_slots_find<S><<<kh_blocks(q->n * group, KH_PROBE_BLOCK),
				   KH_PROBE_BLOCK, 0, s>>>(view(), *q, *o);
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
	int erase(const kh_keys *q, kh_stream s, kh_err *err)
	{
		kh_slots_erase<<<kh_blocks(q->n * group), KH_BLOCK, 0, s>>>(view(), *q);
		return kh_launched("erase", err);
	}
	int stats(kh_stream s, kh_table_stats *st, kh_err *err)
	{
		return kh_slots_stats(this, slots_, side.room, s, st, err);
	}
};

/* Memory and probing of an open-addressing table T.  The groups that look up and that
 * insert are those given where the config leaves the choice; the window is as wide as
 * the wider. */
template <class T>
static int kh_open_addressing(T *t, const kh_table_fn *fn, const kh_table_config *c,
			      unsigned group, unsigned insert_group, kh_stream s,
			      kh_err *err)
{
	uint64_t side = T::view_type::multi ? c->side : 1;
	int rc = kh_table_init(t, fn, c, s, err);

	if (rc)
		return rc;
	t->group = c->group ? c->group : group;
	t->insert_group = c->group ? c->group : insert_group;
	t->cops = kh_cops::make(c, c->capacity, t->group);
	t->slots = t->cops.slots();
	rc = t->slots_.take(t, t->slots, s, err);
	return rc ? rc : t->side.take(t, side, s, err);
}

/* Opens F's table over the slots of the layout that c asks for; pairs of 32 bits are packed
 * unless it asks for another. */
template <class F, class K, class V>
static int kh_open_layout(const kh_table_config *c, kh_stream s, kh_table **t,
			  kh_err *err)
{
	bool narrow = sizeof(K) == 4 && sizeof(V) == 4;

	if (c->layout == KH_LAYOUT_SOA)
		return F::template open<kh_soa<K, V>>(c, s, t, err);
	if (c->layout == KH_LAYOUT_AOS || (c->layout == KH_LAYOUT_DEFAULT && !narrow))
		return F::template open<kh_aos<K, V>>(c, s, t, err);
	if (!narrow)
		return kh_fail(err, KH_EUSAGE,
			       "packed pairs are of 32-bit keys and values");
	return F::template open<kh_packed>(c, s, t, err);
}

#endif
