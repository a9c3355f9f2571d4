/*
 * table.h - reports or profiles of several samples as one table: taxa by samples
 *
 * A report is the tree of its taxa in preorder: a row is the child of the nearest row above it
 * that is indented less.  Reports of several samples are of one taxonomy, so their trees are
 * parts of one tree; a taxon that has two parents in two reports is an error.  Its rows are in
 * preorder, siblings by ascending taxid, whatever the order of the reports.  In a profile, a row
 * names its parent; rows without one are put below a root that has no cells.
 *
 * Example: report a has 5 reads of E. coli, b 2 of E. coli and 3 of S. enterica.  The table has
 * both genera below their family, Escherichia (561) before Salmonella (590), and no cell for S.
 * enterica in a.
 *
 * Memory depends on the rows of all reports, as a cell is kept only where a report has a row.
 */
#ifndef KH_MERGE_TABLE_H
#define KH_MERGE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/errs.h"
#include "base/msg.h"
#include "base/numbers.h"
#include "taxonomy/tsv.h"

enum { KH_MERGE_CODE = 8 };             /* bytes of a rank code, with its NUL */

typedef struct kh_merge_taxon {
	uint32_t taxid, parent;         /* parent: its number; of the root UINT32_MAX */
	uint32_t sample;                /* the sample whose report had it first, in ... */
	uint64_t line;                  /*   ... that line */
	size_t name;                    /* offset in names */
	char code[KH_MERGE_CODE];       /* "S", "G1", "" */
} kh_merge_taxon;

/* What a report, or a profile, says of one taxon.  Decimals are kept as whole numbers: reads in
 * 1/100, the others in 1/10^8. */
typedef struct kh_merge_cell {
	uint32_t taxon, sample;
	union {
		struct {
			uint64_t clade, direct;         /* reads */
		};
		struct {
			uint64_t reads : 56;
			uint64_t detected : 8;          /* enum kh_detected */
			uint32_t share, abundance;
		};
	};
} kh_merge_cell;

/* What a profile says of a taxon besides, for a page: NaN where it says nothing. */
typedef struct kh_merge_evidence {
	uint32_t taxon, sample;
	uint8_t detected;               /* enum kh_detected */
	double distinct, abundance, identity, evenness, covered, first;
	size_t why;                     /* offset in names; "": it says none */
} kh_merge_evidence;
#define KH_MERGE_ONE 100000000          /* a share of 1 */
#define KH_MERGE_MOST ((uint64_t)INT64_MAX)     /* reads: what JSON can say */

typedef struct kh_merge_sample {
	const char *name, *path;        /* borrowed */
	const char *readout;            /* of a page: page.h; borrowed, or NULL */
	uint64_t unclassified, classified;      /* reads; of all samples at most KH_MERGE_MOST */
	kh_merge_cell unknown;          /* of a profile: what no species explains */
	/* to be set by whoever knows: see blanks.h; concentration: 0: not known */
	bool control;
	double concentration;
} kh_merge_sample;

typedef struct kh_merge {
	kh_merge_taxon *taxon;
	size_t n, cap;
	kh_buf names;                   /* NUL-terminated */
	kh_merge_sample *sample;
	size_t n_samples, samples_cap;
	kh_merge_cell *cell;            /* by taxon, then by sample, when finished */
	size_t n_cells, cells_cap;
	bool wants_evidence;            /* to be set first, of profiles */
	kh_merge_evidence *evidence;    /* of profiles, or of the profiles beside reports */
	size_t n_evidence, evidence_cap;
	struct kh_merge_blank *blank;   /* blanks.h; NULL: not compared with controls */
	size_t n_blanks;
	kh_numbers numbers;             /* of taxa, by taxid, until it is finished */
	size_t *first;                  /* n + 1: the cells of taxon i are first[i] ... */
	bool profiles;                  /* of samples, not reports */
	uint64_t reads;                 /* of all reports */
	uint64_t renamed;               /* rows that give a taxon another name or rank */
	uint64_t rounded;               /* rows that differ from their parts by rounding */
} kh_merge;

/* Zero it first. */
void kh_merge_clear(kh_merge *m);

/* A further sample: a report or a profile, whichever the first bytes of the file say. `name` and
 * `path` are borrowed. What is wrong with the file is added to `errs`; after that, the table can
 * only be cleared, or used to check more reports. */
int kh_merge_read(kh_merge *m, const char *name, const char *path, kh_errs *errs, kh_err *err);

/* Gives reports the evidence that profiles of the same samples, in the same order, have of
 * species. */
int kh_merge_add_evidence(kh_merge *reports, const kh_merge *profiles, kh_err *err);

/* 1: two domains, or kingdoms, have one name, so the reports are of two taxonomies; 0; < 0. */
typedef struct kh_merge_domain {
	const char *name;
	uint32_t taxid;
} kh_merge_domain;
int kh_merge_two_domains(const kh_merge *m, kh_merge_domain two[2], kh_err *err);

/* To be called after the last sample: numbers taxa in preorder, and sorts the cells. */
int kh_merge_finish(kh_merge *m, kh_err *err);

/* Number of a taxid, or UINT32_MAX. */
uint32_t kh_merge_find(const kh_merge *m, uint32_t taxid);

static inline const char *kh_merge_name(const kh_merge *m, uint32_t taxon)
{
	return m->names.p + m->taxon[taxon].name;
}

#endif
