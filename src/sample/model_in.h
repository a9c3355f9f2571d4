/* model_in.h - inside the model: shares.c, breadth.c and decide.c work on what model.c holds */
#ifndef KH_SAMPLE_MODEL_IN_H
#define KH_SAMPLE_MODEL_IN_H

#include "sample/model.h"

/* -log2(0.3): a species becomes less likely by this for each hit that it is behind. */
enum { KH_DROP_COST = 113834 };

typedef struct kh_work {
	const kh_model_input *in;
	kh_model *m;
	uint32_t *place;                /* by taxon: 1 + index in m->at, 0: none */
	uint64_t (*many)[KH_CELLS];     /* by species: its fragments, in 1/256 */
	uint64_t (*before)[KH_CELLS];   /* the same, as they were fitted last */
	bool fitted;                    /* there was such a fit */
	unsigned threads;               /* threads that fit now */
	uint32_t *family;               /* by species: its family, or what is in its place */
} kh_work;

/* The species number i of a class; NULL behind the last one. */
static inline kh_presence *kh_species_of(const kh_work *w, const kh_class *k, int i)
{
	if (i == KH_CANDIDATES || k->species[i] == KH_NO_TAXON)
		return NULL;
	return &w->m->at[w->place[k->species[i]] - 1];
}

/* Densities at a cell, times the species' fragments: of its own, and of all others. */
typedef struct kh_parts {
	uint64_t own, other;
} kh_parts;
kh_parts kh_parts_of(const kh_work *w, const kh_presence *p, uint32_t cell);

/* Shares out the fragments into w->many; in the first round by hits alone. */
void kh_share_out(kh_work *w, bool first);
/* Counts, for each species, its own located fragments, and the stretches that they lie in. */
int kh_breadth(kh_work *w, kh_err *err);
/* Decides the call of a class. */
uint32_t kh_decide(const kh_work *w, const kh_class *k);

#endif
