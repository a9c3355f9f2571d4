/* lanes.c - sums of products, several side by side */
#include <config.h>
#include "sample/lanes.h"

#include "base/simd.h"

static void sum_up(kh_lanes *to, uint32_t from, uint32_t end, const kh_term *term, uint32_t n_terms)
{
	while (end-- > from) {
		kh_lanes sum = { { 0 } };

		for (uint32_t k = 0; k < n_terms; k++)
			for (uint32_t j = 0; j < KH_LANES; j++)
				sum.at[j] += term[k].factor->at[j] * term[k].x[end].at[j];
		for (uint32_t j = 0; j < KH_LANES; j++)
			to[end].at[j] = sum.at[j] >> 24;
	}
}

static void add_up(kh_lanes *to, uint32_t n, const kh_lanes *x, uint32_t rows, size_t behind)
{
	for (uint32_t i = 0; i < n; i++) {
		to[i] = x[i];
		for (uint32_t row = 1; row < rows; row++)
			for (uint32_t j = 0; j < KH_LANES; j++)
				to[i].at[j] += x[i + row * behind].at[j];
	}
}

const kh_lanes_fns kh_lanes_plain = { sum_up, add_up };

const kh_lanes_fns *kh_lanes_get(void)
{
	const kh_lanes_fns *best = kh_simd_most() > 0 ? kh_lanes_avx2() : NULL;

	return best ? best : &kh_lanes_plain;
}
