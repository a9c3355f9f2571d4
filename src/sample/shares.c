/*
 * shares.c - shares fragments that name several species among these
 *
 * How often a species' fragments name others as well is not known.  So its number of long fragments
 * is estimated from those called it, divided by the share of its own that is called it (told.c),
 * and of short ones from those that fit it alone (cover.c).  Then fragments that a species got from
 * ties do not bring it more of them.  A species that was refuted competes for fragments, too, but
 * with no more than it has, and of long ones with those that are called it.
 */
#include <config.h>
#include "sample/model_in.h"

#include "base/mem.h"
#include "sample/logs.h"

/* How many long fragments a species has, in 1/256: by those of them that are called it.  What else
 * a refuted one got may be of a species beside it, with a strain that is nearer to its references
 * than to the species' own (one of them may have the wrong label). */
static uint64_t long_by_called(const kh_modelling *w, uint32_t i)
{
	const uint64_t share = w->told ? w->told[i].share : 0;

	if (w->m->at[i].refuted)
		return w->called[i];
	if (share == 0)
		return w->m->at[i].fit.many_long;
	return (w->called[i] << 16) / (share > KH_LITTLE ? share : KH_LITTLE);
}

/* How many fragments it has as a rival of others. */
static uint64_t rival_of(const kh_modelling *w, uint32_t i)
{
	const kh_presence *p = &w->m->at[i];
	const uint64_t all = kh_fit_short(&p->fit), borne = p->cover.borne;

	return long_by_called(w, i) + (borne == 0 || (p->refuted && borne > all) ? all : borne);
}

static uint64_t log_of(uint64_t x)
{
	return kh_log2q(x > 0 ? x : 1);
}

/* The logarithm of what a species has of its own for each base of genome, made positive by adding a
 * bound that no weight is below. */
static uint64_t weight_of(const kh_modelling *w, uint32_t i)
{
	const kh_presence *p = &w->m->at[i];
	uint64_t log = UINT64_C(128) << 16;

	if (w->fitted) {
		/* what is related to a species is a rival of the others, too */
		if (!p->refuted)
			log += log_of(kh_presence_own(p)) - log_of(p->fit.total);
		log += log_of(rival_of(w, i)) - log_of(p->length);
	}
	return log;
}

/* --- the fragments that are shared --------------------------------------------------------- */
/* Most of these classes have one fragment and many species, as those of mobile elements have; so
 * what sharing asks of them in each round is put down once, one behind the other. */
static void share_tie(const kh_modelling *w, const kh_tie *t, uint64_t *shared)
{
	const bool is_long = t->cell / KH_SHARES == KH_LONG;
	const kh_named *named = &w->ties.named[t->from];
	uint64_t *of_cell = shared + w->cell.slot[t->cell];
	uint64_t log[KH_CANDIDATES], most = 0, sum = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		log[i] = w->weight[named[i].at] - named[i].cost;
		if (is_long && w->told)
			log[i] -= w->told[named[i].at].own[!named[i].called];
		most = log[i] > most ? log[i] : most;
	}
	for (uint32_t i = 0; i < t->n; i++)
		sum += log[i] = kh_exp2q(most - log[i]);
	for (uint32_t i = 0; i < t->n; i++) {
		/* smaller shares are dropped */
		if (log[i] << 16 < KH_LITTLE * sum)
			continue;
		const uint64_t many = t->many * ((log[i] << 16) / sum) >> 8;

		kh_tallies_add(&w->shared, &of_cell[(size_t)named[i].at * w->cell.n], many);
		if (is_long && named[i].called)
			kh_add(&w->called[named[i].at], many);
	}
}

static int share_some(void *arg, unsigned id, kh_err *err)
{
	kh_modelling *w = arg;
	uint64_t *shared = kh_tallies_of(&w->shared, id);

	(void)err;
	for (size_t i = kh_modelling_from(w, w->ties.n, id); i < kh_modelling_from(w, w->ties.n,
										   id + 1); i++)
		share_tie(w, &w->ties.v[i], shared);
	return KH_OK;
}

/* Counts the fragments of one candidate, and what there is of others. */
static int count_some(void *arg, unsigned id, kh_err *err)
{
	kh_modelling *w = arg;
	const kh_classes *c = w->in->classes;
	kh_ties t = { 0, 0 };

	(void)err;
	for (size_t i = kh_modelling_from(w, c->n, id); i < kh_modelling_from(w, c->n,
									      id + 1); i++) {
		const kh_class *k = &c->at[i];
		const size_t at = w->place[k->species[0]] - 1;

		kh_cover_count(w, k);
		kh_count_called(w, k);
		if (k->species[1] != KH_NO_TAXON) {
			t.n++;
			for (int j = 0; kh_species_of(w, k, j); j++)
				t.named++;
			continue;
		}
		kh_add(&w->alone[at * w->cell.n + w->cell.slot[k->cell]], k->many << 8);
		if (k->cell / KH_SHARES == KH_LONG && kh_is_called(w, k, k->species[0]))
			kh_add(&w->called_alone[at], k->many << 8);
	}
	w->ties.of[id] = t;
	return KH_OK;
}

static void put_tie(kh_modelling *w, const kh_class *k, kh_ties *at)
{
	const bool is_long = k->cell / KH_SHARES == KH_LONG;
	kh_tie *t = &w->ties.v[at->n++];

	*t = (kh_tie) { .many = k->many, .from = at->named, .cell = k->cell };
	for (; t->n < KH_CANDIDATES && k->species[t->n] != KH_NO_TAXON; t->n++)
		w->ties.named[at->named++] = (kh_named) {
			.at = w->place[k->species[t->n]] - 1,
			.cost = k->drop[t->n] * (is_long ? KH_DROP_COST_LONG : KH_DROP_COST),
			.called = kh_is_called(w, k, k->species[t->n]),
		};
}

static int put_some(void *arg, unsigned id, kh_err *err)
{
	kh_modelling *w = arg;
	const kh_classes *c = w->in->classes;
	kh_ties at = w->ties.of[id];

	(void)err;
	for (size_t i = kh_modelling_from(w, c->n, id); i < kh_modelling_from(w, c->n, id + 1); i++)
		if (c->at[i].species[1] != KH_NO_TAXON)
			put_tie(w, &c->at[i], &at);
	return KH_OK;
}

/* Where each thread puts its ties. */
static int line_up(kh_modelling *w, kh_err *err)
{
	kh_ties sum = { 0, 0 };

	for (unsigned i = 0; i < w->threads; i++) {
		const kh_ties t = w->ties.of[i];

		w->ties.of[i] = sum;
		sum.n += t.n;
		sum.named += t.named;
	}
	w->ties.n = sum.n;
	w->ties.v = kh_array_large(sum.n, sizeof *w->ties.v, err);
	w->ties.named = kh_array_large(sum.named, sizeof *w->ties.named, err);
	return w->ties.v && w->ties.named ? KH_OK : KH_ENOMEM;
}

int kh_ties_open(kh_modelling *w, kh_err *err)
{
	const size_t n = w->in->classes->n;
	int rc;

	w->alone = kh_array((size_t)w->m->n * w->cell.n, sizeof *w->alone, err);
	w->called = kh_array(w->m->n, sizeof *w->called, err);
	w->called_alone = kh_array(w->m->n, sizeof *w->called_alone, err);
	w->weight = kh_array(w->m->n, sizeof *w->weight, err);
	w->told_many = kh_array(w->m->n, sizeof *w->told_many, err);
	w->ties.of = kh_array(kh_team_size(w->in->team), sizeof *w->ties.of, err);
	if (!w->alone || !w->called || !w->called_alone || !w->weight ||
	    !w->told_many || !w->ties.of)
		return KH_ENOMEM;
	kh_near_begin(w);
	if ((rc = kh_modelling_run(w, n, KH_FEW_CLASSES, count_some, err)) ||
	    (rc = line_up(w, err)))
		return rc;
	/* room for what each thread that shares ties shares */
	rc = kh_tallies_init(&w->shared, (size_t)w->m->n * w->cell.n + 1,
			     w->ties.n < KH_FEW_CLASSES ? 1 : kh_team_size(w->in->team), err);
	if (rc)
		return rc;
	return kh_modelling_run(w, n, KH_FEW_CLASSES, put_some, err);
}

/* Makes the weights of species. */
static int begin_some(void *arg, unsigned id, kh_err *err)
{
	kh_modelling *w = arg;
	const size_t n = w->m->n;

	(void)err;
	for (size_t i = kh_modelling_from(w, n, id); i < kh_modelling_from(w, n, id + 1); i++) {
		w->weight[i] = weight_of(w, (uint32_t)i);
		w->called[i] = w->called_alone[i];
	}
	return KH_OK;
}

int kh_ties_divide(kh_modelling *w, kh_err *err)
{
	const int rc = kh_modelling_run(w, w->m->n, KH_MANY_SPECIES, begin_some, err);

	return rc ? rc : kh_modelling_run(w, w->ties.n, KH_FEW_CLASSES, share_some, err);
}
