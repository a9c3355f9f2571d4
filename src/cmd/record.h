/*
 * record.h - what a run was made of, so that it can be told later whether it would be the same
 *
 * It stands in the summary of a sample under "run": what may differ between two runs that give the
 * same calls, such as the names of files, has its place there.
 */
#ifndef KH_CMD_RECORD_H
#define KH_CMD_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include "base/msg.h"
#include "db/db.h"
#include "run/sheet.h"

/* A path as JSON has it: bytes that are no UTF-8 are shown as '?'. */
json_t *kh_record_path(const char *path);

/* The files of a sample: path, size, time of change.  `digest`: and XXH3 of their bytes. */
json_t *kh_record_inputs(const kh_sheet_sample *s, bool digest, kh_err *err);
/* Adds the digests to that; fails if a file is not what it was. */
int kh_record_digests(json_t *inputs, const kh_sheet_sample *s, kh_err *err);

/* Those of n paths that are not NULL. */
json_t *kh_record_paths(char *const *path, size_t n);

/* The database, by the checksum of its header, which has those of all else. */
json_t *kh_record_database(const kh_db *db);
/* Of the machine. */
json_t *kh_record_host(void);

/* Does the summary in a file tell of a run of the same version, inputs, parameters and database
 * as `record` (an object with these members)?  What it lists as its outputs must be there. */
bool kh_record_same(const char *summary, const json_t *record);

#endif
