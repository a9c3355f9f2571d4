/*
 * summaries.h - are reports and profiles of the runs whose summaries lie beside them?
 *
 * Two runs into one folder may leave files of both: a run without --profile leaves the profile of
 * the run before it.  SAMPLE.json, the summary of the last run that made one, lists the files of
 * SAMPLE that are of that run (recorded.h).  Where no summary is, nothing is known.
 */
#ifndef KH_MERGE_SUMMARIES_H
#define KH_MERGE_SUMMARIES_H

#include <stdbool.h>
#include "base/errs.h"

/* Is this file the summary of a run? */
bool kh_merge_is_summary(const char *path);
/* Notes an error if the summary beside `path` lists another file of that name.  sample: the part of
 * the name that the sample has. */
int kh_merge_check_run(const char *path, const char *sample, kh_errs *errs, kh_err *err);

#endif
