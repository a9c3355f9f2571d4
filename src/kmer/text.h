/*
 * text.h - bases of two bits, 16 a word of 32 bits, and reads compared with them   [HD]
 *
 * The text of a database has some words for each of its bins, the first base in the lowest bits.
 * A bin of zeros follows each stretch of a target that is kept, and KH_TEXT_BEHIND words of zeros
 * follow them all: so a read that hangs over the end still reads memory that is there.
 *
 * Strains whose text is left out, as it is like that of a stretch, may have another base here and
 * there: an allele.  A stretch with alleles has them as words of its own, behind all of the text:
 * for each base its XOR with the allele, or 0.  Behind these are as many zeros again.
 *
 * A read that lies along the text, as it is or as its reverse complement, is compared base by base:
 * a match, with the text or an allele, counts 1, a mismatch -1, and what counts is the high-scoring
 * segment pair (HSP): the columns in a row, without a gap, with the greatest sum.
 *
 * Of the strains whose text is like that of a stretch, two lowest common ancestors are known: that
 * of the strains with the same bases, and that of the strains that differ in some base.
 *
 * Example: the read GATTACAG has 7 matches and 1 mismatch with the text GATTCCAG: a score of 6 in 8
 * columns.  With the text GATTACAT it has a score of 7 in 7 columns: the last one does not count.
 * If a strain has the allele A at the fifth base of the text GATTCCAG, the read matches in all
 * columns, and scores 8.
 */
#ifndef KH_KMER_TEXT_H
#define KH_KMER_TEXT_H

#include "kmer/kmer.h"

#define KH_TEXT_WORD 16                 /* bases */
#define KH_TEXT_SPAN 512                /* the longest mate that is compared at once */
#define KH_TEXT_BEHIND 64               /* words of zeros, more than that and a k-mer */
#define KH_TEXT_WORDS (KH_TEXT_SPAN / 32 + 1)

/* Ends of a read that lie aside: from so many bases on, by so many at most, with such a score at
 * least, of which so much is what the gap costs. */
#define KH_END_BASES 12
#define KH_END_ASIDE 8
#define KH_END_SCORE 14
#define KH_GAP_COST 6
#define KH_END_WINDOW 64                /* bases of a long read that are looked at at a time */

/* 0 where kernels are compiled for databases without alleles, which take some 6 % less time. */
#ifndef KH_ALLELES
#define KH_ALLELES 1
#endif

/* The low bit of each base. */
#define KH_TEXT_LOW UINT64_C(0x5555555555555555)

/* 32 bases from base i on.  Reads three words. */
static KH_HD uint64_t kh_text_bases(const uint32_t *text, uint64_t i)
{
	const uint32_t *w = text + i / KH_TEXT_WORD;
	const unsigned sh = 2 * (unsigned)(i % KH_TEXT_WORD);
	const uint64_t two = w[0] | (uint64_t)w[1] << 32;

	return sh ? two >> sh | (uint64_t)w[2] << (64 - sh) : two;
}

/* The low bit of each base in which x and y differ. */
static KH_HD uint64_t kh_text_differ(uint64_t x, uint64_t y)
{
	const uint64_t d = x ^ y;

	return (d | d >> 1) & KH_TEXT_LOW;
}

/* Bits of the first m <= 32 bases. */
static KH_HD uint64_t kh_text_first(uint32_t m)
{
	return m < 32 ? (UINT64_C(1) << 2 * m) - 1 : UINT64_MAX;
}

/* How many bases a mask of low bits has: no CPU is asked for an instruction of its own. */
static KH_HD uint32_t kh_text_count(uint64_t x)
{
#ifdef __CUDA_ARCH__
	return (uint32_t)__popcll((long long)x);
#endif
	x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
	x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (uint32_t)(x * UINT64_C(0x0101010101010101) >> 56);
}

/* The first base of those whose low bits are set in x, which is not 0. */
static KH_HD uint32_t kh_text_lowest(uint64_t x)
{
#ifdef __CUDA_ARCH__
	return ((uint32_t)__ffsll((long long)x) - 1) / 2;
#else
	return (uint32_t)__builtin_ctzll(x) / 2;
#endif
}

/* The number of the lowest bit of x, which is not 0. */
static KH_HD uint32_t kh_lowest_bit(uint32_t x)
{
#ifdef __CUDA_ARCH__
	return (uint32_t)__ffs((int)x) - 1;
#else
	return (uint32_t)__builtin_ctz(x);
#endif
}

/* The low bits of 32 bases, side by side: a GPU takes several instructions for 64 bits. */
static KH_HD uint32_t kh_text_join(uint64_t x)
{
	uint32_t half[2] = { (uint32_t)x, (uint32_t)(x >> 32) };

	for (int i = 0; i < 2; i++) {
		half[i] = (half[i] | half[i] >> 1) & UINT32_C(0x33333333);
		half[i] = (half[i] | half[i] >> 2) & UINT32_C(0x0f0f0f0f);
		half[i] = (half[i] | half[i] >> 4) & UINT32_C(0x00ff00ff);
		half[i] = (half[i] | half[i] >> 8) & UINT32_C(0x0000ffff);
	}
	return half[0] | half[1] << 16;
}

/* A read, 32 bases a word, the first in the lowest bits; zeros behind the last one. */
typedef struct kh_oriented {
	uint64_t base[KH_TEXT_WORDS];
	uint64_t unknown[KH_TEXT_WORDS];        /* low bits of bases that are not ACGTU */
} kh_oriented;

/* The columns of a comparison that count: some of [from, to) of the read. */
typedef struct kh_alignment {
	uint32_t score;                 /* matches less mismatches, and less what a gap costs */
	uint32_t matches, columns;
	uint32_t from, to;
} kh_alignment;

/* Of a stretch of the text: */
typedef struct kh_text_stretch {
	uint64_t end;                   /* the base behind its last one */
	uint64_t alleles;               /* the word where its alleles begin; 0: it has none */
} kh_text_stretch;

/* Of some bins of a stretch: the LCA of strains whose text is the same, the stretch's own one with
 * them; and of others, which have an allele there.  Where a bin is in none of these, all strains
 * that are like it are of the taxon of the stretch. */
typedef struct kh_text_strains {
	uint32_t bin, bins;
	uint32_t same, other;           /* taxa by number, of one species */
} kh_text_strains;

/* A read, and the target that it is compared with. */
typedef struct kh_laid {
	const kh_oriented *read;
	uint32_t len;
	const uint32_t *text;
	const uint32_t *alleles;        /* by the numbers of the text's words, or NULL */
	uint64_t begin, end;            /* bases of the target */
	struct kh_text_seen *seen;      /* seen.h, or NULL */
} kh_laid;

/* The low bits of those of 32 bases of a read that match neither the text from base i on nor an
 * allele; the first `skip` bases of the word are in front of base i. */
static KH_HD uint64_t kh_laid_differ(const kh_laid *l, uint64_t read, uint64_t i, uint32_t skip)
{
	const uint64_t x = read ^ kh_text_bases(l->text, i) << 2 * skip;
	uint64_t differ = (x | x >> 1) & KH_TEXT_LOW;

	if (KH_ALLELES && l->alleles && differ != 0) {
		const uint64_t y = x ^ kh_text_bases(l->alleles, i) << 2 * skip;

		differ &= y | y >> 1;
	}
	return differ;
}

#endif
