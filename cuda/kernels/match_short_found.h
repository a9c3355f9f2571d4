/*
 * match_short_found.h - the places that a thread has found for a mate (match_short.h)   [HD]
 *
 * The best one counts, with those so near to it that their hits count, too.  Others that are nearly
 * as good are kept where candidates are wanted, of which their species may be one.  What else was
 * found is passed over, as far as it can have no part in the call.
 */
#ifndef KH_CUDA_KERNELS_MATCH_SHORT_FOUND_H
#define KH_CUDA_KERNELS_MATCH_SHORT_FOUND_H

#include "classify/match_score.h"

enum { KH_SHORT_PLACES = 2, KH_SHORT_WORSE = 6, KH_SHORT_OTHERS = 4 };

/* A place elsewhere. */
typedef struct kh_short_other {
	uint64_t number;
	uint32_t target, score;
} kh_short_other;

/* What a mate has found: its best place, and those near it.  Places that are worse, or as good and
 * too little for a call, have no part in it, unless by them mates are beside each other. */
typedef struct kh_short_found {
	uint32_t n_places;              /* on one strand of a target, a few bases aside */
	kh_spot place[KH_SHORT_PLACES]; /* the first one is the best */
	uint32_t stretch;               /* the greatest score of a best stretch, */
	uint32_t best, net;             /* of a place, and its greatest kh_match_net */
	uint32_t crowd;                 /* loss of regions that are too many; UINT32_MAX: none */
	uint32_t before;                /* `stretch` before these; UINT32_MAX, where none are */
	bool unclear;                   /* it is not as simple as that */
	bool tie;                       /* another one elsewhere is as good */
	uint32_t n_worse;               /* places elsewhere that are worse, or as good, and */
	uint64_t worse[KH_SHORT_WORSE]; /* the numbers of the first ones */
	uint32_t n_others;              /* those of them that are nearly as good, and more */
	kh_short_other other[KH_SHORT_OTHERS];
	uint32_t kmers, hits;
	uint32_t strain;                /* what its best place says of the strain; KH_NO_TAXON: a
					 * warp finds out */
	uint64_t had;                   /* which of its seeds the text has there, if wanted */
	uint32_t unseen;                /* loss of a place that has none of the seeds, */
	uint32_t next;                  /* and of the best region that was not compared */
} kh_short_found;

static KH_HD kh_short_found kh_short_nothing(void)
{
	kh_short_found f;

	f.n_places = f.stretch = f.best = f.net = f.n_worse = f.n_others = 0;
	f.kmers = f.hits = f.unseen = 0;
	f.had = 0;
	f.strain = KH_NO_TAXON;
	f.tie = f.unclear = false;
	f.next = f.crowd = f.before = UINT32_MAX;
	return f;
}

static KH_HD uint32_t kh_short_net(const kh_alignment *fit)
{
	const int64_t net = kh_match_net(fit->matches, fit->columns);

	return net > 0 ? (uint32_t)net : 0;
}

/* Puts the best one of two places first, of equal ones the one that comes first in their order. */
static KH_HD void kh_short_best_first(const kh_match_db *db, kh_spot place[2])
{
	const kh_claim a = kh_claim_of_one(db, place, 0), b = kh_claim_of_one(db, place, 1);
	const kh_spot first = place[0];

	if (kh_claim_better(&a, &b) ||
	    (!kh_claim_better(&b, &a) && first.number < place[1].number))
		return;
	place[0] = place[1];
	place[1] = first;
}

/* Are two places on one strand of a target, and so close that hits of both count? */
static KH_HD bool kh_short_near(const kh_spot *a, const kh_spot *b)
{
	const int64_t far = kh_place_at(a) - kh_place_at(b);

	return a->target == b->target && kh_place_strand(a) == kh_place_strand(b) &&
	       far <= KH_MATCH_ASIDE && far >= -KH_MATCH_ASIDE;
}

static KH_HD void kh_short_pass_over(kh_short_found *f, uint64_t number)
{
	if (f->n_worse < KH_SHORT_WORSE)
		f->worse[f->n_worse] = number;
	f->n_worse++;
}

/* Could one of the places that were passed over be near a place? */
static KH_HD bool kh_short_worse_near(const kh_short_found *f, uint64_t number)
{
	bool near = f->n_worse > KH_SHORT_WORSE;

	for (uint32_t i = 0; i < f->n_worse && !near; i++)
		near = f->worse[i] + KH_MATCH_ASIDE >= number &&
			f->worse[i] <= number + KH_MATCH_ASIDE;
	return near;
}

/* Keeps a place elsewhere, if it is not further behind the best score than `slack`.  False: there
 * is no room. */
static KH_HD bool kh_short_keep_other(const kh_spot *p, uint32_t best, uint32_t slack,
				      kh_short_found *f)
{
	const kh_short_other o = { p->number, p->target, p->fit.score };
	uint32_t n = 0;

	if (slack == 0 || o.score + slack < best)
		return true;
	KH_ROLLED
	for (uint32_t i = 0; i < f->n_others; i++)
		if (f->other[i].score + slack >= best)
			f->other[n++] = f->other[i];
	f->n_others = n;
	if (n == KH_SHORT_OTHERS)
		return false;
	f->other[f->n_others++] = o;
	return true;
}

/* Adds a place that is not near the best one.  False: it is not as simple as that. */
static KH_HD bool kh_short_elsewhere(const kh_spot *p, uint32_t slack, kh_short_found *f)
{
	const uint32_t score = p->fit.score, best = f->place[0].fit.score;
	bool room = true;

	if (f->n_places > 1 && kh_short_near(&f->place[1], p))
		return false;
	if (score <= best) {
		f->tie |= score == best;
		kh_short_pass_over(f, p->number);
		return kh_short_keep_other(p, best, slack, f);
	}
	if (kh_short_worse_near(f, p->number))
		return false;
	for (uint32_t i = 0; i < f->n_places; i++) {
		kh_short_pass_over(f, f->place[i].number);
		room = room && kh_short_keep_other(&f->place[i], score, slack, f);
	}
	f->tie = false;
	f->place[0] = *p;
	f->n_places = 1;
	return room;
}

/* Of regions that are a crowd the CPU compares the heaviest, and a thread all: so what these have
 * may only be worse than what was found before, and no candidate. */
static KH_HD bool kh_short_no_matter(const kh_spot *p, uint32_t slack, const kh_short_found *f)
{
	return f->n_places > 0 && !kh_short_near(&f->place[0], p) &&
	       p->fit.score + slack < f->place[0].fit.score;
}

/* Adds a place.  False: it is not as simple as that. */
static KH_HD bool kh_short_add(const kh_match_db *db, const kh_spot *p, uint32_t slack,
			       kh_short_found *f)
{
	if (f->crowd != UINT32_MAX && !kh_short_no_matter(p, slack, f))
		return false;
	if (f->n_places == 0 || kh_short_near(&f->place[0], p)) {
		if (f->n_places == KH_SHORT_PLACES || f->tie)
			return false;
		f->place[f->n_places++] = *p;
		if (f->n_places > 1)
			kh_short_best_first(db, f->place);
		return true;
	}
	return kh_short_elsewhere(p, slack, f);
}

#endif
