/* gpu_build.h - what GPUs do in a build, by itself: references come packed from memory */
#ifndef KH_BENCH_GPU_BUILD_H
#define KH_BENCH_GPU_BUILD_H

#include <stdio.h>
#include "backend/backend.h"

typedef struct kh_bench_packed_options {
	const kh_choice *choice;        /* the devices; all of them are used at once */
	const char *const *refs;        /* n_refs FASTA files */
	size_t n_refs;
	unsigned threads;
	int repeat;
} kh_bench_packed_options;

/* Writes a line for each run: the seconds from the first block given to the GPUs until the index
 * is ready, and those of each step on the device that took longest for it. Without CUDA:
 * KH_ENODEV. */
int kh_bench_packed(const kh_bench_packed_options *o, FILE *out, kh_err *err);

#endif
