/*
 * targets.h - which taxon a reference sequence belongs to
 *
 * In this order: `kraken:taxid|N` or `taxid|N` in the header; a TSV of sequence id and
 * taxid; accession2taxid files.  The first that knows the sequence decides.
 *
 * accession2taxid files have up to 4e8 rows, references up to millions of sequences.
 * So references are read first (once: they may come from a pipe), their ids collected,
 * and the files are streamed past that set: memory goes with the references only.
 */
#ifndef KH_TARGETS_H
#define KH_TARGETS_H

#include <stddef.h>
#include <stdint.h>
#include "msg.h"

/* The N of "kraken:taxid|N" or "taxid|N" anywhere in the header line (at its start, or
 * behind a blank or '|'; N ends at a blank, '|' or the end), or 0. */
uint32_t kh_header_taxid(const char *header, size_t len);

/* A set of wanted sequence ids and the taxids found for them.  Not thread-safe. */
typedef struct kh_idmap kh_idmap;

int kh_idmap_new(kh_idmap **m, kh_err *err);
void kh_idmap_free(kh_idmap *m);
/* 1: added; 0: was there already; < 0: no memory. Ids are numbered 0, 1, ... as added. */
int kh_idmap_want(kh_idmap *m, const char *id, size_t len, kh_err *err);

/* Streams a table past the set.  A file (plain or gz; "-" no) is either accession2taxid
 * with its header line (accession, accession.version, taxid, gi) or two columns: id, taxid.
 * A row names a wanted id if its accession.version or its accession (or the two-column id)
 * equals the whole id, the id without its version (".1"), or an accession field of an id
 * such as gi|N|ref|NC_000913.3|; an exact match with version beats one without, and what
 * an earlier file said stands.  Bad rows fail with file:line; in one file the same id
 * with two taxids (of equal exactness) too. */
int kh_idmap_load(kh_idmap *m, const char *path, kh_err *err);
/* The same over a reader of bytes: read returns the number of bytes, 0 at the end, < 0. */
typedef int64_t kh_read_fn(void *arg, void *buf, size_t n, kh_err *err);
int kh_idmap_parse(kh_idmap *m, const char *name, kh_read_fn *read, void *arg, kh_err *err);
/* The taxid found for wanted id number i, or 0. */
uint32_t kh_idmap_taxid(const kh_idmap *m, size_t i);

#endif
