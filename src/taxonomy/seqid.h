/*
 * seqid.h - which taxon a reference sequence belongs to
 *
 * In this order: `kraken:taxid|N` or `taxid|N` in the header; a TSV of sequence id and
 * taxid; accession2taxid files.  The first that has the sequence decides.
 *
 * accession2taxid files have up to 4e8 rows, references up to millions of sequences.
 * So references are read first (once: they may come from a pipe) and their ids collected.
 * Then the files are streamed past these ids: memory grows with the references only.
 */
#ifndef KH_TAXONOMY_SEQID_H
#define KH_TAXONOMY_SEQID_H

#include <stddef.h>
#include <stdint.h>
#include "taxonomy/tsv.h"
#include "base/msg.h"

/* The N of "kraken:taxid|N" or "taxid|N" in the header line, at its start or after a blank
 * or '|', or 0.  N ends at a blank, '|' or the end. */
uint32_t kh_header_taxid(const char *header, size_t len);

/* A set of wanted sequence ids and the taxids found for them.  Not thread-safe. */
typedef struct kh_idmap kh_idmap;

int kh_idmap_new(kh_idmap **m, kh_err *err);
void kh_idmap_free(kh_idmap *m);
/* 1: added; 0: was there already; < 0: no memory. Ids are numbered 0, 1, ... as added. */
int kh_idmap_want(kh_idmap *m, const char *id, size_t len, kh_err *err);
/* The number of a wanted id, or SIZE_MAX. */
size_t kh_idmap_number(const kh_idmap *m, const char *id, size_t len);

/* Streams a table past the set.  A file (plain or gz, not "-") has the columns of idtable.h; rows
 * with taxid 0 are skipped.  A row names a wanted id if its accession.version or its
 * accession (or the two-column id) equals, best first:
 *   the whole id; the accession field of an id such as gi|N|ref|NC_000913.3|;
 *   that field, or an id without bars, without its version (".3": any digits);
 *   the same with and without its version, without "NZ_" in front.
 * Within a file the best match decides; a taxid from an earlier file stays.  Bad rows fail with
 * file:line, and so do two taxids in one file for the match that decides.  After a failure the
 * map can only be freed. */
int kh_idmap_load(kh_idmap *m, const char *path, kh_err *err);
/* The same for rows of any source. */
int kh_idmap_parse(kh_idmap *m, kh_tsv *tsv, kh_err *err);
/* The same for ids from memory: kh_idmap_next begins a "file", then each id is noted once. */
void kh_idmap_next(kh_idmap *m);
int kh_idmap_note(kh_idmap *m, kh_span id, uint32_t taxid, kh_err *err);
/* The taxid found for wanted id number i, or 0. */
uint32_t kh_idmap_taxid(const kh_idmap *m, size_t i);

#endif
