#include <config.h>
#include "kmer/repeats.h"

#include "base/simd.h"

void kh_repeats_plain(unsigned k, const uint64_t *kmer, size_t n, uint8_t *is)
{
	for (size_t i = 0; i < n; i++) {
		const unsigned before = i % 8 ? is[i / 8] : 0;

		is[i / 8] = (uint8_t)(before | (unsigned)kh_repeat_is(kmer[i], k) << i % 8);
	}
}

kh_repeats_fn *kh_repeats_get(void)
{
	kh_repeats_fn *best = kh_simd_most() > 0 ? kh_repeats_avx2() : NULL;

	return best ? best : kh_repeats_plain;
}
