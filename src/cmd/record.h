/*
 * record.h - the inputs and options of a run, by which a later run finds out whether it would give
 * the same results
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
#include "run/results.h"

/* A path, or other text from outside, as JSON has it: escape.h.  NULL: null. */
json_t *kh_record_path(const char *path);

/* Appends a JSON text with a newline behind it, whose decimal numbers have six digits; the root is
 * taken over (NULL: no memory). */
int kh_record_text(kh_buf *b, json_t *root, kh_err *err);

/* The files of a sample, by its number: path, size, time of change; of pairs, which mates. */
json_t *kh_record_inputs(const kh_sheet *s, size_t sample, kh_err *err);
/* Adds the XXH3 of their bytes: as r has it, where that is known, or else by reading them (r may be
 * NULL).  Fails if a file has changed since. */
int kh_record_digests(json_t *inputs, const kh_sheet *s, size_t sample, const kh_results *r,
		      kh_err *err);

/* The results in front of the summary, in their order: path, size and XXH3.  They are finished. */
json_t *kh_record_outputs(const kh_sheet_sample *s, const kh_results *r);

/* The database, identified by the checksum of its header, which covers the other checksums.  The
 * header of one of Kraken 2 tells of nothing else; `content`: its files are read for a digest. */
int kh_record_database(json_t **record, const kh_db *db, bool content, kh_err *err);

/* Is all there that a run would make of this sample: does its summary come from a run with the same
 * version, inputs, parameters and database as in `record` (an object with these members), and are
 * its results, under the names that they have now, those that the summary tells of?  Not if it
 * reads from a stream, or writes to one. */
bool kh_record_same(const kh_sheet_sample *s, const json_t *record);

#endif
