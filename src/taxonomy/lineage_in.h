/* lineage_in.h - inside lineages: lineage.c reads them, lineage_numbers.c numbers their taxa */
#ifndef KH_TAXONOMY_LINEAGE_IN_H
#define KH_TAXONOMY_LINEAGE_IN_H

#include "base/buf.h"
#include "base/numbers.h"
#include "taxonomy/lineage.h"

typedef struct kh_lineage_node {
	size_t path, path_len;          /* in text */
	size_t name, name_len;          /* in text: the end of the path, or genus and epithet */
	uint32_t parent;                /* the number of a node; its own number if below the root */
	uint32_t taxid;
	uint32_t elsewhere;             /* taxid of a species of this name that the dump has, but
					 * not below the lineage's first part; 0: none */
	uint8_t rank;
	bool by_place;                  /* the rank follows from the part's position */
	bool deep;                      /* of a first part: a lineage has more than seven parts */
	const char *file;               /* of the first row that has it; borrowed from the row */
	unsigned long long line;
} kh_lineage_node;

typedef struct kh_lineage_entry {
	size_t id, id_len;              /* in text */
	uint32_t node;
	unsigned long long line;
	const char *file;               /* borrowed from the row */
} kh_lineage_entry;

struct kh_lineages {
	kh_buf text;                    /* paths and ids */
	kh_lineage_node *node;
	size_t n, cap;
	kh_lineage_entry *entry;                   /* by id, when finished */
	size_t n_entries, entries_cap;
	kh_numbers numbers;             /* of nodes, by path */
	bool moves;                     /* taxa of the dump get the parents that lineages name */
	kh_errs doubts;
};

#define KH_LINEAGES_NUMBERS ((UINT64_C(1) << 31) - 2)   /* how many taxids there are, from 2 on */

uint64_t kh_lineages_hash(kh_span path);
/* Continues a hash with more text; KH_LINEAGES_EMPTY begins one. */
uint64_t kh_lineages_hash_on(uint64_t hash, const char *text, size_t n);
#define KH_LINEAGES_EMPTY UINT64_C(0xcbf29ce484222325)
/* The node of a path, or KH_NO_NUMBER. */
uint32_t kh_lineages_find(const kh_lineages *l, kh_span path);
/* The letters that names of a rank may have in front, the usual one first; "": none. */
const char *kh_lineages_letters(kh_rank rank);
/* An id without GTDB's "RS_" or "GB_". */
kh_span kh_lineages_plain_id(kh_span id);

/* Gives taxa that the dump has their taxids there; unless l->moves, notes as errors those that are
 * not below the parent that their lineage names (lineage_join.c). */
int kh_lineages_use_numbers(kh_lineages *l, const kh_taxdump *d, kh_errs *errs, kh_err *err);
int kh_lineages_compare(kh_span a, kh_span b);

static inline kh_span kh_lineages_path(const kh_lineages *l, const kh_lineage_node *x)
{
	return (kh_span) { l->text.p + x->path, x->path_len };
}

static inline kh_span kh_lineages_name(const kh_lineages *l, const kh_lineage_node *x)
{
	return (kh_span) { l->text.p + x->name, x->name_len };
}

#endif
