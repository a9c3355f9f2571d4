/*
 * breadth.c - over how much of a genome the fragments of a species are spread
 *
 * Reads of what is there fall everywhere; a piece that was taken over from elsewhere, or a
 * contaminated stretch of a reference, collects its reads in a few places.  A stretch is 8 bins;
 * for each one it is known which shares of features found its fragments had.
 */
#include <config.h>
#include "sample/model_in.h"

#include <stdlib.h>
#include "base/mem.h"
#include "sample/logs.h"

int kh_stretches(const kh_db *db, uint64_t **first, kh_err *err)
{
	const uint64_t bases = (uint64_t)KH_STRETCH * db->h->sampling.stride;
	uint64_t *at = kh_array((size_t)db->h->n_targets + 1, sizeof *at, err);

	if (!at)
		return KH_ENOMEM;
	for (uint32_t i = 0; i < db->h->n_targets; i++)
		at[i + 1] = at[i] + db->target[i].bases / bases + 1;
	*first = at;
	return KH_OK;
}

/* The shares j at which at least half of a species' fragments are its own. */
static uint32_t own_shares(const kh_work *w, const kh_presence *p)
{
	const uint64_t *many = w->many[p - w->m->at];
	uint32_t mask = 0;

	for (uint32_t j = 0; j < KH_SHARES; j++) {
		uint64_t own = 0, all = 0;

		for (uint32_t cell = j; cell < KH_CELLS; cell += KH_SHARES) {
			const kh_parts d = kh_parts_of(w, p, cell);

			all += many[cell];
			own += d.own > d.other ? many[cell] : 0;
		}
		mask |= (uint32_t)(2 * own > all) << j;
	}
	return mask;
}

static const kh_presence *located_species(const kh_work *w, const kh_class *k)
{
	int i = 0;

	if (!k->located)
		return NULL;
	while (k->drop[i] > 0)
		i++;
	return kh_species_of(w, k, i);
}

/* G stretches, N fragments: G (1 - e^(-N / G)), in 1/256. */
static uint64_t expect(uint64_t g, uint64_t n)
{
	const uint64_t left = n < 64 * g ? kh_exp2q(n * KH_LOG2_E / g) : 0;

	return g * (KH_EXP2_ONE - left) >> 16;
}

int kh_breadth(kh_work *w, kh_err *err)
{
	const kh_db *db = w->in->db;
	const kh_classes *c = w->in->classes;
	uint32_t *own = kh_array(w->m->n, sizeof *own, err);
	uint64_t *first = NULL;
	int rc = own ? kh_stretches(db, &first, err) : KH_ENOMEM;

	for (uint32_t i = 0; i < w->m->n && !rc; i++)
		own[i] = own_shares(w, &w->m->at[i]);
	for (size_t i = 0; i < c->n && !rc; i++) {
		const kh_presence *p = located_species(w, &c->at[i]);

		if (p && own[p - w->m->at] >> c->at[i].cell % KH_SHARES & 1)
			w->m->at[p - w->m->at].counted += c->at[i].many;
	}
	for (uint32_t t = 0; t < db->h->n_targets && !rc; t++) {
		const uint32_t s = db->tax->species[db->target[t].taxon],
			       at = s == KH_NO_TAXON ? 0 : w->place[s];

		for (uint64_t x = first[t]; at && x < first[t + 1]; x++)
			w->m->at[at - 1].found += (w->in->mask[x] & own[at - 1]) != 0;
	}
	for (uint32_t i = 0; i < w->m->n && !rc; i++)
		w->m->at[i].expected = expect(w->m->at[i].length, w->m->at[i].counted);
	free(first);
	free(own);
	return rc;
}
