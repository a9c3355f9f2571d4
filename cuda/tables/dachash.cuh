/*
 * dachash.cuh - the device side of DACHash: chains of super nodes and their stack
 *
 * dachash.cu has the source and the departures.
 */
#ifndef KHT_DACHASH_CUH
#define KHT_DACHASH_CUH

#include "cuda/tables/slots.cuh"

#define NO_NODE 0u          /* node 0 is a bucket's own: never a next one */
#define LINKING 0xffffffffu /* a next one is being fetched */

template <class S> struct dac_view {
	typedef typename S::key_type key_type;
	typedef typename S::value_type value_type;
	typedef key_type K;
	typedef value_type V;
	S slots;
	kht_side<V> side;
	uint32_t *next, *stack;
	unsigned long long *note; /* KHT_NOTE_A: nodes on the stack */
	uint32_t buckets, node;
	uint64_t seed;
	unsigned group;

	__device__ uint32_t bucket(K key) const { return kht_reduce(kht_mix(key, seed), buckets); }

	/* --- the stack of nodes --- */
	/* Pops and pushes are never in one kernel: see the departures. */
	__device__ uint32_t pop() const
	{
		long long t = (long long)atomicAdd(note + KHT_NOTE_A, ~0ull);

		if (t > 0)
			return stack[t - 1];
		atomicAdd(note + KHT_NOTE_A, 1ull);
		return NO_NODE;
	}
	__device__ void push(uint32_t n) const { stack[atomicAdd(note + KHT_NOTE_A, 1ull)] = n; }

	/* The node behind n; if there is none, one is linked.  NO_NODE: the stack is empty. */
	__device__ uint32_t after(uint32_t n) const
	{
		for (uint32_t x = __ldcg(next + n);;) {
			if (x == LINKING) {
				__nanosleep(32);
				x = __ldcg(next + n);
				continue;
			}
			if (x != NO_NODE)
				return x;
			x = atomicCAS(next + n, NO_NODE, LINKING);
			if (x == NO_NODE) {
				x = pop();
				atomicExch(next + n, x);
				return x;
			}
		}
	}
	/* The same for readers, to which a node that is still being linked does not exist. */
	__device__ uint32_t behind(uint32_t n) const
	{
		uint32_t x = __ldcg(next + n);

		return x == LINKING ? NO_NODE : x;
	}

	/* --- one thread --- */
	/* Slot of the key; ~0: absent. */
	__device__ size_t find(K key) const
	{
		const size_t NONE = ~(size_t)0;

		for (uint32_t n = bucket(key);;) {
			size_t at = (size_t)n * node;
			for (uint32_t p = 0; p < node; p++) {
				K k = slots.fresh(at + p);
				if (k == key)
					return at + p;
				if (k == kht_mark<K>::EMPTY)
					return NONE;
			}
			n = behind(n);
			if (n == NO_NODE)
				return NONE;
		}
	}
	__device__ bool put(K key, V v) const
	{
		for (uint32_t n = bucket(key);;) {
			size_t at = (size_t)n * node;
			for (uint32_t p = 0; p < node; p++) {
				K k = slots.fresh(at + p);
				if (k == kht_mark<K>::EMPTY) {
					k = slots.claim(at + p, k, key, v);
					if (k == kht_mark<K>::EMPTY)
						return true;
				}
				if (k == key) {
					slots.set(at + p, v);
					return true;
				}
			}
			n = after(n);
			if (n == NO_NODE)
				return false;
		}
	}
	__device__ bool search(K key, V &v) const;

	/* --- a tile as wide as a node --- */
	__device__ size_t find(const kht_group &g, K key) const
	{
		for (uint32_t n = bucket(key);;) {
			size_t at = (size_t)n * node;
			K k = slots.fresh(at + g.lane);
			unsigned hit = g.ballot(k == key);

			if (hit)
				return at + __ffs(hit) - 1;
			if (g.ballot(k == kht_mark<K>::EMPTY))
				return ~(size_t)0;
			/* One lane reads the link: while others insert, two reads may differ. */
			if (g.lane == 0)
				n = behind(n);
			n = g.from(n, 0);
			if (n == NO_NODE)
				return ~(size_t)0;
		}
	}
	__device__ bool put(const kht_group &g, K key, V v) const
	{
		for (uint32_t n = bucket(key);;) {
			size_t at = (size_t)n * node;
			K k = slots.fresh(at + g.lane);
			unsigned hit = g.ballot(k == key), open = g.ballot(k == kht_mark<K>::EMPTY);

			if (!hit && open) {
				unsigned r = __ffs(open) - 1;
				if (g.lane == r)
					k = slots.claim(at + r, kht_mark<K>::EMPTY, key, v);
				k = g.from(k, r);
				if (k == kht_mark<K>::EMPTY)
					return true;
				hit = k == key ? 1u << r : 0;
				if (!hit)
					continue;
			}
			if (hit) {
				if (g.lane == (unsigned)__ffs(hit) - 1)
					slots.set(at + g.lane, v);
				return true;
			}
			uint32_t to = 0;
			if (g.lane == 0)
				to = after(n);
			to = g.from(to, 0);
			if (to == NO_NODE)
				return false;
			n = to;
		}
	}
	template <class F> __device__ uint32_t each(const kht_group &g, K key, F f) const
	{
		int m = kht_mark<K>::of(key);
		bool hit;
		V v = 0;

		if (m >= 0) {
			hit = side.size(m) > 0;
			v = side.list(m)[0];
		} else {
			hit = search(key, v);
		}
		if (hit && g.lane == 0)
			f(0, v);
		return hit;
	}
};

template <class S> __device__ bool dac_view<S>::search(K key, V &v) const
{
	size_t at = find(key);

	if (at == ~(size_t)0)
		return false;
	v = slots.value(at);
	return true;
}

/* Packed pairs, four at a time: a node's 32-byte sectors one after the other. */
template <> inline __device__ bool dac_view<kht_packed>::search(uint32_t key, uint32_t &v) const
{
	if (node % 4) {
		size_t at = find(key);
		if (at == ~(size_t)0)
			return false;
		v = slots.value(at);
		return true;
	}
	for (uint32_t n = bucket(key);;) {
		const uint4 *p = (const uint4 *)(slots.slot + (size_t)n * node);
		for (uint32_t j = 0; j < node / 2; j += 2) {
			uint4 a = __ldcg(p + j), b = __ldcg(p + j + 1);
			bool hit = a.x == key || a.z == key || b.x == key || b.z == key;

			v = a.x == key ? a.y : a.z == key ? a.w : b.x == key ? b.y : b.w;
			if (hit)
				return true;
			if (b.z == kht_mark<uint32_t>::EMPTY) /* slots fill in order */
				return false;
		}
		n = behind(n);
		if (n == NO_NODE)
			return false;
	}
}

/* Improved search, packed nodes of 8: a quad reads a node, four chains in flight a
 * lane. */
static __global__ void __launch_bounds__(KHT_PROBE_BLOCK)
	search_quads(dac_view<kht_packed> w, kht_keys q, kht_found out)
{
	size_t i = kht_thread_id();
	bool mine = i < q.n, todo = mine, found = false;
	uint32_t key = mine ? ((const uint32_t *)q.keys)[i] : 0, at = w.bucket(key);
	uint32_t v = (uint32_t)out.missing;
	int lane = threadIdx.x & 3, m = kht_mark<uint32_t>::of(key);
	const uint4 *node = (const uint4 *)w.slots.slot + lane;
	uint4 b[4] = {};

	if (mine && m >= 0)
		todo = false;
	while (__any_sync(KHT_FULL, todo)) {
#pragma unroll
		for (int r = 0; r < 4; r++) {
			uint32_t to = kht_quad(at, r);
			if (kht_quad((int)todo, r))
				b[r] = __ldcg(node + 4 * (size_t)to);
		}
#pragma unroll
		for (int r = 0; r < 4; r++) {
			uint32_t k = kht_quad(key, r);
			unsigned hit = kht_quad_ballot(b[r].x == k || b[r].z == k);
			uint32_t got =
				kht_quad(b[r].x == k ? b[r].y : b[r].w, hit ? __ffs(hit) - 1 : 0);
			uint32_t last = kht_quad(b[r].z, 3);

			if (lane != r || !todo)
				continue;
			found = hit != 0;
			v = found ? got : v;
			at = found || last == kht_mark<uint32_t>::EMPTY ? NO_NODE : w.behind(at);
			todo = at != NO_NODE;
		}
	}
	if (!mine)
		return;
	if (m >= 0) {
		found = w.side.size(m) > 0;
		v = found ? w.side.list(m)[0] : v;
	}
	((uint32_t *)out.values)[i] = v;
	if (out.found)
		out.found[i] = found;
}

#endif
