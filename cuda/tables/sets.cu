/*
 * sets.cu - row 8: WarpCore's HashSet, CountingHashTable and BloomFilter
 *
 * The set and the counter are open addressing (IV-B) with no value and with a count.  The
 * Bloom filter is blocked: a key's bits lie in one 32-byte sector, so that a query is one
 * read.  Found values: 1 for the set and the filter, the count for the counter.
 */
#include "open_addressing.cuh"
#include "systems.h"

/* --- HashSet ---------------------------------------------------------------------- */

template <class K> struct hashset : kh_open_table<kh_bare<K>, false> {
	int insert(const kh_kv *p, kh_stream s, kh_err *err)
	{
		kh_kv keys = { p->keys, nullptr, p->n };
		return kh_open_table<kh_bare<K>, false>::insert(&keys, s, err);
	}
};

template <class K, class V>
static int open_hashset(const kh_table_config *c, kh_stream s, kh_table **out,
			kh_err *err)
{
	typedef hashset<K> T;
	typedef kh_bind<T> B;
	static const kh_table_fn fn = { B::insert, B::find,  B::count, nullptr,
					nullptr,   nullptr,  B::erase, nullptr,
					nullptr,   B::stats, B::view };
	kh_table_config d = *c;
	T *t = kh_table_make<T>();

	*out = t;
	if (sizeof(V) != 4)
		return kh_fail(err, KH_EUSAGE, "a set's values are 32 bits");
	d.window = d.window ? d.window : 8;
	return kh_open_addressing(t, &fn, &d, 4, 4, s, err);
}

int kh_hashset_open(const kh_table_config *c, kh_stream s, kh_table **t, kh_err *err)
{
	return KH_DISPATCH(open_hashset, c, c, s, t, err);
}

/* --- Counting --------------------------------------------------------------------- */

template <class K>
static __global__ void count_up(kh_slots_view<kh_tally<K>, false> w, const K *keys,
				size_t n, unsigned long long *note)
{
	kh_group g(w.group);
	size_t i = kh_group_id(w.group);

	if (i >= n)
		return;
	K key = keys[i];
	int m = kh_mark<K>::of(key);
	if (m >= 0) {
		if (g.rank == 0) {
			atomicAdd((unsigned long long *)w.side.values + m, 1ull);
			atomicExch(note + KH_NOTE_SIDE + m, 1ull);
		}
		return;
	}
	kh_placed to = kh_slot_claim(w.slots, w.cops, g, key, UINT64_C(0));
	if (g.rank != 0)
		return;
	if (to.slot != ~(size_t)0)
		atomicAdd((unsigned long long *)&w.slots.slot[to.slot].v, 1ull);
	else
		atomicAdd(note + KH_NOTE_FAILED, 1ull);
}

/* Counts of keys as 32-bit values, saturating: what both find and count ask for. */
template <class K>
static __global__ void count_of(kh_slots_view<kh_tally<K>, false> w, kh_keys q,
				kh_found out, uint32_t *counts)
{
	kh_group g(w.group);
	size_t i = kh_group_id(w.group);
	uint64_t c = 0;

	if (i >= q.n)
		return;
	w.each(g, ((const K *)q.keys)[i], [&](uint32_t, uint64_t v) { c = v; });
	if (g.rank != 0)
		return;
	uint32_t v = c < UINT32_MAX ? (uint32_t)c : UINT32_MAX;
	if (counts)
		counts[i] = v;
	if (out.values)
		((uint32_t *)out.values)[i] = c ? v : (uint32_t)out.missing;
	if (out.found)
		out.found[i] = c != 0;
}

template <class K> struct counting : kh_open_table<kh_tally<K>, false> {
	int insert(const kh_kv *p, kh_stream s, kh_err *err)
	{
		if (p->n == 0)
			return KH_OK;
		count_up<K><<<kh_blocks(p->n * this->group), KH_BLOCK, 0, s>>>(
			this->view(), (const K *)p->keys, p->n, this->note);
		return kh_launched("insert", err);
	}
	int look(const kh_keys *q, const kh_found *o, uint32_t *c, kh_stream s,
		 kh_err *err)
	{
		count_of<K><<<kh_blocks(q->n * this->group), KH_BLOCK, 0, s>>>(
			this->view(), *q, *o, c);
		return kh_launched("find", err);
	}
	int find(const kh_keys *q, const kh_found *o, kh_stream s, kh_err *err)
	{
		return look(q, o, nullptr, s, err);
	}
	int count(const kh_keys *q, uint32_t *c, kh_stream s, kh_err *err)
	{
		kh_found none = { nullptr, nullptr, 0 };
		return look(q, &none, c, s, err);
	}
};

template <class K, class V>
static int open_counting(const kh_table_config *c, kh_stream s, kh_table **out,
			 kh_err *err)
{
	typedef counting<K> T;
	typedef kh_bind<T> B;
	static const kh_table_fn fn = { B::insert, B::find,  B::count, nullptr,
					nullptr,   nullptr,  nullptr,  nullptr,
					nullptr,   B::stats, B::view };
	kh_table_config d = *c;
	T *t = kh_table_make<T>();

	*out = t;
	if (sizeof(V) != 4)
		return kh_fail(err, KH_EUSAGE, "counts are found as 32-bit values");
	d.window = d.window ? d.window : 8;
	return kh_open_addressing(t, &fn, &d, 4, 4, s, err);
}

int kh_counting_open(const kh_table_config *c, kh_stream s, kh_table **t, kh_err *err)
{
	return KH_DISPATCH(open_counting, c, c, s, t, err);
}

/* --- Bloom filter ----------------------------------------------------------------- */

#define WORDS 4                         /* of 64 bits: one 32-byte sector */

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
				set[w] |= (b >> 6) == (unsigned)w
						  ? UINT64_C(1) << (b & 63)
						  : 0;
		}
		return (size_t)kh_reduce(kh_mix(key, seed), blocks) * WORDS;
	}
};

template <class K>
static __global__ void bloom_set(bloom_view<K> w, const K *keys, size_t n)
{
	size_t i = kh_thread_id();
	uint64_t set[WORDS];

	if (i >= n)
		return;
	size_t at = w.bits(keys[i], set);
	for (int j = 0; j < WORDS; j++)
		if (set[j] && (__ldcg(w.words + at + j) & set[j]) != set[j])
			atomicOr(w.words + at + j, (unsigned long long)set[j]);
}

template <class K>
static __global__ void bloom_test(bloom_view<K> w, kh_keys q, kh_found out,
				  uint32_t *counts)
{
	size_t i = kh_thread_id();
	uint64_t set[WORDS];
	bool all = true;

	if (i >= q.n)
		return;
	size_t at = w.bits(((const K *)q.keys)[i], set);
	const ulonglong2 *p = (const ulonglong2 *)(w.words + at);
	ulonglong2 a = __ldg(p), b = __ldg(p + 1);
	all = (a.x & set[0]) == set[0] && (a.y & set[1]) == set[1] &&
	      (b.x & set[2]) == set[2] && (b.y & set[3]) == set[3];
	if (counts)
		counts[i] = all;
	if (out.values)
		((uint32_t *)out.values)[i] = all ? 1 : (uint32_t)out.missing;
	if (out.found)
		out.found[i] = all;
}

static __global__ void bits_used(const unsigned long long *w, uint64_t n,
				 unsigned long long *note)
{
	uint64_t i = kh_thread_id();
	unsigned c = __reduce_add_sync(KH_FULL, i < n ? __popcll(w[i]) : 0);

	if ((threadIdx.x & 31) == 0 && c)
		atomicAdd(note + KH_NOTE_USED, (unsigned long long)c);
}

template <class K> struct bloom : kh_table {
	typedef bloom_view<K> view_type;
	unsigned long long *words;
	uint32_t blocks;

	view_type view() const { return { words, blocks, cfg.hashes, cfg.seed }; }
	int insert(const kh_kv *p, kh_stream s, kh_err *err)
	{
		if (p->n == 0)
			return KH_OK;
		bloom_set<K><<<kh_blocks(p->n), KH_BLOCK, 0, s>>>(
			view(), (const K *)p->keys, p->n);
		return kh_launched("insert", err);
	}
	int look(const kh_keys *q, const kh_found *o, uint32_t *c, kh_stream s,
		 kh_err *err)
	{
		bloom_test<K><<<kh_blocks(q->n), KH_BLOCK, 0, s>>>(view(), *q, *o, c);
		return kh_launched("find", err);
	}
	int find(const kh_keys *q, const kh_found *o, kh_stream s, kh_err *err)
	{
		return look(q, o, nullptr, s, err);
	}
	int count(const kh_keys *q, uint32_t *c, kh_stream s, kh_err *err)
	{
		kh_found none = { nullptr, nullptr, 0 };
		return look(q, &none, c, s, err);
	}
	int stats(kh_stream s, kh_table_stats *st, kh_err *err)
	{
		unsigned long long used;
		int rc = kh_cuda(cudaMemsetAsync(note + KH_NOTE_USED, 0, sizeof *note, s),
				 "stats", err);

		if (rc)
			return rc;
		bits_used<<<kh_blocks((size_t)blocks * WORDS), KH_BLOCK, 0, s>>>(
			words, (uint64_t)blocks * WORDS, note);
		if ((rc = kh_cuda(cudaMemcpyAsync(&used, note + KH_NOTE_USED, sizeof used,
						  cudaMemcpyDeviceToHost, s),
				  "stats", err)) ||
		    (rc = kh_cuda(cudaStreamSynchronize(s), "stats", err)))
			return rc;
		st->pairs = used;
		return KH_OK;
	}
};

template <class K, class V>
static int open_bloom(const kh_table_config *c, kh_stream s, kh_table **out, kh_err *err)
{
	typedef bloom<K> T;
	typedef kh_bind<T> B;
	static const kh_table_fn fn = { B::insert, B::find,  B::count, nullptr,
					nullptr,   nullptr,  nullptr,  nullptr,
					nullptr,   B::stats, B::view };
	kh_table_config d = *c;
	T *t = kh_table_make<T>();
	int rc;

	*out = t;
	if (sizeof(V) != 4)
		return kh_fail(err, KH_EUSAGE, "a filter's values are 32 bits");
	d.bits = d.bits ? d.bits : 12;
	d.hashes = d.hashes ? d.hashes : 6;
	if (d.hashes > 32 || d.bits > 1024)
		return kh_fail(err, KH_EUSAGE,
			       "%u hashes, %u bits a key: 32 and 1024 are the most",
			       d.hashes, d.bits);
	if ((rc = kh_table_init(t, &fn, &d, s, err)))
		return rc;
	t->blocks = (uint32_t)((double)d.capacity * d.bits / (64 * WORDS)) + 1;
	t->slots = (uint64_t)t->blocks * 64 * WORDS;
	return kh_take(t, &t->words, (size_t)t->blocks * WORDS, 0, s, err);
}

int kh_bloom_open(const kh_table_config *c, kh_stream s, kh_table **t, kh_err *err)
{
	return KH_DISPATCH(open_bloom, c, c, s, t, err);
}
