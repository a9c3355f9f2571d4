/*
 * open.h - from names of files to the sheet of a run: the one way in, for the command, the links,
 * the library and its Python module
 *
 * What is read and what is written are compared by device and inode before anything is read or
 * written, so a run never replaces its reads, its table of samples or its database, and no reads
 * count twice.
 */
#ifndef KH_RUN_OPEN_H
#define KH_RUN_OPEN_H

#include "io/paths.h"
#include "run/sheet.h"

typedef struct kh_open_options {
	const char *const *db;          /* n_db databases, each a file, or a folder */
	size_t n_db;
	const char *const *join;        /* n_join files of candidates */
	size_t n_join;
	const char *table;              /* of samples; NULL: reads are operands: */
	const char *const *reads;
	size_t n_reads;
	bool two;                       /* they come in twos: mates 1, mates 2 */
	const char *page;               /* a file that is written beside the results; or NULL */
	/* Sets path[] of a sample: what is wanted of it.  NULL: nothing is written. */
	int (*name)(void *arg, kh_sheet_sample *x, kh_err *err);
	void *arg;
} kh_open_options;

/* Fills the sheet (zero it first; to be cleared even if this fails).  What is wrong with a table
 * and with the files that it names is added to `errs`; what is wrong with operands is the error. */
int kh_open_sheet(kh_sheet *s, const kh_open_options *o, kh_errs *errs, kh_err *err);

/* Fails if an output is a file of this database. */
int kh_open_check_database(const kh_paths *p, const char *db, kh_err *err);

#endif
