/*
 * compute.h - does the tasks of a command: a database on its devices, and a queue of tasks for each
 * worker
 *
 * It is opened once, for any number of runs. A worker uses its own queue only, for one run at a
 * time, and leaves a run only when all tasks that it has submitted are done.
 */
#ifndef KH_CLASSIFY_COMPUTE_H
#define KH_CLASSIFY_COMPUTE_H

#include "classify/backend.h"
#include "translated/rule.h"

typedef struct kh_compute {
	const kh_backend *be;
	kh_engine *engine;
	kh_task_queue **queue;          /* a worker */
	/* of a worker, where the database has translated seeds: when the rule has left a fragment
	 * uncalled, the host looks at what a device has not said itself (kh_task.genus) */
	kh_translator **translator;
	kh_translated translated;
	const kh_taxonomy *tax;
	void *copy;                     /* of the seeds, in large pages, or NULL */
	uint64_t copied;                /* bytes */
	unsigned workers;
	double seconds;                 /* that opening took, with copying the index to devices */
} kh_compute;

typedef struct kh_compute_options {
	const kh_devices *on;
	const kh_rule *rule;
	uint64_t input;                 /* bytes of files to come, as far as known */
	size_t block_size;              /* of the blocks to come */
	bool features;                  /* those that are found will be wanted */
} kh_compute_options;

/* To be closed even if it fails. What o points to must live until then. */
int kh_compute_open(kh_compute *c, const kh_db *db, const kh_compute_options *o, kh_err *err);
void kh_compute_close(kh_compute *c);

/* The tasks of a worker that are under way, on its queue. */
typedef struct kh_tasks {
	const kh_backend *be;
	kh_task_queue *queue;
	kh_translator *translator;      /* or NULL; then neither of these */
	const kh_translated *translated;
	const kh_taxonomy *tax;
	unsigned under_way;
	/* Called for each task that is done, in the order in which they were submitted. */
	int (*done)(void *arg, kh_task *t, kh_err *err);
	void *arg;
} kh_tasks;

static inline kh_tasks kh_compute_tasks(const kh_compute *c, unsigned worker,
					int (*done)(void *arg, kh_task *t, kh_err *err), void *arg)
{
	return (kh_tasks) { c->be, c->queue[worker],
			    c->translator ? c->translator[worker] : NULL, &c->translated, c->tax, 0,
			    done, arg };
}

/* The taxon that is called for one that translated seeds say: its genus or, without one, itself;
 * KH_NO_TAXON for the root. */
uint32_t kh_compute_called(const kh_taxonomy *tax, uint32_t taxon);

/* Finishes the oldest task under way. */
int kh_tasks_finish(kh_tasks *s, kh_err *err);
/* Finishes tasks until one more can be submitted without a wait; */
int kh_tasks_make_way(kh_tasks *s, kh_err *err);
/* the same, and submits it. */
int kh_tasks_submit(kh_tasks *s, kh_task *t, kh_err *err);
/* Finishes all. */
int kh_tasks_drain(kh_tasks *s, kh_err *err);
/* After a failure: takes back what is under way, so that the queue can be used again. */
void kh_tasks_drop(kh_tasks *s);

#endif
