/*
 * kernels.h - launchers of kernels that only the benches and the tests run
 *
 * As those of cuda/kernels/engine.h: each works on the current device, in the given stream.
 */
#ifndef KH_CUDA_BENCH_KERNELS_H
#define KH_CUDA_BENCH_KERNELS_H

#include "cuda/kernels/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- lookup.cu: look-ups by themselves ------------------------------------------ */
/* Looks up n keys; list[i] becomes what kh_index_find returns.  list NULL: buckets are only read.
 * */
int kh_gpu_bench_look_up(const kh_gpu_index *ix, const uint64_t *key, uint64_t n, kh_list *list,
			 cudaStream_t stream);
/* Looks up n keys and reads their lists; *sum keeps the compiler from leaving that out. */
int kh_gpu_bench_read_lists(const kh_gpu_index *ix, const uint64_t *key, uint64_t n,
			    uint32_t *sum, cudaStream_t stream);
/* Reads n random ones of the `blocks` blocks of 64 bytes at p, each with four threads.  No
 * look-up can be faster. */
int kh_gpu_bench_random_reads(const void *p, uint64_t blocks, uint64_t n, uint32_t *sum,
			      cudaStream_t stream);

/* --- classify_parts.cu: the kernel of warps, stopped early --------------------------- */
/* What is timed: the kernel of warps up to the end of a part; all that kh_gpu_query_run does; or
 * the kernel of blocks doing all fragments. */
enum kh_gpu_bench_upto {
	KH_GPU_BENCH_SAMPLE,
	KH_GPU_BENCH_LOOK_UP,
	KH_GPU_BENCH_CANDIDATES,
	KH_GPU_BENCH_WHOLE,
	KH_GPU_BENCH_BLOCKS
};
/* Runs one of the first three, for every fragment that fits into the room of a warp.  The calls
 * mean nothing.  q is as for kh_gpu_query_run, in one pass. */
int kh_gpu_bench_run_upto(const kh_gpu_query *q, enum kh_gpu_bench_upto upto, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
