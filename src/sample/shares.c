/* shares.c - shares fragments that name several species among these */
#include <config.h>
#include "sample/model_in.h"

#include <string.h>
#include "sample/logs.h"

enum { LEAST_SHARE = 1311 };            /* 2 %: smaller shares are dropped */

/* The logarithm of a weight, made positive by adding a bound that no weight is below. */
static uint64_t weight_of(const kh_presence *p, uint32_t drop, bool first)
{
	uint64_t log = UINT64_C(128) << 16;

	if (!first) {
		const uint64_t own = kh_fit_own(&p->fit);

		log += kh_log2q(own > 0 ? own : 1);
		log -= kh_log2q(p->length);
	}
	return log - drop * KH_DROP_COST;
}

static void share_class(kh_work *w, const kh_class *k, bool first)
{
	uint64_t log[KH_CANDIDATES], most = 0, sum = 0;
	kh_presence *p;
	int n = 0;

	for (; (p = kh_species_of(w, k, n)); n++) {
		log[n] = weight_of(p, k->drop[n], first);
		most = log[n] > most ? log[n] : most;
	}
	for (int i = 0; i < n; i++)
		sum += kh_exp2q(most - log[i]);
	for (int i = 0; i < n; i++) {
		const uint64_t share = ((uint64_t)kh_exp2q(most - log[i]) << 16) / sum;

		if (share >= LEAST_SHARE)
			w->many[kh_species_of(w, k, i) - w->m->at][k->cell] +=
				k->many * share >> 8;
	}
}

void kh_share_out(kh_work *w, bool first)
{
	const kh_classes *c = w->in->classes;

	memset(w->many, 0, w->m->n * sizeof *w->many);
	for (size_t i = 0; i < c->n; i++)
		share_class(w, &c->at[i], first);
}
