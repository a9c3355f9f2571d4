/*
 * rule.h - the genus of fragments by translated seeds: kmerhash-method(7)
 *
 * Fragments are done some at a time, so that the memory has what they ask for when it is needed.
 * All numbers are integers, and among equal ones there is an order, so nothing depends on how
 * fragments come together.
 *
 * Example: keys lay both mates of a pair on genes of genus G, and one on a gene of genus H.  In G
 * 80 bases of the first mate match and 10 do not, which is 2 * 80 - 5 * 10 = 110; of the second 60
 * and 20, which is 20.  H has 60.  G's threshold is 120: as 130 >= 120 and 130 >= 60 + 55, the pair
 * is called G.
 */
#ifndef KH_TRANSLATED_RULE_H
#define KH_TRANSLATED_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include "translated/section.h"

/* A read or mate in packed bases (kmer.h). */
typedef struct kh_translated_read {
	const uint64_t *bases;
	const uint32_t *amb;
	uint64_t at;
	uint64_t len;                   /* 0: there is none */
} kh_translated_read;

/* What is said of a fragment (graded.h), and what it is like, if it is called, or is graded more
 * than WEAK in its family or WEAK in its genus: at which base of which stretch of the text its
 * nearer mate lies; and how many of its codons, as keys say where they begin, stand for the amino
 * acid that the text has there.  Of a long fragment, what those parts are like that were ahead by
 * most. */
typedef struct kh_likeness {
	uint64_t at;
	uint32_t said;
	uint32_t stretch;               /* KH_NO_STRETCH_LIKE: not known */
	uint16_t codons, same;
} kh_likeness;
#define KH_NO_STRETCH_LIKE UINT32_MAX

typedef struct kh_translated_call {
	size_t number;
	kh_likeness like;
} kh_translated_call;

/* One worker's scratch. */
typedef struct kh_translator kh_translator;

/* `t` must live as long. */
int kh_translator_new(kh_translator **r, const kh_translated *t, kh_err *err);
void kh_translator_free(kh_translator *r);
/* wanted: from now on calls also say what fragments are like. */
void kh_translator_compare(kh_translator *r, bool wanted);
/* Adds a fragment, by any number. */
int kh_translator_add(kh_translator *r, const kh_translated_read mate[2], size_t number,
		      kh_err *err);
/* The calls of the fragments that were added, in their order; lent until the next one is added. */
int kh_translator_settle(kh_translator *r, const kh_translated_call **call, size_t *n, kh_err *err);
/* After a failure: forgets what was added. */
void kh_translator_forget(kh_translator *r);

#endif
