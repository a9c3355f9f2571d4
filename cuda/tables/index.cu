/*
 * index.cu - the index of kmerhash (kmerhash-db(5)) as a table among the others
 *
 * 64-bit keys stand for canonical k-mers, 32-bit values for locations; index.h has the
 * rules, and they are used as they stand: 48-bit keys, 256 ranges, home and tag, one
 * entry for equal (home, tag) with the union of their lists, buckets of 19, lists
 * ascending and distinct, more than 254 locations kept as one word.  That word is the LCA
 * of the locations' targets; as there is no taxonomy here, it is the root, 0. It is not exact:
 * a key may share its entry with another.  Built by one insert, which waits for the
 * counts of keys, entries and words.  A range in which an entry would lie more than a bucket
 * behind its home gets more buckets, and the placing is done again.
 */
#include "cuda/tables/index_build.cuh"
#include "cuda/tables/span_retrieve.cuh"
#include "cuda/tables/systems.h"

struct index_view {
	typedef uint32_t value_type;
	const kh_bucket *bucket;
	const uint32_t *values; /* locations */
	const kh_range *dir; /* first_bucket and first_loc count in these arrays */
	unsigned group;
};

template <class K> struct index_key_view : index_view {
	typedef K key_type;

	__device__ kht_span span(K key) const
	{
		kh_list l = kh_index_find(bucket, dir, kh_key(key), 32);
		return { (uint32_t)(l.bit / 32), l.n };
	}
	template <class F> __device__ uint32_t each(const kht_group &g, K key, F f) const
	{
		return kht_span_each(g, values, span(key), f);
	}
};

/* --- look-up: a quad a bucket ----------------------------------------------------- */

/* Words of the entries whose length bytes are in w, the first `n` of them. */
static __device__ __forceinline__ uint32_t words_in(uint32_t w, int n)
{
	uint32_t keep = n >= 4   ? KHT_FULL
			: n <= 0 ? 0
				 : (1u << 8 * n) - 1,
		 over = __vcmpeq4(w, KHT_FULL);

	return __dp4a(((w & ~over) | (over & 0x01010101u)) & keep, 0x01010101u, 0u);
}

struct index_probe {
	bool go_on;
	kht_span span; /* start without the range's first word */

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
		all |= __shfl_xor_sync(KHT_FULL, all, 1);
		all |= __shfl_xor_sync(KHT_FULL, all, 2);
		all >>= 13;
		uint32_t y0 = kht_quad(b.y, 0), z0 = kht_quad(b.z, 0), w0 = kht_quad(b.w, 0);
		uint32_t x1 = kht_quad(b.x, 1), y1 = kht_quad(b.y, 1), z1 = kht_quad(b.z, 1);
		uint32_t x0 = kht_quad(b.x, 0), last = kht_quad(b.w, 3) >> 16;
		uint32_t flags = y0 >> 16 & 255, carried = flags & KH_BUCKET_CARRIED;
		uint32_t mine = (1u << carried) - 1;
		all &= second ? mine : ~mine & ((1u << KH_BUCKET_SLOTS) - 1);
		int p = all ? __ffs(all) - 1 : 0;
		uint32_t len = byte_of(p, y0, z0, w0, x1, y1, z1);
		uint32_t at = words_in(y0 >> 24, p < 1 ? p : 1) + words_in(z0, p - 1) +
			      words_in(w0, p - 5) + words_in(x1, p - 9) + words_in(y1, p - 13) +
			      words_in(z1 & 0xffff, p - 17);
		bool found = all && len;
		span = { found ? x0 + at : 0, found ? (len == KH_LIST_OVER ? 1 : len) : 0 };
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
static __global__ void __launch_bounds__(KHT_BLOCK)
	look_up(index_key_view<K> v, kht_keys q, kht_span *spans, uint32_t *counts)
{
	size_t i = kht_thread_id();
	bool mine = i < q.n, go_on = false;
	uint64_t key = mine ? kh_key(((const K *)q.keys)[i]) : 0;
	const kh_range *r = v.dir + kh_key_range(key);
	uint64_t place = kh_key_place(key, r->buckets);
	uint32_t at = (uint32_t)(r->first_bucket + (place >> 16)), tag = (uint32_t)place & 0xffff;
	const uint4 *bucket = (const uint4 *)v.bucket + (threadIdx.x & 3);
	kht_span span = { 0, 0 };
	uint4 b[4];

#pragma unroll
	for (int k = 0; k < 4; k++)
		b[k] = __ldg(bucket + 4 * (size_t)kht_quad(at, k));
#pragma unroll
	for (int k = 0; k < 4; k++) {
		index_probe got(b[k], kht_quad(tag, k), false);
		if ((threadIdx.x & 3) == k) {
			span = got.span;
			go_on = got.go_on;
		}
	}
	while (__any_sync(KHT_FULL, go_on)) {
		unsigned todo = kht_quad_ballot(go_on);
		int k = todo ? __ffs(todo) - 1 : 0;
		const uint4 *next = bucket + 4 * ((size_t)kht_quad(at, k) + 1);
		if (todo)
			b[0] = __ldg(next);
		index_probe got(b[0], kht_quad(tag, k), true);
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

template <class K> struct index_table : kht_table {
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
		v.values = loc;
		v.dir = dir;
		v.group = 8;
		return v;
	}
	int open(kht_stream s, kh_err *err);
	int sort(const kht_kv *p, uint64_t *key, uint32_t *l, kht_stream s, kh_err *err);
	int dedupe(entries *e, uint64_t *key, uint32_t *l, uint64_t *key2, uint32_t *l2,
		   kht_stream s, kh_err *err);
	int size_ranges(entries *e, kht_stream s, kh_err *err);
	int place(entries *e, kht_stream s, kh_err *err);
	int fill(entries *e, kht_stream s, kh_err *err);
	int insert(const kht_kv *p, kht_stream s, kh_err *err);
	int spans(const kht_keys *q, kht_span *span, uint32_t *counts, kht_stream s, kh_err *err)
	{
		look_up<K><<<kht_blocks(q->n), KHT_BLOCK, 0, s>>>(view(), *q, span, counts);
		return kht_launched("look-up", err);
	}
};

static int to_host(void *h, const void *d, size_t bytes, kht_stream s, kh_err *err)
{
	return kht_to_host(h, d, bytes, "index", s, err);
}

/* By key, equal keys by location: a stable sort, and one before it if the input's
 * locations do not ascend as they stand. */
template <class K>
int index_table<K>::sort(const kht_kv *p, uint64_t *key, uint32_t *l, kht_stream s, kh_err *err)
{
	kht_scratch<uint64_t> k0, k1;
	kht_scratch<uint32_t> l1, falls;
	uint32_t unordered = 0;
	int rc;

	if ((rc = k0.take(this, p->n, s, err)) || (rc = k1.take(this, p->n, s, err)) ||
	    (rc = l1.take(this, p->n, s, err)) || (rc = falls.take(this, 1, s, err)) ||
	    (rc = kht_cuda(cudaMemsetAsync(falls.p, 0, 4, s), "index", err)))
		return rc;
	check_order<<<kht_blocks(p->n), KHT_BLOCK, 0, s>>>((const uint32_t *)p->values, p->n,
							   falls.p);
	to_keys<K><<<kht_blocks(p->n), KHT_BLOCK, 0, s>>>((const K *)p->keys, p->n, k0.p);
	if ((rc = to_host(&unordered, falls.p, 4, s, err)))
		return rc;
	kht_sort by_loc = { p->values, k0.p, l1.p, k1.p, p->n, 32, 64, 0, 32 };
	kht_sort by_key = { k0.p, p->values, key, l, p->n, 64, 32, 0, KH_KEY_BITS };
	if (unordered) {
		by_key.keys = k1.p;
		by_key.values = l1.p;
		rc = kht_sort_pairs(this, &by_loc, s, err);
	}
	return rc ? rc : kht_sort_pairs(this, &by_key, s, err);
}

template <class K>
int index_table<K>::dedupe(entries *e, uint64_t *key, uint32_t *l, uint64_t *key2, uint32_t *l2,
			   kht_stream s, kh_err *err)
{
	kht_scratch<uint32_t> flag, at;
	int rc;

	if ((rc = flag.take(this, n, s, err)) || (rc = at.take(this, (size_t)n + 1, s, err)))
		return rc;
	flag_pairs<<<kht_blocks(n), KHT_BLOCK, 0, s>>>(key, l, n, flag.p);
	if ((rc = kht_scan_counts(this, flag.p, n, at.p, s, err)))
		return rc;
	keep_pairs<<<kht_blocks(n), KHT_BLOCK, 0, s>>>(key, l, n, at.p, key2, l2);
	e->key = key2;
	e->loc = l2;
	return to_host(&e->n, at.p + n, 4, s, err);
}

/* Distinct keys a range, and the buckets for them. */
template <class K> int index_table<K>::size_ranges(entries *e, kht_stream s, kh_err *err)
{
	kht_scratch<uint32_t> keys;
	uint32_t d[KH_RANGES];
	int rc = keys.take(this, KH_RANGES, s, err);

	if (!rc)
		rc = kht_cuda(cudaMemsetAsync(keys.p, 0, sizeof d, s), "index", err);
	if (rc)
		return rc;
	count_keys<<<kht_blocks(e->n), KH_RANGES, 0, s>>>(e->key, e->n, keys.p);
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
template <class K> int index_table<K>::place(entries *e, kht_stream s, kh_err *err)
{
	kht_scratch<uint32_t> flag, at;
	uint64_t first = 0;
	int rc;

	for (int r = 0; r < KH_RANGES; r++) {
		host[r].first_bucket = first;
		first += host[r].buckets + 1;
	}
	if (first > room)
		return kh_fail(err, KH_ENOMEM, "an index of %llu buckets where %u were expected",
			       (unsigned long long)first, room);
	if ((rc = flag.take(this, e->n, s, err)) ||
	    (rc = at.take(this, (size_t)e->n + 1, s, err)) ||
	    (rc = kht_cuda(cudaMemcpyAsync(dir, host, sizeof host, cudaMemcpyHostToDevice, s),
			   "index", err)))
		return rc;
	flag_entries<<<kht_blocks(e->n), KHT_BLOCK, 0, s>>>(*e, flag.p);
	if ((rc = kht_scan_counts(this, flag.p, e->n, at.p, s, err)) ||
	    (rc = to_host(&e->n_entries, at.p + e->n, 4, s, err)) ||
	    (rc = kht_cuda(cudaMemsetAsync(e->bad, 0, KH_RANGES * 4, s), "index", err)))
		return rc;
	start_entries<<<kht_blocks(e->n), KHT_BLOCK, 0, s>>>(*e, at.p);
	e->tiles = kht_blocks(e->n_entries, TILE);
	find_slots<<<e->tiles, KHT_BLOCK, 0, s>>>(*e, false);
	kht_scan_tiles<<<1, KHT_BLOCK, 0, s>>>(e->lead, e->tiles, LLONG_MIN, kht_max());
	find_slots<<<e->tiles, KHT_BLOCK, 0, s>>>(*e, true);
	return kht_launched("index", err);
}

template <class K> int index_table<K>::fill(entries *e, kht_stream s, kh_err *err)
{
	kht_scratch<uint32_t> plain, base, first;
	uint32_t words[KH_RANGES];
	int rc;

	size_lists<<<kht_blocks(e->n_entries), KHT_BLOCK, 0, s>>>(*e);
	if ((rc = plain.take(this, e->n_entries, s, err)) ||
	    (rc = base.take(this, (size_t)e->n_entries + 1, s, err)) ||
	    (rc = first.take(this, KH_RANGES, s, err)))
		return rc;
	list_words<<<kht_blocks(e->n_entries), KHT_BLOCK, 0, s>>>(e->words, e->n_entries, plain.p);
	if ((rc = kht_scan_counts(this, plain.p, e->n_entries, base.p, s, err)))
		return rc;
	e->base = base.p;
	for (uint32_t r = 0; r < KH_RANGES; r++)
		set_bases<<<kht_blocks(host[r].buckets + 1), KHT_BLOCK, 0, s>>>(*e, r, first.p);
	fill_entries<<<kht_blocks(e->n_entries), KHT_BLOCK, 0, s>>>(*e);
	if ((rc = to_host(words, first.p, sizeof words, s, err)))
		return rc;
	for (int r = 0; r < KH_RANGES; r++)
		host[r].first_loc = words[r];
	return kht_to_device(dir, host, sizeof host, "index", s, err);
}

template <class K> int index_table<K>::insert(const kht_kv *p, kht_stream s, kh_err *err)
{
	kht_scratch<uint64_t> key, key2, slot;
	kht_scratch<uint32_t> l, l2, from, words, bad;
	kht_scratch<long long> lead;
	uint32_t failed[KH_RANGES];
	bool again = true;
	entries e = {};
	int rc;

	n = (uint32_t)p->n;
	if ((rc = key.take(this, n, s, err)) || (rc = key2.take(this, n, s, err)) ||
	    (rc = l.take(this, n, s, err)) || (rc = l2.take(this, n, s, err)) ||
	    (rc = sort(p, key.p, l.p, s, err)) ||
	    (rc = dedupe(&e, key.p, l.p, key2.p, l2.p, s, err)) ||
	    (rc = from.take(this, (size_t)n + 1, s, err)) || (rc = words.take(this, n, s, err)) ||
	    (rc = bad.take(this, KH_RANGES, s, err)) || (rc = slot.take(this, n, s, err)) ||
	    (rc = lead.take(this, n / TILE + 2, s, err)) || (rc = size_ranges(&e, s, err)))
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

template <class K> int index_table<K>::open(kht_stream s, kh_err *err)
{
	int rc;

	room = (uint32_t)(cfg.distinct / KH_BUCKET_LOAD * 1.4) + 8 * KH_RANGES;
	slots = (uint64_t)room * KH_BUCKET_SLOTS;
	for (int r = 0; r < KH_RANGES; r++)
		host[r].buckets = 1;
	if ((rc = kht_take(this, &bucket, room, 0, s, err)) ||
	    (rc = kht_take(this, &loc, cfg.capacity, 0, s, err)) ||
	    (rc = kht_take(this, &dir, KH_RANGES, 0, s, err)))
		return rc;
	return kht_to_device(dir, host, sizeof host, "index", s, err);
}

int kht_index_open(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	return kht_make_keyed<index_table, KHT_INDEX_CAN, kht_by_spans>(
		c, "the index has locations of 32 bits", s, t, err);
}
