/*
 * likeness.h - amino acids of a mate beside those of the text where it lies
 */
#ifndef KH_TRANSLATED_LIKENESS_H
#define KH_TRANSLATED_LIKENESS_H

#include "translated/rule.h"
#include "translated/score.h"

/* A mate of so many bases on the strand on which a key of it begins at base `pos`. */
typedef struct kh_read_frame {
	const kh_oriented *read;
	uint32_t len, strand, pos;
} kh_read_frame;

/* Adds the codons of the HSP at p, a place to which that key leads. */
void kh_likeness_add(kh_likeness *l, const kh_translated *t, const kh_translated_place *p,
		     const kh_read_frame *f);

#endif
