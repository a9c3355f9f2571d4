/* lanes_avx2.c - sums of products, four lanes in one instruction */
#include <config.h>
#include "sample/lanes.h"

#include "kmer/avx2.h"

#ifdef KH_AVX2
KH_AVX2 static inline __m256i load(const kh_lanes *x)
{
	return _mm256_loadu_si256((const __m256i *)x->at);
}

KH_AVX2 static inline void store(kh_lanes *to, __m256i x)
{
	_mm256_storeu_si256((__m256i *)to->at, x);
}

KH_AVX2 static void sum_up(kh_lanes *to, uint32_t n, const kh_term *term, uint32_t n_terms)
{
	static const kh_lanes zero = { { 0 } };
	const kh_lanes *x[KH_TERMS];
	__m256i f[KH_TERMS];

	for (uint32_t k = 0; k < KH_TERMS; k++) {
		x[k] = k < n_terms ? term[k].x : to;
		f[k] = load(k < n_terms ? term[k].factor : &zero);
	}
	while (n-- > 0) {
		const __m256i a = _mm256_mul_epu32(f[0], load(x[0] + n)),
			      b = _mm256_mul_epu32(f[1], load(x[1] + n)),
			      c = _mm256_mul_epu32(f[2], load(x[2] + n));
		__m256i sum = _mm256_add_epi64(_mm256_add_epi64(a, b), c);

		if (n_terms == KH_TERMS)
			sum = _mm256_add_epi64(sum, _mm256_mul_epu32(f[3], load(x[3] + n)));
		store(to + n, _mm256_srli_epi64(sum, 24));
	}
}

KH_AVX2 static void add_up(kh_lanes *to, uint32_t n, const kh_lanes *x, uint32_t rows,
			   size_t behind)
{
	for (uint32_t i = 0; i < n; i++) {
		const kh_lanes *at = x + i;
		__m256i sum = load(at);

		uint32_t row = 1;

		for (; row + 2 <= rows; row += 2, at += 2 * behind)
			sum = _mm256_add_epi64(_mm256_add_epi64(sum, load(at + behind)),
					       load(at + 2 * behind));
		if (row < rows)
			sum = _mm256_add_epi64(sum, load(at + behind));
		store(to + i, sum);
	}
}

const kh_lanes_fns *kh_lanes_avx2(void)
{
	static const kh_lanes_fns fns = { sum_up, add_up };

	return KH_HAS_AVX2 ? &fns : NULL;
}
#else
const kh_lanes_fns *kh_lanes_avx2(void)
{
	return NULL;
}
#endif
