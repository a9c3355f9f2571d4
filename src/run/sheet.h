/*
 * sheet.h - the samples of a run: the files of their reads, and the names of their results
 *
 * Reads that operands name are a sheet of one sample; several samples come as a table:
 *
 *	sample <tab> reads1 <tab> reads2
 *
 * A table with a header, of columns between tabs or, if its header has none, between commas.  A
 * column is known by its name: `sample`; `reads1`, `fq1`, `fastq_1`, `short_reads_1`;
 * `reads2`, `fq2`, `fastq_2`, `short_reads_2`; `fasta` and `long_reads`, which have single reads
 * beside these, or in their place; `interleaved`, yes or no; `control`, which says whether it is a
 * negative control; `concentration`, of its DNA; others are passed over.  A row without a second
 * file has single reads.  A sample may have several rows; its reads are those of its rows in order.
 */
#ifndef KH_RUN_SHEET_H
#define KH_RUN_SHEET_H

#include <stdbool.h>
#include "base/errs.h"
#include "base/numbers.h"
#include "taxonomy/tsv.h"

/* A file of reads, and where the sheet names it. */
typedef struct kh_sheet_file {
	char *path;                     /* owned */
	size_t sample;
	unsigned long long line;        /* 0: an operand */
	int column;
	bool second;                    /* second mates: the file before it has the first ones */
} kh_sheet_file;

/* Files that are read one behind another: of pairs, or of single reads. */
typedef struct kh_sheet_reads {
	const char **path[2];           /* owned lists of borrowed names; [1]: as many, or none */
	size_t n, cap[2];
	bool paired;
} kh_sheet_reads;

/* Results of a sample: the first ones are written fragment by fragment, those from
 * KH_N_BY_FRAGMENT on when all fragments have been counted, in this order. */
enum kh_result {
	KH_RESULT_LINES,
	KH_RESULT_PAF,                  /* where reads lie in the references */
	KH_RESULT_CANDIDATES,           /* what a volume says, for a join */
	KH_RESULT_SAM,                  /* the same, with the reads */
	KH_RESULT_CLASSIFIED,           /* reads, or first mates, or both mates */
	KH_RESULT_CLASSIFIED_2,         /* second mates, if they go to files of their own */
	KH_RESULT_UNCLASSIFIED,
	KH_RESULT_UNCLASSIFIED_2,
	KH_RESULT_CLASSIFIED_SINGLE,    /* single reads beside pairs, if these have two files */
	KH_RESULT_UNCLASSIFIED_SINGLE,
	KH_N_BY_FRAGMENT,
	KH_RESULT_REPORT = KH_N_BY_FRAGMENT,
	KH_RESULT_PROFILE,
	KH_RESULT_PAGE,
	KH_RESULT_SUMMARY,              /* last: where it is, all others are */
	KH_N_RESULTS
};

typedef struct kh_sheet_sample {
	char *name;                     /* owned; NULL: of operands */
	unsigned long long line;        /* its first row */
	bool control;                   /* a negative control, as one of its rows says */
	double concentration;           /* of DNA, in any unit; 0: not known, or a control */
	kh_sheet_reads *reads;          /* pairs, single reads, ... as rows change between them */
	size_t n_reads, cap;
	char *path[KH_N_RESULTS];       /* owned; NULL: this result is not wanted */
} kh_sheet_sample;

typedef struct kh_sheet {
	kh_sheet_sample *v;             /* in the order of their first rows */
	size_t n, cap;
	kh_sheet_file *file;
	size_t n_files, cap_files;
	kh_numbers numbers;             /* of samples, by name */
	unsigned long long interleaved; /* the first line that says so of its reads; 0: none */
} kh_sheet;

void kh_sheet_clear(kh_sheet *s);

/* Adds a sample; NULL: no memory. */
kh_sheet_sample *kh_sheet_add(kh_sheet *s, const char *name, kh_err *err);
/* Adds to its reads those of a file, or, if path[1] is not empty, pairs of two files; where: line
 * and column of the first one. */
int kh_sheet_add_reads(kh_sheet *s, kh_sheet_sample *x, const kh_span path[2],
		       const kh_sheet_file where[2], kh_err *err);
/* Of a sheet that was made of operands: fails if a stream, as a FIFO, is named twice, if a file is
 * named twice for a sample, by whatever names, as its reads would count twice, and if a file of
 * second mates is a copy of that of the first ones. */
int kh_sheet_check_operands(const kh_sheet *s, kh_err *err);

/* All errors in rows are added to `errs`. */
int kh_sheet_parse(kh_sheet *s, kh_tsv *tsv, kh_errs *errs, kh_err *err);
/* The same of a file, plain or gz, and then notes which of the reads cannot be opened, or are named
 * twice. */
int kh_sheet_load(kh_sheet *s, const char *path, kh_errs *errs, kh_err *err);

/* May a sample have this name? Names of files begin with it. */
bool kh_sheet_is_name(kh_span s);

#endif
