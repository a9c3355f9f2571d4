/*
 * runlist.cuh - the view of runlist.cu: slots in the order of mixes, and lists in a few pieces
 *
 * A slot has a key's mix and a handle: the list's length above, and where its last piece begins in
 * `values`, below.  The first piece is as long as the first run of the key was.  Each later
 * one begins with a head: where the piece before begins, and how many values are before it.
 */
#ifndef KHT_RUNLIST_CUH
#define KHT_RUNLIST_CUH

#include "cuda/tables/slots.cuh"
#include "cuda/tables/views.cuh"

#define KHT_LATER UINT32_C(0x80000000) /* of a place: a piece with a head */
#define KHT_EXACT UINT32_C(0x80000000) /* of `before`: the piece is full */

struct kht_piece {
	uint32_t previous, before;

	/* Values that a piece has room for: half as many as are before it, unless it is exact. */
	__host__ __device__ static uint32_t room(uint32_t before) { return before / 2 + 2; }
};

template <class K, class V> struct kht_runlist_view {
	typedef K key_type;
	typedef V value_type;
	static constexpr uint32_t HEAD = sizeof(kht_piece) / sizeof(V);
	static constexpr size_t NONE = ~(size_t)0;

	kht_tally<K> slots; /* mix, handle; one more than `n`, for the mix that marks free slots */
	uint32_t n;
	V *values;
	uint64_t seed;
	unsigned group;

	/* The slot of mix x; CLAIM: it is made if there is none. */
	template <bool CLAIM> __device__ size_t slot(K x) const
	{
		const K EMPTY = kht_mark<K>::EMPTY;
		uint32_t at = kht_reduce(x, n);

		if (x == EMPTY)
			return n;
		for (uint32_t i = 0; i < n; i++, at = at + 1 < n ? at + 1 : 0) {
			K k = CLAIM ? slots.fresh(at) : slots.key(at);

			if (CLAIM && k == EMPTY)
				k = slots.claim(at, EMPTY, x, 0);
			if (k == x || (CLAIM && k == EMPTY))
				return at;
			if (k == EMPTY)
				return NONE;
		}
		return NONE;
	}
	__device__ kht_piece head(uint32_t place) const
	{
		const uint32_t *p = (const uint32_t *)(values + (place & ~KHT_LATER));

		return { __ldcg(p), __ldcg(p + 1) };
	}
	/* A list as its handle has it: for pieces() alone. */
	__device__ kht_span span(K key) const
	{
		size_t at = slot<false>(kht_mix(key, seed));
		uint64_t h = at == NONE ? 0 : slots.value(at);

		return { (uint32_t)h, (uint32_t)(h >> 32) };
	}
	/* Calls f(number of its first value, where that is, length) for each piece. */
	template <class F> __device__ void pieces(kht_span s, F f) const
	{
		uint32_t place = s.start, end = s.len;

		while (place & KHT_LATER) {
			kht_piece h = head(place);
			uint32_t before = h.before & ~KHT_EXACT;

			f(before, (place & ~KHT_LATER) + HEAD, end - before);
			place = h.previous;
			end = before;
		}
		f(0, place, end);
	}
	template <class F> __device__ uint32_t each(const kht_group &g, K key, F f) const
	{
		kht_span s = span(key);

		pieces(s, [&](uint32_t first, uint32_t start, uint32_t len) {
			for (uint32_t i = g.lane; i < len; i += g.size)
				f(first + i, values[(size_t)start + i]);
		});
		return s.len;
	}
};

#endif
