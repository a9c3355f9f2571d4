/*
 * match.h - the call of a fragment, by comparison with the references' text
 *
 * A feature of a read has bins in the index.  Where the text of a bin has the feature itself, the
 * read is laid along the text and compared (kmer/fit.h); how well it fits scores the species.  So
 * a feature in a wrong place costs a comparison, and not a wrong call, and one is enough.  Few
 * places are compared: those that, by the features they have, could be best.  The rule is in
 * kmerhash-method(7), its constants in match_rule.h; integers, and the best of each species by a
 * total order, so nothing depends on the order of work.
 *
 * Data flow of a fragment, and the bounds of each step:
 *
 *	read        a read, a pair of mates of up to KH_TEXT_SPAN bases each, or a part of up to
 *	            KH_MATCH_PART_BASES bases of a longer record
 *	seeds       up to KH_MATCH_SEEDS features of a mate, in the order of the read.  First those
 *	            that do not overlap are looked up; the others only if a place that has none of
 *	            these could still be the best; of a part of a longer record, only if these
 *	            are hardly found (match_long.h), or at once (kh_match_asks_all)
 *	anchors     up to KH_MATCH_ANCHORS of a mate: a seed and a bin of its list, sorted.  The
 *	            longest lists are passed over where there would be more
 *	regions     anchors whose bins follow each other closely.  Each seed that a region lacks,
 *	            and that does not overlap another one, costs the read a mismatch there, so the
 *	            score has an upper bound: the length less kh_match_loss.  Regions are compared
 *	            in classes of equal bounds, the greatest first, while they could still win.  A
 *	            mate is crowded where a class has too many: then all seeds are looked up, but
 *	            for a part's, and the regions with most anchors are compared
 *	places      about KH_MATCH_DIAGONALS of a region, and KH_MATCH_PLACES in all: where the text
 *	            has one of its seeds, the mate lies along it and is compared (kmer/fit.h).
 *	            Before, nothing reads the text
 *	claims      the best score of each species: of one mate, of both together, or of both apart;
 *	            a mate without a place is sought beside the other one; of a part, all species
 *	            are compared where the best one's HSPs lie, as well (match_chain.h)
 *	call        the LCA of the species with the best score, and of those in a crowd that may be
 *	            as good, as deep as matches and mismatches allow; for several parts, by the
 *	            sums of these scores where a species is best, and from some parts only where
 *	            these suffice.  A call's k-mers are 12-mers at every few bases (rule.h), its
 *	            hits those that the text has where the best species lies: so the sample pass
 *	            sees identities, whichever seeds were looked up
 *
 * Example, with the database of data/genomes (k = 14, bins of 16 bases): a read has the 60 bases of
 * lambda from base 20000 on, but for its base 33, a C in place of an A.  Its seeds begin at
 * 3, 9 and 31.  Those at 3 and 31 do not overlap and are looked up: the first one has bin 6137,
 * which begins at base 20000; the other one spans the changed base and has none, so at most 60 - 2
 * is to be had.  There 59 bases match and one does not: a score of 58.  Chance gives less than 19,
 * and 4 * (59 - 4) >= 100 + 60: the call is lambda.
 *
 * The files in the order of calls.  Headers match_X.h but match_in.h are compiled for kernels, too:
 *
 *	match.c         kh_match_job: fragments, their segments, in which turns they are compared
 *	match_ask.c     kh_asking_add: the seeds of a segment; kh_asking_look_up: what these find;
 *	                kh_asking_early_anchors, kh_asking_all_anchors.  Declared in match_in.h
 *	match_region.h  kh_regions_make: regions of anchors (match_sort.h: kh_anchors_sort_many);
 *	                kh_regions_raise_lone: those of which the other mate has none
 *	match_answer.c  kh_asking_bounds: what a database that is one volume of a collection
 *	                says beside its call
 *	match_long.h    kh_regions_pass_over: of a part, those that are in no species that may be
 *	                its read's, and whether other seeds must be looked up first
 *	match_score.h   kh_match_segment: the driver of the comparison, which calls, in this order,
 *	  match_place.h     kh_regions_compare_best, kh_regions_compare_from: the places of regions;
 *	                    kh_place_has_ends: which are extended beyond their HSP
 *	  match_thin.h      kh_thin_places: the same of a database without text
 *	  match_claims.h    kh_match_claims: what places say of each species
 *	  match_score.h     kh_match_rescue_mate: a mate without a place
 *	  match_score.h     kh_match_along: of a part, all species along the chain of the best one
 *	  match_chain.h     kh_chain_raise: one of them
 *	match_call.h    kh_match_count_hits: of claims that may be a call, the hits
 *	  match_hits.h      kh_claim_hits: 12-mers that the text has at the places of a claim
 *	match_call.h    kh_claims_give: candidates of the sample pass; kh_match_taxon: the call
 *	match_strain.h  kh_match_strain: a call below the species
 *	match_long.h    kh_sums_add: of a long fragment, the claims of its parts, summed by species;
 *	                kh_match_long_taxon: its call
 *	match_later.c   kh_later_poll, kh_later_hits: what is asked only of the species that it is
 *	                called
 *
 * and beside them:
 *
 *	match_rule.h    constants, and the rules of seeds, claims and calls
 *	match_types.h   what a segment is compared in, and the database
 *	match_db.c      kh_match_db_init: a database as it is compared with
 *	match_rooms.c   kh_matching_new: rooms of a segment on the CPU
 *	match_small.h   a fragment compared by a kernel, in rooms of fixed size
 */
#ifndef KH_CLASSIFY_MATCH_H
#define KH_CLASSIFY_MATCH_H

#include "classify/align.h"
#include "classify/answer.h"
#include "classify/distinct.h"
#include "db/db.h"
#include "seqio/feed.h"
#include "classify/match_types.h"

/* What follows from the database: all but what options say. */
void kh_rule_init(kh_rule *r, const kh_db_header *h);

/* What a database has in the memory of the host. */
void kh_match_db_init(kh_match_db *x, const kh_db *db, const kh_rule *rule);
/* Where the search for the target of a bin begins, of so many. */
enum { KH_MATCH_GUESSES = 8192 };
void kh_match_db_guess(kh_match_db *x, uint32_t guess[KH_MATCH_GUESSES], uint64_t n_bins);

/* One worker's scratch.  db and rule are borrowed, until kh_matcher_free. */
typedef struct kh_matcher kh_matcher;

int kh_matcher_new(kh_matcher **m, const kh_db *db, const kh_rule *rule, kh_err *err);
void kh_matcher_free(kh_matcher *m);
/* The least scores of calls and candidates, by the bases of the database. */
void kh_match_least_of(const kh_db_header *h, kh_least *least);
/* From now on seeds find nothing in this species. */
void kh_matcher_hide(kh_matcher *m, uint32_t species);

/* What the fragments of a job get; NULL, but for calls: not wanted. */
typedef struct kh_match_results {
	kh_call *call;                  /* its hits: k-mers that the best species' text has */
	kh_candidates *candidates;      /* or the second-best taxa, not both */
	kh_second *second;
	kh_alignments *aligned;         /* of those that are called */
	kh_distinct *distinct;          /* counts, of these, the seeds that the text has there */
	kh_answer *answers;             /* what the database says, as one volume of a collection */
} kh_match_results;

int kh_match_job(kh_matcher *m, const kh_job *job, const kh_match_results *to, kh_err *err);
/* The same where the volumes of a collection have given their answers: a fragment that is not open
 * (KH_ANSWER_OPEN) is not compared, and has the call that is known. */
int kh_match_job_known(kh_matcher *m, const kh_job *job, const kh_answer *known,
		       const kh_match_results *to, kh_err *err);

#endif
