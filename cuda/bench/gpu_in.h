/* bench_gpu_in.h - inside `bench pipeline` on a GPU: what its stages share */
#ifndef KH_BENCH_GPU_IN_H
#define KH_BENCH_GPU_IN_H

#include "backend_in.h"
#include "bench_in.h"
#include "gpu.h"

typedef struct kh_gpu_bench {
	kh_bench *b;
	int device;
	cudaStream_t stream;
	cudaEvent_t from, to;
	kh_gpu_buf host;        /* pinned: b->room */
	kh_gpu_buf x, y, z;     /* on the device, KH_GPU_BENCH_ROOM each, not all the time */
	kh_bench_limit copy, memory;    /* to the GPU; the GPU's memory, both ways */
} kh_gpu_bench;

#define KH_GPU_BENCH_ROOM (8 * KH_BENCH_ROOM)

/* Around what a stage does in g->stream. */
int kh_gpu_bench_start(kh_gpu_bench *g, kh_err *err);
int kh_gpu_bench_stop(kh_gpu_bench *g, kh_bench_pass *p, kh_err *err);

/* bench_gpu_build.c: sampling and sorting of made-up bases and keys; a whole build of the
 * references, which wants the device's memory for itself. */
int kh_gpu_bench_kernels(kh_gpu_bench *g, kh_err *err);
int kh_gpu_bench_build(kh_gpu_bench *g, kh_err *err);
/* bench_gpu_classify.c */
int kh_gpu_bench_classify(kh_gpu_bench *g, kh_err *err);

#endif
