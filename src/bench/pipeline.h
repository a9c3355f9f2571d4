/* pipeline.h - the stages of build and classify one by one, beside the machine's limits */
#ifndef KH_BENCH_PIPELINE_H
#define KH_BENCH_PIPELINE_H

#include <stddef.h>
#include <stdio.h>
#include "base/msg.h"

typedef struct kh_bench_pipeline_options {
	const char *const *refs;        /* n_refs FASTA files */
	size_t n_refs;
	const char *db;                 /* a database of them; NULL: only the stages of a build */
	const char *device;             /* "auto", "cpu", "cuda..." (backend.h) */
	const char *dir;                /* the folder for files that are written */
	unsigned threads;
	int repeat;                     /* runs a stage, 1 to KH_BENCH_RUNS */
} kh_bench_pipeline_options;

#define KH_BENCH_RUNS 31

/* Writes a table with a line for each stage: its least, median and greatest rate, the rate of one
 * thread, the limit measured in the same run, and the median as a share of that. Nothing is left
 * in dir. */
int kh_bench_pipeline(const kh_bench_pipeline_options *o, FILE *out, kh_err *err);

#endif
