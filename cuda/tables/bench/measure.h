/* measure.h - the hash tables of cuda/tables, measured */
#ifndef KH_BENCH_MEASURE_H
#define KH_BENCH_MEASURE_H

#include <stdio.h>
#include "base/msg.h"

#define KH_BENCH_RUNS 31        /* most runs of a case */

typedef struct kh_bench_tables_options {
	const char *experiment;         /* limits, targets ... (kht_bench_list); NULL: all */
	const char *table;              /* only this system; NULL: all */
	int log2n;                      /* pairs; 0: each experiment's own, mostly 28 */
	int repeat;                     /* runs a case, of which the median counts; 0: 5 */
} kh_bench_tables_options;

/* Writes CSV, a line for each case when it is done.  Nothing else may use the current device. */
int kh_bench_tables(const kh_bench_tables_options *o, FILE *out, kh_err *err);

#endif
