/* defaults.c - the parameters that a build chooses by itself: build.h */
#include <config.h>
#include "build/build.h"

uint32_t kh_default_k(uint64_t bases)
{
	uint32_t k = 0;

	while (k < KH_K_MAX && (UINT64_C(1) << 2 * k) / 2 < bases)
		k++;
	k += 4;
	return k < KH_K_MIN ? KH_K_MIN : k > KH_K_MAX ? KH_K_MAX : k;
}

uint32_t kh_default_s(uint32_t k)
{
	return k < 20 ? k - 4 : k - 6;
}
