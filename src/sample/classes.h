/*
 * classes.h - a sample as the second pass sees it: how many fragments of each class it has
 *
 * Each worker counts for itself, or a device counts for all (backend.h: kh_census).  Sums of
 * integers do not depend on which worker counted which fragment.
 *
 * Example: two reads with the call E. coli fit E. coli best and S. flexneri one mismatch worse.
 * One has 27 of its 36 k-mers in the best place, the other 30 of 40: both have the size class
 * log2(36) - 3 = log2(40) - 3 = 2 and the share 32 * 27 / 36 = 32 * 30 / 40 = 24.  So, if both are
 * located, they are of one class, with the cell 2 * 32 + 24 = 88.
 */
#ifndef KH_SAMPLE_CLASSES_H
#define KH_SAMPLE_CLASSES_H

#include "base/team.h"
#include "classify/class.h"
#include "classify/match_types.h"
#include "db/db.h"

typedef struct kh_classes {
	kh_class *at;
	size_t n, cap;
	uint32_t *slot;         /* open addressing: 1 + index, 0: free */
	size_t mask;
	/* fragments with a class, by number of k-mers; [0]: long ones */
	uint64_t many[KH_N_MOST + 1];
} kh_classes;

int kh_classes_init(kh_classes *c, kh_err *err);
void kh_classes_clear(kh_classes *c);

typedef struct kh_class_rule {
	const kh_rule *rule;
	const kh_match_db *text;
} kh_class_rule;

/* The class of a fragment. */
typedef struct kh_class_of {
	uint32_t index;         /* place of the class in c->at, or KH_NO_CLASS */
	uint32_t target;        /* where it is located, or KH_NO_TARGET */
} kh_class_of;

#define KH_NO_TARGET UINT32_MAX

/* Counts n fragments; of[i] becomes the class of fragment i.  A large n is faster, as the memory
 * for some fragments is prefetched while others are counted. */
int kh_classes_add(kh_classes *c, const kh_class_rule *r, const kh_call *call,
		   const kh_candidates *cand, size_t n, kh_class_of *of, kh_err *err);

/* Adds the classes of all n up in `sum`, in an order that does not depend on n or on the team.
 * `sum` is initialised, and nothing may be added to it later.  to[i][j] becomes the place in `sum`
 * of class j of c[i]: arrays of c[i].n, to be freed by the caller. */
int kh_classes_join(kh_classes *sum, const kh_classes *c, unsigned n, uint32_t **to, kh_team *team,
		    kh_err *err);

#endif
