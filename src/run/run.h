/*
 * run.h - a run of classify: reads in, lines, reads and counts out
 *
 * Each worker: block -> settled (records final, jobs) -> backend -> text of the job -> ordered
 * delivery.  Works (a job with its results and texts) circulate; the texts of a job are
 * written by whoever brings the next one in order.
 */
#ifndef KH_RUN_H
#define KH_RUN_H

#include <stdbool.h>
#include "backend.h"
#include "classify.h"
#include "db.h"
#include "feed.h"
#include "format.h"
#include "report.h"

typedef struct kh_run_options {
	kh_feed_options feed;
	kh_rule rule;
	kh_style style;
	const kh_choice *choice;
	enum kh_placement placement;
	kh_comm *comm;                  /* NULL: one rank */
	struct kh_ranks *ranks;         /* then NULL, too; else `choice` is their backend */
	unsigned threads;
	bool paired;                    /* two files, or interleaved */
	bool sketches;
	const char *output;             /* NULL: no lines */
	/* [1] NULL unless mates go to files of their own */
	const char *classified[2], *unclassified[2];
	/* Called when all is counted and no output has its name yet: what is still to be
	 * written is written then, so that an output that fails takes the others with it. */
	int (*before_commit)(void *arg, kh_err *err);
	void *arg;
} kh_run_options;

typedef struct kh_run_summary {
	uint64_t fragments, classified, bases;
	double seconds;
} kh_run_summary;

/* On success all outputs are complete and durable; a file that has its final name is
 * complete whatever else failed.  The tally is initialised here. */
int kh_run(const kh_run_options *o, const kh_db *db, kh_feed *feed, kh_monitor *m,
	   kh_tally *tally, kh_run_summary *sum, kh_err *err);

#endif
