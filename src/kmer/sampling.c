#include <config.h>
#include "kmer/sampling.h"

#include <stdbool.h>
#include <string.h>
#include "kmer/syncmer.h"

int kh_sampling_check(const kh_sampling *rule, kh_err *err)
{
	if (rule->scheme != KH_MINHASH && rule->scheme != KH_SYNCMER)
		return kh_fail(err, KH_EUSAGE, "sampling scheme %u is not known", rule->scheme);
	if (rule->k < KH_K_MIN || rule->k > KH_K_MAX)
		return kh_fail(err, KH_EUSAGE, "k is %u, not %d to %d", rule->k, KH_K_MIN,
			       KH_K_MAX);
	if (rule->stride < 16 || rule->stride > KH_STRIDE_MAX)
		return kh_fail(err, KH_EUSAGE, "stride is %u, not 16 to %d", rule->stride,
			       KH_STRIDE_MAX);
	if (rule->scheme == KH_MINHASH && (rule->s < 1 || rule->s > KH_MINHASH_S_MAX))
		return kh_fail(err, KH_EUSAGE, "features of a window are %u, not 1 to %d", rule->s,
			       KH_MINHASH_S_MAX);
	if (rule->scheme == KH_SYNCMER &&
	    (rule->s < 2 || rule->s >= rule->k || (rule->k - rule->s) % 2 != 0 ||
	     rule->k - rule->s > 16))
		return kh_fail(err, KH_EUSAGE,
			       "s-mers of %u bases do not fit k = %u: k - s must be even, 2 to 16",
			       rule->s, rule->k);
	if (rule->no_repeats > 1)
		return kh_fail(err, KH_EUSAGE, "whether repeats are left out is %u, not 0 or 1",
			       rule->no_repeats);
	return KH_OK;
}

/* Is any base of [from, end) not ACGTU? */
static bool any_ambiguous(const uint32_t *amb, uint64_t from, uint64_t end)
{
	uint32_t any = amb[from >> 5] >> (from & 31) << (from & 31);
	uint64_t w = from >> 5;

	for (; w < (end - 1) >> 5; any = amb[++w])
		if (any)
			return true;
	return any << (31 - (end - 1) % 32);
}

/* Those of m starts whose k-mers have no ambiguous base; their number. */
static size_t unambiguous(const kh_sampling *rule, const uint32_t *amb, uint64_t at,
			  uint32_t *start, size_t m)
{
	size_t left = 0;

	for (size_t i = 0; i < m; i++) {
		start[left] = start[i];
		left += !kh_packed_ambiguous(amb, at + start[i], rule->k);
	}
	return left;
}

/* Takes repeats out of the n <= KH_SYNCMER_TILE k-mers; returns how many are left.  Most eights
 * have none. */
static size_t drop_repeats(unsigned k, uint64_t *kmer, uint32_t *pos, size_t n)
{
	uint8_t is[KH_SYNCMER_TILE / 8];
	size_t left = 0;

	kh_repeats_get()(k, kmer, n, is);
	for (size_t i = 0; i < n; i += 8) {
		const size_t end = n - i < 8 ? n : i + 8;

		if (left == i && is[i / 8] == 0) {
			left = end;
			continue;
		}
		for (size_t j = i; j < end; j++) {
			kmer[left] = kmer[j];
			pos[left] = pos[j];
			left += !(is[i / 8] >> (j - i) & 1);
		}
	}
	return left;
}

/* The bits of m k-mers. Those of up to 29 bases lie in the 8 bytes where they begin: it need not be
 * asked whether they reach into a second word. */
static void take_bits(const kh_sampling *rule, const uint64_t *bases, uint64_t at, uint64_t end,
		      const uint32_t *start, size_t m, uint64_t *kmer)
{
	const uint64_t mask = kh_kmer_mask(rule->k);

	if (rule->k > 29)
		for (size_t i = 0; i < m; i++)
			kmer[i] = kh_packed_bits(bases, at + start[i], rule->k);
	else
		for (size_t i = 0; i < m; i++) {
			const uint64_t from = at + start[i];

			kmer[i] = kh_bases_from(bases, from / 4 * 4, end) >> 2 * (from % 4) & mask;
		}
}

static size_t run_syncmer(const kh_sampling *rule, const kh_sampling_span *sp, uint64_t *key,
			  uint32_t *pos)
{
	kh_syncmer_fn *syncmers = kh_syncmer_get(rule);
	uint32_t start[KH_SYNCMER_TILE + 16];
	size_t n = 0;

	for (uint64_t at = sp->from; at < sp->to; at += KH_SYNCMER_TILE) {
		const uint64_t left = sp->to - at;
		const size_t starts = left < KH_SYNCMER_TILE ? (size_t)left : KH_SYNCMER_TILE;
		size_t m = syncmers(rule, sp->bases, at, starts, start);

		if (any_ambiguous(sp->amb, at, at + starts + rule->k - 1))
			m = unambiguous(rule, sp->amb, at, start, m);
		take_bits(rule, sp->bases, at, (at + starts + rule->k - 1 + 31) / 32 * 32, start, m,
			  key + n);
		for (size_t i = 0; i < m; i++)
			pos[n + i] = (uint32_t)(at + start[i] - sp->from);
		if (rule->no_repeats)
			m = drop_repeats(rule->k, key + n, pos + n, m);
		n += m;
	}
	kh_keys_get()(key, n, rule->k);
	return n;
}

/* One window: a sorted list of the smallest orders so far (distinct, as the order is
 * a bijection of the canonical k-mer). */
static size_t minhash_window(const kh_sampling *rule, const kh_sampling_span *sp, uint64_t at,
			     uint64_t end, uint64_t *key)
{
	uint64_t small[KH_MINHASH_S_MAX], kmer[KH_MINHASH_S_MAX];
	size_t n = 0;

	for (; at < end; at++) {
		uint64_t c, h;
		size_t i = n;

		if (kh_packed_ambiguous(sp->amb, at, rule->k))
			continue;
		c = kh_bits_canonical(kh_packed_bits(sp->bases, at, rule->k), rule->k);
		h = kh_minhash_order(c);
		if (n == rule->s && h >= small[n - 1])
			continue;
		while (i > 0 && small[i - 1] > h)
			i--;
		if (i > 0 && small[i - 1] == h)
			continue;
		size_t move = (n < rule->s ? n : n - 1) - i;
		memmove(small + i + 1, small + i, move * sizeof *small);
		memmove(kmer + i + 1, kmer + i, move * sizeof *kmer);
		small[i] = h;
		kmer[i] = c;
		n += n < rule->s;
	}
	size_t left = 0;
	for (size_t i = 0; i < n; i++) {
		key[left] = kh_key(kmer[i]);
		left += !kh_sampling_repeat(rule, kmer[i]);
	}
	return left;
}

static size_t run_minhash(const kh_sampling *rule, const kh_sampling_span *sp, uint64_t *key,
			  uint32_t *pos)
{
	size_t n = 0;

	for (uint64_t at = sp->from; at < sp->to; at += rule->stride) {
		uint64_t end = sp->to - at < rule->stride ? sp->to : at + rule->stride;
		size_t m = minhash_window(rule, sp, at, end, key + n);

		for (size_t i = 0; i < m; i++)
			pos[n + i] = (uint32_t)(at - sp->from);
		n += m;
	}
	return n;
}

/* Those of n features that are left in; their number. */
static size_t leave_out(const kh_sampling *rule, uint64_t *key, uint32_t *pos, size_t n)
{
	size_t left = 0;

	for (size_t i = 0; i < n; i++) {
		key[left] = key[i];
		pos[left] = pos[i];
		left += (size_t)kh_sampling_takes(rule, key[i]);
	}
	return left;
}

size_t kh_sampling_run(const kh_sampling *rule, const kh_sampling_span *span, uint64_t *key,
		       uint32_t *pos)
{
	size_t n;

	if (span->from >= span->to)
		return 0;
	n = rule->scheme == KH_SYNCMER ? run_syncmer(rule, span, key, pos)
				     : run_minhash(rule, span, key, pos);
	return rule->least ? leave_out(rule, key, pos, n) : n;
}

size_t kh_sampling_asked(const kh_sampling *rule, const kh_sampling_span *span, uint64_t *key,
			 uint32_t *pos)
{
	size_t n = 0;

	if (rule->scheme == KH_SYNCMER)
		return kh_sampling_run(rule, span, key, pos);
	for (uint64_t at = span->from; at < span->to; at++) {
		uint64_t c;

		if (kh_packed_ambiguous(span->amb, at, rule->k))
			continue;
		c = kh_bits_canonical(kh_packed_bits(span->bases, at, rule->k), rule->k);
		if (!kh_minhash_may(rule, c) || kh_sampling_repeat(rule, c))
			continue;
		key[n] = kh_key(c);
		pos[n++] = (uint32_t)(at - span->from);
	}
	return rule->least ? leave_out(rule, key, pos, n) : n;
}
