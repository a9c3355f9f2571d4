/* lanes.h - sums of products, several side by side (shapes.c) */
#ifndef KH_SAMPLE_LANES_H
#define KH_SAMPLE_LANES_H

#include <stdint.h>

enum { KH_LANES = 4, KH_TERMS = 4 };

/* Each less than 2^32. */
typedef struct kh_lanes {
	uint64_t at[KH_LANES];
} kh_lanes;

typedef struct kh_term {
	const kh_lanes *x;
	kh_lanes factor;
} kh_term;

/* to[i] = the sum of up to KH_TERMS terms' factor x[i], over 2^24, for i from n - 1 down to 0: an x
 * may begin at `to` or before it. */
typedef void kh_lanes_fn(kh_lanes *to, uint32_t n, const kh_term *term, uint32_t n_terms);

void kh_lanes_plain(kh_lanes *to, uint32_t n, const kh_term *term, uint32_t n_terms);
/* NULL: not on this processor. */
kh_lanes_fn *kh_lanes_avx2(void);
/* The fastest one. */
kh_lanes_fn *kh_lanes_get(void);

#endif
