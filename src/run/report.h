/*
 * report.h - tables over taxa: kraken-style reports of 6 and 8 columns, mpa style
 */
#ifndef KH_RUN_REPORT_H
#define KH_RUN_REPORT_H

#include <stdbool.h>
#include "run/format.h"
#include "classify/distinct.h"
#include "taxonomy/taxonomy.h"

/* What a run has counted. */
typedef struct kh_tally {
	uint32_t n;                     /* taxa */
	uint64_t *direct;               /* n: fragments called just that */
	uint64_t *bases;                /* n: of these fragments; NULL: not wanted */
	uint64_t unclassified;
	kh_distinct distinct;           /* by taxon called; .n == 0: not wanted */
} kh_tally;

int kh_tally_init(kh_tally *t, uint32_t n_taxa, bool distinct, kh_err *err);
/* From now on their bases are counted, too. */
int kh_tally_want_bases(kh_tally *t, kh_err *err);
void kh_tally_clear(kh_tally *t);
int kh_tally_add(kh_tally *sum, const kh_tally *t, kh_err *err);

/* Fragments that get another call when a sample has been read, and the counts that follow. */
typedef struct kh_moves {
	kh_tally *tally;
	uint64_t *direct;               /* by taxon: fragments without a class */
	uint64_t changed;               /* fragments */
	int64_t classified;             /* how many more are classified; below 0: fewer */
} kh_moves;
/* n fragments get a call in place of another one; KH_NO_TAXON: none. */
void kh_moves_add(kh_moves *m, uint32_t from, uint32_t to, uint64_t n);

/* Rows are indented by so many levels at most; a warning tells of deeper ones. */
enum { KH_REPORT_LEVELS = 1000 };

typedef struct kh_report_options {
	bool zero_counts;               /* rows of taxa without fragments, too */
	bool taxa_only;                 /* no row of what is unclassified */
	bool minimizer_data;            /* 8 columns; needs t->distinct */
	bool mpa;                       /* lineage and count */
	bool plain;                     /* names as they are, and no row for an empty root */
} kh_report_options;

/* Appends the whole table to b.  Sums clades: distinct of t are joined upward. */
int kh_report(kh_buf *b, const kh_taxonomy *tax, kh_tally *t, const kh_report_options *o,
	      kh_err *err);

#endif
