/*
 * letters.h - codons as letters, stop-free runs, and the keys that are sampled of letters   [HD]
 *
 * Amino acids that often take each other's place share a letter: LM IV C A G S T P FY W E D N Q KR
 * H are numbers 0 to 15, by the genetic code 11, or, of references, by 4, in which TGA is no stop
 * but W.  A key is 8 or 10 letters in a row, of four bits each, the first one highest.  Of all keys
 * in a row an open syncmer is kept: a word of four letters, a number like the key, has the order
 * 40503 times that mod 2^16, and none of those in the key has a lesser one than that in the middle.
 *
 * Example: ATGAGCAAAGGTGAAGAACTGTTT are the codons of MSKGEELF, letters 0 5 14 4 10 10 0 8, and the
 * key 05e4aa08.  Its words 05e4, 5e4a, e4aa, 4aa0 and aa08 have the orders 64508, 60902, 3206,
 * 51296 and 30648: the one in the middle has the least, so the key is kept.
 */
#ifndef KH_TRANSLATED_LETTERS_H
#define KH_TRANSLATED_LETTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "kmer/kmer.h"

#define KH_KEY_MOST 10                  /* letters of a key */
#define KH_SMER 4                       /* of what it is sampled by */
#define KH_STOP 16                      /* in place of a letter: a stop codon, or unknown */

/* The letters of a key, for so many bases of references: 8 or 10, as chance hits of shorter keys
 * grow with the references. */
uint32_t kh_key_len(uint64_t bases);
#define KH_KEY_BASES_8 UINT64_C(200000000)

/* References have no keys of fewer different letters, as tandem repeats do. */
#define KH_KEY_LETTERS 5

/* What keys are known by. */
static KH_HD uint32_t kh_key_mix(uint64_t key)
{
	return (uint32_t)(kh_fmix64(key) >> 32);
}

/* In front of a short loop that is gone through very often. */
#define KH_UNROLLED _Pragma("GCC unroll 8")

/* What orders rows of four letters: an odd number, so orders are all different. */
#define KH_SMER_ORDER 40503

/* Is a key of k letters kept?  The reference, and what a kernel does. */
static KH_HD bool kh_key_kept(uint64_t key, uint32_t k)
{
	const uint32_t others = k - KH_SMER;
	const uint32_t middle = (uint32_t)(key >> 2 * others) * KH_SMER_ORDER & 0xffff;
	bool kept = true;

	for (uint32_t m = 0; m <= others; m++)
		kept &= ((uint32_t)(key >> 4 * m) * KH_SMER_ORDER & 0xffff) >= middle;
	return kept;
}

/* 32 bases of two bits, from base i on; reads the word behind. */
static KH_HD uint64_t kh_bases_at(const uint64_t *base, uint64_t i)
{
	const unsigned sh = 2 * (unsigned)(i % 32);

	return sh ? base[i / 32] >> sh | base[i / 32 + 1] << (64 - sh) : base[i / 32];
}

/* The low bit of each of 32 bases, x and those behind them, with which a stop codon begins: TAA,
 * TAG or, unless the genetic code is 4, TGA; and of those where the reverse complement of one
 * begins. */
uint64_t kh_stops(uint64_t x, uint64_t next, bool code_4);
uint64_t kh_stops_reverse(uint64_t x, uint64_t next, bool code_4);

/* The letters of n codons in a row, which are no stops. Reads the word behind the last base. */
void kh_letters(const uint64_t *base, uint64_t at, uint32_t n, uint8_t *letter);
#define KH_LETTERS_MOST 512             /* that are sampled at a time, */
#define KH_LETTERS_ROOM (KH_LETTERS_MOST + 64)  /* and that are touched, whatever they are */

#define KH_LETTERS_WORDS (KH_LETTERS_MOST / 64)

/* The keys of letters. */
typedef struct kh_letter_keys {
	uint16_t smer[KH_LETTERS_ROOM];         /* of each letter: it and the next three */
	uint64_t open[KH_LETTERS_WORDS];        /* a bit each: it is no stop, */
	uint64_t kept[KH_LETTERS_WORDS];        /* and a key that is kept begins there */
} kh_letter_keys;

typedef struct kh_letters_by {
	/* The letters of the codons that begin at each base, but the last two, of a read of n
	 * bases, 3 or more, and of its reverse complement.  Reads the word behind the last base;
	 * up to 31 letters in front of `reverse` are written, too. */
	void (*of_read)(const uint64_t *base, uint32_t n, uint8_t *letter, uint8_t *reverse);
	/* Samples the keys of k letters, each `step` letters behind the one before, that begin at
	 * the first n letters: there is one at each 1, of one frame, or each 3, of a read.  A key
	 * that goes beyond the last letter, or over a stop, has no meaning. */
	void (*sample)(kh_letter_keys *s, uint32_t k, uint32_t step, const uint8_t *letter,
		       uint32_t n);
} kh_letters_by;

const kh_letters_by *kh_letters_best(void);     /* what is best here */
const kh_letters_by *kh_letters_avx2(void);     /* NULL: not here */

/* Marks, of n letters of a read that were sampled, those where keys of k letters may begin: inside
 * rows of at least `row` letters without a stop. */
void kh_letters_rows(const kh_letter_keys *s, uint32_t n, uint32_t row, uint32_t k,
		     uint64_t at[KH_LETTERS_WORDS + 1]);
#define KH_LETTERS_ROW 42               /* at most: these are found by shifts within a word */

/* Makes stops of letters of a read with a base that is not ACGTU: its low bit is in `unknown`. */
void kh_letters_hide(const uint64_t *unknown, uint32_t n, uint8_t *letter, uint8_t *reverse);

/* By codon, its first base in the lowest bits; and of the reverse complement of a codon. */
extern const uint8_t kh_letter_of[64], kh_letter_of_reverse[64];

/* What the key at letter i is known by. */
static inline uint32_t kh_letters_key(const kh_letter_keys *s, uint32_t k, uint32_t step,
				      uint32_t i)
{
	const uint64_t first = (uint64_t)s->smer[i] << 16 | s->smer[i + 4 * step];

	return kh_key_mix(k == 8 ? first : first << 8 | s->smer[i + 6 * step] % 256);
}

#endif
