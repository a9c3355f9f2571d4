/*
 * told.c - how many of a species' fragments are told: the first pass called them that species
 *
 * Of its own fragments a share is told that the database knows, from the species' references: the
 * others tie with its relatives.  So where fragments tie, a species of which few are told has
 * more of them than one of which many are.
 *
 * What is told of something related that is not in the database is told by a hit or two, as its
 * relatives are about as near to it.  Of a species' own fragments that are told, most are so by
 * many hits, and no other species is near; of how many, the database knows, too.  So a species of
 * which far fewer are is not there.
 *
 * A long fragment mostly has one nearest species, be it its own or not; but one that is related to
 * several is about as near to these, and is seldom told.  So what is told says how many of a
 * species' long fragments are its own, and how many are a relative's.
 *
 * A database with text does not say how many are told; it is asked (probe.c).
 */
#include <config.h>
#include "sample/model_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "sample/logs.h"

/* So many that should be alone, in 1/256, say whose ties are. */
enum { MANY = 20 * 256 };

/* In 1/65536. */
enum {
	SELDOM = 47186,         /* .72: with less of the share to be expected, it is a relative */
	/* of a relative's long fragments so many are called the species, by text, of as many as of
	 * its own: 5/12 */
	KEEP_TEXT = 27307,
	UNKNOWN = 32768
};

/* Long reads of the build that have no excerpt in common: it asks with 256 excerpts, 8 a read.  A
 * database with text is asked with as many. */
enum { ASKED = KH_PROBES };

/* What is known of a species of the sample. */
static const uint16_t *told_of(const kh_work *w, uint32_t taxon)
{
	return w->probe[w->place[taxon] - 1].told;
}

/* Of 32ths of the features, what a long read with the build's errors finds; without, 31. */
enum { WITH_ERRORS = 12 };

/* Of a species' own fragments that are told, the share that no other species is near.  What has
 * lost half of its features is like a fragment of half as many, so the shares of two sizes are
 * mixed. */
static uint64_t alone_share(const uint16_t told[KH_TOLD], uint32_t cell)
{
	const uint16_t *alone = told + KH_TOLD_ALONE;
	uint32_t size = cell / KH_SHARES, share = cell % KH_SHARES;
	uint64_t less;

	for (; share < KH_SHARES / 2; share = 2 * share + 1)
		if (size-- == 0)
			return 0;
	less = alone[size > 0 ? size - 1 : 0];
	share -= KH_SHARES / 2 - 1;
	if (!alone[size] || !less)
		return 0;
	return (alone[size] * share + less * (KH_SHARES / 2 - share)) / (KH_SHARES / 2);
}

/* Of a species, its fragments that are told: the long ones, and, of the short ones, those that no
 * other species is near, and how many these would be of its own, in 1/65536. */
struct count {
	uint64_t told_long, alone, expected;
};

/* Counts these of all classes, of sizes whose share is known. */
static struct count *count_told(const kh_work *w, kh_err *err)
{
	const kh_classes *c = w->in->classes;
	const kh_db *db = w->in->db;
	struct count *count = kh_array(w->m->n, sizeof *count, err);

	for (size_t i = 0; i < c->n && count; i++) {
		const kh_class *k = &c->at[i];
		const uint32_t s = k->call == KH_NO_TAXON ? KH_NO_TAXON
							  : db->tax->species[k->call];
		struct count *of;
		uint64_t share;

		if (s == KH_NO_TAXON || !w->place[s])
			continue;
		of = &count[w->place[s] - 1];
		if (k->cell / KH_SHARES == KH_LONG) {
			of->told_long += k->many;
		} else if ((share = alone_share(told_of(w, s), k->cell)) > 0) {
			of->expected += k->many * share;
			of->alone += k->species[1] == KH_NO_TAXON ? k->many : 0;
		}
	}
	return count;
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

/* Could so many be told, of a species with no others than its own?  What is told may be less than
 * what is expected by two standard errors, of the sample and of what the build has asked; that
 * all were told of so few says little of one more. */
static bool may_be_all_own(uint64_t expected, uint64_t told, uint64_t all)
{
	const uint64_t most = 65536 - 65536 / ASKED, of = expected < most ? expected : most,
		       less = told < of ? of - told : 0, each = of * (65536 - of);

	return less * less <= 4 * (each / ASKED + each * 256 / all);
}

/* Of a species' long fragments, the share that is its own, if n are told. */
static uint32_t find_own_long(uint64_t expected, uint64_t relative, uint64_t all, uint64_t n)
{
	const uint64_t is = all > 0 ? (n << 24) / all : 0,
		       part = expected > 0 ? (is << 16) / expected : 0;

	if (all == 0 || expected == 0 || may_be_all_own(expected, is, all))
		return 65536;
	return part <= relative ? 0 : (uint32_t)(((part - relative) << 16) / (65536 - relative));
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

static void tell(kh_work *w, uint32_t i, const struct count *c)
{
	kh_presence *p = &w->m->at[i];
	kh_told *t = &w->told[i];
	const uint16_t *told = told_of(w, p->taxon);
	const uint64_t relative = w->probe ? KEEP_TEXT : KH_KEEP;
	const uint64_t all = p->fit.many_long;
	const bool seldom = c->expected >> 8 >= KH_FEW &&
			    c->alone << 16 < SELDOM * (c->expected >> 16);
	const uint64_t of_long = expect_long(w->many[i], told, all),
		       alone = c->expected >> 8 >= MANY
			       ? (c->alone << 16) / (c->expected >> 16) : 0;

	/* what text says of strains is not near enough to divide what ties */
	p->alone = w->probe ? 0 : alone < 65536 ? (uint32_t)alone : 65536;
	p->own_long = find_own_long(of_long, relative, all, c->told_long);
	p->seldom = seldom || (2 * all > p->fit.total && all >= KH_FEW && p->own_long < KH_KEEP);
	for (uint32_t size = 0; size < KH_SIZES; size++) {
		t->share[size] = size < KH_LONG ? told[size] : (uint32_t)of_long;
		set_costs(t->own[size], t->share[size] ? t->share[size] : UNKNOWN);
		memcpy(t->other[size], t->own[size], sizeof t->own[size]);
	}
	set_costs(t->other[KH_LONG], of_long ? relative : UNKNOWN);
}

int kh_told_make(kh_work *w, kh_err *err)
{
	struct count *count;
	int rc;

	/* with --confidence, fewer are told than of perfect ones */
	if (w->in->rule->confidence > 0)
		return KH_OK;
	/* the database is asked when fits say about which species */
	if (!w->fitted)
		return KH_OK;
	if ((rc = kh_probe_make(w, err)))
		return rc;
	count = count_told(w, err);
	if (!w->told)
		w->told = kh_array(w->m->n, sizeof *w->told, err);
	for (uint32_t i = 0; i < w->m->n && count && w->told; i++)
		tell(w, i, &count[i]);
	free(count);
	return count && w->told ? KH_OK : KH_ENOMEM;
}

/* What of a species is told, and is alone as often as its own would be, says how many of its short
 * fragments are its own.  If these are not nearly all, and that leaves it less than half of what is
 * not called it, all of that is another's. */
void kh_told_ties(kh_work *w, uint32_t i)
{
	kh_presence *p = &w->m->at[i];
	const uint64_t all = kh_fit_short(&p->fit),
		       own = w->told ? (kh_by_called(w, i, KH_LONG) >> 8) * p->alone >> 8 : 0;
	uint64_t called = 0;

	for (uint32_t size = 0; size < KH_LONG; size++)
		called += w->called[i][size];
	if (own > 0 && own << 16 < KH_NEARLY_ALL * all && 2 * own < all + called)
		p->own_short = (uint32_t)((own << 16) / all);
}
