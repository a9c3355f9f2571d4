/*
 * flow_in.h - a job on its way through flow.c, and its texts, which flow_texts.c makes
 */
#ifndef KH_RUN_FLOW_IN_H
#define KH_RUN_FLOW_IN_H

#include "run/flow.h"

/* A job, its results and its texts. */
typedef struct work {
	kh_flow *flow;
	kh_job job;
	kh_task task;
	kh_call *call;
	kh_k2_runs runs;                /* of a database of Kraken 2 */
	kh_alignments aligned;          /* of one of kmerhash */
	kh_candidates *candidates;      /* for a second pass, or the second-best taxon */
	uint32_t *class_of;             /* for a second pass */
	kh_parts_job parts;             /* for candidates, or of them */
	kh_likeness *like;              /* the same, by translated seeds */
	size_t cap_call, cap_candidates, cap_class_of, cap_like;
	kh_buf text[KH_N_TEXTS];
	kh_buf one;                     /* for a fragment at a time */
	kh_loan loan;                   /* of the texts */
} work;

/* Empties the texts of a work, and says which of them a fragment goes to. */
kh_texts kh_flow_texts(const kh_flow *f, work *w);
/* Makes the texts of a job that has its calls, and counts these. */
int kh_flow_format(kh_flow *f, kh_flow_worker *self, work *w, kh_err *err);

#endif
