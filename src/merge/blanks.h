/*
 * blanks.h - the taxa that samples share with their negative controls
 *
 * A control, as a blank of the extraction or of the library, has what comes from reagents and from
 * other samples.  A species of a sample is as in the blank unless its share of the sample's reads
 * is greater than its share of the reads of all controls together, by a one-sided exact test: if
 * both shares were the same, each of the x reads of it in the sample and the y in the controls
 * would be the sample's with the chance n / (n + m), where the sample has n reads and the controls
 * have m.  So x would follow the binomial distribution B(x + y, n / (n + m)).  Of the tests of a
 * table those are believed of which one in twenty is wrong (Benjamini and Hochberg).
 *
 * What comes from reagents is about as much in each sample, so its share f of a sample's reads is
 * the less, the more DNA the sample has: log f = a - log c, where a taxon of the sample's own has
 * log f = a, on average.  Where concentrations c are known, both lines are fitted to the samples
 * that have the species and are no controls; the F distribution says how much better the first one
 * fits, as decontam's frequency method does (Davis et al., Microbiome 6:226, 2018).
 */
#ifndef KH_MERGE_BLANKS_H
#define KH_MERGE_BLANKS_H

#include "merge/table.h"

enum kh_merge_blank_verdict {
	KH_MERGE_NO_BLANK,              /* there is no control, or none has a read */
	KH_MERGE_NOT_IN_BLANK,          /* no control has it: not tested */
	KH_MERGE_AS_IN_BLANK,
	KH_MERGE_MORE_THAN_IN_BLANK
};
const char *kh_merge_blank_name(enum kh_merge_blank_verdict v);

/* A species of a sample that is not a control. */
typedef struct kh_merge_blank {
	uint32_t taxon, sample;
	enum kh_merge_blank_verdict verdict;
	uint64_t reads, control;        /* of the sample, and of all controls */
	double rate, control_rate;      /* the same of a million of their reads */
	double p, q;                    /* if it was tested */
	double by_frequency;            /* of the species; NaN: too few concentrations */
} kh_merge_blank;

/* The chance that x or more of n are one kind, each with the chance f, 0 < f < 1. */
double kh_merge_binomial(uint64_t x, uint64_t n, double f);
/* The chance that of two sums of squares of d degrees of freedom each the first one is a share y
 * or less of both: the F distribution at y / (1 - y). */
double kh_merge_f(double y, double d);

/* Makes m->blank of a finished table whose controls or concentrations are set; by sample, then by
 * taxon. */
int kh_merge_blanks(kh_merge *m, kh_err *err);

/* blanks_profile.c: appends to b the profile of a sample of m with its verdicts as the column
 * `blank`, or a profile without that column; *changed: it was not so before. */
int kh_merge_blanks_profile(const kh_merge *m, uint32_t sample, kh_tsv *profile, kh_buf *b,
			    bool *changed, kh_err *err);
int kh_merge_blanks_drop(kh_tsv *profile, kh_buf *b, bool *changed, kh_err *err);

#endif
