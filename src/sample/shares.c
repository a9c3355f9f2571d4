/* shares.c - shares fragments that name several species among these */
#include <config.h>
#include "sample/model_in.h"

#include <stdatomic.h>
#include <string.h>
#include "base/mem.h"
#include "sample/logs.h"

/* The logarithm of what a species has of its own for each base of genome, made positive by adding a
 * bound that no weight is below. */
static uint64_t weight_of(const kh_presence *p, bool first)
{
	uint64_t log = UINT64_C(128) << 16;

	if (!first) {
		/* what is related to a species is a rival of the others, too */
		const uint64_t own = p->seldom ? p->fit.total : kh_presence_own(p);

		log += kh_log2q(own > 0 ? own : 1);
		log -= kh_log2q(p->length);
	}
	return log;
}

/* Threads add to the same sums. */
static void add(kh_work *w, uint32_t species, uint32_t cell, uint64_t many)
{
	_Atomic uint64_t *sum = (_Atomic uint64_t *)&w->many[species][cell];

	atomic_fetch_add_explicit(sum, many, memory_order_relaxed);
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
		const uint64_t share = (log[i] << 16) / sum;

		/* smaller ones are dropped */
		if (share >= KH_LITTLE)
			add(w, at[i], k->cell, k->many * share >> 8);
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
	w->weight = kh_array(w->m->n, sizeof *w->weight, err);
	w->tied = kh_array(c->n, sizeof *w->tied, err);
	if (!w->alone || !w->weight || !w->tied)
		return KH_ENOMEM;
	for (size_t i = 0; i < c->n; i++) {
		const kh_class *k = &c->at[i];

		if (k->species[1] == KH_NO_TAXON)
			w->alone[w->place[k->species[0]] - 1][k->cell] += k->many << 8;
		else
			w->tied[w->n_tied++] = (uint32_t)i;
	}
	return KH_OK;
}

int kh_ties_divide(kh_work *w, kh_err *err)
{
	for (uint32_t i = 0; i < w->m->n; i++)
		w->weight[i] = weight_of(&w->m->at[i], !w->fitted);
	memcpy(w->many, w->alone, w->m->n * sizeof *w->many);
	return kh_work_run(w, w->n_tied, KH_FEW_CLASSES, share_some, err);
}
