/*
 * sheet.h - which reads belong to which sample
 *
 *	sample <tab> reads1 <tab> reads2
 *
 * A table with a header, of columns between tabs or, if its header has none, between commas.  A
 * column is known by its name: `sample`; `reads1`, `fq1`, `fastq_1`; `reads2`, `fq2`, `fastq_2`;
 * others are passed over.  A row without a second file has single reads.  A sample may have
 * several rows; its reads are those of its rows in order.
 */
#ifndef KH_RUN_SHEET_H
#define KH_RUN_SHEET_H

#include <stdbool.h>
#include "base/errs.h"
#include "taxonomy/tsv.h"

/* Files that are read one behind another: of pairs, or of single reads. */
typedef struct kh_sheet_reads {
	const char **path[2];           /* owned lists of borrowed names; [1]: as many, or none */
	size_t n, cap[2];
	bool paired;
} kh_sheet_reads;

typedef struct kh_sheet_sample {
	char *name;                     /* owned */
	unsigned long long line;        /* its first row */
	kh_sheet_reads *reads;          /* pairs, single reads, ... as rows change between them */
	size_t n_reads, cap;
} kh_sheet_sample;

typedef struct kh_sheet {
	kh_sheet_sample *v;             /* in the order of their first rows */
	size_t n, cap;
	char **text;                    /* names of files, owned */
	size_t n_text, cap_text;
} kh_sheet;

void kh_sheet_clear(kh_sheet *s);

/* All errors in rows are added to `errs`. */
int kh_sheet_parse(kh_sheet *s, const char *name, kh_read_fn *read, void *arg, kh_errs *errs,
		   kh_err *err);
/* The same of a file, plain or gz, and then notes which of the reads cannot be opened. */
int kh_sheet_load(kh_sheet *s, const char *path, kh_errs *errs, kh_err *err);

/* May a sample have this name? Names of files begin with it. */
bool kh_sheet_is_name(kh_span s);

#endif
