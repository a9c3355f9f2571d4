/*
 * columns.h - tables whose first row says what their columns are, between tabs or commas
 *
 * They come from spreadsheets and from other programs, so a column is found by its name, and those
 * that are not asked for are passed over.
 */
#ifndef KH_TAXONOMY_COLUMNS_H
#define KH_TAXONOMY_COLUMNS_H

#include "base/errs.h"
#include "taxonomy/tsv.h"

enum { KH_COLUMNS_MAX = 256 };

typedef struct kh_columns {
	char between;                   /* columns: a tab or a comma */
	int n;                          /* of the row that was split last; -1: it cannot be */
	kh_span v[KH_COLUMNS_MAX];      /* these, less blanks around them; borrowed from the row */
} kh_columns;

/* Splits the first row, which tells what stands between columns; '#' and blanks in front of it are
 * no part of it.  What is wrong goes to `errs`. */
int kh_columns_first(kh_columns *c, const kh_tsv *tsv, kh_span row, kh_errs *errs, kh_err *err);
/* Another row.  Quotation marks around a column are no part of it; where commas are between
 * columns, one between quotation marks is a character. */
int kh_columns_split(kh_columns *c, const kh_tsv *tsv, kh_span row, kh_errs *errs, kh_err *err);
/* The first column that is one of these words, small or capital, which end with NULL, or -1. */
int kh_columns_find(const kh_columns *c, const char *const *words);

#endif
