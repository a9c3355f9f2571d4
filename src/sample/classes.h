/*
 * classes.h - a sample as the second pass knows it: how many fragments of each class it has
 *
 * Each worker counts for itself, or a device does for all (backend.h: kh_census); sums of integers
 * do not depend on which worker counted what.
 */
#ifndef KH_SAMPLE_CLASSES_H
#define KH_SAMPLE_CLASSES_H

#include "base/team.h"
#include "classify/class.h"
#include "classify/match_segment.h"
#include "db/db.h"

typedef struct kh_classes {
	kh_class *at;
	size_t n, cap;
	uint32_t *slot;         /* open addressing: 1 + index, 0: free */
	size_t mask;
	uint64_t many[KH_N_MOST + 1];           /* fragments with a class, by features */
} kh_classes;

int kh_classes_init(kh_classes *c, kh_err *err);
void kh_classes_clear(kh_classes *c);

typedef struct kh_class_rule {
	const kh_rule *rule;
	const kh_match_db *text;
} kh_class_rule;

/* The class of a fragment. */
typedef struct kh_class_of {
	uint32_t index;         /* its class's place in c->at, or KH_NO_CLASS */
	uint32_t target;        /* where the best window lies; KH_NO_TARGET: it is not located */
} kh_class_of;

#define KH_NO_TARGET UINT32_MAX

/* Counts n fragments; of[i] becomes the class of fragment i. Many at a time are faster: while the
 * memory for one is fetched, others are worked on. */
int kh_classes_add(kh_classes *c, const kh_class_rule *r, const kh_call *call,
		   const kh_candidates *cand, size_t n, kh_class_of *of, kh_err *err);

/* The classes of all n together, in an order that does not depend on n or on the team, to `sum`:
 * initialised, and nothing may be added to it later.  to[i][j] becomes the place there of class j
 * of c[i]: arrays of c[i].n, to be freed by the caller. */
int kh_classes_join(kh_classes *sum, const kh_classes *c, unsigned n, uint32_t **to, kh_team *team,
		    kh_err *err);

#endif
