/*
 * compute.h - does the jobs of runs: a database on its devices, and a queue of tasks for each
 * worker
 *
 * It is opened once, for any number of runs. A worker uses its own queue only, for one run at a
 * time: it leaves a run when all tasks that it has submitted for it are collected.
 */
#ifndef KH_RUN_COMPUTE_H
#define KH_RUN_COMPUTE_H

#include "backend/backend.h"

typedef struct kh_compute {
	const kh_backend *be;
	kh_engine *engine;
	kh_task_queue **queue;          /* a worker */
	unsigned workers;
	double seconds;                 /* that opening took, with copying the index to devices */
} kh_compute;

typedef struct kh_compute_options {
	const kh_rule *rule;
	const kh_choice *choice;
	enum kh_placement placement;
	uint64_t gpu_memory;            /* of each GPU at most; 0: no limit */
	kh_comm *comm;                  /* NULL: one process */
	unsigned workers;
	uint64_t input;                 /* bytes of files to come, as far as known */
	size_t block_size;              /* of the blocks to come */
} kh_compute_options;

/* To be closed even if it fails. What o points to must live until then. */
int kh_compute_open(kh_compute *c, const kh_db *db, const kh_compute_options *o, kh_err *err);
void kh_compute_close(kh_compute *c);

#endif
