/* tables.h - the bench of cuda/tables/, seen from a program that knows no CUDA */
#ifndef KH_BENCH_TABLES_H
#define KH_BENCH_TABLES_H

#include <stdio.h>
#include "base/msg.h"

typedef struct kh_bench_tables_options {
	/* limits, targets, unique, multi, skewed, hashgraph, dachash, cuckoo, sets, index, gpus,
	 * chunks or modes; NULL: all */
	const char *experiment;
	const char *table; /* only this system; NULL: all */
	int log2n; /* pairs; 0: the default of each experiment (mostly 28) */
	int repeat; /* runs a case, of which the median counts; 0: 5 */
} kh_bench_tables_options;

/* Writes CSV, a line for each case when it is done. Nothing else may use the current device.
 * Without CUDA: KH_ENODEV. */
int kh_bench_tables(const kh_bench_tables_options *o, FILE *out, kh_err *err);

#endif
