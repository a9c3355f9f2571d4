/*
 * match_short_found.h - the places that a thread has found for a mate (match_short.h)   [HD]
 *
 * All places of a fragment are kept, as far as there is room for them.  The best one of a mate
 * counts, with those so near to it that their hits count, too.  Others have a part in the call, or
 * may be candidates; where there is no room for them, it must be certain that they do not matter.
 */
#ifndef KH_CUDA_KERNELS_MATCH_SHORT_FOUND_H
#define KH_CUDA_KERNELS_MATCH_SHORT_FOUND_H

#include "classify/match_score.h"

enum { KH_SHORT_PLACES = 2, KH_SHORT_KEPT = 16 };

/* The places of a fragment, in the order in which they were found. */
typedef struct kh_short_places {
	uint32_t n, left_out;           /* for want of room */
	kh_place v[KH_SHORT_KEPT];
} kh_short_places;

/* What a mate has found: its best place, and those near it. */
typedef struct kh_short_found {
	kh_short_places *kept;          /* of the fragment; */
	uint32_t first;                 /* the mate's begin there */
	uint32_t n_places;              /* on one strand of a target, a few bases aside */
	uint32_t place[KH_SHORT_PLACES];        /* numbers of them; the first one is the best */
	uint32_t hsp;                   /* the greatest score of an HSP, */
	uint32_t best, net;             /* of a place, and its greatest kh_match_net */
	uint32_t crowd;                 /* loss of regions that are too many; UINT32_MAX: none */
	uint32_t before;                /* `hsp` before these; UINT32_MAX, where none are */
	bool unclear;                   /* it is not as simple as that */
	bool tie;                       /* another one elsewhere is as good */
	bool others;                    /* there are places elsewhere, */
	uint32_t elsewhere;             /* with this score at most */
	uint32_t kmers, hits;
	uint32_t strain;                /* what its best place says of the strain; KH_NO_TAXON: a
					 * warp finds out */
	uint32_t had;                   /* how many of its seeds the text has there, if wanted */
	uint32_t unseen;                /* loss of a place that has none of the seeds, */
	uint32_t next;                  /* and of the best region that was not compared */
} kh_short_found;

static KH_HD kh_short_found kh_short_nothing(kh_short_places *kept)
{
	kh_short_found f;

	f.kept = kept;
	f.first = f.n_places = f.place[0] = f.place[1] = f.hsp = f.best = f.net = 0;
	f.kmers = f.hits = f.unseen = f.elsewhere = 0;
	f.had = 0;
	f.strain = KH_NO_TAXON;
	f.tie = f.unclear = f.others = false;
	f.next = f.crowd = f.before = UINT32_MAX;
	return f;
}

/* One of the places that count. */
static KH_HD const kh_place *kh_short_place(const kh_short_found *f, uint32_t i)
{
	return &f->kept->v[f->place[i]];
}

static KH_HD uint32_t kh_short_net(const kh_alignment *fit)
{
	const int64_t net = kh_match_net(fit->matches, fit->columns);

	return net > 0 ? (uint32_t)net : 0;
}

/* Is a place better than another one of its mate, or as good, and before it in their order? */
static KH_HD bool kh_short_better(const kh_match_db *db, const kh_place *p, const kh_place *other)
{
	const kh_claim a = kh_claim_of_one(db, p, 0), b = kh_claim_of_one(db, other, 0);

	return kh_claim_better(&a, &b) ||
	       (!kh_claim_better(&b, &a) && p->number < other->number);
}

/* Are two places on one strand of a target, and so close that hits of both count? */
static KH_HD bool kh_short_near(const kh_place *a, const kh_place *b)
{
	const int64_t far = kh_place_at(a) - kh_place_at(b);

	return a->target == b->target && kh_place_strand(a) == kh_place_strand(b) &&
	       far <= KH_MATCH_ASIDE && far >= -KH_MATCH_ASIDE;
}

/* Could a place be near one of the mate's but this one, or was any left out? */
static KH_HD bool kh_short_others_near(const kh_short_found *f, const kh_place *p, uint32_t but)
{
	bool near = f->kept->left_out > 0;

	KH_ROLLED
	for (uint32_t i = f->first; i < f->kept->n && !near; i++)
		near = i != but && kh_short_near(&f->kept->v[i], p);
	return near;
}

/* Keeps a place, if there is room. */
static KH_HD bool kh_short_keep_place(kh_short_places *kept, const kh_place *p)
{
	if (kept->n == KH_SHORT_KEPT) {
		kept->left_out++;
		return false;
	}
	kept->v[kept->n++] = *p;
	return true;
}

/* Adds a place that is not near the best one.  False: it is not as simple as that. */
static KH_HD bool kh_short_elsewhere(const kh_match_db *db, const kh_place *p, kh_short_found *f)
{
	const kh_place *best = kh_short_place(f, 0);
	const bool better = kh_short_better(db, p, best);

	if ((f->n_places > 1 && kh_short_near(kh_short_place(f, 1), p)) ||
	    (better && kh_short_others_near(f, p, UINT32_MAX)))
		return false;
	f->tie = (f->tie && p->fit.score <= best->fit.score) || p->fit.score == best->fit.score;
	f->others = true;
	const uint32_t behind = better ? best->fit.score : p->fit.score;

	f->elsewhere = behind > f->elsewhere ? behind : f->elsewhere;
	if (!kh_short_keep_place(f->kept, p))
		return !better;
	if (better) {
		f->place[0] = f->kept->n - 1;
		f->n_places = 1;
	}
	return true;
}

/* Of regions that are a crowd the CPU compares the heaviest, and a thread all: so what these have
 * may only be worse than what was found before, and no candidate. */
static KH_HD bool kh_short_no_matter(const kh_place *p, uint32_t slack, const kh_short_found *f)
{
	return f->n_places > 0 && !kh_short_near(kh_short_place(f, 0), p) &&
	       p->fit.score + slack < kh_short_place(f, 0)->fit.score;
}

/* Adds a place.  False: it is not as simple as that. */
static KH_HD bool kh_short_add(const kh_match_db *db, const kh_place *p, uint32_t slack,
			       kh_short_found *f)
{
	if (f->crowd != UINT32_MAX)
		return kh_short_no_matter(p, slack, f);
	if (f->n_places > 0 && !kh_short_near(kh_short_place(f, 0), p))
		return kh_short_elsewhere(db, p, f);
	const bool better = f->n_places > 0 && kh_short_better(db, p, kh_short_place(f, 0));

	/* What is near the new best place counts, as what is near the one before did. */
	if (f->n_places == KH_SHORT_PLACES || f->tie ||
	    (better && kh_short_others_near(f, p, f->place[0])) ||
	    !kh_short_keep_place(f->kept, p))
		return false;
	const uint32_t last = f->n_places++;

	f->place[last] = f->kept->n - 1;
	if (better) {
		f->place[last] = f->place[0];
		f->place[0] = f->kept->n - 1;
	}
	return true;
}

#endif
