/*
 * classes.h - a sample as the second pass knows it: how many fragments of each class it has
 *
 * Fragments of one class have the same call, as many features (a power of two apart), the same
 * share of them found (in 32nds), and the same species that could be theirs, each as far behind
 * the best. The second pass treats them alike, so a count of each class is all that it has to
 * know, and its memory does not grow with the reads. Each worker counts for itself; sums of
 * integers do not depend on which worker counted what.
 */
#ifndef KH_SAMPLE_CLASSES_H
#define KH_SAMPLE_CLASSES_H

#include <stdbool.h>
#include "base/threads.h"
#include "classify/classify.h"
#include "sample/shapes.h"

#define KH_NO_CLASS UINT32_MAX

typedef struct kh_class {
	uint32_t species[KH_CANDIDATES];        /* ascending, then KH_NO_TAXON */
	uint8_t drop[KH_CANDIDATES];            /* hits behind the best */
	uint32_t call;
	uint32_t cell;          /* size class and share found: shapes.h */
	uint8_t located;        /* the best window is in a target of the one best species */
	uint8_t enough;         /* hits to call a genus */
	uint8_t zero[2];
	uint64_t many;
} kh_class;

typedef struct kh_classes {
	kh_class *at;
	size_t n, cap;
	uint32_t *slot;         /* open addressing: 1 + index, 0: free */
	size_t mask;
	uint64_t many[KH_N_MOST + 1];           /* fragments with a class, by features */
	uint64_t *direct;       /* by taxon: fragments without one that are called just that */
	uint32_t n_taxa;
} kh_classes;

/* Hits that a fragment of 2^i .. 2^(i+1)-1 features needs to have a class. */
void kh_class_least(const kh_rule *r, uint32_t least[32]);

int kh_classes_init(kh_classes *c, uint32_t n_taxa, kh_err *err);
void kh_classes_clear(kh_classes *c);

typedef struct kh_class_rule {
	const kh_rule *rule;
	const kh_bins *bins;
	const kh_tree *tree;
} kh_class_rule;

/* The class of a fragment. */
typedef struct kh_class_of {
	uint32_t index;         /* its class's place in c->at, or KH_NO_CLASS */
	uint32_t target;        /* of a class that is located: where the best window lies */
} kh_class_of;

/* Counts n fragments; of[i] becomes the class of fragment i. Many at a time are faster: while the
 * memory for one is fetched, others are worked on. */
int kh_classes_add(kh_classes *c, const kh_class_rule *r, const kh_call *call,
		   const kh_candidates *cand, size_t n, kh_class_of *of, kh_err *err);

/* The classes of all n together, sorted, to `sum` (initialised).  to[i][j]
 * becomes the place there of class j of c[i]: arrays of c[i].n, to be freed by the caller.
 * m: of n threads that may do that; NULL: there is one. */
int kh_classes_join(kh_classes *sum, const kh_classes *c, unsigned n, uint32_t **to, kh_monitor *m,
		    kh_err *err);

#endif
