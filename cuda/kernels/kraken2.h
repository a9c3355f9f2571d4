/*
 * kraken2.h - classifying with a database of Kraken 2: what its kernel is given
 */
#ifndef KH_CUDA_KERNELS_KRAKEN2_H
#define KH_CUDA_KERNELS_KRAKEN2_H

#include "classify/rule.h"
#include "cuda/kernels/engine.h"
#include "kraken2/rule.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	KH_GPU_K2_SHARDS = 16,          /* of a table, at most */
	KH_GPU_K2_WINDOW = 64,          /* l-mers of a k-mer, at most */
	/* counts */
	KH_GPU_K2_RUNS = 0,             /* places of `run` that are used */
	KH_GPU_K2_ODD = 1,              /* fragments that are left, or whose runs are linked */
	KH_GPU_K2_N_COUNTS = 4
};

/* As a call's taxon: the fragment has more taxa than there is room for, or its runs need more
 * places. */
#define KH_GPU_K2_LEFT (UINT32_MAX - 1)
/* No link; as the number of a fragment's runs: they are linked. */
#define KH_GPU_K2_NONE UINT32_MAX
#define KH_GPU_K2_LINKED UINT32_MAX

typedef struct kh_gpu_kraken2 {
	kh_k2_rule rule;
	/* the table: shard i has the cells from i * per_shard on */
	const unsigned char *shard[KH_GPU_K2_SHARDS];
	uint64_t per_shard;
	uint32_t n_shards;
	const uint32_t *taxon;          /* of values */
	kh_tree tree;                   /* parent and end only */
	/* a job: packed bases and masks, with one word more behind them, and its records */
	const uint64_t *bases;
	const uint32_t *amb;
	const kh_gpu_record *record;
	uint32_t n;                     /* fragments */
	kh_gpu_order order;             /* of records */
	uint32_t *counts;               /* zero at first */
	kh_call *call;
	/*
	 * NULL, or where runs go, and where among them those of each fragment are.  A fragment
	 * with many runs has them in several places.  In front of each is a link: a place that
	 * has, as `what`, the next link, and, as `n`, how many runs follow here.  The list says
	 * where the first link is.
	 */
	kh_k2_run *run;
	uint32_t cap_runs;
	kh_k2_list *list;
} kh_gpu_kraken2;

/* 0, or a cudaError_t. */
int kh_gpu_kraken2_run(const kh_gpu_kraken2 *q, void *stream);

#ifdef __cplusplus
}
#endif
#endif
