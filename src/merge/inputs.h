/*
 * inputs.h - which files are to be merged, and what their samples are called
 *
 * A folder stands for the reports of a run in it, SAMPLE.kreport, or for their lines, SAMPLE.tsv.
 */
#ifndef KH_MERGE_INPUTS_H
#define KH_MERGE_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/errs.h"

typedef struct kh_merge_file {
	char *sample, *path;            /* owned */
} kh_merge_file;

typedef struct kh_merge_files {
	kh_merge_file *v;
	size_t n, cap;
	bool lines;                     /* lines are wanted, not reports */
} kh_merge_files;

void kh_merge_files_clear(kh_merge_files *f);

/* A file, or those of a folder in the order of their names.  The sample is called as the file
 * less its folder and what says that it is a report. */
int kh_merge_files_add(kh_merge_files *f, const char *path, kh_errs *errs, kh_err *err);
/* Those that a text names, a line each: PATH, or SAMPLE tab PATH. */
int kh_merge_files_list(kh_merge_files *f, const char *list, kh_errs *errs, kh_err *err);
/* What the sample of a report is called, to be freed; NULL: no memory. */
char *kh_merge_sample_name(const char *path);
/* A name is not empty, has no control character, and no two samples have the same. */
int kh_merge_files_check(const kh_merge_files *f, kh_errs *errs, kh_err *err);

#endif
