/* profile.c - rows from the model */
#include <config.h>
#include "run/profile.h"

#include <math.h>
#include <stdlib.h>
#include "base/mem.h"

/* --- rows ------------------------------------------------------------------------- */
/* Of a taxon and all below it. */
struct sum {
	uint64_t first, final, direct, bases;   /* bases: called in the first pass */
	double reads;
	/* bases of species that are there; of those of them that have a whole genome; and these an
	 * interval of it */
	double weight, whole, depth;
	double covered;
	const kh_presence *presence;
	enum kh_detected detected;
	/* species that are detected like it: how many, and the first two (profile.h) */
	uint32_t n_like, like[2];
	double many[2];
	const kh_profile_unknown *unknown;      /* profile.h */
};

/* What is known of each species' references, and how many times as many fragments were shared as
 * species were given. */
struct known {
	uint64_t *intervals;
	bool *part;
	double more;
};

static enum kh_detected detected_of(const kh_presence *p)
{
	if (!p)
		return KH_NOT_JUDGED;
	if (p->confidence != KH_NO_CONFIDENCE)
		return p->confidence == KH_HIGH ? KH_DETECTED : KH_DETECTED_LOW;
	return p->verdict == KH_TOO_FEW ? KH_NOT_JUDGED : KH_NOT_DETECTED;
}

/* Sharing drops small shares of fragments, so species are given less than there is. */
static double more_of(const kh_db *db, const kh_model *m)
{
	double shared = 0, given = 0;

	for (uint32_t t = 0; t <= db->tax->n; t++)
		shared += (double)m->first[t];
	for (uint32_t i = 0; i < m->n; i++)
		given += (double)m->at[i].fit.total / 256.0;
	return given > 0 && shared > given ? shared / given : 1;
}

/* The reads of a species are its own fragments that were seen, and its part of what was dropped,
 * divided by the share of them that can be seen.  With too few to be judged they are those that
 * were called. */
static double reads_of(const struct sum *s, double more)
{
	const kh_presence *p = s->presence;

	if (p && p->verdict == KH_TOO_FEW)
		return (double)s->final;
	if (!p || p->seen == 0)
		return (double)s->direct;
	return (double)s->direct + more * ((double)kh_presence_own(p) * 256.0 / (double)p->seen);
}

/* The share of the genome that reads cover which lie as evenly as these do. */
static double covered_by(const kh_presence *p, double bases, double genome)
{
	const double even = p && p->expected > 0 ? (double)p->found * 256 / (double)p->expected : 1;

	return (even < 1 ? even : 1) * -expm1(-bases / genome);
}

static void add_species(const kh_profile *p, const kh_results *r, const struct known *l,
			uint32_t t, struct sum *s)
{
	const double fragments = r->sum.fragments > 0 ? (double)r->sum.fragments : 1;
	const double each = s->first > 0 ? (double)s->bases / (double)s->first
					 : (double)r->sum.bases / fragments;
	const double interval = KH_INTERVAL * (double)p->db->h->sampling.stride;

	s->detected = detected_of(s->presence);
	s->reads = reads_of(s, l->more);
	s->covered = covered_by(s->presence, s->reads * each, (double)l->intervals[t] * interval);
	s->weight = s->presence && kh_presence_is_there(s->presence) ? s->reads * each : 0;
	s->whole = l->part[t] ? 0 : s->weight;
	s->depth = s->whole / (double)l->intervals[t];
	s->n_like = s->presence || s->first > 0;
	s->like[0] = t;
	s->many[0] = s->detected == KH_NOT_DETECTED ? (double)s->first : s->reads;
}

/* Puts a species in its place among the first two; of equal ones the lesser taxon is first. */
static void put_like(struct sum *s, uint32_t t, double many)
{
	uint32_t at = 0;

	while (at < 2 && at < s->n_like &&
	       (s->many[at] > many || (s->many[at] >= many && s->like[at] < t)))
		at++;
	s->n_like++;
	if (at == 0) {
		s->like[1] = s->like[0];
		s->many[1] = s->many[0];
	}
	if (at < 2) {
		s->like[at] = t;
		s->many[at] = many;
	}
}

/* Adds to what is above it the species that are detected like the surest. */
static void add_like(struct sum *above, const struct sum *s)
{
	if (s->detected < above->detected)
		return;
	if (s->detected > above->detected)
		above->n_like = 0;
	above->detected = s->detected;
	for (uint32_t i = 0; i < s->n_like; i++)
		if (i < 2)
			put_like(above, s->like[i], s->many[i]);
		else
			above->n_like++;
}

static int by_fragments(const void *a, const void *b)
{
	const kh_profile_unknown *x = a, *y = b;

	if (x->is.fragments != y->is.fragments)
		return x->is.fragments < y->is.fragments ? 1 : -1;
	return (x->taxon > y->taxon) - (x->taxon < y->taxon);
}

/* Finds the organisms, when species have been added up. */
static void find_unknown(kh_profile *p, const kh_by_genus *g, struct sum *s)
{
	const kh_taxonomy *tax = p->db->tax;

	for (uint32_t t = 1; t < tax->n; t++) {
		kh_profile_unknown *u = &p->unknown[p->n_unknown];

		if (!tax->letter[t] || tax->species[t] != KH_NO_TAXON ||
		    !kh_by_genus_unknown(g, t, s[t].reads, &u->is))
			continue;
		u->taxon = t;
		u->family = g->of[t].family;
		p->n_unknown++;
	}
	if (p->n_unknown > 1)
		qsort(p->unknown, p->n_unknown, sizeof *p->unknown, by_fragments);
	for (size_t i = p->n_unknown; i-- > 0;)
		for (uint32_t t = p->unknown[i].taxon; t > 0; t = tax->parent[t])
			s[t].unknown = &p->unknown[i];
}

static void add_up(const kh_profile *p, const kh_results *r, const struct known *l, struct sum *s)
{
	const kh_taxonomy *tax = p->db->tax;
	const kh_pass_result *x = kh_pass_result_of(r->pass);
	const kh_model *m = x->model;

	for (uint32_t t = 0; t < tax->n; t++)
		s[t] = (struct sum) { .first = x->first[t],
				      .final = r->tally.direct[t],
				      .direct = x->direct[t],
				      .bases = r->tally.bases[t] };
	for (uint32_t i = 0; i < m->n; i++)
		s[m->at[i].taxon].presence = &m->at[i];
	for (uint32_t t = tax->n - 1; t > 0; t--) {
		struct sum *above = &s[tax->parent[t]];

		if (tax->species[t] == t)
			add_species(p, r, l, t, &s[t]);
		above->first += s[t].first;
		above->final += s[t].final;
		above->direct += s[t].direct;
		above->bases += s[t].bases;
		above->reads += s[t].reads;
		above->weight += s[t].weight;
		above->whole += s[t].whole;
		above->depth += s[t].depth;
		add_like(above, &s[t]);
	}
}

/* What is estimated of several species may add up to a little more than there is. */
static void fit_reads(const kh_profile *p, struct sum *s)
{
	const double all = (double)p->fragments, sum = s[0].reads;

	for (uint32_t t = 0; t < p->db->tax->n && sum > all; t++)
		s[t].reads *= all / sum;
}

/* The different features of a species' taxa, of which one alone mostly has counters. */
static int count_distinct(const kh_profile *p, const kh_distinct *d, uint32_t species, uint64_t *n,
			  kh_err *err)
{
	const uint32_t end = p->db->tax->end[species];
	uint32_t first = species, last = species;
	kh_distinct one;
	int rc;

	if (d->n == 0)
		return KH_OK;
	for (uint32_t t = species; t < end; t++) {
		first = d->reg[first] ? first : t;
		last = d->reg[t] ? t : last;
	}
	if (first >= last) {
		*n = kh_distinct_count(d, last);
		return KH_OK;
	}
	rc = kh_distinct_init(&one, 1, err);
	for (uint32_t t = first; t <= last && !rc; t++)
		rc = kh_distinct_join(&one, 0, d, t, err);
	if (!rc)
		*n = kh_distinct_count(&one, 0);
	kh_distinct_clear(&one);
	return rc;
}

/* Of the reads of a species, those that are different (model.h). */
static double different_of(const struct sum *s)
{
	const kh_presence *p = s->presence;
	const double places = p ? (double)p->found * 256 : 0, of = p ? (double)p->expected : 0;

	return of > places ? s->reads * (places / of) : s->reads;
}

static kh_profile_row row_of(const kh_profile *p, uint32_t t, const struct sum *s, bool part)
{
	const kh_taxonomy *tax = p->db->tax;
	uint32_t parent = tax->parent[t];

	while (parent != 0 && !tax->letter[parent])
		parent = tax->parent[parent];
	return (kh_profile_row) {
		.taxon = t,
		.parent = parent,
		.presence = s[t].presence,
		.detected = s[t].unknown ? KH_DETECTED : s[t].detected,
		.unknown = s[t].unknown,
		.n_like = s[t].n_like,
		.like = { s[t].like[0], s[t].like[1] },
		.lead = s[t].n_like > 0 ? s[s[t].like[0]].presence : NULL,
		.first = s[t].first,
		.final = s[t].final,
		.reads = s[t].reads,
		.different = different_of(&s[t]),
		.bases = p->bases > 0 ? s[t].weight / p->bases : 0,
		.genomes = s[0].depth > 0
				   ? s[0].whole / p->bases * (s[t].depth / s[0].depth) : 0,
		.part = part,
		.covered = s[t].covered,
	};
}

/* Whatever is counted for a taxon is counted for its ancestors, so each of these has a row if its
 * rank has a letter. */
static void make_rows(kh_profile *p, const kh_results *of, const struct sum *s,
		      const struct known *l)
{
	const kh_by_genus *by_genus = kh_pass_result_of(of->pass)->by_genus;
	const kh_taxonomy *tax = p->db->tax;

	for (uint32_t t = 1; t < tax->n; t++) {
		kh_profile_row *r = &p->row[p->n];

		if (!tax->letter[t] ||
		    (tax->species[t] != KH_NO_TAXON && tax->species[t] != t) ||
		    (!s[t].first && !s[t].final && s[t].reads < 1))
			continue;
		*r = row_of(p, t, s, l->part[t]);
		r->genome = l->intervals[t] * KH_INTERVAL * p->db->h->sampling.stride;
		r->translated = by_genus->of && !by_genus->dropped[t] ? by_genus->of[t].calls : 0;
		p->n++;
	}
}

/* What the threads of a team count for the rows. */
struct counting {
	kh_profile *p;
	const kh_results *of;
};

static int count_some(void *arg, unsigned id, kh_err *err)
{
	const struct counting *c = arg;
	const uint32_t *species = c->p->db->tax->species;
	const unsigned threads = kh_team_size(c->of->team);
	int rc = KH_OK;

	for (size_t i = c->p->n * id / threads; i < c->p->n * (id + 1) / threads && !rc; i++) {
		kh_profile_row *r = &c->p->row[i];

		if (species[r->taxon] == r->taxon)
			rc = count_distinct(c->p, &c->of->tally.distinct, r->taxon, &r->distinct,
					    err);
	}
	return rc;
}

/* s[0]: of all taxa. */
static void sum_up(kh_profile *p, const kh_results *r, const struct sum *s)
{
	p->first = r->sum.fragments - s[0].first;
	p->final = r->sum.fragments - s[0].final;
	p->named = s[0].reads;
	p->bases = s[0].weight > (double)r->sum.bases ? s[0].weight : (double)r->sum.bases;
	p->unknown_bases = p->bases > 0 ? 1 - s[0].weight / p->bases : 1;
	p->unknown_genomes = s[0].depth > 0 ? 1 - s[0].whole / p->bases : 1;
	p->changed = kh_pass_result_of(r->pass)->model->changes;
}

int kh_profile_make(kh_profile *p, const kh_db *db, const kh_results *r, kh_err *err)
{
	const uint32_t n = db->tax->n;
	struct sum *s = kh_array(n, sizeof *s, err);
	const struct known l = { kh_array(n, sizeof *l.intervals, err),
				 kh_array(n, sizeof *l.part, err),
				 more_of(db, kh_pass_result_of(r->pass)->model) };
	int rc = KH_ENOMEM;

	*p = (kh_profile) { .db = db, .fragments = r->sum.fragments };
	p->row = kh_array(n, sizeof *p->row, err);
	p->unknown = kh_array(n, sizeof *p->unknown, err);
	if (s && l.intervals && l.part && p->row && p->unknown) {
		kh_species_intervals(db, l.intervals);
		rc = kh_species_parts(db, l.intervals, l.part, err);
	}
	if (!rc) {
		add_up(p, r, &l, s);
		fit_reads(p, s);
		find_unknown(p, kh_pass_result_of(r->pass)->by_genus, s);
		sum_up(p, r, s);
		make_rows(p, r, s, &l);
		rc = kh_team_run(r->team, count_some, &(struct counting) { p, r }, err);
	}
	free(l.intervals);
	free(l.part);
	free(s);
	if (rc)
		kh_profile_clear(p);
	return rc;
}

void kh_profile_clear(kh_profile *p)
{
	free(p->row);
	free(p->unknown);
	*p = (kh_profile) { .row = NULL };
}

double kh_profile_share(const kh_profile *p, double reads)
{
	return p->fragments > 0 ? reads / (double)p->fragments : 0;
}

bool kh_profile_has_abundance(const kh_profile_row *r)
{
	const kh_presence *p = r->presence;

	return !(p && p->verdict == KH_TOO_FEW) &&
	       !(r->detected >= KH_DETECTED_LOW && r->genomes <= 0);
}
