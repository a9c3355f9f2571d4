/*
 * comm.h - what the GPUs of a program send each other
 *
 * A member is a GPU; all are driven from one thread. Everything is put into the members' streams
 * and not waited for; kh_gpu_comm_wait waits, and looks for asynchronous errors on the way: a
 * member that does not answer within the time-out (KH_GPU_COMM_TIMEOUT seconds, by default 60) ends
 * in an error that names the device, and the communicator is aborted: every later call fails. One
 * member alone needs neither NCCL nor peers.
 *
 * GPUs that can reach each other's memory copy from peer to peer (peer.c): the copy engines take no
 * multiprocessor from the kernels beside them.  Others, and all if KH_GPU_COMM=nccl is in the
 * environment, send by NCCL (nccl.c).
 */
#ifndef KH_CUDA_TABLES_COMM_H
#define KH_CUDA_TABLES_COMM_H

#include <cuda_runtime_api.h>
#include <stdint.h>
#include "base/msg.h"

typedef struct kh_gpu_comm kh_gpu_comm;

/* The n of `device` get peer access to each other where that is possible. */
int kh_gpu_comm_open(kh_gpu_comm **c, const int *device, size_t n, kh_err *err);
/* NULL is fine. */
void kh_gpu_comm_close(kh_gpu_comm *c);

/* What a member gives: bytes at send + at[m], bytes[m] of them, to member m; and where it
 * takes what member m sends: at recv + from[m], got[m] bytes, which must be what m gives. */
typedef struct kh_gpu_message {
	const void *send;
	const size_t *at, *bytes;
	void *recv;
	const size_t *from, *got;
	cudaStream_t stream;
	/* A further message for each member, in the same stream; NULL: none. NCCL sends all of
	 * them in one kernel, which has to wait for room on the device only once. */
	const struct kh_gpu_message *more;
} kh_gpu_message;

/* All to all, grouped send and receive: message[i] is of member i. */
int kh_gpu_comm_all_to_all(kh_gpu_comm *c, const kh_gpu_message *message, kh_err *err);
/* In place: p[i] of member i, n numbers in device memory; modulo 2^64. */
int kh_gpu_comm_sum(kh_gpu_comm *c, uint64_t *const *p, size_t n, const cudaStream_t *stream,
		    kh_err *err);
/* Waits until the streams of all members have done what was put into them. */
int kh_gpu_comm_wait(kh_gpu_comm *c, const cudaStream_t *stream, kh_err *err);

#endif
