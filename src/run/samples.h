/*
 * samples.h - many samples on one database that is open, several under way at once
 *
 * Each worker takes the next sample of the sheet while fewer than `at_once` are under way, else
 * joins the one that has the fewest workers, and waits for one that is being opened rather than
 * join another one that has its share. So streams of several samples are inflated side by side, by
 * as many workers each, and the last sample has all workers. A sample has a monitor of its own: an
 * error in it does not stop the others. Memory is that of `at_once` samples, whatever their number,
 * and what each makes is what a run of its own would.
 */
#ifndef KH_RUN_SAMPLES_H
#define KH_RUN_SAMPLES_H

#include "db/db.h"
#include "run/flow.h"
#include "run/sheet.h"

enum { KH_SAMPLE_TABLES = 4 };

typedef struct kh_samples_options {
	const kh_sheet_sample *sample;
	size_t n;
	const kh_db *db;
	kh_compute *compute;
	const kh_style *style;
	kh_feed_options feed;           /* options that are the same for all */
	bool distinct, keep_going;
	unsigned at_once;               /* at least 1 */
	/* Called by any worker, for one sample by one at a time, in this order. `open` says which
	 * outputs are wanted, with the monitor m of the sample; it returns 0, 1 if the sample is
	 * to be passed over, or an error. `read`: reads[k] of the sample have all been read, by
	 * that feed, which is closed then. `finish` writes what is made of the counts; its texts
	 * get their names together with those of the results, or none does. `close` comes last in
	 * any case; err: why the sample failed, or NULL; KH_ECANCEL: it was stopped because
	 * another one failed. */
	int (*open)(void *arg, size_t sample, kh_monitor *m, kh_results_options *o, kh_err *err);
	int (*read)(void *arg, size_t sample, size_t k, const kh_feed *feed, kh_err *err);
	int (*finish)(void *arg, size_t sample, kh_results *r, kh_text *table[KH_SAMPLE_TABLES],
		      kh_err *err);
	void (*close)(void *arg, size_t sample, const kh_results *r, const kh_err *err);
	void *arg;
} kh_samples_options;

typedef struct kh_samples_summary {
	size_t done, skipped, failed;
	uint64_t fragments, classified, bases;
} kh_samples_summary;

/* Returns KH_OK also if samples have failed and the others were to go on; `failed` tells how
 * many. */
int kh_samples_run(const kh_samples_options *o, kh_samples_summary *sum, kh_err *err);

#endif
