/*
 * look_up.h - the translated seeds of a database in memory, and look-ups of keys: section.h   [HD]
 */
#ifndef KH_TRANSLATED_LOOK_UP_H
#define KH_TRANSLATED_LOOK_UP_H

#include <assert.h>
#include <stdbool.h>
#include <string.h>
#include "kmer/text.h"

#define KH_TAGS 28                      /* of a line */
#define KH_KEY_GENERA 8                 /* of a family, at most, that have a key */

typedef struct kh_translated_head {
	uint32_t k;                     /* letters of a key */
	uint32_t genera, lines;
	uint32_t behind;                /* lines behind those that keys belong to */
	uint64_t places;
	uint64_t nothing;               /* 0 */
	uint32_t bits;                  /* of a place */
	uint32_t zero[7];
} kh_translated_head;

static_assert(sizeof(kh_translated_head) == 64, "what follows begins at multiples of 64");

/* A genus, in ascending order of taxa: its taxon, and its family, or 0; the threshold of its calls;
 * and the taxon that is called, which is this one or one above it. */
typedef struct kh_translated_genus {
	uint32_t taxon;
	union {
		uint32_t family;
		uint32_t first;         /* while a section is made: its first codon */
	};
	uint32_t threshold, called;
} kh_translated_genus;

/* A key, mixed to 32 bits, belongs to line key * lines / 2^32, or, if that line is full, to a line
 * behind it. */
typedef struct kh_translated_line {
	uint16_t tag[KH_TAGS];          /* the low bits of the keys, n of them */
	uint32_t base;                  /* the place of the first one; the others follow */
	uint8_t n, zero;
	/* bits of the tags, modulo 16, of keys that belong here or before, but are in a later
	 * line: so few look-ups go on for nothing, though lines are nearly full */
	uint16_t later;
} kh_translated_line;

static_assert(sizeof(kh_translated_line) == 64, "a look-up reads one cache line");

/* A stretch of the text, in which a read may lie; its genus by its place in the section, or
 * KH_NO_TAXON; and the species that it is of, or, if that is not known, the genus's taxon. */
typedef struct kh_translated_stretch {
	uint64_t begin, end;            /* bases */
	uint32_t genus, species;
} kh_translated_stretch;

/* How much is asked of a fragment: level.h. */
typedef struct kh_translated_level {
	uint32_t kinship;               /* at least, of a family */
	uint32_t share;                 /* of the threshold of a genus, in 1/100 */
} kh_translated_level;

/* Sections of a database point into the file; the head is NULL where there is none. */
typedef struct kh_translated {
	const kh_translated_head *head;
	const kh_translated_genus *genus;
	const kh_translated_line *line;
	const uint8_t *place;           /* head->bits each: kh_translated_at */
	const uint32_t *text;           /* of the database, with KH_TEXT_BEHIND words behind it */
	uint64_t bases;                 /* of it */
	kh_translated_stretch *stretch; /* n_stretches of them */
	size_t n_stretches;
	kh_translated_level level;
} kh_translated;

/* Place number i: twice a base of the database's text, the codon's first one; and 1 more if it is
 * read on the other strand, from there downwards. */
static KH_HD uint64_t kh_translated_at(const kh_translated *t, uint64_t i)
{
	const uint64_t bit = i * t->head->bits;
	uint64_t x;

#ifdef __CUDA_ARCH__                    /* reads no word that is not aligned */
	const uint64_t *w = (const uint64_t *)(const void *)t->place + bit / 64;

	x = bit % 64 ? w[0] >> bit % 64 | w[1] << (64 - bit % 64) : w[0];
#else
	memcpy(&x, t->place + bit / 8, sizeof x);
	x >>= bit % 8;
#endif
	return x & ((UINT64_C(1) << t->head->bits) - 1);
}
#define KH_PLACE_BITS 56                /* at most, as these are read */

static KH_HD uint32_t kh_translated_line_of(const kh_translated *t, uint32_t key)
{
	return (uint32_t)((uint64_t)key * t->head->lines >> 32);
}

#ifndef __CUDACC__
/* Has a line this tag?  Mostly not, and eight at a time are soon asked. */
static inline bool kh_translated_has(const kh_translated_line *l, uint16_t is)
{
	typedef uint16_t eight __attribute__((vector_size(16)));
	uint64_t any[2];
	eight tag[4], all = { 0 };

	memcpy(tag, l, sizeof tag);     /* and what is behind them */
	all += is;
	all = (eight)((tag[0] == all) | (tag[1] == all) | (tag[2] == all) | (tag[3] == all));
	memcpy(any, &all, sizeof any);
	return (any[0] | any[1]) != 0;
}
#endif

/* The number of the first tag of a line that equals `is`; KH_TAGS or more: none does. */
static KH_HD unsigned kh_translated_first_of(const kh_translated_line *l, uint16_t is)
{
	const uint64_t one = UINT64_C(0x0001000100010001), all = is * one;

#ifndef __CUDACC__
	if (!kh_translated_has(l, is))
		return KH_TAGS;
#endif
	for (unsigned i = 0; i < KH_TAGS; i += 4) {
		uint64_t x;

		memcpy(&x, __builtin_assume_aligned(l->tag + i, sizeof x), sizeof x);
		x ^= all;               /* the lowest 16 bits that are 0 become those set below */
		x = (x - one) & ~x & one << 15;
		if (x)
			return i + kh_text_lowest(x) / 8;
	}
	return KH_TAGS;
}

/* The number of a key's first place; *n: how many places it has, KH_KEY_GENERA at most, one behind
 * another. */
static KH_HD uint32_t kh_translated_look_up(const kh_translated *t, uint32_t key, uint32_t *n)
{
	const uint16_t tag = (uint16_t)key;
	uint32_t place = 0;

	*n = 0;
	for (const kh_translated_line *l = &t->line[kh_translated_line_of(t, key)];; l++) {
		unsigned i = *n > 0 ? 0 : kh_translated_first_of(l, tag);

		if (*n == 0)
			place = l->base + i;
		for (; i < l->n && l->tag[i] == tag && *n < KH_KEY_GENERA; i++)
			++*n;
		if ((*n > 0 && i < l->n) || !(l->later >> tag % 16 & 1))
			return place;
	}
}

/* The stretch that base `at` lies in, or behind, by its number. */
static KH_HD uint32_t kh_translated_stretch_of(const kh_translated *t, uint64_t at)
{
	size_t lo = 0;

	for (size_t n = t->n_stretches, half; n > 1; n -= half) {
		half = n / 2;
		lo = t->stretch[lo + half].begin <= at ? lo + half : lo;
	}
	return (uint32_t)lo;
}

#endif
