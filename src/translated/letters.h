/*
 * letters.h - codons as letters, stop-free runs, and the keys that are sampled of letters
 *
 * Amino acids that often take each other's place share a letter: LM IV C A G S T P FY W E D N Q KR
 * H are numbers 0 to 15, by the genetic code 11.  A key is 8 or 10 letters in a row, of four bits
 * each, the first one highest.  Of all keys in a row an open syncmer is kept: a stretch of four
 * letters, a number like the key, has the order 40503 times that mod 2^16, and none of those in the
 * key has a lesser one than that in the middle.
 */
#ifndef KH_TRANSLATED_LETTERS_H
#define KH_TRANSLATED_LETTERS_H

#include <stddef.h>
#include <stdint.h>
#include "kmer/kmer.h"

#define KH_KEY_MOST 10                  /* letters of a key */
#define KH_SMER 4                       /* of what it is sampled by */
#define KH_RUN_MOST 512                 /* letters that are sampled at a time, */
#define KH_RUN_ROOM (KH_RUN_MOST + 48)  /* and that are read, whatever they are */

/* The letters of a key, for so many bases of references: 8 or 10, as chance hits of shorter keys
 * grow with the references. */
uint32_t kh_key_len(uint64_t bases);
#define KH_KEY_BASES_8 UINT64_C(200000000)

/* References have no keys of fewer different letters, as tandem repeats do. */
#define KH_KEY_LETTERS 5

/* What keys are known by. */
static inline uint32_t kh_key_mix(uint64_t key)
{
	return (uint32_t)(kh_fmix64(key) >> 32);
}

/* 32 bases of two bits, from base i on; reads the word behind. */
static inline uint64_t kh_bases_at(const uint64_t *base, uint64_t i)
{
	const unsigned sh = 2 * (unsigned)(i % 32);

	return sh ? base[i / 32] >> sh | base[i / 32 + 1] << (64 - sh) : base[i / 32];
}

/* The low bit of each of 32 bases, x and those behind them, with which a stop codon begins: TAA,
 * TAG or TGA; and of those where the reverse complement of one begins. */
uint64_t kh_stops(uint64_t x, uint64_t next);
uint64_t kh_stops_reverse(uint64_t x, uint64_t next);

/* The letters of n codons in a row. Reads the word behind the last base. */
void kh_letters(const uint64_t *base, uint64_t at, uint32_t n, uint8_t *letter);
/* The same of the reverse complement: the first codon there ends, here, in front of base `end`. */
void kh_letters_reverse(const uint64_t *base, uint64_t end, uint32_t n, uint8_t *letter);

/* The keys of a run of n letters, up to KH_RUN_MOST, in KH_RUN_ROOM, by their mixes; and the
 * letters at which they begin.  Room for n of both. */
size_t kh_keys_sample(uint32_t k, const uint8_t *letter, uint32_t n, uint32_t *key, uint32_t *pos);

#endif
