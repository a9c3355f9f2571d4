/*
 * dachash.cu - row 12: DACHash (Zhou 2021, chapters 4 to 6)
 *
 * Buckets are chains of super nodes, small arrays of pairs.  A bucket's first node is its
 * own; more come from a concurrent stack.  Slots fill in order, so the first empty one
 * ends a search and is where two inserts of one key meet.  Batches are searches, inserts,
 * updates and deletes in any mix; delete leaves a mark; clean compacts the chains and
 * gives empty nodes back.  A batch may be reordered by hash value (Alg. 1, by default
 * rows of 256 buckets).  One-to-one mapping gives a thread an operation (Alg. 2);
 * many-to-one has a tile as wide as a node do its lanes' operations in turn (Alg. 3); the
 * expected length of a chain chooses, at 0.6.
 * Departures: next links lie in an array of their own, so that a node of 8 pairs of 32
 * bits is 64 bytes; one-to-one reads four packed pairs at a time; a thread marks a link
 * before it pops a node for it, where the thesis pops, tries to link and pushes back what
 * came second: no node is taken in vain, no kernel both pops and pushes, and one counter
 * is the whole stack; reorder is a kernel of the same stream and not a wait of the
 * host.  Pairs wider than 64 bits: the key is claimed, then the value stored, so a search
 * in the same batch may see the key before its value.
 */
#include "dachash.cuh"
#include "open_addressing.cuh"
#include "systems.h"


/* A batch, in its own order or in another: item j is operation order[j]. */
template <class K> struct dac_batch {
	kh_ops o;
	int op;                         /* of all, where o.op is NULL */
	const uint32_t *order;          /* or NULL */
	const K *keys;                  /* in order's order */
	size_t n;
	uint8_t *found;
};

template <class S>
static __device__ bool mark_op(const dac_view<S> &w, int op, int m,
			       typename S::value_type &v)
{
	bool hit = true;

	if (op == KH_OP_SEARCH) {
		hit = w.side.size(m) > 0;
		v = hit ? w.side.list(m)[0] : v;
	} else if (op == KH_OP_DELETE) {
		w.side.drop(m);
	} else {
		w.side.put(m, v);
	}
	return hit;
}

/* Alg. 2.  Returns whether a search found, or a write had room. */
template <class S>
static __device__ bool one_op(const dac_view<S> &w, int op, typename S::key_type key,
			      typename S::value_type &v)
{
	int m = kh_mark<typename S::key_type>::of(key);

	if (m >= 0)
		return mark_op(w, op, m, v);
	if (op == KH_OP_SEARCH)
		return w.search(key, v);
	if (op != KH_OP_DELETE)
		return w.put(key, v);
	size_t at = w.find(key);
	if (at != ~(size_t)0)
		w.slots.wipe(at);
	return true;
}

/* Alg. 3, one operation. */
template <class S>
static __device__ bool tile_op(const dac_view<S> &w, const kh_group &g, int op,
			       typename S::key_type key, typename S::value_type &v)
{
	int m = kh_mark<typename S::key_type>::of(key);

	if (m >= 0) {
		int hit = 0;
		if (g.rank == 0)
			hit = mark_op(w, op, m, v);
		v = g.from(v, 0);
		return g.from(hit, 0);
	}
	if (op == KH_OP_INSERT || op == KH_OP_UPDATE)
		return w.put(g, key, v);
	size_t at = w.find(g, key);
	if (at == ~(size_t)0)
		return op == KH_OP_DELETE;
	if (op == KH_OP_SEARCH)
		v = w.slots.value(at);
	else if (g.rank == 0)
		w.slots.wipe(at);
	return true;
}

template <class S, bool MANY>
static __global__ void __launch_bounds__(KH_BLOCK)
	run_ops(dac_view<S> w, dac_batch<typename S::key_type> b)
{
	typedef typename S::key_type K;
	typedef typename S::value_type V;
	size_t j = kh_thread_id(), i = j;
	bool on = j < b.n, ok = true;

	if (on && b.order) {
		i = b.order[j];
		on = i != UINT32_MAX;
	}
	K key = on ? b.keys[j] : 0;
	int op = !on ? -1 : b.o.op ? b.o.op[i] : b.op;
	V v = on && op != KH_OP_SEARCH && op != KH_OP_DELETE ? ((const V *)b.o.values)[i]
							     : (V)b.o.missing;

	if (MANY) {
		kh_group g(w.node);
		for (unsigned r = 0; r < g.size; r++) {
			int its = g.from(op, r);
			K k = g.from(key, r);
			V x = g.from(v, r);
			if (its < 0)
				continue;
			bool done = tile_op(w, g, its, k, x);
			if (g.rank == r) {
				ok = done;
				v = x;
			}
		}
	} else if (on) {
		ok = one_op(w, op, key, v);
	}
	if (!on)
		return;
	if (op == KH_OP_SEARCH) {
		((V *)b.o.values)[i] = ok ? v : (V)b.o.missing;
		if (b.found)
			b.found[i] = ok;
	} else if (!ok) {
		atomicAdd(w.note + KH_NOTE_FAILED, 1ull);
	}
}

/* Improved search, packed nodes of 8: a quad reads a node, four chains in flight a
 * lane. */
static __global__ void __launch_bounds__(KH_PROBE_BLOCK)
	search_quads(dac_view<kh_packed> w, kh_keys q, kh_found out)
{
	size_t i = kh_thread_id();
	bool mine = i < q.n, todo = mine, found = false;
	uint32_t key = mine ? ((const uint32_t *)q.keys)[i] : 0, at = w.bucket(key);
	uint32_t v = (uint32_t)out.missing;
	int lane = threadIdx.x & 3, m = kh_mark<uint32_t>::of(key);
	const uint4 *node = (const uint4 *)w.slots.slot + lane;
	uint4 b[4] = {};

	if (mine && m >= 0)
		todo = false;
	while (__any_sync(KH_FULL, todo)) {
#pragma unroll
		for (int r = 0; r < 4; r++) {
			uint32_t to = kh_quad(at, r);
			if (kh_quad((int)todo, r))
				b[r] = __ldcg(node + 4 * (size_t)to);
		}
#pragma unroll
		for (int r = 0; r < 4; r++) {
			uint32_t k = kh_quad(key, r);
			unsigned hit = kh_quad_ballot(b[r].x == k || b[r].z == k);
			uint32_t got = kh_quad(b[r].x == k ? b[r].y : b[r].w,
					       hit ? __ffs(hit) - 1 : 0);
			uint32_t last = kh_quad(b[r].z, 3);

			if (lane != r || !todo)
				continue;
			found = hit != 0;
			v = found ? got : v;
			at = found || last == kh_mark<uint32_t>::EMPTY ? NO_NODE
								       : w.behind(at);
			todo = at != NO_NODE;
		}
	}
	if (!mine)
		return;
	if (m >= 0) {
		found = w.side.size(m) > 0;
		v = found ? w.side.list(m)[0] : v;
	}
	((uint32_t *)out.values)[i] = v;
	if (out.found)
		out.found[i] = found;
}

static bool quads(const dac_view<kh_packed> &w, const kh_keys *q, const kh_found *o,
		  kh_stream s)
{
	if (w.node != 8)
		return false;
	search_quads<<<kh_blocks(q->n, KH_PROBE_BLOCK), KH_PROBE_BLOCK, 0, s>>>(w, *q,
										*o);
	return true;
}

template <class S>
static bool quads(const dac_view<S> &, const kh_keys *, const kh_found *, kh_stream)
{
	return false;
}

/* Alg. 1: rows of M places; a full row's items go to the next. */
template <class S>
static __global__ void reorder(dac_view<S> w, const typename S::key_type *keys, size_t n,
			       uint32_t combined, uint32_t rows, uint32_t m,
			       uint32_t *record, uint32_t *order,
			       typename S::key_type *moved)
{
	size_t i = kh_thread_id();

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

/* One chain a thread: live pairs forward, then empty slots, then nodes given back. */
template <class S> static __global__ void compact(dac_view<S> w)
{
	typedef typename S::key_type K;
	size_t b = kh_thread_id();

	if (b >= w.buckets)
		return;
	uint32_t to = (uint32_t)b;
	unsigned used = 0;
	for (uint32_t n = to;;) {
		for (uint32_t p = 0; p < w.node; p++) {
			K k = w.slots.key((size_t)n * w.node + p);
			if (k >= kh_mark<K>::TOMB)
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
	size_t i = kh_thread_id();

	if (i < n)
		stack[i] = first + (uint32_t)i;
	if (i == 0)
		note[KH_NOTE_A] = n;
}

template <class S> struct dachash : kh_table {
	typedef dac_view<S> view_type;
	typedef typename S::key_type K;
	typedef typename S::value_type V;
	S slots_;
	kh_side<V> side;
	uint32_t *next, *stack;
	uint32_t buckets, node;
	bool many;

	view_type view() const
	{
		return { slots_, side, next, stack, note, buckets, node, cfg.seed, 1 };
	}
	int launch(const dac_batch<K> &b, kh_stream s, kh_err *err)
	{
		if (many)
			run_ops<S, true><<<kh_blocks(b.n), KH_BLOCK, 0, s>>>(view(), b);
		else
			run_ops<S, false><<<kh_blocks(b.n), KH_BLOCK, 0, s>>>(view(), b);
		return kh_launched("operations", err);
	}
	int run(dac_batch<K> b, kh_stream s, kh_err *err);
	int batch(const void *keys, const void *values, size_t n, int op, kh_stream s,
		  kh_err *err)
	{
		kh_ops o = { nullptr, keys, (void *)values, n, 0 };
		dac_batch<K> b = { o, op, nullptr, (const K *)keys, n, nullptr };

		return n ? run(b, s, err) : KH_OK;
	}
	int insert(const kh_kv *p, kh_stream s, kh_err *err)
	{
		return batch(p->keys, p->values, p->n, KH_OP_INSERT, s, err);
	}
	int erase(const kh_keys *q, kh_stream s, kh_err *err)
	{
		return batch(q->keys, nullptr, q->n, KH_OP_DELETE, s, err);
	}
	int mixed(const kh_ops *o, kh_stream s, kh_err *err)
	{
		dac_batch<K> b = { *o, 0, nullptr, (const K *)o->keys, o->n, nullptr };
		return run(b, s, err);
	}
	int find(const kh_keys *q, const kh_found *o, kh_stream s, kh_err *err)
	{
		kh_ops ops = { nullptr, q->keys, o->values, q->n, o->missing };

		if (cfg.mapping == KH_MAP_QUAD && !cfg.reorder && quads(view(), q, o, s))
			return kh_launched("search", err);
		dac_batch<K> b = { ops,  KH_OP_SEARCH, nullptr, (const K *)q->keys,
				   q->n, o->found };
		return run(b, s, err);
	}
	int clean(kh_stream s, kh_err *err)
	{
		compact<S><<<kh_blocks(buckets), KH_BLOCK, 0, s>>>(view());
		return kh_launched("clean", err);
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
		unsigned long long left;
		int rc = kh_slots_stats(this, slots_, 1, s, st, err);

		if (rc ||
		    (rc = kh_cuda(cudaMemcpyAsync(&left, note + KH_NOTE_A, sizeof left,
						  cudaMemcpyDeviceToHost, s),
				  "stats", err)) ||
		    (rc = kh_cuda(cudaStreamSynchronize(s), "stats", err)))
			return rc;
		st->pool_used = cfg.pool - left;
		return KH_OK;
	}
};

template <class S> int dachash<S>::run(dac_batch<K> b, kh_stream s, kh_err *err)
{
	uint32_t rows = (buckets + cfg.combined - 1) / cfg.combined;
	uint32_t m = (uint32_t)((b.o.n + rows - 1) / rows);
	size_t places = (size_t)rows * m;
	kh_scratch<uint32_t> record, order;
	kh_scratch<K> moved;
	int rc;

	if (!cfg.reorder)
		return launch(b, s, err);
	if (b.o.n >= UINT32_MAX)
		return kh_fail(err, KH_EUSAGE,
			       "a batch of %zu: below 2^32 can be reordered", b.o.n);
	if ((rc = record.take(this, rows, s, err)) ||
	    (rc = order.take(this, places, s, err)) ||
	    (rc = moved.take(this, places, s, err)) ||
	    (rc = kh_cuda(cudaMemsetAsync(record.p, 0, (size_t)rows * 4, s), "reorder",
			  err)) ||
	    (rc = kh_cuda(cudaMemsetAsync(order.p, 0xff, places * 4, s), "reorder", err)))
		return rc;
	reorder<S><<<kh_blocks(b.o.n), KH_BLOCK, 0, s>>>(
		view(), b.keys, b.o.n, cfg.combined, rows, m, record.p, order.p, moved.p);
	b.order = order.p;
	b.keys = moved.p;
	b.n = places;
	return launch(b, s, err);
}

template <class S>
static int open_layout(const kh_table_config *c, kh_stream s, kh_table **out, kh_err *err)
{
	typedef dachash<S> T;
	typedef kh_bind<T> B;
	static const kh_table_fn fn = { B::insert, B::find,  B::count, B::retrieve,
					B::fold,   nullptr,  B::erase, B::mixed,
					B::clean,  B::stats, B::view };
	kh_table_config d = *c;
	T *t = kh_table_make<T>();
	int rc;

	*out = t;
	d.node = d.node ? d.node : 8;
	d.combined = d.combined ? d.combined : 256;
	d.length = d.length > 0 ? d.length : 0.5;
	d.threshold = d.threshold > 0 ? d.threshold : 0.6;
	if (d.node > 32 || (d.node & (d.node - 1)))
		return kh_fail(err, KH_EUSAGE,
			       "a super node of %u pairs: not 1, 2, 4 .. 32", d.node);
	double buckets = (double)d.capacity / d.node / d.length + 1;
	d.pool = d.pool ? d.pool : d.capacity / d.node + (uint64_t)buckets / 4 + 1024;
	if (buckets + (double)d.pool > 4e9)
		return kh_fail(err, KH_EUSAGE, "%.0f super nodes: 4e9 are the most",
			       buckets + (double)d.pool);
	if ((rc = kh_table_init(t, &fn, &d, s, err)))
		return rc;
	t->buckets = (uint32_t)buckets;
	t->node = d.node;
	t->many = d.mapping == KH_MAP_MANY ||
		  (d.mapping == KH_MAP_AUTO && d.length >= d.threshold);
	uint64_t nodes = t->buckets + d.pool;
	t->slots = nodes * d.node;
	if ((rc = t->slots_.take(t, t->slots, s, err)) ||
	    (rc = t->side.take(t, 1, s, err)) ||
	    (rc = kh_take(t, &t->next, nodes, 0, s, err)) ||
	    (rc = kh_take(t, &t->stack, d.pool, 0, s, err)))
		return rc;
	fill_stack<<<kh_blocks(d.pool), KH_BLOCK, 0, s>>>(t->stack, t->buckets,
							  (uint32_t)d.pool, t->note);
	return kh_launched("stack of nodes", err);
}

template <class K, class V>
static int open_dachash(const kh_table_config *c, kh_stream s, kh_table **t, kh_err *err)
{
	if (sizeof(K) == 4 && sizeof(V) == 4)
		return open_layout<kh_packed>(c, s, t, err);
	return open_layout<kh_aos<K, V>>(c, s, t, err);
}

int kh_dachash_open(const kh_table_config *c, kh_stream s, kh_table **t, kh_err *err)
{
	return KH_DISPATCH(open_dachash, c, c, s, t, err);
}
