/*
 * spans.cuh - views: the values of a key, inside a kernel, without a copy
 *
 * A view is plain data that a kernel takes by value (kht_table_view() fills it).  Each has
 *
 *     uint32_t each(const kht_group &g, key, f)
 *
 * called by all lanes of a group with the same key: f(i, value) runs once a value, on
 * some lane, with i = 0, 1 ..; the number of values comes back on every lane.  A view's
 * `group` is the size that suits it; any power of two up to 32 works.  Views of tables
 * whose lists are contiguous also have span(key): the values as one array.
 */
#ifndef KHT_SPANS_CUH
#define KHT_SPANS_CUH

#include "cuda/tables/group.cuh"
#include "cuda/tables/hash.cuh"
#include "cuda/tables/slots.cuh"

/* len values from values[start]. */
struct kht_span {
	uint32_t start, len;
};

template <class V, class F>
static __device__ uint32_t kht_span_each(const kht_group &g, const V *values, kht_span s, F f)
{
	for (uint32_t i = g.lane; i < s.len; i += g.size)
		f(i, values[(size_t)s.start + i]);
	return s.len;
}

/* --- exact sorted CSR: csr.cu ----------------------------------------------------- */

/* 64 bytes.  Entries from position 0 on, in the order of mixes; len 0: unused; 255: the
 * length is in the list of wide ones. */
template <class K> struct kht_csr_bucket;
template <> struct kht_csr_bucket<uint32_t> {
	static constexpr int SLOTS = 11;
	uint64_t base; /* first value of position 0 */
	uint32_t key[SLOTS];
	uint8_t len[SLOTS + 1];
};
template <> struct kht_csr_bucket<uint64_t> {
	static constexpr int SLOTS = 6;
	uint64_t base;
	uint64_t key[SLOTS];
	uint8_t len[8];
};
static_assert(sizeof(kht_csr_bucket<uint32_t>) == 64, "a bucket is 64 bytes");
static_assert(sizeof(kht_csr_bucket<uint64_t>) == 64, "a bucket is 64 bytes");

#define KHT_CSR_WIDE 255u

template <class K, class V> struct kht_csr_view {
	typedef K key_type;
	typedef V value_type;
	typedef kht_csr_bucket<K> bucket;
	const bucket *buckets;
	const V *values;
	const uint32_t *wide_start, *wide_len; /* lists of 255 and more, ascending */
	uint32_t n_buckets, n_wide;            /* homes; a bucket that is not full ends each run */
	uint64_t seed;
	unsigned group;

	/* The list at position p of a bucket with these lengths (bytes 0-7 and 8-10). */
	__device__ kht_span list(uint64_t base, uint64_t lo, uint32_t hi, int p) const
	{
		uint64_t below_lo = p >= 8 ? ~UINT64_C(0) : (UINT64_C(1) << 8 * p) - 1;
		uint32_t below_hi = p <= 8 ? 0 : (1u << 8 * (p - 8)) - 1;
		uint64_t upto_lo = below_lo << 8 | 255;
		uint32_t upto_hi = p < 8 ? 0 : below_hi << 8 | 255;

		if ((__vcmpeq4((uint32_t)lo, KHT_FULL) & (uint32_t)upto_lo) |
		    (__vcmpeq4((uint32_t)(lo >> 32), KHT_FULL) & (uint32_t)(upto_lo >> 32)) |
		    (__vcmpeq4(hi, KHT_FULL) & upto_hi))
			return wide(base, lo, hi, p);
		uint64_t a = lo & below_lo;
		uint32_t sum = __dp4a((uint32_t)a, 0x01010101u, 0u);
		sum = __dp4a((uint32_t)(a >> 32), 0x01010101u, sum);
		sum = __dp4a(hi & below_hi, 0x01010101u, sum);
		uint32_t n = p < 8 ? (uint32_t)(lo >> 8 * p) & 255 : hi >> 8 * (p - 8) & 255;
		return { (uint32_t)base + sum, n };
	}
	__device__ kht_span wide(uint64_t base, uint64_t lo, uint32_t hi, int p) const
	{
		uint32_t at = (uint32_t)base, from = 0, to = n_wide;

		while (from < to) { /* the first wide list at or after base */
			uint32_t mid = from + (to - from) / 2;
			if (wide_start[mid] < at)
				from = mid + 1;
			else
				to = mid;
		}
		for (int j = 0;; j++) {
			uint32_t n =
				j < 8 ? (uint32_t)(lo >> 8 * j) & 255 : hi >> 8 * (j - 8) & 255;
			if (n == KHT_CSR_WIDE)
				n = wide_len[from++];
			if (j == p)
				return { at, n };
			at += n;
		}
	}
	__device__ kht_span span(K key) const
	{
		K x = kht_mix(key, seed);

		for (const bucket *b = buckets + kht_reduce(x, n_buckets);; b++) {
			uint64_t lo = *(const uint64_t *)(b->len);
			uint32_t hi = 0;
			if (bucket::SLOTS == 6)
				lo &= (UINT64_C(1) << 48) - 1;
			else
				lo = (uint64_t)((const uint32_t *)b->len)[1] << 32 |
				     ((const uint32_t *)b->len)[0],
				hi = ((const uint32_t *)b->len)[2];
			for (int p = 0; p < bucket::SLOTS && b->len[p]; p++)
				if (b->key[p] == x)
					return list(b->base, lo, hi, p);
			if (!b->len[bucket::SLOTS - 1] || b->key[bucket::SLOTS - 1] > x)
				return { 0, 0 };
		}
	}
	template <class F> __device__ uint32_t each(const kht_group &g, K key, F f) const
	{
		return kht_span_each(g, values, span(key), f);
	}
};

/* --- sorted keys: sorted.cu ------------------------------------------------------- */

template <class K, class V> struct kht_sorted_view {
	typedef K key_type;
	typedef V value_type;
	const K *keys;
	const V *values;
	uint32_t n;
	unsigned group;

	__device__ uint32_t below(K key, bool or_equal) const
	{
		uint32_t from = 0, to = n;

		while (from < to) {
			uint32_t mid = from + (to - from) / 2;
			if (keys[mid] < key || (or_equal && keys[mid] == key))
				from = mid + 1;
			else
				to = mid;
		}
		return from;
	}
	__device__ kht_span span(K key) const
	{
		uint32_t from = below(key, false);

		if (from == n || keys[from] != key)
			return { from, 0 };
		return { from, below(key, true) - from };
	}
	template <class F> __device__ uint32_t each(const kht_group &g, K key, F f) const
	{
		return kht_span_each(g, values, span(key), f);
	}
};

/* --- HashGraph: hashgraph.cu ------------------------------------------------------ */

/* Pairs of hash value h: offset[h] up to offset[h + 1]; keys are kept as their mixes. */
template <class K, class V> struct kht_hashgraph_view {
	typedef K key_type;
	typedef V value_type;
	const uint32_t *offset;
	const K *keys;
	const V *values;
	uint32_t range; /* of all GPUs that share the table */
	uint64_t seed;
	unsigned group;
	uint32_t skip; /* rows of the GPUs before this one */

	__device__ uint32_t row(K x) const { return kht_reduce(x, range) - skip; }
	template <class F> __device__ uint32_t each(const kht_group &g, K key, F f) const
	{
		return each_mix(g, kht_mix(key, seed), f);
	}
	template <class F> __device__ uint32_t each_mix(const kht_group &g, K x, F f) const
	{
		uint32_t h = row(x), from = offset[h], to = offset[h + 1], n = 0;

		for (uint32_t i = from; i < to; i += g.size) {
			bool hit = i + g.lane < to && keys[i + g.lane] == x;
			unsigned all = g.ballot(hit);

			if (hit)
				f(n + __popc(all & ((1u << g.lane) - 1)), values[i + g.lane]);
			n += __popc(all);
		}
		return n;
	}
};

/* --- WarpCore MultiValue and SingleValue: multi.cu, single.cu --------------------- */

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

/* --- 64-byte buckets: bucket64.cu ------------------------------------------------- */

/* A slot has the mix of a key; EMPTY as in slots.cuh.  Pairs of 64 bits are packed,
 * eight a bucket; wider ones take 16 bytes, and keys there 64 bits, four a bucket. */
template <class K, class V> struct kht_bucket64_view {
	typedef K key_type;
	typedef V value_type;
	static constexpr bool narrow = sizeof(K) == 4 && sizeof(V) == 4;
	static constexpr int SLOTS = narrow ? 8 : 4;
	uint4 *buckets;   /* four make one */
	kht_side<V> side; /* the key whose mix is EMPTY */
	uint32_t n;
	uint64_t seed;
	unsigned group;

	/* Where a full bucket sends a key: a step of its own, short, so that a partition stays
	 * together; n is a prime, so every bucket is met. */
	__device__ uint32_t step(K x) const
	{
		return 1 + kht_reduce(kht_mix2(x, seed), n > 1024 ? 1024 : n > 1 ? n - 1 : 1);
	}
	__device__ uint32_t next(uint32_t b, K x) const
	{
		uint64_t to = (uint64_t)b + step(x);

		return (uint32_t)(to < n ? to : to - n);
	}
	__device__ bool is_mark(K x) const
	{
		return (narrow || sizeof(K) == 8) && x == kht_mark<K>::EMPTY;
	}
	/* Slot s of bucket b: true if it is used; key and value. */
	__device__ bool slot(uint32_t b, int s, K &k, V &v) const
	{
		const uint64_t *p = (const uint64_t *)(buckets + 4 * (size_t)b);

		if (narrow) {
			k = (K)p[s];
			v = (V)(p[s] >> 32);
			return k != kht_mark<K>::EMPTY;
		}
		k = (K)p[2 * s];
		v = (V)p[2 * s + 1];
		return p[2 * s] != ~UINT64_C(0);
	}
	template <class F> __device__ uint32_t each(const kht_group &g, K key, F f) const
	{
		K x = kht_mix(key, seed), k;
		V v;

		if (is_mark(x)) {
			if (side.size(0) && g.lane == 0)
				f(0, side.list(0)[0]);
			return (uint32_t)side.size(0);
		}
		uint32_t b = kht_reduce(x, n);
		for (uint32_t i = 0; i < n; i++, b = next(b, x))
			for (int s = 0; s < SLOTS; s++) {
				if (!slot(b, s, k, v))
					return 0;
				if (k != x)
					continue;
				if (g.lane == 0)
					f(0, v);
				return 1;
			}
		return 0;
	}
};

/* --- WarpCore BucketList: bucketlist.cu ------------------------------------------- */

/* A handle: state in bits 62-63, values in 32-61, index of the tail bucket in 0-31. */
enum kht_list_state { KHT_LIST_NONE, KHT_LIST_BLOCKED, KHT_LIST_READY, KHT_LIST_FULL };

static KH_HD uint64_t kht_handle(kht_list_state state, uint32_t count, uint32_t tail)
{
	return (uint64_t)state << 62 | (uint64_t)count << 32 | tail;
}
static KH_HD kht_list_state kht_handle_state(uint64_t h) { return (kht_list_state)(h >> 62); }
static KH_HD uint32_t kht_handle_count(uint64_t h) { return (uint32_t)(h >> 32) & 0x3fffffff; }
static KH_HD uint32_t kht_handle_tail(uint64_t h) { return (uint32_t)h; }

/* sum[i]: values in buckets 0 .. i.  Beyond the last of them all buckets are `last`
 * long. */
#define KHT_GROWTH 192
struct kht_growth {
	const uint32_t *sum;
	uint32_t last;

	/* The bucket that value number k lies in, and its place there. */
	__device__ uint32_t level(uint32_t k, uint32_t &place) const
	{
		uint32_t from = 0, to = KHT_GROWTH;

		while (from < to) {
			uint32_t mid = from + (to - from) / 2;
			if (sum[mid] <= k)
				from = mid + 1;
			else
				to = mid;
		}
		if (from == KHT_GROWTH) {
			place = (k - sum[KHT_GROWTH - 1]) % last;
			return from + (k - sum[KHT_GROWTH - 1]) / last;
		}
		place = k - (from ? sum[from - 1] : 0);
		return from;
	}
	__device__ uint32_t size(uint32_t level) const
	{
		return level == 0           ? sum[0]
		       : level < KHT_GROWTH ? sum[level] - sum[level - 1]
					    : last;
	}
};

template <class K, class V> struct kht_bucketlist_view {
	typedef K key_type;
	typedef V value_type;
	kht_tally<K> slots;      /* key, handle */
	kht_side<uint64_t> side; /* handles of the two mark keys */
	kht_cops cops;
	kht_growth growth;
	V *pool; /* a bucket but the first has the previous one's index first */
	unsigned group;

	template <class F> __device__ uint32_t each(const kht_group &g, K key, F f) const
	{
		int m = kht_mark<K>::of(key);
		size_t at = m >= 0 ? 0 : kht_slot_find<false>(slots, cops, g, key);

		if (at == ~(size_t)0)
			return 0;
		uint64_t h = m >= 0 ? side.list(m)[0] : slots.value(at);
		uint32_t n = kht_handle_count(h), tail = kht_handle_tail(h), place;
		if (n == 0)
			return 0;
		uint32_t level = growth.level(n - 1, place), used = place + 1, first = n - used;
		for (;; level--) {
			const V *b = pool + tail + (level > 0);
			for (uint32_t i = g.lane; i < used; i += g.size)
				f(first + i, b[i]);
			if (level == 0)
				return n;
			tail = (uint32_t)pool[tail];
			used = growth.size(level - 1);
			first -= used;
		}
	}
};

#endif
