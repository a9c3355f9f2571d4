/*
 * slots.cuh - the three slot layouts of WarpCore (IV-B1) and its probing scheme (IV-B2)
 *
 * A key slot is a key, or EMPTY (never used), or TOMB (erased).  Packed pairs are set by
 * one CAS; the others by a CAS of the key, then a store of the value.
 * Pairs whose key is one of the two marks lie in side lists, one a mark.
 *
 * COPS: linear inside a window, double hashing between windows.  The number of windows is
 * a prime, so the sequence visits each once; groups of any size up to the window see the
 * slots in one order, so they may be mixed.
 */
#ifndef KHT_SLOTS_CUH
#define KHT_SLOTS_CUH

#include "cuda/tables/views.cuh"
#include "cuda/tables/hash.cuh"
#include "cuda/tables/host.cuh"

template <class K> struct kht_mark {
	static constexpr K EMPTY = (K) ~(K)0;
	static constexpr K TOMB = (K) ~(K)1;
	/* 0 or 1: which mark; -1: an ordinary key. */
	static __device__ int of(K k) { return k >= TOMB ? (int)(EMPTY - k) : -1; }
};

static __device__ __forceinline__ uint32_t kht_cas(uint32_t *p, uint32_t a, uint32_t b)
{
	return atomicCAS(p, a, b);
}

static __device__ __forceinline__ uint64_t kht_cas(uint64_t *p, uint64_t a, uint64_t b)
{
	return atomicCAS((unsigned long long *)p, a, b);
}

struct kht_packed {
	typedef uint32_t key_type, value_type;
	uint64_t *slot;

	int take(kht_table *t, size_t n, kht_stream s, kh_err *e)
	{
		return kht_take(t, &slot, n, 0xff, s, e);
	}
	/* fresh() also sees what other threads have just written. */
	__device__ uint32_t fresh(size_t i) const { return (uint32_t)__ldcg(slot + i); }
	__device__ uint32_t key(size_t i) const { return (uint32_t)slot[i]; }
	__device__ uint32_t value(size_t i) const { return (uint32_t)(slot[i] >> 32); }
	/* Returns the key that was there: `expect` if the slot is now ours. */
	__device__ uint32_t claim(size_t i, uint32_t expect, uint32_t k, uint32_t v) const
	{
		uint64_t mine = (uint64_t)v << 32 | k;
		uint64_t old =
			expect == kht_mark<uint32_t>::EMPTY ? ~UINT64_C(0) : __ldcg(slot + i);

		while ((uint32_t)old == expect) {
			uint64_t seen = kht_cas(slot + i, old, mine);
			if (seen == old)
				return expect;
			old = seen;
		}
		return (uint32_t)old;
	}
	__device__ void set(size_t i, uint32_t v) const { ((uint32_t *)(slot + i))[1] = v; }
	__device__ void wipe(size_t i) const { *(uint32_t *)(slot + i) = kht_mark<uint32_t>::TOMB; }
	__device__ void reset(size_t i) const { slot[i] = ~UINT64_C(0); }
};

template <class K, class V> struct kht_aos {
	typedef K key_type;
	typedef V value_type;
	struct pair {
		K k;
		V v;
	} * slot;

	int take(kht_table *t, size_t n, kht_stream s, kh_err *e)
	{
		return kht_take(t, &slot, n, 0xff, s, e);
	}
	__device__ K fresh(size_t i) const { return __ldcg(&slot[i].k); }
	__device__ K key(size_t i) const { return slot[i].k; }
	__device__ V value(size_t i) const { return slot[i].v; }
	__device__ K claim(size_t i, K expect, K k, V v) const
	{
		K old = kht_cas(&slot[i].k, expect, k);
		if (old == expect)
			slot[i].v = v;
		return old;
	}
	__device__ void set(size_t i, V v) const { slot[i].v = v; }
	__device__ void wipe(size_t i) const { slot[i].k = kht_mark<K>::TOMB; }
	__device__ void reset(size_t i) const { slot[i].k = kht_mark<K>::EMPTY; }
};

template <class K, class V> struct kht_soa {
	typedef K key_type;
	typedef V value_type;
	K *k;
	V *v;

	int take(kht_table *t, size_t n, kht_stream s, kh_err *e)
	{
		int rc = kht_take(t, &k, n, 0xff, s, e);
		return rc ? rc : kht_take(t, &v, n, 0, s, e);
	}
	__device__ K fresh(size_t i) const { return __ldcg(k + i); }
	__device__ K key(size_t i) const { return k[i]; }
	__device__ V value(size_t i) const { return v[i]; }
	__device__ K claim(size_t i, K expect, K key, V value) const
	{
		K old = kht_cas(k + i, expect, key);
		if (old == expect)
			v[i] = value;
		return old;
	}
	__device__ void set(size_t i, V value) const { v[i] = value; }
	__device__ void wipe(size_t i) const { k[i] = kht_mark<K>::TOMB; }
};

/* Keys alone: a set. */
template <class K> struct kht_bare {
	typedef K key_type;
	typedef uint32_t value_type;
	K *k;

	int take(kht_table *t, size_t n, kht_stream s, kh_err *e)
	{
		return kht_take(t, &k, n, 0xff, s, e);
	}
	__device__ K fresh(size_t i) const { return __ldcg(k + i); }
	__device__ K key(size_t i) const { return k[i]; }
	__device__ uint32_t value(size_t) const { return 1; }
	__device__ K claim(size_t i, K expect, K key, uint32_t) const
	{
		return kht_cas(k + i, expect, key);
	}
	__device__ void set(size_t, uint32_t) const {}
	__device__ void wipe(size_t i) const { k[i] = kht_mark<K>::TOMB; }
};

/* A key and a word that starts at 0 and that atomics change: a count, a list's handle. */
template <class K> struct kht_tally {
	typedef K key_type;
	typedef uint64_t value_type;
	struct pair {
		K k;
		uint64_t v;
	} * slot;

	int take(kht_table *t, size_t n, kht_stream s, kh_err *e)
	{
		int rc = kht_take(t, &slot, n, 0, s, e);
		return rc ? rc
			  : kht_cuda(cudaMemset2DAsync(slot, sizeof(pair), 0xff, sizeof(K), n, s),
				     "clearing a table", e);
	}
	__device__ K fresh(size_t i) const { return __ldcg(&slot[i].k); }
	__device__ K key(size_t i) const { return slot[i].k; }
	__device__ uint64_t value(size_t i) const { return slot[i].v; }
	__device__ K claim(size_t i, K expect, K k, uint64_t) const
	{
		return kht_cas(&slot[i].k, expect, k);
	}
};

/* Values of the two mark keys: side[m * room ..], note[KHT_NOTE_SIDE + m] of them. */
template <class V> struct kht_side {
	V *values;
	unsigned long long *note;
	uint64_t room;

	int take(kht_table *t, uint64_t n, kht_stream s, kh_err *e)
	{
		room = n;
		note = t->note;
		return kht_take(t, &values, 2 * n, 0, s, e);
	}
	__device__ void push(int m, V v) const
	{
		uint64_t i = atomicAdd(note + KHT_NOTE_SIDE + m, 1ull);
		if (i < room)
			values[m * room + i] = v;
		else
			atomicAdd(note + KHT_NOTE_FAILED, 1ull);
	}
	/* Stores a single value, in place of an earlier one. */
	__device__ void put(int m, V v) const
	{
		values[m * room] = v;
		atomicExch(note + KHT_NOTE_SIDE + m, 1ull);
	}
	__device__ void drop(int m) const { atomicExch(note + KHT_NOTE_SIDE + m, 0ull); }
	__device__ uint64_t size(int m) const
	{
		uint64_t n = note[KHT_NOTE_SIDE + m];
		return n < room ? n : room;
	}
	__device__ const V *list(int m) const { return values + m * room; }
};

/* The order in which a key's slots are looked at. */
struct kht_cops {
	uint32_t windows; /* a prime */
	uint32_t window;  /* slots */
	uint64_t seed;

	struct walk {
		uint64_t key, at, step; /* step 0: not asked for yet */
	};
	template <class K> __device__ walk start(K key) const
	{
		return { key, (uint32_t)kht_mix(key, seed) % windows, 0 };
	}
	__device__ void next(walk &w) const
	{
		if (w.step == 0 && windows > 1)
			w.step = 1 + kht_mix2(w.key, seed) % (windows - 1);
		w.at += w.step;
		if (w.at >= windows)
			w.at -= windows;
	}
	uint64_t slots() const { return (uint64_t)windows * window; }
	static kht_cops make(const kht_table_config *c, uint64_t pairs, unsigned group)
	{
		kht_cops p;
		p.window = c->window > group ? c->window : group;
		p.windows = kht_next_prime((uint64_t)(pairs / c->load / p.window) + 1);
		p.seed = c->seed;
		return p;
	}
};

/* Finds the key's slot; all lanes get it, or ~0.  FRESH: while others insert. */
template <bool FRESH, class S, class K>
static __device__ size_t kht_slot_find(const S &s, const kht_cops &cops, const kht_group &g, K key)
{
	kht_cops::walk w = cops.start(key);

	for (uint32_t i = 0; i < cops.windows; i++, cops.next(w))
		for (uint32_t j = 0; j < cops.window; j += g.size) {
			size_t at = w.at * cops.window + j;
			K k = FRESH ? s.fresh(at + g.lane) : s.key(at + g.lane);
			unsigned hit = g.ballot(k == key);

			if (hit)
				return at + __ffs(hit) - 1;
			if (g.ballot(k == kht_mark<K>::EMPTY))
				return ~(size_t)0;
		}
	return ~(size_t)0;
}

struct kht_placed {
	size_t slot; /* ~0: full */
	bool made;   /* the key is new */
};

/* Finds the key's slot or claims one for it, a tombstone's if there is one on the way. */
template <class S, class K, class V>
static __device__ kht_placed kht_slot_claim(const S &s, const kht_cops &cops, const kht_group &g,
					    K key, V value)
{
	const size_t NONE = ~(size_t)0;
again:
	kht_cops::walk w = cops.start(key);
	size_t tomb = NONE;

	for (uint32_t i = 0; i < cops.windows; i++, cops.next(w))
		for (uint32_t j = 0; j < cops.window;) {
			size_t at = w.at * cops.window + j;
			K k = s.fresh(at + g.lane);
			unsigned hit = g.ballot(k == key), open = g.ballot(k >= kht_mark<K>::TOMB);

			if (hit)
				return { at + __ffs(hit) - 1, false };
			if (!open) {
				j += g.size;
				continue;
			}
			unsigned empty = g.ballot(k == kht_mark<K>::EMPTY), dead = open & ~empty;
			if (dead && tomb == NONE)
				tomb = at + __ffs(dead) - 1;
			if (!empty) {
				j += g.size;
				continue;
			}
			size_t to = tomb != NONE ? tomb : at + __ffs(empty) - 1;
			K want = tomb != NONE ? kht_mark<K>::TOMB : kht_mark<K>::EMPTY, old = 0;
			if (g.lane == 0)
				old = s.claim(to, want, key, value);
			old = g.from(old, 0);
			if (old == want || old == key)
				return { to, old == want };
			if (tomb != NONE)
				goto again; /* another thread may have inserted the key meanwhile */
		}
	if (tomb != NONE) {
		K old = 0;
		if (g.lane == 0)
			old = s.claim(tomb, kht_mark<K>::TOMB, key, value);
		old = g.from(old, 0);
		if (old == kht_mark<K>::TOMB || old == key)
			return { tomb, old != key };
		goto again;
	}
	return { NONE, false };
}

#endif
