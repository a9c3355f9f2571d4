/*
 * registers.h - the counters of distinct features of a sample, as a text that can be merged
 *
 * A report has estimates of how many distinct features there were, and estimates of two samples
 * do not add up: the samples may share features.  The registers that the estimates are made of do:
 * the greater one of two counters stands for both.
 *
 *	#kmerhash-distinct <tab> 1 <tab> 4096 <tab> SCHEME <tab> K <tab> S
 *	TAXID <tab> FEATURES <tab> 4096 registers, each as the character '0' + its value
 *
 * A row for each taxon that fragments were called; features are those found, with repeats.
 */
#ifndef KH_RUN_REGISTERS_H
#define KH_RUN_REGISTERS_H

#include "base/buf.h"
#include "classify/distinct.h"
#include "kmer/sampling.h"
#include "taxonomy/taxonomy.h"
#include "taxonomy/tsv.h"

/* Appends the text to b. To be called before clades are summed up (kh_report). */
int kh_registers_write(kh_buf *b, const kh_distinct *d, const kh_taxonomy *tax,
		       const kh_sampling *sampling, kh_err *err);

/* A text, and where its rows go. */
typedef struct kh_registers_input {
	const char *path;               /* for messages */
	kh_read_fn *read;
	void *arg;
	/* The number in d of a taxid, or KH_NO_TAXON: that is an error. */
	uint32_t (*find)(const void *of, uint32_t taxid);
	const void *of;
} kh_registers_input;

/* Joins the counters of the text to those of d. *sampling says how features were sampled in the
 * first text (k = 0: none was read yet); others must have the same. */
int kh_registers_read(kh_distinct *d, const kh_registers_input *in, kh_sampling *sampling,
		      kh_err *err);

#endif
