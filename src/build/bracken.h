/*
 * bracken.h - makes the tables that Bracken needs: which calls the N-mers of a database's own
 * references get
 *
 *	blocks of sequence -> pieces, with N - 1 bases more -> N-mers of each length -> calls ->
 *	counts by genome and call
 *
 * Bracken itself makes these tables from the taxon that Kraken gives each k-mer of the references,
 * to which it applies Kraken's rule for reads.  Here each N-mer is classified as a read of N bases.
 *
 * Example: N 150, step 50; a genome of E. coli with 1000 bases has 18 N-mers, from 0, 50, ... 850
 * on.  If 15 of them are called E. coli and 3 Escherichia, Bracken takes it that 3 in 18 reads of
 * this genome are called Escherichia.
 */
#ifndef KH_BUILD_BRACKEN_H
#define KH_BUILD_BRACKEN_H

#include "build/bracken_counts.h"
#include "classify/compute.h"

typedef struct kh_distrib_options {
	const char *const *refs;        /* files, in any order */
	size_t n_refs;
	const uint32_t *length;         /* n_lengths: the Ns, each at least k and once */
	unsigned n_lengths;
	uint32_t step;                  /* an N-mer begins at each multiple of it in a sequence */
	const kh_rule *rule;
	const kh_devices *on;
	size_t block_size;              /* bytes of text a worker takes at a time; 0: what suits */
	bool allow_no_eof;
} kh_distrib_options;

typedef struct kh_distrib_summary {
	uint64_t sequences, nmers, classified;
	uint64_t calls;                 /* N-mers that were classified one by one */
	double seconds;
} kh_distrib_summary;

/* counts: n_lengths of them, zeroed, to be cleared by the caller. */
int kh_distrib(kh_pair_counts *counts, const kh_db *db, const kh_distrib_options *o,
	       kh_distrib_summary *sum, kh_err *err);

#endif
