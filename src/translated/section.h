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
 * The section has bases of its own, though a database with text has them as well: a stretch is
 * laid in the direction in which it is read, by the frame, so a place is a number of a codon, and
 * both kinds of databases are treated alike.  kmerhash-method(7) has the rule.
 */
#ifndef KH_TRANSLATED_SECTION_H
#define KH_TRANSLATED_SECTION_H

#include <assert.h>
#include <stdint.h>
#include "base/msg.h"
#include "translated/letters.h"

#define KH_TAGS 28                      /* of a line */

typedef struct kh_translated_head {
	uint32_t k;                     /* letters of a key */
	uint32_t genera, lines;
	uint32_t behind;                /* lines behind those that keys belong to */
	uint64_t places;
	uint64_t codons;                /* of all genera; below 2^32 */
	uint32_t zero[8];
} kh_translated_head;

static_assert(sizeof(kh_translated_head) == 64, "what follows begins at multiples of 64");

/* In ascending order of both: a taxon's number, and the first codon of its stretches, a multiple of
 * KH_GENUS_CODONS.  What it is called is that taxon, or one above it. */
typedef struct kh_translated_genus {
	uint32_t taxon, first, threshold, called;
} kh_translated_genus;
#define KH_GENUS_CODONS 32

/* A key, mixed to 32 bits, belongs to line key * lines / 2^32, or, where that is full, to one of
 * those behind it. */
typedef struct kh_translated_line {
	uint16_t tag[KH_TAGS];          /* the low bits of the keys, n of them */
	uint32_t base;                  /* the place of the first one; the others follow */
	uint8_t n, more;                /* 1: the next line goes on with keys of this one */
	uint16_t zero;
} kh_translated_line;

static_assert(sizeof(kh_translated_line) == 64, "a look-up reads one cache line");

/* Sections of a database point into the file; the head is NULL where there is none. */
typedef struct kh_translated {
	const kh_translated_head *head;
	const kh_translated_genus *genus;
	const kh_translated_line *line;
	const uint32_t *place;          /* codons */
	const uint32_t *text;           /* three bases for each codon, and KH_TEXT_BEHIND words */
} kh_translated;

/* Finds the parts of a section, and checks them: taxa are numbered below n_taxa. */
int kh_translated_find(kh_translated *t, const void *section, uint64_t bytes, uint32_t n_taxa,
		       kh_err *err);

/* Makes it point into a copy of the section, wherever its parts are in that. */
void kh_translated_move(kh_translated *t, const void *copy);

/* The bytes of the text of that many codons, with what is behind it. */
uint64_t kh_translated_text_bytes(uint64_t codons);

static inline uint32_t kh_translated_line_of(const kh_translated *t, uint32_t key)
{
	return (uint32_t)((uint64_t)key * t->head->lines >> 32);
}

/* Which of the places is that of a key, by the first line and tag that are its; UINT32_MAX: it has
 * none. */
uint32_t kh_translated_look_up(const kh_translated *t, uint32_t key);

/* The genus that codon `at` is of, by its place in t->genus. */
uint32_t kh_translated_genus_of(const kh_translated *t, uint32_t at);

/* One past the last codon of a genus. */
static inline uint64_t kh_translated_end(const kh_translated *t, uint32_t genus)
{
	return genus + 1 < t->head->genera ? t->genus[genus + 1].first : t->head->codons;
}

#endif
