/* match_later.c - hits of a long fragment's species, counted when that is known: match_in.h */
#include <config.h>
#include "classify/match_in.h"

#include "base/mem.h"
#include "classify/match_hits.h"

int kh_lain_add(kh_lain_all *a, const kh_matching *m, const kh_mates *s, const kh_claim *c,
		uint32_t sum, kh_err *err)
{
	const kh_spot *p = &m->place[c->place[0]];
	int rc = KH_GROW(a->v, a->cap, a->n + 1, err);
	kh_lain *x;

	if (rc)
		return rc;
	x = &a->v[a->n++];
	x->part = s->mate[0];
	x->sum = sum;
	x->target = p->target;
	x->strand = kh_place_strand(p);
	x->n = kh_places_about(m, c->place[0], x->at);
	return KH_OK;
}

static uint32_t hits_of(const kh_lain *x, const kh_match_db *db)
{
	const kh_mate *a = &x->part;
	kh_oriented read[2];

	kh_text_read(read, a->bases, a->amb, a->at, a->len);
	const kh_laid l = kh_match_laid(db, &read[x->strand], a->len, x->at[0], x->target);

	return kh_text_hits(&l, x->at, x->n, x->strand != 0);
}

uint32_t kh_lain_hits(const kh_lain_all *a, const kh_match_db *db, uint32_t sum)
{
	uint32_t hits = 0;

	for (size_t i = 0; i < a->n; i++)
		if (a->v[i].sum == sum)
			hits += hits_of(&a->v[i], db);
	return hits;
}
