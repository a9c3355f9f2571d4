/*
 * report.h - tables over taxa: kraken-style reports of 6 and 8 columns, mpa style
 */
#ifndef KH_REPORT_H
#define KH_REPORT_H

#include <stdbool.h>
#include "format.h"
#include "sketches.h"
#include "taxonomy.h"

/* What a run has counted. */
typedef struct kh_tally {
	uint32_t n;                     /* taxa */
	uint64_t *direct;               /* n: fragments called just that */
	uint64_t unclassified;
	kh_sketches sketches;           /* by taxon called; .n == 0: not wanted */
} kh_tally;

int kh_tally_init(kh_tally *t, uint32_t n_taxa, bool sketches, kh_err *err);
void kh_tally_clear(kh_tally *t);
int kh_tally_add(kh_tally *sum, const kh_tally *t, kh_err *err);

typedef struct kh_report_options {
	bool zero_counts;               /* rows of taxa without fragments, too */
	bool minimizer_data;            /* 8 columns; needs t->sketches */
	bool mpa;                       /* lineage and count */
} kh_report_options;

/* Appends the whole table to b.  Sums clades: sketches of t are joined upward. */
int kh_report(kh_buf *b, const kh_taxonomy *tax, kh_tally *t, const kh_report_options *o,
	      kh_err *err);

#endif
