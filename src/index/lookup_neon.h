/*
 * lookup_neon.h - what lookup_simd.h says of the 19 positions of a bucket, in NEON
 *
 * NEON has no instruction that takes a bit of each lane. So a lane that compares equal keeps the
 * bit that is its own, and the lanes are added up. Of the last three positions, which are loaded
 * together with some before them, only their own lanes have bits.
 */
#ifndef KH_INDEX_LOOKUP_NEON_H
#define KH_INDEX_LOOKUP_NEON_H

#include "index/index.h"

#ifdef __AARCH64EL__
#include <arm_neon.h>

/* A bit for each of 19 lanes of ones: `lo` has lanes 0 to 7, `mid` 8 to 15, `hi` 11 to 18. */
static inline uint32_t kh_probe_bits(uint16x8_t lo, uint16x8_t mid, uint16x8_t hi)
{
	static const uint16_t bit[3][8] = {
		{ 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7 },
		{ 1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15 },
		{ 0, 0, 0, 0, 0, 1 << 0, 1 << 1, 1 << 2 },
	};

	lo = vorrq_u16(vandq_u16(lo, vld1q_u16(bit[0])), vandq_u16(mid, vld1q_u16(bit[1])));
	return vaddvq_u16(lo) | (uint32_t)vaddvq_u16(vandq_u16(hi, vld1q_u16(bit[2]))) << 16;
}

static inline uint32_t kh_probe_tags(const kh_bucket *b, uint32_t tag)
{
	const uint16x8_t t = vdupq_n_u16((uint16_t)tag);

	return kh_probe_bits(vceqq_u16(vld1q_u16(b->tag), t), vceqq_u16(vld1q_u16(b->tag + 8), t),
			     vceqq_u16(vld1q_u16(b->tag + KH_BUCKET_SLOTS - 8), t));
}

static inline uint32_t kh_probe_falls(const kh_bucket *b)
{
	static const int from[3] = { 0, 8, KH_BUCKET_SLOTS - 9 };
	uint16x8_t f[3];

	for (int i = 0; i < 3; i++)
		f[i] = vcleq_u16(vld1q_u16(b->tag + from[i] + 1), vld1q_u16(b->tag + from[i]));
	/* for positions 1 to 8, 9 to 16 and 11 to 18, of which 17 and 18 are still to be told */
	f[2] = vextq_u16(f[2], vdupq_n_u16(0), 1);
	return kh_probe_bits(f[0], f[1], f[2]) << 1;
}

static inline uint32_t kh_probe_lens(const kh_bucket *b, int len)
{
	static const uint8_t bit[2][16] = {
		{ 1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128 },
		{ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4 },
	};
	const uint8x16_t v = vdupq_n_u8((uint8_t)len);
	uint8x16_t lo = vceqq_u8(vld1q_u8(b->len), v);
	uint8x16_t hi = vceqq_u8(vld1q_u8(b->len + KH_BUCKET_SLOTS - 16), v);

	lo = vandq_u8(lo, vld1q_u8(bit[0]));
	hi = vandq_u8(hi, vld1q_u8(bit[1]));
	return vaddv_u8(vget_low_u8(lo)) | (uint32_t)vaddv_u8(vget_high_u8(lo)) << 8 |
	       (uint32_t)vaddvq_u8(hi) << 16;
}

/* Sum of the words of those of 16 lengths whose number in `n` is below i. */
static inline uint32_t kh_probe_sum(uint8x16_t len, uint8x16_t n, int i)
{
	const uint8x16_t over = vceqq_u8(len, vdupq_n_u8(KH_LIST_OVER));
	const uint8x16_t before = vcltq_u8(n, vdupq_n_u8((uint8_t)i));

	return vaddlvq_u8(vandq_u8(vbslq_u8(over, vdupq_n_u8(1), len), before));
}

static inline uint32_t kh_probe_words(const kh_bucket *b, int i)
{
	static const uint8_t n[2][16] = {
		{ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
		{ 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 16, 17, 18 },
	};

	return kh_probe_sum(vld1q_u8(b->len), vld1q_u8(n[0]), i) +
	       kh_probe_sum(vld1q_u8(b->len + KH_BUCKET_SLOTS - 16), vld1q_u8(n[1]), i);
}
#endif

#endif
