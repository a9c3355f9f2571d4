/*
 * match_in.h - what the C files of the comparison share; first, which seeds of the segments that
 * wait are looked up, and what they find
 *
 * First those of a mate are looked up that do not overlap, or all of a part that is asked for all
 * at once (kh_match_asks_all), of all segments together: the early ones.  Then, for the segments
 * where these did not suffice, all the others.  What was found early is kept for that.
 */
#ifndef KH_CLASSIFY_MATCH_IN_H
#define KH_CLASSIFY_MATCH_IN_H

#include "classify/answer.h"
#include "classify/match_strain.h"
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

/* A segment that waits, and of each mate the early seeds, and their bins. */
typedef struct kh_asking {
	kh_segment s;
	struct kh_asking_mate {
		size_t seed, bin;
		uint32_t seeds, bins;
	} early[2];
	uint16_t bound[2];              /* as a kh_answer has them */
	bool small, far[2];             /* small: KH_ANSWER_SMALL */
} kh_asking;

/* The segments that wait; to be cleared. */
typedef struct kh_asking_all {
	kh_asking *v;
	size_t n, cap;
	kh_seeds all;                   /* seeds of all segments */
	kh_seeds_asked early, others;
	kh_seed_joint index;            /* where they are looked up; set by the caller */
	kh_joint_found found;
	size_t next;                    /* the bin where those of the next mate begin */
	uint32_t hidden;                /* a species whose bins are left out, or KH_NO_TAXON */
} kh_asking_all;

void kh_asking_clear(kh_asking_all *w);

/* Adds a segment: samples its mates, and asks for those of their seeds that begin at least `apart`
 * bases behind the one before. */
int kh_asking_add(kh_asking_all *w, const kh_segment *s, const kh_sampling *k, uint32_t apart,
		  kh_err *err);

/* Looks up what was asked for. */
int kh_asking_look_up(kh_asking_all *w, kh_seeds_asked *asked, const kh_match_db *db,
		      kh_err *err);

/* Makes anchors of the bins that the early seeds of a mate have, or all its seeds.  To be
 * called in the order of segments.  False: the index has none of the seeds. */
bool kh_asking_early_anchors(kh_asking_all *w, kh_asking *x, uint32_t mate, kh_found *f);
bool kh_asking_all_anchors(kh_asking_all *w, kh_asking *x, uint32_t mate, kh_found *f);

/* Asks for the other seeds of the segments that are left. */
int kh_asking_ask_others(kh_asking_all *w, kh_err *err);

/* match_answer.c: notes the bounds of a segment by its regions; */
void kh_asking_bounds(kh_asking *x, const kh_matching *m);
/* the same of all seeds, where some of the early ones have found something: the bounds stay, but
 * for whether a mate is far from all; */
void kh_asking_bounds_again(kh_asking *x, const kh_matching *m);
/* fills in the answer of a segment that is settled, by all its seeds or by the early ones. */
void kh_asking_settled(const kh_asking *x, const kh_matching *m, bool all_seeds, kh_answer *a);

/* A part of a fragment as it was compared: its places, and perhaps what its seeds have found. */
typedef struct kh_later_part {
	kh_segment s;
	size_t place, word;             /* where these begin, of those of all parts */
	uint32_t n_place;
	bool found;                     /* it has the latter */
	kh_found of;                    /* but for its arrays */
} kh_later_part;

/* Where a species lies in a part. */
typedef struct kh_later_claim {
	uint32_t part, place;           /* one of the places of this part */
	uint32_t sum;                   /* number of the species' sum */
} kh_later_claim;

/* A part of the fragment that no species fits better than this one. */
typedef struct kh_credit {
	uint32_t part, sum;             /* their numbers */
	uint32_t score;
	uint32_t strain;                /* its taxon here; KH_NO_TAXON: that is found later, */
	size_t claim;                   /* by this claim */
} kh_credit;

/* What the parts of a fragment say, to be asked for when the best species is known; to be
 * cleared. */
typedef struct kh_later {
	kh_later_part *part;
	kh_place *place;
	uint64_t *word;
	kh_later_claim *claim;
	kh_credit *credit;
	size_t n_part, n_place, n_word, n_claim, n_credit;
	size_t cap_part, cap_place, cap_word, cap_claim, cap_credit;
} kh_later;

/* match_later.c */
void kh_later_clear(kh_later *l);
void kh_later_forget(kh_later *l);
/* Keeps the part that is compared, for strains if `strains` says so and there are not too many. */
int kh_later_keep(kh_later *l, const kh_matching *m, const kh_segment *s, bool strains,
		  kh_err *err);
/* Adds a claim of the part that was kept last, */
void kh_later_claims(kh_later *l, const kh_claim *c, uint32_t sum);
/* and that it is as good as any; its strain is found now, or later. */
int kh_later_credit(kh_later *l, const kh_matching *m, const kh_segment *s, const kh_claim *c,
		    const kh_credit *credit, kh_err *err);
/* The hits of a sum. */
uint32_t kh_later_hits(const kh_later *l, const kh_match_db *db, uint32_t sum);
/* The strain of a sum of this species, by its parts; m: what parts were compared in. */
kh_strain_poll kh_later_poll(kh_later *l, const kh_matching *m, uint32_t sum,
			     uint32_t species_no);

/* match_rooms.c: room for so many claims; */
int kh_claims_room(kh_claims *c, uint32_t n, kh_err *err);
void kh_claims_clear(kh_claims *c);
/* the rooms of a segment that is compared. */
int kh_matching_new(kh_matching *m, kh_err *err);
void kh_matching_clear(kh_matching *m);

#endif
