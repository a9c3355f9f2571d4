/*
 * told.c - how many of a species' long fragments are told: called that species by the first pass
 *
 * Most long fragments fit one species best, their own or not.  But those of a relative that the
 * database lacks fit several species about equally, and are seldom told.  So the share that is told
 * says how many of a species' long fragments are its own.  Some of its own tie with relatives and
 * are not told either: four fifths as many are told as of reads of its references (probe.c).
 */
#include <config.h>
#include "sample/model_in.h"

#include <stdlib.h>
#include "base/mem.h"
#include "sample/logs.h"

/* In 1/65536. */
enum {
	/* of a relative's long fragments so many are called the species, of as many as of its own:
	 * 5/12 */
	RELATIVE = 27307,
	UNKNOWN = 32768
};

/* Could so many be told, of a species with no others than its own?  What is told may be less than
 * what is expected by two standard errors, of the sample and of what the text was asked; that all
 * were told of so few says little of one more. */
static bool may_be_all_own(uint64_t expected, uint64_t told, uint64_t all)
{
	const uint64_t most = 65536 - 65536 / KH_PROBES, of = expected < most ? expected : most,
		       less = told < of ? of - told : 0, each = of * (65536 - of);

	return less * less <= 4 * (each / KH_PROBES + each * 256 / all);
}

/* Of a species' long fragments, the share that is its own, if n are told. */
static uint32_t find_own(uint64_t expected, uint64_t all, uint64_t n)
{
	const uint64_t is = all > 0 ? (n << 24) / all : 0,
		       part = expected > 0 ? (is << 16) / expected : 0;

	if (all == 0 || expected == 0 || may_be_all_own(expected, is, all))
		return 65536;
	return part <= RELATIVE ? 0 : (uint32_t)(((part - RELATIVE) << 16) / (65536 - RELATIVE));
}

static uint32_t cost_of(uint64_t share)
{
	const uint64_t x = share < KH_LITTLE ? KH_LITTLE
			   : share > 65536 - KH_LITTLE ? 65536 - KH_LITTLE : share;

	return (16 << 16) - kh_log2q(x);
}

static void set_costs(uint32_t cost[2], uint64_t share)
{
	cost[0] = cost_of(share);
	cost[1] = cost_of(65536 - share);
}

static void tell(kh_modelling *w, uint32_t i)
{
	kh_presence *p = &w->m->at[i];
	kh_told *t = &w->told[i];
	const uint64_t all = p->fit.many_long;

	/* with --confidence, fewer are told than of those of the references */
	t->share = w->in->rule->confidence > 0 ? 0 : w->probe[i].told;
	p->own_long = find_own(t->share, all, w->told_many[i]);
	if (2 * all > p->fit.total && all >= KH_FEW && p->own_long < KH_KEEP)
		p->refuted = true;
	set_costs(t->own, t->share ? t->share : UNKNOWN);
	set_costs(t->other, t->share ? RELATIVE : UNKNOWN);
}

int kh_told_make(kh_modelling *w, kh_err *err)
{
	w->told = kh_array(w->m->n, sizeof *w->told, err);
	for (uint32_t i = 0; i < w->m->n && w->told; i++)
		tell(w, i);
	return w->told ? KH_OK : KH_ENOMEM;
}
