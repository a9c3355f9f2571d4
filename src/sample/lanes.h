/* lanes.h - sums of products, several side by side (shapes.c) */
#ifndef KH_SAMPLE_LANES_H
#define KH_SAMPLE_LANES_H

#include <stddef.h>
#include <stdint.h>

enum { KH_LANES = 4, KH_TERMS = 4 };

/* Each less than 2^32. */
typedef struct kh_lanes {
	uint64_t at[KH_LANES];
} kh_lanes;

typedef struct kh_term {
	const kh_lanes *x, *factor;
} kh_term;

typedef struct kh_lanes_fns {
	/* to[i] = the sum of up to KH_TERMS terms' factor x[i], over 2^24, for i from n - 1 down to
	 * 0: an x may begin at `to` or before it. */
	void (*sum_up)(kh_lanes *to, uint32_t n, const kh_term *term, uint32_t n_terms);
	/* to[i] = the sum of x[i] and of what lies so many behind it in the other rows, for i below
	 * n. */
	void (*add_up)(kh_lanes *to, uint32_t n, const kh_lanes *x, uint32_t rows, size_t behind);
} kh_lanes_fns;

extern const kh_lanes_fns kh_lanes_plain;
/* NULL: not on this processor. */
const kh_lanes_fns *kh_lanes_avx2(void);
/* The fastest ones. */
const kh_lanes_fns *kh_lanes_get(void);

#endif
