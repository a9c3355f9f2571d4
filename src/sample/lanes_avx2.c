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

KH_AVX2 static inline __m256i times(__m256i factor, const kh_lanes *x)
{
	return _mm256_mul_epu32(factor, load(x));
}

KH_AVX2 static inline __m256i add(__m256i a, __m256i b)
{
	return _mm256_add_epi64(a, b);
}

KH_AVX2 static inline void store_parts(kh_lanes *to, __m256i sum)
{
	store(to, _mm256_srli_epi64(sum, 24));
}

KH_AVX2 static void sum_up(kh_lanes *to, uint32_t from, uint32_t end, const kh_term *term,
			   uint32_t n_terms)
{
	static const kh_lanes zero = { { 0 } };
	const kh_lanes *const a = n_terms > 0 ? term[0].x : to,
		       *const b = n_terms > 1 ? term[1].x : to,
		       *const c = n_terms > 2 ? term[2].x : to,
		       *const d = n_terms > 3 ? term[3].x : to;
	const __m256i fa = load(n_terms > 0 ? term[0].factor : &zero),
		      fb = load(n_terms > 1 ? term[1].factor : &zero),
		      fc = load(n_terms > 2 ? term[2].factor : &zero),
		      fd = load(n_terms > 3 ? term[3].factor : &zero);

	if (n_terms <= 3)
		for (size_t i = end; i-- > from;)
			store_parts(to + i, add(add(times(fa, a + i), times(fb, b + i)),
						times(fc, c + i)));
	else
		for (size_t i = end; i-- > from;)
			store_parts(to + i, add(add(times(fa, a + i), times(fb, b + i)),
						add(times(fc, c + i), times(fd, d + i))));
}

/* Two columns at a time. */
KH_AVX2 static void add_up(kh_lanes *to, uint32_t n, const kh_lanes *x, uint32_t rows,
			   size_t behind)
{
	uint32_t i = 0;

	for (; i + 2 <= n; i += 2) {
		const kh_lanes *at = x + i;
		__m256i a = load(at), b = load(at + 1);

		for (uint32_t row = 1; row < rows; row++) {
			at += behind;
			a = add(a, load(at));
			b = add(b, load(at + 1));
		}
		store(to + i, a);
		store(to + i + 1, b);
	}
	if (i < n) {
		__m256i a = load(x + i);

		for (uint32_t row = 1; row < rows; row++)
			a = add(a, load(x + i + row * behind));
		store(to + i, a);
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
