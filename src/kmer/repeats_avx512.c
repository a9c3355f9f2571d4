/* repeats_avx512.c - repeats among k-mers, eight at a time, where the machine counts bits so */
#include <config.h>
#include "kmer/repeats.h"

#if defined __x86_64__ && defined __GNUC__
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512vpopcntdq")))

/* Repeats of the i-th period. */
AVX512 static inline unsigned repeats(__m512i x, const kh_repeat_rule *r, int i)
{
	const uint64_t pairs = r->pairs[i] & UINT64_C(0x5555555555555555);

	x = _mm512_xor_si512(x, _mm512_srlv_epi64(x, _mm512_set1_epi64(2 * r->period[i])));
	x = _mm512_or_si512(x, _mm512_srlv_epi64(x, _mm512_set1_epi64(1)));
	x = _mm512_and_si512(x, _mm512_set1_epi64((long long)pairs));
	return _mm512_cmplt_epu64_mask(_mm512_popcnt_epi64(x),
				       _mm512_set1_epi64((long long)r->many[i]));
}

AVX512 static void find(unsigned k, const uint64_t *kmer, size_t n, uint8_t *is)
{
	const kh_repeat_rule r = kh_repeat_rule_of(k);

	for (size_t i = 0; i < n; i += 8) {
		const __mmask8 there = n - i < 8 ? (__mmask8)((1u << (n - i)) - 1) : 0xff;
		const __m512i x = _mm512_maskz_loadu_epi64(there, kmer + i);

		is[i / 8] = (uint8_t)((repeats(x, &r, 0) | repeats(x, &r, 1) |
				       repeats(x, &r, 2)) & there);
	}
}

kh_repeats_fn *kh_repeats_avx512(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vpopcntdq")
		       ? find : NULL;
}
#else
kh_repeats_fn *kh_repeats_avx512(void)
{
	return NULL;
}
#endif
