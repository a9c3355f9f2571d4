/*
 * pass.h - the second pass of a run, which decides on fragments by the whole sample
 *
 * In the first pass each job's fragments are counted by class (sample/classes.h), and, if lines or
 * reads are to be written, what these are made of goes to a file (sample/frames.h).  Then the
 * model is made, counts are corrected, and the outputs are formatted from that file, by all
 * threads, in the order of jobs.
 */
#ifndef KH_RUN_PASS_H
#define KH_RUN_PASS_H

#include "classify/compute.h"
#include "run/by_genus.h"
#include "run/format.h"
#include "run/report.h"
#include "run/sheet.h"
#include "sample/classes.h"
#include "sample/coverage.h"
#include "sample/model.h"

typedef struct kh_pass kh_pass;

typedef struct kh_pass_options {
	const kh_db *db;
	const kh_rule *rule;
	const kh_style *style;
	unsigned threads;               /* workers */
	bool change;                    /* change calls; otherwise the sample is only described */
	bool lines, reads;              /* are to be written, with the final calls */
	bool coverage;                  /* the coverage of references is wanted */
	/* by kh_result: the temporary file is made beside one of these, or else in TMPDIR */
	char *const *path;
} kh_pass_options;

int kh_pass_open(kh_pass **s, const kh_pass_options *o, kh_err *err);
void kh_pass_close(kh_pass *s);
/* Are lines and reads written by kh_pass_format, when all calls are final? */
bool kh_pass_writes(const kh_pass *s);

/* To be called before the jobs of a sample, and again if more of its reads follow, as jobs are
 * numbered from 0 each time.  `compute` does the jobs, and counts their fragments if it can. */
int kh_pass_begin(kh_pass *s, const kh_compute *compute, kh_err *err);

/* Does it use what translated seeds say of fragments (kh_task.like)? */
bool kh_pass_compares(const kh_pass *s);
/* Sets what a task is asked for; its candidates and class_of are arrays for its fragments. */
void kh_pass_ask(const kh_pass *s, kh_task *t);
/* Counts the fragments of a task that is done, which are already in the tally of this worker by
 * their first calls. */
int kh_pass_count(kh_pass *s, unsigned worker, const kh_task *t, kh_err *err);

/* To be called when all jobs have been counted: makes the model, by a team, and corrects the tally
 * for the final calls. */
typedef struct kh_pass_result {
	const kh_model *model;
	const kh_classes *classes;      /* joined */
	/* by taxon: fragments called just that in the first pass, and those without a class */
	uint64_t *first, *direct;
	const kh_by_genus *by_genus;    /* what translated seeds say of it */
	uint64_t changed;               /* fragments */
	int64_t classified;             /* how many more are classified; below 0: fewer */
	uint64_t kept;                  /* bytes of the file, compressed */
	const kh_coverage *coverage;    /* NULL: not wanted */
} kh_pass_result;
int kh_pass_fit(kh_pass *s, kh_team *team, uint64_t fragments, kh_tally *tally, kh_err *err);
/* NULL gives NULL. */
const kh_pass_result *kh_pass_result_of(const kh_pass *s);

/* Formats the job with that ticket, which is below kh_pass_jobs, as kh_format_line and
 * kh_format_read do. Any worker may call it. */
uint64_t kh_pass_jobs(const kh_pass *s);
int kh_pass_format(kh_pass *s, unsigned worker, uint64_t ticket, const kh_result_bufs *to,
		   kh_err *err);

#endif
