/*
 * runlist.cu - many values a key, which come batch by batch, however unequal the keys are
 *
 * A batch is sorted by the mixes of its keys.  What each key has then is a run, and one thread
 * reserves room for all of it at the end of the key's list, so that threads do not meet at frequent
 * keys; a thread for each value brings it there.  Slots are in the order of mixes, too (linear
 * probing), so that the batch goes through them from the first to the last one.
 *
 * A key's first piece is as long as its first run.  Where a later run does not fit in the last
 * piece the rest of it gets a new one, of half as many values as there are, at least; so lists of
 * n values have log n pieces, and take 2.5 n places at most.  Pieces come from one pool, by an
 * atomic counter, which a warp asks once.  Inserts may overlap: a handle is changed by CAS.
 *
 * Retrieving cuts the work by what comes out (retrieve.cuh), so one long list takes the time
 * of many short ones.
 */
#include "cuda/tables/runlist.cuh"
#include "cuda/tables/retrieve.cuh"

/* Where the values of a run go: the first `split` of them to values[a], the others to values[b]. */
struct run_plan {
	uint32_t first; /* of the sorted batch */
	uint32_t split, a, b;
};

#define NOWHERE (~0u) /* run_plan.a: the run did not fit */

/* Which of the sorted mixes begin a run. */
template <class K> static __global__ void find_heads(const K *mixes, uint32_t n, uint32_t *head)
{
	size_t i = kht_thread_id();

	if (i < n)
		head[i] = i == 0 || mixes[i] != mixes[i - 1];
}

/* number[i + 1]: runs that begin at i or before. */
static __global__ void find_runs(const uint32_t *number, uint32_t n, run_plan *run)
{
	size_t i = kht_thread_id();

	if (i < n && number[i] != number[i + 1])
		run[number[i]].first = (uint32_t)i;
}

/* Takes `need` places for each lane of the warp. */
static __device__ uint64_t take_places(unsigned long long *taken, uint32_t need)
{
	unsigned lane = threadIdx.x & 31;
	uint64_t sum = need, from = 0;

	for (unsigned d = 1; d < 32; d *= 2) {
		uint64_t x = __shfl_up_sync(KHT_FULL, sum, d);
		sum += lane >= d ? x : 0;
	}
	if (lane == 31 && sum)
		from = atomicAdd(taken, (unsigned long long)sum);
	return __shfl_sync(KHT_FULL, from, 31) + sum - need;
}

/* How a list of handle h gets m values more. */
template <class K, class V> struct growth {
	typedef kht_runlist_view<K, V> view_type;
	uint32_t len, place, split, a; /* the list; what the last piece has room for, and where */
	uint32_t need;                 /* places for a new piece */
	uint32_t before;               /* of its head; 0: it has none */

	__device__ growth(const view_type &w, uint64_t h, uint32_t m)
		: len((uint32_t)(h >> 32)), place((uint32_t)h), split(0), a(0), need(0), before(0)
	{
		if (place & KHT_LATER) {
			uint32_t b = w.head(place).before;
			uint32_t used = len - (b & ~KHT_EXACT);

			split = b & KHT_EXACT ? 0 : min(m, kht_piece::room(b) - used);
			a = (place & ~KHT_LATER) + view_type::HEAD + used;
		}
		if (split == m)
			return;
		before = len + split;
		if (before == 0) {
			need = m;
			return;
		}
		uint32_t rest = m - split, room = kht_piece::room(before);
		need = view_type::HEAD + max(rest, room);
		before |= rest > room ? KHT_EXACT : 0;
	}
	/* With a new piece at `at`: the handle, and where values go. */
	__device__ uint64_t extend(const view_type &w, uint32_t at, uint32_t m, run_plan &p) const
	{
		uint64_t all = (uint64_t)(len + m) << 32;

		if (!need) {
			p.split = m, p.a = a, p.b = a;
			return all | place;
		}
		if (!before) {
			p.split = m, p.a = at, p.b = at;
			return all | at;
		}
		((uint32_t *)(w.values + at))[0] = place;
		((uint32_t *)(w.values + at))[1] = before;
		p.split = split, p.a = a, p.b = at + view_type::HEAD;
		return all | at | KHT_LATER;
	}
};

/* A thread a run: finds its list, and room at the list's end. */
template <class K, class V>
static __global__ void __launch_bounds__(KHT_PROBE_BLOCK)
	append_runs(kht_runlist_view<K, V> w, const K *mixes, const uint32_t *runs, uint32_t n,
		    uint64_t pool, run_plan *run, unsigned long long *note)
{
	size_t i = kht_thread_id();
	uint32_t all = *runs, m = 0;
	run_plan p = {};
	uint64_t *handle = nullptr;

	if ((i & ~(size_t)31) >= all)
		return;
	if (i < all) {
		p.first = run[i].first;
		m = (i + 1 < all ? run[i + 1].first : n) - p.first;
		size_t at = w.template slot<true>(mixes[p.first]);
		handle = at == w.NONE ? nullptr : &w.slots.slot[at].v;
	}
	bool todo = handle != nullptr, good = todo;
	while (__any_sync(KHT_FULL, todo)) {
		uint64_t h = todo ? __ldcg(handle) : 0;
		growth<K, V> g(w, h, m);
		uint64_t at = take_places(note + KHT_NOTE_POOL, todo ? g.need : 0);

		if (!todo)
			continue;
		good = at + g.need <= pool || !g.need;
		if (good) {
			uint64_t to = g.extend(w, (uint32_t)at, m, p);
			__threadfence();
			todo = kht_cas(handle, h, to) != h;
		} else {
			todo = false;
		}
	}
	if (i >= all)
		return;
	if (!good) {
		p.a = NOWHERE;
		p.split = m;
		atomicAdd(note + KHT_NOTE_FAILED, (unsigned long long)m);
	}
	run[i].split = p.split;
	run[i].a = p.a;
	run[i].b = p.b;
}

template <class V>
static __global__ void bring_values(const V *in, const uint32_t *number, uint32_t n,
				    const run_plan *run, V *values)
{
	size_t i = kht_thread_id();

	if (i >= n)
		return;
	run_plan p = run[number[i + 1] - 1];
	uint32_t k = (uint32_t)i - p.first;
	if (p.a != NOWHERE)
		values[k < p.split ? p.a + k : p.b + (k - p.split)] = in[i];
}

template <class K>
static __global__ void count_values(kht_tally<K> slots, uint64_t n, unsigned long long *note)
{
	uint64_t i = kht_thread_id();
	unsigned sum = __reduce_add_sync(KHT_FULL, i < n ? (unsigned)(slots.value(i) >> 32) : 0);

	if ((threadIdx.x & 31) == 0 && sum)
		atomicAdd(note + KHT_NOTE_USED, (unsigned long long)sum);
}

template <class K, class V> struct runlist : kht_table {
	typedef kht_runlist_view<K, V> view_type;
	kht_tally<K> slots_;
	V *values;

	view_type view() const { return { slots_, (uint32_t)slots, values, cfg.seed, 4 }; }
	int insert(const kht_kv *p, kht_stream s, kh_err *err);
	int append(const kht_sort *o, kht_stream s, kh_err *err);
	int spans(const kht_keys *q, kht_span *spans, uint32_t *counts, kht_stream s, kh_err *err)
	{
		kht_span_kernel<<<kht_blocks(q->n), KHT_BLOCK, 0, s>>>(
			view(), (const K *)q->keys, q->n, spans, counts);
		return kht_launched("count", err);
	}
	int used(kht_stream s, kh_err *err)
	{
		count_values<K>
			<<<kht_blocks(slots + 1), KHT_BLOCK, 0, s>>>(slots_, slots + 1, note);
		return kht_launched("stats", err);
	}
	void stats(const unsigned long long *, kht_table_stats *st)
	{
		st->pool_used = st->pool_used < st->pool ? st->pool_used : st->pool;
	}
	int open(kht_stream s, kh_err *err);
};

/* The runs of a sorted batch to their lists. */
template <class K, class V>
int runlist<K, V>::append(const kht_sort *o, kht_stream s, kh_err *err)
{
	const K *mixes = (const K *)o->keys_out;
	const uint32_t n = (uint32_t)o->n;
	kht_scratch<uint32_t> head, number;
	kht_scratch<run_plan> run;
	int rc;

	if ((rc = head.take(this, n, s, err)) || (rc = number.take(this, (size_t)n + 1, s, err)) ||
	    (rc = run.take(this, n, s, err)))
		return rc;
	find_heads<K><<<kht_blocks(n), KHT_BLOCK, 0, s>>>(mixes, n, head.p);
	if ((rc = kht_launched("runs", err)) ||
	    (rc = kht_scan_counts(this, head.p, n, number.p, s, err)))
		return rc;
	find_runs<<<kht_blocks(n), KHT_BLOCK, 0, s>>>(number.p, n, run.p);
	append_runs<K, V><<<kht_blocks(n, KHT_PROBE_BLOCK), KHT_PROBE_BLOCK, 0, s>>>(
		view(), mixes, number.p + n, n, cfg.pool, run.p, note);
	bring_values<V><<<kht_blocks(n), KHT_BLOCK, 0, s>>>((const V *)o->values_out, number.p, n,
							     run.p, values);
	return kht_launched("insert", err);
}

template <class K, class V>
int runlist<K, V>::insert(const kht_kv *p, kht_stream s, kh_err *err)
{
	const int kb = sizeof(K) * 8;
	kht_scratch<K> key;
	kht_scratch<V> value;
	int rc;

	if (p->n > INT32_MAX)
		return kh_fail(err, KH_EUSAGE, "a batch of %zu: below 2^31 are possible", p->n);
	if ((rc = key.take(this, p->n, s, err)) || (rc = value.take(this, p->n, s, err)))
		return rc;
	/* By 32 bits: where two keys share them a run may come in parts, which does no harm. */
	kht_sort o = { p->keys,	      p->values, key.p, value.p, p->n, sizeof(K) * 8,
		       sizeof(V) * 8, kb - 32,	 kb };
	if ((rc = kht_sort_mixes(this, &o, s, err)))
		return rc;
	return append(&o, s, err);
}

template <class K, class V> int runlist<K, V>::open(kht_stream s, kh_err *err)
{
	int rc;

	cfg.pool = cfg.pool ? cfg.pool : cfg.capacity * 5 / 2 + 64;
	if (cfg.pool >= KHT_LATER)
		return kh_fail(err, KH_EUSAGE, "a pool of %llu values: below 2^31 are possible",
			       (unsigned long long)cfg.pool);
	slots = (uint64_t)((double)cfg.distinct / cfg.load) + 1;
	rc = slots_.take(this, slots + 1, s, err);
	return rc ? rc : kht_take(this, &values, cfg.pool, 0, s, err);
}

int kht_runlist_open(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	return kht_make_wide<runlist, KHT_RUNLIST_CAN, kht_by_pieces>(c, s, t, err);
}
