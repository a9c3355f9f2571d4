/* simd.h - which of the functions for vector instructions may be taken */
#ifndef KH_BASE_SIMD_H
#define KH_BASE_SIMD_H

/* By KH_SIMD in the environment: 0 none of them ("none"), 1 up to AVX2 ("avx2"), 2 all. */
int kh_simd_most(void);

#endif
