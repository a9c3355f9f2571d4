/* lookup_placement.h - look-ups in an index that lies on several GPUs, by placement */
#ifndef KH_BENCH_LOOKUP_PLACEMENT_H
#define KH_BENCH_LOOKUP_PLACEMENT_H

#include <stdio.h>
#include "backend/backend.h"

typedef struct kh_bench_placement_options {
	const kh_choice *choice;        /* the devices; 1, 2, 4 ... of them are used, then all */
	const char *db;
	unsigned threads;
	int repeat;
} kh_bench_placement_options;

/* Writes a table with a line for each number of devices and placement: the time to load, and
 * look-ups a second of each GPU while all look up. Without CUDA: KH_ENODEV. */
int kh_bench_placement(const kh_bench_placement_options *o, FILE *out, kh_err *err);

#endif
