/*
 * columns.h - tables with a header row, columns separated by tabs or commas
 *
 * They come from spreadsheets and from other programs, so columns are found by name, and others are
 * skipped.  Example: "sample,reads,age" has the column "reads" at 1.
 */
#ifndef KH_TAXONOMY_COLUMNS_H
#define KH_TAXONOMY_COLUMNS_H

#include "base/errs.h"
#include "taxonomy/tsv.h"

enum { KH_COLUMNS_MAX = 256 };

typedef struct kh_columns {
	char between;                   /* the separator: a tab or a comma */
	int n;                          /* columns of the last row; -1: it could not be split */
	kh_span v[KH_COLUMNS_MAX];      /* the columns without blanks; borrowed from the row */
} kh_columns;

/* Splits the first row, without '#' and blanks in front of it.  If it has a tab, tabs separate the
 * columns, else commas.  Errors in the row go to `errs`. */
int kh_columns_first(kh_columns *c, const kh_tsv *tsv, kh_span row, kh_errs *errs, kh_err *err);
/* Splits another row.  Quotation marks around a column are removed; in a table with commas, a comma
 * between quotation marks does not separate columns. */
int kh_columns_split(kh_columns *c, const kh_tsv *tsv, kh_span row, kh_errs *errs, kh_err *err);
/* The number of the first column that is one of `words`, in either case, or -1; NULL ends these. */
int kh_columns_find(const kh_columns *c, const char *const *words);

#endif
