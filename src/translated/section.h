/*
 * section.h - translated seeds of a database: protein-coding stretches of the references, by genus,
 * and a table of their keys
 *
 *	build:    targets of a genus -> stop-free stretches (stretches.c) -> keys; stretches
 *	          that the genus has nearly so are left out (make.c) -> keys of one genus only,
 *	          thresholds by those of two (thresholds.c) -> the section, kmerhash-db(5)
 *	classify: a fragment that the rule left uncalled -> keys of its six frames -> places
 *	          -> ungapped comparison of its bases -> scores of genera (rule.c) -> a genus,
 *	          or none
 *
 * What reads are compared with are parts: the stretches of targets of a database with text, else
 * the genera, whose coding stretches the section has itself, in the direction in which they are
 * read.  kmerhash-method(7) has the rule.
 */
#ifndef KH_TRANSLATED_SECTION_H
#define KH_TRANSLATED_SECTION_H

#include <assert.h>
#include <stdint.h>
#include <string.h>
#include "base/msg.h"
#include "taxonomy/taxonomy.h"
#include "translated/letters.h"

#define KH_TAGS 28                      /* of a line */

typedef struct kh_translated_head {
	uint32_t k;                     /* letters of a key */
	uint32_t genera, lines;
	uint32_t behind;                /* lines behind those that keys belong to */
	uint64_t places;
	uint64_t codons;                /* of all genera; below 2^32; 0 in a database with text */
	uint32_t bits;                  /* of a place */
	uint32_t zero[7];
} kh_translated_head;

static_assert(sizeof(kh_translated_head) == 64, "what follows begins at multiples of 64");

/* In ascending order of both: a taxon's number, and the first codon of its stretches, a multiple of
 * KH_GENUS_CODONS; 0 in a database with text.  What it is called is that taxon, or one above it. */
typedef struct kh_translated_genus {
	uint32_t taxon, first, threshold, called;
} kh_translated_genus;
#define KH_GENUS_CODONS 32

/* A key, mixed to 32 bits, belongs to line key * lines / 2^32, or, where that is full, to one of
 * those behind it. */
typedef struct kh_translated_line {
	uint16_t tag[KH_TAGS];          /* the low bits of the keys, n of them */
	uint32_t base;                  /* the place of the first one; the others follow */
	uint8_t n, zero;
	/* bits of the tags, modulo 16, of keys that belong here or before, but are in a later
	 * line: so few look-ups go on for nothing, though lines are nearly full */
	uint16_t later;
} kh_translated_line;

static_assert(sizeof(kh_translated_line) == 64, "a look-up reads one cache line");

/* A part of a text that a read may lie in; its genus by its place in the section, or
 * KH_NO_TAXON. */
typedef struct kh_translated_part {
	uint64_t begin, end;            /* bases */
	uint32_t genus;
} kh_translated_part;

/* The text of a database: parts ascend. */
typedef struct kh_translated_text {
	const uint32_t *text;
	uint64_t bases;                 /* with what lies between parts */
	kh_translated_part *part;       /* its genus is the number of a taxon */
	size_t n;
} kh_translated_text;

/* Sections of a database point into the file; the head is NULL where there is none. */
typedef struct kh_translated {
	const kh_translated_head *head;
	const kh_translated_genus *genus;
	const kh_translated_line *line;
	const uint8_t *place;           /* head->bits each: kh_translated_at */
	const uint32_t *text;           /* with KH_TEXT_BEHIND words behind it */
	uint64_t bases;                 /* of it */
	kh_translated_part *part;
	size_t parts;
} kh_translated;

/* Finds the parts of a section, and checks them: taxa are numbered below n_taxa.  `of` is the
 * database's text, or NULL; its parts become the section's. */
int kh_translated_find(kh_translated *t, const void *section, uint64_t bytes, uint32_t n_taxa,
		       const kh_translated_text *of, kh_err *err);
void kh_translated_clear(kh_translated *t);

/* Makes it point into a copy of the section, wherever its parts are in that. */
void kh_translated_move(kh_translated *t, const void *copy);

/* The bytes of the text of that many codons, with what is behind it; of n places; and the bits that
 * numbers below n take. */
uint64_t kh_translated_text_bytes(uint64_t codons);
uint64_t kh_translated_place_bytes(uint64_t n, uint32_t bits);
uint32_t kh_translated_bits(uint64_t n);

/* The taxon that one of a target counts as: its genus, or, without one, its species. */
uint32_t kh_translated_taxon(const kh_taxonomy *tax, uint32_t taxon);

/* Place number i: a codon of the section's own text.  Else twice a base of the database's: the
 * codon's first one; and 1 more if it is read on the other strand, from there downwards. */
static inline uint64_t kh_translated_at(const kh_translated *t, uint64_t i)
{
	const uint64_t bit = i * t->head->bits;
	uint64_t x;

	memcpy(&x, t->place + bit / 8, sizeof x);
	return x >> bit % 8 & ((UINT64_C(1) << t->head->bits) - 1);
}
#define KH_PLACE_BITS 56                /* at most, as these are read */

static inline uint32_t kh_translated_line_of(const kh_translated *t, uint32_t key)
{
	return (uint32_t)((uint64_t)key * t->head->lines >> 32);
}

/* Which of the places is that of a key, by the first line and tag that are its; UINT32_MAX: it has
 * none. */
uint32_t kh_translated_look_up(const kh_translated *t, uint32_t key);

/* The part that base `at` lies in, or behind. */
const kh_translated_part *kh_translated_part_of(const kh_translated *t, uint64_t at);

#endif
