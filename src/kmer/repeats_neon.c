/* repeats_neon.c - repeats among k-mers, two at a time */
#include <config.h>
#include "kmer/repeats.h"

#ifdef __AARCH64EL__
#include <arm_neon.h>
#include <string.h>

/* Lanes of ones: repeats of the i-th period. */
static inline uint64x2_t repeats(uint64x2_t x, const kh_repeat_rule *r, int i)
{
	const uint64_t pairs = r->pairs[i] & UINT64_C(0x5555555555555555);

	x = veorq_u64(x, vshlq_u64(x, vdupq_n_s64(-2 * (int64_t)r->period[i])));
	x = vandq_u64(vorrq_u64(x, vshrq_n_u64(x, 1)), vdupq_n_u64(pairs));
	x = vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(vcntq_u8(vreinterpretq_u8_u64(x)))));
	return vcltq_u64(x, vdupq_n_u64(r->many[i]));
}

static inline unsigned two(const uint64_t *kmer, const kh_repeat_rule *r)
{
	const uint64x2_t x = vld1q_u64(kmer);
	const uint64x2_t is = vorrq_u64(vorrq_u64(repeats(x, r, 0), repeats(x, r, 1)),
					repeats(x, r, 2));

	return (unsigned)(vgetq_lane_u64(is, 0) & 1) | (unsigned)(vgetq_lane_u64(is, 1) & 2);
}

static inline unsigned eight(const uint64_t *kmer, const kh_repeat_rule *r)
{
	return two(kmer, r) | two(kmer + 2, r) << 2 | two(kmer + 4, r) << 4 |
	       two(kmer + 6, r) << 6;
}

static void find(unsigned k, const uint64_t *kmer, size_t n, uint8_t *is)
{
	const kh_repeat_rule r = kh_repeat_rule_of(k);
	uint64_t rest[8] = { 0 };
	size_t i = 0;

	for (; i + 8 <= n; i += 8)
		is[i / 8] = (uint8_t)eight(kmer + i, &r);
	if (i < n) {
		memcpy(rest, kmer + i, (n - i) * sizeof *rest);
		is[i / 8] = (uint8_t)(eight(rest, &r) & ((1u << (n - i)) - 1));
	}
}

kh_repeats_fn *kh_repeats_neon(void)
{
	return find;
}
#else
kh_repeats_fn *kh_repeats_neon(void)
{
	return NULL;
}
#endif
