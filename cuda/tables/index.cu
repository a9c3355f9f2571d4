/*
 * index.cu - row 13: the index of the product (DESIGN 4) as a table among the others
 *
 * 64-bit keys stand for canonical k-mers, 32-bit values for locations; index.h has the
 * rules, and they are used as they stand: 48-bit keys, 256 ranges, home and tag, one
 * entry for equal (home, tag) with the union of their lists, buckets of 19, lists
 * ascending and distinct, more than 254 locations kept as one word.  That word is the LCA
 * of the locations' targets; here is no taxonomy, so it is the root, 0. It is not exact:
 * a key may share its entry with another.  Built by one insert, which waits for the
 * counts of keys, entries and words.  Ranges whose entries would lie more than a bucket
 * behind their home get more buckets, and the placing is done again.
 */
#include "index_build.cuh"
#include "span_retrieve.cuh"
#include "systems.h"

struct index_view {
	typedef uint32_t value_type;
	const kh_bucket *bucket;
	const uint32_t *loc;
	const kh_range *dir; /* first_bucket and first_loc count in these arrays */
	unsigned group;
};

template <class K> struct index_key_view : index_view {
	typedef K key_type;

	__device__ kh_span span(K key) const
	{
		kh_list l = kh_index_find(bucket, dir, kh_key(key));
		return { (uint32_t)l.loc, l.n };
	}
	template <class F> __device__ uint32_t each(const kh_group &g, K key, F f) const
	{
		return kh_span_each(g, loc, span(key), f);
	}
};

/* --- look-up: a quad a bucket ----------------------------------------------------- */

/* Words of the entries whose length bytes are in w, the first `n` of them. */
static __device__ __forceinline__ uint32_t words_in(uint32_t w, int n)
{
	uint32_t keep = n >= 4   ? KH_FULL
			: n <= 0 ? 0
				 : (1u << 8 * n) - 1,
		 over = __vcmpeq4(w, KH_FULL);

	return __dp4a(((w & ~over) | (over & 0x01010101u)) & keep, 0x01010101u, 0u);
}

struct index_probe {
	bool go_on;
	kh_span span;                   /* start without the range's first word */

	/* b: this lane's 16 bytes.  Tags are the 16-bit words 13 to 31 of the bucket. */
	__device__ index_probe(uint4 b, uint32_t tag, bool second)
	{
		int lane = threadIdx.x & 3;
		uint32_t t = tag << 16 | tag, w[4] = { b.x, b.y, b.z, b.w }, hit = 0;

		for (int k = 0; k < 4; k++) {
			uint32_t eq = __vcmpeq2(w[k], t);
			hit |= ((eq & 1) | (eq >> 30 & 2)) << 2 * k;
		}
		uint32_t all = lane == 0 ? 0 : hit << 8 * lane;
		all |= __shfl_xor_sync(KH_FULL, all, 1);
		all |= __shfl_xor_sync(KH_FULL, all, 2);
		all >>= 13;
		uint32_t y0 = kh_quad(b.y, 0), z0 = kh_quad(b.z, 0), w0 = kh_quad(b.w, 0);
		uint32_t x1 = kh_quad(b.x, 1), y1 = kh_quad(b.y, 1), z1 = kh_quad(b.z, 1);
		uint32_t x0 = kh_quad(b.x, 0), last = kh_quad(b.w, 3) >> 16;
		uint32_t flags = y0 >> 16 & 255, carried = flags & KH_BUCKET_CARRIED;
		uint32_t mine = (1u << carried) - 1;
		all &= second ? mine : ~mine & ((1u << KH_BUCKET_SLOTS) - 1);
		int p = all ? __ffs(all) - 1 : 0;
		uint32_t len = byte_of(p, y0, z0, w0, x1, y1, z1);
		uint32_t at = words_in(y0 >> 24, p < 1 ? p : 1) + words_in(z0, p - 1) +
			      words_in(w0, p - 5) + words_in(x1, p - 9) +
			      words_in(y1, p - 13) + words_in(z1 & 0xffff, p - 17);
		bool found = all && len;
		span = { found ? x0 + at : 0,
			 found ? (len == KH_LIST_OVER ? 1 : len) : 0 };
		go_on = !second && !found && (flags & KH_BUCKET_GOES_ON) &&
			(carried == KH_BUCKET_SLOTS || tag > last);
	}
	static __device__ uint32_t byte_of(int p, uint32_t y0, uint32_t z0, uint32_t w0,
					   uint32_t x1, uint32_t y1, uint32_t z1)
	{
		uint32_t w = p < 1    ? y0 >> 24
			     : p < 5  ? z0
			     : p < 9  ? w0
			     : p < 13 ? x1
			     : p < 17 ? y1
				      : z1;
		return p < 1 ? w : w >> 8 * ((p - 1) & 3) & 255;
	}
};

template <class K>
static __global__ void __launch_bounds__(KH_BLOCK)
	look_up(index_key_view<K> v, kh_keys q, kh_span *spans, uint32_t *counts)
{
	size_t i = kh_thread_id();
	bool mine = i < q.n, go_on = false;
	uint64_t key = mine ? kh_key(((const K *)q.keys)[i]) : 0;
	const kh_range *r = v.dir + kh_key_range(key);
	uint64_t place = kh_key_place(key, r->buckets);
	uint32_t at = (uint32_t)(r->first_bucket + (place >> 16)),
		 tag = (uint32_t)place & 0xffff;
	const uint4 *bucket = (const uint4 *)v.bucket + (threadIdx.x & 3);
	kh_span span = { 0, 0 };
	uint4 b[4];

#pragma unroll
	for (int k = 0; k < 4; k++)
		b[k] = __ldg(bucket + 4 * (size_t)kh_quad(at, k));
#pragma unroll
	for (int k = 0; k < 4; k++) {
		index_probe got(b[k], kh_quad(tag, k), false);
		if ((threadIdx.x & 3) == k) {
			span = got.span;
			go_on = got.go_on;
		}
	}
	while (__any_sync(KH_FULL, go_on)) {
		unsigned todo = kh_quad_ballot(go_on);
		int k = todo ? __ffs(todo) - 1 : 0;
		const uint4 *next = bucket + 4 * ((size_t)kh_quad(at, k) + 1);
		if (todo)
			b[0] = __ldg(next);
		index_probe got(b[0], kh_quad(tag, k), true);
		if (todo && (threadIdx.x & 3) == (unsigned)k) {
			span = got.span;
			go_on = false;
		}
	}
	if (!mine)
		return;
	span.start += (uint32_t)r->first_loc;
	if (spans)
		spans[i] = span;
	if (counts)
		counts[i] = span.len;
}

/* --- the table -------------------------------------------------------------------- */

template <class K> struct index_table : kh_table {
	typedef index_key_view<K> view_type;
	kh_bucket *bucket;
	kh_range *dir;
	uint32_t *loc;
	uint32_t n, room;
	kh_range host[KH_RANGES];

	view_type view() const
	{
		view_type v;
		v.bucket = bucket;
		v.loc = loc;
		v.dir = dir;
		v.group = 8;
		return v;
	}
	int sort(const kh_kv *p, uint64_t *key, uint32_t *l, kh_stream s, kh_err *err);
	int dedupe(entries *e, uint64_t *key, uint32_t *l, uint64_t *key2, uint32_t *l2,
		   kh_stream s, kh_err *err);
	int size_ranges(entries *e, kh_stream s, kh_err *err);
	int place(entries *e, kh_stream s, kh_err *err);
	int fill(entries *e, kh_stream s, kh_err *err);
	int insert(const kh_kv *p, kh_stream s, kh_err *err);
	int spans(const kh_keys *q, kh_span *span, uint32_t *counts, kh_stream s,
		  kh_err *err)
	{
		look_up<K><<<kh_blocks(q->n), KH_BLOCK, 0, s>>>(view(), *q, span, counts);
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
		return rc ? rc
			  : kh_span_copy<uint32_t>(this, span.p, q->n, loc, out, s, err);
	}
	int fold(const kh_keys *q, uint64_t *sums, kh_stream s, kh_err *err)
	{
		return kh_view_fold(view(), q, sums, s, err);
	}
	int stats(kh_stream, kh_table_stats *st, kh_err *)
	{
		st->pairs = n;
		return KH_OK;
	}
};

static int to_host(void *h, const void *d, size_t bytes, kh_stream s, kh_err *err)
{
	int rc = kh_cuda(cudaMemcpyAsync(h, d, bytes, cudaMemcpyDeviceToHost, s), "index",
			 err);

	return rc ? rc : kh_cuda(cudaStreamSynchronize(s), "index", err);
}

/* By key, equal keys by location: a stable sort, and one before it if the input's
 * locations do not ascend as they stand. */
template <class K>
int index_table<K>::sort(const kh_kv *p, uint64_t *key, uint32_t *l, kh_stream s,
			 kh_err *err)
{
	kh_scratch<uint64_t> k0, k1;
	kh_scratch<uint32_t> l1, falls;
	uint32_t unordered = 0;
	int rc;

	if ((rc = k0.take(this, p->n, s, err)) || (rc = k1.take(this, p->n, s, err)) ||
	    (rc = l1.take(this, p->n, s, err)) || (rc = falls.take(this, 1, s, err)) ||
	    (rc = kh_cuda(cudaMemsetAsync(falls.p, 0, 4, s), "index", err)))
		return rc;
	check_order<<<kh_blocks(p->n), KH_BLOCK, 0, s>>>((const uint32_t *)p->values,
							 p->n, falls.p);
	to_keys<K><<<kh_blocks(p->n), KH_BLOCK, 0, s>>>((const K *)p->keys, p->n, k0.p);
	if ((rc = to_host(&unordered, falls.p, 4, s, err)))
		return rc;
	kh_sort by_loc = { p->values, k0.p, l1.p, k1.p, p->n, 32, 64, 0, 32 };
	kh_sort by_key = { k0.p, p->values, key, l, p->n, 64, 32, 0, KH_KEY_BITS };
	if (unordered) {
		by_key.keys = k1.p;
		by_key.values = l1.p;
		rc = kh_sort_pairs(this, &by_loc, s, err);
	}
	return rc ? rc : kh_sort_pairs(this, &by_key, s, err);
}

template <class K>
int index_table<K>::dedupe(entries *e, uint64_t *key, uint32_t *l, uint64_t *key2,
			   uint32_t *l2, kh_stream s, kh_err *err)
{
	kh_scratch<uint32_t> flag, at;
	int rc;

	if ((rc = flag.take(this, n, s, err)) ||
	    (rc = at.take(this, (size_t)n + 1, s, err)))
		return rc;
	flag_pairs<<<kh_blocks(n), KH_BLOCK, 0, s>>>(key, l, n, flag.p);
	if ((rc = kh_scan_counts(this, flag.p, n, at.p, s, err)))
		return rc;
	keep_pairs<<<kh_blocks(n), KH_BLOCK, 0, s>>>(key, l, n, at.p, key2, l2);
	e->key = key2;
	e->loc = l2;
	return to_host(&e->n, at.p + n, 4, s, err);
}

/* Distinct keys a range, and the buckets for them. */
template <class K> int index_table<K>::size_ranges(entries *e, kh_stream s, kh_err *err)
{
	kh_scratch<uint32_t> keys;
	uint32_t d[KH_RANGES];
	int rc = keys.take(this, KH_RANGES, s, err);

	if (!rc)
		rc = kh_cuda(cudaMemsetAsync(keys.p, 0, sizeof d, s), "index", err);
	if (rc)
		return rc;
	count_keys<<<kh_blocks(e->n), KH_RANGES, 0, s>>>(e->key, e->n, keys.p);
	if ((rc = to_host(d, keys.p, sizeof d, s, err)))
		return rc;
	for (int r = 0; r < KH_RANGES; r++) {
		host[r].keys = d[r];
		host[r].buckets = d[r] ? (d[r] + KH_BUCKET_LOAD - 1) / KH_BUCKET_LOAD : 1;
	}
	return KH_OK;
}

/* One attempt at slots for the buckets that host[] has; flags of ranges that need
 * more. */
template <class K> int index_table<K>::place(entries *e, kh_stream s, kh_err *err)
{
	kh_scratch<uint32_t> flag, at;
	uint64_t first = 0;
	int rc;

	for (int r = 0; r < KH_RANGES; r++) {
		host[r].first_bucket = first;
		first += host[r].buckets + 1;
	}
	if (first > room)
		return kh_fail(err, KH_ENOMEM,
			       "an index of %llu buckets where %u were expected",
			       (unsigned long long)first, room);
	if ((rc = flag.take(this, e->n, s, err)) ||
	    (rc = at.take(this, (size_t)e->n + 1, s, err)) ||
	    (rc = kh_cuda(
		     cudaMemcpyAsync(dir, host, sizeof host, cudaMemcpyHostToDevice, s),
		     "index", err)))
		return rc;
	flag_entries<<<kh_blocks(e->n), KH_BLOCK, 0, s>>>(*e, flag.p);
	if ((rc = kh_scan_counts(this, flag.p, e->n, at.p, s, err)) ||
	    (rc = to_host(&e->n_entries, at.p + e->n, 4, s, err)) ||
	    (rc = kh_cuda(cudaMemsetAsync(e->bad, 0, KH_RANGES * 4, s), "index", err)))
		return rc;
	start_entries<<<kh_blocks(e->n), KH_BLOCK, 0, s>>>(*e, at.p);
	e->tiles = kh_blocks(e->n_entries, TILE);
	find_slots<<<e->tiles, KH_BLOCK, 0, s>>>(*e, false);
	kh_scan_tiles<<<1, KH_BLOCK, 0, s>>>(e->lead, e->tiles, LLONG_MIN, kh_max());
	find_slots<<<e->tiles, KH_BLOCK, 0, s>>>(*e, true);
	return kh_launched("index", err);
}

template <class K> int index_table<K>::fill(entries *e, kh_stream s, kh_err *err)
{
	kh_scratch<uint32_t> plain, base, first;
	uint32_t words[KH_RANGES];
	int rc;

	size_lists<<<kh_blocks(e->n_entries), KH_BLOCK, 0, s>>>(*e);
	if ((rc = plain.take(this, e->n_entries, s, err)) ||
	    (rc = base.take(this, (size_t)e->n_entries + 1, s, err)) ||
	    (rc = first.take(this, KH_RANGES, s, err)))
		return rc;
	list_words<<<kh_blocks(e->n_entries), KH_BLOCK, 0, s>>>(e->words, e->n_entries,
								plain.p);
	if ((rc = kh_scan_counts(this, plain.p, e->n_entries, base.p, s, err)))
		return rc;
	e->base = base.p;
	for (uint32_t r = 0; r < KH_RANGES; r++)
		set_bases<<<kh_blocks(host[r].buckets + 1), KH_BLOCK, 0, s>>>(*e, r,
									      first.p);
	fill_entries<<<kh_blocks(e->n_entries), KH_BLOCK, 0, s>>>(*e);
	if ((rc = to_host(words, first.p, sizeof words, s, err)))
		return rc;
	for (int r = 0; r < KH_RANGES; r++)
		host[r].first_loc = words[r];
	rc = kh_cuda(cudaMemcpyAsync(dir, host, sizeof host, cudaMemcpyHostToDevice, s),
		     "index", err);
	return rc ? rc : kh_cuda(cudaStreamSynchronize(s), "index", err);
}

template <class K> int index_table<K>::insert(const kh_kv *p, kh_stream s, kh_err *err)
{
	kh_scratch<uint64_t> key, key2, slot;
	kh_scratch<uint32_t> l, l2, from, words, bad;
	kh_scratch<long long> lead;
	uint32_t failed[KH_RANGES];
	bool again = true;
	entries e = {};
	int rc;

	if (n)
		return kh_fail(err, KH_EUSAGE, "table index is built by one insert");
	if (p->n == 0)
		return KH_OK;
	n = (uint32_t)p->n;
	if ((rc = key.take(this, n, s, err)) || (rc = key2.take(this, n, s, err)) ||
	    (rc = l.take(this, n, s, err)) || (rc = l2.take(this, n, s, err)) ||
	    (rc = sort(p, key.p, l.p, s, err)) ||
	    (rc = dedupe(&e, key.p, l.p, key2.p, l2.p, s, err)) ||
	    (rc = from.take(this, (size_t)n + 1, s, err)) ||
	    (rc = words.take(this, n, s, err)) ||
	    (rc = bad.take(this, KH_RANGES, s, err)) ||
	    (rc = slot.take(this, n, s, err)) ||
	    (rc = lead.take(this, n / TILE + 2, s, err)) ||
	    (rc = size_ranges(&e, s, err)))
		return rc;
	e.dir = dir;
	e.from = from.p;
	e.slot = slot.p;
	e.words = words.p;
	e.lead = lead.p;
	e.bad = bad.p;
	e.bucket = bucket;
	e.out = loc;
	while (again) {
		if ((rc = place(&e, s, err)) ||
		    (rc = to_host(failed, bad.p, sizeof failed, s, err)))
			return rc;
		again = false;
		for (int r = 0; r < KH_RANGES; r++)
			if (failed[r]) {
				host[r].buckets += (host[r].buckets + 15) / 16;
				again = true;
			}
	}
	return fill(&e, s, err);
}

template <class K>
static int open_keys(const kh_table_config *c, kh_stream s, kh_table **out, kh_err *err)
{
	typedef index_table<K> T;
	typedef kh_bind<T> B;
	static const kh_table_fn fn = { B::insert, nullptr,  B::count, B::retrieve,
					B::fold,   nullptr,  nullptr,  nullptr,
					nullptr,   B::stats, B::view };
	T *t = kh_table_make<T>();
	int rc;

	*out = t;
	if ((rc = kh_table_init(t, &fn, c, s, err)))
		return rc;
	t->room = (uint32_t)(c->distinct / KH_BUCKET_LOAD * 1.25) + 8 * KH_RANGES;
	t->slots = (uint64_t)t->room * KH_BUCKET_SLOTS;
	for (int r = 0; r < KH_RANGES; r++)
		t->host[r].buckets = 1;
	if ((rc = kh_take(t, &t->bucket, t->room, 0, s, err)) ||
	    (rc = kh_take(t, &t->loc, c->capacity, 0, s, err)) ||
	    (rc = kh_take(t, &t->dir, KH_RANGES, 0, s, err)) ||
	    (rc = kh_cuda(cudaMemcpyAsync(t->dir, t->host, sizeof t->host,
					  cudaMemcpyHostToDevice, s),
			  "index", err)))
		return rc;
	return kh_cuda(cudaStreamSynchronize(s), "index", err);
}

int kh_index_open(const kh_table_config *c, kh_stream s, kh_table **t, kh_err *err)
{
	if (c->value_bits != 32)
		return kh_fail(err, KH_EUSAGE, "the index has locations of 32 bits");
	return c->key_bits == 32 ? open_keys<uint32_t>(c, s, t, err)
				 : open_keys<uint64_t>(c, s, t, err);
}
