/*
 * recorded.h - the files that the summary of a run lists
 *
 * A summary (classify --json) has, in run.outputs, the name, the size and the XXH3 of each other
 * file of its run.  So a reader of a file finds out whether it is of that run.
 */
#ifndef KH_MERGE_RECORDED_H
#define KH_MERGE_RECORDED_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/msg.h"

/* The JSON in a regular file, to be freed; NULL: there is none (a FIFO could be waited on for
 * ever). */
json_t *kh_recorded_load(const char *path);
/* The XXH3 of the bytes of a file, and as JSON has it. */
int kh_recorded_digest(const char *path, uint64_t *digest, kh_err *err);
json_t *kh_recorded_hex(uint64_t x);
/* Is the file at `path` the one that `was`, a member of run.outputs, describes, under any name? */
bool kh_recorded_is(const char *path, const json_t *was);
/* Is it that file, but compressed by gzip since? */
bool kh_recorded_is_inflated(const char *path, const json_t *was);

#endif
