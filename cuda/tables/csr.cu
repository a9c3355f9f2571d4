/*
 * csr.cu - exact keys, sorted, behind one 64-byte bucket a look-up
 *
 * HashGraph's rows (Green 2019) with the duplicate keys taken out, in the
 * order-preserving table of the product's index (kmerhash-db(5)), for whole keys.  Keys are
 * replaced by their mix (a bijection), pairs sorted by it, and the sorted values are the
 * lists as they stand. Entry i, with home bucket h(i), goes to slot i + max over j <= i
 * of (S * h(j) - j): its home, or what follows it without a gap.  A bucket holds S keys,
 * a byte of length each, and where the first list starts; so a look-up reads one
 * bucket, seldom the next.
 * Departures from that index: whole keys instead of tags; an entry may lie any number of
 * buckets behind its home (sorted keys tell a look-up when to stop); lists of 255 values
 * and more stand in a list apart, which their length pays for.  Static: built by one
 * insert, which waits twice (for the number of keys, and of wide lists).
 */
#include "cuda/tables/placing.cuh"
#include "cuda/tables/csr.cuh"
#include "cuda/tables/retrieve.cuh"

#define TILE 2048
#define EACH (TILE / KHT_BLOCK)

template <class K> struct build {
	const K *key; /* sorted mixes */
	uint32_t n, tiles;
	uint32_t *heads; /* tiles: first entry of the tile; then in all */
	long long *lead; /* tiles: the maximum before the tile */
	kht_csr_bucket<K> *bucket;
	uint32_t homes, room; /* buckets */
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

	for (uint32_t i = threadIdx.x; i < n; i += KHT_BLOCK)
		k[i + 1] = b.key[from + i];
	if (threadIdx.x == 0)
		k[0] = from ? b.key[from - 1] : (K)~b.key[0];
	__syncthreads();
	return n;
}

template <class K> static __global__ void __launch_bounds__(KHT_BLOCK) count_heads(build<K> b)
{
	__shared__ uint32_t sum;
	uint32_t from = blockIdx.x * TILE, n = min((uint32_t)TILE, b.n - from), c = 0;

	if (threadIdx.x == 0)
		sum = 0;
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < n; i += KHT_BLOCK)
		c += from + i == 0 || b.key[from + i] != b.key[from + i - 1];
	c = __reduce_add_sync(KHT_FULL, c);
	if ((threadIdx.x & 31) == 0)
		atomicAdd(&sum, c);
	__syncthreads();
	if (threadIdx.x == 0)
		b.heads[blockIdx.x] = sum;
}

/* The maximum of S * home - entry over the heads among a thread's items; the first head is
 * `entry`. */
template <class K>
static __device__ long long thread_lead(const build<K> &b, tile<K> &k, uint32_t n, uint32_t entry)
{
	long long lead = LLONG_MIN;

	for (uint32_t i = threadIdx.x * EACH; i < min(n, (threadIdx.x + 1) * EACH); i++)
		if (k[i] != k[i + 1]) {
			long long h = kht_reduce(k[i + 1], b.homes);
			lead = max(lead, h * kht_csr_bucket<K>::SLOTS - entry++);
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

template <class K> static __global__ void __launch_bounds__(KHT_BLOCK) find_leads(build<K> b)
{
	__shared__ tile<K> k;
	uint32_t n = load_tile(b, k);
	uint32_t entry = b.heads[blockIdx.x] +
			 kht_block_scan(thread_heads(k, n), 0u, kht_plus(), (uint32_t *)nullptr);
	long long lead = thread_lead(b, k, n, entry), all;

	kht_block_scan(lead, LLONG_MIN, kht_max(), &all);
	if (threadIdx.x == 0)
		b.lead[blockIdx.x] = all;
}

/* Where the equal keys from i on end.  Most runs are short, so the search takes growing steps. */
template <class K> static __device__ uint32_t run_end(const K *key, uint32_t i, uint32_t n, K x)
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
static __device__ void put(const build<K> &b, uint64_t slot, K x, uint32_t start, uint32_t len)
{
	const unsigned S = kht_csr_bucket<K>::SLOTS;
	uint64_t at = slot / S;
	unsigned p = (unsigned)(slot % S);

	if (at + 1 >= b.room) {
		atomicAdd(b.note + KHT_NOTE_FAILED, (unsigned long long)len);
		return;
	}
	kht_csr_bucket<K> *to = b.bucket + at;
	if (p == 0)
		to->base = start;
	to->key[p] = x;
	to->len[p] = (uint8_t)min(len, KHT_CSR_WIDE);
	if (len >= KHT_CSR_WIDE) {
		unsigned long long w = atomicAdd(b.note + KHT_NOTE_A, 1ull);
		b.wide_start[w] = start;
		b.wide_len[w] = len;
	}
}

/* A tile's entries are first listed in shared memory, then written by lanes in a row:
 * what goes to one bucket goes there together, and a length is the way to the next
 * entry. */
template <class K> static __global__ void __launch_bounds__(KHT_BLOCK) place(build<K> b)
{
	__shared__ tile<K> k;
	__shared__ long long slot[TILE];
	__shared__ uint16_t item[TILE];
	uint32_t n = load_tile(b, k), from = blockIdx.x * TILE, all;
	uint32_t e = kht_block_scan(thread_heads(k, n), 0u, kht_plus(), &all);
	uint32_t before = b.heads[blockIdx.x];
	long long lead = kht_block_scan(thread_lead(b, k, n, before + e), LLONG_MIN, kht_max(),
					(long long *)nullptr);

	lead = max(lead, b.lead[blockIdx.x]);
	for (uint32_t i = threadIdx.x * EACH; i < min(n, (threadIdx.x + 1) * EACH); i++) {
		if (k[i] == k[i + 1])
			continue;
		long long home = kht_reduce(k[i + 1], b.homes);
		lead = max(lead, home * kht_csr_bucket<K>::SLOTS - (before + e));
		slot[e] = lead + (before + e);
		item[e++] = (uint16_t)i;
	}
	__syncthreads();
	for (uint32_t j = threadIdx.x; j < all; j += KHT_BLOCK) {
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
	kht_span span;

	__device__ quad_probe(const kht_csr_view<K, V> &w, uint4 b, K x);
};

template <class V> struct quad_probe<uint32_t, V> {
	bool go_on;
	kht_span span;

	/* b: this lane's 16 bytes; base in words 0-1, keys 2-12, lengths 13-15. */
	__device__ quad_probe(const kht_csr_view<uint32_t, V> &w, uint4 b, uint32_t x)
	{
		int lane = threadIdx.x & 3, first = 4 * lane - 2, p = 99;

		p = b.w == x && lane < 3 ? first + 3 : p;
		p = b.z == x && lane < 3 ? first + 2 : p;
		p = b.y == x && lane > 0 && lane < 3 ? first + 1 : p;
		p = b.x == x && lane > 0 ? first : p;
		p = min(p, __shfl_xor_sync(KHT_FULL, p, 1));
		p = min(p, __shfl_xor_sync(KHT_FULL, p, 2));
		uint64_t base = (uint64_t)kht_quad(b.y, 0) << 32 | kht_quad(b.x, 0);
		uint64_t lo = (uint64_t)kht_quad(b.z, 3) << 32 | kht_quad(b.y, 3);
		uint32_t hi = kht_quad(b.w, 3), last = kht_quad(b.x, 3);
		span = { 0, 0 };
		if (p < 99)
			span = w.list(base, lo, hi, p);
		go_on = span.len == 0 && (hi >> 16 & 255) != 0 && last < x;
	}
};

template <class V> struct quad_probe<uint64_t, V> {
	bool go_on;
	kht_span span;

	/* Two 64-bit words a lane: base, key 0; keys 1, 2; 3, 4; key 5, lengths. */
	__device__ quad_probe(const kht_csr_view<uint64_t, V> &w, uint4 b, uint64_t x)
	{
		int lane = threadIdx.x & 3, p = 99;
		uint64_t a = (uint64_t)b.y << 32 | b.x, c = (uint64_t)b.w << 32 | b.z;

		p = c == x && lane < 3 ? 2 * lane : p;
		p = a == x && lane > 0 ? 2 * lane - 1 : p;
		p = min(p, __shfl_xor_sync(KHT_FULL, p, 1));
		p = min(p, __shfl_xor_sync(KHT_FULL, p, 2));
		uint64_t base = kht_quad(a, 0), lo = kht_quad(c, 3), last = kht_quad(a, 3);
		span = { 0, 0 };
		if (p < 99)
			span = w.list(base, lo & (UINT64_C(1) << 48) - 1, 0, p);
		go_on = span.len == 0 && (lo >> 40 & 255) != 0 && last < x;
	}
};

template <class K, class V>
static __global__ void __launch_bounds__(KHT_PROBE_BLOCK)
	look_up(kht_csr_view<K, V> w, kht_keys q, kht_span *spans, uint32_t *counts)
{
	size_t i = kht_thread_id();
	bool mine = i < q.n;
	K x = mine ? kht_mix(((const K *)q.keys)[i], w.seed) : 0;
	uint32_t at = kht_reduce(x, w.n_buckets);
	const uint4 *bucket = (const uint4 *)w.buckets + (threadIdx.x & 3);
	kht_span span = { 0, 0 };
	bool go_on = false;
	uint4 b[4];

#pragma unroll
	for (int r = 0; r < 4; r++)
		b[r] = __ldg(bucket + 4 * (size_t)kht_quad(at, r));
#pragma unroll
	for (int r = 0; r < 4; r++) {
		quad_probe<K, V> got(w, b[r], kht_quad(x, r));
		if ((threadIdx.x & 3) == r) {
			span = got.span;
			go_on = got.go_on;
		}
	}
	while (__any_sync(KHT_FULL, go_on)) {
		unsigned todo = kht_quad_ballot(go_on);
		int r = todo ? __ffs(todo) - 1 : 0;
		const uint4 *next = bucket + 4 * ((size_t)kht_quad(at, r) + 1);
		if (todo)
			b[0] = __ldg(next);
		quad_probe<K, V> got(w, b[0], kht_quad(x, r));
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

template <class K, class V> struct csr : kht_table {
	typedef kht_csr_view<K, V> view_type;
	kht_csr_bucket<K> *bucket;
	V *values;
	uint32_t *wide_start, *wide_len;
	uint32_t homes, room, keys, n_wide;

	view_type view() const
	{
		return { bucket, values, wide_start, wide_len, homes, n_wide, cfg.seed, 8 };
	}
	int open(kht_stream s, kh_err *err);
	int fill(build<K> *b, kht_stream s, kh_err *err);
	int insert(const kht_kv *p, kht_stream s, kh_err *err);
	int spans(const kht_keys *q, kht_span *span, uint32_t *counts, kht_stream s, kh_err *err)
	{
		look_up<K, V><<<kht_blocks(q->n, KHT_PROBE_BLOCK), KHT_PROBE_BLOCK, 0, s>>>(
			view(), *q, span, counts);
		return kht_launched("look-up", err);
	}
};

/* Makes the buckets from sorted keys. */
template <class K, class V> int csr<K, V>::fill(build<K> *b, kht_stream s, kh_err *err)
{
	int rc;

	count_heads<K><<<b->tiles, KHT_BLOCK, 0, s>>>(*b);
	kht_scan_tiles<<<1, KHT_BLOCK, 0, s>>>(b->heads, b->tiles, 0u, kht_plus());
	rc = kht_to_host(&keys, b->heads + b->tiles, sizeof keys, "counting keys", s, err);
	if (rc)
		return rc;
	if (keys > cfg.distinct)
		return kh_fail(err, KH_EUSAGE, "%u distinct keys for a table of %llu", keys,
			       (unsigned long long)cfg.distinct);
	b->homes = homes = (uint32_t)(keys / cfg.load / kht_csr_bucket<K>::SLOTS) + 1;
	slots = (uint64_t)homes * kht_csr_bucket<K>::SLOTS;
	find_leads<K><<<b->tiles, KHT_BLOCK, 0, s>>>(*b);
	kht_scan_tiles<<<1, KHT_BLOCK, 0, s>>>(b->lead, b->tiles, LLONG_MIN, kht_max());
	place<K><<<b->tiles, KHT_BLOCK, 0, s>>>(*b);
	return kht_launched("placing keys", err);
}

template <class K, class V> int csr<K, V>::insert(const kht_kv *p, kht_stream s, kh_err *err)
{
	const uint32_t tiles = (uint32_t)((p->n + TILE - 1) / TILE);
	const size_t wides = cfg.capacity / KHT_CSR_WIDE + 1;
	kht_scratch<K> sorted;
	kht_scratch<uint32_t> heads, start, len;
	kht_scratch<long long> lead;
	unsigned long long w = 0;
	int rc;

	if ((rc = sorted.take(this, p->n, s, err)) || (rc = heads.take(this, tiles + 1, s, err)) ||
	    (rc = lead.take(this, tiles + 1, s, err)) || (rc = start.take(this, wides, s, err)) ||
	    (rc = len.take(this, wides, s, err)))
		return rc;
	kht_sort by_mix = { p->keys,       p->values,     sorted.p, values,       p->n,
			    sizeof(K) * 8, sizeof(V) * 8, 0,        sizeof(K) * 8 };
	build<K> b = { sorted.p, (uint32_t)p->n, tiles,   heads.p, lead.p, bucket,
		       0,        room,           start.p, len.p,   note };
	if ((rc = kht_sort_mixes(this, &by_mix, s, err)) || (rc = fill(&b, s, err)) ||
	    (rc = kht_to_host(&w, note + KHT_NOTE_A, sizeof w, "counting wide lists", s, err)))
		return rc;
	n_wide = (uint32_t)w;
	kht_sort o = { start.p, len.p, wide_start, wide_len, n_wide, 32, 32, 0, 32 };
	return n_wide ? kht_sort_pairs(this, &o, s, err) : KH_OK;
}

template <class K, class V> int csr<K, V>::open(kht_stream s, kh_err *err)
{
	const int per = kht_csr_bucket<K>::SLOTS;
	const size_t wides = cfg.capacity / KHT_CSR_WIDE + 1;
	const uint64_t most = (uint64_t)(cfg.distinct / cfg.load / per) + 1;
	int rc;

	homes = 1;
	slots = per;
	room = (uint32_t)(most + most / 64 + 64);
	if ((rc = kht_take(this, &bucket, room, 0, s, err)) ||
	    (rc = kht_take(this, &values, cfg.capacity, 0, s, err)) ||
	    (rc = kht_take(this, &wide_start, wides, 0, s, err)))
		return rc;
	return kht_take(this, &wide_len, wides, 0, s, err);
}

int kht_csr_open(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	return kht_make_wide<csr, KHT_CSR_CAN, kht_by_spans>(c, s, t, err);
}
