#include <config.h>
#include "sample/coverage.h"

#include <stdatomic.h>
#include <stdlib.h>
#include "base/mem.h"
#include "sample/model.h"

struct kh_coverage {
	const kh_db *db;
	kh_tree tree;
	uint64_t *first;                /* by target: its first part; then the number of parts */
	_Atomic uint32_t *part;         /* fragments of each part */
};

int kh_coverage_new(kh_coverage **out, const kh_db *db, kh_err *err)
{
	kh_coverage *c = kh_array(1, sizeof *c, err);
	uint64_t before = 0;            /* intervals of the targets before */
	int rc;

	if (!c)
		return KH_ENOMEM;
	c->db = db;
	c->tree = kh_taxonomy_tree(db->tax);
	rc = kh_intervals(db, &c->first, err);
	for (uint32_t t = 0; !rc && t < db->h->n_targets; t++) {
		const uint64_t n = c->first[t + 1] - before;

		before = c->first[t + 1];
		c->first[t + 1] =
			c->first[t] + (n < KH_COVERAGE_PARTS ? n : KH_COVERAGE_PARTS);
	}
	if (!rc && !(c->part = kh_array(c->first[db->h->n_targets], sizeof *c->part, err)))
		rc = KH_ENOMEM;
	if (rc) {
		kh_coverage_free(c);
		return rc;
	}
	*out = c;
	return KH_OK;
}

void kh_coverage_free(kh_coverage *c)
{
	if (!c)
		return;
	free((void *)c->part);
	free(c->first);
	free(c);
}

/* The species that a class was called, if that is the one that located it, else KH_NO_TAXON. */
static uint32_t called_species(const kh_coverage *c, const kh_class *k)
{
	const uint32_t best = kh_class_alone(k);

	if (!k->located || k->call == KH_NO_TAXON)
		return KH_NO_TAXON;
	return c->tree.species[k->call] == best ? best : KH_NO_TAXON;
}

void kh_coverage_add(kh_coverage *c, const kh_class *k, uint32_t target, uint32_t bin)
{
	const kh_db *db = c->db;
	const kh_db_locus l = kh_db_locate(db, target, bin);
	const uint64_t parts = c->first[l.target + 1] - c->first[l.target];
	const uint64_t bins = db->target[l.target].bases / db->h->sampling.stride + 1;
	uint64_t at = l.at * parts / bins;

	if (called_species(c, k) == KH_NO_TAXON)
		return;
	at = c->first[l.target] + (at < parts ? at : parts - 1);
	atomic_fetch_add_explicit(&c->part[at], 1, memory_order_relaxed);
}

/* --- what is told ----------------------------------------------------------------- */
/* Adds target t to the targets of the species with the most fragments, if it is one of them. */
static void rank_target(kh_covered *s, const kh_covered_target *t)
{
	uint32_t i = s->n;

	if (s->n < KH_COVERAGE_TARGETS)
		s->n++;
	else if (s->target[--i].many >= t->many)
		return;
	for (; i > 0 && s->target[i - 1].many < t->many; i--)
		s->target[i] = s->target[i - 1];
	s->target[i] = *t;
}

static int add_targets(const kh_coverage *c, uint32_t *place, kh_covered **list, size_t *n,
		       kh_err *err)
{
	size_t cap = 0;

	for (uint32_t t = 0; t < c->db->h->n_targets; t++) {
		const uint32_t species = c->tree.species[c->db->target[t].taxon];
		kh_covered_target x = { .target = t,
					.part = (const uint32_t *)c->part + c->first[t],
					.n = (uint32_t)(c->first[t + 1] - c->first[t]) };
		int rc;

		for (uint32_t i = 0; i < x.n; i++)
			x.many += x.part[i];
		if (x.many == 0)
			continue;
		if (place[species] == 0) {
			if ((rc = kh_grow((void **)list, &cap, *n + 1, sizeof **list, err)))
				return rc;
			(*list)[*n] = (kh_covered) { .species = species };
			place[species] = (uint32_t)++*n;
		}
		rank_target(&(*list)[place[species] - 1], &x);
	}
	return KH_OK;
}

static int by_many(const void *a, const void *b)
{
	const kh_covered *x = a, *y = b;

	if (x->many != y->many)
		return x->many > y->many ? -1 : 1;
	return x->species < y->species ? -1 : x->species > y->species;
}

int kh_coverage_list(const kh_coverage *c, const kh_classes *classes, size_t limit,
		     kh_covered **list, size_t *n, kh_err *err)
{
	uint32_t *place = kh_array(c->db->tax->n, sizeof *place, err);
	int rc = place ? KH_OK : KH_ENOMEM;

	*list = NULL;
	*n = 0;
	if (!rc)
		rc = add_targets(c, place, list, n, err);
	for (size_t i = 0; i < classes->n && !rc; i++) {
		const kh_class *k = &classes->at[i];
		const uint32_t species = called_species(c, k);

		if (species == KH_NO_TAXON)
			continue;
		(*list)[place[species] - 1].share[k->cell % KH_SHARES] += k->many;
		(*list)[place[species] - 1].many += k->many;
	}
	free(place);
	if (rc) {
		free(*list);
		*list = NULL;
		return rc;
	}
	if (*n > 0)
		qsort(*list, *n, sizeof **list, by_many);
	*n = *n < limit ? *n : limit;
	return KH_OK;
}
