/*
 * inputs.h - finds the files that are to be merged, and names their samples
 *
 * A folder stands for the reports of a run in it, SAMPLE.report or SAMPLE.kreport, or for its
 * profiles, SAMPLE.NAME.
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
	const char *profile;            /* what profiles in a folder end in; NULL: reports */
} kh_merge_files;

void kh_merge_files_clear(kh_merge_files *f);

/* A file, or those of a folder in the order of their names. The name of the sample is that of the
 * file without its folder and its ending. */
int kh_merge_files_add(kh_merge_files *f, const char *path, kh_errs *errs, kh_err *err);
/* Adds the files named in a text, one a line: PATH, or SAMPLE tab PATH. */
int kh_merge_files_list(kh_merge_files *f, const char *list, kh_errs *errs, kh_err *err);
/* The name of the sample of a report, to be freed; NULL: no memory. */
char *kh_merge_sample_name(const char *path);
/* Fails if a name is empty, has control characters, or occurs twice; notes files that are of
 * another run than the summary beside them. */
int kh_merge_files_check(const kh_merge_files *f, kh_errs *errs, kh_err *err);

#endif
