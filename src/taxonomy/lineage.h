/*
 * lineage.h - a taxonomy made of lineages, which is how GTDB, SILVA and others publish theirs
 *
 *	GB_GCA_000008085.1 <tab> d__Archaea;p__Nanoarchaeota;...;s__Nanoarchaeum equitans
 *
 * Each prefix of a lineage is a taxon.  Numbers must be the same in every database that knows
 * the taxon, or reports could not be compared; so a taxon's number is a hash of its path, which
 * is the parts from the root to it less empty ones, joined by ';':
 *
 *	2 + FNV-1a(path) mod (2^31 - 2)         (FNV-1a of 64 bits)
 *
 * Of two paths with one number, that which is first in the order of bytes keeps it, and the other
 * takes the next higher number that is free (from the highest on to 2).  A hundred thousand taxa
 * have two or three such pairs; all others keep their numbers whatever else is in the table.
 *
 * Beside a taxonomy of dump files, a taxon that this has, too, has its number, and numbers of the
 * dump are not free for others.  Such a taxon keeps its place there, and lineages may skip ranks;
 * one that names a parent which is not above the taxon there is an error.  Or, if the caller says
 * so, its parent becomes the one in the lineage, as GTDB's tree differs from NCBI's.
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

/* One lineage: parts between ';', each with the letter of its rank and two underscores in front
 * (d k p c o f g s, t for a strain), root-most rank first, or all without.  k__ in front of the
 * name of a domain is d__.  Of parts without letters, the last is the species, unless a ';' stands
 * behind it; of up to seven the others are domain, phylum, class, order, family and genus, in this
 * order; of more the first is the domain, and then all others below such a domain have no rank, in
 * whatever lineage they are.  A taxon that lineages give two ranks has none.  A species that is
 * called by its epithet, as s__coli, gets the name of its genus in front.  What is wrong goes to
 * `errs`. */
typedef struct kh_lineage_row {
	const char *file;               /* for messages, until kh_lineages_finish */
	unsigned long long line;
	kh_span id, lineage;            /* id.p NULL: it is that of a header line */
	bool closed;                    /* as if a ';' stood behind the last part */
} kh_lineage_row;
int kh_lineages_add(kh_lineages *l, const kh_lineage_row *row, kh_errs *errs, kh_err *err);

/* The lineage in the header line of a record, '>' left out, or none (n is 0), in one of the forms
 *	ID blanks LINEAGE                       SILVA, Greengenes
 *	NAME|...|LINEAGE                        UNITE
 *	LINEAGE                                 sets for DADA2: *closed; without '='
 * so it has a ';' at least. */
kh_span kh_lineages_in_header(kh_span header, bool *closed);

/* The rows of a table: id, tab, lineage; or those of its columns that its first row calls so, as
 * GTDB's tables of metadata and GTDB-Tk's results do. */
int kh_lineages_parse(kh_lineages *l, kh_tsv *tsv, kh_errs *errs, kh_err *err);
int kh_lineages_load(kh_lineages *l, const char *path, kh_errs *errs, kh_err *err);

/* To be called when all rows have been added: numbers the taxa, beside those of the dump unless it
 * is NULL, and finds ids that have two lineages.  moves: taxa of the dump get the parents that
 * lineages name. */
int kh_lineages_finish(kh_lineages *l, const kh_taxdump *d, bool moves, kh_errs *errs,
		       kh_err *err);

/* --- of a finished one ------------------------------------------------------------ */
/* The number of the taxon of an id, or 0.  GTDB's "RS_" and "GB_" in front of an accession are
 * no part of an id. */
uint32_t kh_lineages_taxid(const kh_lineages *l, const char *id, size_t len);
/* The number of the taxon whose lineage a header line has, or 0. */
uint32_t kh_lineages_header_taxid(const kh_lineages *l, const char *header, size_t len);
/* The same taxa as a taxonomy, to be closed by kh_taxdump_close; or, if *d is the dump that they
 * were numbered beside, added to that. */
int kh_lineages_taxdump(const kh_lineages *l, kh_taxdump **d, kh_err *err);
/* The taxa of another tree by their paths: number[i] becomes the number that taxon i of t has here,
 * 0 if there is no such path.  Its taxid there may be another one, as of two paths with one number
 * the lesser keeps it, and that may be known only here. */
int kh_lineages_numbers(const kh_lineages *l, const kh_taxonomy *t, uint32_t *number,
			kh_err *err);
/* Which taxa of a tree were made of lineages: made[i], of t->n that are 0 before. */
enum kh_made {
	KH_MADE_ELSE,
	KH_MADE_BELOW,          /* it lies below one of these */
	KH_MADE_OF_PATH         /* its number is that of its path */
};
int kh_lineages_made(const kh_taxonomy *t, uint8_t *made, kh_err *err);
/* Enters the taxids of ids into a map of sequences. */
int kh_lineages_map(const kh_lineages *l, kh_idmap *m, kh_err *err);

#endif
