/*
 * borne.c - limits what ties give a species to what the fragments that fit it alone bear out
 *
 * A species of which a sister is missing gets the sister's fragments wherever both fit.  So its own
 * fragments are limited to those that are borne out: its part of them (cover.c).
 */
#include <config.h>
#include "sample/model_in.h"

#include <stdlib.h>
#include "base/mem.h"

/* Where no species of a family is missing, at least so many tenths of what its species have of
 * their own are borne out.  Chosen on worlds of close species (ties.py, seeds 7001 to 7008, 8001 to
 * 8020), as is KH_LITTLE, the share of the family's fragments that are refuted at most.  .85, and
 * 1/16 for the latter, give the same. */
enum { BORNE_TENTHS = 9 };

void kh_cover_limit(kh_presence *p)
{
	kh_fit *f = &p->fit;
	const uint64_t all = kh_fit_short(f), borne = p->cover.borne;

	if (f->kind != KH_FIT_ONE || !f->own || p->by_long || borne == 0 || borne >= all)
		return;
	f->shape[2] = f->shape[1];
	f->weight[2] = f->weight[1];
	f->shape[1] = f->shape[0];
	f->weight[1] = f->weight[0];
	f->weight[0] = (uint32_t)(f->weight[0] * borne / all);
	f->weight[1] -= f->weight[0];
	f->n = 3;
}

/* Of a family: what its species have of their own, what of that is borne, what those that are a
 * relative's have, and all. */
struct kin {
	uint64_t own, borne, refuted, all;
};

static void add_to(struct kin *k, const kh_presence *p)
{
	const uint64_t all = kh_fit_short(&p->fit), first = kh_fit_first(&p->fit);

	k->all += all;
	if (!p->fit.own) {
		k->refuted += all;
		return;
	}
	k->own += all * first >> 20;
	k->borne += (p->cover.borne ? p->cover.borne : all) * first >> 20;
}

/* Is a species missing from the family? */
static bool lacks_species(const struct kin *k)
{
	return k->refuted << 16 >= KH_LITTLE * k->all || 10 * k->borne < BORNE_TENTHS * k->own;
}

static void undo_limit(kh_fit *f)
{
	if (f->n < 3 || f->shape[0] != f->shape[1])
		return;
	f->weight[0] += f->weight[1];
	f->shape[1] = f->shape[2];
	f->weight[1] = f->weight[2];
	f->n = 2;
}

int kh_cover_give_back(const kh_modelling *w, kh_err *err)
{
	struct kin *of = kh_array(w->in->db->tax->n, sizeof *of, err);

	for (uint32_t i = 0; i < w->m->n && of; i++)
		add_to(&of[w->family[i]], &w->m->at[i]);
	for (uint32_t i = 0; i < w->m->n && of; i++)
		if (!lacks_species(&of[w->family[i]]))
			undo_limit(&w->m->at[i].fit);
	free(of);
	return of ? KH_OK : KH_ENOMEM;
}
