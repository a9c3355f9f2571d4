/*
 * formats_in.h - what the formats of a merged table share: sink.c has it; formats.c has tables,
 * BIOM and Krona
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
/* The letters of ranks, root-most first. */
enum { KH_MERGE_RANKS = 8 };
extern const char kh_merge_ranks[KH_MERGE_RANKS + 1];

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
/* The cell of a sample; NULL: the report has none. */
const kh_merge_cell *kh_merge_find_cell(const kh_merge *m, uint32_t taxon, uint32_t sample);
double kh_merge_share(uint64_t part, uint64_t all);

#endif
