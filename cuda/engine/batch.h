/*
 * batch.h - tasks of a device's queues, compared in one launch
 *
 * The kernels that compare fragments have more instructions than a multiprocessor keeps
 * at hand, and the fragments of a block are too few for a GPU.  If each task is launched by itself,
 * as soon as it is there, tasks are in different kernels, and drive each other's instructions and
 * local memory out of the caches.  So a device has few launches under way; tasks that come
 * meanwhile wait, and are launched together.
 *
 * No thread of its own does that: a queue that puts a task, or waits for one, launches the tasks
 * that wait, if fewer than KH_BATCHES launches are under way (KH_TUNE_FETCHES, where some of the
 * database is on the host).
 */
#ifndef KH_CUDA_ENGINE_BATCH_H
#define KH_CUDA_ENGINE_BATCH_H

#include "cuda/kernels/gpu.h"
#include "cuda/kernels/engine.h"
#include "cuda/kernels/tuning.h"

enum { KH_BATCHES = KH_TUNE_BATCHES };  /* launches of a device that are under way, at most */

/* A task.  It belongs to the batches from kh_batches_put until kh_batches_wait has returned, or
 * kh_batches_drop. */
typedef struct kh_batch_task {
	kh_gpu_query q;
	cudaEvent_t staged;             /* recorded when its input is on the way */
	cudaEvent_t done;
	void *results;                  /* on the host: `bytes` from q.counts on */
	size_t bytes;
	bool launched;
	int rc;                         /* that of the launch */
	struct kh_batch_task *next;
} kh_batch_task;

/* The batches of a device, which is the current one in all calls. */
typedef struct kh_batches kh_batches;

/* fetched: how many chunks a launch may fetch of a database of so many bytes, some of which lie on
 * the host; 0: none lie there.  kh_batches_bytes: what all launches take for that on the device. */
int kh_batches_open(kh_batches **b, uint32_t fetched, uint64_t bytes, kh_err *err);
uint64_t kh_batches_bytes(uint32_t fetched);
/* b may be NULL.  No task may be left. */
void kh_batches_close(kh_batches *b);
void kh_batches_put(kh_batches *b, kh_batch_task *t);
/* Waits until its results are there.  err may be NULL. */
int kh_batches_wait(kh_batches *b, kh_batch_task *t, kh_err *err);
/* Takes it back: nothing reads or writes its memory any more. */
void kh_batches_drop(kh_batches *b, kh_batch_task *t);

#endif
