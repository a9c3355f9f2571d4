/*
 * bench_in.h - what the files of the bench share: bench.c times a case, the others make
 * them
 */
#ifndef KH_TABLES_BENCH_IN_H
#define KH_TABLES_BENCH_IN_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include "bench_tables.h"
#include "bench_kernels.h"
#include "table.h"

#define RUNS_MAX 32
#define TRY(x)                                                                           \
	do {                                                                             \
		int rc_ = (x);                                                           \
		if (rc_)                                                                 \
			return rc_;                                                      \
	} while (0)
#define CU(x) TRY(kh_bench_check((x), #x, b->err))

enum look { LOOK_FIND, LOOK_LISTS, LOOK_COUNT, LOOK_JOIN, LOOK_NONE };

typedef struct kh_bench {
	const kh_bench_options *o;
	FILE *out;
	kh_err *err;
	cudaStream_t stream;
	cudaEvent_t from, to;
	void *keys, *values, *queries, *result;
	uint64_t *offsets;
	uint8_t *op;
	unsigned long long *sum;
	size_t room;                    /* pairs that the arrays hold */
	kh_table *anchor;               /* keeps the scratch pool between tables */
} kh_bench;

/* One case: what is put in and asked, and how it is called. */
typedef struct kh_case {
	const char *table, *name;
	kh_table_config cfg;
	size_t n, queries;
	uint64_t distinct, values;      /* that the queries must bring back in all */
	double r;                       /* multiplicity, for the line */
	enum kh_bench_order order;
	const kh_bench_skew *skew;
	enum look look;
	const char *note;
} kh_case;

typedef struct kh_times {
	int n;
	double ms[RUNS_MAX];
} kh_times;

int kh_bench_check(cudaError_t e, const char *what, kh_err *err);
double kh_bench_median(kh_times *t);
/* (max - min) / median */
double kh_bench_spread(kh_times *t);
int kh_bench_start(kh_bench *b);
int kh_bench_stop(kh_bench *b, kh_times *t);
int kh_bench_repeats(const kh_bench *b);
int kh_bench_log2n(const kh_bench *b, int otherwise);
bool kh_bench_wanted(const kh_bench *b, const char *table);
/* 10^9 a second. */
double kh_bench_rate(double n, double ms);

int kh_bench_data(kh_bench *b, const kh_case *c);
int kh_bench_fill(kh_bench *b, const kh_case *c, kh_table **t, kh_times *in);
void kh_bench_line(kh_bench *b, const kh_case *c, kh_times *in, kh_times *out,
		   const kh_table_stats *st, const char *verdict);
/* Inserts and asks; the line says `full` where the table refused, which is no failure. */
int kh_bench_run(kh_bench *b, kh_case *c);

typedef struct kh_bench_experiment {
	const char *name;
	int (*run)(kh_bench *);
} kh_bench_experiment;

/* bench_gpus.c: multi-GPU HashGraph; its exchange alone; WarpCore's two modes. */
int kh_bench_gpus(kh_bench *b);
int kh_bench_chunks(kh_bench *b);
int kh_bench_modes(kh_bench *b);

/* Ended by one with no name. */
extern const kh_bench_experiment kh_bench_list[];

#endif
