/* summary.h - what classify --json says of a run */
#ifndef KH_CMD_SUMMARY_H
#define KH_CMD_SUMMARY_H

#include <stdbool.h>
#include "db/db.h"
#include "run/format.h"
#include "run/run.h"

/* Counts and parameters do not depend on the device or the number of threads; what may differ
 * stands under "run". */
typedef struct kh_summary {
	const kh_db *db;
	const kh_run_summary *counts;
	double confidence;
	const char *sample;             /* its name */
	const char *backend;
	unsigned threads;
	const kh_pass_result *pass;   /* NULL: there was no second pass */
	struct json_t *record;          /* further members of "run"; NULL: none */
	double seconds_database;        /* from the start until all devices had it */
} kh_summary;

/* Appends the summary as JSON text, with its line end. */
int kh_summary_text(kh_buf *b, const kh_summary *s, kh_err *err);

#endif
