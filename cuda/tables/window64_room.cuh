/*
 * window64_room.cuh - a window of window64 in shared memory: inserting and erasing there
 *
 * A block has the window to itself.  It reads it, changes it, and writes it back with the signs of
 * its buckets made anew from where the keys are: what was erased leaves no trace.
 *
 * Threads meet at keys by compare and swap.  While keys are only added, and each to the first free
 * slot of its bucket, equal ones meet there; those without room wait for the next choice until all
 * threads have done the one before, so that they meet again.  What then is left is few: equal ones
 * among it are found by comparing all with all, and only then keys move.
 */
#ifndef KHT_WINDOW64_ROOM_CUH
#define KHT_WINDOW64_ROOM_CUH

#include "cuda/tables/window64.cuh"

#define KHT_CHANGE_BLOCK 512
#define KHT_CHANGE_READS 4   /* of 16 bytes a thread, under way */
#define KHT_CHANGE_EACH  32  /* pairs a thread, at most, before keys are moved */
#define KHT_CHANGE_STEPS 128 /* of a key and those that it moves, before one goes to the stash */
#define KHT_NOWHERE      (~0u)

static __device__ __forceinline__ uint32_t kht_exch(uint32_t *p, uint32_t x)
{
	return atomicExch(p, x);
}

static __device__ __forceinline__ uint64_t kht_exch(uint64_t *p, uint64_t x)
{
	return atomicExch((unsigned long long *)p, (unsigned long long)x);
}

template <class K, class V> struct kht_window {
	typedef kht_window64_view<K, V> view_type;
	typedef typename view_type::word word;
	static constexpr int SLOTS = view_type::SLOTS;
	static constexpr bool narrow = view_type::narrow;
	static constexpr word EMPTY = view_type::EMPTY, BUSY = view_type::OVER;

	const view_type &w;
	uint32_t slots;  /* keys and values, slot by slot */
	word *keys, *values;
	word *wanted;    /* KHT_CHANGE_BLOCK keys that have no place yet */
	uint8_t *over;   /* buckets that send on; what they said when the window was read */
	uint8_t *before;
	uint32_t *spill; /* the window's keys in the stash */
	unsigned *count;
	unsigned long long *note;

	__device__ kht_window(const view_type &view, void *room, unsigned long long *n)
		: w(view), slots(view.window * SLOTS), note(n)
	{
		keys = (word *)room;
		values = keys + slots;
		wanted = values + slots;
		spill = (uint32_t *)(wanted + KHT_CHANGE_BLOCK);
		count = spill + 1;
		over = (uint8_t *)(spill + 4);
		before = over + w.window;
	}
	static __host__ size_t bytes(uint32_t window)
	{
		return (size_t)window * (64 + 2) + KHT_CHANGE_BLOCK * sizeof(word) + 16;
	}

	/* --- reading and writing --- */
	__device__ void clear()
	{
		for (uint32_t i = threadIdx.x; i < slots; i += KHT_CHANGE_BLOCK)
			keys[i] = EMPTY;
		for (uint32_t i = threadIdx.x; i < w.window; i += KHT_CHANGE_BLOCK)
			over[i] = before[i] = 0;
	}
	static __device__ word tidy(word k) { return k == BUSY ? EMPTY : k; }
	/* Unpacks 16 bytes, number i of the window. */
	__device__ void unpack(uint32_t i, uint4 a)
	{
		uint32_t b = i / 4, q = i % 4;
		uint64_t x = (uint64_t)a.y << 32 | a.x, y = (uint64_t)a.w << 32 | a.z;

		if (narrow) {
			keys[2 * i] = tidy((word)a.x);
			keys[2 * i + 1] = tidy((word)a.z);
			values[2 * i] = (word)a.y;
			values[2 * i + 1] = (word)a.w;
			if (q == 3)
				said(b, a.x > a.z);
		} else if (q < 2) {
			keys[4 * b + 2 * q] = tidy((word)x);
			keys[4 * b + 2 * q + 1] = tidy((word)y);
			if (q == 1)
				said(b, x > y);
		} else {
			values[4 * b + 2 * q - 4] = (word)x;
			values[4 * b + 2 * q - 3] = (word)y;
		}
	}
	/* A thread has several reads under way. */
	__device__ void read(const uint4 *from)
	{
		const uint32_t n = w.window * 4;

		for (uint32_t i = threadIdx.x; i < n; i += KHT_CHANGE_BLOCK * KHT_CHANGE_READS) {
			uint4 a[KHT_CHANGE_READS];

#pragma unroll
			for (uint32_t k = 0; k < KHT_CHANGE_READS; k++)
				if (i + k * KHT_CHANGE_BLOCK < n)
					a[k] = __ldcg(from + i + k * KHT_CHANGE_BLOCK);
#pragma unroll
			for (uint32_t k = 0; k < KHT_CHANGE_READS; k++)
				if (i + k * KHT_CHANGE_BLOCK < n)
					unpack(i + k * KHT_CHANGE_BLOCK, a[k]);
		}
	}
	/* Of keys in the stash nothing else tells where they come from: while there are any, what
	 * buckets said stays. */
	__device__ void said(uint32_t b, bool on)
	{
		before[b] = on;
		over[b] = on && *spill;
	}
	/* Every key that is not at its first choice has the buckets of earlier ones send on. */
	__device__ void sign()
	{
		for (uint32_t i = threadIdx.x; i < slots; i += KHT_CHANGE_BLOCK) {
			uint32_t b = i / SLOTS;
			K x = (K)keys[i];

			if (keys[i] == EMPTY || w.within(x, 0) == b)
				continue;
			over[w.within(x, 0)] = 1;
			if (w.within(x, 1) != b)
				over[w.within(x, 1)] = 1;
		}
	}
	/* Puts the last two keys of bucket b in the order that says what `over` has. */
	__device__ void order(uint32_t b)
	{
		word *k = keys + (b + 1) * SLOTS - 2, *v = values + (b + 1) * SLOTS - 2;

		if (over[b] && k[0] == k[1]) {
			k[1] = view_type::OVER;
		} else if (over[b] != (k[0] > k[1]) && k[0] != k[1]) {
			word key = k[0], value = v[0];

			k[0] = k[1];
			v[0] = v[1];
			k[1] = key;
			v[1] = value;
		}
	}
	__device__ void write(uint4 *to)
	{
		for (uint32_t b = threadIdx.x; b < w.window; b += KHT_CHANGE_BLOCK)
			order(b);
		__syncthreads();
		for (uint32_t i = threadIdx.x; i < w.window * 4; i += KHT_CHANGE_BLOCK) {
			uint32_t b = i / 4, q = i % 4;

			if (narrow) {
				to[i] = make_uint4((uint32_t)keys[2 * i], (uint32_t)values[2 * i],
						   (uint32_t)keys[2 * i + 1],
						   (uint32_t)values[2 * i + 1]);
				continue;
			}
			const word *p = q < 2 ? keys + 4 * b + 2 * q : values + 4 * b + 2 * q - 4;
			uint64_t x = p[0], y = p[1];
			to[i] = make_uint4((uint32_t)x, (uint32_t)(x >> 32), (uint32_t)y,
					   (uint32_t)(y >> 32));
		}
	}

	/* --- slots --- */
	/* The keys of bucket b. */
	__device__ void look(uint32_t b, word (&k)[SLOTS]) const
	{
		const uint4 *p = (const uint4 *)(keys + b * SLOTS);
		uint4 u = p[0], v = p[1];

		if constexpr (narrow) {
			k[0] = u.x, k[1] = u.y, k[2] = u.z, k[3] = u.w;
			k[4] = v.x, k[5] = v.y, k[6] = v.z, k[7] = v.w;
		} else {
			k[0] = (uint64_t)u.y << 32 | u.x, k[1] = (uint64_t)u.w << 32 | u.z;
			k[2] = (uint64_t)v.y << 32 | v.x, k[3] = (uint64_t)v.w << 32 | v.z;
		}
	}
	/* The slot of bucket b that has k, or nowhere. */
	__device__ uint32_t slot_of(uint32_t b, word k) const
	{
		word has[SLOTS];
		uint32_t at = KHT_NOWHERE;

		look(b, has);
#pragma unroll
		for (int s = SLOTS - 1; s >= 0; s--)
			at = has[s] == k ? b * SLOTS + s : at;
		return at;
	}
	/* Where key x is; `all`: also if buckets do not send on. */
	__device__ uint32_t find(K x, bool all) const
	{
		for (int c = 0; c < KHT_WINDOW_CHOICES; c++) {
			uint32_t b = w.within(x, c), at = slot_of(b, (word)x);

			if (at != KHT_NOWHERE || !(all || before[b]))
				return at;
		}
		return KHT_NOWHERE;
	}
	/* The slot of bucket b that has x, or else the first free one, which then is x's; nowhere:
	 * the bucket is full. */
	__device__ uint32_t claim(uint32_t b, word x)
	{
		for (;;) {
			word has[SLOTS];
			int to = SLOTS;

			look(b, has);
#pragma unroll
			for (int s = SLOTS - 1; s >= 0; s--)
				to = has[s] == EMPTY ? s : to;
#pragma unroll
			for (int s = 0; s < SLOTS; s++)
				to = has[s] == x ? s : to;
			if (to == SLOTS)
				return KHT_NOWHERE;
			uint32_t at = b * SLOTS + to;
			word old = kht_cas(keys + at, EMPTY, x);
			if (old == EMPTY || old == x)
				return at;
			__threadfence_block();
		}
	}
	__device__ bool put(uint32_t at, V v)
	{
		if (at != KHT_NOWHERE)
			(void)kht_exch(values + at, (word)v); /* equal keys may meet here */
		return at != KHT_NOWHERE;
	}

	/* --- the stash, which all windows share --- */
	__device__ uint4 *stashed(K x, int &slot) const
	{
		for (int c = KHT_WINDOW_CHOICES; c < KHT_CHOICES; c++) {
			uint4 *b = w.buckets + 4 * (size_t)w.place(x, c);

			for (slot = 0; slot < SLOTS; slot++)
				if (__ldcg((word *)b + (narrow ? 2 * slot : slot)) == (word)x)
					return b;
		}
		return nullptr;
	}
	__device__ bool restash(K x, V v) const
	{
		int s;
		uint4 *b = *(volatile uint32_t *)spill ? stashed(x, s) : nullptr;

		if (b)
			*view_type::value(b, s) = (word)v;
		return b != nullptr;
	}
	__device__ void unstash(K x)
	{
		int s;
		uint4 *b = *(volatile uint32_t *)spill ? stashed(x, s) : nullptr;

		if (!b)
			return;
		word old = narrow ? (word)kht_exch((uint64_t *)b + s, ~UINT64_C(0))
				  : kht_exch((word *)b + s, EMPTY);
		if (old == (word)x)
			atomicSub(spill, 1u);
	}
	/* Narrow slots are free if all their bits are set; of others, the key's. */
	__device__ bool take(uint4 *b, int s, K x, V v)
	{
		uint64_t none = ~UINT64_C(0);

		if (narrow)
			return kht_cas((uint64_t *)b + s, none,
				       (uint64_t)v << 32 | (uint32_t)x) == none;
		if (kht_cas((uint64_t *)b + s, none, (uint64_t)x) != none)
			return false;
		*view_type::value(b, s) = (word)v;
		return true;
	}
	__device__ void stash(K x, V v)
	{
		for (int c = KHT_WINDOW_CHOICES; c < KHT_CHOICES; c++)
			for (int s = 0; s < SLOTS; s++) {
				if (!take(w.buckets + 4 * (size_t)w.place(x, c), s, x, v))
					continue;
				for (int k = 0; k < KHT_WINDOW_CHOICES; k++)
					over[w.within(x, k)] = 1;
				atomicAdd(spill, 1u);
				return;
			}
		atomicAdd(note + KHT_NOTE_FAILED, 1ull);
	}

	/* --- keys that have to move others --- */
	/* A slot whose key is BUSY is its taker's: fences on both sides keep what is done to its
	 * value between the taking and the giving back. */
	/* Stores the pair in the first free slot of its choices: no equal key is about. */
	__device__ bool settle(K x, V v)
	{
		for (int c = 0; c < KHT_WINDOW_CHOICES; c++) {
			uint32_t at;

			while ((at = slot_of(w.within(x, c), EMPTY)) != KHT_NOWHERE) {
				if (kht_cas(keys + at, EMPTY, BUSY) != EMPTY) {
					__threadfence_block();
					continue;
				}
				__threadfence_block();
				(void)kht_exch(values + at, (word)v);
				__threadfence_block();
				kht_exch(keys + at, (word)x);
				return true;
			}
		}
		return false;
	}
	__device__ void move(K x, V v)
	{
		for (int i = 0; i < KHT_CHANGE_STEPS; i++) {
			if (settle(x, v))
				return;
			uint32_t h = kht_mix2(x, i), b = w.within(x, (int)(h % 3));
			uint32_t at = b * SLOTS + h / 4 % SLOTS;
			word old = kht_exch(keys + at, BUSY);
			if (old == BUSY)
				continue;
			__threadfence_block();
			V value = (V)kht_exch(values + at, (word)v);
			__threadfence_block();
			kht_exch(keys + at, (word)x);
			x = (K)old;
			v = value;
		}
		stash(x, v);
	}
};

#endif
