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
	/* to[i] = the sum over at most KH_TERMS terms of factor x[i], divided by 2^24, for i from
	 * end - 1 down to `from`, so an x may begin at `to` or before it. */
	void (*sum_up)(kh_lanes *to, uint32_t from, uint32_t end, const kh_term *term,
		       uint32_t n_terms);
	/* to[i] = the sum over r < rows of x[i + r behind], for i below n. */
	void (*add_up)(kh_lanes *to, uint32_t n, const kh_lanes *x, uint32_t rows, size_t behind);
} kh_lanes_fns;

extern const kh_lanes_fns kh_lanes_plain;
/* NULL if this processor has no AVX2. */
const kh_lanes_fns *kh_lanes_avx2(void);
/* The faster functions that this processor has. */
const kh_lanes_fns *kh_lanes_get(void);

#endif
