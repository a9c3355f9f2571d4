/*
 * rule.h - the rule of a run, and its results: calls and candidates   [HD]
 *
 * How a fragment is compared with the references, and what call follows: match.h.
 */
#ifndef KH_CLASSIFY_RULE_H
#define KH_CLASSIFY_RULE_H

#include "index/bins.h"
#include "kmer/sampling.h"
#include "taxonomy/tree.h"

/* What a run wants of fragments beside their calls: nothing, the species that each could be
 * (kh_candidates), or its second-best taxon (kh_second). */
enum { KH_WANT_NONE, KH_WANT_CANDIDATES, KH_WANT_SECOND };

/* What a run is decided by; from the database and the options. */
typedef struct kh_rule {
	kh_sampling sampling;
	/* in 1/1000: at least this share of a fragment's k-mers must be found */
	uint32_t confidence;
	uint32_t want;                  /* KH_WANT_... */
} kh_rule;

/* The k-mers that a call counts have nothing to do with seeds: they have so many bases, and one
 * begins at every so many bases of a fragment. */
#define KH_TEXT_KMER 12
#define KH_TEXT_STEP 5

/* The sampling of the k-mers that a call counts. */
static KH_HD kh_sampling kh_rule_counted(const kh_rule *r)
{
	kh_sampling s = r->sampling;

	s.scheme = KH_MINHASH;
	s.k = KH_TEXT_KMER;
	s.s = 1;
	s.stride = KH_TEXT_STEP;
	s.least = 0;
	return s;
}

/* The result of a fragment. */
typedef struct kh_call {
	uint32_t taxon;                 /* preorder number, or KH_NO_TAXON */
	/* k-mers by kh_rule_counted, and hits, which are those that the text has where the best
	 * species lies; without text: features, and those found there; by Kraken 2's rule: its
	 * k-mers, and the score of the call */
	uint32_t kmers, hits;           /* hits <= kmers */
	/* if `distinct` is wanted and there is a call: seeds that the text has where each segment
	 * lies best; by Kraken 2's rule: its hit groups; else 0 */
	uint32_t found;
} kh_call;

static_assert(sizeof(kh_call) == 16, "kh_call is copied from devices");

/* Are so many of its k-mers found, in 1/1000? */
static KH_HD int kh_call_is_confident(const kh_call *c, uint32_t confidence)
{
	return UINT64_C(1000) * c->hits >= (uint64_t)confidence * c->kmers;
}

/* Of 0: 0. */
static KH_HD uint32_t kh_log2(uint32_t n)
{
#ifdef __CUDA_ARCH__
	return 31 - (uint32_t)__clz((int)(n | 1));
#else
	return 31 - (uint32_t)__builtin_clz(n | 1);
#endif
}

/* The candidates of a fragment, for the sample pass: species that fit nearly as well as the best
 * one (kh_claims_candidates; of several segments kh_sums_candidates).  None if a taxon of these has
 * no species. */
#define KH_CANDIDATES 12
#define KH_CANDIDATE_DROP_LONG 32      /* in 1/5 nats */
typedef struct kh_candidates {
	uint32_t species[KH_CANDIDATES];        /* ascending, then KH_NO_TAXON */
	/* how far behind the best; 0 where there is no species, but see KH_DROP_OF_MATES */
	uint8_t drop[KH_CANDIDATES];
	uint32_t bin;                   /* where the best place begins; KH_NO_BIN: there is none */
} kh_candidates;

static_assert(sizeof(kh_candidates) == 64, "kh_candidates is copied from devices");

static KH_HD kh_candidates kh_candidates_none(void)
{
	kh_candidates c;

	for (int i = 0; i < KH_CANDIDATES; i++) {
		c.species[i] = KH_NO_TAXON;
		c.drop[i] = 0;
	}
	c.bin = KH_NO_BIN;
	return c;
}

/* How the mates of a pair fit, if it has one candidate only; 0: it has several, or is no pair.  The
 * last drop, which is of no species then, keeps that. */
enum {
	KH_DROP_OF_MATES = KH_CANDIDATES - 1,
	KH_ONE_MATE = 1,        /* with one mate only, though both are long enough */
	KH_MATES_APART,         /* with both, as many steps apart as it is more than this */
	KH_MATES_STEP = 128,    /* bases */
	KH_MATES_MOST = 2 + 1008 / 128
};
static KH_HD uint32_t kh_mates_fit(const uint32_t species[KH_CANDIDATES],
				   const uint8_t drop[KH_CANDIDATES])
{
	return species[1] == KH_NO_TAXON ? drop[KH_DROP_OF_MATES] : 0;
}

static KH_HD void kh_candidates_set_mates_fit(kh_candidates *c, uint32_t fit)
{
	c->drop[KH_DROP_OF_MATES] = (uint8_t)fit;
}

/* Adds a species with the score `has`, or raises its score to that: *n of them, ascending by
 * species.  0: there are too many. */
static KH_HD int kh_candidates_add(kh_candidates *out, uint32_t score[KH_CANDIDATES], int *n,
				   uint32_t species, uint32_t has)
{
	int at = 0;

	while (at < *n && out->species[at] < species)
		at++;
	if (at < *n && out->species[at] == species) {
		score[at] = has > score[at] ? has : score[at];
		return 1;
	}
	if (*n == KH_CANDIDATES)
		return 0;
	for (int i = (*n)++; i > at; i--) {
		out->species[i] = out->species[i - 1];
		score[i] = score[i - 1];
	}
	out->species[at] = species;
	score[at] = has;
	return 1;
}

/* The second-best taxon of a fragment: the one that fits best of all taxa of other species than the
 * best one's (kh_claims_second; of several segments kh_sums_second). */
typedef struct kh_second {
	uint32_t taxon;                 /* KH_NO_TAXON: there is none */
	uint32_t hits;
} kh_second;

static_assert(sizeof(kh_second) == 8, "kh_second is copied from devices");

#define KH_SECOND_LEAST 2               /* hits: one is chance */
static KH_HD kh_second kh_second_of(uint32_t taxon, uint32_t hits)
{
	const kh_second none = { KH_NO_TAXON, 0 }, second = { taxon, hits };

	return hits >= KH_SECOND_LEAST ? second : none;
}

static KH_HD kh_second kh_second_none(void)
{
	return kh_second_of(KH_NO_TAXON, 0);
}

/* Where a fragment gets what is wanted beside its call; NULL: that is not wanted. */
typedef struct kh_beside {
	kh_candidates *candidates;
	kh_second *second;
} kh_beside;

/* The same of fragment i, of arrays by fragment. */
static KH_HD kh_beside kh_beside_of(kh_candidates *candidates, kh_second *second, size_t i)
{
	kh_beside to = { NULL, NULL };

	if (candidates)
		to.candidates = candidates + i;
	if (second)
		to.second = second + i;
	return to;
}

static KH_HD void kh_beside_clear(kh_beside to)
{
	if (to.candidates)
		*to.candidates = kh_candidates_none();
	if (to.second)
		*to.second = kh_second_none();
}

/* The call for a taxon at genus or above; the root becomes no call. */
static KH_HD uint32_t kh_rule_raise(const kh_tree *t, uint32_t taxon)
{
	if (t->genus[taxon] != KH_NO_TAXON)
		taxon = t->genus[taxon];
	return taxon == 0 ? KH_NO_TAXON : taxon;
}

#endif
