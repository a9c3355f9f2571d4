/* defaults.c - the parameters that a build chooses by itself: build.h */
#include <config.h>
#include "build/build.h"

uint32_t kh_default_k(uint64_t bases)
{
	uint32_t k = 4;

	while (k < 18 && (UINT64_C(1) << 2 * (k - 4)) / 2 < bases)
		k++;
	if (bases > KH_BASES_18)
		k = bases > KH_BASES_20 ? 22 : 20;
	return k < KH_K_MIN ? KH_K_MIN : k;
}

uint32_t kh_default_s(uint32_t k)
{
	return k <= 20 ? k - 4 : k - 6;
}

uint32_t kh_default_stride(uint64_t bases)
{
	const uint64_t stride = KH_STRIDE * (1 + bases / KH_BASES_STRIDE);
	const uint32_t most = KH_STRIDE_MAX / KH_STRIDE * KH_STRIDE;

	return stride < most ? (uint32_t)stride : most;
}
