/* shares.c - shares fragments that name several species among these */
#include <config.h>
#include "sample/model_in.h"

#include <stdatomic.h>
#include <string.h>
#include "sample/logs.h"

enum { LEAST_SHARE = 1311 };            /* 2 %: smaller shares are dropped */

/* The logarithm of a weight, made positive by adding a bound that no weight is below. */
static uint64_t weight_of(const kh_presence *p, uint64_t cost, bool first)
{
	uint64_t log = UINT64_C(128) << 16;

	if (!first) {
		/* what is related to a species is a rival of the others, too */
		const uint64_t own = p->seldom ? p->fit.total : kh_presence_own(p);

		log += kh_log2q(own > 0 ? own : 1);
		log -= kh_log2q(p->length);
	}
	return log - cost;
}

/* Threads add to the same sums. */
static void add(kh_work *w, const kh_presence *p, uint32_t cell, uint64_t many)
{
	_Atomic uint64_t *sum = (_Atomic uint64_t *)&w->many[p - w->m->at][cell];

	atomic_fetch_add_explicit(sum, many, memory_order_relaxed);
}

static void share_class(kh_work *w, const kh_class *k)
{
	uint64_t log[KH_CANDIDATES], most = 0, sum = 0;
	const kh_presence *p[KH_CANDIDATES + 1];
	int n = 0;

	for (; (p[n] = kh_species_of(w, k, n)); n++)
		;
	for (int i = 0; n > 1 && i < n; i++) {
		log[i] = weight_of(p[i], kh_costs_of(w, k, i).own, !w->fitted);
		most = log[i] > most ? log[i] : most;
	}
	for (int i = 0; n > 1 && i < n; i++)
		sum += log[i] = kh_exp2q(most - log[i]);
	for (int i = 0; i < n; i++) {
		const uint64_t share = n > 1 ? (log[i] << 16) / sum : 65536;

		if (share >= LEAST_SHARE)
			add(w, p[i], k->cell, k->many * share >> 8);
	}
}

static int share_some(void *arg, unsigned id, kh_err *err)
{
	kh_work *w = arg;
	const kh_classes *c = w->in->classes;

	(void)err;
	for (size_t i = kh_work_from(w, c->n, id); i < kh_work_from(w, c->n, id + 1); i++)
		share_class(w, &c->at[i]);
	return KH_OK;
}

int kh_share_out(kh_work *w, kh_err *err)
{
	memset(w->many, 0, w->m->n * sizeof *w->many);
	return kh_work_run(w, w->in->classes->n, KH_FEW_CLASSES, share_some, err);
}
