/*
 * classify_samples_in.h - inside classify --samples: classify_samples_names.c says what its options
 * mean and what the files are called, classify_samples.c has the run
 */
#ifndef KH_CMD_CLASSIFY_SAMPLES_IN_H
#define KH_CMD_CLASSIFY_SAMPLES_IN_H

#include <jansson.h>
#include "cmd/classify_in.h"
#include "run/samples.h"

enum { REPORT = KH_N_RESULTS, PROFILE, REGISTERS, JSON, N_FILES };

/* The files of a sample. */
struct files {
	char *path[N_FILES];            /* NULL: not wanted */
	kh_text *report, *profile, *registers, *json;   /* while it is under way */
	json_t *inputs;
	bool there;                     /* it is done, or was before */
};

/* Everything a run of samples holds. */
struct samples {
	struct classify *j;
	kh_sheet sheet;
	kh_errs errs;
	struct files *files;            /* a sample */
	kh_compute compute;
};

/* The sheet, the names of all files, and their folder.  What is wrong goes to s->errs. */
int kh_classify_samples_prepare(struct samples *s, kh_err *err);

#endif
