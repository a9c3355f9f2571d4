/*
 * mixture.h - mixtures of shapes that explain the fragments of a species, by expectation
 * maximisation, in integers
 *
 * A mixture has up to three shapes (shapes.h), the last of them junk, each with a weight.  A round
 * sets each weight to the share of the fragments that the shape explains, so the likelihood only
 * grows.  Many mixtures run for some rounds, and the best of these run to the end.
 */
#ifndef KH_SAMPLE_MIXTURE_H
#define KH_SAMPLE_MIXTURE_H

#include <stdint.h>
#include "sample/shapes.h"

#define KH_WEIGHT_ONE (1 << 20)
#define KH_PERCENT (KH_WEIGHT_ONE / 100)

enum {
	KH_ROUNDS_TRIED = 8,            /* rounds of each mixture that is tried */
	KH_KEPT = 6                     /* the best so many get more rounds */
};

/* The cells that have fragments. */
typedef struct kh_cells {
	uint64_t many[KH_CELLS], total;
	uint64_t part[KH_CELLS];        /* the share of the total, in 1/2^20, rounded up */
	uint16_t f[KH_SHAPES][KH_CELLS];
	uint32_t mixed[KH_JUNK][KH_CELLS], least[KH_CELLS];     /* shapes.h */
	uint32_t n;
} kh_cells;

/* like: log2 of the likelihood, in 1/2^24: logarithms in 1/65536, fragments in 1/256. */
typedef struct kh_mixture {
	uint32_t shape[3], n;
	uint32_t weight[3];
	int64_t like;
} kh_mixture;

/* The KH_KEPT most likely mixtures, in order; of equal ones those that came first. */
typedef struct kh_leaders {
	kh_mixture m[KH_KEPT + 1];
	uint32_t n;
} kh_leaders;

void kh_cells_gather(kh_cells *c, const kh_shapes *s, const uint64_t many[KH_CELLS]);

/* A mixture of two shapes and junk, or, if b is junk, of one shape and junk. */
kh_mixture kh_mixture_start(uint32_t a, uint32_t b);
/* Set the likelihood of a mixture: as it is, or after `rounds` rounds, fewer if nothing changes. */
void kh_mixture_likelihood(const kh_cells *c, kh_mixture *m);
void kh_mixture_run(const kh_cells *c, kh_mixture *m, int rounds);
/* The first enters a tried mixture among the leaders; the second runs them to the end, and returns
 * the best. */
void kh_mixture_enter(kh_leaders *l, const kh_mixture *m);
kh_mixture kh_mixture_finish(const kh_cells *c, kh_leaders *l);

/* The best mixture of one divergence and junk. */
typedef struct kh_single {
	kh_mixture m;
	int64_t tried;                  /* its likelihood after KH_ROUNDS_TRIED rounds */
} kh_single;
/* The best with a shape of the set; bit x: shape x. */
kh_single kh_mixture_single_of(const kh_cells *c, uint32_t set);
/* The best of all divergences; those that cannot be among the leaders are not tried. */
kh_mixture kh_mixture_single(const kh_cells *c);

/* An upper bound of the likelihood of any mixture, tight if `one` fits well; INT64_MAX: none. */
int64_t kh_mixture_bound(const kh_cells *c, const kh_mixture *one);

#endif
