#include <config.h>
#include "kmer/syncmer.h"

#include "base/simd.h"

/* Rolls the s-mers of both strands along the bases. */
void kh_smer_orders(const uint64_t *bases, uint64_t from, unsigned s, size_t n, uint32_t *o)
{
	const uint64_t mask = kh_kmer_mask(s);
	const unsigned top = 2 * (s - 1);
	uint64_t i = from, fwd = 0, rc = 0, word = bases[i >> 5] >> 2 * (i & 31);

	for (size_t j = 0; j < n + s - 1; j++) {
		uint64_t b = word & 3;

		fwd = (fwd << 2 | b) & mask;
		rc = rc >> 2 | (3 - b) << top;
		if (j + 1 >= s)
			o[j + 1 - s] = kh_smer_order(fwd < rc ? fwd : rc);
		word >>= 2;
		if ((++i & 31) == 0 && j + 1 < n + s - 1)
			word = bases[i >> 5];
	}
}

size_t kh_syncmer_plain(const kh_sampling *rule, const uint64_t *bases, uint64_t at, size_t n,
			uint32_t *start)
{
	const unsigned w = rule->k - rule->s + 1;
	uint32_t o[KH_SYNCMER_TILE + 16];
	size_t m = 0;

	kh_smer_orders(bases, at, rule->s, n + w - 1, o);
	for (size_t i = 0; i < n; i++)
		if (kh_syncmer_keep(o + i, w))
			start[m++] = (uint32_t)i;
	return m;
}

void kh_keys_plain(uint64_t *x, size_t n, unsigned k)
{
	for (size_t i = 0; i < n; i++)
		x[i] = kh_key(kh_bits_canonical(x[i], k));
}

kh_syncmer_fn *kh_syncmer_get(const kh_sampling *rule)
{
	kh_syncmer_fn *best = kh_simd_most() > 0 ? kh_syncmer_avx2(rule) : NULL;

	return best ? best : kh_syncmer_plain;
}

kh_keys_fn *kh_keys_get(void)
{
	kh_keys_fn *best = kh_simd_most() > 0 ? kh_keys_avx2() : NULL;

	return best ? best : kh_keys_plain;
}
