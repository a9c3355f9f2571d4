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
	SELDOM = 39322,         /* .6: with less of the share to be expected, it is a relative */
	BOUND = 2048,           /* 1/32: no share is nearer to none, or to all */
	UNKNOWN = 32768
};

/* Of the species of all classes: its fragments that are told, of sizes whose share is known. */
static uint64_t *count_told(const kh_work *w, kh_err *err)
{
	const kh_classes *c = w->in->classes;
	const kh_db *db = w->in->db;
	uint64_t *told = kh_array(w->m->n, sizeof *told, err);

	for (size_t i = 0; i < c->n && told; i++) {
		const kh_class *k = &c->at[i];
		const uint32_t s =
			k->call == KH_NO_TAXON ? KH_NO_TAXON : db->tax->species[k->call];

		if (s != KH_NO_TAXON && w->place[s] && db->told[s][k->cell / KH_SHARES])
			told[w->place[s] - 1] += k->many;
	}
	return told;
}

/* How many of its fragments would be told if all were its own, in 1/256. */
static uint64_t expect(const uint64_t many[KH_CELLS], const uint16_t told[KH_TOLD])
{
	uint64_t sum = 0;

	for (uint32_t cell = 0; cell < KH_CELLS; cell++)
		sum += many[cell] * told[cell / KH_SHARES] >> 16;
	return sum;
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
	uint64_t *told;

	/* with --confidence, fewer are told than of perfect ones */
	if (!of || w->in->rule->confidence > 0)
		return KH_OK;
	told = count_told(w, err);
	w->told = kh_array(w->m->n, sizeof *w->told, err);
	for (uint32_t i = 0; i < w->m->n && told && w->told; i++) {
		kh_presence *p = &w->m->at[i];
		const uint64_t expected = expect(w->many[i], of[p->taxon]),
			       measured = told[i] << 8;

		p->seldom = p->fit.kind != KH_FIT_FEW &&
			    measured << 16 < SELDOM * expected;
		make_costs(&w->told[i], of[p->taxon], measured, expected, p->seldom);
	}
	free(told);
	return told && w->told ? KH_OK : KH_ENOMEM;
}
