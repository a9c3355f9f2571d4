/* measure.h - what kmerhash-bench can measure: a function each, which writes a table */
#ifndef KH_BENCH_MEASURE_H
#define KH_BENCH_MEASURE_H

#include <stdio.h>
#include "backend/backend.h"

#define KH_BENCH_RUNS 31        /* most runs of a case or stage */

typedef struct kh_bench_pipeline_options {
	const char *const *refs;        /* n_refs FASTA files */
	size_t n_refs;
	const char *db;                 /* a database of them; NULL: only the stages of a build */
	const char *device;             /* "auto", "cpu", "cuda..." (backend.h) */
	const char *dir;                /* the folder for files that are written */
	unsigned threads;
	int repeat;                     /* runs a stage, 1 to KH_BENCH_RUNS */
} kh_bench_pipeline_options;

/* The stages of build and classify one by one, a line each: the least, median and greatest rate,
 * the rate of one thread, the limit measured in the same run, and the median as a share of that.
 * Nothing is left in dir. */
int kh_bench_pipeline(const kh_bench_pipeline_options *o, FILE *out, kh_err *err);

/* --- with the library of cuda/tables; KH_ENODEV without it -------------------------- */
typedef struct kh_bench_tables_options {
	const char *experiment;         /* limits, targets ... (kht_bench_list); NULL: all */
	const char *table;              /* only this system; NULL: all */
	int log2n;                      /* pairs; 0: each experiment's own, mostly 28 */
	int repeat;                     /* runs a case, of which the median counts; 0: 5 */
} kh_bench_tables_options;

/* Writes CSV, a line for each case when it is done.  Nothing else may use the current device. */
int kh_bench_tables(const kh_bench_tables_options *o, FILE *out, kh_err *err);

#endif
