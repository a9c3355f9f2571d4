/*
 * shapes.h - what share of its features a fragment finds in a reference of a given divergence
 *
 * A fragment of n features that comes from something of divergence D to a reference has h of
 * them in the reference's best place.  Along a genome divergence is not even: that of a
 * fragment is taken as Gamma distributed with mean D and shape 1 + 18 D; one base in 300 is read
 * wrongly, in bad reads more; a feature is found if none of its k bases differs; features
 * overlap, so a base that differs takes several of them.  kh_shapes has the outcome,
 * h >= KH_H_LEAST, by share j = min(31, 32 h / n), for each of 18 divergences; all in integers.
 *
 * Genes of strains differ much in how far they are, those of species less; so there are even
 * shapes, too, whose Gamma distribution has the shape 0.4 / D.
 */
#ifndef KH_SAMPLE_SHAPES_H
#define KH_SAMPLE_SHAPES_H

#include <stdbool.h>
#include <stdint.h>
#include "base/team.h"
#include "classify/class.h"

enum {
	KH_JUNK = 17,           /* the last of the divergences stands for what is not related */
	KH_EVEN,                /* from here on, even shapes */
	KH_SHAPES = KH_EVEN + 8,
	KH_CELLS = KH_SIZES * KH_SHARES
};

extern const uint16_t kh_divergence[KH_SHAPES];         /* in 1/1000 */

/* For the fragments of a sample. */
typedef struct kh_shapes {
	uint16_t f[KH_SHAPES][KH_CELLS];        /* within each size they sum to 65535, about */
	uint32_t seen[KH_SHAPES][KH_SIZES];     /* share with h >= KH_H_LEAST, in 1/65536 */
	/* log2 in 1/65536 of densities in 1/2^36: of nine parts of a shape and one of junk, and no
	 * less than with up to a quarter of any shape, and else junk */
	uint32_t mixed[KH_JUNK][KH_CELLS], least[KH_CELLS];
} kh_shapes;

/* many[n]: how many fragments have n features.
 * seeds: NULL, or one of these must have led to it. */
int kh_shapes_make(kh_shapes *s, const kh_sampling *sampling, const kh_sampling *seeds,
		   const uint64_t many[KH_N_MOST + 1], kh_team *team, kh_err *err);

#endif
