/*
 * gpu/comm.h - the GPUs of a run, and what they send each other
 *
 * A member is a GPU; members are numbered through, by process (comm.h) and then in the order of
 * --device. One process drives all its members from one thread. Everything is put into the
 * members' streams and not waited for; kh_gpu_comm_wait waits, and looks for asynchronous errors
 * on the way: a member that does not answer within the time-out ends in an error that names the
 * device and the process, and the communicator is aborted: every later call fails. One member
 * alone needs neither NCCL nor peers.
 *
 * The GPUs of one process that can reach each other's memory copy from peer to peer
 * (peer.c): the copy engines take no multiprocessor from the kernels beside them.  All
 * others, and all if KH_GPU_COMM=nccl is in the environment, send by NCCL (nccl.c).
 */
#ifndef KH_CUDA_GPU_COMM_H
#define KH_CUDA_GPU_COMM_H

#include <cuda_runtime_api.h>
#include "comm/comm.h"

typedef struct kh_gpu_comm kh_gpu_comm;

/* `device`: the n of this process, which have peer access to each other where that is possible;
 * comm: NULL, or the processes, over which the id of NCCL is sent. */
int kh_gpu_comm_open(kh_gpu_comm **c, kh_comm *comm, const int *device, size_t n, kh_err *err);
/* Waits until all members close; does not, after kh_gpu_comm_abort. */
void kh_gpu_comm_close(kh_gpu_comm *c);
/* To be called when this process has failed: ends what is under way, which the others notice. */
void kh_gpu_comm_abort(kh_gpu_comm *c);

unsigned kh_gpu_comm_size(const kh_gpu_comm *c);        /* members of all processes */
unsigned kh_gpu_comm_first(const kh_gpu_comm *c);       /* number of this process's first one */

/* What a local member gives: bytes at send + at[m], bytes[m] of them, to member m; and where it
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

/* All to all, grouped send and receive: message[i] is of the i-th local member. */
int kh_gpu_comm_all_to_all(kh_gpu_comm *c, const kh_gpu_message *message, kh_err *err);
/* In place: p[i] of the i-th local member, n numbers in device memory; modulo 2^64. */
int kh_gpu_comm_sum(kh_gpu_comm *c, uint64_t *const *p, size_t n, const cudaStream_t *stream,
		    kh_err *err);
/* Waits until the streams of all local members have done what was put into them. */
int kh_gpu_comm_wait(kh_gpu_comm *c, const cudaStream_t *stream, kh_err *err);

#endif
