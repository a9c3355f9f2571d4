/*
 * refine.h - an alignment of HSPs gets fewer edits
 *
 * The HSPs of a chain (kmer/fit.h) miss gaps that lie near each other or near mismatches: an HSP
 * goes on beside such a gap, as a run of mismatches.  So the columns between long exact matches are
 * aligned anew, from end to end (edits.h), if they may have fewer edits; in most reads none may.
 */
#ifndef KH_KMER_REFINE_H
#define KH_KMER_REFINE_H

#include "kmer/edits.h"

/* A record as it lies in a stretch of a target. */
typedef struct kh_along {
	const uint64_t *bases;          /* packed (kmer.h): */
	const uint32_t *amb;
	uint64_t seq, len;              /* its first one, and how many it has */
	bool back;                      /* its reverse complement lies there */
	const uint32_t *text, *alleles; /* as those of kh_laid */
	uint64_t begin, end;            /* bases of the stretch in the text */
} kh_along;

/* Columns of the record, from .. to - 1, without a gap, and where its first base would be. */
typedef struct kh_ungapped {
	int64_t from, to, at;
} kh_ungapped;

/* An alignment: between the end of one and the beginning of the next is a gap, of the record or of
 * the text. */
typedef struct kh_ungapped_list {
	kh_ungapped *v;
	size_t n, cap;
} kh_ungapped_list;

/* Scratch.  Zero it first. */
typedef struct kh_refiner {
	kh_ungapped_list fine;
	kh_edits edits;
} kh_refiner;

void kh_refiner_clear(kh_refiner *r);
/* Does base i of the record match, if its first base would be on base `at` of the text?  An unknown
 * base does not; an allele does. */
bool kh_along_match(const kh_along *l, int64_t i, int64_t at);
/* Adds an HSP behind the others, or makes the last one longer, if it is on its diagonal. */
int kh_ungapped_put(kh_ungapped_list *s, kh_ungapped x, kh_err *err);
/* Gives an alignment fewer edits, if it can; its first column, and the last one, stay.  *edits: the
 * mismatches and bases of gaps that are left. */
int kh_refine(kh_refiner *r, const kh_along *l, kh_ungapped_list *s, uint64_t *edits, kh_err *err);

#endif
