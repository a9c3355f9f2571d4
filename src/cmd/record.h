/*
 * record.h - the record of a run: its inputs, parameters and database, by which a later run finds
 * out whether it would give the same results
 *
 * The record is in the object "run" of a sample's summary, with all that may differ between two
 * runs with the same calls, such as names of files and times.
 */
#ifndef KH_CMD_RECORD_H
#define KH_CMD_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include "base/msg.h"
#include "db/db.h"
#include "run/results.h"

/* A path, or other text from outside, as a JSON string (escape.h); NULL: null. */
json_t *kh_record_path(const char *path);

/* Appends root as JSON text and a newline, decimal numbers with six significant digits, and frees
 * root (NULL: no memory). */
int kh_record_text(kh_buf *b, json_t *root, kh_err *err);

/* The files of sample number `sample`: path, size, time of change, and of pairs the mate. */
json_t *kh_record_inputs(const kh_sheet *s, size_t sample, kh_err *err);
/* Adds the XXH3 of their bytes: from r, if that has it, or else by reading the files (r may be
 * NULL).  Fails if a file has changed since kh_record_inputs. */
int kh_record_digests(json_t *inputs, const kh_sheet *s, size_t sample, const kh_results *r,
		      kh_err *err);

/* All results but the summary, which are finished, in order: path, size and XXH3. */
json_t *kh_record_outputs(const kh_sheet_sample *s, const kh_results *r);

/* The database, identified by the checksum of its header, which covers the other checksums.  Of
 * Kraken 2 it covers opts.k2d, taxo.k2d and the head of hash.k2d; `content`: the three files are
 * read for a digest, too. */
int kh_record_database(json_t **record, const kh_db *db, bool content, kh_err *err);

/* Are all results of this sample there already?  Yes, if its summary is of a run with the same
 * version, inputs, parameters and database as `record` (an object with the last three), and the
 * results, under their present names, have the sizes and digests in the summary.  No, if an input
 * or a result is a stream. */
bool kh_record_same(const kh_sheet_sample *s, const json_t *record);

#endif
