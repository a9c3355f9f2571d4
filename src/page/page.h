/*
 * page.h - the result of classify as one web page that needs nothing but itself
 *
 * The page is a template (page.html with the style and the scripts beside it, all compiled into
 * the program) and the data as one block of JSON, which README.md describes.  Sums
 * over clades and all that is drawn are made in the browser, so that the same function serves one
 * sample and many, from a run or from reports.
 *
 * No text of the data can end the block: each '<' is written as \u003c, and the scripts put
 * names into the page as text only.
 *
 * Example: a sample with a taxon "</script>": the page has "\u003c/script>" in its data, and the
 * reader sees the name.
 */
#ifndef KH_PAGE_H
#define KH_PAGE_H

#include <stdbool.h>
#include "run/format.h"
#include "sample/coverage.h"

/* Taxa in preorder: a parent stands before its children; [0] is the root. */
typedef struct kh_page_taxon {
	uint32_t taxid, parent;         /* parent: its place in the array */
	const char *name;
	const char *rank;               /* "species", or the code of a report: "S", "S1" */
} kh_page_taxon;

/* A column of the table beside the counts: what a profile found of each taxon. */
typedef struct kh_page_column {
	const char *key;                /* the page knows "detected", "first" and "why" */
	const char *label, *help;       /* help may be NULL */
	enum { KH_PAGE_NUMBER, KH_PAGE_PERCENT, KH_PAGE_TEXT } kind;
	unsigned digits;                /* digits behind the point */
	bool detail;                    /* shown for the chosen taxon only, not in the table */
} kh_page_column;

/* What is known of one taxon: a value a column. */
typedef union kh_page_value {
	double number;                  /* NaN: not known; percent: 0 to 1 */
	const char *text;               /* NULL: not known */
} kh_page_value;

typedef struct kh_page_row {
	size_t taxon;
	const kh_page_value *value;
} kh_page_row;

typedef struct kh_page_sample {
	const char *name;
	const uint64_t *direct;         /* for each taxon: reads called just that */
	uint64_t unclassified;
	/* NULL, or a command that takes out the reads that the first pass called a taxon: three
	 * texts, each ended by a NUL; between them stands its taxid */
	const char *readout;
	const kh_page_row *row;         /* of taxa of which something is known */
	size_t n_rows;
	/* where the reads of species lie, and how near they are to its references */
	const kh_covered *coverage;
	size_t n_coverage;
} kh_page_sample;

/* A line of the section on the run. */
typedef struct kh_page_fact {
	const char *label, *value;
	bool code;                      /* set in a monospaced font */
} kh_page_fact;

typedef struct kh_page {
	const char *title;              /* NULL: the sample's name, or how many there are */
	const char *unit;               /* "reads", "pairs" */
	const kh_page_taxon *taxon;
	size_t n_taxa;                  /* at least 1; without reads and words they are left out */
	const kh_page_sample *sample;
	size_t n_samples;               /* at least 1 */
	const kh_page_column *column;
	size_t n_columns;
	/* NULL: no sample has coverage; else the database that it is of, whose taxa are those of
	 * the page, and the k of its features */
	const kh_db *db;
	uint32_t k;
	const kh_page_fact *fact;
	size_t n_facts;
	const struct kh_page_known *known;      /* the taxa of the database: known.h; or NULL */
} kh_page;

/* Appends the whole page to b.  Control characters, and bytes that are no UTF-8, become `\xHH`. */
int kh_page_write(kh_buf *b, const kh_page *p, kh_err *err);

/* The taxa of a database, numbered alike; names are borrowed.  To be freed by free(). */
kh_page_taxon *kh_page_taxa(const kh_taxonomy *tax, kh_err *err);

#endif
