/*
 * match.h - the call of a fragment, by comparison with the references' text
 *
 * A feature of a read has bins in the index.  Where the text of a bin has the feature itself, the
 * read is laid along the text and compared (kmer/text.h); how well it fits scores the species.  So
 * a feature in a wrong place costs a comparison, and not a wrong call, and one is enough.  Few
 * places are compared: those that, by the features they have, could be best.  The rule is in
 * kmerhash-method(7), its data flow and constants in match_rule.h; integers, and the best of each
 * species by a total order, so nothing depends on the order of work.
 *
 * Example, with the database of data/genomes (k = 14, bins of 16 bases): a read has the 60 bases of
 * lambda from base 20000 on, but for its base 33.  Its seeds begin at 3, 9 and 31.  Those at 3 and
 * 31 do not overlap and are looked up: the first one has bin 6137, which begins at base 20000; the
 * other one spans the changed base and has none, so at most 60 - 2 is to be had.  There 59 bases
 * match and one does not: a score of 58.  Chance gives less than 19, and 4 * 59 >= 16 + 60 + 100:
 * the call is lambda.
 *
 *	match.c         on the CPU: fragments, their segments, the turns in which these are compared
 *	match_ask.c     which features are looked up in a turn, and what they find
 *	match_answer.c  what a part of a collection says beside its call
 *	match_later.c   what is counted only of the species that a long fragment is called
 *	match_rooms.c   the rooms of what is compared
 *
 * for the CPU and for kernels:
 *
 *	match_segment.h what is compared at a time
 *	match_sort.h    candidates in order
 *	match_region.h  regions of them, and which of these are compared
 *	match_place.h   the places that are compared
 *	match_thin.h    the same of a database without text
 *	match_hits.h    the seeds that a compared place has
 *	match_claims.h  what its places say of each species
 *	match_score.h   how well each species fits, the mate that has no place
 *	match_call.h    the call
 *	match_long.h    that of a fragment of several parts
 *	match_small.h   a fragment compared by a kernel, in rooms of fixed size
 */
#ifndef KH_CLASSIFY_MATCH_H
#define KH_CLASSIFY_MATCH_H

#include "classify/align.h"
#include "classify/answer.h"
#include "classify/distinct.h"
#include "db/db.h"
#include "seqio/feed.h"
#include "classify/match_segment.h"

/* What follows from the database: all but what options say. */
void kh_rule_init(kh_rule *r, const kh_db_header *h);

/* What a database has in the memory of the host. */
void kh_match_db_init(kh_match_db *x, const kh_db *db, const kh_rule *rule);
/* Where the search for the target of a bin begins, of so many. */
enum { KH_MATCH_GUESSES = 8192 };
void kh_match_db_guess(kh_match_db *x, uint32_t guess[KH_MATCH_GUESSES], uint64_t n_bins);

/* One worker's scratch. */
typedef struct kh_matcher kh_matcher;

int kh_matcher_new(kh_matcher **m, const kh_db *db, const kh_rule *rule, kh_err *err);
void kh_matcher_free(kh_matcher *m);
/* For the jobs to come: `answers`, or NULL, gets what the database says of each fragment of a job;
 * those that `known`, or NULL, has, and are not open, are not compared. */
void kh_match_next(kh_matcher *m, kh_answer *answers, const kh_answer *known);
/* The least scores of a call. */
void kh_match_least_of(const kh_db_header *h, uint32_t least[KH_LEVELS]);
/* From now on seeds find nothing in this species. */
void kh_matcher_hide(kh_matcher *m, uint32_t species);
/* In a call, hits are those of its k-mers (kh_call) that the text has where the best species lies.
 * `wanted`: NULL, or gets the candidates of each fragment.  `aligned`: NULL, or gets the alignments
 * of those that are called.  `distinct`: NULL, or counts the seeds that the text has there, of
 * these. */
int kh_match_job(kh_matcher *m, const kh_job *job, kh_call *call, kh_candidates *wanted,
		 kh_alignments *aligned, kh_distinct *distinct, kh_err *err);

#endif
