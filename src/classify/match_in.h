/*
 * match_in.h - inside the comparison with text: match.c asks for seeds, match_place.c makes places
 * of what comes back, match_score.c claims of these, and the call
 */
#ifndef KH_CLASSIFY_MATCH_IN_H
#define KH_CLASSIFY_MATCH_IN_H

#include "classify/classify_in.h"
#include "classify/match.h"
#include "classify/match_rule.h"

/* Keys, and where their k-mers begin in their mates. */
struct kh_seeds {
	uint64_t *key;
	uint32_t *pos;
	size_t n, cap_key, cap_pos;
};

/* A read, or a mate: where its bases are, and its seeds. */
struct kh_mate {
	const kh_block *block;
	uint64_t at;                    /* its first base in the block */
	uint32_t len;                   /* 0: there is none */
	uint32_t seeds, asked;          /* all; those that are looked up this time */
	size_t first;                   /* number of the first one of all */
};

/* What is compared at once: a read, a pair, or a part of a long record. */
struct kh_mates {
	struct kh_mate mate[2];
	bool only, last;                /* of its fragment */
	size_t number;                  /* of the fragment in the job */
};

/* Candidates whose bins follow each other closely. */
struct kh_region {
	uint32_t from, n;
	uint32_t loss;                  /* the mate's score is below its length by that, or more */
	bool compared;
};

/* What a mate has found. */
struct kh_found {
	const uint32_t *pos;            /* of the seeds that were looked up */
	uint32_t n;
	kh_seed_set known;              /* those whose list is whole */
	uint64_t *candidate;            /* bin << 32 | seed, ascending */
	uint32_t n_candidates;
	struct kh_region *region;
	uint32_t n_regions;
	uint32_t unseen;                /* loss of a place that has none of the seeds */
	uint32_t best;                  /* the greatest score of a place */
};

/* A mate laid along the text. */
struct kh_spot {
	uint64_t number;                /* mate, strand and diagonal: places have this order */
	uint32_t target;
	kh_alignment fit;
};

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
	/* segments that wait, all seeds of them, and those that are to be looked up */
	struct kh_mates *segment;
	size_t n_segments, cap_segment;
	struct kh_seeds all, ask;
	kh_seeds_found bins;
	/* the segment that is compared */
	kh_oriented read[2][2];         /* mates; strands */
	struct kh_found found[2];
	uint64_t *sorted;               /* scratch for sorting candidates */
	struct kh_spot *place;
	size_t n_place, cap_place;
	kh_claims here, sum;            /* of the segment; of a fragment of several */
	kh_claim *best_of[2];           /* by species: the best place of each mate */
	/* the fragment */
	kh_call call;
	uint64_t bases;
	bool begun;
	uint64_t *had;                  /* its keys that are in the index, if they are wanted */
	size_t n_had, cap_had;
	kh_call *to;
	kh_distinct *distinct;
	kh_candidates *wanted;          /* of the job's fragments, or NULL */
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

/* --- match_place.c ----------------------------------------------------------------------- */
int kh_places_new(kh_matcher *m, kh_err *err);
void kh_places_free(kh_matcher *m);
/* Makes regions of the bins of a mate's seeds, the first of which is number `seed` of m->bins. */
void kh_places_regions(kh_matcher *m, const struct kh_mates *s, uint32_t mate, size_t seed);
/* Compares the mate in regions that could be as good as its best one, less `slack`. */
int kh_places_best(kh_matcher *m, const struct kh_mates *s, uint32_t mate, uint32_t slack,
		   kh_err *err);
/* Compares the mate in those that could have such a score; *more: there was one. */
int kh_places_from(kh_matcher *m, const struct kh_mates *s, uint32_t mate, int64_t score,
		   bool *more, kh_err *err);
/* The k-mers of a mate that a call counts, those without N at every KH_TEXT_STEP bases; and those
 * of them that the text has where a claim has the mates, or a few bases aside. */
uint32_t kh_places_kmers(const kh_matcher *m, const struct kh_mates *s, uint32_t mate);
uint32_t kh_places_hits(const kh_matcher *m, const struct kh_mates *s, const kh_claim *c);
/* Adds the keys of seeds that the text has there to m->had, which has room for all. */
void kh_places_note(kh_matcher *m, const struct kh_mates *s, const kh_claim *c);
/* Puts places in order. */
void kh_places_sort(kh_matcher *m);
/* The mate of a place, and the place's target, to be compared. */
kh_laid kh_places_laid(const kh_matcher *m, const struct kh_mates *s, const struct kh_spot *p);

/* --- match_score.c ----------------------------------------------------------------------- */
/* m->least. */
void kh_match_least(const kh_db_header *h, uint32_t least[32]);
/* Puts the places in order, and makes m->here of them. */
int kh_match_claims(kh_matcher *m, kh_err *err);
/* The best claim; NULL: there is none. */
const kh_claim *kh_match_best(const kh_claims *c);
/* What follows of m->here, which it empties: the call, if it is all of its fragment, or a part of
 * m->sum. */
int kh_match_segment(kh_matcher *m, const struct kh_mates *s, kh_err *err);
void kh_match_forget(kh_claims *c);
/* How far below the best one's scores are of interest. */
uint32_t kh_match_slack(const kh_matcher *m, const struct kh_mates *s);
/* The call of a fragment of several segments. */
void kh_match_long(kh_matcher *m, size_t number);

#endif
