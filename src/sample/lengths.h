/*
 * lengths.h - how long the genome of a species is
 *
 * A database has sequences with taxa, not genomes.  Neighbouring sequences of one taxon with
 * consecutive accessions are taken for one genome: contigs of an assembly, or chromosomes that were
 * deposited together.  Example: NC_001133.9, NC_001134.8 and NC_001135.5 are one genome.  The
 * length of a species is that of the longest genome in its clade.
 */
#ifndef KH_SAMPLE_LENGTHS_H
#define KH_SAMPLE_LENGTHS_H

#include <stdbool.h>
#include "classify/class.h"
#include "db/db.h"

/* Is `b` the accession after `a`: the same letters, and a number that is one greater? */
bool kh_numbered_on(const char *a, const char *b);

/* Sets length[taxon] of species, in intervals (classify/class.h), at least 2; 2 of other taxa. */
void kh_species_intervals(const kh_db *db, uint64_t *length);

/* Sets part[taxon]: is the species shorter than a genome of its domain can be, or than a tenth of
 * its relatives' mean, so that its references are a plasmid or a fragment?  `length` as above. */
int kh_species_parts(const kh_db *db, const uint64_t *length, bool *part, kh_err *err);

#endif
