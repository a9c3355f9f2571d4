/*
 * shares.c - shares fragments that name several species among these
 *
 * Which species a fragment names besides its own depends on its species, and how is not known.  Of
 * long fragments, that part which is called a species says how much of it there is: it is as much
 * of all as of reads of its references.  A species that was refuted is a rival of the others, too,
 * but only with as many fragments as those bear out that are its alone: not with what ties gave it.
 */
#include <config.h>
#include "sample/model_in.h"

#include <stdatomic.h>
#include <string.h>
#include "base/mem.h"
#include "sample/logs.h"

/* How many long fragments a species has, in 1/256: by those of them that are called it. */
static uint64_t long_by_called(const kh_work *w, uint32_t i)
{
	const uint64_t share = w->told ? w->told[i].share : 0;

	if (share == 0)
		return w->m->at[i].fit.many_long;
	return (w->called[i] << 16) / (share > KH_LITTLE ? share : KH_LITTLE);
}

/* How many fragments it has as a rival of others. */
static uint64_t rival_of(const kh_work *w, uint32_t i)
{
	const kh_presence *p = &w->m->at[i];
	const uint64_t all = kh_fit_short(&p->fit),
		       borne = p->cover.alone > 0
				       ? (p->cover.n << 8) * KH_COVER_ONE / p->cover.alone
				       : 0;

	return long_by_called(w, i) + (p->refuted && borne > 0 && borne < all ? borne : all);
}

static uint64_t log_of(uint64_t x)
{
	return kh_log2q(x > 0 ? x : 1);
}

/* The logarithm of what a species has of its own for each base of genome, made positive by adding a
 * bound that no weight is below. */
static uint64_t weight_of(const kh_work *w, uint32_t i)
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

/* Threads add to the same sums. */
static void add(uint64_t *sum, uint64_t many)
{
	atomic_fetch_add_explicit((_Atomic uint64_t *)sum, many, memory_order_relaxed);
}

static void share_class(kh_work *w, const kh_class *k)
{
	uint64_t log[KH_CANDIDATES], most = 0, sum = 0;
	uint32_t at[KH_CANDIDATES];
	int n = 0;

	for (; n < KH_CANDIDATES && k->species[n] != KH_NO_TAXON; n++) {
		at[n] = w->place[k->species[n]] - 1;
		log[n] = w->weight[at[n]] - kh_costs_of(w, k, n).own;
		most = log[n] > most ? log[n] : most;
	}
	for (int i = 0; i < n; i++)
		sum += log[i] = kh_exp2q(most - log[i]);
	for (int i = 0; i < n; i++) {
		const uint64_t share = (log[i] << 16) / sum, many = k->many * share >> 8;

		/* smaller ones are dropped */
		if (share < KH_LITTLE)
			continue;
		add(&w->many[at[i]][k->cell], many);
		if (k->cell / KH_SHARES == KH_LONG && kh_is_called(w, k, k->species[i]))
			add(&w->called[at[i]], many);
	}
}

static int share_some(void *arg, unsigned id, kh_err *err)
{
	kh_work *w = arg;

	(void)err;
	for (size_t i = kh_work_from(w, w->n_tied, id); i < kh_work_from(w, w->n_tied, id + 1); i++)
		share_class(w, &w->in->classes->at[w->tied[i]]);
	return KH_OK;
}

int kh_ties_open(kh_work *w, kh_err *err)
{
	const kh_classes *c = w->in->classes;

	w->alone = kh_array(w->m->n, sizeof *w->alone, err);
	w->called = kh_array(w->m->n, sizeof *w->called, err);
	w->called_alone = kh_array(w->m->n, sizeof *w->called_alone, err);
	w->weight = kh_array(w->m->n, sizeof *w->weight, err);
	w->tied = kh_array(c->n, sizeof *w->tied, err);
	if (!w->alone || !w->called || !w->called_alone || !w->weight || !w->tied)
		return KH_ENOMEM;
	for (size_t i = 0; i < c->n; i++) {
		const kh_class *k = &c->at[i];
		const uint32_t at = w->place[k->species[0]] - 1;

		if (k->species[1] != KH_NO_TAXON) {
			w->tied[w->n_tied++] = (uint32_t)i;
			continue;
		}
		w->alone[at][k->cell] += k->many << 8;
		if (k->cell / KH_SHARES == KH_LONG && kh_is_called(w, k, k->species[0]))
			w->called_alone[at] += k->many << 8;
	}
	return KH_OK;
}

int kh_ties_divide(kh_work *w, kh_err *err)
{
	for (uint32_t i = 0; i < w->m->n; i++)
		w->weight[i] = weight_of(w, i);
	memcpy(w->called, w->called_alone, w->m->n * sizeof *w->called);
	memcpy(w->many, w->alone, w->m->n * sizeof *w->many);
	return kh_work_run(w, w->n_tied, KH_FEW_CLASSES, share_some, err);
}
