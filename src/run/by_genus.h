/*
 * by_genus.h - fragments of a sample that translated seeds have called, by genus
 *
 * Such a call says that something of the genus is there, not which species.  A few of them in a
 * genus of which no species is there are taken for reads of another genus.
 */
#ifndef KH_RUN_BY_GENUS_H
#define KH_RUN_BY_GENUS_H

#include "classify/backend.h"
#include "run/report.h"
#include "sample/model.h"

#define KH_BY_GENUS_LEAST 10            /* calls, if no species of the genus is there */

typedef struct kh_by_genus {
	unsigned threads;
	uint32_t n_taxa;
	const uint32_t *species;        /* of a taxon: kh_tree */
	uint64_t **of;                  /* of each worker, by taxon */
	uint64_t *many;                 /* of all, but for what is dropped */
	bool *dropped;                  /* by taxon: these calls are none in the end */
} kh_by_genus;

/* Nothing is counted if the database has no translated seeds. */
int kh_by_genus_init(kh_by_genus *g, const kh_db *db, unsigned threads, kh_err *err);
void kh_by_genus_clear(kh_by_genus *g);

/* Is it a call of translated seeds?  It is above species, and no features agree with it. */
static inline bool kh_by_genus_is(const kh_by_genus *g, const kh_call *c)
{
	return g->of && c->taxon != KH_NO_TAXON && c->hits == 0 &&
	       g->species[c->taxon] == KH_NO_TAXON;
}

/* Counts the fragments of a task. */
void kh_by_genus_add(kh_by_genus *g, unsigned worker, const kh_task *t);
/* Sums up, and, if the model changes calls, drops what is too few: in *direct, by taxon, and in the
 * tally.  Returns how many fragments that are. */
uint64_t kh_by_genus_judge(kh_by_genus *g, const kh_db *db, const kh_model *m, uint64_t *direct,
			   kh_tally *tally);

#endif
