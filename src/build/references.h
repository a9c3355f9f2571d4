/*
 * references.h - the files that a build reads, by the files, folders, lists and tables that the
 * user names
 *
 * Files come in the order in which they are named, those of a folder in the order of the bytes of
 * their paths, so that a database is the same bytes wherever it is made.  Beside each file stands
 * the taxid that all its sequences have, if something says so:
 *
 *	- a row of a table, path and taxid;
 *	- the report of a tree as NCBI's `datasets` makes it (assembly_data_report.jsonl): the
 *	  folder of an assembly has the assembly's name;
 *	- a row of a table of assemblies whose accession the file has in its name;
 *	- a lineage of the assembly whose accession the file has in its name, which goes first.
 */
#ifndef KH_BUILD_REFERENCES_H
#define KH_BUILD_REFERENCES_H

#include "base/errs.h"
#include "taxonomy/lineage.h"

/* Assemblies and their taxids. */
typedef struct kh_assembly {
	char *accession;                /* owned */
	uint32_t taxid;
} kh_assembly;
typedef struct kh_assemblies {
	kh_assembly *v;                 /* by accession, when sorted */
	size_t n, cap;
} kh_assemblies;

typedef struct kh_references {
	char **path;                    /* n, owned */
	uint32_t *taxid;                /* n; 0: the taxa are looked up by sequence */
	size_t n, cap_path, cap_taxid;
	kh_lineages *lineages;          /* NULL: the taxonomy is given as dump files */
	char **report;                  /* reports of trees that were read, owned */
	size_t n_reports, cap_reports;
	kh_assemblies assemblies;       /* of tables that have accessions in place of files */
	char *passed_over;              /* the first file of folders that was not taken; owned */
	size_t n_passed_over;
	bool may_be_twice;              /* to be set first: a file may be named twice */
	bool move_taxa;                 /* and: taxa of the taxonomy get the parents of lineages */
	kh_errs errs;                   /* what is wrong with folders and tables */
} kh_references;

void kh_references_clear(kh_references *r);

/* A file, "-", or a folder: the files in it and below it that are called *.fa, *.fna, *.fasta,
 * *.fas or *.ffn, perhaps with the ending of a compression.  Links to folders are not followed. */
int kh_references_add(kh_references *r, const char *path, kh_err *err);
/* The files named in a text, one a line; "-" is standard input. */
int kh_references_list(kh_references *r, const char *list, kh_err *err);
/* A table of files, or of accessions of assemblies, and taxids, between tabs or commas, perhaps
 * with a header that says which columns these are, as NCBI's assembly_summary.txt has one.  Files
 * are added, and all of a folder get its taxid; accessions are those of files named elsewhere. */
int kh_references_table(kh_references *r, const char *table, kh_err *err);
/* A table of lineages, from which the taxonomy is made: lineage.h. */
int kh_references_lineages(kh_references *r, const char *table, kh_err *err);
/* The same for the lineages in the header lines of all files added so far, which are read for
 * that. */
int kh_references_headers(kh_references *r, kh_err *err);
/* Notes which of the files cannot be read. */
int kh_references_check(kh_references *r, kh_err *err);
/* To be called when all has been added.  taxonomy: the folder of the taxonomy that lineages join,
 * or NULL. */
int kh_references_finish(kh_references *r, const char *taxonomy, kh_err *err);

/* --- inside ----------------------------------------------------------------------- */
int kh_assemblies_add(kh_assemblies *a, kh_span accession, uint32_t taxid, kh_err *err);
/* To be called when all have been added; notes accessions with two taxids. */
int kh_assemblies_sort(kh_assemblies *a, const char *table, kh_errs *errs, kh_err *err);
/* Adds those of a report of `datasets`, and sorts them. */
int kh_assemblies_load(kh_assemblies *a, const char *report, kh_errs *errs, kh_err *err);
/* Its taxid; 0: the report does not have it. */
uint32_t kh_assemblies_find(const kh_assemblies *a, const char *accession);
void kh_assemblies_clear(kh_assemblies *a);
int kh_references_folder(kh_references *r, const char *path, kh_err *err);
/* The length of the name of a file without the ending of a compression. */
size_t kh_references_plain(const char *name);
/* Adds a file; takes over the path. */
int kh_references_take(kh_references *r, char *path, uint32_t taxid, kh_err *err);

#endif
