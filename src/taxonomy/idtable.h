/*
 * idtable.h - the rows of a table of sequence ids and taxids
 *
 * The columns are found by a header, or, without one, by their number and by which are numbers:
 *	id, taxid                                       seqid2taxid.map
 *	id, taxid, anything                             KrakenUniq's
 *	accession, accession.version, taxid[, gi]       accession2taxid
 * Columns are separated by tabs or, if the first row has none, by commas.
 */
#ifndef KH_TAXONOMY_IDTABLE_H
#define KH_TAXONOMY_IDTABLE_H

#include "taxonomy/columns.h"

typedef struct kh_idtable {
	kh_tsv *tsv;
	int n;                          /* columns of the first row; 0: it was not read */
	int base, id, taxid;            /* columns of the next three; base may be id */
	bool simple;                    /* up to four, with tabs: split without kh_columns */
	kh_columns c;
} kh_idtable;

typedef struct kh_idrow {
	kh_span base, id;               /* borrowed until the next row */
	uint32_t taxid;                 /* 0: the sequence has none */
} kh_idrow;

/* 1: the next row; 0: the end; < 0 with file:line.  The caller sets t->tsv and zeroes the rest. */
int kh_idtable_next(kh_idtable *t, kh_idrow *row, kh_err *err);

#endif
