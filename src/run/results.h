/*
 * results.h - the results of one sample: its texts and its counts
 *
 * The texts are put in order, by one thread at a time; the counts are added up when the workers
 * have left.
 */
#ifndef KH_RUN_RESULTS_H
#define KH_RUN_RESULTS_H

#include "io/text.h"
#include "run/report.h"
#include "run/pass.h"

enum kh_result {
	KH_RESULT_LINES,
	KH_RESULT_CLASSIFIED,           /* reads, or first mates, or both mates */
	KH_RESULT_CLASSIFIED_2,         /* second mates, if they go to files of their own */
	KH_RESULT_UNCLASSIFIED,
	KH_RESULT_UNCLASSIFIED_2,
	KH_RESULT_CLASSIFIED_SINGLE,    /* single reads beside pairs, if these have two files */
	KH_RESULT_UNCLASSIFIED_SINGLE,
	KH_N_RESULTS
};

typedef struct kh_run_summary {
	uint64_t fragments, classified, bases;
	double seconds_load;            /* until the index was on the devices */
	double seconds;                 /* from then on */
} kh_run_summary;

typedef struct kh_results {
	kh_text *out[KH_N_RESULTS];     /* NULL: not wanted */
	kh_tally tally;
	kh_run_summary sum;
	kh_pass *pass;                  /* NULL: calls are those of the first pass */
} kh_results;

typedef struct kh_results_options {
	const char *path[KH_N_RESULTS]; /* NULL: not wanted */
	unsigned threads;               /* threads that compress */
	uint32_t n_taxa;
	bool distinct;
	/* taken over; NULL: there is none, or it has been set already */
	struct kh_pass *pass;
} kh_results_options;

/* Zero it first, but for `pass`, which is closed with it; to be closed even if this fails. */
int kh_results_open(kh_results *r, const kh_results_options *o, kh_monitor *m, kh_err *err);
bool kh_results_any(const kh_results *r);
/* Compresses text that waits for it; any thread may call it. */
int kh_results_help(kh_results *r);
/* Makes all texts, and n others (NULL among them is fine), durable, and gives them their names;
 * or none gets its name. */
int kh_results_commit(kh_results *r, kh_text *const *also, size_t n, kh_err *err);
void kh_results_close(kh_results *r);

#endif
