/*
 * run.h - a run of classify: reads in, lines, reads and counts out
 */
#ifndef KH_RUN_H
#define KH_RUN_H

#include <stdbool.h>
#include "backend/backend.h"
#include "classify/classify.h"
#include "db/db.h"
#include "seqio/feed.h"
#include "run/format.h"
#include "run/results.h"

enum { KH_RUN_TABLES = 5 };

typedef struct kh_run_options {
	kh_feed_options feed;
	kh_rule rule;
	kh_style style;
	const kh_choice *choice;
	enum kh_placement placement;
	uint64_t gpu_memory;            /* of each GPU at most; 0: no limit */
	kh_comm *comm;                  /* NULL: one process */
	unsigned threads;
	bool paired;                    /* two files, or interleaved */
	bool distinct;
	const char *output;             /* NULL: no lines */
	/* [1] NULL unless mates go to files of their own */
	const char *classified[2], *unclassified[2];
	/* Outputs that get their names together with those of the run, or not at all; NULL: none.
	 * write_tables is called when all is counted, to write them. */
	kh_text *tables[KH_RUN_TABLES];
	int (*write_tables)(void *arg, kh_err *err);
	void *arg;
} kh_run_options;

/* On success all outputs are complete and durable; otherwise none gets its name. `results` are
 * zeroed before, but for what a second pass is opened with, and closed by the caller. */
int kh_run(const kh_run_options *o, const kh_db *db, kh_feed *feed, kh_monitor *m,
	   kh_results *results, kh_err *err);

#endif
