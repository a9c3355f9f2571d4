/*
 * align_in.h - how match.c collects places whose alignments are wanted (align.h)
 *
 * The rule finds how well species fit, and has the place of each mate, or part of a record, that it
 * counts.  Those of the species that a call rests on are looked at once more: a place is HSPs
 * of the read on diagonals of the text, as the rule scored them (kmer/fit.h).  Neighbours are
 * joined by one gap, where most bases match, and so are the parts of a long record that follow one
 * another in the text.  Then the alignment gets as few edits as can be (kmer/refine.h).
 *
 * Each of the last three functions does nothing if alignments are not wanted.
 */
#ifndef KH_CLASSIFY_ALIGN_IN_H
#define KH_CLASSIFY_ALIGN_IN_H

#include "classify/align.h"
#include "classify/match_types.h"
#include "db/db.h"
#include "seqio/feed.h"

#define KH_ALIGN_SURE 60                /* the greatest quality: */
#define KH_ALIGN_MARGIN 16              /* other places are behind by so much */

/* One worker's scratch. */
typedef struct kh_aligner kh_aligner;

int kh_aligner_new(kh_aligner **a, const kh_db *db, kh_err *err);
void kh_aligner_free(kh_aligner *a);
/* The alignments of a job's fragments are going to be in `to`; NULL: they are not wanted. */
int kh_aligner_begin(kh_aligner *a, const kh_job *job, kh_alignments *to, kh_err *err);
bool kh_aligner_wanted(const kh_aligner *a);
/* When nothing else is to be decided of a segment: notes where its best species has the mates, or,
 * of a part of a fragment, each species that counts.  Places are added to `m`. */
int kh_aligner_note(kh_aligner *a, kh_matching *m, const kh_segment *s, kh_err *err);
/* The call of a fragment of several segments rests on this species; */
void kh_aligner_choose(kh_aligner *a, uint32_t species_no);
/* a fragment ends that is called, and gets its alignments; */
int kh_aligner_end(kh_aligner *a, size_t number, kh_err *err);
/* another one begins. */
void kh_aligner_forget(kh_aligner *a);

#endif
