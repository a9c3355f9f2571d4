/*
 * shapes.h - the share of its k-mers that a fragment finds in a reference of a given divergence
 *
 * A fragment of n k-mers from a genome of divergence D to a reference has h of them in the best
 * place.  Divergence varies along a genome: a fragment's is Gamma distributed with mean D and shape
 * 1 + 18 D.  Of 100 reads, 89 have errors in 0.3 % of their bases, 8 in 2 % and 3 in 4 %.  A k-mer
 * is found if none of its k bases differs; k-mers overlap, so one base that differs costs several
 * of them.  A shape is the distribution of the share j = min(31, 32 h / n), for h >= KH_H_LEAST, at
 * one of 18 divergences; all in integers.
 *
 * The genes of a strain vary much in divergence, those of another species less.  So there are even
 * shapes, too, whose Gamma distribution has the shape 0.4 / D.
 */
#ifndef KH_SAMPLE_SHAPES_H
#define KH_SAMPLE_SHAPES_H

#include <stdbool.h>
#include <stdint.h>
#include "base/team.h"
#include "classify/class.h"

enum {
	KH_JUNK = 17,           /* the greatest divergence: not related */
	KH_EVEN,                /* from here on, even shapes */
	KH_SHAPES = KH_EVEN + 8,
	KH_CELLS = KH_SIZES * KH_SHARES
};

extern const uint16_t kh_divergence[KH_SHAPES];         /* in 1/1000 */

/* For the fragments of a sample. */
typedef struct kh_shapes {
	uint16_t f[KH_SHAPES][KH_CELLS];        /* within each size they sum to 65535, about */
	uint32_t seen[KH_SHAPES][KH_SIZES];     /* share with h >= KH_H_LEAST, in 1/65536 */
	/* log2 in 1/65536 of densities in 1/2^36: of .9 of a shape and .1 of junk; and an upper
	 * bound for up to a quarter of any shape and else junk */
	uint32_t mixed[KH_JUNK][KH_CELLS], least[KH_CELLS];
} kh_shapes;

/* many[n]: how many fragments have n k-mers.  seeds: the sampling of the seeds, one of which a
 * fragment must have without a difference to be found at all. */
int kh_shapes_make(kh_shapes *s, const kh_sampling *sampling, const kh_sampling *seeds,
		   const uint64_t many[KH_N_MOST + 1], kh_team *team, kh_err *err);

#endif
