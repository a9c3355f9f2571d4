#include <config.h>
#include "sketch.h"

#include <string.h>

int kh_sketch_check(const kh_sketch *sk, kh_err *err)
{
	if (sk->scheme != KH_MINHASH && sk->scheme != KH_SYNCMER)
		return kh_fail(err, KH_EUSAGE, "sampling scheme %u is not known", sk->scheme);
	if (sk->k < KH_K_MIN || sk->k > KH_K_MAX)
		return kh_fail(err, KH_EUSAGE, "k is %u, not %d to %d", sk->k, KH_K_MIN, KH_K_MAX);
	if (sk->stride < 16 || sk->stride > KH_STRIDE_MAX)
		return kh_fail(err, KH_EUSAGE, "stride is %u, not 16 to %d", sk->stride,
			       KH_STRIDE_MAX);
	if (sk->scheme == KH_MINHASH && (sk->s < 1 || sk->s > KH_MINHASH_S_MAX))
		return kh_fail(err, KH_EUSAGE, "features of a window are %u, not 1 to %d", sk->s,
			       KH_MINHASH_S_MAX);
	if (sk->scheme == KH_SYNCMER &&
	    (sk->s < 2 || sk->s >= sk->k || (sk->k - sk->s) % 2 != 0 || sk->k - sk->s > 16))
		return kh_fail(err, KH_EUSAGE,
			       "s-mers of %u bases do not fit k = %u: k - s must be even, 2 to 16",
			       sk->s, sk->k);
	return KH_OK;
}

enum { TILE = 1024 };

/* Orders of the s-mers that start at `from` .. from + n - 1, by rolling both strands. */
static void smer_orders(const uint64_t *bases, uint64_t from, unsigned s, size_t n, uint32_t *o)
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

static size_t run_syncmer(const kh_sketch *sk, const kh_stretch *sp, uint64_t *key, uint32_t *pos)
{
	const unsigned w = sk->k - sk->s + 1;
	uint32_t o[TILE + 16];
	size_t n = 0;

	for (uint64_t at = sp->from; at < sp->to; at += TILE) {
		size_t m = sp->to - at < TILE ? (size_t)(sp->to - at) : TILE;

		smer_orders(sp->bases, at, sk->s, m + w - 1, o);
		for (size_t i = 0; i < m; i++) {
			if (!kh_syncmer_keep(o + i, w) || kh_packed_ambiguous(sp->amb, at + i, sk->k))
				continue;
			key[n] = kh_key(kh_bits_canonical(kh_packed_bits(sp->bases, at + i, sk->k), sk->k));
			pos[n++] = (uint32_t)(at + i - sp->from);
		}
	}
	return n;
}

/* One window: a sorted list of the smallest orders so far (distinct, as the order is
 * a bijection of the canonical k-mer). */
static size_t minhash_window(const kh_sketch *sk, const kh_stretch *sp, uint64_t at, uint64_t end,
			     uint64_t *key)
{
	uint64_t small[KH_MINHASH_S_MAX], kmer[KH_MINHASH_S_MAX];
	size_t n = 0;

	for (; at < end; at++) {
		uint64_t c, h;
		size_t i = n;

		if (kh_packed_ambiguous(sp->amb, at, sk->k))
			continue;
		c = kh_bits_canonical(kh_packed_bits(sp->bases, at, sk->k), sk->k);
		h = kh_minhash_order(c);
		if (n == sk->s && h >= small[n - 1])
			continue;
		while (i > 0 && small[i - 1] > h)
			i--;
		if (i > 0 && small[i - 1] == h)
			continue;
		size_t move = (n < sk->s ? n : n - 1) - i;
		memmove(small + i + 1, small + i, move * sizeof *small);
		memmove(kmer + i + 1, kmer + i, move * sizeof *kmer);
		small[i] = h;
		kmer[i] = c;
		n += n < sk->s;
	}
	for (size_t i = 0; i < n; i++)
		key[i] = kh_key(kmer[i]);
	return n;
}

static size_t run_minhash(const kh_sketch *sk, const kh_stretch *sp, uint64_t *key, uint32_t *pos)
{
	size_t n = 0;

	for (uint64_t at = sp->from; at < sp->to; at += sk->stride) {
		uint64_t end = sp->to - at < sk->stride ? sp->to : at + sk->stride;
		size_t m = minhash_window(sk, sp, at, end, key + n);

		for (size_t i = 0; i < m; i++)
			pos[n + i] = (uint32_t)(at - sp->from);
		n += m;
	}
	return n;
}

size_t kh_sketch_run(const kh_sketch *sk, const kh_stretch *span, uint64_t *key, uint32_t *pos)
{
	if (span->from >= span->to)
		return 0;
	return sk->scheme == KH_SYNCMER ? run_syncmer(sk, span, key, pos)
					: run_minhash(sk, span, key, pos);
}
