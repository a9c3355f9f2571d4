/*
 * flow.h - from one feed to the results of its sample
 *
 * Each worker: block -> committed in order (records final, jobs) -> backend -> outputs of the job
 * -> ordered delivery. What has a job with its results and outputs (flow_job) circulates; outputs
 * are written by the worker that brings the next one in order, or, where there are many and a GPU
 * has their jobs, by one that does nothing else.
 *
 * Workers may join while there are blocks to come, and leave when there are none.  When the last
 * one has left, all is delivered.
 */
#ifndef KH_RUN_FLOW_H
#define KH_RUN_FLOW_H

#include "classify/compute.h"
#include "base/order.h"
#include "base/timing.h"
#include "run/format.h"
#include "run/volumes.h"
#include "run/results.h"
#include "seqio/feed.h"

typedef struct kh_flow_worker {
	struct kh_flow *flow;
	kh_tasks tasks;
	kh_timer timer;
	kh_answers *from;               /* with volumes: a block of theirs */
	kh_tally tally;                 /* .n == 0: the worker has not joined */
	kh_run_summary sum;
} kh_flow_worker;

typedef struct kh_flow {
	/* set by the caller; all are borrowed */
	kh_feed *feed;
	kh_compute *compute;
	const kh_db *db;
	const kh_style *style;          /* how lines are formatted, with the taxonomy */
	kh_results *results;
	const kh_volumes *volumes;      /* NULL, or the volumes that have given answers */
	kh_monitor *m;
	bool distinct;                  /* features are to be counted */
	bool quiet;                     /* no progress is shown */
	bool only_sample;               /* no other sample may take the workers */
	/* inside */
	kh_counters *counters;          /* NULL, or what counts distinct features */
	kh_queue *idle;                 /* of flow_job */
	kh_order *order;
	bool serves;                    /* the next worker that joins only delivers */
	struct flow_job *all;
	size_t n_works;
	kh_flow_worker *worker;
	unsigned n_workers;             /* compute->workers */
	uint64_t again;                 /* job whose outputs the second pass makes next */
	double started;
} kh_flow;

/* To be closed even if that fails. Tasks that a failure has left in the queues are taken back, so
 * that these can be used again. */
int kh_flow_open(kh_flow *f, kh_err *err);
void kh_flow_close(kh_flow *f);
/* Joins, works until there are no more blocks, and leaves: a kh_worker_fn. */
int kh_flow_work(void *flow, unsigned worker, kh_err *err);
/* To be called when all have left: adds what they counted to the results. */
int kh_flow_add_up(kh_flow *f, kh_err *err);
/* With a second pass, to be called when all is added up: makes the model and the final counts.
 * Then any number of workers write the outputs anew, by a kh_worker_fn, if kh_pass_writes. */
int kh_flow_decide(kh_flow *f, kh_err *err);
int kh_flow_rewrite(void *flow, unsigned worker, kh_err *err);
/* Shows what workers have spent their time on.  between: for how many seconds they had no sample,
 * if there were several. */
void kh_flow_show_times(const kh_timer *sum, unsigned workers, const double *between);

#endif
