/*
 * logs.h - logarithms and powers of two in integers
 *
 * The fit of a sample multiplies and compares numbers that are far apart in size, and its outputs
 * must be the same bytes on every machine, so libm is not used. Values between the 257 of a table
 * are interpolated linearly; the greatest error is 3 units of a logarithm, and 2 in a million of a
 * power.
 */
#ifndef KH_SAMPLE_LOGS_H
#define KH_SAMPLE_LOGS_H

#include <stdint.h>

#define KH_LOG2_E 94548                 /* log2(e), as kh_log2q would give it */
#define KH_EXP2_ONE (UINT32_C(1) << 24)

/* log2(x) in 1/65536, rounded down; x > 0. */
uint32_t kh_log2q(uint64_t x);
/* 2^-(y/65536) in 1/2^24. */
uint32_t kh_exp2q(uint64_t y);

#endif
