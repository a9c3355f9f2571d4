/* match_score.c - how well each species fits, and the call that follows: match.h */
#include <config.h>
#include "classify/match_in.h"

#include "base/mem.h"

/* --- claims ------------------------------------------------------------------------- */
static kh_claim *claim_of(kh_claims *c, uint32_t species, kh_err *err)
{
	if (c->of[species] == 0) {
		if (kh_grow((void **)&c->v, &c->cap, c->n + 1, sizeof *c->v, err))
			return NULL;
		c->v[c->n++] = (kh_claim) { .species = species };
		c->of[species] = (uint32_t)c->n;
	}
	return &c->v[c->of[species] - 1];
}

void kh_match_forget(kh_claims *c)
{
	for (size_t i = 0; i < c->n; i++)
		c->of[c->v[i].species] = 0;
	c->n = 0;
}

static uint32_t species_of(const kh_matcher *m, const struct kh_spot *p)
{
	return m->db->bins.species[p->target] - m->db->bins.n_targets;
}

static kh_claim of_place(const kh_matcher *m, const struct kh_spot *p)
{
	kh_claim c = { species_of(m, p), (int32_t)p->fit.score, p->fit.matches, p->fit.columns,
		       1u << kh_place_mate(p), { 0, 0 }, 0 };

	c.place[kh_place_mate(p)] = (uint32_t)(p - m->place);
	return c;
}

static kh_claim together(const kh_claim *a, const kh_claim *b, int32_t less)
{
	return (kh_claim) { a->species, a->score + b->score - less, a->matches + b->matches,
			    a->columns + b->columns, a->mates | b->mates,
			    { (a->mates & 1 ? a : b)->place[0], (b->mates & 2 ? b : a)->place[1] },
			    a->hits + b->hits };
}

static int claim(kh_matcher *m, const kh_claim *x, kh_err *err)
{
	kh_claim *c = claim_of(&m->here, x->species, err);

	if (!c)
		return KH_ENOMEM;
	if (kh_claim_better(x, c))
		*c = *x;
	return KH_OK;
}

/* --- mates -------------------------------------------------------------------------- */
/* The first place from `i` on that is not in front of this number. */
static size_t first_from(const kh_matcher *m, size_t i, uint64_t number)
{
	size_t n = m->n_place - i;

	while (n > 0) {
		const size_t half = n / 2;

		if (m->place[i + half].number < number) {
			i += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return i;
}

/* Claims of a place of the first mate with those of the second beside it. */
static int claim_pairs(kh_matcher *m, const struct kh_spot *a, size_t second, kh_err *err)
{
	const int64_t at = kh_place_at(a), least = at - KH_MATCH_SPAN;
	const uint64_t from = kh_place_number(1, !kh_place_strand(a),
					   least < -KH_TEXT_SPAN ? -KH_TEXT_SPAN : least);
	const uint64_t to = kh_place_number(1, !kh_place_strand(a), at + KH_MATCH_SPAN);
	const kh_claim one = of_place(m, a);
	int rc = KH_OK;

	for (size_t i = first_from(m, second, from); i < m->n_place && !rc; i++) {
		const struct kh_spot *b = &m->place[i];

		if (b->number > to)
			break;
		if (b->target == a->target) {
			const kh_claim two = of_place(m, b), both = together(&one, &two, 0);

			rc = claim(m, &both, err);
		}
	}
	return rc;
}

/* Both mates somewhere in a species. */
static void claim_apart(kh_matcher *m)
{
	for (size_t i = 0; i < m->here.n; i++) {
		kh_claim *c = &m->here.v[i];
		kh_claim *const one = &m->best_of[0][c->species], *two = &m->best_of[1][c->species];

		if (one->score > 0 && two->score > 0) {
			const kh_claim both = together(one, two, KH_MATCH_APART);

			if (kh_claim_better(&both, c))
				*c = both;
		}
		one->score = two->score = 0;
	}
}

int kh_match_claims(kh_matcher *m, kh_err *err)
{
	size_t second;
	/* behind these are mates that are sought beside them */
	int rc = kh_grow((void **)&m->place, &m->cap_place, m->n_place + KH_RESCUE_MOST,
			 sizeof *m->place, err);

	if (rc)
		return rc;
	kh_places_sort(m);
	second = first_from(m, 0, kh_place_number(1, 0, -KH_TEXT_SPAN));
	for (size_t i = 0; i < m->n_place && !rc; i++) {
		const kh_claim x = of_place(m, &m->place[i]);
		kh_claim *best = &m->best_of[kh_place_mate(&m->place[i])][x.species];

		rc = claim(m, &x, err);
		if (best->score == 0 || kh_claim_better(&x, best))
			*best = x;
		if (!rc && i < second && second < m->n_place)
			rc = claim_pairs(m, &m->place[i], second, err);
	}
	claim_apart(m);
	return rc;
}

/* --- a mate without a place --------------------------------------------------------- */
const kh_claim *kh_match_best(const kh_claims *c)
{
	const kh_claim *best = NULL;

	for (size_t i = 0; i < c->n; i++)
		if (!best || kh_claim_better(&c->v[i], best))
			best = &c->v[i];
	return best;
}

/* The other mate of a place, where it fits best. */
static int rescue(kh_matcher *m, const struct kh_mates *s, const struct kh_spot *a,
		  struct kh_spot *beside, kh_err *err)
{
	const uint32_t mate = !kh_place_mate(a), strand = !kh_place_strand(a);
	const uint32_t len = s->mate[mate].len;
	const kh_db_kept *t = &m->db->kept[a->target];
	const int64_t begin = (int64_t)t->first_bin * m->rule->sampling.stride;
	const int64_t last = begin + (int64_t)kh_db_kept_bases(m->db, t) - len, at = kh_place_at(a);
	/* where it would begin if both ended there, or began there */
	const int64_t here = strand ? at : at + s->mate[!mate].len - len;
	int64_t from = here - (strand ? KH_RESCUE_BEFORE : KH_RESCUE_BEHIND);
	int64_t to = here + (strand ? KH_RESCUE_BEHIND : KH_RESCUE_BEFORE);
	struct kh_spot b = { .number = kh_place_number(mate, strand, 0), .target = a->target };
	const kh_laid l = kh_places_laid(m, s, &b);
	uint32_t differ;
	uint64_t found;

	from = from > begin ? from : begin;
	to = to < last ? to : last;
	if (from > to)
		return KH_OK;
	found = kh_text_nearest(&l, (uint64_t)from, (uint64_t)to, &differ);
	if (2 * differ > (len < 64 ? len : 64))
		return KH_OK;
	b.fit = kh_text_fit(&l, (int64_t)found, 0, len);
	if (b.fit.score < KH_RESCUE_FIT)
		return KH_OK;
	kh_text_fit_ends(&l, (int64_t)found, 1, &b.fit);
	b.number = kh_place_number(mate, strand, (int64_t)found);
	*beside = b;
	const kh_claim one = of_place(m, a), two = of_place(m, beside);
	const kh_claim both = together(&one, &two, 0);

	return claim(m, &both, err);
}

/* The best place, of those that come after `before` by score and then by order; NULL: none. */
static const struct kh_spot *next_best(const kh_matcher *m, const struct kh_spot *before)
{
	const struct kh_spot *best = NULL;

	for (const struct kh_spot *p = m->place; p < m->place + m->n_place; p++) {
		const bool after = !before || p->fit.score < before->fit.score ||
				   (p->fit.score == before->fit.score && p > before);

		if (after && (!best || p->fit.score > best->fit.score))
			best = p;
	}
	return best;
}

static int rescue_mate(kh_matcher *m, const struct kh_mates *s, kh_err *err)
{
	const kh_claim *best = kh_match_best(&m->here);
	const struct kh_spot *p = NULL;
	int rc = KH_OK;

	if (!best || best->mates == 3)
		return KH_OK;
	const int32_t near = best->score - KH_RESCUE_NEAR;

	for (size_t i = 0; i < KH_RESCUE_MOST && !rc; i++) {
		p = next_best(m, p);
		if (!p || p->fit.score < KH_RESCUE_SCORE || (int32_t)p->fit.score < near)
			break;
		if (s->mate[!kh_place_mate(p)].len >= KH_RESCUE_LEN)
			rc = rescue(m, s, p, &m->place[m->n_place + i], err);
	}
	return rc;
}

/* --- the call ----------------------------------------------------------------------- */
void kh_match_least(const kh_db_header *h, uint32_t least[32])
{
	typedef unsigned __int128 wide;
	const wide text = h->bases ? (wide)h->bases : 1;

	for (int i = 0; i < 32; i++) {
		const wide seeds = (UINT64_C(2) << i) - 1;
		wide power = (wide)3 << 2 * h->sampling.k;
		uint32_t x = 0;

		for (; x < 36 && seeds * 2 * text * (3 + 2 * x) * 10000 > power; x++)
			power *= 3;
		least[i] = h->sampling.k + x;
	}
}

/* The LCA of the species with such a score and more. */
static uint32_t lca_from(const kh_matcher *m, const kh_claims *c, int64_t score)
{
	const kh_bins *b = &m->db->bins;
	kh_extent e = kh_extent_empty();

	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].score >= score)
			e = kh_extent_add(e, b->taxon[b->n_targets + c->v[i].species]);
	return kh_tree_lca(&m->tree, e.lo, e.hi);
}

/* The bin where a place begins. */
static uint32_t bin_of(const kh_matcher *m, const struct kh_spot *p)
{
	const int64_t at = kh_place_at(p);
	const int64_t begin = (int64_t)m->db->kept[p->target].first_bin *
			      m->rule->sampling.stride;

	return (uint32_t)((at > begin ? at : begin) / m->rule->sampling.stride);
}

uint32_t kh_match_slack(const kh_matcher *m, const struct kh_mates *s)
{
	return !s->only ? KH_MATCH_SLACK : m->wanted ? KH_MATCH_NEARBY : 0;
}

/* The candidates of a fragment: species with nearly as many hits as the best. */
static void note_candidates(const kh_matcher *m, kh_candidates *to, const kh_claims *c,
			    const kh_claim *best, bool only)
{
	const kh_bins *b = &m->db->bins;
	uint32_t h[KH_CANDIDATES], h1 = 0;
	int n = 0;

	for (size_t i = 0; i < c->n; i++)
		h1 = c->v[i].hits > h1 ? c->v[i].hits : h1;
	for (size_t i = 0; i < c->n; i++) {
		const uint32_t x = b->taxon[b->n_targets + c->v[i].species];
		const uint32_t s = m->tree.species[x];

		if (!kh_candidate_near(c->v[i].hits, h1, only))
			continue;
		if (s == KH_NO_TAXON || !kh_candidates_add(to, h, &n, s, c->v[i].hits)) {
			*to = kh_candidates_none();
			return;
		}
	}
	for (int i = 0; i < n; i++)
		to->drop[i] = (uint8_t)(h1 - h[i]);
	if (only)
		to->bin = bin_of(m, &m->place[best->place[best->mates & 1 ? 0 : 1]]);
}

/* Counts the hits of the best species, or of all that are near. */
static void count_hits(kh_matcher *m, const struct kh_mates *s, const kh_claim *best)
{
	const int32_t least = best->score - (int32_t)kh_match_slack(m, s);

	for (size_t i = 0; i < m->here.n; i++) {
		kh_claim *c = &m->here.v[i];

		if (c == best || (m->wanted && s->only && c->score >= least) ||
		    (!s->only && c->score >= KH_MATCH_PART))
			c->hits = kh_places_hits(m, s, c);
	}
	if (m->distinct)
		kh_places_note(m, s, best);
}

/* The call of a fragment that is one segment. */
static void call(kh_matcher *m, const struct kh_mates *s, const kh_claim *best)
{
	const uint32_t seeds = s->mate[0].seeds + s->mate[1].seeds;
	uint64_t bases = 0;
	uint32_t taxon;

	if (m->wanted)
		m->wanted[s->number] = kh_candidates_none();
	if (!best || seeds == 0)
		return;
	m->call.hits = best->hits;
	if (m->wanted)
		note_candidates(m, &m->wanted[s->number], &m->here, best, true);
	if (best->score < (int32_t)m->least[kh_log2(seeds)])
		return;
	for (int i = 0; i < 2; i++)
		bases += best->mates & 1u << i ? s->mate[i].len : 0;
	taxon = lca_from(m, &m->here, best->score);
	if (m->tree.species[taxon] != KH_NO_TAXON && kh_claim_names_species(best, bases))
		m->call.taxon = taxon;
	else if (kh_claim_names_genus(best))
		m->call.taxon = kh_rule_raise(&m->tree, taxon);
}

void kh_match_long(kh_matcher *m, size_t number)
{
	const kh_claim *best = kh_match_best(&m->sum);
	uint32_t taxon;

	if (m->wanted)
		m->wanted[number] = kh_candidates_none();
	if (!best)
		return;
	m->call.hits = best->hits;
	if (m->wanted)
		note_candidates(m, &m->wanted[number], &m->sum, best, false);
	if (best->score >= (int32_t)m->least[31] && kh_claim_names_long(best, m->bases)) {
		taxon = lca_from(m, &m->sum, best->score - best->score / KH_MATCH_NEAR);
		m->call.taxon = m->tree.species[taxon] != KH_NO_TAXON
					? taxon : kh_rule_raise(&m->tree, taxon);
	}
	kh_match_forget(&m->sum);
}

static int add_to_sum(kh_matcher *m, kh_err *err)
{
	for (size_t i = 0; i < m->here.n; i++) {
		const kh_claim *x = &m->here.v[i];
		kh_claim *c;

		if (x->score < KH_MATCH_PART)
			continue;
		c = claim_of(&m->sum, x->species, err);
		if (!c)
			return KH_ENOMEM;
		*c = together(c, x, 0);
	}
	return KH_OK;
}

int kh_match_segment(kh_matcher *m, const struct kh_mates *s, kh_err *err)
{
	const kh_claim *best;
	int rc = KH_OK;

	if (s->mate[0].len > 0 && s->mate[1].len > 0)
		rc = rescue_mate(m, s, err);
	best = kh_match_best(&m->here);
	if (!rc && best)
		count_hits(m, s, best);
	if (!rc && s->only)
		call(m, s, best);
	else if (!rc)
		rc = add_to_sum(m, err);
	kh_match_forget(&m->here);
	return rc;
}
