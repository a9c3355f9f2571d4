/*
 * formats_in.h - what the formats of a merged table share: text.c has it; formats.c has tables,
 * BIOM and Krona, cami.c CAMI's
 */
#ifndef KH_MERGE_FORMATS_IN_H
#define KH_MERGE_FORMATS_IN_H

#include "merge/formats.h"
#include "taxonomy/taxonomy.h"

/* --- text: appended to what is on its way ----------------------------------------- */
/* A name, with '_' for each of the characters that the format gives a meaning. */
void kh_merge_put_name(kh_merge_sink *s, const char *name, const char *not);
void kh_merge_end_row(kh_merge_sink *s);

/* --- lineages --------------------------------------------------------------------- */
/* The ranks that have a letter, root-most first. */
enum { KH_MERGE_DOMAIN, KH_MERGE_KINGDOM, KH_MERGE_RANKS = 8 };
extern const struct kh_merge_ranks_row {
	char letter;
	const char *name, *cami;        /* cami: NULL if its profile does not have the rank */
} kh_merge_ranks[KH_MERGE_RANKS];

/* Which of the ranks a taxon has, or -1. */
int kh_merge_rank_of(const kh_merge *m, uint32_t taxon);

/* A taxon and its ancestors by rank; KH_NO_TAXON where there is none of a rank. */
typedef struct kh_merge_lineage {
	uint32_t taxon[KH_MERGE_RANKS];
} kh_merge_lineage;
kh_merge_lineage kh_merge_lineage_of(const kh_merge *m, uint32_t taxon);
/* "d__Bacteria;p__Pseudomonadota" */
void kh_merge_put_lineage(kh_merge_sink *s, const kh_merge *m, uint32_t taxon);

/* --- cells ------------------------------------------------------------------------ */
bool kh_merge_wanted(const kh_merge *m, uint32_t taxon, const char *code);
/* The cell of a sample in a row, whose cells *at goes through; NULL: the report has none. */
const kh_merge_cell *kh_merge_next_cell(const kh_merge *m, size_t row, size_t *at,
					uint32_t sample);
/* The same of one sample. */
const kh_merge_cell *kh_merge_find_cell(const kh_merge *m, size_t row, uint32_t sample);
double kh_merge_share(uint64_t part, uint64_t all);
/* What a cell counts for in a profile: reads in the clade, or the abundance; and all of these. */
uint64_t kh_merge_part(const kh_merge *m, const kh_merge_cell *c);
uint64_t kh_merge_whole(const kh_merge *m, uint32_t sample);

kh_merge_fn kh_merge_write_cami;        /* cami.c */

#endif
