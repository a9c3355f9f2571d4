/*
 * window64.cu - one value a key, in windows of 64-byte buckets that blocks change in shared memory
 *
 * A random read of 64 bytes costs the H200 what one of 32 does, so a bucket has 64.  Most keys are
 * in the first of their three, and a bucket that sends nothing on ends a look-up: a quad of lanes
 * reads a bucket, four look-ups in flight a lane, and all of a warp are through after three rounds.
 *
 * A table beside bucket64 that can erase, and whose misses cost little at any load; inserts cost it
 * more from a load of .95 on, and so do small batches at any.
 *
 * A batch is sorted by window, and a block that has a window in shared memory inserts or erases
 * there (window64_room.cuh), so that memory sees streams only.  A small batch costs a pass
 * through all the windows that it touches.
 */
#include "cuda/tables/retrieve.cuh"
#include "cuda/tables/window64_room.cuh"

/* Buckets of a window, at most: 64 KiB of them.  The fewer slots, the more do windows differ in how
 * full they are: above a load of .95, wide slots need more of them than that. */
#define WINDOW_MAX      1024
#define WINDOW_MAX_FULL 1536

/* Pairs of which each window gets its own, by the upper bits of their mixes. */
template <class K, class V> struct parted {
	const K *mixes;
	const V *values;
	const uint32_t *first; /* of each window, and where the last one's end */
};

/* What the block does with its window. */
template <class K, class V> struct change : kht_window<K, V> {
	typedef kht_window<K, V> base;
	typedef typename base::word word;
	typedef typename base::view_type view_type;
	using base::before, base::claim, base::count, base::find, base::keys, base::move, base::put,
		base::restash, base::w, base::wanted;

	using base::base;
	/* The pair's first try: true if it is stored. */
	__device__ bool first(K x, V v, bool all)
	{
		int m = view_type::mark(x);

		if (m >= 0) {
			w.side.put(m, v);
			return true;
		}
		uint32_t b = w.within(x, 0);
		if ((all || before[b]) && (put(find(x, all), v) || restash(x, v)))
			return true;
		return put(claim(b, (word)x), v);
	}
	/* Stores what has no free slot in any choice: of each thread the pairs `left` of those that
	 * begin at `from`. */
	__device__ void force(const parted<K, V> &p, uint32_t from, uint32_t left)
	{
		for (bool again = false; __syncthreads_or(left != 0); again = true) {
			if (threadIdx.x == 0)
				*count = 0;
			__syncthreads();
			uint32_t row = left ? __ffs(left) - 1 : 0;
			uint32_t i = from + row * KHT_CHANGE_BLOCK + threadIdx.x;
			bool mine = left != 0;
			K x = mine ? p.mixes[i] : 0;
			V v = mine ? p.values[i] : 0;
			unsigned number = mine ? atomicAdd(count, 1u) : 0;
			if (mine)
				wanted[number] = (word)x;
			__syncthreads();
			for (unsigned j = 0; mine && j < number; j++)
				mine = wanted[j] != (word)x;
			if (mine && again)
				mine = !put(find(x, true), v) && !restash(x, v);
			__syncthreads();
			if (mine)
				move(x, v);
			left &= left - 1;
		}
	}
	__device__ void insert(const parted<K, V> &p, uint32_t from, uint32_t to)
	{
		const uint32_t many = KHT_CHANGE_BLOCK * KHT_CHANGE_EACH;
		bool all = false;

		for (uint32_t end; from < to; from = end, all = true) {
			uint32_t left = 0;

			end = to - from > many ? from + many : to;
			for (uint32_t i = from + threadIdx.x, bit = 1; i < end;
			     i += KHT_CHANGE_BLOCK, bit <<= 1)
				left |= first(p.mixes[i], p.values[i], all) ? 0 : bit;
			for (int c = 1; c < KHT_WINDOW_CHOICES; c++) {
				__syncthreads();
				for (uint32_t open = left; open; open &= open - 1) {
					int k = __ffs(open) - 1;
					uint32_t i = from + k * KHT_CHANGE_BLOCK + threadIdx.x;
					K x = p.mixes[i];

					if (put(claim(w.within(x, c), (word)x), p.values[i]))
						left &= ~(1u << k);
				}
			}
			force(p, from, left);
		}
	}
	__device__ void erase(const parted<K, V> &p, uint32_t from, uint32_t to)
	{
		for (uint32_t i = from + threadIdx.x; i < to; i += KHT_CHANGE_BLOCK) {
			K x = p.mixes[i];
			int m = view_type::mark(x);
			uint32_t at = m < 0 ? find(x, false) : KHT_NOWHERE;

			if (m >= 0)
				w.side.drop(m);
			else if (at != KHT_NOWHERE)
				(void)kht_exch(keys + at, base::EMPTY);
			else
				this->unstash(x);
		}
	}
};

/* Each block inserts its window's pairs, or erases their keys. */
template <class K, class V, bool INSERT>
static __global__ void __launch_bounds__(KHT_CHANGE_BLOCK, 4)
	change_windows(kht_window64_view<K, V> view, parted<K, V> p,
			    unsigned long long *note)
{
	extern __shared__ __align__(16) unsigned char kht_window_room[];
	change<K, V> w(view, kht_window_room, note);
	uint32_t from = p.first[blockIdx.x], to = p.first[blockIdx.x + 1];
	uint32_t *state = view.state + blockIdx.x;
	uint4 *buckets = view.buckets + (size_t)blockIdx.x * view.window * 4;

	if (from == to)
		return;
	if (threadIdx.x == 0) {
		while (atomicOr(state, KHT_WINDOW_LOCK) & KHT_WINDOW_LOCK)
			__nanosleep(100);
		__threadfence();
		*w.spill = __ldcg(state) / KHT_WINDOW_SPILL;
		*w.count = __ldcg(state) & KHT_WINDOW_USED;
	}
	__syncthreads();
	if (*w.count)
		w.read(buckets);
	else
		w.clear();
	__syncthreads();
	if (INSERT)
		w.insert(p, from, to);
	else
		w.erase(p, from, to);
	__syncthreads();
	w.sign();
	__syncthreads();
	w.write(buckets);
	__threadfence();
	__syncthreads();
	if (threadIdx.x == 0)
		atomicExch(state, KHT_WINDOW_USED | *w.spill * KHT_WINDOW_SPILL);
}

/* One bucket for one query of the quad: whether it is there, or may be further on. */
template <class K, class V>
static __device__ void look(uint4 b, K x, V &v, bool &found, bool &over)
{
	int lane = threadIdx.x & 3;

	if (kht_window64_view<K, V>::narrow) {
		bool first = b.x == (uint32_t)x;
		unsigned hit = kht_quad_ballot(first || b.z == (uint32_t)x);

		over = kht_quad_ballot(b.x > b.z) & 8;
		found = hit != 0;
		v = kht_quad((V)(first ? b.y : b.w), hit ? __ffs(hit) - 1 : 0);
	} else {
		uint64_t k = (uint64_t)b.y << 32 | b.x, l = (uint64_t)b.w << 32 | b.z;
		unsigned first = kht_quad_ballot(lane < 2 && k == (uint64_t)x);
		unsigned second = kht_quad_ballot(lane < 2 && l == (uint64_t)x);

		over = kht_quad_ballot(k > l) & 2;
		found = (first | second) != 0;
		v = kht_quad((V)(second ? l : k), 2 + ((first | second) >> 1 & 1));
	}
}

/* Look-ups of a lane, of which `todo` says whether it is still under way. */
template <class K, class V> struct query {
	K x;
	V v;
	bool todo, found;

	/* All lanes of the warp: the bucket of choice c of each. */
	__device__ __forceinline__ void step(const kht_window64_view<K, V> &w, int c)
	{
		uint32_t at = w.place(x, c);
		int lane = threadIdx.x & 3;
		uint4 b[4] = {};

#pragma unroll
		for (int r = 0; r < 4; r++) {
			const uint4 *p = w.buckets + 4 * (size_t)kht_quad(at, r) + lane;

			if (kht_quad((int)todo, r))
				b[r] = __ldg(p);
		}
#pragma unroll
		for (int r = 0; r < 4; r++) {
			V got;
			bool hit, over;

			look(b[r], kht_quad(x, r), got, hit, over);
			if (lane != r || !todo)
				continue;
			v = hit ? got : v;
			found = hit;
			todo = !hit && w.onward(x, c, over);
		}
	}
};

template <class K, class V>
static __global__ void __launch_bounds__(KHT_PROBE_BLOCK)
	find_keys(kht_window64_view<K, V> w, kht_keys q, kht_found out)
{
	size_t i = kht_thread_id();
	bool mine = i < q.n;
	K x = mine ? kht_mix(((const K *)q.keys)[i], w.seed) : 0;
	int m = mine ? w.mark(x) : -1;
	query<K, V> a = { x, (V)out.missing, mine && m < 0, false };

	a.step(w, 0);
	for (int c = 1; c < KHT_CHOICES && __any_sync(KHT_FULL, a.todo); c++)
		a.step(w, c);
	if (!mine)
		return;
	if (m >= 0) {
		a.found = w.side.size(m) > 0;
		a.v = a.found ? w.side.list(m)[0] : a.v;
	}
	((V *)out.values)[i] = a.v;
	if (out.found)
		out.found[i] = a.found;
}

/* Where the pairs of each window begin, among mixes in the order of windows. */
template <class K, class V>
static __global__ void find_windows(kht_window64_view<K, V> w, const K *mixes, uint32_t n,
				    uint32_t *first)
{
	size_t i = kht_thread_id();
	uint32_t from = 0, to = n;

	if (i > (size_t)1 << w.log2n)
		return;
	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (w.of(mixes[mid]) < i)
			from = mid + 1;
		else
			to = mid;
	}
	first[i] = from;
}

template <class K, class V>
static __global__ void count_used(kht_window64_view<K, V> w, uint64_t slots,
				  unsigned long long *note)
{
	uint64_t i = kht_thread_id();
	bool used = i < slots && w.key(w.buckets + i / w.SLOTS * 4, (int)(i % w.SLOTS)) < w.OVER;
	unsigned all = __ballot_sync(KHT_FULL, used);

	if ((threadIdx.x & 31) == 0 && all)
		atomicAdd(note + KHT_NOTE_USED, (unsigned long long)__popc(all));
}

template <class K, class V> struct window64 : kht_table {
	typedef kht_window64_view<K, V> view_type;
	uint4 *buckets;
	uint32_t *state;
	kht_side<V> side;
	unsigned log2n;
	uint32_t window, stash;

	view_type view() const
	{
		return { buckets, state, side, log2n, window, stash, cfg.seed, 1 };
	}
	template <bool INSERT>
	int change(const kht_kv *p, kht_stream s, kh_err *err);
	int insert(const kht_kv *p, kht_stream s, kh_err *err) { return change<true>(p, s, err); }
	int erase(const kht_keys *q, kht_stream s, kh_err *err)
	{
		kht_kv p = { q->keys, nullptr, q->n };
		return change<false>(&p, s, err);
	}
	int find(const kht_keys *q, const kht_found *o, kht_stream s, kh_err *err)
	{
		find_keys<K, V><<<kht_blocks(q->n, KHT_PROBE_BLOCK), KHT_PROBE_BLOCK, 0, s>>>(
			view(), *q, *o);
		return kht_launched("find", err);
	}
	int used(kht_stream s, kh_err *err)
	{
		count_used<K, V><<<kht_blocks(slots), KHT_BLOCK, 0, s>>>(view(), slots, note);
		return kht_launched("stats", err);
	}
	void stats(const unsigned long long *counters, kht_table_stats *st)
	{
		st->pairs += counters[KHT_NOTE_SIDE] + counters[KHT_NOTE_SIDE2];
	}
	int open(kht_stream s, kh_err *err);
	int allow(kh_err *err);
};

template <class K, class V>
template <bool INSERT>
int window64<K, V>::change(const kht_kv *p, kht_stream s, kh_err *err)
{
	const int kb = sizeof(K) * 8;
	const uint32_t windows = 1u << log2n;
	kht_scratch<K> key;
	kht_scratch<V> value;
	kht_scratch<uint32_t> first;
	int rc;

	if (p->n >= UINT32_MAX)
		return kh_fail(err, KH_EUSAGE, "a batch of %zu: below 2^32 - 1 are possible", p->n);
	if ((rc = key.take(this, p->n, s, err)) || (rc = first.take(this, windows + 1, s, err)) ||
	    (INSERT && (rc = value.take(this, p->n, s, err))))
		return rc;
	kht_sort o = { p->keys,       p->values,     key.p, value.p, p->n, sizeof(K) * 8,
		       sizeof(V) * 8, kb - (log2n ? (int)log2n : 1), kb };
	if ((rc = kht_sort_mixes(this, &o, s, err)))
		return rc;
	find_windows<K, V><<<kht_blocks(windows + 1), KHT_BLOCK, 0, s>>>(
		view(), key.p, (uint32_t)p->n, first.p);
	change_windows<K, V, INSERT>
		<<<windows, KHT_CHANGE_BLOCK, kht_window<K, V>::bytes(window), s>>>(
			view(), { key.p, value.p, first.p }, note);
	return kht_launched(INSERT ? "insert" : "erase", err);
}

/* Asks for the shared memory that a window takes. */
template <class K, class V> int window64<K, V>::allow(kh_err *err)
{
	const cudaFuncAttribute a = cudaFuncAttributeMaxDynamicSharedMemorySize;
	int bytes = (int)kht_window<K, V>::bytes(window);
	int rc = kht_cuda(cudaFuncSetAttribute(change_windows<K, V, true>, a, bytes),
			  "shared memory of a window", err);

	return rc ? rc
		  : kht_cuda(cudaFuncSetAttribute(change_windows<K, V, false>, a, bytes),
			     "shared memory of a window", err);
}

template <class K, class V> int window64<K, V>::open(kht_stream s, kh_err *err)
{
	uint64_t n = (uint64_t)(cfg.capacity / cfg.load / view_type::SLOTS) + 1;
	uint32_t longest = view_type::narrow || cfg.load <= 0.95 ? WINDOW_MAX : WINDOW_MAX_FULL;
	int most, rc;

	rc = kht_cuda(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin,
					     device),
		      "shared memory", err);
	if (rc)
		return rc;
	stash = (uint32_t)(n / (view_type::narrow ? 256 : 128)) + 4;
	n = n > stash + 4 ? n - stash : 4;
	do
		window = (uint32_t)((n - 1) >> log2n) + 1;
	while ((window > longest || kht_window<K, V>::bytes(window) > (size_t)most) &&
	       ++log2n);
	n = ((uint64_t)window << log2n) + stash;
	slots = n * view_type::SLOTS;
	if ((rc = kht_take(this, &buckets, n * 4, 0xff, s, err)) ||
	    (rc = kht_take(this, &state, (size_t)1 << log2n, 0, s, err)) ||
	    (rc = side.take(this, 1, s, err)))
		return rc;
	return allow(err);
}

int kht_window64_open(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	return kht_make_wide<window64, KHT_WINDOW64_CAN, kht_by_view>(c, s, t, err);
}
