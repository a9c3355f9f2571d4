/* match_call.h - the call that follows from how well each species fits: match.h   [HD] */
#ifndef KH_CLASSIFY_MATCH_CALL_H
#define KH_CLASSIFY_MATCH_CALL_H

#include "classify/match_score.h"

/* --- may it be a call? -------------------------------------------------------------- */
/* May a fragment with such a best score have a call? */
static KH_HD bool kh_match_may_call_by(const kh_match_db *db, const kh_segment *s, int64_t score)
{
	return score >= (int64_t)db->least.call[kh_log2(s->mate[0].seeds + s->mate[1].seeds)];
}

/* May a fragment with such a best score have what is wanted beside its call? */
static KH_HD bool kh_match_may_want_by(const kh_match_db *db, const kh_segment *s, int64_t score)
{
	return score >= (int64_t)db->least.candidates[kh_log2(s->mate[0].seeds +
							      s->mate[1].seeds)];
}

/* Do enough of so many bases match by a claim for a species, and for a genus?  They stay so if they
 * are already. */
static KH_HD void kh_match_names_by(const kh_match_db *db, const kh_claim *c, uint64_t bases,
				    bool *species, bool *genus)
{
	const bool thin = kh_match_is_thin(db);
	const int two = thin ? kh_claim_names_thin(c, db->sampling.k) : 0;

	*species |= thin ? two : kh_claim_names_species(c, bases);
	*genus |= thin ? two : kh_claim_names_genus(c);
}

/* Do enough bases of both mates, or of one of them alone, match for a species, and for a genus? */
static KH_HD void kh_match_names(const kh_match_db *db, const kh_place *places, const kh_segment *s,
				 const kh_claim *best, bool *species, bool *genus)
{
	uint64_t bases = 0;

	for (int i = 0; i < 2; i++)
		bases += best->mates & 1u << i ? s->mate[i].len : 0;
	*species = *genus = false;
	kh_match_names_by(db, best, bases, species, genus);
	for (int i = 0; i < 2 && best->mates == 3; i++) {
		const kh_claim one = kh_claim_of_one(db, places, best->place[i]);

		kh_match_names_by(db, &one, s->mate[i].len, species, genus);
	}
}

/* Could this best claim be a call, of a fragment that is one segment? */
static KH_HD bool kh_match_may_call(const kh_match_db *db, const kh_place *places,
				    const kh_segment *s, const kh_claim *best)
{
	bool species, genus;

	if (!kh_match_may_call_by(db, s, best->score))
		return false;
	kh_match_names(db, places, s, best, &species, &genus);
	return species || genus;
}

/* --- hits ------------------------------------------------------------------------------ */
/* Must hits be counted, if this claim is the best one? */
static KH_HD bool kh_match_wants_hits(const kh_match_db *db, const kh_place *places,
				      const kh_segment *s, const kh_claim *best)
{
	return !s->whole ||
	       (kh_match_wants_others(db) && kh_match_may_want_by(db, s, best->score)) ||
	       kh_match_may_call(db, places, s, best);
}

/* Must the hits of this claim be counted?  Those of the best one, of one that may be the second
 * best, and of a part of a long fragment all with a score. */
static KH_HD bool kh_match_counts(const kh_match_db *db, const kh_segment *s, const kh_claim *best,
				  const kh_claim *c)
{
	const bool second = db->want == KH_WANT_SECOND;

	return c == best || (!s->whole && c->score >= KH_MATCH_PART) ||
	       (second && c->score >= best->score - KH_MATCH_NEARBY);
}

static KH_HD void kh_match_count_hits(kh_matching *m, const kh_segment *s)
{
	const kh_claim *best = kh_match_best(&m->here);

	if (!best || !kh_match_wants_hits(m->db, m->place, s, best))
		return;
	for (uint32_t i = 0; i < m->here.n; i++)
		if (kh_match_counts(m->db, s, best, &m->here.v[i]))
			m->here.v[i].hits = kh_claim_hits(m, s, &m->here.v[i]);
}

/* --- candidates, and the call ------------------------------------------------------------ */
/* The LCA of the species with such a score and more, and of others. */
static KH_HD uint32_t kh_claims_lca(const kh_match_db *db, const kh_claims *c, int64_t score,
				    kh_extent e)
{
	KH_ROLLED
	for (uint32_t i = 0; i < c->n; i++)
		if (c->v[i].score >= score)
			e = kh_extent_add(e, kh_species_taxon(db, c->v[i].species_no));
	return kh_tree_lca(&db->tree, e.lo, e.hi);
}

/* The bin where a place begins. */
static KH_HD uint32_t kh_place_bin(const kh_match_db *db, const kh_place *p)
{
	const int64_t at = kh_place_at(p), begin = (int64_t)kh_match_begin(db, p->target);

	return (uint32_t)((at > begin ? at : begin) / db->sampling.stride);
}

/* Is claim x a better second-best one than `before`, which may be NULL? */
static KH_HD bool kh_claim_is_second(const kh_match_db *db, const kh_claim *x,
				     const kh_claim *before)
{
	if (!before || kh_claim_better(x, before) || kh_claim_better(before, x))
		return !before || kh_claim_better(x, before);
	return kh_species_taxon(db, x->species_no) < kh_species_taxon(db, before->species_no);
}

/* The second-best species of a fragment that is one segment: the best of those whose score is near
 * that of the best claim. */
static KH_HD kh_second kh_claims_second(const kh_match_db *db, const kh_claims *c,
					const kh_claim *best)
{
	const kh_claim *second = NULL;

	KH_ROLLED
	for (uint32_t i = 0; i < c->n; i++) {
		const kh_claim *x = &c->v[i];

		if (x != best && x->score >= best->score - KH_MATCH_NEARBY &&
		    kh_claim_is_second(db, x, second))
			second = x;
	}
	return second ? kh_second_of(kh_species_taxon(db, second->species_no), second->hits)
		      : kh_second_none();
}

/* By how many mismatches is a score behind the greatest?  Each costs 2: a match, and 1 more. */
static KH_HD uint32_t kh_claim_behind(int32_t most, int32_t score)
{
	return (uint32_t)(most - score + 1) / 2;
}

/* How many species are at most so many mismatches behind? */
static KH_HD uint32_t kh_claims_near(const kh_claims *c, int32_t most, uint32_t behind)
{
	uint32_t n = 0;

	KH_ROLLED
	for (uint32_t i = 0; i < c->n; i++)
		n += kh_claim_behind(most, c->v[i].score) <= behind;
	return n;
}

static_assert((uint32_t)KH_MATES_MOST == KH_MATES_APART + KH_MATCH_SPAN / KH_MATES_STEP,
	      "mates of a pair are so many steps apart, at most");

/* How a pair fits a species (kh_mates_fit); 0: it is no pair, a mate is too short, or they do not
 * lie beside each other. */
static KH_HD uint32_t kh_claim_mates_fit(const kh_place *places, const kh_segment *s,
					 const kh_claim *best)
{
	if (best->mates != 3)
		return s->mate[0].len >= KH_RESCUE_LEN && s->mate[1].len >= KH_RESCUE_LEN
			       ? KH_ONE_MATE : 0;
	const kh_place *a = &places[best->place[0]], *b = &places[best->place[1]];
	const int64_t from = kh_place_at(a), to = kh_place_at(b);
	const uint64_t apart = (uint64_t)(from < to ? to - from : from - to);

	return kh_places_beside(a, b) ? (uint32_t)(KH_MATES_APART + apart / KH_MATES_STEP) : 0;
}

/* The candidates of a fragment that is one segment, of whose claims `best` is the best one:
 * species no more than KH_MATCH_REACH mismatches behind, or fewer, so that they are no more
 * than KH_CANDIDATES. */
static KH_HD kh_candidates kh_claims_candidates(const kh_match_db *db, const kh_place *places,
						const kh_claims *c, const kh_segment *s,
						const kh_claim *best)
{
	kh_candidates to = kh_candidates_none();
	uint32_t score[KH_CANDIDATES], reach = KH_MATCH_REACH;
	int n = 0;

	while (c->n > KH_CANDIDATES && reach > 0 &&
	       kh_claims_near(c, best->score, reach) > KH_CANDIDATES)
		reach--;
	KH_ROLLED
	for (uint32_t i = 0; i < c->n; i++) {
		const int32_t has = c->v[i].score;

		if (kh_claim_behind(best->score, has) > reach)
			continue;
		const uint32_t species = db->tree.species[kh_species_taxon(db, c->v[i].species_no)];

		if (species == KH_NO_TAXON || has <= 0 ||
		    !kh_candidates_add(&to, score, &n, species, (uint32_t)has)) {
			to = kh_candidates_none();
			return to;
		}
	}
	KH_ROLLED
	for (int i = 0; i < n && n > 1; i++)
		to.drop[i] = (uint8_t)kh_claim_behind(best->score, (int32_t)score[i]);
	if (n == 1)
		kh_candidates_set_mates_fit(&to, kh_claim_mates_fit(places, s, best));
	to.bin = kh_place_bin(db, &places[best->place[best->mates & 1 ? 0 : 1]]);
	return to;
}

/* Gives a fragment that is one segment what is wanted beside its call.  In billions of bases a
 * random fragment has seeds of several species: its score is too low for any of that. */
static KH_HD void kh_claims_give(const kh_match_db *db, const kh_place *places, const kh_claims *c,
				 const kh_segment *s, const kh_claim *best, kh_beside to)
{
	if (!kh_match_may_want_by(db, s, best->score))
		return;
	if (to.candidates)
		*to.candidates = kh_claims_candidates(db, places, c, s, best);
	if (to.second)
		*to.second = kh_claims_second(db, c, best);
}

/* The taxon of a fragment that is one segment, by its claims, of which this is the best one. */
static KH_HD uint32_t kh_match_taxon(const kh_match_db *db, const kh_place *places,
				     const kh_claims *claims, const kh_segment *s,
				     const kh_claim *best, kh_extent crowd)
{
	bool species, genus;
	uint32_t taxon;

	if (!kh_match_may_call_by(db, s, best->score))
		return KH_NO_TAXON;
	kh_match_names(db, places, s, best, &species, &genus);
	taxon = kh_claims_lca(db, claims, best->score, crowd);
	if (db->tree.species[taxon] != KH_NO_TAXON && species)
		return taxon;
	return genus ? kh_rule_raise(&db->tree, taxon) : KH_NO_TAXON;
}

#endif
