/*
 * kernels.h - launchers of kernels that only the benches and the tests run
 *
 * As those of cuda/kernels/kernels.h: each works on the current device, in the given stream.
 */
#ifndef KH_CUDA_BENCH_KERNELS_H
#define KH_CUDA_BENCH_KERNELS_H

#include "cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- lookup.cu: look-ups for their own sake ------------------------------------------ */
/* Looks up n keys; list[i] is as kh_index_find has it; list NULL: only reads. */
int kh_gpu_bench_look_up(const kh_gpu_index *ix, const uint64_t *key, uint64_t n, kh_list *list,
			 cudaStream_t stream);
/* Looks up n keys and reads their lists; *sum keeps the compiler from leaving that out. */
int kh_gpu_bench_read_lists(const kh_gpu_index *ix, const uint64_t *key, uint64_t n,
			    uint32_t *sum, cudaStream_t stream);
/* Reads n random ones of the `blocks` blocks of 64 bytes at p, four threads each: no look-up can
 * be faster. */
int kh_gpu_bench_random_reads(const void *p, uint64_t blocks, uint64_t n, uint32_t *sum,
			      cudaStream_t stream);

/* --- classify_parts.cu: the kernel of warps, stopped early --------------------------- */
/* How far fragments are taken: by the kernel of warps up to the end of a part; as
 * kh_gpu_query_run takes them; all of them by the kernel of blocks. */
enum kh_gpu_bench_upto {
	KH_GPU_BENCH_SAMPLE,
	KH_GPU_BENCH_LOOK_UP,
	KH_GPU_BENCH_CANDIDATES,
	KH_GPU_BENCH_WHOLE,
	KH_GPU_BENCH_BLOCKS
};
/* The first three of them, for every fragment that the kernel of warps has room for.  The
 * calls mean nothing.  q is as for kh_gpu_query_run, in one pass. */
int kh_gpu_bench_run_upto(const kh_gpu_query *q, enum kh_gpu_bench_upto upto, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
