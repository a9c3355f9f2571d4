/*
 * lengths.h - how long the genome of a species is
 *
 * A database knows sequences and their taxa, not genomes.  Sequences that follow one another in
 * it, of one taxon, whose accessions are numbered on, are taken for one genome: contigs of an
 * assembly, or chromosomes that were deposited together.  The length of a species is that of
 * the longest genome in its clade.
 */
#ifndef KH_SAMPLE_LENGTHS_H
#define KH_SAMPLE_LENGTHS_H

#include <stdbool.h>
#include "classify/class.h"
#include "db/db.h"

/* Is `b` the accession behind `a`: the same but for a number that is one greater? */
bool kh_numbered_on(const char *a, const char *b);

/* length[taxon], in stretches (classify/class.h), at least 2: for species; 2 for other taxa. */
void kh_species_stretches(const kh_db *db, uint64_t *length);

/* part[taxon]: are the references of this species part of a genome only, a plasmid or a fragment,
 * as their length says?  `length` as above. */
int kh_species_parts(const kh_db *db, const uint64_t *length, bool *part, kh_err *err);

#endif
