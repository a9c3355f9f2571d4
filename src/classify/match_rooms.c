/* match_rooms.c - the rooms of what is compared: match_in.h */
#include <config.h>
#include "classify/match_in.h"

#include <stdlib.h>
#include "base/mem.h"
#include "kmer/seen.h"

int kh_claims_room(kh_claims *c, uint32_t n, kh_err *err)
{
	size_t v = c->cap, alone = c->cap;
	int rc = kh_grow((void **)&c->v, &v, n, sizeof *c->v, err);

	if (!rc)
		rc = kh_grow((void **)&c->alone, &alone, n, sizeof *c->alone, err);
	if (!rc)
		c->cap = (uint32_t)(v < alone ? v : alone);
	return rc;
}

void kh_claims_clear(kh_claims *c)
{
	free(c->v);
	free(c->alone);
	free(c->of);
}

int kh_matching_new(kh_matching *m, kh_err *err)
{
	if (kh_claims_room(&m->here, KH_MATCH_PLACES, err))
		return KH_ENOMEM;
	m->place = kh_array(KH_MATCH_PLACES + KH_RESCUE_MOST, sizeof *m->place, err);
	m->sorted = kh_array(KH_MATCH_ANCHORS, sizeof *m->sorted, err);
	m->seen = kh_array(1, sizeof *m->seen, err);
	for (int i = 0; i < 2; i++) {
		kh_found *f = &m->found[i];

		f->anchor = kh_array(KH_MATCH_ANCHORS, sizeof *f->anchor, err);
		f->region = kh_array(KH_MATCH_ANCHORS, sizeof *f->region, err);
		f->seed = kh_array(KH_MATCH_ANCHORS, sizeof *f->seed, err);
		if (!m->place || !m->sorted || !m->seen || !f->anchor || !f->region || !f->seed)
			return KH_ENOMEM;
	}
	kh_text_eights_init(m->seen->eights);
	return KH_OK;
}

void kh_matching_clear(kh_matching *m)
{
	kh_claims_clear(&m->here);
	free(m->place);
	free(m->sorted);
	free(m->seen);
	for (int i = 0; i < 2; i++) {
		free(m->found[i].anchor);
		free(m->found[i].region);
		free(m->found[i].seed);
	}
}
