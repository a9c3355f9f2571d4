/* match_long.h - a fragment's parts, summed by species, and its call: match.h   [HD] */
#ifndef KH_CLASSIFY_MATCH_LONG_H
#define KH_CLASSIFY_MATCH_LONG_H

#include "classify/class.h"
#include "classify/match_call.h"

/* What the parts say of a species beside the sum of their claims. */
typedef struct kh_sum {
	uint32_t credit;                /* scores of parts that no species fits better */
	uint32_t shared;                /* of that, in parts where the best species has some, too */
	uint32_t kin;                   /* of the best species: the same of its whole genus */
	uint32_t ahead;                 /* how far its scores are above those of other genera */
	int32_t odds;                   /* what parts say for it, in 1/5 nats: kh_part_odds */
} kh_sum;

typedef struct kh_sums {
	kh_claims claims;
	kh_sum *sum;                    /* of each of these */
} kh_sums;

/* --- a part ------------------------------------------------------------------------------ */
/* What fits a part best. */
typedef struct kh_part_best {
	int32_t score;                  /* 0: nothing does */
	uint32_t genus;                 /* of that, */
	int32_t other;                  /* and the greatest score of another one, or 0 */
} kh_part_best;

static KH_HD kh_part_best kh_part_best_none(void)
{
	const kh_part_best b = { 0, KH_NO_TAXON, 0 };

	return b;
}

/* The genus of a species, or what stands for it; where that is the root, the species itself. */
static KH_HD uint32_t kh_species_genus(const kh_match_db *db, uint32_t species_no)
{
	const uint32_t taxon = kh_species_taxon(db, species_no);
	const uint32_t genus = db->tree.genus[taxon];

	return genus == KH_NO_TAXON || genus == 0 ? taxon : genus;
}

/* Takes note of a claim with such a score; one below KH_MATCH_PART is passed over. */
static KH_HD void kh_part_see(const kh_match_db *db, kh_part_best *b, uint32_t species_no,
			      int32_t score)
{
	if (score < KH_MATCH_PART || score <= b->other)
		return;
	const uint32_t genus = kh_species_genus(db, species_no);

	if (score > b->score) {
		if (genus != b->genus)
			b->other = b->score;
		b->score = score;
		b->genus = genus;
	} else if (genus != b->genus) {
		b->other = score;
	}
}

/* What a part says for a species, in 1/5 nats, that is so many mismatches behind the best one there
 * and has so many columns in which its strains differ; 0 is what it says for one without a claim.
 * Two or three mismatches say most: one that is farther behind may have been compared over a gap in
 * the wrong place.  Any mixture of the strains fits in variable columns, so to fit in many of them
 * says less.  (Rounded from a fit to ONT reads of ties.py, of seeds 884101 to 884116, where the
 * shares of species are known.)
 * Example: a part without variable columns fits A best, B with a mismatch more, C with 12 more, and
 * is not found in D: 6, -3, 0 and 0.  If 5 columns of A are variable, A has 6 - 3 = 3. */
static KH_HD int32_t kh_part_odds(uint32_t behind, uint32_t variable)
{
	const int32_t bits = variable > 0 ? 1 + (int32_t)kh_log2(variable) : 0;

	if (behind > 3)
		return behind <= 5 ? -7 : behind <= 9 ? -4 : 0;
	return (behind == 0 ? 6 : behind == 1 ? -3 : -8) - bits;
}

/* --- sums -------------------------------------------------------------------------------- */
/* Adds a claim of a part to the sum of its species, which is number *number.  False: there is no
 * room. */
static KH_HD bool kh_sums_add(const kh_match_db *db, kh_sums *s, const kh_part_best *b,
			      const kh_claim *x, uint32_t *number)
{
	const kh_sum none = { 0, 0, 0, 0, 0 };
	const uint32_t n = s->claims.n, i = kh_claims_of(&s->claims, x->species_no);

	if (i == UINT32_MAX)
		return false;
	if (i == n)
		s->sum[i] = none;
	s->claims.v[i] = kh_claim_together(&s->claims.v[i], x, 0);
	s->sum[i].credit += x->score == b->score ? (uint32_t)x->score : 0;
	s->sum[i].odds += kh_part_odds(kh_claim_behind(b->score, x->score), x->variable);
	if (x->score > b->other && kh_species_genus(db, x->species_no) == b->genus)
		s->sum[i].ahead += (uint32_t)(x->score - b->other);
	*number = i;
	return true;
}

/* Is sum a better than sum b: by credit, then as claims are? */
static KH_HD bool kh_sum_better(const kh_sums *s, uint32_t a, uint32_t b)
{
	const kh_claim *x = &s->claims.v[a], *y = &s->claims.v[b];

	if (s->sum[a].credit != s->sum[b].credit)
		return s->sum[a].credit > s->sum[b].credit;
	if (kh_claim_better(x, y) || kh_claim_better(y, x))
		return kh_claim_better(x, y);
	return s->sum[a].ahead > s->sum[b].ahead;
}

/* Does sum a come before sum b?  Of equal ones that of the lesser species does. */
static KH_HD bool kh_sum_before(const kh_sums *s, uint32_t a, uint32_t b)
{
	if (kh_sum_better(s, a, b) || kh_sum_better(s, b, a))
		return kh_sum_better(s, a, b);
	return s->claims.v[a].species_no < s->claims.v[b].species_no;
}

/* The number of the first one behind `last`, or of all; UINT32_MAX, for either: there is none. */
static KH_HD uint32_t kh_sums_next(const kh_sums *s, uint32_t last)
{
	uint32_t next = UINT32_MAX;

	for (uint32_t i = 0; i < s->claims.n; i++)
		if ((last == UINT32_MAX || kh_sum_before(s, last, i)) &&
		    (next == UINT32_MAX || kh_sum_before(s, i, next)))
			next = i;
	return next;
}

/* The number of the best one; UINT32_MAX: there is none. */
static KH_HD uint32_t kh_sums_best(const kh_sums *s)
{
	return kh_sums_next(s, UINT32_MAX);
}

/* --- the call ---------------------------------------------------------------------------- */
/* Does species i tie with the best one?  Yes, if its credit is nearly as high and both win some of
 * the same parts.  If they share no part, the read is a chimera of the two. */
static KH_HD bool kh_sum_near(const kh_sums *s, uint32_t best, uint32_t i)
{
	const uint32_t most = s->sum[best].credit, credit = s->sum[i].credit;

	return i == best ||
	       (credit >= most - most / KH_MATCH_NEAR &&
		(uint64_t)KH_MATCH_SHARED * s->sum[i].shared >= credit);
}

/* Does the best species have 2/3 of its genus' credit?  A read of a species that is not in the
 * database resembles one species of the genus here, and another one there. */
static KH_HD bool kh_sum_is_own(const kh_sum *s)
{
	return 3 * (uint64_t)s->credit >= 2 * (uint64_t)s->kin;
}

/* Do the parts that are compared first decide the call?  Yes, if the best species fits well, all
 * that come near it are of one species, and the fragment is long enough for the sample pass to take
 * it for a long one.  `bases`, `kmers`: of these parts. */
static KH_HD bool kh_match_long_sure(const kh_match_db *db, const kh_sums *s, uint64_t bases,
				     uint32_t kmers)
{
	const uint32_t best = kh_sums_best(s);
	const kh_claim *c = best == UINT32_MAX ? NULL : &s->claims.v[best];
	const uint32_t *taxon = db->bins.taxon + db->bins.n_targets;
	kh_extent e = kh_extent_empty();

	if (!c || kmers <= KH_N_MOST || c->score < (int32_t)db->least.call[31] ||
	    !kh_claim_fits_well(c, bases))
		return false;
	for (uint32_t i = 0; i < s->claims.n; i++)
		if (s->claims.v[i].score >= c->score - c->score / KH_MATCH_AHEAD ||
		    KH_MATCH_JOINED * (uint64_t)s->sum[i].credit >= s->sum[best].credit)
			e = kh_extent_add(e, taxon[s->claims.v[i].species_no]);
	return db->tree.species[kh_tree_lca(&db->tree, e.lo, e.hi)] != KH_NO_TAXON;
}

/* --- parts that are compared later ------------------------------------------------------- */
static KH_HD kh_kept kh_kept_all(void)
{
	kh_kept k;

	k.n = 0;
	return k;
}

/* May a species still become the call, which by its credit is number n, from 0, if the best one has
 * `most`? */
static KH_HD bool kh_credit_is_kept(uint32_t n, uint64_t credit, uint64_t most)
{
	return n < KH_MATCH_KEPT_FEW || (n < KH_MATCH_KEPT && 5 * credit >= 3 * most);
}

/* The species that may, by the parts that are compared first. */
static KH_HD kh_kept kh_sums_kept(const kh_sums *s)
{
	const uint32_t best = kh_sums_best(s);
	kh_kept k = kh_kept_all();

	for (uint32_t i = best; i != UINT32_MAX; i = kh_sums_next(s, i)) {
		if (!kh_credit_is_kept(k.n, s->sum[i].credit, s->sum[best].credit))
			break;
		k.species_no[k.n++] = s->claims.v[i].species_no;
	}
	return k;
}

static KH_HD bool kh_region_is_kept(const kh_match_db *db, const kh_found *f, const kh_region *r,
				    const kh_kept *k)
{
	if (k->n == 0)
		return true;
	const uint32_t species_no =
		kh_bins_species_no(&db->bins, kh_match_target(db, kh_region_bin(f, r)));

	for (uint32_t i = 0; i < k->n; i++)
		if (k->species_no[i] == species_no)
			return true;
	return false;
}

/* Of a part's regions in species that are kept: the least loss, and the most anchors of one. */
typedef struct kh_part_kept {
	uint32_t loss, anchors;
} kh_part_kept;

/* Were enough seeds of the part looked up?  Those that do not overlap mostly suffice: with all of
 * them calls were no better, and looking them up took most of the time of reads with few errors. */
static KH_HD bool kh_part_has_enough(const kh_mate *part, const kh_part_kept *k)
{
	return part->asked == part->seeds || k->anchors >= KH_MATCH_ENOUGH;
}

/* Is a region passed over that is in no species which is kept?  Not if it lacks fewer seeds of the
 * part than any that is in one: so what a read has of a genus is still known, if it is of none of
 * its species. */
static KH_HD bool kh_region_is_out(const kh_region *r, const kh_part_kept *k)
{
	return r->loss >= k->loss;
}

#ifndef __CUDACC__
/* Passes over regions of a part, but none where kh_match_asks_all.  True: the other seeds must be
 * looked up first (as kh_match_segment). */
static inline bool kh_regions_pass_over(kh_matching *m, const kh_segment *s, const kh_kept *kept)
{
	kh_found *f = &m->found[0];
	kh_part_kept k = { UINT32_MAX, 0 };
	uint64_t other[KH_MATCH_ANCHORS / 64] = { 0 };

	if (kh_match_asks_all(m->db, s))
		return false;
	for (uint32_t i = 0; i < f->n_regions; i++) {
		const kh_region *r = &f->region[i];

		if (!kh_region_is_kept(m->db, f, r, kept)) {
			other[i / 64] |= UINT64_C(1) << i % 64;
			continue;
		}
		k.loss = r->loss < k.loss ? r->loss : k.loss;
		k.anchors = r->n > k.anchors ? r->n : k.anchors;
	}
	if (!kh_part_has_enough(&s->mate[0], &k))
		return true;
	for (uint32_t i = 0; i < f->n_regions && kept->n > 0; i++)
		if (other[i / 64] >> i % 64 & 1 && kh_region_is_out(&f->region[i], &k))
			f->region[i].loss = KH_REGION_DONE;
	return false;
}
#endif

/* --- candidates -------------------------------------------------------------------------- */
/* Could a fragment of several parts be of species i, with such odds or more?  Not if in each part
 * another one fits better. */
static KH_HD bool kh_sum_may_be(const kh_sums *s, uint32_t i, int32_t odds)
{
	return s->sum[i].credit > 0 && s->sum[i].odds >= odds;
}

/* The greatest odds of a species that may be it. */
static KH_HD int32_t kh_sums_most(const kh_sums *s)
{
	int32_t most = INT32_MIN;

	for (uint32_t i = 0; i < s->claims.n; i++)
		most = kh_sum_may_be(s, i, most) ? s->sum[i].odds : most;
	return most;
}

/* How many species may be it, with such odds or more? */
static KH_HD uint32_t kh_sums_with(const kh_sums *s, int32_t odds)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->claims.n; i++)
		n += kh_sum_may_be(s, i, odds);
	return n;
}

/* The candidates of a fragment of several parts: species whose odds are near the greatest; how
 * near, so that they are no more than KH_CANDIDATES. */
static KH_HD kh_candidates kh_sums_candidates(const kh_match_db *db, const kh_sums *s)
{
	const int32_t most = kh_sums_most(s);
	const uint32_t *taxon = db->bins.taxon + db->bins.n_targets;
	uint32_t h[KH_CANDIDATES];
	int32_t reach = KH_CANDIDATE_DROP_LONG;
	kh_candidates to = kh_candidates_none();
	int n = 0;

	while (reach > 0 && kh_sums_with(s, most - reach) > KH_CANDIDATES)
		reach--;
	for (uint32_t i = 0; i < s->claims.n; i++) {
		const uint32_t species = db->tree.species[taxon[s->claims.v[i].species_no]];

		if (!kh_sum_may_be(s, i, most - reach))
			continue;
		if (species == KH_NO_TAXON ||
		    !kh_candidates_add(&to, h, &n, species,
				       (uint32_t)(s->sum[i].odds - (most - reach))))
			return kh_candidates_none();
	}
	for (int i = 0; i < n; i++)
		to.drop[i] = (uint8_t)((uint32_t)reach - h[i]);
	return to;
}

/* The second-best species of a fragment of several parts, of whose sums this is the best one. */
static KH_HD kh_second kh_sums_second(const kh_match_db *db, const kh_sums *s, uint32_t best)
{
	const kh_claim *v = s->claims.v;
	uint32_t second = UINT32_MAX;

	for (uint32_t i = 0; i < s->claims.n; i++) {
		if (i == best)
			continue;
		if (second == UINT32_MAX || kh_sum_better(s, i, second) ||
		    (!kh_sum_better(s, second, i) &&
		     kh_species_taxon(db, v[i].species_no) <
			     kh_species_taxon(db, v[second].species_no)))
			second = i;
	}
	return second != UINT32_MAX
		       ? kh_second_of(kh_species_taxon(db, v[second].species_no), v[second].hits)
		       : kh_second_none();
}

/* Gives a fragment of several parts what is wanted beside its call. */
static KH_HD void kh_sums_give(const kh_match_db *db, const kh_sums *s, uint32_t best, kh_beside to)
{
	if (to.candidates)
		*to.candidates = kh_sums_candidates(db, s);
	if (to.second)
		*to.second = kh_sums_second(db, s, best);
}

/* The taxon of a fragment that has so many bases, of whose sums this is the best one. */
static KH_HD uint32_t kh_match_long_taxon(const kh_match_db *db, const kh_sums *s, uint32_t best,
					  uint64_t bases)
{
	const kh_claim *c = &s->claims.v[best];
	kh_extent e = kh_extent_empty();
	uint32_t taxon;

	if (c->score < (int32_t)db->least.call[31] ||
	    !(kh_match_is_thin(db) ? kh_claim_names_thin(c, db->sampling.k)
				   : kh_claim_names_long(c, s->sum[best].ahead, bases)))
		return KH_NO_TAXON;
	for (uint32_t i = 0; i < s->claims.n; i++)
		if (kh_sum_near(s, best, i))
			e = kh_extent_add(e, kh_species_taxon(db, s->claims.v[i].species_no));
	taxon = kh_tree_lca(&db->tree, e.lo, e.hi);
	return db->tree.species[taxon] != KH_NO_TAXON && kh_sum_is_own(&s->sum[best])
		       ? taxon : kh_rule_raise(&db->tree, taxon);
}

#endif
