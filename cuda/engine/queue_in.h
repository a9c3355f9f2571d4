/* queue_in.h - a queue and its tasks: queue.c submits them, collect.c takes what they give */
#ifndef KH_CUDA_ENGINE_QUEUE_IN_H
#define KH_CUDA_ENGINE_QUEUE_IN_H

#include "cuda/engine/engine_in.h"

/* A task under way. */
struct kh_flight {
	kh_task *task;
	/* in, din: words, masks, records; out, dout: counts, calls, and what is wanted beside
	 * calls; hfound: features found, and where those of each fragment are; fragments: lists of
	 * fragments that one kernel leaves to the next */
	KH_GPU_BUFS(all, in, din, out, dout, had, found, hfound, mark, fragments, asked, part);
	kh_parsed_there parsed;         /* what a device has parsed, where this one reads it */
	kh_batch_task batch;
	cudaEvent_t staged, done;
	bool by_host;                   /* submit does it: it is too long for the kernels, or no
					 * device has the database (kh_engine) */
};

struct kh_task_queue {
	const kh_engine *e;
	const struct kh_cuda_copy *c;
	unsigned worker;
	cudaStream_t stream, back;      /* back: features found, on demand */
	struct kh_flight flight[KH_CUDA_DEPTH];
	unsigned first, n;              /* under way */
	kh_cuda_host host;
};

/* Where the results of a task are, behind counts and calls.  The first `bytes` come to the host;
 * with a census, the rest is only wanted if fragments are left to it, as some of most tasks are
 * where translated seeds are asked.  Where the features found of each fragment are comes with
 * these. */
struct kh_results {
	size_t genus, class_of, candidates, second, found_at, bytes;
};

struct kh_results kh_results_of(const kh_task_queue *l, const struct kh_flight *f);

#endif
