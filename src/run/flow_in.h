/*
 * flow_in.h - a job on its way through flow.c, and its outputs, which flow_format.c makes
 */
#ifndef KH_RUN_FLOW_IN_H
#define KH_RUN_FLOW_IN_H

#include "run/flow.h"

/* A job, its results and its outputs. */
typedef struct flow_job {
	kh_flow *flow;
	kh_job job;
	kh_task task;
	kh_call *call;
	kh_k2_runs runs;                /* of a database of Kraken 2 */
	kh_alignments aligned;          /* of one of kmerhash */
	kh_candidates *candidates;      /* for a second pass */
	kh_second *second;              /* for a column of the lines */
	uint32_t *class_of;             /* for a second pass */
	kh_volumes_asked volumes;       /* for candidates, or of them */
	kh_likeness *like;              /* the same, by translated seeds */
	size_t cap_call, cap_candidates, cap_second, cap_class_of, cap_like;
	kh_buf buf[KH_N_BY_FRAGMENT];
	kh_buf one;                     /* for a fragment at a time */
	kh_loan loan;                   /* of the outputs */
} flow_job;

/* Empties the outputs, and says which of them a fragment goes to. */
kh_result_bufs kh_flow_bufs(const kh_flow *f, flow_job *w);
/* Makes the outputs of a job that has its calls, and counts these. */
int kh_flow_format(kh_flow *f, kh_flow_worker *self, flow_job *w, kh_err *err);

#endif
