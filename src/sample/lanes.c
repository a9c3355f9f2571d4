/* lanes.c - sums of products, several side by side */
#include <config.h>
#include "sample/lanes.h"

#include <stddef.h>
#include "base/simd.h"

void kh_lanes_plain(kh_lanes *to, uint32_t n, const kh_term *term, uint32_t n_terms)
{
	while (n-- > 0) {
		kh_lanes sum = { { 0 } };

		for (uint32_t k = 0; k < n_terms; k++)
			for (uint32_t j = 0; j < KH_LANES; j++)
				sum.at[j] += term[k].factor.at[j] * term[k].x[n].at[j];
		for (uint32_t j = 0; j < KH_LANES; j++)
			to[n].at[j] = sum.at[j] >> 24;
	}
}

kh_lanes_fn *kh_lanes_get(void)
{
	kh_lanes_fn *best = kh_simd_most() > 0 ? kh_lanes_avx2() : NULL;

	return best ? best : kh_lanes_plain;
}
