/*
 * match_types.h - the part of a fragment that is compared at a time, its places and claims, and
 * the database that it is compared with; match.h   [HD]
 */
#ifndef KH_CLASSIFY_MATCH_TYPES_H
#define KH_CLASSIFY_MATCH_TYPES_H

#include <stdbool.h>
#include "classify/match_rule.h"
#include "classify/rule.h"
#include "index/seeds.h"

/* Does a kernel know several databases as one? */
#ifndef KH_SEVERAL
#define KH_SEVERAL 1
#endif

/* The least scores of a fragment with 2^i .. 2^(i+1)-1 seeds: of a call, and of candidates; the
 * latter is 0 if chance gives a random fragment no place, as in few bases. */
typedef struct kh_least {
	uint32_t call[32], candidates[32];
} kh_least;

/* A database, in the memory of whoever compares. */
typedef struct kh_match_db {
	const uint32_t *text;           /* NULL: kh_match_is_thin */
	kh_shares shares;               /* of the text */
	kh_seed_index seeds;
	/* of a device, if there are several databases: the indices behind the first one */
	const kh_seed_volume *beside;
	uint32_t n_beside;
	kh_bins bins;                   /* its targets are the stretches that are kept */
	const kh_text_stretch *stretch; /* each of these */
	const kh_text_strains *strains; /* of parts of them, in their order */
	uint32_t n_strains;
	/* NULL, or the target of bin `x << guess_shift`, for each x up to one behind the last bin:
	 * where the search for that of a bin begins */
	const uint32_t *guess;
	uint32_t guess_shift;
	kh_tree tree;
	kh_sampling sampling;
	uint32_t want;                  /* beside calls: KH_WANT_... */
	uint32_t alleles;               /* 1: some stretches have some */
	kh_least least;
} kh_match_db;

/* Is more wanted of a fragment than its call?  Then it matters how far other species are behind. */
static KH_HD bool kh_match_wants_others(const kh_match_db *db)
{
	return db->want != KH_WANT_NONE;
}

/* A read, or a mate: where its bases are, and its seeds. */
typedef struct kh_mate {
	const uint64_t *bases;          /* packed (kmer.h) */
	const uint32_t *amb;
	uint64_t at;                    /* its first base there */
	uint32_t len;                   /* 0: there is none */
	uint32_t seeds, asked;          /* all; those that are looked up this time */
	size_t first_seed;              /* its number among those of all segments */
} kh_mate;

/* A segment is what is compared at a time: a read, a pair, or a part of a long record. */
typedef struct kh_segment {
	kh_mate mate[2];
	bool whole;                     /* it is all of its fragment, and no part of a long one */
	size_t number;                  /* of the fragment in the job */
} kh_segment;

/* Anchors whose bins follow each other closely. */
typedef struct kh_region {
	uint16_t from, n;
	uint16_t loss;                  /* the mate's score is below its length by that, or more,
					 * but for kh_region_lone_loss; or KH_REGION_DONE */
	uint16_t weight;                /* in a crowd: anchors, and those of the other mate's
					 * region beside it */
} kh_region;

/* It was compared, or is passed over (kh_regions_pass_over): it is not compared from now on. */
#define KH_REGION_DONE UINT16_MAX

/* What a mate has found. */
typedef struct kh_found {
	const uint32_t *pos;            /* of the seeds that were looked up */
	uint32_t n;
	kh_seed_set known;              /* those whose list is whole */
	uint64_t *anchor;               /* bin << 32 | seed, ascending */
	uint32_t n_anchors;
	uint8_t *seed;                  /* of each of these, once regions are made; or NULL */
	int32_t least;                  /* on the host: the least score that regions were to have to
					 * be compared */
	kh_region *region;              /* as many as anchors at most */
	uint32_t n_regions;
	uint32_t unseen;                /* loss of a place that has none of the seeds */
	uint32_t n_places;
	uint32_t best;                  /* the greatest score of a place */
	uint32_t hsp;                   /* the greatest score of an HSP, at whatever place */
	uint32_t hsp_species_row;       /* the species of that HSP, of equal ones the first */
	uint32_t crowd;                 /* 0, or, if regions are too many for all to be compared,
					 * the greatest weight of them; but 1, while seeds are left
					 * to look up */
} kh_found;

/* The columns of an HSP, and its score; 0: it is not known. */
typedef struct kh_hsp {
	uint16_t from, to, score;
} kh_hsp;

/* A mate laid along the text. */
typedef struct kh_place {
	uint64_t number;                /* mate, strand and diagonal: places have this order */
	uint32_t target;
	kh_alignment fit;
	kh_hsp hsp;
} kh_place;

static KH_HD kh_hsp kh_hsp_of(const kh_alignment *fit)
{
	const kh_hsp s = { (uint16_t)fit->from, (uint16_t)fit->to, (uint16_t)fit->score };

	return s;
}

/* The best places of a species by each mate alone: their numbers, plus 1; 0: none. */
typedef struct kh_alone {
	uint32_t best[2];
} kh_alone;

/* Claims by species. */
typedef struct kh_claims {
	kh_claim *v;
	kh_alone *alone;                /* of each */
	uint32_t n, cap;
	/* by species_no: the claim's number in v, plus 1; 0: none.  NULL: there are so few claims
	 * that they are searched */
	uint32_t *of;
} kh_claims;

/* Species that parts of a fragment are compared with; none: with all. */
typedef struct kh_kept {
	uint32_t n, species_no[KH_MATCH_KEPT];
} kh_kept;

/* A segment that is compared, in rooms of the caller. */
typedef struct kh_matching {
	const kh_match_db *db;
	kh_oriented read[2][2];         /* mates; strands */
	kh_found found[2];
	uint64_t *sorted;               /* NULL, or room for the anchors of a mate, by way of
					 * which they are sorted */
	struct kh_text_seen *seen;      /* NULL, or of a part of a long read, forgotten before it
					 * is compared */
	kh_place *place;                /* behind the last one there is room for KH_RESCUE_MOST */
	uint32_t n_place;
	kh_claims here;
	kh_extent crowd;                /* species, as taxa, of regions that were not compared, and
					 * could be as good as the best claim */
} kh_matching;

/* Does the database lack the text of its references?  Kernels leave such a database to the host. */
static KH_HD bool kh_match_is_thin(const kh_match_db *db)
{
#ifdef __CUDACC__
	(void)db;
	return false;
#else
	return db->text == NULL;
#endif
}

static KH_HD uint64_t kh_place_number(uint32_t mate, uint32_t strand, int64_t at)
{
	/* a read may begin in front of the first target */
	return (uint64_t)mate << 61 | (uint64_t)strand << 60 | (uint64_t)(at + KH_TEXT_SPAN);
}

static KH_HD uint32_t kh_place_mate(const kh_place *p)
{
	return (uint32_t)(p->number >> 61);
}

static KH_HD uint32_t kh_place_strand(const kh_place *p)
{
	return (uint32_t)(p->number >> 60) & 1;
}

static KH_HD int64_t kh_place_at(const kh_place *p)
{
	return (int64_t)(p->number & ((UINT64_C(1) << 60) - 1)) - KH_TEXT_SPAN;
}

/* Where the target's text begins. */
static KH_HD uint64_t kh_match_begin(const kh_match_db *db, uint32_t target)
{
	return (uint64_t)db->bins.first[target] * db->sampling.stride;
}

/* Has the target this bin?  Behind its last one is a bin of zeros. */
static KH_HD bool kh_match_in_target(const kh_match_db *db, uint32_t target, uint32_t bin)
{
	const uint64_t at = (uint64_t)bin * db->sampling.stride;

	return at >= kh_match_begin(db, target) && at < db->stretch[target].end;
}

static_assert(4 * KH_TEXT_SPAN + KH_RESCUE_BEHIND < KH_TEXT_WORD / 4 * KH_SHARES_BESIDE,
	      "what a segment is compared with lies in one memory");

/* The text, for what is read of it near base i. */
static KH_HD const uint32_t *kh_match_text(const kh_match_db *db, int64_t i)
{
	const uint64_t word = i > 0 ? (uint64_t)i / KH_TEXT_WORD : 0;

	return (const uint32_t *)kh_shares_near(&db->shares, db->text, 4 * word);
}

/* A read to be compared with the text of a target near base `at`. */
static KH_HD kh_laid kh_match_laid(const kh_match_db *db, const kh_oriented *read, uint32_t len,
				   int64_t at, uint32_t target)
{
	const kh_text_stretch *s = &db->stretch[target];
	const uint64_t begin = kh_match_begin(db, target), word = begin / KH_TEXT_WORD;
	kh_laid l = { read, len, kh_match_text(db, at), NULL, begin, s->end, NULL };

	if (KH_ALLELES && s->alleles > 0) {
		const int64_t behind = at - (int64_t)begin;
		const int64_t near = (int64_t)(s->alleles * KH_TEXT_WORD) + behind;

		l.alleles = kh_match_text(db, behind > 0 ? near : near - behind) +
			    (s->alleles - word);
	}
	return l;
}

/* Does a mate differ from the text where this lacks one of its seeds?  A syncmer is one wherever it
 * stands; a k-mer of minhash may have been left out for others of its window.  Without text nothing
 * is saved by that. */
static KH_HD bool kh_match_seeds_tell(const kh_match_db *db)
{
	return db->sampling.scheme == KH_SYNCMER && !kh_match_is_thin(db);
}

/* The target of a bin. */
static KH_HD uint32_t kh_match_target(const kh_match_db *db, uint32_t bin)
{
	uint32_t lo, hi;

	if (!db->guess)
		return kh_bins_target(&db->bins, bin);
	lo = db->guess[bin >> db->guess_shift];
	hi = db->guess[(bin >> db->guess_shift) + 1];
	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo + 1) / 2;

		if (db->bins.first[mid] <= bin)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

#endif
