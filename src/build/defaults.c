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

void kh_minima(const kh_db_header *h, uint32_t minima[32])
{
	typedef unsigned __int128 wide;
	const uint64_t one = UINT64_C(1) << 48;
	const uint64_t N = h->bins ? h->bins : 1, F = h->features ? h->features : 1;
	/* p: the probability that a random k-mer is in the index (F of 4^k / 2), or shares home
	 * and tag with one that is */
	uint64_t p =
		(uint64_t)((wide)F * one * 2 >> 2 * h->sampling.k) + one * KH_BUCKET_LOAD / 65536;

	if (p > one)
		p = one;
	for (int i = 0; i < 32; i++) {
		uint64_t n = (UINT64_C(2) << i) - 1, r = h->gap;
		/* chance hits in a window of r bins, with 48 bits behind the binary point,
		 * rounded up */
		const wide chance = (wide)n * r * p / N * h->locations / F + 1;
		const uint64_t lambda = chance > one << 12 ? one << 12 : (uint64_t)chance;
		wide t = (wide)N << 32;         /* N lambda^m / m!, with 32 bits behind the point */
		uint32_t m = 0;

		while ((t > (UINT64_C(1) << 32) / 10000 || m < lambda >> 48) && m < 1 << 20) {
			m++;
			t = (t * lambda >> 48) / m + 1;
			if (t >> 64)
				t = (wide)UINT64_MAX;
		}
		minima[i] = m;
	}
}
