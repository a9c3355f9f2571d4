/*
 * support.c - calls that the sample does not support go up to a taxon that it does
 *
 * A genus is not supported if a species of it was refuted and none is there: its reads come from a
 * relative.  The reads of a genus that is missing are spread over several genera of its family.  So
 * calls go up to the genus if it has four fifths of the reads of all genera of the family that are
 * not supported; or if the sample agrees on an unknown species of it by translated seeds
 * (run/by_genus.h); or if four fifths of its reads are long and fit no other genus.  Other calls go
 * up to the family.  (Identity does not decide: reads of phage T3 fit T7, of another genus, at
 * 91.5 %, those of S. bongori fit S. enterica at 88 %.)
 *
 * Where the database has no other genus of the family, perfect reads of each species of the genus
 * are classified with that species left out, as a measure.  Calls go up to the family if the
 * sample's fragments are much farther from the genus than these reads.
 *
 * Below the species, the reads of a strain without a reference are spread over several strains.  So
 * a strain is supported if the sample's strain is practically a reference, or if nearly all calls
 * below the species agree.
 */
#include <config.h>
#include "sample/model_in.h"

#include <stdatomic.h>
#include <stdlib.h>
#include "base/mem.h"

enum {
	/* A strain beside others has an eighth of the calls below its species, if the sample has
	 * what a reference is; else there are sixteen for each other one.  Of twelve samples of
	 * E. coli and S. aureus, the strains that are references have all such calls, S. aureus
	 * DSM 20231 has .99, and seven other E. coli have .51 to .82. */
	BESIDE = 8,
	AGREE = 16,
	/* A genus is kept if it has 4/5 of the reads of all that are not supported.  Of pairs of
	 * Klebsiella Salmonella has .55, and Escherichia the others.  Or if 4/5 of its reads
	 * are long, and all their candidates are its own. */
	ALONE = 5
};

/* Short fragments, and perfect reads, that a mean share is made of at least; fragments are far if
 * theirs is less than 7/10 of that of the reads.  Of real genomes left out, or of none of the 31
 * species, those of the genus have .78 to 1.02 (S. pyogenes beside S. mitis and S. pneumoniae the
 * least), E. coli and Klebsiella beside two of Salmonella .60 to .64, Glaesserella beside two of
 * Haemophilus .89; of made-up families, those of the genus .94 and more, others .49 to .82. */
enum { KIN_FRAGMENTS = 40, KIN_READS = 8, FARTHER = 7, THAN = 10 };

/* What is known of a genus. */
enum { HAS_REFUTED = 1, HAS_SUPPORT = 2, IS_FAR = 4 };

struct support {
	kh_modelling *w;
	const kh_taxonomy *tax;
	uint32_t *genus;                /* by taxon: of that rank, itself or above; 0: none */
	uint8_t *known;                 /* by taxon: of a genus */
	uint64_t *many, *clade;         /* by taxon: fragments called just that, and all below */
	uint64_t *lost;                 /* by taxon above genera: of those that are not supported */
	uint64_t *own;                  /* by genus: long fragments with candidates of it only */
	uint32_t *targets;              /* by taxon: targets of it and below */
	uint32_t *due, n_due;           /* genera that threads ask about */
	_Atomic uint32_t next;          /* the first of these that none has taken */
	kh_mean *called;                /* by genus: of short fragments */
};

static const kh_presence *presence_of(const struct support *s, uint32_t species)
{
	const uint32_t at = s->w->place[species];

	return at ? &s->w->m->at[at - 1] : NULL;
}

static bool is_refuted(const kh_presence *p)
{
	return p && p->confidence == KH_NO_CONFIDENCE && p->verdict != KH_TOO_FEW;
}

static void find_genera(struct support *s)
{
	for (uint32_t t = 1; t < s->tax->n; t++)
		s->genus[t] = s->tax->rank[t] == KH_RANK_GENUS ? t : s->genus[s->tax->parent[t]];
	for (uint32_t i = 0; i < s->w->m->n; i++) {
		const kh_presence *p = &s->w->m->at[i];
		uint8_t *known = &s->known[s->genus[p->taxon]];

		*known |= is_refuted(p) ? HAS_REFUTED : 0;
		*known |= p->confidence != KH_NO_CONFIDENCE ? HAS_SUPPORT : 0;
	}
}

static void count_calls(struct support *s)
{
	const kh_db *db = s->w->in->db;

	for (uint32_t i = 0; i < db->h->n_targets; i++)
		s->targets[db->target[i].taxon]++;
	for (uint32_t t = s->tax->n; t-- > 0;) {
		s->clade[t] += s->many[t];
		if (t == 0)
			break;
		s->clade[s->tax->parent[t]] += s->clade[t];
		s->targets[s->tax->parent[t]] += s->targets[t];
	}
}

/* Is taxon x, which is below species `of`, one that the sample has?  Calls of what is between them
 * say nothing against it, and neither do targets. */
static bool is_strain(const struct support *s, uint32_t x, uint32_t of)
{
	const kh_presence *p = presence_of(s, of);

	if (s->clade[x] == 0)           /* as of nearly all taxa of a database */
		return false;
	const bool as_it_is = p && kh_presence_is_there(p) && !p->by_long && p->fit.shape[0] == 0;
	uint64_t others = s->clade[of] - s->clade[x];
	uint32_t targets = s->targets[of] - s->targets[x];

	for (uint32_t t = s->tax->parent[x];; t = s->tax->parent[t]) {
		uint32_t direct = s->targets[t];

		for (uint32_t c = t + 1; c < s->tax->end[t]; c = s->tax->end[c])
			direct -= s->targets[c];
		others -= s->many[t];
		targets -= direct;
		if (t == of)
			break;
	}
	return (as_it_is && BESIDE * s->clade[x] >= s->clade[x] + others) ||
	       (targets > 0 && s->clade[x] >= AGREE * others);
}

/* The nearest taxon above a genus that has a place in reports; the root: there is none. */
static uint32_t above_genus(const kh_taxonomy *tax, uint32_t genus)
{
	uint32_t t = tax->parent[genus];

	while (t != 0 && !tax->letter[t])
		t = tax->parent[t];
	return t;
}

static void count_lost(struct support *s)
{
	for (uint32_t t = 1; t < s->tax->n; t++)
		if (s->genus[t] == t && s->known[t] == HAS_REFUTED)
			s->lost[above_genus(s->tax, t)] += s->clade[t];
}

/* Counts the long fragments that are called a genus or below and whose candidates are all of it. */
static void count_own(struct support *s)
{
	const kh_classes *c = s->w->in->classes;

	/* many[0]: long ones */
	for (size_t i = 0; i < c->n && c->many[0] > 0; i++) {
		const kh_class *k = &c->at[i];
		const uint32_t t = s->w->m->decision[i];
		int n = 0;

		if (t == KH_NO_TAXON || s->genus[t] == 0 || k->cell / KH_SHARES != KH_LONG)
			continue;
		while (n < KH_CANDIDATES && k->species[n] != KH_NO_TAXON &&
		       s->genus[k->species[n]] == s->genus[t])
			n++;
		if (n == KH_CANDIDATES || k->species[n] == KH_NO_TAXON)
			s->own[s->genus[t]] += k->many;
	}
}

/* A genus that proteins agree on is kept as well, if it is not far, and one of which
 * nearly all fragments are long and have no candidate of another genus. */
static bool is_kept(const struct support *s, uint32_t genus, uint32_t above)
{
	if (s->known[genus] & IS_FAR)
		return false;
	return (s->w->in->agreed && s->w->in->agreed[genus]) ||
	       ALONE * s->clade[genus] >= (ALONE - 1) * s->lost[above] ||
	       (s->own[genus] > 0 && ALONE * s->own[genus] >= (ALONE - 1) * s->clade[genus]);
}

/* Adds up the short fragments that are called a genus or below. */
static void add_called(const struct support *s)
{
	const kh_classes *c = s->w->in->classes;

	for (size_t i = 0; i < c->n; i++) {
		const uint32_t t = s->w->m->decision[i], cell = c->at[i].cell;

		if (t == KH_NO_TAXON || cell / KH_SHARES == KH_LONG)
			continue;
		s->called[s->genus[t]].sum += c->at[i].many * (2 * (cell % KH_SHARES) + 1);
		s->called[s->genus[t]].n += c->at[i].many;
	}
}

/* Are fragments of a genus farther from its species than each of these is from the others?  Not, if
 * there are too few to tell. */
static int ask_genus(const struct support *s, kh_asker *asker, uint32_t genus, bool *far,
		     kh_err *err)
{
	const kh_modelling *w = s->w;
	const kh_mean all = s->called[genus];
	uint32_t asked = 0;
	int rc = KH_OK;

	*far = all.n >= KIN_FRAGMENTS;
	for (uint32_t i = 0; i < w->m->n && *far && !rc; i++) {
		kh_mean kin = { 0, 0 };

		if (s->genus[w->m->at[i].taxon] != genus || !kh_probe_has(w, i))
			continue;
		asked++;
		rc = kh_probe_kin(asker, i, genus, &kin, err);
		*far = kin.n >= KIN_READS &&
		       THAN * ((all.sum << 8) / all.n) * kin.n < FARTHER * (kin.sum << 8);
	}
	*far &= asked > 1;
	return rc;
}

static int ask_some(void *arg, unsigned id, kh_err *err)
{
	struct support *s = arg;
	kh_asker *asker = NULL;
	bool far;
	int rc = KH_OK;

	(void)id;
	for (uint32_t i; !rc && (i = atomic_fetch_add(&s->next, 1)) < s->n_due;) {
		if (!asker && (rc = kh_asker_new(&asker, s->w, s->w->in->rule, err)))
			break;
		rc = ask_genus(s, asker, s->due[i], &far, err);
		s->known[s->due[i]] |= !rc && far ? IS_FAR : 0;
	}
	kh_asker_free(asker);
	return rc;
}

/* Finds genera that are the only ones of their families in the database, and that the fragments
 * are far from. */
static int find_far(struct support *s, kh_err *err)
{
	for (uint32_t t = 1; t < s->tax->n; t++) {
		if (s->genus[t] != t || s->known[t] != HAS_REFUTED)
			continue;
		const uint32_t above = above_genus(s->tax, t);
		if (above != 0 && s->targets[t] == s->targets[above])
			s->due[s->n_due++] = t;
	}
	if (s->n_due == 0)
		return KH_OK;
	add_called(s);
	return kh_team_run(s->n_due > 1 ? s->w->in->team : NULL, ask_some, s, err);
}

static uint32_t end_of(const struct support *s, uint32_t t)
{
	const uint32_t species = s->tax->species[t], genus = s->genus[t];
	uint32_t x = t;

	while (species != KH_NO_TAXON && x != species && !is_strain(s, x, species))
		x = s->tax->parent[x];
	if (genus == 0 || (species != KH_NO_TAXON && !is_refuted(presence_of(s, species))))
		return x;
	if ((s->known[genus] & ~IS_FAR) == HAS_REFUTED) {
		const uint32_t above = above_genus(s->tax, genus);

		if (!is_kept(s, genus, above))
			return above == 0 ? KH_NO_TAXON : above;
	}
	return species == KH_NO_TAXON ? x : genus;
}

static int allocate(struct support *s, kh_err *err)
{
	const uint32_t n = s->tax->n;

	s->genus = kh_array(n, sizeof *s->genus, err);
	s->known = kh_array(n, sizeof *s->known, err);
	s->many = kh_tallies_add_up(&s->w->decided, err);
	s->clade = kh_array(n, sizeof *s->clade, err);
	s->lost = kh_array(n, sizeof *s->lost, err);
	s->own = kh_array(n, sizeof *s->own, err);
	s->targets = kh_array(n, sizeof *s->targets, err);
	s->due = kh_array(n, sizeof *s->due, err);
	s->called = kh_array(n, sizeof *s->called, err);
	s->w->m->end_up = kh_array(n, sizeof *s->w->m->end_up, err);
	return s->genus && s->known && s->many && s->clade && s->lost && s->own && s->targets &&
		       s->due && s->called && s->w->m->end_up
		       ? kh_tallies_init(&s->w->last, (size_t)n + 1,
					 kh_team_size(s->w->in->team), err)
		       : KH_ENOMEM;
}

/* Makes what is decided of a class what it becomes. */
static int end_some(void *arg, unsigned id, kh_err *err)
{
	kh_modelling *w = arg;
	const kh_classes *c = w->in->classes;
	uint64_t changed = 0;

	(void)err;
	for (size_t i = kh_modelling_from(w, c->n, id); i < kh_modelling_from(w, c->n,
									      id + 1); i++) {
		const uint32_t end = kh_model_end(w->m, w->m->decision[i]);

		w->m->decision[i] = end;
		changed += end != c->at[i].call ? c->at[i].many : 0;
		kh_add_call(&w->last, id, end, c->at[i].many);
	}
	kh_add(&w->m->changed, changed);
	return KH_OK;
}

int kh_support_make(kh_modelling *w, kh_err *err)
{
	struct support s = { .w = w, .tax = w->in->db->tax };
	kh_model *m = w->m;
	int rc = allocate(&s, err);

	if (!rc) {
		find_genera(&s);
		count_calls(&s);
		count_lost(&s);
		count_own(&s);
		rc = find_far(&s, err);
	}
	if (!rc) {
		for (uint32_t t = 0; t < s.tax->n; t++)
			m->end_up[t] = end_of(&s, t);
		rc = kh_modelling_run(w, w->in->classes->n, KH_FEW_CLASSES, end_some, err);
	}
	if (!rc && !(m->last = kh_tallies_add_up(&w->last, err)))
		rc = KH_ENOMEM;
	free(s.genus);
	free(s.known);
	free(s.many);
	free(s.clade);
	free(s.lost);
	free(s.own);
	free(s.targets);
	free(s.due);
	free(s.called);
	return rc;
}
