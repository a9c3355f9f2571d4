/*
 * results.h - the results of one sample: its outputs and its counts
 *
 * Outputs are put in order, by one thread at a time; the counts are added up when the workers have
 * left.
 */
#ifndef KH_RUN_RESULTS_H
#define KH_RUN_RESULTS_H

#include "base/team.h"
#include "io/writer.h"
#include "run/answers.h"
#include "run/pass.h"
#include "run/report.h"
#include "run/sheet.h"

typedef struct kh_run_summary {
	uint64_t fragments, classified, bases;
	uint64_t swapped;               /* pairs of a second mate and a first one, by their names */
	kh_answers_sum answers;         /* with candidates, or of a join */
	size_t kept;                    /* samples of too few fragments for calls to be changed */
	double seconds;                 /* without loading the database */
} kh_run_summary;

/* The digest of a file (kh_feed_digest). */
typedef struct kh_file_digest {
	bool known;
	uint64_t xxh3;
} kh_file_digest;

typedef struct kh_results {
	kh_writer *out[KH_N_RESULTS];   /* NULL: not wanted */
	kh_answers_out *answers;        /* NULL, or what out[KH_RESULT_CANDIDATES] gets */
	kh_tally tally;
	kh_run_summary sum;
	kh_pass *pass;                  /* NULL: calls are those of the first pass */
	kh_team *team;                  /* works when all reads have been read; NULL: one thread */
	kh_file_digest *digest;         /* of the sample's n_files in order, if they are wanted */
	size_t n_files, cap_files;
} kh_results;

/* Opens the files of a sample; `threads` compress.  Zero r first; to be closed even if this
 * fails. */
int kh_results_open(kh_results *r, const kh_sheet_sample *x, unsigned threads, kh_monitor *m,
		    kh_err *err);
void kh_results_close(kh_results *r);
/* The end of a file of candidates, when all reads were classified. */
int kh_results_end_answers(kh_results *r, kh_err *err);
/* Are reads wanted in any of them? */
bool kh_results_want_reads(const kh_results *r);
/* Compresses text that waits for it; any thread may call it. */
int kh_results_help(kh_results *r);

#endif
