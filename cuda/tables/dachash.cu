/*
 * dachash.cu - DACHash (Zhou 2021, chapters 4 to 6)
 *
 * Buckets are chains of super nodes, small arrays of pairs.  A bucket's first node is its
 * own; more come from a concurrent stack.  Slots fill in order, so the first empty one
 * ends a search and is where two inserts of one key meet.  Batches are searches, inserts,
 * updates and deletes in any mix; delete leaves a mark; clean compacts the chains and
 * gives empty nodes back.  A batch may be reordered by hash value (Alg. 1, by default
 * rows of 256 buckets).  One-to-one mapping gives a thread an operation (Alg. 2);
 * in many-to-one, a tile of lanes as wide as a node does the operations of its lanes in turn
 * (Alg. 3); the mapping is chosen by the expected length of a chain, at 0.6.
 * Departures: next links lie in an array of their own, so that a node of 8 pairs of 32
 * bits is 64 bytes; one-to-one reads four packed pairs at a time; a thread marks a link
 * before it pops a node for it, where the thesis pops, tries to link and pushes back what
 * came second: no node is taken in vain, no kernel both pops and pushes, and one counter
 * is the whole stack; reorder is a kernel of the same stream and not a wait of the
 * host.  Pairs wider than 64 bits: the key is claimed, then the value stored, so a search
 * in the same batch may see the key before its value.  Marks of deleted keys keep their slots, so
 * erase cleans once an eighth of the capacity has gone by, or chains would use up the stack; after
 * mixed batches that is the caller's.
 */
#include "cuda/tables/dachash.cuh"
#include "cuda/tables/open_addressing.cuh"

/* A batch, in its own order or in another: item j is operation order[j]. */
template <class K> struct dac_batch {
	kht_ops o;
	int op;                /* of all, where o.op is NULL */
	const uint32_t *order; /* or NULL */
	const K *keys;         /* in order's order */
	size_t n;
	uint8_t *found;
};

template <class S>
static __device__ bool mark_op(const dac_view<S> &w, int op, int m, typename S::value_type &v)
{
	bool hit = true;

	if (op == KHT_OP_SEARCH) {
		hit = w.side.size(m) > 0;
		v = hit ? w.side.list(m)[0] : v;
	} else if (op == KHT_OP_DELETE) {
		w.side.drop(m);
	} else {
		w.side.put(m, v);
	}
	return hit;
}

/* Alg. 2.  Returns whether a search found its key, or a write had room. */
template <class S>
static __device__ bool one_op(const dac_view<S> &w, int op, typename S::key_type key,
			      typename S::value_type &v)
{
	int m = kht_mark<typename S::key_type>::of(key);

	if (m >= 0)
		return mark_op(w, op, m, v);
	if (op == KHT_OP_SEARCH)
		return w.search(key, v);
	if (op != KHT_OP_DELETE)
		return w.put(key, v);
	size_t at = w.find(key);
	if (at != ~(size_t)0)
		w.slots.wipe(at);
	return true;
}

/* Alg. 3, one operation. */
template <class S>
static __device__ bool tile_op(const dac_view<S> &w, const kht_group &g, int op,
			       typename S::key_type key, typename S::value_type &v)
{
	int m = kht_mark<typename S::key_type>::of(key);

	if (m >= 0) {
		int hit = 0;
		if (g.lane == 0)
			hit = mark_op(w, op, m, v);
		v = g.from(v, 0);
		return g.from(hit, 0);
	}
	if (op == KHT_OP_INSERT || op == KHT_OP_UPDATE)
		return w.put(g, key, v);
	size_t at = w.find(g, key);
	if (at == ~(size_t)0)
		return op == KHT_OP_DELETE;
	if (op == KHT_OP_SEARCH)
		v = w.slots.value(at);
	else if (g.lane == 0)
		w.slots.wipe(at);
	return true;
}

template <class S, bool MANY>
static __global__ void __launch_bounds__(KHT_BLOCK)
	run_ops(dac_view<S> w, dac_batch<typename S::key_type> b)
{
	typedef typename S::key_type K;
	typedef typename S::value_type V;
	size_t j = kht_thread_id(), i = j;
	bool on = j < b.n, ok = true;

	if (on && b.order) {
		i = b.order[j];
		on = i != UINT32_MAX;
	}
	K key = on ? b.keys[j] : 0;
	int op = !on ? -1 : b.o.op ? b.o.op[i] : b.op;
	V v = on && op != KHT_OP_SEARCH && op != KHT_OP_DELETE ? ((const V *)b.o.values)[i]
							       : (V)b.o.missing;

	if (MANY) {
		kht_group g(w.node);
		for (unsigned r = 0; r < g.size; r++) {
			int its = g.from(op, r);
			K k = g.from(key, r);
			V x = g.from(v, r);
			if (its < 0)
				continue;
			bool done = tile_op(w, g, its, k, x);
			if (g.lane == r) {
				ok = done;
				v = x;
			}
		}
	} else if (on) {
		ok = one_op(w, op, key, v);
	}
	if (!on)
		return;
	if (op == KHT_OP_SEARCH) {
		((V *)b.o.values)[i] = ok ? v : (V)b.o.missing;
		if (b.found)
			b.found[i] = ok;
	} else if (!ok) {
		atomicAdd(w.note + KHT_NOTE_FAILED, 1ull);
	}
}

static bool quads(const dac_view<kht_packed> &w, const kht_keys *q, const kht_found *o,
		  kht_stream s)
{
	if (w.node != 8)
		return false;
	search_quads<<<kht_blocks(q->n, KHT_PROBE_BLOCK), KHT_PROBE_BLOCK, 0, s>>>(w, *q, *o);
	return true;
}

template <class S>
static bool quads(const dac_view<S> &, const kht_keys *, const kht_found *, kht_stream)
{
	return false;
}

/* Alg. 1: rows of M places; a full row's items go to the next. */
template <class S>
static __global__ void reorder(dac_view<S> w, const typename S::key_type *keys, size_t n,
			       uint32_t combined, uint32_t rows, uint32_t m, uint32_t *record,
			       uint32_t *order, typename S::key_type *moved)
{
	size_t i = kht_thread_id();

	if (i >= n)
		return;
	uint32_t row = w.bucket(keys[i]) / combined, at = atomicAdd(record + row, 1u);
	while (at >= m) {
		row = row + 1 < rows ? row + 1 : 0;
		at = atomicAdd(record + row, 1u);
	}
	order[(size_t)row * m + at] = (uint32_t)i;
	moved[(size_t)row * m + at] = keys[i];
}

/* Each thread compacts a chain: live pairs move to its front, the slots behind them become empty,
 * and empty nodes are given back. */
template <class S> static __global__ void compact(dac_view<S> w)
{
	typedef typename S::key_type K;
	size_t b = kht_thread_id();

	if (b >= w.buckets)
		return;
	uint32_t to = (uint32_t)b;
	unsigned used = 0;
	for (uint32_t n = to;;) {
		for (uint32_t p = 0; p < w.node; p++) {
			K k = w.slots.key((size_t)n * w.node + p);
			if (k >= kht_mark<K>::TOMB)
				continue;
			typename S::value_type v = w.slots.value((size_t)n * w.node + p);
			w.slots.reset((size_t)n * w.node + p);
			if (used == w.node) {
				to = w.next[to];
				used = 0;
			}
			w.slots.claim((size_t)to * w.node + used,
				      w.slots.fresh((size_t)to * w.node + used), k, v);
			used++;
		}
		n = w.next[n];
		if (n == NO_NODE)
			break;
	}
	for (uint32_t p = used; p < w.node; p++)
		w.slots.reset((size_t)to * w.node + p);
	for (uint32_t n = w.next[to], after; n != NO_NODE; n = after) {
		after = w.next[n];
		w.next[n] = NO_NODE;
		for (uint32_t p = 0; p < w.node; p++)
			w.slots.reset((size_t)n * w.node + p);
		w.push(n);
	}
	w.next[to] = NO_NODE;
}

static __global__ void fill_stack(uint32_t *stack, uint32_t first, uint32_t n,
				  unsigned long long *note)
{
	size_t i = kht_thread_id();

	if (i < n)
		stack[i] = first + (uint32_t)i;
	if (i == 0)
		note[KHT_NOTE_A] = n;
}

template <class S> struct dachash : kht_table {
	typedef dac_view<S> view_type;
	typedef typename S::key_type K;
	typedef typename S::value_type V;
	S slots_;
	kht_side<V> side;
	uint32_t *next, *stack;
	uint32_t buckets, node;
	uint64_t erased; /* keys, at most, since the last clean */
	bool many;

	view_type view() const
	{
		return { slots_, side, next, stack, note, buckets, node, cfg.seed, 1 };
	}
	int launch(const dac_batch<K> &b, kht_stream s, kh_err *err)
	{
		if (many)
			run_ops<S, true><<<kht_blocks(b.n), KHT_BLOCK, 0, s>>>(view(), b);
		else
			run_ops<S, false><<<kht_blocks(b.n), KHT_BLOCK, 0, s>>>(view(), b);
		return kht_launched("operations", err);
	}
	int run(dac_batch<K> b, kht_stream s, kh_err *err);
	int open(kht_stream s, kh_err *err);
	int used(kht_stream s, kh_err *err) { return kht_slots_count(this, slots_, s, err); }
	void stats(const unsigned long long *counters, kht_table_stats *st)
	{
		for (int m = 0; m < 2; m++)
			st->pairs += counters[KHT_NOTE_SIDE + m] > 0;
		st->pool_used = cfg.pool - counters[KHT_NOTE_A];
	}
	int batch(const void *keys, const void *values, size_t n, int op, kht_stream s, kh_err *err)
	{
		kht_ops o = { nullptr, keys, (void *)values, n, 0 };
		dac_batch<K> b = { o, op, nullptr, (const K *)keys, n, nullptr };

		return run(b, s, err);
	}
	int insert(const kht_kv *p, kht_stream s, kh_err *err)
	{
		return batch(p->keys, p->values, p->n, KHT_OP_INSERT, s, err);
	}
	int erase(const kht_keys *q, kht_stream s, kh_err *err)
	{
		int rc = batch(q->keys, nullptr, q->n, KHT_OP_DELETE, s, err);

		erased += q->n;
		if (rc || erased < cfg.capacity / 8)
			return rc;
		erased = 0;
		return clean(s, err);
	}
	int mixed(const kht_ops *o, kht_stream s, kh_err *err)
	{
		dac_batch<K> b = { *o, 0, nullptr, (const K *)o->keys, o->n, nullptr };
		return run(b, s, err);
	}
	int find(const kht_keys *q, const kht_found *o, kht_stream s, kh_err *err)
	{
		kht_ops ops = { nullptr, q->keys, o->values, q->n, o->missing };

		if (cfg.mapping == KHT_MAP_QUAD && !cfg.reorder && quads(view(), q, o, s))
			return kht_launched("search", err);
		dac_batch<K> b = {
			ops, KHT_OP_SEARCH, nullptr, (const K *)q->keys, q->n, o->found
		};
		return run(b, s, err);
	}
	int clean(kht_stream s, kh_err *err)
	{
		compact<S><<<kht_blocks(buckets), KHT_BLOCK, 0, s>>>(view());
		return kht_launched("clean", err);
	}
};

template <class S> int dachash<S>::run(dac_batch<K> b, kht_stream s, kh_err *err)
{
	uint32_t rows = (buckets + cfg.combined - 1) / cfg.combined;
	uint32_t m = (uint32_t)((b.o.n + rows - 1) / rows);
	size_t places = (size_t)rows * m;
	kht_scratch<uint32_t> record, order;
	kht_scratch<K> moved;
	int rc;

	if (!cfg.reorder)
		return launch(b, s, err);
	if (b.o.n >= UINT32_MAX)
		return kh_fail(err, KH_EUSAGE, "a batch of %zu: below 2^32 can be reordered",
			       b.o.n);
	if ((rc = record.take(this, rows, s, err)) || (rc = order.take(this, places, s, err)) ||
	    (rc = moved.take(this, places, s, err)) ||
	    (rc = kht_cuda(cudaMemsetAsync(record.p, 0, (size_t)rows * 4, s), "reorder", err)) ||
	    (rc = kht_cuda(cudaMemsetAsync(order.p, 0xff, places * 4, s), "reorder", err)))
		return rc;
	reorder<S><<<kht_blocks(b.o.n), KHT_BLOCK, 0, s>>>(view(), b.keys, b.o.n, cfg.combined,
							   rows, m, record.p, order.p, moved.p);
	b.order = order.p;
	b.keys = moved.p;
	b.n = places;
	return launch(b, s, err);
}

template <class S> int dachash<S>::open(kht_stream s, kh_err *err)
{
	int rc;

	cfg.node = cfg.node ? cfg.node : 8;
	cfg.combined = cfg.combined ? cfg.combined : 256;
	cfg.length = cfg.length > 0 ? cfg.length : 0.5;
	cfg.threshold = cfg.threshold > 0 ? cfg.threshold : 0.6;
	if (cfg.node > 32 || (cfg.node & (cfg.node - 1)))
		return kh_fail(err, KH_EUSAGE, "a super node of %u pairs: not 1, 2, 4 .. 32",
			       cfg.node);
	double first = (double)cfg.capacity / cfg.node / cfg.length + 1;
	cfg.pool = cfg.pool ? cfg.pool : cfg.capacity / cfg.node + (uint64_t)first / 4 + 1024;
	if (first + (double)cfg.pool > 4e9)
		return kh_fail(err, KH_EUSAGE, "%.0f super nodes: 4e9 are the most",
			       first + (double)cfg.pool);
	buckets = (uint32_t)first;
	node = cfg.node;
	many = cfg.mapping == KHT_MAP_MANY ||
	       (cfg.mapping == KHT_MAP_AUTO && cfg.length >= cfg.threshold);
	uint64_t nodes = buckets + cfg.pool;
	slots = nodes * cfg.node;
	if ((rc = slots_.take(this, slots, s, err)) || (rc = side.take(this, 1, s, err)) ||
	    (rc = kht_take(this, &next, nodes, 0, s, err)) ||
	    (rc = kht_take(this, &stack, cfg.pool, 0, s, err)))
		return rc;
	fill_stack<<<kht_blocks(cfg.pool), KHT_BLOCK, 0, s>>>(stack, buckets, (uint32_t)cfg.pool,
							      note);
	return kht_launched("stack of nodes", err);
}

template <class K, class V> using paired = dachash<kht_aos<K, V>>;

int kht_dachash_open(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	if (c->key_bits == 32 && c->value_bits == 32)
		return kht_make_slots<dachash, KHT_DACHASH_CAN, kht_packed>(c, s, t, err);
	return kht_make_wide<paired, KHT_DACHASH_CAN, kht_by_view>(c, s, t, err);
}
