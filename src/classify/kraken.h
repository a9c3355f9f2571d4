/*
 * kraken.h - jobs classified by a database of Kraken 2
 *
 * What match.h is for databases with text: a scratch for each worker, and calls for jobs.
 */
#ifndef KH_CLASSIFY_KRAKEN_H
#define KH_CLASSIFY_KRAKEN_H

#include "classify/distinct.h"
#include "classify/rule.h"
#include "db/db.h"
#include "kraken2/rule.h"
#include "seqio/feed.h"

/* What the k-mers of a job's fragments were called: fragment i has the list[i].n runs from
 * run[list[i].from] on.  Both arrays belong to this struct, or to the queue that has done the job;
 * then they are good until the queue gets another job.  Zero it first. */
typedef struct kh_k2_runs {
	const kh_k2_run *run;
	const kh_k2_list *list;
	kh_k2_run *own;
	kh_k2_list *own_list;
	size_t n, n_lists, cap, cap_lists;
} kh_k2_runs;

void kh_k2_runs_clear(kh_k2_runs *r);
/* Adds a fragment with these runs to the arrays of its own; neighbours that were called the same
 * become one. */
int kh_k2_runs_add(kh_k2_runs *r, const kh_k2_run *run, size_t n, kh_err *err);
/* Adds runs to the fragment that was added last. */
int kh_k2_runs_more(kh_k2_runs *r, const kh_k2_run *run, size_t n, kh_err *err);

typedef struct kh_k2_classifier kh_k2_classifier;

int kh_k2_classifier_new(kh_k2_classifier **c, const kh_db *db, kh_err *err);
void kh_k2_classifier_free(kh_k2_classifier *c);
/* `runs` and `distinct` may be NULL. All minimizers that have a taxon are counted in distinct for
 * that taxon, also those of fragments without a call. */
int kh_k2_classify_job(kh_k2_classifier *c, const kh_job *job, kh_call *call, kh_k2_runs *runs,
		       kh_distinct *distinct, kh_err *err);

#endif
