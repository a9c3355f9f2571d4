/*
 * fit.h - one species: how many of the fragments that name it are its own
 *
 * The fragments of a species, by share of features found, are a mixture: its own, whose
 * divergence is that of the strain in the sample; perhaps those of a relative that is not among
 * the references; and junk, which fits nothing. Divergences and pairs of them are tried by
 * expectation maximisation, and the likelihood says whether there is one or there are two.  A
 * strain 6 or 7 % away looks like a nearer one beside a relative; but the genes of such a relative
 * are about as far, and those of one strain are not, and that tells them.
 */
#ifndef KH_SAMPLE_FIT_H
#define KH_SAMPLE_FIT_H

#include <stdbool.h>
#include <stdint.h>
#include "sample/mixture.h"

#define KH_WEIGHT_EVEN (KH_WEIGHT_ONE / 100 * 99)     /* all but one in a hundred */
#define KH_FEW (5 * 256)        /* fragments, in 1/256: of fewer, nothing is said */

enum kh_fit_kind { KH_FIT_FEW, KH_FIT_SINGLE, KH_FIT_PAIR };

/* A mixture of up to three shapes, the last of them junk. */
typedef struct kh_fit {
	enum kh_fit_kind kind;
	bool own;               /* the first shape is the species' own, else a relative's */
	bool weak;              /* it is the lesser part: their places must bear it out */
	uint32_t shape[3], n;   /* n: shapes in use */
	uint32_t weight[3];     /* in 1/2^20 */
	uint32_t one_shape, one_weight; /* of the best mixture of one divergence */
	uint32_t low, high;     /* shapes that explain nearly as much in place of the first */
	uint64_t total;         /* fragments, in 1/256 */
	/* of these the long ones, which are not fitted, as errors of long reads look like
	 * divergence */
	uint64_t many_long;
} kh_fit;

/* many: fragments by cell, in 1/256; their sum is below 2^43. */
void kh_fit_make(kh_fit *fit, const kh_shapes *s, const uint64_t many[KH_CELLS]);

/* May the fragments have one divergence, all but one in a hundred?  Yes, if that explains them
 * nearly as well as the best mixture of one; *shape becomes it. */
bool kh_fit_is_even(const kh_fit *fit, const kh_shapes *s, const uint64_t many[KH_CELLS],
		    uint32_t *shape);

/* The fragments that are fitted, and those of them that are the species' own, in 1/256. */
static inline uint64_t kh_fit_short(const kh_fit *f)
{
	return f->total - f->many_long;
}
static inline uint64_t kh_fit_own(const kh_fit *f)
{
	return f->own ? kh_fit_short(f) * f->weight[0] >> 20 : 0;
}
/* The share of them that has the first divergence: its own, and what ties gave it beyond these,
 * which fits as well (kh_cover_limit). */
static inline uint32_t kh_fit_first(const kh_fit *f)
{
	return f->weight[0] + (f->n == 3 && f->shape[1] == f->shape[0] ? f->weight[1] : 0);
}

#endif
