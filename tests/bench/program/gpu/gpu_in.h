/* gpu_in.h - inside `kmerhash-bench pipeline` on a GPU: what its stages share */
#ifndef KH_CUDA_BENCH_GPU_IN_H
#define KH_CUDA_BENCH_GPU_IN_H

#include "tests/bench/program/bench_in.h"
#include "cuda/builder/builder.h"
#include "cuda/gpu/gpu.h"

typedef struct kh_gpu_bench {
	kh_bench *b;
	int device;
	cudaStream_t stream;
	cudaEvent_t from, to;
	kh_gpu_buf host;        /* pinned: b->room */
	kh_gpu_buf x, y, z;     /* on the device, KH_GPU_BENCH_ROOM each while they are open */
	kh_bench_limit copy, memory;    /* to the GPU; the GPU's memory, both ways */
} kh_gpu_bench;

#define KH_GPU_BENCH_ROOM (8 * KH_BENCH_ROOM)

/* To be called before and after what a stage does in g->stream, to time it. */
int kh_gpu_bench_start(kh_gpu_bench *g, kh_err *err);
int kh_gpu_bench_stop(kh_gpu_bench *g, kh_bench_pass *p, kh_err *err);

/* gpu_build.c: sampling and sorting of made-up bases and keys; a whole build of the
 * references, which wants the device's memory for itself. */
int kh_gpu_bench_kernels(kh_gpu_bench *g, kh_err *err);
int kh_gpu_bench_build(kh_gpu_bench *g, kh_err *err);
/* gpu_classify.c */
int kh_gpu_bench_classify(kh_gpu_bench *g, kh_err *err);
/* query_time.c: seconds that the kernels take for a job, on the first device of the engine, which
 * must be the current one. */
int kh_gpu_bench_query(const kh_engine *e, const kh_job *j, double *seconds, kh_err *err);

#endif
