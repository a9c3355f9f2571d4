/*
 * bracken_counts.h - N-mers of genomes by what they were called, and the table that Bracken reads
 *
 * A genome is a taxon that sequences of the database have.  The table has a line for each taxon
 * called (0: unclassified N-mers), and in it, for each genome that has such N-mers, their number
 * and the number of all N-mers of the genome.  Bracken's own programs write lines and genomes in
 * the order in which they first meet them, sequence by sequence.  To write the same order,
 * whichever thread counted what, each count keeps the number of the first sequence that has such
 * an N-mer.
 */
#ifndef KH_BUILD_BRACKEN_COUNTS_H
#define KH_BUILD_BRACKEN_COUNTS_H

#include "base/buf.h"
#include "base/numbers.h"
#include "taxonomy/taxonomy.h"

typedef struct kh_pair_count {
	uint32_t genome, called;        /* preorder numbers; KH_NO_TAXON: not classified */
	uint64_t n;                     /* N-mers */
	uint64_t first;                 /* number of the first sequence that has one */
} kh_pair_count;

/* Zero it first. */
typedef struct kh_pair_counts {
	kh_pair_count *v;
	size_t n, cap;
	kh_numbers numbers;             /* of these, by genome and call */
} kh_pair_counts;

/* Adds x, whose n is not 0, to the count of its genome and call. */
int kh_pair_counts_add(kh_pair_counts *c, const kh_pair_count *x, kh_err *err);
void kh_pair_counts_clear(kh_pair_counts *c);

/* Appends the whole table to b, as databaseNmers.kmer_distrib has it. */
int kh_kmer_distrib(kh_buf *b, const kh_pair_counts *c, const kh_taxonomy *tax, kh_err *err);

#endif
