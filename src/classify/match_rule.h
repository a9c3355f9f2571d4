/*
 * match_rule.h - the rule that makes a call, in whole numbers   [HD]
 *
 * What is done in which order, and within which bounds, is in match.h.
 *
 * Example: a read of 100 bases lies in species A with 4 mismatches, and in B of the same genus with
 * 6.  A has 96 matches, a score of 96 - 4 = 92 and a net of 96 - 4 x 4 = 80.  A species needs a net
 * of (4 x 25 + 100) / 4 = 50, so the read is called A; B's score, 88, is no tie.  If B had 4
 * mismatches as well, the call would be the LCA of both, the genus, which needs a net of 44.  With
 * 12 mismatches A would have a net of 88 - 48 = 40: no call.
 */
#ifndef KH_CLASSIFY_MATCH_RULE_H
#define KH_CLASSIFY_MATCH_RULE_H

#include "kmer/text.h"

/* The rule's constants: kmerhash-method(7).  Those for short reads were chosen on reads of training
 * genomes (species and strains left out, 0 to 10 % from the reference), those for long ones on such
 * with 5 to 20 % of errors, nearly half of them insertions and deletions, and on reads that are
 * joined of two species. */
enum {
	/* Bounds of what is looked up and compared. */
	KH_MATCH_SEEDS = 128,           /* seeds of a mate; a multiple of 64 */
	KH_MATCH_ANCHORS = 256,         /* anchors of a mate */
	KH_MATCH_PLACES = 32,           /* places of a read, or of both mates; a lane has one */
	KH_MATCH_DIAGONALS = 8,         /* diagonals of a region */
	KH_MATCH_PART_BASES = 256,           /* bases of a part of a long record, at most */
	KH_MATCH_ASIDE = 64,            /* bases between the diagonals of a mate's places */
	KH_MATCH_BEYOND = 2,            /* score beyond a seed that is more than chance */

	/* Pairs. */
	KH_MATCH_SPAN = 1008,           /* bases between the beginnings of mates that are a pair */
	KH_MATCH_APART = 20,            /* what the score loses if they are farther apart */

	/* How much must match. */
	KH_MATCH_SPECIES = 25,          /* net of a species: kh_match_species_net */
	KH_MATCH_GENUS = 44,            /* net of a genus */
	KH_MATCH_PART = 20,             /* score of a part of a long fragment */
	KH_MATCH_COVER = 4,             /* thin database: one base in so many lies in a seed */

	/* Which places are compared, and which species are candidates of the sample pass: */
	KH_MATCH_SLACK = 16,            /* places of a part: a score not farther below the best */
	KH_MATCH_ENOUGH = 2,            /* anchors of a part in a region: enough seeds */
	KH_MATCH_REACH = 3,             /* candidates: mismatches more than the best has, at most */
	/* twice that in scores; with alleles a call compares the places of such a bound, too */
	KH_MATCH_NEARBY = 2 * KH_MATCH_REACH,

	/* Long fragments.  Parts compared first decide if no other species is near the best. */
	KH_MATCH_NEAR = 6,              /* a species ties with 5/6 of the best one's credit, */
	KH_MATCH_SHARED = 4,            /* 1/4 of it in parts that the best one wins, too */
	KH_MATCH_SOME = 4,              /* one part in so many is compared first, */
	KH_MATCH_FEW = 12,              /* but every second one of fewer parts than this */
	KH_MATCH_AHEAD = 4,             /* near: 3/4 of the best one's score, */
	KH_MATCH_JOINED = 2,            /* or 1/2 of its credit */
	KH_MATCH_KEPT_FEW = 4,          /* else others are compared with so many species, */
	KH_MATCH_KEPT = 5,              /* or up to so many that have 3/5 of its credit */

	/* A mate without a place is sought beside its mate's place: */
	KH_RESCUE_SCORE = 30,           /* if that has such a score, */
	KH_RESCUE_NEAR = 8,             /* no farther below the best claim than this, */
	KH_RESCUE_MOST = 4,             /* beside so many places, */
	KH_RESCUE_BEFORE = 40,          /* from so many bases on the near side */
	KH_RESCUE_BEHIND = 600,         /* to so many on the far side; */
	KH_RESCUE_LEN = 32,             /* it has so many bases, */
	KH_RESCUE_FIT = 14              /* and is found with such a score */
};

/* Is a fragment whose mates have so many bases one segment?  0: there is no second mate. */
static KH_HD int kh_match_is_segment(uint64_t a, uint64_t b)
{
	return a <= (uint64_t)(b > 0 ? KH_TEXT_SPAN : KH_MATCH_PART_BASES) && b <= KH_TEXT_SPAN;
}

/* --- seeds ------------------------------------------------------------------------------- */
/* Some of a mate's seeds, as bits. */
typedef struct kh_seed_set {
	uint64_t bit[KH_MATCH_SEEDS / 64];
} kh_seed_set;

static KH_HD kh_seed_set kh_seed_none(void)
{
	kh_seed_set s;

	for (uint32_t i = 0; i < KH_MATCH_SEEDS / 64; i++)
		s.bit[i] = 0;
	return s;
}

/* The first n of a mate's seeds. */
static KH_HD kh_seed_set kh_seed_below(uint32_t n)
{
	kh_seed_set s = kh_seed_none();

	for (uint32_t i = 0; i < KH_MATCH_SEEDS / 64 && 64 * i < n; i++)
		s.bit[i] = n - 64 * i < 64 ? (UINT64_C(1) << (n - 64 * i)) - 1 : UINT64_MAX;
	return s;
}

/* A kernel keeps sets in registers, which it can name, but not number. */
static KH_HD void kh_seed_add(kh_seed_set *s, uint32_t i)
{
#ifdef __CUDA_ARCH__
#pragma unroll
	for (uint32_t w = 0; w < KH_MATCH_SEEDS / 64; w++)
		s->bit[w] |= (uint64_t)(i / 64 == w) << i % 64;
#else
	s->bit[i / 64] |= UINT64_C(1) << i % 64;
#endif
}

static KH_HD int kh_seed_has(const kh_seed_set *s, uint32_t i)
{
#ifdef __CUDA_ARCH__
	uint64_t x = 0;

#pragma unroll
	for (uint32_t w = 0; w < KH_MATCH_SEEDS / 64; w++)
		x = i / 64 == w ? s->bit[w] : x;
	return (int)(x >> i % 64 & 1);
#else
	return (int)(s->bit[i / 64] >> i % 64 & 1);
#endif
}

/* By how much at least the score of a mate is below its length where it lacks the seeds in `known`
 * that are not in `found`: of those that do not overlap each has a mismatch, which costs 2, or 1 at
 * an end of the mate, where the HSP can do without it.  (A gap costs more.) */
static KH_HD uint32_t kh_match_loss(const uint32_t *pos, uint32_t n, uint32_t k, uint32_t len,
				    const kh_seed_set *known, const kh_seed_set *found)
{
	uint32_t loss = 0, next = 0;

#ifdef __CUDACC__
	KH_ROLLED
	for (uint32_t i = 0; i < n; i++)
		if (pos[i] >= next && kh_seed_has(known, i) && !kh_seed_has(found, i)) {
			next = pos[i] + k;
			loss += pos[i] == 0 || next == len ? 1 : 2;
		}
#else
	KH_ROLLED
	for (uint32_t w = 0; 64 * w < n; w++)
		KH_ROLLED
		for (uint64_t x = known->bit[w] & ~found->bit[w]; x; x &= x - 1) {
			const uint32_t at = pos[64 * w + (uint32_t)__builtin_ctzll(x)];

			if (at < next)
				continue;
			next = at + k;
			loss += 1 + ((at != 0) & (next != len));
		}
#endif
	return loss;
}

/* --- claims ------------------------------------------------------------------------------ */
/* How well a species fits. */
typedef struct kh_claim {
	uint32_t species_no;
	int32_t score;
	uint32_t matches, columns;
	uint32_t mates;                 /* 1: the first has a part in it, 2: the second, 3: both */
	uint32_t place[2];              /* of these mates: numbers of their places */
	uint32_t hits;                  /* k-mers that the text has there, if they were counted */
	uint32_t variable;              /* of a part: columns in which the species' strains differ,
					 * if others matter (match_chain.h) */
} kh_claim;

/* Is a better than b: by score, then by matches, by fewer columns, by more mates? */
static KH_HD int kh_claim_better(const kh_claim *a, const kh_claim *b)
{
	if (a->score != b->score)
		return a->score > b->score;
	if (a->matches != b->matches)
		return a->matches > b->matches;
	return a->columns != b->columns ? a->columns < b->columns : a->mates > b->mates;
}

/* --- the call ---------------------------------------------------------------------------- */
/* A mismatch weighs as much as four matches, so where a call is made four of five bases that are
 * compared match at least. */
static KH_HD int64_t kh_match_net(uint32_t matches, uint32_t columns)
{
	return (int64_t)matches - 4 * (int64_t)(columns - matches);
}

/* The least net of a species, of so many bases, in quarters.  What is called of genera that are not
 * in the database is text that hardly changes, however short; but a read of 36 bases with one error
 * has a net of 31, where a quarter would ask for 34. */
static KH_HD int64_t kh_match_species_net(uint64_t bases)
{
	const int64_t quarter = 4 * KH_MATCH_SPECIES + (int64_t)bases;
	const int64_t half = 2 * KH_MATCH_SPECIES + 2 * (int64_t)bases;

	return half < quarter ? half : quarter;
}

/* Do enough bases of the mates match for a species?  (Of parts: kh_claim_names_long.) */
static KH_HD int kh_claim_names_species(const kh_claim *c, uint64_t bases)
{
	return 4 * kh_match_net(c->matches, c->columns) >= kh_match_species_net(bases);
}

static KH_HD int kh_claim_names_genus(const kh_claim *c)
{
	return kh_match_net(c->matches, c->columns) >= KH_MATCH_GENUS;
}

/* The same of a claim whose matches are bases that seeds cover, of columns that all cover which
 * were looked up: are there two or more seeds, and so many of them? */
static KH_HD int kh_claim_names_thin(const kh_claim *c, uint32_t k)
{
	return c->score > (int32_t)k && KH_MATCH_COVER * c->matches >= c->columns;
}

/* Does so much of parts of so many bases fit that nothing else need be asked? */
static KH_HD int kh_claim_fits_well(const kh_claim *c, uint64_t bases)
{
	const uint64_t match = c->matches, wrong = c->columns - match;

	return match * match / 2 >= wrong * bases;
}

/* Does enough of a fragment of several parts fit, which has so many bases?  Errors of a long read
 * look as differences of a relative do; but only some genes of a relative are like it, and what
 * hardly changes in these is in other genera, too.  So the less of a read fits, the better it has
 * to: there are at most M / 2 L mismatches for each match, or 5 A / 3 L, where A is the share of M
 * by which the scores of parts are ahead of those of other genera. */
static KH_HD int kh_claim_names_long(const kh_claim *c, uint32_t ahead, uint64_t bases)
{
	const uint64_t match = c->matches, wrong = c->columns - match;
	const uint64_t own = match * ahead / (uint64_t)c->score;

	return kh_claim_fits_well(c, bases) || match * own / 3 >= wrong * bases / 5;
}

/* Is a part of a record, by its number of so many, one of those that are compared first?  They are
 * all over the record, and not where it begins.  If there are few, every second one is. */
static KH_HD int kh_part_in_first_round(uint64_t part, uint64_t parts)
{
	const uint64_t each = parts < KH_MATCH_FEW ? 2 : KH_MATCH_SOME;

	return part % each == each / 2;
}

#endif
