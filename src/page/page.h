/*
 * page.h - the result of classify as one web page in one file
 *
 * The page is a template (page.html with the style and the scripts beside it, all compiled into
 * the program) and the data as one block of JSON, which README.md describes.  The browser sums over
 * clades and draws, so that the same function serves one sample and many, from a run or from
 * reports.
 *
 * Example: a sample with 70 reads called E. coli and 5 called Escherichia has the taxids
 * [1, 561, 562], the parents [0, 0, 1] and direct [0, 5, 70]; the page shows 75 reads for
 * Escherichia.
 *
 * No text of the data can end the block: each '<' is written as \u003c, and the scripts put
 * names into the page as text only.  A taxon "</script>" is "\u003c/script>" in the data, and the
 * reader sees its name.
 */
#ifndef KH_PAGE_H
#define KH_PAGE_H

#include <stdbool.h>
#include "run/format.h"
#include "sample/coverage.h"

/* Taxa in preorder: a parent comes before its children; [0] is the root. */
typedef struct kh_page_taxon {
	uint32_t taxid, parent;         /* parent: its place in the array */
	const char *name;
	const char *rank;               /* "species", or the code of a report: "S", "S1" */
} kh_page_taxon;

/* A column of the table beside the counts: a result of a profile for each taxon. */
typedef struct kh_page_column {
	const char *key;                /* the page uses some by name: README.md, `values` */
	const char *label, *help;       /* help may be NULL */
	enum { KH_PAGE_NUMBER, KH_PAGE_PERCENT, KH_PAGE_TEXT } kind;
	unsigned digits;                /* after the decimal point */
	bool detail;                    /* shown for the chosen taxon only, not in the table */
} kh_page_column;

/* The value of a column for a taxon. */
typedef union kh_page_value {
	double number;                  /* NaN: not known; of KH_PAGE_PERCENT, 0 to 1 */
	const char *text;               /* NULL: not known */
} kh_page_value;

typedef struct kh_page_row {
	size_t taxon;
	const kh_page_value *value;     /* one a column */
} kh_page_row;

typedef struct kh_page_sample {
	const char *name;
	const uint64_t *direct;         /* by taxon: reads called it, without those below */
	uint64_t unclassified;
	/* NULL, or a command that extracts the reads that the first pass called a taxon: three
	 * texts, each ended by a NUL; the taxid goes between them */
	const char *readout;
	const kh_page_row *row;         /* of taxa with values */
	size_t n_rows;
	/* places of the reads of species, and their identity to its references */
	const kh_covered *coverage;
	size_t n_coverage;
} kh_page_sample;

/* A line of the section on the run. */
typedef struct kh_page_fact {
	const char *label, *value;
	bool code;                      /* set in a monospaced font */
} kh_page_fact;

typedef struct kh_page {
	const char *title;              /* NULL: the sample's name, or the number of samples */
	const char *unit;               /* "reads", "pairs" */
	const kh_page_taxon *taxon;
	size_t n_taxa;                  /* at least 1; without reads or texts they are left out */
	const kh_page_sample *sample;
	size_t n_samples;               /* at least 1 */
	const kh_page_column *column;
	size_t n_columns;
	/* NULL: no sample has coverage; else the database that was searched, with the page's taxa,
	 * and the k of the k-mers whose shares `coverage` has */
	const kh_db *db;
	uint32_t k;
	const kh_page_fact *fact;
	size_t n_facts;
	const struct kh_page_known *known;      /* the taxa of the database: known.h; or NULL */
} kh_page;

/* Appends the page to b.  Control characters, and bytes that are not UTF-8, become `\xHH`. */
int kh_page_write(kh_buf *b, const kh_page *p, kh_err *err);

/* The taxa of a database, with the same numbers; names are borrowed.  To be freed by free(). */
kh_page_taxon *kh_page_taxa(const kh_taxonomy *tax, kh_err *err);

#endif
