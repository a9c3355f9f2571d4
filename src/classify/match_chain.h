/*
 * match_chain.h - how a part of a long read goes along the text, HSP by HSP   [HD]
 *
 * A part has errors all along, so at each place it is a chain of HSPs, and how much of it each
 * chain has hangs on luck.  Species that are close differ by less than that.  So other species are
 * compared where the best one's chain has the part: there all have the same errors, and what is
 * left are their own differences.
 */
#ifndef KH_CLASSIFY_MATCH_CHAIN_H
#define KH_CLASSIFY_MATCH_CHAIN_H

#include "classify/match_hits.h"

enum {
	/* HSPs beside the best one, at most, as each has the score of an end; or of a read,
	 * which has one on each side */
	KH_CHAIN_ENDS = KH_MATCH_PART_BASES / KH_END_SCORE + 1,
	KH_CHAIN_COMMON = 8     /* columns that HSPs have in common, at least */
};

/* Columns of a read, and how many bases aside it lies there. */
typedef struct kh_chain_hsp {
	uint16_t from, to;
	int32_t aside;
} kh_chain_hsp;

/* The best HSP of a place, then those behind it, and those in front of it, outwards. */
typedef struct kh_chain {
	uint32_t n, behind;
	kh_chain_hsp v[KH_CHAIN_ENDS + 1];
} kh_chain;

static KH_HD void kh_chain_add(kh_chain *p, const kh_alignment *fit, int64_t aside)
{
	const kh_chain_hsp x = { (uint16_t)fit->from, (uint16_t)fit->to, (int32_t)aside };

	if (p->n <= KH_CHAIN_ENDS)
		p->v[p->n++] = x;
}

/* That of a read, or of a part of one, that lies at `at`, by its best HSP. */
static KH_HD kh_chain kh_chain_of(const kh_laid *l, int64_t at, const kh_alignment *best,
				  bool part)
{
	kh_alignment fit;
	kh_chain p;

	p.n = p.behind = 0;
	kh_chain_add(&p, best, 0);
	for (int i = 0; i < 2; i++) {
		kh_text_side side = kh_text_side_of(best, at, i == 1, part);

		while (kh_text_go_on(l, &side, &fit))
			kh_chain_add(&p, &fit, side.at - at);
		if (i == 0)
			p.behind = p.n - 1;
	}
	return p;
}

/* The HSP that has a column, or is nearest to it; of equal ones the first. */
static KH_HD uint32_t kh_chain_nearest(const kh_chain *p, uint32_t column)
{
	uint32_t least = UINT32_MAX, which = 0;

	KH_ROLLED
	for (uint32_t i = 0; i < p->n; i++) {
		const kh_chain_hsp *x = &p->v[i];
		const uint32_t far = column < x->from  ? x->from - column
				     : column >= x->to ? column - x->to + 1
						       : 0;

		which = far < least ? i : which;
		least = far < least ? far : least;
	}
	return which;
}

/* Some columns of a part, and where it lies in a species by these. */
typedef struct kh_chain_run {
	int64_t at;
	uint32_t from, to;
} kh_chain_run;

/* Those of HSP i of the chain in a species where HSP `own` lies at `at`. */
static KH_HD kh_chain_run kh_chain_run_of(const kh_chain *p, uint32_t i, uint32_t own, int64_t at,
					  uint32_t len, bool turned)
{
	const int64_t aside = p->v[i].aside - (int64_t)p->v[own].aside;
	const kh_chain_run r = { turned ? at - aside : at + aside,
				 turned ? len - p->v[i].to : p->v[i].from,
				 turned ? len - p->v[i].from : p->v[i].to };

	return r;
}

/* Of an HSP of a place, the columns that HSP i of the chain has, too. */
static KH_HD kh_text_columns kh_chain_common(const kh_chain *p, uint32_t i, kh_text_columns c)
{
	c.from = p->v[i].from > c.from ? p->v[i].from : c.from;
	c.to = p->v[i].to < c.to ? p->v[i].to : c.to;
	return c;
}

/* The HSP of the chain in which the best one of a place lies, whose columns are `hsp` as the chain
 * counts them.  That may reach over a gap of the chain, and over the one that makes up for it; so
 * of several that have some of its columns, it is the one with the most score at the place. */
static KH_HD uint32_t kh_chain_own(const kh_chain *p, const kh_laid *l, int64_t at, bool turned,
				   kh_text_columns hsp)
{
	uint32_t own = kh_chain_nearest(p, (hsp.from + hsp.to - (turned ? 1u : 0u)) / 2);
	int32_t most = INT32_MIN;
	bool other = false;

	/* nearly always it has hardly a column beside that one */
	if (hsp.from + KH_CHAIN_COMMON > p->v[own].from &&
	    hsp.to < (uint32_t)p->v[own].to + KH_CHAIN_COMMON)
		return own;
	KH_ROLLED
	for (uint32_t i = 0; i < p->n && !other; i++) {
		const kh_text_columns c = kh_chain_common(p, i, hsp);

		other = c.from + KH_CHAIN_COMMON <= c.to && p->v[i].aside != p->v[own].aside;
	}
	KH_ROLLED
	for (uint32_t i = 0; i < p->n && other; i++) {
		const kh_text_columns c = kh_chain_common(p, i, hsp);

		if (c.from + KH_CHAIN_COMMON > c.to)
			continue;
		const uint32_t same = kh_text_matches(l, at, turned ? l->len - c.to : c.from,
						      turned ? l->len - c.from : c.to);
		const int32_t score = 2 * (int32_t)same - (int32_t)(c.to - c.from);

		own = score > most ? i : own;
		most = score > most ? score : most;
	}
	return own;
}

/* The claim that a species has, by claim c, along the chain of the best one: the HSP in which its
 * own best one lies is where that is by itself, and the others are as far aside of it as those of
 * the chain are. */
static KH_HD kh_claim kh_chain_claim(const kh_matching *m, const kh_segment *s, const kh_chain *p,
				     const kh_claim *best, const kh_claim *c)
{
	const kh_place *here = &m->place[c->place[0]];
	const bool turned = kh_place_strand(here) != kh_place_strand(&m->place[best->place[0]]);
	const kh_laid l = kh_place_laid(m, s, here);
	const kh_text_columns hsp = { turned ? l.len - here->hsp.to : here->hsp.from,
				      turned ? l.len - here->hsp.from : here->hsp.to };
	const uint32_t own = kh_chain_own(p, &l, kh_place_at(here), turned, hsp);
	const bool wants = kh_match_wants_others(m->db);
	kh_claim x = *c;

	x.matches = x.variable = 0;
	for (uint32_t i = 0; i < p->n; i++) {
		const kh_chain_run r =
			kh_chain_run_of(p, i, own, kh_place_at(here), l.len, turned);

		x.matches += kh_text_matches(&l, r.at, r.from, r.to);
		x.variable += wants ? kh_text_alleles(&l, r.at, r.from, r.to) : 0;
	}
	x.columns = best->columns;
	x.score = best->score - 2 * ((int32_t)best->matches - (int32_t)x.matches);
	return x;
}

#ifndef __CUDACC__
/* Is the chain one HSP, in which the part lies by claim c, too?  So it does at most places of
 * reads with few errors. */
static inline bool kh_chain_is_own(const kh_matching *m, const kh_segment *s, const kh_chain *p,
				   const kh_claim *best, const kh_claim *c)
{
	const kh_place *here = &m->place[c->place[0]];
	const uint32_t len = s->mate[0].len, from = here->hsp.from, to = here->hsp.to;
	const bool turned = kh_place_strand(here) != kh_place_strand(&m->place[best->place[0]]);

	return p->n == 1 && c->columns == to - from && best->columns == c->columns &&
	       p->v[0].from == (turned ? len - to : from);
}
#endif

/* Raises claim i by that, unless it is the best one, and finds its variable columns. */
static KH_HD void kh_chain_raise(kh_matching *m, const kh_segment *s, const kh_chain *p,
				 const kh_claim *best, uint32_t i)
{
	kh_claim *c = &m->here.v[i];
	const bool is_best = c->species_no == best->species_no;

	if (is_best && !kh_match_wants_others(m->db))
		return;
#ifndef __CUDACC__
	if (!kh_match_wants_others(m->db) && kh_chain_is_own(m, s, p, best, c))
		return;                 /* there it has the same score */
#endif
	const kh_claim x = kh_chain_claim(m, s, p, best, c);

	if (!is_best && kh_claim_better(&x, c))
		*c = x;
	c->variable = x.variable;
}

#endif
