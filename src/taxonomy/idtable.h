/*
 * idtable.h - the rows of a table of sequence ids and taxids
 *
 * A header says which columns these are; without one the number of columns does, and which of them
 * are numbers:
 *	id, taxid                                       seqid2taxid.map
 *	id, taxid, anything                             KrakenUniq's
 *	accession, accession.version, taxid[, gi]       accession2taxid
 * Columns stand between tabs or, if the first row has none, between commas.
 */
#ifndef KH_TAXONOMY_IDTABLE_H
#define KH_TAXONOMY_IDTABLE_H

#include "taxonomy/columns.h"

typedef struct kh_idtable {
	kh_tsv *tsv;
	int n;                          /* columns of the first row; 0: it was not read */
	int base, id, taxid;            /* which of them; base: id if a table has no other one */
	bool simple;                    /* up to four, between tabs: split without kh_columns */
	kh_columns c;
} kh_idtable;

typedef struct kh_idrow {
	kh_span base, id;               /* borrowed until the next row */
	uint32_t taxid;                 /* 0: the row says nothing */
} kh_idrow;

/* 1: the next row; 0: there is none; < 0 with file:line.  Zero t but for tsv first. */
int kh_idtable_next(kh_idtable *t, kh_idrow *row, kh_err *err);

#endif
