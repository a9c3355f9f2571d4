/*
 * registers.h - the counters of distinct features of a sample, as a text that can be merged
 *
 * A report has estimates of how many distinct features there were, and estimates of two samples
 * do not add up: the samples may share features.  The registers that the estimates are made of do:
 * the greater one of two counters stands for both.
 *
 *	#kmerhash-distinct <tab> 2 <tab> 4096 <tab> SCHEME <tab> K <tab> S <tab> SHARE <tab> REPEATS
 *		<tab> REFERENCES
 *	TAXID <tab> FEATURES <tab> 4096 registers, each as the character '0' + its value
 *
 * A row for each taxon that has one in the report and whose features were found; features are those
 * with repeats.  What they are of is in the first line: SHARE is 2^32 times the share of features
 * that the database has, REPEATS 1 if it keeps tandem repeats, REFERENCES the digest of its
 * sequences.  Counters of other features do not add up.
 */
#ifndef KH_RUN_REGISTERS_H
#define KH_RUN_REGISTERS_H

#include "base/buf.h"
#include "db/db.h"
#include "run/report.h"
#include "taxonomy/tsv.h"

/* What features are counted. */
typedef struct kh_features_of {
	uint32_t scheme, k, s, share, repeats;
	uint64_t references;
} kh_features_of;

/* Appends the text to b. To be called before clades are summed up (kh_report).  What was found for
 * a taxon that has lost all its reads in the second pass goes to the nearest taxon above it with
 * reads in its clade, as in the report. */
int kh_registers_write(kh_buf *b, const kh_tally *t, const kh_taxonomy *tax,
		       const kh_db_header *h, kh_err *err);

/* A text, and where its rows go. */
typedef struct kh_registers_input {
	const char *path;               /* for messages */
	kh_read_fn *read;
	void *arg;
	/* The number in d of a taxid, or KH_NO_TAXON: that is an error. */
	uint32_t (*find)(const void *of, uint32_t taxid);
	const void *of;
} kh_registers_input;

/* Joins the counters of the text to those of d. *of says what the features of the first text were
 * (k = 0: none was read yet); others must be of the same. */
int kh_registers_read(kh_distinct *d, const kh_registers_input *in, kh_features_of *of,
		      kh_err *err);

#endif
