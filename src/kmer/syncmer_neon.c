/* syncmer_neon.c - eight starts at a time; s-mers of up to 16 bases, in 32 bits */
#include <config.h>
#include "kmer/syncmer.h"

#ifdef __AARCH64EL__
#include <arm_neon.h>
#include <string.h>

/* The pairs of bits of each lane in reverse order: all bits are, and then those of each pair. */
static inline uint32x4_t reverse_pairs(uint32x4_t x)
{
	const uint32x4_t upper = vdupq_n_u32(0xaaaaaaaa);

	x = vreinterpretq_u32_u8(vrbitq_u8(vrev32q_u8(vreinterpretq_u8_u32(x))));
	return vbslq_u32(upper, vshlq_n_u32(x, 1), vshrq_n_u32(x, 1));
}

/* kh_smer_order() of each lane. */
static inline uint32x4_t order(uint32x4_t x)
{
	x = veorq_u32(x, vdupq_n_u32(0x5bd1e995));
	x = veorq_u32(x, vshrq_n_u32(x, 16));
	x = vmulq_u32(x, vdupq_n_u32(0x85ebca6b));
	x = veorq_u32(x, vshrq_n_u32(x, 13));
	x = vmulq_u32(x, vdupq_n_u32(0xc2b2ae35));
	return veorq_u32(x, vshrq_n_u32(x, 16));
}

/* Orders of the s-mers that start at the four bases from base 4 * `half` of a word on. */
static inline uint32x4_t orders_at(uint64x2_t word, int half, unsigned s)
{
	const uint32x4_t mask = vdupq_n_u32((uint32_t)kh_kmer_mask(s));
	static const int64_t by[2][2][2] = { { { 0, -2 }, { -4, -6 } },
					     { { -8, -10 }, { -12, -14 } } };
	uint64x2_t a = vshlq_u64(word, vld1q_s64(by[half][0]));
	uint64x2_t b = vshlq_u64(word, vld1q_s64(by[half][1]));
	uint32x4_t x = vuzp1q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b)), fwd;

	x = vandq_u32(x, mask);
	fwd = vshlq_u32(reverse_pairs(x), vdupq_n_s32(2 * (int)s - 32));
	return order(vminq_u32(fwd, veorq_u32(x, mask)));
}

/* All orders from base `from`, a multiple of four; `end`: bases that may be read. */
static void orders(const uint64_t *bases, uint64_t from, uint64_t end, unsigned s, size_t n,
		   uint32_t *o)
{
	const unsigned char *byte = (const unsigned char *)bases + from / 4;
	size_t i = 0;

	for (; i < n && from + i + 32 <= end; i += 8) {
		uint64_t word;

		memcpy(&word, byte + i / 4, sizeof word);
		vst1q_u32(o + i, orders_at(vdupq_n_u64(word), 0, s));
		vst1q_u32(o + i + 4, orders_at(vdupq_n_u64(word), 1, s));
	}
	if (i < n)
		kh_smer_orders(bases, from + i, s, n - i, o + i);
}

/* Of the four k-mers whose first s-mers these are, a lane of ones for each syncmer. */
static inline uint32x4_t kept4(const uint32_t *o, unsigned w)
{
	uint32x4_t least = vdupq_n_u32(UINT32_MAX);

	for (unsigned j = 0; j < w; j++)
		if (j != w / 2)
			least = vminq_u32(least, vld1q_u32(o + j));
	return vcltq_u32(vld1q_u32(o + w / 2), least);
}

static size_t syncmers(const kh_sampling *sk, const uint64_t *bases, uint64_t at, size_t n,
		       uint32_t *start)
{
	const unsigned w = sk->k - sk->s + 1, skip = (unsigned)(at & 3);
	const uint64_t end = (at + n + sk->k - 1 + 31) / 32 * 32;
	uint32_t o[KH_SYNCMER_TILE + 48];
	const uint32_t *first = o + skip;
	size_t m = 0;

	orders(bases, at - skip, end, sk->s, skip + n + w - 1, o);
	for (size_t i = 0; i < n; i += 8) {
		uint16x8_t both = vcombine_u16(vmovn_u32(kept4(first + i, w)),
					       vmovn_u32(kept4(first + i + 4, w)));
		/* the lowest bit of the byte of each that is kept */
		uint64_t kept = vget_lane_u64(vreinterpret_u64_u8(vmovn_u16(both)), 0) &
				UINT64_C(0x0101010101010101);

		if (n - i < 8)
			kept &= (UINT64_C(1) << 8 * (n - i)) - 1;
		for (; kept; kept &= kept - 1)
			start[m++] = (uint32_t)(i + (unsigned)__builtin_ctzll(kept) / 8);
	}
	return m;
}

kh_syncmer_fn *kh_syncmer_neon(const kh_sampling *sk)
{
	return sk->s <= 16 ? syncmers : NULL;
}
#else
kh_syncmer_fn *kh_syncmer_neon(const kh_sampling *sk)
{
	(void)sk;
	return NULL;
}
#endif
