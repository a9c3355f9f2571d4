/* gpu_build.h - the GPUs' side of a build alone: references from memory, packed */
#ifndef KH_BENCH_GPU_BUILD_H
#define KH_BENCH_GPU_BUILD_H

#include <stdio.h>
#include "backend/backend.h"

typedef struct kh_bench_packed_options {
	const kh_choice *choice;        /* devices: all of them at once */
	const char *const *refs;        /* n_refs FASTA files */
	size_t n_refs;
	unsigned threads;
	int repeat;
} kh_bench_packed_options;

/* Writes a line a run: seconds from the first block given to the GPUs to the index ready, and of
 * the steps, each on the device that took longest.  Without CUDA: KH_ENODEV. */
int kh_bench_packed(const kh_bench_packed_options *o, FILE *out, kh_err *err);

#endif
