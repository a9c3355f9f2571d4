/* lanes_avx2.c - sums of products, four lanes in one instruction */
#include <config.h>
#include "sample/lanes.h"

#include <stddef.h>
#include "kmer/avx2.h"

#ifdef KH_AVX2
KH_AVX2 static inline __m256i load(const kh_lanes *x)
{
	return _mm256_loadu_si256((const __m256i *)x->at);
}

KH_AVX2 static void sum_up(kh_lanes *to, uint32_t n, const kh_term *term, uint32_t n_terms)
{
	const kh_lanes *x[KH_TERMS];
	__m256i f[KH_TERMS];

	for (uint32_t k = 0; k < KH_TERMS; k++) {
		x[k] = k < n_terms ? term[k].x : k > 0 ? x[0] : to;
		f[k] = k < n_terms ? load(&term[k].factor) : _mm256_setzero_si256();
	}
	while (n-- > 0) {
		const __m256i a = _mm256_mul_epu32(f[0], load(x[0] + n)),
			      b = _mm256_mul_epu32(f[1], load(x[1] + n)),
			      c = _mm256_mul_epu32(f[2], load(x[2] + n)),
			      d = _mm256_mul_epu32(f[3], load(x[3] + n)),
			      ab = _mm256_add_epi64(a, b), cd = _mm256_add_epi64(c, d),
			      sum = _mm256_add_epi64(ab, cd);

		_mm256_storeu_si256((__m256i *)to[n].at, _mm256_srli_epi64(sum, 24));
	}
}

kh_lanes_fn *kh_lanes_avx2(void)
{
	return KH_HAS_AVX2 ? sum_up : NULL;
}
#else
kh_lanes_fn *kh_lanes_avx2(void)
{
	return NULL;
}
#endif
