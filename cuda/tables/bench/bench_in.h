/*
 * bench_in.h - what the files of the bench share: bench.c times a case, the others make
 * them
 */
#ifndef KHT_BENCH_BENCH_IN_H
#define KHT_BENCH_BENCH_IN_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include "cuda/tables/bench/measure.h"
#include "cuda/tables/bench/kernels.h"
#include "cuda/tables/table.h"

#define RUNS_MAX 32
#define TRY(x)                                                                                     \
	do {                                                                                       \
		int rc_ = (x);                                                                     \
		if (rc_)                                                                           \
			return rc_;                                                                \
	} while (0)
#define CU(x) TRY(kht_bench_check((x), #x, b->err))

enum look { LOOK_FIND, LOOK_LISTS, LOOK_COUNT, LOOK_JOIN, LOOK_NONE };

typedef struct kht_bench {
	const kh_bench_tables_options *o;
	FILE *out;
	kh_err *err;
	cudaStream_t stream;
	cudaEvent_t from, to;
	void *keys, *values, *queries, *result;
	uint64_t *offsets;
	uint8_t *op;
	unsigned long long *sum;
	size_t room;       /* pairs that the arrays hold */
	kht_table *anchor; /* keeps the scratch pool between tables */
} kht_bench;

/* One case: what is put in and asked, and how it is called. */
typedef struct kht_case {
	const char *table, *name;
	kht_table_config cfg;
	size_t n, queries;
	size_t absent; /* of queries of unique keys: those that were not stored */
	uint64_t distinct, values; /* that the queries must bring back in all */
	double r;                  /* multiplicity, for the line */
	enum kht_bench_order order;
	const kht_bench_skew *skew;
	unsigned batches; /* that the pairs are inserted in; 0: one */
	enum look look;
	const char *note;
} kht_case;

typedef struct kht_times {
	int n;
	double ms[RUNS_MAX];
} kht_times;

int kht_bench_check(cudaError_t e, const char *what, kh_err *err);
double kht_bench_median(kht_times *t);
/* (max - min) / median */
double kht_bench_spread(kht_times *t);
int kht_bench_start(kht_bench *b);
int kht_bench_stop(kht_bench *b, kht_times *t);
/* Shows a profiler what follows, or no more of it; waits for the stream. */
int kht_bench_watch(kht_bench *b, bool on);
int kht_bench_repeats(const kht_bench *b);
int kht_bench_log2n(const kht_bench *b, int otherwise);
bool kht_bench_wanted(const kht_bench *b, const char *table);
/* 10^9 a second. */
double kht_bench_rate(double n, double ms);

/* *sum: p[0] + .. + p[n - 1]; waits for the stream. */
int kht_bench_total(kht_bench *b, const void *p, size_t n, unsigned bits, uint64_t *sum);
int kht_bench_data(kht_bench *b, const kht_case *c);
int kht_bench_fill(kht_bench *b, const kht_case *c, kht_table **t, kht_times *in);
void kht_bench_line(kht_bench *b, const kht_case *c, kht_times *in, kht_times *out,
		    const kht_table_stats *st, const char *verdict);
/* Inserts, looks up, and prints the line.  `full`, where the table refused pairs, is no failure. */
int kht_bench_run(kht_bench *b, kht_case *c);

typedef struct kht_bench_experiment {
	const char *name;
	int (*run)(kht_bench *);
} kht_bench_experiment;

/* gpus.c: multi-GPU HashGraph; its exchange alone; WarpCore's two modes. */
int kht_bench_gpus(kht_bench *b);
int kht_bench_chunks(kht_bench *b);
int kht_bench_modes(kht_bench *b);

/* lists.c: a case of r values a key; many values a key, evenly and not. */
kht_case kht_bench_multi_case(kht_bench *b, const char *table, double r);
int kht_bench_multi(kht_bench *b);
int kht_bench_skewed_lists(kht_bench *b);
int kht_bench_zipf(kht_bench *b);

/* ageing.c: look-ups of keys that are there and that are not; keys that come and go. */
int kht_bench_misses(kht_bench *b);
int kht_bench_ageing(kht_bench *b);
/* filter.c: k-mers of sequences. */
bool kht_bench_is_filter(const char *name);
int kht_bench_filter(kht_bench *b);

/* The list ends with an experiment that has no name. */
extern const kht_bench_experiment kht_bench_list[];

#endif
