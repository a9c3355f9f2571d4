/* bench/kernels.h - data for the bench, and the machine's limits; all enqueue */
#ifndef KHT_BENCH_KERNELS_H
#define KHT_BENCH_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum kht_bench_order { KHT_BENCH_RANDOM, KHT_BENCH_SEQUENTIAL };

/* Key number `id` of a test is a bijection of id (RANDOM) or id itself (SEQUENTIAL). */
typedef struct kht_bench_gen {
	size_t n;
	uint64_t distinct; /* 0: id = i; else a random id below it, or i modulo it */
	unsigned key_bits, value_bits;
	enum kht_bench_order order;
	uint64_t first; /* added to i if spread, else to id */
	int spread;      /* modulo */
} kht_bench_gen;

cudaError_t kht_bench_keys(const kht_bench_gen *g, void *keys, cudaStream_t s);
/* values[i] = i */
cudaError_t kht_bench_values(const kht_bench_gen *g, void *values, cudaStream_t s);

/* Classes of keys of equal multiplicity: pairs below pair[c] belong to classes 0 .. c. */
#define KHT_BENCH_CLASSES 72
typedef struct kht_bench_skew {
	uint64_t pair[KHT_BENCH_CLASSES], key[KHT_BENCH_CLASSES];
	uint32_t times[KHT_BENCH_CLASSES];
	unsigned classes, log2n;
} kht_bench_skew;
cudaError_t kht_bench_skewed(const kht_bench_gen *g, const kht_bench_skew *k, void *keys,
			     cudaStream_t s);

/* *sum += p[0] + .. + p[n - 1] */
cudaError_t kht_bench_sum(const void *p, size_t n, unsigned bits, unsigned long long *sum,
			  cudaStream_t s);
/* 80/20 and the like: each operation is an update or a delete with `writes` per cent,
 * half each; updates store their position. */
cudaError_t kht_bench_ops(size_t n, unsigned writes, uint8_t *op, cudaStream_t s);

/* A kernel that does nothing, which ends what a profiler saw of a line. */
cudaError_t kht_bench_mark(cudaStream_t s);

enum kht_bench_limit {
	KHT_LIMIT_READ32,
	KHT_LIMIT_READ64,
	KHT_LIMIT_READ128,
	KHT_LIMIT_CAS,
	KHT_LIMIT_SECTOR
};
/* n accesses at random in `bytes` of memory (a power of two). */
cudaError_t kht_bench_limit(enum kht_bench_limit what, void *p, size_t bytes, size_t n,
			    cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
