/* syncmers.cuh - which k-mers of a word of 32 bases sampling keeps, or may keep: by a thread, in
 * registers */
#ifndef KH_CUDA_KERNELS_SYNCMERS_CUH
#define KH_CUDA_KERNELS_SYNCMERS_CUH

#include "cuda/kernels/threads.cuh"
#include "kmer/sampling.h"

namespace {

/* Sets bit i if one of the k bits of x from i on is set; k <= 31, i < 32. */
__device__ uint32_t smear(uint64_t x, unsigned k)
{
	unsigned have = 1;

	while (2 * have <= k) {
		x |= x >> have;
		have *= 2;
	}
	return (uint32_t)(x | x >> (k - have));
}

/* Bits of the starts in word w that are syncmers; H = (k - s) / 2; an s-mer fits into an Smer. */
template <int H, class Smer = uint64_t>
__device__ uint32_t syncmers_of(uint64_t a, uint64_t b, unsigned s)
{
	const Smer mask = (Smer)kh_kmer_mask(s), bits = (Smer)a & mask;
	const unsigned top = 2 * (s - 1);
	const uint64_t lo = a >> 2 * s | b << (64 - 2 * s), hi = b >> 2 * s;
	Smer fwd = (Smer)kh_kmer_reverse(bits, s), rc = ~bits & mask;
	uint32_t o[2 * H + 1], keep = 0;

#pragma unroll
	for (int j = 0; j < 32 + 2 * H; j++) {
#pragma unroll
		for (int t = 0; t < 2 * H; t++)
			o[t] = o[t + 1];
		o[2 * H] = kh_smer_order(fwd < rc ? fwd : rc);
		const Smer next = (Smer)((j < 32 ? lo >> 2 * (j % 32) : hi >> 2 * (j % 32)) & 3);

		fwd = (fwd << 2 | next) & mask;
		rc = rc >> 2 | (3 - next) << top;
		if (j >= 2 * H) {
			uint32_t ok = 1;

#pragma unroll
			for (int t = 0; t <= 2 * H; t++)
				ok &= t == H || o[H] < o[t];
			keep |= ok << (j - 2 * H);
		}
	}
	return keep;
}

/* Bits of the starts in word w whose k-mers minhash may keep. */
__device__ uint32_t minhash_may(const kh_sampling &rule, const uint64_t *bases, uint64_t w)
{
	uint32_t may = 0;

	for (unsigned i = 0; i < 32; i++) {
		const uint64_t x = kh_packed_bits(bases, (w << 5) + i, rule.k);

		may |= (uint32_t)kh_minhash_may(&rule, kh_bits_canonical(x, rule.k)) << i;
	}
	return may;
}

/* Returns `keep` without those starts in word w whose features are left out. */
__device__ uint32_t leave_out(const kh_sampling &rule, const uint64_t *bases, uint64_t w,
			      uint32_t keep)
{
	uint32_t left = 0;

	if (rule.least == 0 && !rule.no_repeats)
		return keep;
	for (uint32_t m = keep; m; m &= m - 1) {
		const unsigned i = (unsigned)__ffs((int)m) - 1;
		const uint64_t x = kh_packed_bits(bases, (w << 5) + i, rule.k);

		if (!kh_sampling_repeat(&rule, x) &&
		    (rule.least == 0 ||
		     kh_sampling_takes(&rule, kh_key(kh_bits_canonical(x, rule.k)))))
			left |= 1u << i;
	}
	return left;
}

} /* namespace */

#endif
