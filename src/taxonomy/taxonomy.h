/*
 * taxonomy.h - the tree of taxa: NCBI dump files in, a pruned preorder tree out
 *
 * Two objects.  kh_taxdump has all taxa of the dump files, millions, by taxid.
 * kh_taxonomy is the part of it that a database needs: the given taxa and their
 * ancestors, numbered in preorder (root 0, children by ascending taxid), so that a
 * parent has a smaller number than its children, a clade is a range of numbers and the
 * LCA of a set is the LCA of its least and its greatest number.  Both are immutable.
 *
 * Example: the root has the children 10 and 20, and 10 has the children 12 and 15 (taxids).  The
 * numbers of 1, 10, 12, 15 and 20 are 0 to 4; the clade of 10 is 1 to 3; the LCA of 12, 15 and 20
 * is the LCA of the numbers 2 and 4, the root.
 *
 * The root is taxid 1, its name is "root" and its rank "no rank", whatever a dump says.
 * Nothing here recurses: the depth of a tree is bounded by its size only.
 */
#ifndef KH_TAXONOMY_H
#define KH_TAXONOMY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"
#include "taxonomy/tree.h"

/* Ranks by number; the numbers are stored in database files and never change.  0 and 1
 * ("no rank", "clade") have no place in the order; the others are root-most first.
 * Unknown ranks become "no rank". */
typedef uint8_t kh_rank;
enum {
	KH_RANK_NONE = 0,
	KH_RANK_GENUS = 30,
	KH_RANK_SPECIES = 38,
	KH_RANKS = 52           /* how many there are */
};
const char *kh_rank_name(kh_rank r);                    /* "species", ... */
kh_rank kh_rank_find(const char *name, size_t len);
/* Kraken 2's letter of a rank: 'D' 'K' 'P' 'C' 'O' 'F' 'G' 'S' (superkingdom and domain: 'D'), or
 * 0. */
char kh_rank_letter(kh_rank r);
/* The same, but 'D' for the acellular root and for realms, too, the root-most ranks of viruses.  A
 * taxon has this letter if no taxon above it has the same. */
char kh_rank_place(kh_rank r);

/* --- the dump ------------------------------------------------------------- */
typedef struct kh_taxdump kh_taxdump;

/* Parses nodes.dmp, names.dmp (scientific names) and, if it exists, merged.dmp in
 * `dir`.  Fails with file:line for: a missing parent, a cycle, a second root, a
 * duplicate taxid, a malformed row, a node without a scientific name.  Columns end in
 * "\t|"; blanks around them, CRLF, empty rows and comments that begin with '#' are allowed.  Chains
 * of merged taxids are followed.  Of several scientific names of a taxon the first
 * counts; names of taxa without a node are skipped, and so are merged taxids whose new
 * taxid has no node. */
int kh_taxdump_open(kh_taxdump **d, const char *dir, kh_err *err);
/* nodes.dmp, names.dmp and merged.dmp. */
enum { KH_TAXDUMP_FILES = 3 };
extern const char *const kh_taxdump_file[KH_TAXDUMP_FILES];
void kh_taxdump_close(kh_taxdump *d);
/* The parser as a function of bytes; merged may be NULL.  For tests and fuzzing. */
typedef struct kh_bytes { const char *p; size_t n; const char *name; } kh_bytes;
int kh_taxdump_parse(kh_taxdump **d, const kh_bytes *nodes, const kh_bytes *names,
		     const kh_bytes *merged, kh_err *err);
/* The current taxid of `taxid`, which may be a merged one; 0 if unknown. */
uint32_t kh_taxdump_find(const kh_taxdump *d, uint32_t taxid);
/* The genetic code of a taxid, by NCBI's numbers, or 0 if the dump has none. */
uint32_t kh_taxdump_code(const kh_taxdump *d, uint32_t taxid);

typedef struct kh_taxonomy kh_taxonomy;

/* Sets species[i] of t->n taxa: how many species of the dump are in the clade of taxon i. */
int kh_taxdump_count_species(const kh_taxdump *d, const kh_taxonomy *t, uint32_t *species,
			     kh_err *err);

/* --- the tree of a database ------------------------------------------------- */
/*
 * `genus` is the taxon that a call is raised to, of genus or above:
 * - the nearest self-or-ancestor of rank genus, if the lineage has one;
 * - else the parent of the root-most self-or-ancestor whose rank is below genus
 *   (subgenus ... species ... isolate): mostly the species' parent, as many viruses
 *   have no genus; at worst the root;
 * - else KH_NO_TAXON: the taxon is above genus itself, and stays.
 * `x = t->genus[x] == KH_NO_TAXON ? x : t->genus[x]` raises x; again, it changes nothing.
 */
struct kh_taxonomy {
	uint32_t n;             /* taxa; 0 is the root */
	uint32_t *taxid;        /* n */
	uint32_t *parent;       /* n, by number; the root is its own */
	uint32_t *end;          /* n, one past the last number of the clade */
	uint8_t *rank;          /* n */
	uint32_t *name;         /* n, offset in names of a NUL-terminated string */
	char *names;
	size_t names_len;
	bool kraken;            /* set before deriving: steps and level by kh_rank_letter */
	/* derived from these arrays, not in database files */
	uint32_t *species;      /* n, the nearest self-or-ancestor species, or KH_NO_TAXON */
	uint32_t *genus;        /* n, see above, or KH_NO_TAXON */
	uint32_t *steps;        /* n, distance to the nearest self-or-ancestor with a letter */
	uint8_t *level;         /* n, index in "RDKPCOFGS" of its letter; the root's is 'R' */
	char *letter;           /* n, kh_rank_place, or 0 if a taxon above has the same */
	uint32_t *by_taxid;     /* n, the numbers in ascending order of their taxids */
};

/* Makes the tree of the given taxids (known to the dump; any order, repeats allowed), all
 * their ancestors and the root. */
int kh_taxonomy_prune(kh_taxonomy **t, const kh_taxdump *d, const uint32_t *taxid,
		      size_t n, kh_err *err);
/* The next name of a taxon after `name`, or NULL.  The first one is names + name[taxon]; its other
 * names follow, up to the name of the next taxon.  Not for a database of Kraken 2, which has names
 * in another order. */
const char *kh_taxonomy_next_name(const kh_taxonomy *t, uint32_t taxon, const char *name);
/* A tree of n taxa, at least 1, with names_len bytes for names; NULL: no memory.  The caller fills
 * the arrays that database files have, checks them if they come from a file, and calls
 * kh_taxonomy_derive. */
kh_taxonomy *kh_taxonomy_new(uint32_t n, size_t names_len, kh_err *err);
/* Fails unless taxa are in preorder, `end` is right, names are printable and not empty, taxids
 * ascend among siblings, and ranks are known.  Reads no derived array. */
int kh_taxonomy_check(const kh_taxonomy *t, kh_err *err);
/* Fills the derived arrays; fails if two taxa have the same taxid. */
int kh_taxonomy_derive(kh_taxonomy *t, kh_err *err);
void kh_taxonomy_free(kh_taxonomy *t);

/* Number of a taxid, or KH_NO_TAXON. */
uint32_t kh_taxonomy_find(const kh_taxonomy *t, uint32_t taxid);
/* Borrows the arrays of t. */
kh_tree kh_taxonomy_tree(const kh_taxonomy *t);
/* Kraken's rank code of taxon i: the letter of the nearest self-or-ancestor with a letter
 * ('R' for the root) and the distance to it, unless 0: "S", "S1", "R2". */
#define KH_CODE_SIZE 12
void kh_taxonomy_code(const kh_taxonomy *t, uint32_t i, char code[KH_CODE_SIZE]);

#endif
