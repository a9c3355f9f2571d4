/*
 * edits.h - two sequences aligned from end to end with the fewest edits
 *
 * A mismatch, and each base of a gap, is one edit.  Of alignments with as many edits, the one with
 * the fewest gaps is taken, and of these one whose gaps lie as far in front as can be.  (Needleman
 * and Wunsch 1970; gaps: Gotoh 1982; the band of diagonals: Ukkonen 1985.)
 *
 * A base is a set of bits, one for each of A, C, G and T that it may be; two match if they share a
 * bit.  So an unknown base, 0, matches nothing, and a base of a reference may have an allele.
 */
#ifndef KH_KMER_EDITS_H
#define KH_KMER_EDITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"

/* The bases to be aligned, and scratch.  Zero it first; kh_edits_clear frees it. */
typedef struct kh_edits {
	uint8_t *read, *text;           /* n, and m, bases */
	size_t n, m;
	uint32_t *cost;                 /* of two rows */
	uint8_t *step;                  /* of each cell of the band */
	size_t cap_read, cap_text, cap_cost, cap_step;
	int64_t low;                    /* the first diagonal of the band, and how many it has */
	size_t width;
	size_t i, j;                    /* kh_edits_next has come as far */
} kh_edits;

void kh_edits_clear(kh_edits *e);
/* Makes room for n and m bases, which the caller fills in. */
int kh_edits_begin(kh_edits *e, size_t n, size_t m, kh_err *err);
/* Aligns them, if that takes fewer than `most` edits, and says in *edits how many; it is `most` or
 * more otherwise, and there is no alignment.  Base i of the read is on diagonal d beside base i + d
 * of the text.  Diagonals low .. high, 0 and m - n among them, are compared, and up to
 * KH_EDITS_ASIDE more on both sides: no more than an alignment with fewer than `most` edits can
 * reach. */
int kh_edits_align(kh_edits *e, int64_t low, int64_t high, uint32_t most, uint32_t *edits,
		   kh_err *err);
/* The next columns of the alignment without a gap, from the front on, and the gap behind them:
 * above 0 bases of the text, below 0 of the read, 0 at the end.  Only the first ones may be none.
 * False: there are no more. */
bool kh_edits_next(kh_edits *e, size_t *columns, int64_t *gap);

#define KH_EDITS_ASIDE 32

#endif
