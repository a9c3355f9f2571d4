/* csr.cuh - the view of csr.cu: buckets of keys and lengths, lists that lie in one piece */
#ifndef KHT_CSR_CUH
#define KHT_CSR_CUH

#include "cuda/tables/views.cuh"

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

#endif
