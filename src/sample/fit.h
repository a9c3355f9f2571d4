/*
 * fit.h - one species: how many of the fragments that name it are its own
 *
 * The fragments of a species, by share of k-mers found, are a mixture: its own, with the
 * divergence of the strain in the sample; perhaps those of a relative that is not among the
 * references; and junk, which is related to no reference.  Divergences and pairs of them are tried
 * by expectation maximisation, and the likelihood decides between one and two.  One strain 6 or 7 %
 * away resembles a nearer strain beside a relative.  They differ in this: the genes of a relative
 * all have about the same divergence (an even shape), those of a strain do not.
 *
 * Example: of 500 fragments, the best mixture has D = 3/1000 with the weight .8 and junk with .2.
 * It is one divergence, and near enough to be a strain's: 400 fragments are the species' own.
 */
#ifndef KH_SAMPLE_FIT_H
#define KH_SAMPLE_FIT_H

#include <stdbool.h>
#include <stdint.h>
#include "sample/mixture.h"

#define KH_WEIGHT_EVEN (KH_WEIGHT_ONE / 100 * 99)     /* all but one in a hundred */
#define KH_FEW (5 * 256)        /* least number of fragments for a fit, in 1/256 */

/* Too few fragments to say; one divergence beside junk; or two. */
enum kh_fit_kind { KH_FIT_FEW, KH_FIT_ONE, KH_FIT_TWO };

/* A mixture of up to three shapes, the last of them junk. */
typedef struct kh_fit {
	enum kh_fit_kind kind;
	bool own;               /* the first shape is of the species itself, not a relative */
	bool weak;              /* that shape has a small weight: places must confirm it */
	uint32_t shape[3], n;   /* n: shapes in use */
	uint32_t weight[3];     /* in 1/2^20 */
	uint32_t one_shape, one_weight; /* the best mixture of one divergence */
	uint32_t low, high;     /* confidence interval of the first shape */
	uint64_t total;         /* fragments, in 1/256 */
	/* the long ones of `total`: not fitted, as errors of long reads look like divergence */
	uint64_t many_long;
} kh_fit;

/* many: fragments by cell, in 1/256; their sum is below 2^43. */
void kh_fit_make(kh_fit *fit, const kh_shapes *s, const uint64_t many[KH_CELLS]);

/* May 99 of 100 fragments have one divergence?  Yes, if a mixture of it and 1 % junk is nearly as
 * likely as the best mixture of one divergence; *shape becomes its shape. */
bool kh_fit_is_even(const kh_fit *fit, const kh_shapes *s, const uint64_t many[KH_CELLS],
		    uint32_t *shape);

/* The fragments that are fitted, and how many of them are the species' own; in 1/256. */
static inline uint64_t kh_fit_short(const kh_fit *f)
{
	return f->total - f->many_long;
}
static inline uint64_t kh_fit_own(const kh_fit *f)
{
	return f->own ? kh_fit_short(f) * f->weight[0] >> 20 : 0;
}
/* The weight of the first divergence: the species' own fragments, and a relative's that fit as well
 * and that ties gave it (kh_cover_limit). */
static inline uint32_t kh_fit_first(const kh_fit *f)
{
	return f->weight[0] + (f->n == 3 && f->shape[1] == f->shape[0] ? f->weight[1] : 0);
}

#endif
