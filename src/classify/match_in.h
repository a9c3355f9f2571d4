/* match_in.h - inside the comparison with text: match.c makes fits, match_score.c claims of them */
#ifndef KH_CLASSIFY_MATCH_IN_H
#define KH_CLASSIFY_MATCH_IN_H

#include "classify/classify_in.h"
#include "classify/match.h"
#include "text/text.h"

/* The rule's constants: kmerhash-method(7).  They were chosen on reads of
 * training genomes (species and strains left out, 0 to 10 % from the reference). */
enum {
	KH_MATCH_KNOWN = 8,             /* places that a feature is looked for first */
	KH_MATCH_PIECE = 256,           /* bases of a part of a long record, at most */
	KH_MATCH_SPAN = 1008,           /* bases between the beginnings of two mates */
	KH_MATCH_APART = 20,            /* what mates cost that are not beside each other */
	KH_MATCH_LEAST = 24,            /* the least score of a call, of any database */
	KH_MATCH_PART = 20,             /* the least score of a part of a long fragment */
	KH_MATCH_LONG = 80,             /* the least score of a call of a long fragment */
	/* a mate without a place is sought beside one with such a score, */
	KH_RESCUE_SCORE = 30,
	KH_RESCUE_NEAR = 8,             /* that far below the best claim at most, */
	KH_RESCUE_MOST = 4,             /* beside so many of these, */
	KH_RESCUE_BEFORE = 40,          /* from so many bases on the near side */
	KH_RESCUE_BEHIND = 600,         /* to so many on the other, */
	KH_RESCUE_LEN = 32,             /* if it has so many bases, */
	KH_RESCUE_FIT = 14              /* and fits with such a score */
};

/* A read, or a mate: where its bases are, and what is looked up of it. */
struct kh_mate {
	const kh_block *block;
	uint64_t at;                    /* its first base in the block */
	uint32_t len;                   /* 0: there is none */
	uint32_t seeds;
};

/* What is compared at once: a read, a pair, or a part of a long record. */
struct kh_mates {
	struct kh_mate mate[2];
	bool only, last;                /* of its fragment */
};

/* A mate laid along the text. */
struct kh_spot {
	uint64_t number;                /* mate, strand and diagonal: places have this order */
	uint32_t bin;                   /* one that it was found by */
	uint32_t target;
	kh_alignment fit;
};

/* How well a species fits. */
typedef struct kh_claim {
	uint32_t species;               /* number, from 0 */
	int32_t score;
	uint32_t matches, columns;
	uint32_t mates;                 /* 1: the first has a part in it, 2: the second, 3: both */
} kh_claim;

/* Claims by species. */
typedef struct kh_claims {
	kh_claim *v;
	size_t n, cap;
	uint32_t *of;                   /* by species: its number in v, plus 1; 0: none */
} kh_claims;

struct kh_matcher {
	const kh_db *db;
	const kh_rule *rule;
	kh_tree tree;
	uint32_t least[32];             /* score of a call with 2^i .. 2^(i+1)-1 features */
	/* segments whose features are to be looked up, and these, one behind another */
	struct kh_mates *segment;
	uint64_t *key;
	uint32_t *pos;
	size_t n_segments, n_key, cap_segment, cap_key, cap_pos;
	kh_hit_lists lists;
	/* the segment that is compared */
	kh_oriented read[2][2];         /* mates; strands */
	struct kh_spot *place;
	size_t n_place, cap_place;
	size_t first_place;             /* of the mate whose places are sought */
	kh_claims here, sum;            /* of the segment; of a fragment of several */
	kh_claim *best_of[2];           /* by species: the best place of each mate */
	/* the fragment */
	kh_call call;
	bool begun;
	uint64_t *found;
	size_t n_found, cap_found;
	kh_call *to;
	kh_distinct *distinct;
};

static inline uint64_t kh_place_number(uint32_t mate, uint32_t strand, int64_t at)
{
	/* a read may begin in front of the first target */
	return (uint64_t)mate << 61 | (uint64_t)strand << 60 | (uint64_t)(at + KH_TEXT_SPAN);
}

static inline uint32_t kh_place_mate(const struct kh_spot *p)
{
	return (uint32_t)(p->number >> 61);
}

static inline uint32_t kh_place_strand(const struct kh_spot *p)
{
	return (uint32_t)(p->number >> 60) & 1;
}

static inline int64_t kh_place_at(const struct kh_spot *p)
{
	return (int64_t)(p->number & ((UINT64_C(1) << 60) - 1)) - KH_TEXT_SPAN;
}

/* The mate of a place, and the place's target, to be compared. */
kh_laid kh_match_laid(const kh_matcher *m, const struct kh_mates *s, const struct kh_spot *p);
/* m->least. */
void kh_match_least(const kh_db_header *h, uint32_t least[32]);
/* Claims of the segment, from its places, and what follows from them: the call, if it is all of its
 * fragment, or a part of m->sum. */
int kh_match_segment(kh_matcher *m, const struct kh_mates *s, kh_err *err);
/* The call of a fragment of several segments. */
void kh_match_long(kh_matcher *m);

#endif
