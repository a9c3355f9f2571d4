/*
 * lineage.h - a taxonomy made of lineages, as GTDB, SILVA and others publish theirs
 *
 *	GB_GCA_000008085.1 <tab> d__Archaea;p__Nanoarchaeota;...;s__Nanoarchaeum equitans
 *
 * Each prefix of a lineage is a taxon.  Its number must be the same in every database, or reports
 * could not be compared.  So the number is a hash of the taxon's path, which is the parts from the
 * root to it without empty ones, joined by ';':
 *
 *	2 + FNV-1a(path) mod (2^31 - 2)         (FNV-1a of 64 bits)
 *
 * Example: d__Archaea is 1433201042, d__Archaea;p__Nanoarchaeota is 504156565.  If two paths have
 * one number, the first in the order of bytes keeps it, and the other takes the next higher free
 * number (after the highest comes 2).  A hundred thousand taxa have two or three such pairs; all
 * others keep their numbers whatever else is in the table.
 *
 * Beside a taxonomy of dump files, a taxon that the dump has, too, takes its number there, and no
 * other taxon takes a number of the dump.  The taxon keeps its place in the dump.  A lineage may
 * skip ranks, but a parent in it that is not above the taxon in the dump is an error; or, on
 * request, becomes the taxon's parent, as GTDB's tree differs from NCBI's.
 */
#ifndef KH_TAXONOMY_LINEAGE_H
#define KH_TAXONOMY_LINEAGE_H

#include <stdint.h>
#include "base/errs.h"
#include "taxonomy/seqid.h"
#include "taxonomy/taxonomy.h"
#include "taxonomy/tsv.h"

typedef struct kh_lineages kh_lineages;

int kh_lineages_new(kh_lineages **l, kh_err *err);
void kh_lineages_free(kh_lineages *l);

/* One lineage: parts separated by ';', root-most first.  All have the letter of their rank and two
 * underscores in front (d k p c o f g s, t for a strain), or none has.  k__ before the name of a
 * domain is read as d__.  Without letters, the last part is the species, unless a ';' follows it
 * and there are fewer than seven.  The others of up to seven parts are domain, phylum, class,
 * order, family and genus, in this order.  Of more parts the first is the domain, and those between
 * have no rank; nor have those of any other lineage in that domain.  A taxon that lineages give two
 * ranks has none.  A species with its epithet only, as s__coli, gets the name of its genus in
 * front.  Errors go to `errs`. */
typedef struct kh_lineage_row {
	const char *file;               /* for messages, until kh_lineages_finish */
	unsigned long long line;
	kh_span id, lineage;            /* id.p NULL: the lineage is from a header line */
	bool closed;                    /* as if a ';' followed the last part */
} kh_lineage_row;
int kh_lineages_add(kh_lineages *l, const kh_lineage_row *row, kh_errs *errs, kh_err *err);

/* The lineage in the header line of a record, without '>', or none (n is 0).  The forms are
 *	ID blanks LINEAGE                       SILVA
 *	NAME|...|LINEAGE                        UNITE
 *	LINEAGE                                 sets for DADA2: *closed; without '='
 * A lineage has at least one ';'. */
kh_span kh_lineages_in_header(kh_span header, bool *closed);

/* Adds the rows of a table: id, tab, lineage; or the columns of id and lineage that a header names,
 * as GTDB's tables of metadata and GTDB-Tk's results have. */
int kh_lineages_parse(kh_lineages *l, kh_tsv *tsv, kh_errs *errs, kh_err *err);
int kh_lineages_load(kh_lineages *l, const char *path, kh_errs *errs, kh_err *err);

/* After all rows have been added: numbers the taxa, beside those of the dump unless it is NULL, and
 * finds ids with two lineages.  moves: taxa of the dump get the parents that lineages name. */
int kh_lineages_finish(kh_lineages *l, const kh_taxdump *d, bool moves, kh_errs *errs,
		       kh_err *err);

/* What kh_lineages_finish found that may be a mistake: first parts that the dump lacks, and species
 * that are new, although the dump has one of that name elsewhere. */
const kh_errs *kh_lineages_doubts(const kh_lineages *l);

/* --- of a finished one ------------------------------------------------------------ */
/* The number of the taxon of an id, or 0.  "RS_" and "GB_", which GTDB puts in front of accessions,
 * are ignored. */
uint32_t kh_lineages_taxid(const kh_lineages *l, const char *id, size_t len);
/* The number of the taxon whose lineage a header line has, or 0. */
uint32_t kh_lineages_header_taxid(const kh_lineages *l, const char *header, size_t len);
/* Makes a taxonomy of the taxa, to be closed by kh_taxdump_close; or, if *d is the dump that they
 * were numbered beside, adds them to it. */
int kh_lineages_taxdump(const kh_lineages *l, kh_taxdump **d, kh_err *err);
/* Finds the taxa of another tree by their paths: number[i] becomes the number here of the path of
 * taxon i of t, or 0 if there is none.  The taxid in t may be another one: two paths may share a
 * hash, and the path that keeps it may be in this tree only. */
int kh_lineages_numbers(const kh_lineages *l, const kh_taxonomy *t, uint32_t *number,
			kh_err *err);
/* Finds the taxa of a tree that were made of lineages: sets made[i], of t->n that are 0 before. */
enum kh_made {
	KH_MADE_ELSE,
	KH_MADE_BELOW,          /* it lies below a KH_MADE_OF_PATH */
	KH_MADE_OF_PATH         /* its number is the hash of its path */
};
int kh_lineages_made(const kh_taxonomy *t, uint8_t *made, kh_err *err);
/* Enters the taxids of ids into a map of sequences. */
int kh_lineages_map(const kh_lineages *l, kh_idmap *m, kh_err *err);

#endif
