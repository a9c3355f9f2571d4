/*
 * cami.c - what the CAMI challenges' program OPAL reads: a profile
 */
#include <config.h>
#include "merge/formats_in.h"

#include <inttypes.h>

/* Ancestors of all ranks of the profile down to `rank`, with nothing for those that are not
 * there. */
static void put_path(kh_merge_sink *s, const kh_merge *m, const kh_merge_lineage *lineage, int rank,
		     bool names)
{
	const char *between = "\t";

	for (int i = 0; i <= rank; i++) {
		if (!kh_merge_ranks[i].cami)
			continue;
		kh_buf_string(&s->b, between);
		between = "|";
		if (lineage->taxon[i] != KH_NO_TAXON && names)
			kh_merge_put_name(s, kh_merge_name(m, lineage->taxon[i]), "|");
		else if (lineage->taxon[i] != KH_NO_TAXON)
			kh_buf_print(&s->b, "%" PRIu32, m->taxon[lineage->taxon[i]].taxid);
	}
}

static void put_rank(const kh_merge *m, uint32_t sample, int rank, kh_merge_sink *s)
{
	for (size_t row = 0; row < m->n && !s->rc; row++) {
		const uint32_t taxon = m->order[row];
		const bool of_rank = kh_merge_rank_of(m, taxon) == rank;
		const kh_merge_cell *c = of_rank ? kh_merge_find_cell(m, row, sample) : NULL;

		if (!c || kh_merge_part(m, c) == 0)
			continue;
		const kh_merge_lineage lineage = kh_merge_lineage_of(m, taxon);
		kh_buf_print(&s->b, "%" PRIu32 "\t%s", m->taxon[taxon].taxid,
			       kh_merge_ranks[rank].cami);
		put_path(s, m, &lineage, rank, false);
		put_path(s, m, &lineage, rank, true);
		kh_buf_print(&s->b, "\t%.6f", 100 * kh_merge_share(kh_merge_part(m, c),
								 kh_merge_whole(m, sample)));
		kh_merge_end_row(s);
	}
}

void kh_merge_write_cami(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s)
{
	for (size_t i = o->from; i < o->to && !s->rc; i++) {
		kh_buf_string(&s->b, i > o->from ? "\n@SampleID:" : "@SampleID:");
		kh_buf_string(&s->b, m->sample[i].name);
		kh_buf_string(&s->b, "\n@Version:0.10.0\n@Ranks:superkingdom|phylum|class|order|"
				  "family|genus|species\n");
		if (o->taxonomy_id) {
			kh_buf_string(&s->b, "@TaxonomyID:");
			kh_buf_string(&s->b, o->taxonomy_id);
			kh_merge_end_row(s);
		}
		kh_buf_string(&s->b, "@@TAXID\tRANK\tTAXPATH\tTAXPATHSN\tPERCENTAGE\n");
		for (int rank = 0; rank < KH_MERGE_RANKS; rank++)
			if (kh_merge_ranks[rank].cami &&
			    (!o->rank || o->rank[0] == kh_merge_ranks[rank].letter))
				put_rank(m, (uint32_t)i, rank, s);
		if (m->profiles)
			kh_buf_print(&s->b, "#unknown\t%.6f\n", 100 * kh_merge_share(
				m->sample[i].unknown.abundance, KH_MERGE_ONE));
	}
}
