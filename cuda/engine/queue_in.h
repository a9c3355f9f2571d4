/* queue_in.h - a queue and its tasks: queue.c submits them, collect.c takes what they give */
#ifndef KH_CUDA_ENGINE_QUEUE_IN_H
#define KH_CUDA_ENGINE_QUEUE_IN_H

#include "cuda/engine/engine_in.h"
#include "cuda/engine/rounds.h"

/* A task under way. */
struct kh_flight {
	kh_task *task;
	/* in, din: words, masks, records; out, dout: counts, calls, and what else is wanted of
	 * fragments; hfound: with where those of each fragment are; segment: if the index is in
	 * parts and asked by all-to-all, as is `ask`; mark, part: of a database with text */
	KH_GPU_BUFS(all, in, din, out, dout, found, hfound, segment, mark, part);
	kh_rounds_task ask;
	kh_batch_task batch;            /* of a database with text */
	kh_cuda_between between;
	size_t slice, n_slices;         /* where in the input; those that get a place */
	cudaEvent_t staged, done;
	/* too long for the kernels, so submit does it on the host */
	bool by_host;
	bool roomy;                     /* done by warps with more room */
};

struct kh_task_queue {
	const kh_engine *e;
	const struct kh_cuda_copy *c;
	unsigned worker;
	cudaStream_t stream, back;      /* back: features found, on demand */
	struct kh_flight flight[KH_CUDA_DEPTH];
	unsigned first, n;              /* under way */
	unsigned roomy;                 /* so many tasks are to have more room */
	kh_cuda_scratch scratch;        /* of the second kernel */
	kh_cuda_host host;
};

/* So many tasks have more room, when one has shown that they need it, before less is tried. */
#define KH_ROOMY 64

/* Where the results of a task are, behind counts and calls.  The first `bytes` come to the host;
 * with a census, the rest is only wanted if fragments are left to it.  Where the features found of
 * each fragment are comes with these. */
struct kh_results {
	size_t genus, class_of, candidates, place, found_at, bytes;
};

struct kh_results kh_results_of(const kh_task_queue *l, const struct kh_flight *f);

/* Sees to it that a task under way is over, as far as others have a part in it. */
void kh_flight_give_up(kh_task_queue *l, struct kh_flight *f);

#endif
