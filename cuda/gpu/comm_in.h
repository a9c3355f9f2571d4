/* comm_in.h - the ways of sending between GPUs, and what they share */
#ifndef KH_CUDA_GPU_COMM_IN_H
#define KH_CUDA_GPU_COMM_IN_H

#include "cuda/gpu/comm.h"

/* A way: the functions of gpu/comm.h.  What it opens begins with a pointer to the way. */
typedef struct kh_gpu_way {
	int (*open)(kh_gpu_comm **c, kh_comm *comm, const int *device, size_t n, kh_err *err);
	void (*close)(kh_gpu_comm *c);
	void (*abort)(kh_gpu_comm *c);
	unsigned (*size)(const kh_gpu_comm *c);
	unsigned (*first)(const kh_gpu_comm *c);
	int (*all_to_all)(kh_gpu_comm *c, const kh_gpu_message *message, kh_err *err);
	int (*sum)(kh_gpu_comm *c, uint64_t *const *p, size_t n, const cudaStream_t *stream,
		   kh_err *err);
	int (*wait)(kh_gpu_comm *c, const cudaStream_t *stream, kh_err *err);
} kh_gpu_way;

extern const kh_gpu_way kh_gpu_way_peer;
extern const kh_gpu_way kh_gpu_way_nccl;        /* only if HAVE_NCCL */

/* A member's copy to itself, in its stream. */
int kh_gpu_comm_keep(const kh_gpu_message *p, unsigned self, kh_err *err);
/* Seconds to wait for the others: KH_COMM_TIMEOUT, or 60. */
double kh_gpu_comm_patience(void);
/* Sleeps between two looks at what is waited for since `began`, not at all in the beginning. */
void kh_gpu_comm_pause(double began);
/* Has each of the streams done its work?  1, 0, or an error. */
int kh_gpu_comm_done(const int *device, size_t n, const cudaStream_t *stream, kh_err *err);

#endif
