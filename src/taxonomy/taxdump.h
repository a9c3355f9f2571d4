/* taxdump.h - the inside of kh_taxdump, for the files of this room only */
#ifndef KH_TAXONOMY_TAXDUMP_H
#define KH_TAXONOMY_TAXDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "taxonomy/taxonomy.h"
#include "taxonomy/tsv.h"

typedef struct kh_taxnode {
	uint32_t taxid;
	uint32_t parent;        /* while parsing a taxid, then an index in node[] */
	uint32_t name;          /* offset in names */
	uint32_t line;          /* in nodes.dmp */
	uint8_t rank;
	uint8_t code;           /* genetic code; 0: not known */
} kh_taxnode;

typedef struct kh_taxmerge {
	uint32_t from, to;      /* taxids */
	uint32_t line;
} kh_taxmerge;

/* Another name of a taxon: a synonym, a common name or an acronym. */
typedef struct kh_taxother {
	uint32_t taxid;
	uint32_t name;          /* in names */
} kh_taxother;

struct kh_taxdump {
	kh_taxnode *node;       /* by ascending taxid; [0] is the root */
	size_t n, cap;
	kh_taxmerge *merge;     /* by ascending `from` */
	size_t n_merge, merge_cap;
	kh_taxother *other;     /* by ascending taxid, of each in the order of names.dmp */
	size_t n_other, other_cap;
	kh_buf names;           /* NUL-terminated strings */
	/* The nodes with taxid >> shift == b are node[dir[b]] to node[dir[b + 1] - 1]: a look-up is
	 * one step with NCBI's dense taxids, and at worst a binary search with others. */
	uint32_t *dir;
	size_t n_dir;
	unsigned shift;
};

/* Nodes are added to a dump of the root alone, which `new` makes, or to one that is there, after
 * `reopen`; up to `end`, `parent` of every node is a taxid.  If the taxon is there, its name and
 * rank stay, and the new parent replaces the old one unless it is the root; so the uppermost taxon
 * that is added keeps its place in the dump. */
int kh_taxdump_new(kh_taxdump **d, kh_err *err);
void kh_taxdump_reopen(kh_taxdump *d);
int kh_taxdump_add(kh_taxdump *d, const kh_taxnode *x, kh_span name, kh_err *err);
int kh_taxdump_end(kh_taxdump *d, kh_err *err);

/* Is this name class of names.dmp one by which people look for a taxon? */
bool kh_taxother_is(kh_span class);
/* Adds another name, unless it is not printable, or the taxid has no node. */
int kh_taxdump_add_other(kh_taxdump *d, uint32_t taxid, kh_span name, kh_err *err);
/* Sorts the other names, and removes repeats within a taxon. */
void kh_taxdump_sort_others(kh_taxdump *d);
/* The first of the other names of a taxid, and how many there are. */
const kh_taxother *kh_taxdump_others(const kh_taxdump *d, uint32_t taxid, size_t *n);

/* Index of the node of a taxid (merged ones followed), or KH_NO_TAXON. */
uint32_t kh_taxdump_node(const kh_taxdump *d, uint32_t taxid);

#endif
