/*
 * sampling.h - which k-mers are kept: the sampling schemes   [HD]
 *
 * minhash: of the k-mers that start in one bin (a window of stride + k - 1 bases) the
 * `s` distinct ones that are smallest in the order fmix64(canonical ^ KH_ORDER_SEED).
 * MetaCache's scheme (Mueller et al. 2017): w = 127, s = 16.  A read does not begin where a window
 * of its genome does.  So of a read all k-mers are looked up that may be kept in a genome: those
 * below an order that the s smallest of a window seldom reach.
 *
 * syncmer: open syncmers (Edgar 2021; Shaw and Yu 2022): a k-mer is kept if the one of
 * its k - s + 1 s-mers that stands in the middle is smaller than all the others.  The
 * order of s-mers is that of their canonical form, and k - s is even: a k-mer and its
 * reverse complement are kept together.  Whether a k-mer is kept depends on it alone, so
 * what is kept of a genome is kept of a read.  A tie drops the k-mer: repeats with a
 * period of up to k - s bases (poly-A, dinucleotides) give no features, and two kept
 * k-mers start more than (k - s) / 2 bases apart, a bound that buffers rely on.
 *
 * Of what a scheme keeps, k-mers that are tandem repeats are left out (repeats.h), and of the
 * others a database of limited size has a share: the features whose rank, a mix of their key, is
 * not below `least`.  Both depend on the k-mer alone, too.  Windows of minhash are not filled up
 * for it, as one that is full of repeats should have few features.
 */
#ifndef KH_KMER_SAMPLING_H
#define KH_KMER_SAMPLING_H

#include "kmer/repeats.h"

enum { KH_MINHASH = 0, KH_SYNCMER = 1 };

typedef struct kh_sampling {
	uint32_t scheme;
	uint32_t k;
	uint32_t s;             /* syncmer: bases of an s-mer; minhash: features of a window */
	uint32_t stride;        /* bases of a bin; minhash: starts in a window */
	uint32_t least;         /* features of a lesser rank are left out; 0: none */
	uint32_t no_repeats;    /* 1: k-mers that are repeats are left out; 0: they are not */
} kh_sampling;

static inline const char *kh_scheme_name(uint32_t scheme)
{
	return scheme == KH_SYNCMER ? "syncmer" : "minhash";
}

#define KH_STRIDE_MAX 4096
#define KH_MINHASH_S_MAX 64

/* The 2k bits of the k bases from i, first base lowest.  Reads the word of base i, and the next one
 * only if the k-mer reaches into it. */
static KH_HD uint64_t kh_packed_bits(const uint64_t *bases, uint64_t i, unsigned k)
{
	uint64_t w = i >> 5;
	unsigned sh = 2 * (unsigned)(i & 31);
	uint64_t x = bases[w] >> sh;

	if (sh + 2 * k > 64)
		x |= bases[w + 1] << (64 - sh);
	return x & kh_kmer_mask(k);
}

/* The canonical k-mer of those bits.  With the first base lowest, the complement is
 * the reverse complement with the first base highest. */
static KH_HD uint64_t kh_bits_canonical(uint64_t bits, unsigned k)
{
	uint64_t fwd = kh_kmer_reverse(bits, k), rc = ~bits & kh_kmer_mask(k);

	return fwd < rc ? fwd : rc;
}

/* Is one of the k bases from i not ACGTU? */
static KH_HD int kh_packed_ambiguous(const uint32_t *amb, uint64_t i, unsigned k)
{
	uint64_t w = i >> 5;
	unsigned sh = (unsigned)(i & 31);
	uint64_t x = amb[w] >> sh;

	if (sh + k > 32)
		x |= (uint64_t)amb[w + 1] << (32 - sh);
	return (x & ((UINT64_C(1) << k) - 1)) != 0;
}

/* Order of s-mers, 32 bits: the finalizer of MurmurHash3 for 32 bits, a bijection up
 * to s = 16.  32 bits because it is computed for each base. */
static KH_HD uint32_t kh_smer_order(uint64_t canonical)
{
	uint32_t x = (uint32_t)canonical ^ (uint32_t)(canonical >> 32) * UINT32_C(0x9e3779b1) ^
		     UINT32_C(0x5bd1e995);

	x ^= x >> 16;
	x *= UINT32_C(0x85ebca6b);
	x ^= x >> 13;
	x *= UINT32_C(0xc2b2ae35);
	return x ^ x >> 16;
}

/* o[0 .. n-1]: the orders of the n = k - s + 1 s-mers of a k-mer. */
static KH_HD int kh_syncmer_keep(const uint32_t *o, unsigned n)
{
	uint32_t mid = o[n / 2];
	int keep = 1;

	for (unsigned i = 0; i < n; i++)
		keep &= (i == n / 2) | (mid < o[i]);
	return keep;
}

static KH_HD uint64_t kh_minhash_order(uint64_t canonical)
{
	return kh_fmix64(canonical ^ KH_ORDER_SEED);
}

/* May a k-mer be kept, whatever window it is in?  As many as s + s / 2 + 3 of a window are below
 * the greatest order for which that is so, and of random ones the s smallest nearly always. */
static KH_HD int kh_minhash_may(const kh_sampling *rule, uint64_t canonical)
{
	const uint32_t n = rule->s + rule->s / 2 + 3;

	return n >= rule->stride ||
	       kh_minhash_order(canonical) <= UINT64_MAX / rule->stride * n;
}

/* The rank of a feature with that key: 32 bits that have nothing to do with its place in the
 * index. */
static KH_HD uint32_t kh_feature_rank(uint64_t key)
{
	return (uint32_t)(kh_fmix64(key ^ KH_RANK_SEED) >> 32);
}

/* Is a feature that the scheme keeps left in, by its rank? */
static KH_HD int kh_sampling_takes(const kh_sampling *rule, uint64_t key)
{
	return rule->least == 0 || kh_feature_rank(key) >= rule->least;
}

/* Is a k-mer that the scheme keeps left out as a repeat?  In either order of its bases. */
static KH_HD int kh_sampling_repeat(const kh_sampling *rule, uint64_t kmer)
{
	return rule->no_repeats && kh_repeat_is(kmer, rule->k);
}

/* Of 2^32 features, how many are left in. */
static KH_HD uint64_t kh_sampling_share(const kh_sampling *rule)
{
	return ((uint64_t)1 << 32) - rule->least;
}

/* The most features that n starts of k-mers can give. */
static KH_HD uint64_t kh_sampling_bound(const kh_sampling *rule, uint64_t n)
{
	if (rule->scheme == KH_SYNCMER)
		return n / ((rule->k - rule->s) / 2 + 1) + 1;
	const uint32_t most = rule->s < rule->stride ? rule->s : rule->stride;

	return (n + rule->stride - 1) / rule->stride * most;
}

/* The most k-mers of n starts in a read that are looked up. */
static KH_HD uint64_t kh_sampling_asked_bound(const kh_sampling *rule, uint64_t n)
{
	return rule->scheme == KH_SYNCMER ? kh_sampling_bound(rule, n) : n;
}

#ifndef __CUDACC__
#include "base/msg.h"

/* Fails unless these parameters are allowed. */
int kh_sampling_check(const kh_sampling *rule, kh_err *err);

/*
 * The features that start at [from, to) of a packed sequence: key[j] = kh_key() of the
 * k-mer and pos[j] = its start less `from`, ascending by position for syncmers, by window
 * for minhash (whose windows are counted from `from`).  Every k-mer that starts
 * before `to` must lie inside the sequence.  Room for kh_sampling_bound(to - from).
 * Returns the number of features.
 */
typedef struct kh_sampling_span {
	const uint64_t *bases;
	const uint32_t *amb;
	uint64_t from, to;
} kh_sampling_span;

size_t kh_sampling_run(const kh_sampling *rule, const kh_sampling_span *span, uint64_t *key,
		       uint32_t *pos);

/* The same of a read that is compared with text: what is looked up of it, with the starts of the
 * k-mers, ascending.  Room for kh_sampling_asked_bound(to - from). */
size_t kh_sampling_asked(const kh_sampling *rule, const kh_sampling_span *span, uint64_t *key,
			 uint32_t *pos);

/* Starts of k-mers in a sequence of len bases. */
static inline uint64_t kh_sampling_starts(const kh_sampling *rule, uint64_t len)
{
	return len < rule->k ? 0 : len - rule->k + 1;
}
#endif

#endif
