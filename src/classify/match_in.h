/*
 * match_in.h - which seeds of the segments that wait are looked up, and what they find: match.c
 *
 * First those of a mate are looked up that do not overlap, of all segments together; then, for the
 * segments where these did not suffice, all the others.  What was found first is kept for that.
 */
#ifndef KH_CLASSIFY_MATCH_IN_H
#define KH_CLASSIFY_MATCH_IN_H

#include "classify/answer.h"
#include "classify/match_segment.h"
#include "index/joint.h"

/* Seeds: their keys, and where their k-mers begin in their mates. */
typedef struct kh_seeds {
	uint64_t *key;
	uint32_t *pos;
	size_t n, cap_key, cap_pos;
} kh_seeds;

/* Seeds that are looked up together. */
typedef struct kh_seeds_asked {
	kh_seeds seeds;
	uint32_t *number;               /* of each, among all seeds */
	size_t cap_number;
	kh_seeds_found found;
} kh_seeds_asked;

/* A segment that waits, and of each mate the seeds that were looked up first, and their bins. */
typedef struct kh_asking {
	kh_mates s;
	struct kh_asking_mate {
		size_t seed, bin;
		uint32_t seeds, bins;
	} first[2];
	uint16_t bound[2];              /* as a kh_answer has them */
	bool small, far[2];             /* small: KH_ANSWER_SMALL */
} kh_asking;

/* The segments that wait; to be cleared. */
typedef struct kh_asking_all {
	kh_asking *v;
	size_t n, cap;
	kh_seeds all;                   /* seeds of all segments */
	kh_seeds_asked first, others;
	kh_seed_joint index;            /* where they are looked up; set by the caller */
	kh_joint_found found;
	size_t next;                    /* the bin where those of the next mate begin */
	uint32_t hidden;                /* a species whose bins are left out, or KH_NO_TAXON */
} kh_asking_all;

void kh_asking_clear(kh_asking_all *w);

/* Adds a segment: samples its mates, and asks for those of their seeds that begin at least `apart`
 * bases behind the one before. */
int kh_asking_add(kh_asking_all *w, const kh_mates *s, const kh_sampling *k, uint32_t apart,
		  kh_err *err);

/* Looks up what was asked for. */
int kh_asking_look_up(kh_asking_all *w, kh_seeds_asked *asked, const kh_match_db *db,
		      kh_err *err);

/* Makes candidates of the bins that the first seeds of a mate have, or all its seeds.  To be
 * called in the order of segments.  False: the index has none of the seeds. */
bool kh_asking_first(kh_asking_all *w, kh_asking *x, uint32_t mate, kh_found *f);
bool kh_asking_found(kh_asking_all *w, kh_asking *x, uint32_t mate, kh_found *f);

/* Asks for the other seeds of the segments that are left. */
int kh_asking_ask_others(kh_asking_all *w, kh_err *err);

/* match_answer.c: makes regions of the candidates of a segment, and notes its bounds; */
void kh_asking_bounds(kh_asking *x, kh_matching *m);
/* makes regions again, of all seeds, where some of the first have found something: the bounds stay,
 * but for whether a mate is far from all. */
void kh_asking_bounds_again(kh_asking *x, kh_matching *m);
/* fills in the answer of a segment that is settled; later: all its seeds were looked up. */
void kh_asking_settled(const kh_asking *x, const kh_matching *m, bool later, kh_answer *a);

/* Where a species lies in a part of a fragment. */
typedef struct kh_lain {
	kh_mate part;
	uint32_t sum;                   /* number of the species' sum */
	uint32_t target, strand, n;
	int64_t at[KH_MATCH_DIAGONALS];
} kh_lain;

/* The same of all species and parts, by which hits are counted when the best species are known; to
 * be cleared. */
typedef struct kh_lain_all {
	kh_lain *v;
	size_t n, cap;
} kh_lain_all;

/* match_later.c: notes where a claim of a part lies; */
int kh_lain_add(kh_lain_all *a, const kh_matching *m, const kh_mates *s, const kh_claim *c,
		uint32_t sum, kh_err *err);
/* the hits of a sum. */
uint32_t kh_lain_hits(const kh_lain_all *a, const kh_match_db *db, uint32_t sum);

/* match_rooms.c: room for so many claims; */
int kh_claims_room(kh_claims *c, uint32_t n, kh_err *err);
void kh_claims_clear(kh_claims *c);
/* the rooms of a segment that is compared. */
int kh_matching_new(kh_matching *m, kh_err *err);
void kh_matching_clear(kh_matching *m);

#endif
