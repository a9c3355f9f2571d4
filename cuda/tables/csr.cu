/*
 * csr.cu - row 14: exact keys, sorted, behind one 64-byte bucket a look-up
 *
 * HashGraph's rows (Green 2019) with the duplicate keys taken out, in the
 * order-preserving table of the product's index (DESIGN 4), for whole keys.  Keys are
 * replaced by their mix (a bijection), pairs sorted by it, and the sorted values are the
 * lists as they stand. Entry i, with home bucket h(i), goes to slot i + max over j <= i
 * of (S * h(j) - j): its home, or what follows it without a gap.  A bucket holds S keys,
 * a byte of length each, and where the first list starts; so a look-up reads one
 * bucket, seldom the next.
 * Departures from DESIGN 4: whole keys instead of tags; an entry may lie any number of
 * buckets behind its home (sorted keys tell a look-up when to stop); lists of 255 values
 * and more stand in a list apart, which their length pays for.  Static: built by one
 * insert, which waits twice (for the number of keys, and of wide lists).
 */
#include "placing.cuh"
#include "span_retrieve.cuh"
#include "systems.h"

#define TILE 2048
#define EACH (TILE / KH_BLOCK)

template <class K> struct build {
	const K *key;                   /* sorted mixes */
	uint32_t n, tiles;
	uint32_t *heads;                /* tiles: first entry of the tile; then in all */
	long long *lead;                /* tiles: the maximum before the tile */
	kh_csr_bucket<K> *bucket;
	uint32_t homes, room;           /* buckets */
	uint32_t *wide_start, *wide_len;
	unsigned long long *note;
};

/* A tile in shared memory, item 0 being the one before it.  A thread's items are in a
 * row, so every EACH items leave one place free: no two lanes meet in a bank. */
template <class K> struct tile {
	K k[TILE + TILE / EACH + 2];

	__device__ K &operator[](uint32_t i) { return k[i + i / EACH]; }
};

/* The tile's keys to shared memory, k[0] being the one before; true where k[i + 1]
 * starts. */
template <class K> static __device__ uint32_t load_tile(const build<K> &b, tile<K> &k)
{
	uint32_t from = blockIdx.x * TILE, n = min((uint32_t)TILE, b.n - from);

	for (uint32_t i = threadIdx.x; i < n; i += KH_BLOCK)
		k[i + 1] = b.key[from + i];
	if (threadIdx.x == 0)
		k[0] = from ? b.key[from - 1] : (K)~b.key[0];
	__syncthreads();
	return n;
}

template <class K>
static __global__ void __launch_bounds__(KH_BLOCK) count_heads(build<K> b)
{
	__shared__ uint32_t sum;
	uint32_t from = blockIdx.x * TILE, n = min((uint32_t)TILE, b.n - from), c = 0;

	if (threadIdx.x == 0)
		sum = 0;
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < n; i += KH_BLOCK)
		c += from + i == 0 || b.key[from + i] != b.key[from + i - 1];
	c = __reduce_add_sync(KH_FULL, c);
	if ((threadIdx.x & 31) == 0)
		atomicAdd(&sum, c);
	__syncthreads();
	if (threadIdx.x == 0)
		b.heads[blockIdx.x] = sum;
}

/* Thread's items: heads among them, and the maximum of S * home - entry. */
template <class K>
static __device__ long long thread_lead(const build<K> &b, tile<K> &k, uint32_t n,
					uint32_t entry)
{
	long long lead = LLONG_MIN;

	for (uint32_t i = threadIdx.x * EACH; i < min(n, (threadIdx.x + 1) * EACH); i++)
		if (k[i] != k[i + 1]) {
			long long h = kh_reduce(k[i + 1], b.homes);
			lead = max(lead, h * kh_csr_bucket<K>::SLOTS - entry++);
		}
	return lead;
}

template <class K> static __device__ uint32_t thread_heads(tile<K> &k, uint32_t n)
{
	uint32_t c = 0;

	for (uint32_t i = threadIdx.x * EACH; i < min(n, (threadIdx.x + 1) * EACH); i++)
		c += k[i] != k[i + 1];
	return c;
}

template <class K>
static __global__ void __launch_bounds__(KH_BLOCK) find_leads(build<K> b)
{
	__shared__ tile<K> k;
	uint32_t n = load_tile(b, k);
	uint32_t entry =
		b.heads[blockIdx.x] +
		kh_block_scan(thread_heads(k, n), 0u, kh_plus(), (uint32_t *)nullptr);
	long long lead = thread_lead(b, k, n, entry), all;

	kh_block_scan(lead, LLONG_MIN, kh_max(), &all);
	if (threadIdx.x == 0)
		b.lead[blockIdx.x] = all;
}

/* Past the equal keys from i on: the next may be near, so in growing steps. */
template <class K>
static __device__ uint32_t run_end(const K *key, uint32_t i, uint32_t n, K x)
{
	uint32_t step = 1, from = i;

	while (from + step < n && key[from + step] == x) {
		from += step;
		step *= 2;
	}
	uint32_t to = min((uint64_t)n, (uint64_t)from + step);
	for (from++; from < to;) {
		uint32_t mid = from + (to - from) / 2;
		if (key[mid] == x)
			from = mid + 1;
		else
			to = mid;
	}
	return to;
}

template <class K>
static __device__ void put(const build<K> &b, uint64_t slot, K x, uint32_t start,
			   uint32_t len)
{
	const unsigned S = kh_csr_bucket<K>::SLOTS;
	uint64_t at = slot / S;
	unsigned p = (unsigned)(slot % S);

	if (at + 1 >= b.room) {
		atomicAdd(b.note + KH_NOTE_FAILED, (unsigned long long)len);
		return;
	}
	kh_csr_bucket<K> *to = b.bucket + at;
	if (p == 0)
		to->base = start;
	to->key[p] = x;
	to->len[p] = (uint8_t)min(len, KH_CSR_WIDE);
	if (len >= KH_CSR_WIDE) {
		unsigned long long w = atomicAdd(b.note + KH_NOTE_A, 1ull);
		b.wide_start[w] = start;
		b.wide_len[w] = len;
	}
}

/* A tile's entries are first listed in shared memory, then written by lanes in a row:
 * what goes to one bucket goes there together, and a length is the way to the next
 * entry. */
template <class K> static __global__ void __launch_bounds__(KH_BLOCK) place(build<K> b)
{
	__shared__ tile<K> k;
	__shared__ long long slot[TILE];
	__shared__ uint16_t item[TILE];
	uint32_t n = load_tile(b, k), from = blockIdx.x * TILE, all;
	uint32_t e = kh_block_scan(thread_heads(k, n), 0u, kh_plus(), &all);
	uint32_t before = b.heads[blockIdx.x];
	long long lead = kh_block_scan(thread_lead(b, k, n, before + e), LLONG_MIN,
				       kh_max(), (long long *)nullptr);

	lead = max(lead, b.lead[blockIdx.x]);
	for (uint32_t i = threadIdx.x * EACH; i < min(n, (threadIdx.x + 1) * EACH); i++) {
		if (k[i] == k[i + 1])
			continue;
		long long home = kh_reduce(k[i + 1], b.homes);
		lead = max(lead, home * kh_csr_bucket<K>::SLOTS - (before + e));
		slot[e] = lead + (before + e);
		item[e++] = (uint16_t)i;
	}
	__syncthreads();
	for (uint32_t j = threadIdx.x; j < all; j += KH_BLOCK) {
		uint32_t i = item[j], end = j + 1 < all ? item[j + 1] : n;
		K x = k[i + 1];

		if (j + 1 == all && from + n < b.n && b.key[from + n] == x)
			end = run_end(b.key, from + n, b.n, x) - from;
		put(b, (uint64_t)slot[j], x, from + i, end - i);
	}
}

/* --- look-up: a quad a bucket, four queries in flight a lane ---------------------- */

template <class K, class V> struct quad_probe {
	bool go_on;
	kh_span span;

	__device__ quad_probe(const kh_csr_view<K, V> &w, uint4 b, K x);
};

template <class V> struct quad_probe<uint32_t, V> {
	bool go_on;
	kh_span span;

	/* b: this lane's 16 bytes; base in words 0-1, keys 2-12, lengths 13-15. */
	__device__ quad_probe(const kh_csr_view<uint32_t, V> &w, uint4 b, uint32_t x)
	{
		int lane = threadIdx.x & 3, first = 4 * lane - 2, p = 99;

		p = b.w == x && lane < 3 ? first + 3 : p;
		p = b.z == x && lane < 3 ? first + 2 : p;
		p = b.y == x && lane > 0 && lane < 3 ? first + 1 : p;
		p = b.x == x && lane > 0 ? first : p;
		p = min(p, __shfl_xor_sync(KH_FULL, p, 1));
		p = min(p, __shfl_xor_sync(KH_FULL, p, 2));
		uint64_t base = (uint64_t)kh_quad(b.y, 0) << 32 | kh_quad(b.x, 0);
		uint64_t lo = (uint64_t)kh_quad(b.z, 3) << 32 | kh_quad(b.y, 3);
		uint32_t hi = kh_quad(b.w, 3), last = kh_quad(b.x, 3);
		span = { 0, 0 };
		if (p < 99)
			span = w.list(base, lo, hi, p);
		go_on = span.len == 0 && (hi >> 16 & 255) != 0 && last < x;
	}
};

template <class V> struct quad_probe<uint64_t, V> {
	bool go_on;
	kh_span span;

	/* Two 64-bit words a lane: base, key 0; keys 1, 2; 3, 4; key 5, lengths. */
	__device__ quad_probe(const kh_csr_view<uint64_t, V> &w, uint4 b, uint64_t x)
	{
		int lane = threadIdx.x & 3, p = 99;
		uint64_t a = (uint64_t)b.y << 32 | b.x, c = (uint64_t)b.w << 32 | b.z;

		p = c == x && lane < 3 ? 2 * lane : p;
		p = a == x && lane > 0 ? 2 * lane - 1 : p;
		p = min(p, __shfl_xor_sync(KH_FULL, p, 1));
		p = min(p, __shfl_xor_sync(KH_FULL, p, 2));
		uint64_t base = kh_quad(a, 0), lo = kh_quad(c, 3), last = kh_quad(a, 3);
		span = { 0, 0 };
		if (p < 99)
			span = w.list(base, lo & (UINT64_C(1) << 48) - 1, 0, p);
		go_on = span.len == 0 && (lo >> 40 & 255) != 0 && last < x;
	}
};

template <class K, class V>
static __global__ void __launch_bounds__(KH_PROBE_BLOCK)
	look_up(kh_csr_view<K, V> w, kh_keys q, kh_span *spans, uint32_t *counts)
{
	size_t i = kh_thread_id();
	bool mine = i < q.n;
	K x = mine ? kh_mix(((const K *)q.keys)[i], w.seed) : 0;
	uint32_t at = kh_reduce(x, w.n_buckets);
	const uint4 *bucket = (const uint4 *)w.buckets + (threadIdx.x & 3);
	kh_span span = { 0, 0 };
	bool go_on = false;
	uint4 b[4];

#pragma unroll
	for (int r = 0; r < 4; r++)
		b[r] = __ldg(bucket + 4 * (size_t)kh_quad(at, r));
#pragma unroll
	for (int r = 0; r < 4; r++) {
		quad_probe<K, V> got(w, b[r], kh_quad(x, r));
		if ((threadIdx.x & 3) == r) {
			span = got.span;
			go_on = got.go_on;
		}
	}
	while (__any_sync(KH_FULL, go_on)) {
		unsigned todo = kh_quad_ballot(go_on);
		int r = todo ? __ffs(todo) - 1 : 0;
		const uint4 *next = bucket + 4 * ((size_t)kh_quad(at, r) + 1);
		if (todo)
			b[0] = __ldg(next);
		quad_probe<K, V> got(w, b[0], kh_quad(x, r));
		if (todo && (threadIdx.x & 3) == (unsigned)r) {
			at++;
			span = got.span;
			go_on = got.go_on;
		}
	}
	if (mine && spans)
		spans[i] = span;
	if (mine && counts)
		counts[i] = span.len;
}

/* --- the table -------------------------------------------------------------------- */

template <class K, class V> struct csr : kh_table {
	typedef kh_csr_view<K, V> view_type;
	kh_csr_bucket<K> *bucket;
	V *values;
	uint32_t *wide_start, *wide_len;
	uint32_t homes, room, n, keys, n_wide;

	view_type view() const
	{
		return {
			bucket, values, wide_start, wide_len, homes, n_wide, cfg.seed, 8
		};
	}
	int sort(const kh_kv *p, K *sorted, kh_stream s, kh_err *err);
	int fill(build<K> *b, kh_stream s, kh_err *err);
	int insert(const kh_kv *p, kh_stream s, kh_err *err);
	int spans(const kh_keys *q, kh_span *span, uint32_t *counts, kh_stream s,
		  kh_err *err)
	{
		look_up<K, V><<<kh_blocks(q->n, KH_PROBE_BLOCK), KH_PROBE_BLOCK, 0, s>>>(
			view(), *q, span, counts);
		return kh_launched("look-up", err);
	}
	int count(const kh_keys *q, uint32_t *counts, kh_stream s, kh_err *err)
	{
		return spans(q, nullptr, counts, s, err);
	}
	int retrieve(const kh_keys *q, const kh_lists *out, kh_stream s, kh_err *err)
	{
		kh_scratch<kh_span> span;
		int rc = span.take(this, q->n, s, err);

		if (!rc)
			rc = spans(q, span.p, nullptr, s, err);
		return rc ? rc : kh_span_copy<V>(this, span.p, q->n, values, out, s, err);
	}
	int fold(const kh_keys *q, uint64_t *sums, kh_stream s, kh_err *err)
	{
		return kh_view_fold(view(), q, sums, s, err);
	}
	int stats(kh_stream, kh_table_stats *st, kh_err *)
	{
		st->pairs = n;
		st->slots = (uint64_t)homes * kh_csr_bucket<K>::SLOTS;
		return KH_OK;
	}
};

template <class K, class V>
int csr<K, V>::sort(const kh_kv *p, K *sorted, kh_stream s, kh_err *err)
{
	kh_scratch<K> mixed;
	kh_sort o = { nullptr,       p->values,     sorted, values,       p->n,
		      sizeof(K) * 8, sizeof(V) * 8, 0,      sizeof(K) * 8 };
	int rc = mixed.take(this, p->n, s, err);

	if (!rc)
		rc = kh_mix_keys(p->keys, p->n, sizeof(K) * 8, cfg.seed, mixed.p, s, err);
	o.keys = mixed.p;
	return rc ? rc : kh_sort_pairs(this, &o, s, err);
}

/* Buckets from sorted keys. */
template <class K, class V> int csr<K, V>::fill(build<K> *b, kh_stream s, kh_err *err)
{
	int rc;

	count_heads<K><<<b->tiles, KH_BLOCK, 0, s>>>(*b);
	kh_scan_tiles<<<1, KH_BLOCK, 0, s>>>(b->heads, b->tiles, 0u, kh_plus());
	rc = kh_cuda(
		cudaMemcpyAsync(&keys, b->heads + b->tiles, 4, cudaMemcpyDeviceToHost, s),
		"counting keys", err);
	if (!rc)
		rc = kh_cuda(cudaStreamSynchronize(s), "counting keys", err);
	if (rc)
		return rc;
	if (keys > cfg.distinct)
		return kh_fail(err, KH_EUSAGE, "%u distinct keys for a table of %llu",
			       keys, (unsigned long long)cfg.distinct);
	b->homes = homes = (uint32_t)(keys / cfg.load / kh_csr_bucket<K>::SLOTS) + 1;
	find_leads<K><<<b->tiles, KH_BLOCK, 0, s>>>(*b);
	kh_scan_tiles<<<1, KH_BLOCK, 0, s>>>(b->lead, b->tiles, LLONG_MIN, kh_max());
	place<K><<<b->tiles, KH_BLOCK, 0, s>>>(*b);
	return kh_launched("placing keys", err);
}

template <class K, class V>
int csr<K, V>::insert(const kh_kv *p, kh_stream s, kh_err *err)
{
	uint32_t tiles = (uint32_t)((p->n + TILE - 1) / TILE);
	kh_scratch<K> sorted;
	kh_scratch<uint32_t> heads, start, len;
	kh_scratch<long long> lead;
	unsigned long long w = 0;
	int rc;

	if (n)
		return kh_fail(err, KH_EUSAGE, "table csr is built by one insert");
	if (p->n == 0)
		return KH_OK;
	size_t wides = cfg.capacity / KH_CSR_WIDE + 1;
	if ((rc = sorted.take(this, p->n, s, err)) ||
	    (rc = heads.take(this, tiles + 1, s, err)) ||
	    (rc = lead.take(this, tiles + 1, s, err)) ||
	    (rc = start.take(this, wides, s, err)) ||
	    (rc = len.take(this, wides, s, err)) || (rc = sort(p, sorted.p, s, err)))
		return rc;
	build<K> b = { sorted.p, (uint32_t)p->n, tiles,   heads.p, lead.p, bucket,
		       0,        room,           start.p, len.p,   note };
	rc = fill(&b, s, err);
	if (!rc)
		rc = kh_cuda(cudaMemcpyAsync(&w, note + KH_NOTE_A, sizeof w,
					     cudaMemcpyDeviceToHost, s),
			     "counting wide lists", err);
	if (!rc)
		rc = kh_cuda(cudaStreamSynchronize(s), "counting wide lists", err);
	n = (uint32_t)p->n;
	n_wide = (uint32_t)w;
	kh_sort o = { start.p, len.p, wide_start, wide_len, n_wide, 32, 32, 0, 32 };
	return rc || n_wide == 0 ? rc : kh_sort_pairs(this, &o, s, err);
}

template <class K, class V>
static int open_csr(const kh_table_config *c, kh_stream s, kh_table **out, kh_err *err)
{
	typedef csr<K, V> T;
	typedef kh_bind<T> B;
	static const kh_table_fn fn = { B::insert, nullptr,  B::count, B::retrieve,
					B::fold,   nullptr,  nullptr,  nullptr,
					nullptr,   B::stats, B::view };
	T *t = kh_table_make<T>();
	size_t wides = c->capacity / KH_CSR_WIDE + 1;
	int rc;

	*out = t;
	if ((rc = kh_table_init(t, &fn, c, s, err)))
		return rc;
	uint64_t homes = (uint64_t)(c->distinct / c->load / kh_csr_bucket<K>::SLOTS) + 1;
	t->homes = 1;
	t->room = (uint32_t)(homes + homes / 64 + 64);
	if ((rc = kh_take(t, &t->bucket, t->room, 0, s, err)) ||
	    (rc = kh_take(t, &t->values, c->capacity, 0, s, err)) ||
	    (rc = kh_take(t, &t->wide_start, wides, 0, s, err)))
		return rc;
	return kh_take(t, &t->wide_len, wides, 0, s, err);
}

int kh_csr_open(const kh_table_config *c, kh_stream s, kh_table **t, kh_err *err)
{
	return KH_DISPATCH(open_csr, c, c, s, t, err);
}
