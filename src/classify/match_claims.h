/* match_claims.h - claims: the best score of each species in a segment; match.h   [HD] */
#ifndef KH_CLASSIFY_MATCH_CLAIMS_H
#define KH_CLASSIFY_MATCH_CLAIMS_H

#include "classify/match_chain.h"

/* --- claims ------------------------------------------------------------------------- */
/* The taxon of a species' call, if its strain is not known. */
static KH_HD uint32_t kh_species_taxon(const kh_match_db *db, uint32_t species_no)
{
	return db->bins.taxon[db->bins.n_targets + species_no];
}

/* Do two places lie as the mates of a pair: in one target, on opposite strands, and beside each
 * other? */
static KH_HD bool kh_places_beside(const kh_place *a, const kh_place *b)
{
	const int64_t apart = kh_place_at(b) - kh_place_at(a);

	return a->target == b->target && kh_place_strand(a) != kh_place_strand(b) &&
	       apart >= -KH_MATCH_SPAN && apart <= KH_MATCH_SPAN;
}

static KH_HD kh_claim kh_claim_none(uint32_t species_no)
{
	const kh_claim c = { species_no, 0, 0, 0, 0, { 0, 0 }, 0, 0 };

	return c;
}

/* The number of a species' claim; UINT32_MAX: there is none. */
static KH_HD uint32_t kh_claims_find(const kh_claims *c, uint32_t species_no)
{
	uint32_t i = 0;

	if (c->of)
		return c->of[species_no] - 1;
	while (i < c->n && c->v[i].species_no != species_no)
		i++;
	return i < c->n ? i : UINT32_MAX;
}

/* Makes a claim; UINT32_MAX: there is no room. */
static KH_HD uint32_t kh_claims_new(kh_claims *c, uint32_t species_no)
{
	if (c->n == c->cap)
		return UINT32_MAX;
	c->v[c->n] = kh_claim_none(species_no);
	c->alone[c->n].best[0] = c->alone[c->n].best[1] = 0;
	if (c->of)
		c->of[species_no] = c->n + 1;
	return c->n++;
}

/* The number of a species' claim, which is made if there is none; UINT32_MAX: there is no room. */
static KH_HD uint32_t kh_claims_of(kh_claims *c, uint32_t species_no)
{
	const uint32_t i = kh_claims_find(c, species_no);

	return i != UINT32_MAX ? i : kh_claims_new(c, species_no);
}

static KH_HD void kh_claims_forget(kh_claims *c)
{
	for (uint32_t i = 0; i < c->n && c->of; i++)
		c->of[c->v[i].species_no] = 0;
	c->n = 0;
}

/* The claim of places[place] alone. */
static KH_HD kh_claim kh_claim_of_one(const kh_match_db *db, const kh_place *places, uint32_t place)
{
	const kh_place *p = &places[place];
	kh_claim c = { kh_bins_species_no(&db->bins, p->target), (int32_t)p->fit.score,
		       p->fit.matches, p->fit.columns, 1u << kh_place_mate(p), { 0, 0 }, 0, 0 };

	c.place[kh_place_mate(p)] = place;
	return c;
}

static KH_HD kh_claim kh_claim_of_place(const kh_matching *m, uint32_t place)
{
	return kh_claim_of_one(m->db, m->place, place);
}

static KH_HD kh_claim kh_claim_together(const kh_claim *a, const kh_claim *b, int32_t less)
{
	const kh_claim c = { a->species_no, a->score + b->score - less, a->matches + b->matches,
			     a->columns + b->columns, a->mates | b->mates,
			     { (a->mates & 1 ? a : b)->place[0], (b->mates & 2 ? b : a)->place[1] },
			     a->hits + b->hits, a->variable + b->variable };

	return c;
}

/* Raises claim i, which is of the same species. */
static KH_HD void kh_claim_raise(kh_matching *m, uint32_t i, const kh_claim *x)
{
	if (kh_claim_better(x, &m->here.v[i]))
		m->here.v[i] = *x;
}

/* --- mates -------------------------------------------------------------------------- */
/* The first place from `i` on that is not in front of this number. */
static KH_HD uint32_t kh_places_first(const kh_matching *m, uint32_t i, uint64_t number)
{
	uint32_t n = m->n_place - i;

	while (n > 0) {
		const uint32_t half = n / 2;

		if (m->place[i + half].number < number) {
			i += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return i;
}

/* Raises claim n by a place of the first mate with those of the second beside it. */
static KH_HD void kh_claim_pairs(kh_matching *m, uint32_t n, uint32_t place, uint32_t second)
{
	const kh_place *a = &m->place[place];
	const int64_t at = kh_place_at(a), least = at - KH_MATCH_SPAN;
	const uint64_t from = kh_place_number(1, !kh_place_strand(a),
					      least < -KH_TEXT_SPAN ? -KH_TEXT_SPAN : least);
	const uint64_t to = kh_place_number(1, !kh_place_strand(a), at + KH_MATCH_SPAN);
	const kh_claim one = kh_claim_of_place(m, place);

	for (uint32_t i = kh_places_first(m, second, from); i < m->n_place; i++) {
		if (m->place[i].number > to)
			break;
		if (m->place[i].target == a->target) {
			const kh_claim two = kh_claim_of_place(m, i);
			const kh_claim both = kh_claim_together(&one, &two, 0);

			kh_claim_raise(m, n, &both);
		}
	}
}

/* What mates cost that are not beside each other.  Without text a seed by itself says nothing: so
 * two of them, that may both be chance, are no more than one. */
static KH_HD int32_t kh_match_apart(const kh_match_db *db)
{
	return kh_match_is_thin(db) ? (int32_t)db->sampling.k : KH_MATCH_APART;
}

/* The claim of both mates at places of a species that are not beside each other. */
static KH_HD void kh_claim_apart(kh_matching *m)
{
	for (uint32_t i = 0; i < m->here.n; i++) {
		const uint32_t *best = m->here.alone[i].best;

		if (best[0] > 0 && best[1] > 0) {
			const kh_claim one = kh_claim_of_place(m, best[0] - 1);
			const kh_claim two = kh_claim_of_place(m, best[1] - 1);
			const kh_claim both = kh_claim_together(&one, &two, kh_match_apart(m->db));

			if (one.score > 0 && two.score > 0 &&
			    kh_claim_better(&both, &m->here.v[i]))
				m->here.v[i] = both;
		}
	}
}

/* Is a place of a mate better than the best one before it, which is numbered from 1? */
static KH_HD bool kh_place_better(const kh_matching *m, const kh_claim *x, uint32_t before)
{
	if (before == 0)
		return true;
	const kh_claim best = kh_claim_of_place(m, before - 1);

	return best.score == 0 || kh_claim_better(x, &best);
}

/* The first place of the second mate. */
static KH_HD uint32_t kh_places_second(const kh_matching *m)
{
	return kh_places_first(m, 0, kh_place_number(1, 0, -KH_TEXT_SPAN));
}

/* Raises claim n by place i, which is of its species. */
static KH_HD void kh_claims_add(kh_matching *m, uint32_t n, uint32_t i, uint32_t second)
{
	const kh_claim x = kh_claim_of_place(m, i);
	uint32_t *best = &m->here.alone[n].best[kh_place_mate(&m->place[i])];

	kh_claim_raise(m, n, &x);
	if (kh_place_better(m, &x, *best))
		*best = i + 1;
	if (i < second && second < m->n_place)
		kh_claim_pairs(m, n, i, second);
}

/* Puts the places in order, and makes m->here of them. */
static KH_HD void kh_match_claims(kh_matching *m)
{
	uint32_t second;

	kh_places_sort(m);
	second = kh_places_second(m);
	for (uint32_t i = 0; i < m->n_place; i++) {
		const uint32_t n = kh_claims_of(&m->here, kh_claim_of_place(m, i).species_no);

		kh_claims_add(m, n, i, second);
	}
	kh_claim_apart(m);
}

#endif
