/*
 * match_score.h - a segment compared: how well each species fits, and whether more seeds must be
 * looked up to know the best; match.h   [HD]
 *
 * kh_match_segment, the last function, drives the comparison: by match_place.h regions become
 * places, by match_claims.h these become claims, and what is here adds a mate without a place, or
 * goes along the chain of a part.
 */
#ifndef KH_CLASSIFY_MATCH_SCORE_H
#define KH_CLASSIFY_MATCH_SCORE_H

#include "classify/match_claims.h"

/* --- a mate without a place --------------------------------------------------------- */
/* NULL: there is no claim. */
static KH_HD_CALLED const kh_claim *kh_match_best(const kh_claims *c)
{
	const kh_claim *best = NULL;

	for (uint32_t i = 0; i < c->n; i++)
		if (!best || kh_claim_better(&c->v[i], best))
			best = &c->v[i];
	return best;
}

/* The range of bases where the other mate of a place may begin: from .. to.  False: it is empty. */
static KH_HD bool kh_rescue_range(const kh_matching *m, const kh_segment *s, const kh_place *a,
				  int64_t *from, int64_t *to)
{
	const uint32_t mate = !kh_place_mate(a), strand = !kh_place_strand(a);
	const uint32_t len = s->mate[mate].len;
	const int64_t begin = (int64_t)kh_match_begin(m->db, a->target);
	const int64_t last = (int64_t)m->db->stretch[a->target].end - len, at = kh_place_at(a);
	/* where it would begin if both ended there, or began there */
	const int64_t here = strand ? at : at + s->mate[!mate].len - len;

	*from = here - (strand ? KH_RESCUE_BEFORE : KH_RESCUE_BEHIND);
	*to = here + (strand ? KH_RESCUE_BEHIND : KH_RESCUE_BEFORE);
	*from = *from > begin ? *from : begin;
	*to = *to < last ? *to : last;
	return *from <= *to;
}

/* The other mate of a place was found: its place goes behind all others, and raises the claim. */
static KH_HD void kh_match_rescued(kh_matching *m, uint32_t place, uint32_t beside,
				   const kh_place *found)
{
	m->place[beside] = *found;
	const kh_claim one = kh_claim_of_place(m, place), two = kh_claim_of_place(m, beside);
	const kh_claim both = kh_claim_together(&one, &two, 0);

	/* the place has made its species' claim */
	kh_claim_raise(m, kh_claims_find(&m->here, both.species_no), &both);
}

/* Seeks the other mate of a place where it fits best. */
static KH_HD_CALLED void kh_match_rescue(kh_matching *m, const kh_segment *s, uint32_t place,
					 uint32_t beside)
{
	const kh_place *a = &m->place[place];
	const uint32_t mate = !kh_place_mate(a), strand = !kh_place_strand(a);
	const uint32_t len = s->mate[mate].len;
	kh_place b = { kh_place_number(mate, strand, kh_place_at(a)), a->target,
		       { 0, 0, 0, 0, 0 }, { 0, 0, 0 } };
	const kh_laid l = kh_place_laid(m, s, &b);
	int64_t from, to, found;
	uint32_t differ;

	if (!kh_rescue_range(m, s, a, &from, &to))
		return;
	found = (int64_t)kh_text_nearest(&l, (uint64_t)from, (uint64_t)to, &differ);
	if (2 * differ > (len < 64 ? len : 64))
		return;
	b.fit = kh_text_fit(&l, found, 0, len);
	if (b.fit.score < KH_RESCUE_FIT)
		return;
	kh_text_fit_ends(&l, found, false, &b.fit);
	b.number = kh_place_number(mate, strand, found);
	kh_match_rescued(m, place, beside, &b);
}

/* The best place, of those that come after `before` by score and then by order; UINT32_MAX, before
 * the first one and behind the last one. */
static KH_HD uint32_t kh_places_next_best(const kh_matching *m, uint32_t before)
{
	uint32_t best = UINT32_MAX;

	KH_ROLLED
	for (uint32_t i = 0; i < m->n_place; i++) {
		const uint32_t score = m->place[i].fit.score;
		const bool after = before == UINT32_MAX || score < m->place[before].fit.score ||
				   (score == m->place[before].fit.score && i > before);

		if (after && (best == UINT32_MAX || score > m->place[best].fit.score))
			best = i;
	}
	return best;
}

static KH_HD void kh_match_rescue_mate(kh_matching *m, const kh_segment *s)
{
	const kh_claim *best = kh_match_best(&m->here);
	uint32_t p = UINT32_MAX;

	if (!best || best->mates == 3)
		return;
	const int32_t near = best->score - KH_RESCUE_NEAR;

	for (uint32_t i = 0; i < KH_RESCUE_MOST; i++) {
		p = kh_places_next_best(m, p);
		if (p == UINT32_MAX || m->place[p].fit.score < KH_RESCUE_SCORE ||
		    (int32_t)m->place[p].fit.score < near)
			break;
		if (s->mate[!kh_place_mate(&m->place[p])].len >= KH_RESCUE_LEN)
			kh_match_rescue(m, s, p, m->n_place + i);
	}
}

/* --- a part of a long read ---------------------------------------------------------- */
/* Compares the part with the other species along the chain of the best one, so that all are
 * compared over the same gaps. */
static KH_HD void kh_match_along(kh_matching *m, const kh_segment *s)
{
	const kh_claim *best = kh_match_best(&m->here);

	if (!best || m->here.n < 2)
		return;
	const kh_claim b = *best;
	const kh_place *at = &m->place[b.place[0]];
	const kh_laid l = kh_place_laid(m, s, at);
	const kh_alignment hsp = kh_place_hsp(&l, at);
	const kh_chain chain = kh_chain_of(&l, kh_place_at(at), &hsp, true);

	for (uint32_t i = 0; i < m->here.n; i++)
		kh_chain_raise(m, s, &chain, &b, i);
}

/* --- what is of interest ------------------------------------------------------------ */
/* Places are compared if their bound is at most so far below the best score.  With alleles a place
 * may fit better than its seeds say, and tie: the allele may be in a seed that it lacks. */
static KH_HD uint32_t kh_match_slack(const kh_match_db *db, const kh_segment *s)
{
	if (!s->whole)
		return KH_MATCH_SLACK;
	return kh_match_wants_others(db) || db->alleles ? KH_MATCH_NEARBY : 0;
}

/* --- a segment ---------------------------------------------------------------------- */
/* Are all its seeds looked up at once, and is it compared with all species?  A part is if a seed
 * that is missing says nothing, so that regions do not tell how well it may fit; and if more than
 * the call is wanted, as then it matters how far other species are behind. */
static KH_HD bool kh_match_asks_all(const kh_match_db *db, const kh_segment *s)
{
	return !s->whole && (kh_match_wants_others(db) || !kh_match_seeds_tell(db));
}

/* Is one mate enough to know that the other seeds must be looked up?  The mate may have a place
 * with none of its first seeds, whose score is at most its length less `unseen`.  If the best place
 * so far has no more, the other mate cannot decide: it may lie beside either place. */
static KH_HD bool kh_match_falls_short(const kh_matching *m, const kh_segment *s, uint32_t mate)
{
	const kh_found *f = &m->found[mate];

	return kh_segment_has_more(s) && s->mate[mate].len > 0 &&
	       (f->crowd || f->best + f->unseen <= s->mate[mate].len);
}

/* The same of a mate without anchors, as any place is better than none. */
static KH_HD bool kh_match_has_nothing(const kh_matching *m, const kh_segment *s, uint32_t mate)
{
	return kh_segment_has_more(s) && s->mate[mate].len > 0 && m->found[mate].n_anchors == 0;
}

/* What a place of the other mate may add to a score, or, if that has none, what losses are
 * greater by for its sake (kh_region_lone_loss). */
static KH_HD int64_t kh_match_others(uint32_t best, uint32_t lone)
{
	return best > lone ? best : lone;
}

/* Compares the mates of a segment in the regions that could be best, and makes claims of their
 * places.  No claims, if one mate tells that the other seeds must be looked up first: then
 * kh_match_unseen says yes. */
static KH_HD void kh_match_compare(kh_matching *m, const kh_segment *s)
{
	const uint32_t slack = kh_match_slack(m->db, s);
	const kh_found *f = m->found;
	const uint32_t lone = kh_region_lone_loss(m->db, s, f[0].n_regions, f[1].n_regions);
	const kh_claim *best;
	bool more = false;

	for (uint32_t i = 0; i < 2; i++) {
		const kh_mate *a = &s->mate[i];

		if (a->len > 0)
			kh_text_read(m->read[i], a->bases, a->amb, a->at, a->len);
		kh_regions_compare_best(m, s, i, slack);
		if (kh_match_falls_short(m, s, i))
			return;
	}
	kh_match_claims(m);
	best = kh_match_best(&m->here);
	/* a species may be best by both mates, and by none of them */
	if (!best || ((f[0].best == 0 || f[1].best == 0) && lone == 0))
		return;
	const int64_t score = (int64_t)best->score - slack;
	const int64_t from[2] = { score - kh_match_others(f[1].best, lone),
				  score - kh_match_others(f[0].best, lone) };

	for (uint32_t i = 0; i < 2; i++)
		more |= !f[i].crowd && kh_regions_compare_from(m, s, i, from[i], slack);
	if (!more)
		return;
	kh_claims_forget(&m->here);
	kh_match_claims(m);
}

/* Adds the taxon of a region of a crowded mate to e, if the region was not compared, is one of the
 * heaviest, and could be as good as the best claim: alone, or with the other mate's region beside
 * it. */
static KH_HD kh_extent kh_match_crowded(const kh_matching *m, const kh_segment *s, uint32_t mate,
					uint32_t region, int64_t best, kh_extent e)
{
	const kh_bins *b = &m->db->bins;
	const kh_found *f = &m->found[mate];
	const kh_region *r = &f->region[region];
	const int64_t other = r->weight > r->n ? m->found[!mate].best : 0;

	if (r->weight != f->crowd || !kh_region_may(r, s->mate[mate].len, best - other))
		return e;
	return kh_extent_add(e, b->taxon[kh_bin_species_row(m->db, kh_region_bin(f, r))]);
}

static KH_HD kh_extent kh_match_crowd(const kh_matching *m, const kh_segment *s, int64_t best)
{
	kh_extent e = kh_extent_empty();

	for (uint32_t mate = 0; mate < 2; mate++)
		for (uint32_t i = 0; m->found[mate].crowd && i < m->found[mate].n_regions; i++)
			e = kh_match_crowded(m, s, mate, i, best, e);
	return e;
}

/* Must the other seeds be looked up?  Yes, if a place with none of the first seeds could be as good
 * as the best one, or if a mate is crowded by the first seeds. */
static KH_HD bool kh_match_unseen(const kh_matching *m, const kh_segment *s)
{
	const kh_claim *best = kh_match_best(&m->here);
	const int64_t score = best ? best->score : 0;

	for (int i = 0; i < 2 && best; i++) {
		const int64_t most = (int64_t)s->mate[i].len - m->found[i].unseen;

		if (s->mate[i].len > 0 && score <= most + m->found[!i].best)
			return true;
	}
	return !best || m->found[0].crowd || m->found[1].crowd;
}

/* Makes the claims of a segment whose regions are known: m->here.  True: the other seeds must be
 * looked up first. */
static KH_HD bool kh_match_segment(kh_matching *m, const kh_segment *s)
{
	const kh_claim *best;

	m->n_place = 0;
	m->crowd = kh_extent_empty();
	kh_match_compare(m, s);
	if (kh_segment_has_more(s) && kh_match_unseen(m, s))
		return true;
	if (s->mate[0].len > 0 && s->mate[1].len > 0 && !kh_match_is_thin(m->db))
		kh_match_rescue_mate(m, s);
	if (!s->whole && !kh_match_is_thin(m->db))
		kh_match_along(m, s);
	best = s->whole ? kh_match_best(&m->here) : NULL;
	if (best)
		m->crowd = kh_match_crowd(m, s, best->score);
	return false;
}

#endif
