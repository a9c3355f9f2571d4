/* comm_in.h - the ways of sending between GPUs, and what they share */
#ifndef KH_CUDA_TABLES_COMM_IN_H
#define KH_CUDA_TABLES_COMM_IN_H

#include <stdbool.h>
#include "cuda/tables/comm.h"

/* What each way knows of its members; its own struct begins with it. */
struct kh_gpu_comm {
	const struct kh_gpu_way *way;
	size_t n;                       /* members */
	int *device;
	double patience;                /* seconds */
	bool dead;                      /* a call has failed: so do all later ones */
};

/* A way: what the functions of comm.h leave to it. */
typedef struct kh_gpu_way {
	size_t bytes;                   /* of its struct */
	int (*open)(kh_gpu_comm *c, kh_err *err);
	void (*close)(kh_gpu_comm *c);  /* also if open failed */
	void (*abort)(kh_gpu_comm *c);  /* or NULL */
	int (*all_to_all)(kh_gpu_comm *c, const kh_gpu_message *message, kh_err *err);
	int (*sum)(kh_gpu_comm *c, uint64_t *const *p, size_t n, const cudaStream_t *stream,
		   kh_err *err);
	/* what is known to have gone wrong, while streams are waited for; or NULL */
	int (*health)(kh_gpu_comm *c, kh_err *err);
} kh_gpu_way;

extern const kh_gpu_way kh_gpu_way_peer;
extern const kh_gpu_way kh_gpu_way_nccl;        /* only if HAVE_NCCL */

/* To be called when a call has failed: ends what is under way. */
void kh_gpu_comm_abort(kh_gpu_comm *c);
/* A member's copy to itself, in its stream. */
int kh_gpu_comm_keep(const kh_gpu_message *p, size_t self, kh_err *err);
/* To be called again and again while something is waited for since `began`: sleeps, though not at
 * all in the beginning, and fails if that has taken too long, with the current device as the one
 * that is not done. */
int kh_gpu_comm_pause(const kh_gpu_comm *c, double began, kh_err *err);

#endif
