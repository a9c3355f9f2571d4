/*
 * run.h - a run of classify: the samples of a sheet on one database, several under way at once
 *
 * While fewer samples are under way than there are threads, a worker takes the next sample of the
 * sheet.  Else it joins the sample with the fewest workers.  If that one is still being opened and
 * the others have enough workers, it waits.  So streams of several samples are inflated side by
 * side, by as many workers each, and the last sample, or the only one, has all workers.  A sample
 * has a monitor of its own: an error in it does not stop the others.  A run needs the memory of the
 * samples under way, and a sample gets the same bytes as by a run of its own.
 *
 * Example, four workers and samples a and b: two workers open a and b, and the others join them,
 * one each.  When a is done, its two workers join b.
 */
#ifndef KH_RUN_H
#define KH_RUN_H

#include "db/db.h"
#include "run/flow.h"

typedef struct kh_run kh_run;

/* Appends to b a result that is made of the counts of sample number i; arg: the run's. */
typedef int kh_write_fn(void *arg, size_t i, kh_results *r, kh_buf *b, kh_err *err);

typedef struct kh_run_options {
	const kh_sheet *sheet;
	const kh_style *style;
	kh_feed_options feed;           /* what is the same for all samples */
	unsigned threads;
	bool distinct;                  /* features are counted */
	bool pass;                      /* there is a second pass; */
	bool change;                    /* it changes calls */
	bool keep_going;                /* behind a sample that fails */
	kh_volumes *const *volumes;     /* NULL, or where they are when samples begin */
	kh_write_fn *const *write;      /* by kh_result; of those from KH_N_BY_FRAGMENT on */
	/* Called by any worker, for a sample by one at a time: when it is begun (1: it is to be
	 * passed over), and when it has ended (err: why it failed, or NULL; KH_ECANCEL: it was
	 * stopped because another one failed). */
	int (*begin)(void *arg, size_t i, kh_err *err);
	void (*end)(void *arg, size_t i, const kh_results *r, const kh_err *err);
	/* NULL, or called for a sample that is done, before its results get their names: fails if
	 * they must not get them. */
	int (*check)(void *arg, size_t i, kh_err *err);
	void *arg;
} kh_run_options;

/* What was done.  sum: of the samples that are done. */
typedef struct kh_run_totals {
	size_t done, skipped, failed;
	kh_run_summary sum;
} kh_run_totals;

/* If operands name the reads, their files and those of the results are opened, so that a mistake is
 * known before a database is loaded. */
int kh_run_open(kh_run **r, const kh_run_options *o, kh_err *err);
void kh_run_close(kh_run *r);
/* The bytes of all files to be read, as far as known. */
uint64_t kh_run_bytes(const kh_run *r);
/* How the reads number k of a sample are read. */
kh_feed_options kh_run_feed_options(const kh_run_options *o, const kh_sheet_sample *x, size_t k);

/* Does all samples.  Results of a sample are complete and durable, or none has got its name.
 * Returns KH_OK also if some have failed and the others were to go on: totals->failed. */
int kh_run_samples(kh_run *r, const kh_db *db, const kh_rule *rule, kh_compute *compute,
		   kh_run_totals *totals, kh_err *err);

#endif
