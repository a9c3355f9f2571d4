/*
 * open_addressing.cu - WarpCore's SingleValueHashTable and MultiValueHashTable (Juenger et al.
 * 2020, IV-B), HashSet, CountingHashTable and BloomFilter
 *
 * Open addressing with COPS, one value a key or one slot a pair, in the three layouts; insert by
 * CAS, erase by tombstone; retrieval counts, scans, copies.  open_addressing.cuh has the
 * departures.
 * The set and the counter are open addressing with no value and with a count.  The
 * Bloom filter is blocked: a key's bits lie in one 32-byte sector, so that a query is one
 * read.  Found values: 1 for the set and the filter, the count for the counter.
 */
#include "cuda/tables/open_addressing.cuh"

/* By default one lane inserts and two look up, in windows of 2: sizes of groups may differ, the
 * window is what they share. */
template <class S> struct single : kht_open_table<S, false> {
	int open(kht_stream s, kh_err *err) { return this->start(2, 1, s, err); }
};

/* By default 8 lanes, which the paper finds best up to 16 values a key. */
template <class S> struct multi : kht_open_table<S, true> {
	int open(kht_stream s, kh_err *err) { return this->start(8, 8, s, err); }
};

int kht_single_open(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	return kht_make_open<single, KHT_SINGLE_CAN>(c, s, t, err);
}

int kht_multi_open(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	return kht_make_open<multi, KHT_MULTI_CAN>(c, s, t, err);
}

/* --- sets and counters ------------------------------------------------------------ */

/* Count of a table whose look() answers find and count alike; it has no lists. */
template <class T> struct by_look {
	static int count(kht_table *t, const kht_keys *q, uint32_t *counts, kht_stream s,
			 kh_err *err)
	{
		const kht_found none = { nullptr, nullptr, 0 };

		return static_cast<T *>(t)->look(q, &none, counts, s, err);
	}
};

/* --- HashSet ---------------------------------------------------------------------- */

/* Sets and counters are probed alike. */
template <class S> struct key_slots : kht_open_table<S, false> {
	int open(kht_stream s, kh_err *err)
	{
		this->cfg.window = this->cfg.window ? this->cfg.window : 8;
		return this->start(4, 4, s, err);
	}
};

template <class K> struct hashset : key_slots<kht_bare<K>> {
	int insert(const kht_kv *p, kht_stream s, kh_err *err)
	{
		kht_kv keys = { p->keys, nullptr, p->n };
		return key_slots<kht_bare<K>>::insert(&keys, s, err);
	}
};

int kht_hashset_open(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	return kht_make_keyed<hashset, KHT_HASHSET_CAN, kht_by_view>(
		c, "a set's values are 32 bits", s, t, err);
}

/* --- Counting --------------------------------------------------------------------- */

template <class K>
static __global__ void count_up(kht_slots_view<kht_tally<K>, false> w, const K *keys, size_t n,
				unsigned long long *note)
{
	kht_group g(w.group);
	size_t i = kht_group_id(w.group);

	if (i >= n)
		return;
	K key = keys[i];
	int m = kht_mark<K>::of(key);
	if (m >= 0) {
		if (g.lane == 0) {
			atomicAdd((unsigned long long *)w.side.values + m, 1ull);
			atomicExch(note + KHT_NOTE_SIDE + m, 1ull);
		}
		return;
	}
	kht_placed to = kht_slot_claim(w.slots, w.cops, g, key, UINT64_C(0));
	if (g.lane != 0)
		return;
	if (to.slot != ~(size_t)0)
		atomicAdd((unsigned long long *)&w.slots.slot[to.slot].v, 1ull);
	else
		atomicAdd(note + KHT_NOTE_FAILED, 1ull);
}

/* Counts of keys as 32-bit values, saturating: what both find and count ask for. */
template <class K>
static __global__ void count_of(kht_slots_view<kht_tally<K>, false> w, kht_keys q, kht_found out,
				uint32_t *counts)
{
	kht_group g(w.group);
	size_t i = kht_group_id(w.group);
	uint64_t c = 0;

	if (i >= q.n)
		return;
	w.each(g, ((const K *)q.keys)[i], [&](uint32_t, uint64_t v) { c = v; });
	if (g.lane != 0)
		return;
	uint32_t v = c < UINT32_MAX ? (uint32_t)c : UINT32_MAX;
	if (counts)
		counts[i] = v;
	if (out.values)
		((uint32_t *)out.values)[i] = c ? v : (uint32_t)out.missing;
	if (out.found)
		out.found[i] = c != 0;
}

template <class K> struct counting : key_slots<kht_tally<K>> {
	int insert(const kht_kv *p, kht_stream s, kh_err *err)
	{
		count_up<K><<<kht_blocks(p->n * this->group), KHT_BLOCK, 0, s>>>(
			this->view(), (const K *)p->keys, p->n, this->note);
		return kht_launched("insert", err);
	}
	int look(const kht_keys *q, const kht_found *o, uint32_t *c, kht_stream s, kh_err *err)
	{
		count_of<K><<<kht_blocks(q->n * this->group), KHT_BLOCK, 0, s>>>(this->view(), *q,
										 *o, c);
		return kht_launched("find", err);
	}
	int find(const kht_keys *q, const kht_found *o, kht_stream s, kh_err *err)
	{
		return look(q, o, nullptr, s, err);
	}
};

int kht_counting_open(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	return kht_make_keyed<counting, KHT_COUNTING_CAN, by_look>(
		c, "counts are found as 32-bit values", s, t, err);
}

/* --- Bloom filter ----------------------------------------------------------------- */

#define WORDS 4 /* of 64 bits: one 32-byte sector */

template <class K> struct bloom_view {
	typedef K key_type;
	unsigned long long *words;
	uint32_t blocks;
	unsigned hashes;
	uint64_t seed;

	/* The bits of a key: 8 bits of a hash each choose one of the sector's 256. */
	__device__ size_t bits(K key, uint64_t *set) const
	{
		uint64_t h = kh_fmix64(key ^ ~seed);

		for (int w = 0; w < WORDS; w++)
			set[w] = 0;
		for (unsigned i = 0; i < hashes; i++) {
			if (i % 8 == 0 && i)
				h = kh_fmix64(h + i);
			unsigned b = h >> i % 8 * 8 & 255;
			for (int w = 0; w < WORDS; w++)
				set[w] |= (b >> 6) == (unsigned)w ? UINT64_C(1) << (b & 63) : 0;
		}
		return (size_t)kht_reduce(kht_mix(key, seed), blocks) * WORDS;
	}
};

template <class K> static __global__ void bloom_set(bloom_view<K> w, const K *keys, size_t n)
{
	size_t i = kht_thread_id();
	uint64_t set[WORDS];

	if (i >= n)
		return;
	size_t at = w.bits(keys[i], set);
	for (int j = 0; j < WORDS; j++)
		if (set[j] && (__ldcg(w.words + at + j) & set[j]) != set[j])
			atomicOr(w.words + at + j, (unsigned long long)set[j]);
}

template <class K>
static __global__ void bloom_test(bloom_view<K> w, kht_keys q, kht_found out, uint32_t *counts)
{
	size_t i = kht_thread_id();
	uint64_t set[WORDS];
	bool all = true;

	if (i >= q.n)
		return;
	size_t at = w.bits(((const K *)q.keys)[i], set);
	const ulonglong2 *p = (const ulonglong2 *)(w.words + at);
	ulonglong2 a = __ldg(p), b = __ldg(p + 1);
	all = (a.x & set[0]) == set[0] && (a.y & set[1]) == set[1] && (b.x & set[2]) == set[2] &&
	      (b.y & set[3]) == set[3];
	if (counts)
		counts[i] = all;
	if (out.values)
		((uint32_t *)out.values)[i] = all ? 1 : (uint32_t)out.missing;
	if (out.found)
		out.found[i] = all;
}

static __global__ void bits_used(const unsigned long long *w, uint64_t n, unsigned long long *note)
{
	uint64_t i = kht_thread_id();
	unsigned c = __reduce_add_sync(KHT_FULL, i < n ? __popcll(w[i]) : 0);

	if ((threadIdx.x & 31) == 0 && c)
		atomicAdd(note + KHT_NOTE_USED, (unsigned long long)c);
}

template <class K> struct bloom : kht_table {
	typedef bloom_view<K> view_type;
	unsigned long long *words;
	uint32_t blocks;

	view_type view() const { return { words, blocks, cfg.hashes, cfg.seed }; }
	int insert(const kht_kv *p, kht_stream s, kh_err *err)
	{
		bloom_set<K>
			<<<kht_blocks(p->n), KHT_BLOCK, 0, s>>>(view(), (const K *)p->keys, p->n);
		return kht_launched("insert", err);
	}
	int look(const kht_keys *q, const kht_found *o, uint32_t *c, kht_stream s, kh_err *err)
	{
		bloom_test<K><<<kht_blocks(q->n), KHT_BLOCK, 0, s>>>(view(), *q, *o, c);
		return kht_launched("find", err);
	}
	int find(const kht_keys *q, const kht_found *o, kht_stream s, kh_err *err)
	{
		return look(q, o, nullptr, s, err);
	}
	int used(kht_stream s, kh_err *err)
	{
		uint64_t n = (uint64_t)blocks * WORDS;

		bits_used<<<kht_blocks(n), KHT_BLOCK, 0, s>>>(words, n, note);
		return kht_launched("stats", err);
	}
	void stats(const unsigned long long *, kht_table_stats *) {}
	int open(kht_stream s, kh_err *err)
	{
		cfg.bits = cfg.bits ? cfg.bits : 12;
		cfg.hashes = cfg.hashes ? cfg.hashes : 6;
		if (cfg.hashes > 32 || cfg.bits > 1024)
			return kh_fail(err, KH_EUSAGE,
				       "%u hashes, %u bits a key: 32 and 1024 are the most",
				       cfg.hashes, cfg.bits);
		blocks = (uint32_t)((double)cfg.capacity * cfg.bits / (64 * WORDS)) + 1;
		slots = (uint64_t)blocks * 64 * WORDS;
		return kht_take(this, &words, (size_t)blocks * WORDS, 0, s, err);
	}
};

int kht_bloom_open(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	return kht_make_keyed<bloom, KHT_BLOOM_CAN, by_look>(c, "a filter's values are 32 bits", s,
							     t, err);
}
