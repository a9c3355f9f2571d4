/*
 * kraken.h - the jobs of a run that asks a database of Kraken 2
 *
 * The same as classify.h for one of ours: a scratch for each worker, and calls for jobs.
 */
#ifndef KH_CLASSIFY_KRAKEN_H
#define KH_CLASSIFY_KRAKEN_H

#include "classify/distinct.h"
#include "classify/rule.h"
#include "db/db.h"
#include "kraken2/rule.h"
#include "seqio/feed.h"

/* What the k-mers of a job's fragments were called: fragment i has the runs from end[i - 1], or 0,
 * up to end[i].  Zero it first. */
typedef struct kh_k2_runs {
	kh_k2_run *run;
	size_t *end;
	size_t n, cap_run, cap_end;
} kh_k2_runs;

void kh_k2_runs_clear(kh_k2_runs *r);

typedef struct kh_k2_classifier kh_k2_classifier;

int kh_k2_classifier_new(kh_k2_classifier **c, const kh_db *db, kh_err *err);
void kh_k2_classifier_free(kh_k2_classifier *c);
/* `runs` and `distinct` may be NULL. All minimizers that have a taxon are counted in distinct for
 * that taxon, also those of fragments without a call. */
int kh_k2_classify_job(kh_k2_classifier *c, const kh_job *job, kh_call *call, kh_k2_runs *runs,
		       kh_distinct *distinct, kh_err *err);

#endif
