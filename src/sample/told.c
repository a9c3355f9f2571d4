/*
 * told.c - how many of a species' fragments are told: the first pass called them that species
 *
 * Of its own fragments a share is told that the database knows, from the species' references: the
 * others tie with its relatives.  So where fragments tie, a species of which few are told has
 * more of them than one of which many are.  And a species of whose fragments far fewer are told is
 * not there: what it was given are the ties of something related that is not in the
 * database.
 */
#include <config.h>
#include "sample/model_in.h"

#include <stdlib.h>
#include "base/mem.h"
#include "sample/logs.h"

/* In 1/65536. */
enum {
	SELDOM = 52429,         /* .8: with less of the share to be expected, it is a relative */
	BOUND = 2048,           /* 1/32: no share is nearer to none, or to all */
	UNKNOWN = 32768
};

/* Of a species, its fragments that are told, and those that are not though no other species is
 * near: these have too few hits, and say nothing of ties. */
struct count {
	uint64_t told, alone;           /* the latter times the share that would be told */
};

/* Counts these of all classes, of sizes whose share is known. */
static struct count *count_told(const kh_work *w, kh_err *err)
{
	const kh_classes *c = w->in->classes;
	const kh_db *db = w->in->db;
	struct count *count = kh_array(w->m->n, sizeof *count, err);

	for (size_t i = 0; i < c->n && count; i++) {
		const kh_class *k = &c->at[i];
		const uint32_t size = k->cell / KH_SHARES, only = k->species[0],
			       s = k->call == KH_NO_TAXON ? KH_NO_TAXON
							   : db->tax->species[k->call];

		if (s != KH_NO_TAXON && w->place[s] && db->told[s][size])
			count[w->place[s] - 1].told += k->many;
		if (s != only && k->species[1] == KH_NO_TAXON)
			count[w->place[only] - 1].alone += k->many * db->told[only][size];
	}
	return count;
}

/* How many fragments of a species would be told, in 1/256, if those of its own shape were its own:
 * others, as from genes that are alike in many, the fit knows already.  Of long ones only three
 * quarters, as errors take the few features that tell. */
static uint64_t expect(const uint64_t many[KH_CELLS], const uint16_t told[KH_TOLD],
		       const kh_fit *fit, uint64_t alone)
{
	uint64_t sum = 0;

	for (uint32_t cell = 0; cell < KH_CELLS; cell++)
		sum += many[cell] * told[cell / KH_SHARES] >> 16;
	for (uint32_t cell = KH_LONG * KH_SHARES; cell < KH_CELLS; cell++)
		sum -= (many[cell] * told[KH_LONG] >> 16) / 4;
	sum = sum > alone ? sum - alone : 0;
	return fit->own ? sum * (fit->weight[0] >> 10) >> 10 : 0;
}

static uint32_t cost_of(uint64_t share)
{
	const uint64_t x = share < BOUND ? BOUND : share > 65536 - BOUND ? 65536 - BOUND : share;

	return (16 << 16) - kh_log2q(x);
}

static void make_costs(kh_told *t, const uint16_t told[KH_TOLD], uint64_t measured,
		       uint64_t expected, bool seldom)
{
	for (uint32_t size = 0; size < KH_SIZES; size++) {
		uint64_t share = told[size] ? told[size] : UNKNOWN;

		if (seldom && told[size])
			share = share * measured / expected;
		t->cost[size][0] = cost_of(share);
		t->cost[size][1] = cost_of(65536 - share);
	}
}

int kh_told_make(kh_work *w, kh_err *err)
{
	const uint16_t (*of)[KH_TOLD] = w->in->db->told;
	struct count *count;

	/* with --confidence, fewer are told than of perfect ones */
	if (!of || w->in->rule->confidence > 0)
		return KH_OK;
	count = count_told(w, err);
	if (!w->told)
		w->told = kh_array(w->m->n, sizeof *w->told, err);
	for (uint32_t i = 0; i < w->m->n && count && w->told; i++) {
		kh_presence *p = &w->m->at[i];
		const uint64_t expected = expect(w->many[i], of[p->taxon], &p->fit,
						 count[i].alone >> 8),
			       measured = count[i].told << 8;

		p->seldom = p->fit.kind != KH_FIT_FEW && measured << 16 < SELDOM * expected;
		make_costs(&w->told[i], of[p->taxon], measured, expected, p->seldom);
	}
	free(count);
	return count && w->told ? KH_OK : KH_ENOMEM;
}
