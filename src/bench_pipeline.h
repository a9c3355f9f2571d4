/* bench_pipeline.h - the stages of build and classify one by one, beside the machine's limits */
#ifndef KH_BENCH_PIPELINE_H
#define KH_BENCH_PIPELINE_H

#include <stddef.h>
#include <stdio.h>
#include "msg.h"

typedef struct kh_bench_pipeline_options {
	const char *const *refs;        /* n_refs FASTA files */
	size_t n_refs;
	const char *db;                 /* a database of them; NULL: only the stages of a build */
	unsigned threads;
	int repeat;                     /* runs a stage */
} kh_bench_pipeline_options;

/* Writes a table, a line a stage: least, median and greatest rate, the limit measured in
 * the same run, and the median's share of it.  Without CUDA: KH_ENODEV. */
int kh_bench_pipeline(const kh_bench_pipeline_options *o, FILE *out, kh_err *err);

#endif
