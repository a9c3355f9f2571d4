/*
 * repeats.h - k-mers that are tandem repeats   [HD]
 *
 * Genomes that have nothing else in common share microsatellites and what looks like them: poly-A,
 * ACACAC..., (GGAA)n.  A read that is called because of such k-mers alone is called wrongly, so
 * they are left out of references and of reads.
 *
 * In a repeat of period p each base is that p places further on.  A k-mer is one if, for some
 * period of up to 6 bases of which it holds three, fewer than a quarter of its k - p pairs of bases
 * that are p places apart differ.  A base that has changed spoils two pairs, so this is a repeat of
 * which fewer than one base in eight have changed.  Only the longer half of the periods is looked
 * at (4 to 6, from k = 18 on), as a repeat of a shorter period is one of two or three times that.
 * In k-mers of random bases three pairs of four differ, so that few of them are taken for repeats:
 * one of 167 with k = 9, which is the most, of 4900 with k = 18, of 50000 with k = 22.
 *
 * The pairs are the same ones on the other strand, and in whichever order the bases stand in the
 * word.
 */
#ifndef KH_KMER_REPEATS_H
#define KH_KMER_REPEATS_H

#include "kmer/kmer.h"

#define KH_PERIODS 3            /* the most that are looked at, of which the longest is 6 */

/* The longest period. */
static KH_HD unsigned kh_repeat_longest(unsigned k)
{
	return k / 3 < 6 ? k / 3 : 6;
}

/* The most pairs that differ in a repeat of period p. */
static KH_HD unsigned kh_repeat_most(unsigned k, unsigned p)
{
	return (k - p - 1) / 4;
}

/* Of the pairs of bases that are p places apart, how many differ. */
static KH_HD unsigned kh_repeat_differ(uint64_t kmer, unsigned k, unsigned p)
{
	uint64_t x = (kmer ^ kmer >> 2 * p) & kh_kmer_mask(k - p);

	x = (x | x >> 1) & UINT64_C(0x5555555555555555);
#ifdef __CUDA_ARCH__
	return (unsigned)__popcll((long long)x);
#else
	/* not every machine that this is compiled for counts bits */
	x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
	x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (unsigned)(x * UINT64_C(0x0101010101010101) >> 56);
#endif
}

static KH_HD int kh_repeat_is(uint64_t kmer, unsigned k)
{
	int is = 0;

	for (unsigned p = kh_repeat_longest(k) / 2 + 1; p <= kh_repeat_longest(k); p++)
		is |= kh_repeat_differ(kmer, k, p) <= kh_repeat_most(k, p);
	return is;
}

#ifndef __CUDACC__
/* The same for functions that look at three periods, whatever k is. */
typedef struct kh_repeat_rule {
	unsigned period[KH_PERIODS];
	uint64_t pairs[KH_PERIODS];     /* both bits of each, in the place of one base */
	uint64_t many[KH_PERIODS];      /* so many pairs that differ are too many; 0: no period */
} kh_repeat_rule;

static inline kh_repeat_rule kh_repeat_rule_of(unsigned k)
{
	const unsigned longest = kh_repeat_longest(k);
	kh_repeat_rule r;

	for (unsigned i = 0; i < KH_PERIODS; i++) {
		const unsigned p = longest - i;

		r.period[i] = p;
		r.pairs[i] = kh_kmer_mask(k - p);
		r.many[i] = p > longest / 2 ? kh_repeat_most(k, p) + 1 : 0;
	}
	return r;
}

/*
 * Many at a time: bit i % 8 of is[i / 8] says whether kmer[i] is a repeat; bits behind n are zero.
 * kh_repeats_plain() is the specification.
 */
typedef void kh_repeats_fn(unsigned k, const uint64_t *kmer, size_t n, uint8_t *is);

kh_repeats_fn kh_repeats_plain;
kh_repeats_fn *kh_repeats_avx2(void);           /* NULL: not here */
kh_repeats_fn *kh_repeats_get(void);            /* what suits the machine and KH_SIMD */
#endif

#endif
