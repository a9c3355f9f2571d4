/*
 * told.c - how many of a species' fragments are told: the first pass called them that species
 *
 * Of its own fragments a share is told that the database knows, from the species' references: the
 * others tie with its relatives.  So where fragments tie, a species of which few are told has
 * more of them than one of which many are.  And a species of whose fragments far fewer are told is
 * not there: what it was given are the ties of something related that is not in the
 * database.
 *
 * A long fragment mostly has one nearest species, be it its own or not; but one that is related to
 * several is about as near to these, and is seldom told.  So what is told says how many of a
 * species' long fragments are its own, and how many are a relative's.
 */
#include <config.h>
#include "sample/model_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "sample/logs.h"

/* In 1/65536. */
enum {
	SELDOM = 45875,         /* .7: with less of the share to be expected, it is a relative */
	BOUND = 2048,           /* 1/32: no share is nearer to none, or to all */
	UNKNOWN = 32768,
	/* Of long ones: with so much of the share to be expected, all are the species' own; and the
	 * share that is told of a relative's */
	ALL_OWN = 62259,        /* .95 */
	OF_RELATIVE = 8192      /* 1/8 */
};

/* Of 32ths of the features, what a long read with the build's errors finds; without, 31. */
enum { WITH_ERRORS = 12 };

/* Of a species, its fragments that are told, short and long; and the short ones that are not though
 * no other species is near: these have too few hits, and say nothing of ties. */
struct count {
	uint64_t told, told_long,
		alone;          /* times the share that would be told */
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

		if (s != KH_NO_TAXON && w->place[s] && size == KH_LONG)
			count[w->place[s] - 1].told_long += k->many;
		else if (s != KH_NO_TAXON && w->place[s] && db->told[s][size])
			count[w->place[s] - 1].told += k->many;
		if (s != only && k->species[1] == KH_NO_TAXON && size != KH_LONG)
			count[w->place[only] - 1].alone += k->many * db->told[only][size];
	}
	return count;
}

/* How many short fragments of a species would be told, in 1/256, if those of its own shape were its
 * own: others, as from genes that are alike in many, the fit knows already. */
static uint64_t expect(const uint64_t many[KH_CELLS], const uint16_t told[KH_TOLD],
		       const kh_fit *fit, uint64_t alone)
{
	uint64_t sum = 0;

	for (uint32_t cell = 0; cell < KH_LONG * KH_SHARES; cell++)
		sum += many[cell] * told[cell / KH_SHARES] >> 16;
	sum = sum > alone ? sum - alone : 0;
	return fit->own ? sum * (fit->weight[0] >> 10) >> 10 : 0;
}

/* What is so and so of long reads without errors and with those of the build, for those of a
 * species: by how much of their features they find, in proportion. */
static uint64_t between(const uint64_t many[KH_CELLS], uint64_t all, uint64_t without,
			uint64_t with)
{
	uint64_t sum = 0, part;

	if (all == 0)
		return with;
	for (uint32_t share = WITH_ERRORS; share < KH_SHARES; share++)
		sum += many[KH_LONG * KH_SHARES + share] * (share - WITH_ERRORS);
	part = (sum << 10) / (all * (KH_SHARES - 1 - WITH_ERRORS));
	return (without * part + with * (1024 - part)) >> 10;
}

/* The share of a species' own long fragments that would be told, in 1/65536; 0: it is not known. */
static uint64_t expect_long(const uint64_t many[KH_CELLS], const uint16_t told[KH_TOLD],
			    uint64_t all)
{
	if (!told[KH_LONG] || !told[KH_LONG + 1])
		return 0;
	return between(many, all, told[KH_LONG], told[KH_LONG + 1]);
}

/* Of a species' long fragments, the share that is its own, if n are told. */
static uint32_t find_own_long(const uint64_t many[KH_CELLS], const uint16_t told[KH_TOLD],
			      uint64_t all, uint64_t n)
{
	const uint64_t expected = expect_long(many, told, all) * all >> 16,
		       part = expected > 0 ? (n << 24) / expected : 65536;

	if (part >= ALL_OWN)
		return 65536;
	return part <= OF_RELATIVE ? 0
				    : (uint32_t)(((part - OF_RELATIVE) << 16) /
						 (65536 - OF_RELATIVE));
}

static uint32_t cost_of(uint64_t share)
{
	const uint64_t x = share < BOUND ? BOUND : share > 65536 - BOUND ? 65536 - BOUND : share;

	return (16 << 16) - kh_log2q(x);
}

static void set_costs(uint32_t cost[2], uint64_t share)
{
	cost[0] = cost_of(share);
	cost[1] = cost_of(65536 - share);
}

/* `measured` of `expected` short fragments: of a species that is told too seldom, else both 1;
 * of_long: the share of its own long ones. */
static void make_costs(kh_told *t, const uint16_t told[KH_TOLD], uint64_t measured,
		       uint64_t expected, uint64_t of_long)
{
	for (uint32_t size = 0; size < KH_LONG; size++) {
		set_costs(t->own[size], told[size] ? told[size] * measured / expected : UNKNOWN);
		memcpy(t->other[size], t->own[size], sizeof t->own[size]);
	}
	set_costs(t->own[KH_LONG], of_long ? of_long : UNKNOWN);
	set_costs(t->other[KH_LONG], of_long ? OF_RELATIVE : UNKNOWN);
}

static void tell(kh_work *w, uint32_t i, const struct count *c)
{
	kh_presence *p = &w->m->at[i];
	const uint16_t *told = w->in->db->told[p->taxon];
	const uint64_t all = p->fit.many_long, measured = c->told << 8,
		       expected = expect(w->many[i], told, &p->fit, c->alone >> 8);
	const bool seldom = p->fit.kind != KH_FIT_FEW && measured << 16 < SELDOM * expected;

	p->own_long = find_own_long(w->many[i], told, all, c->told_long);
	p->seldom = seldom || (2 * all > p->fit.total && all >= KH_FEW && p->own_long < KH_KEEP);
	make_costs(&w->told[i], told, seldom ? measured : 1, seldom ? expected : 1,
		   expect_long(w->many[i], told, all));
}

int kh_told_make(kh_work *w, kh_err *err)
{
	struct count *count;

	/* with --confidence, fewer are told than of perfect ones */
	if (!w->in->db->told || w->in->rule->confidence > 0)
		return KH_OK;
	count = count_told(w, err);
	if (!w->told)
		w->told = kh_array(w->m->n, sizeof *w->told, err);
	for (uint32_t i = 0; i < w->m->n && count && w->told; i++)
		tell(w, i, &count[i]);
	free(count);
	return count && w->told ? KH_OK : KH_ENOMEM;
}
