/* cami.c - samples as profiles of CAMI, version 0.10, which OPAL reads */
#include <config.h>
#include "merge/formats_in.h"

#include <inttypes.h>

/* By place in kh_merge_ranks; NULL: such a profile has no row of it. */
static const char *const rank_name[KH_MERGE_RANKS] = { "superkingdom", NULL, "phylum", "class",
						       "order", "family", "genus", "species" };

/* What a taxon has in the profile of a sample: its share of the reads that are classified, or its
 * abundance. */
static double amount_of(const kh_merge *m, uint32_t taxon, uint32_t sample)
{
	const kh_merge_cell *c = kh_merge_find_cell(m, taxon, sample);

	if (!c)
		return 0;
	return m->profiles ? kh_merge_share(c->abundance, KH_MERGE_ONE)
			   : kh_merge_share(c->clade, m->sample[sample].classified);
}

/* The taxon and those above it by rank, with nothing for ranks that are not there.  A bar stands
 * between them, so one in a name becomes '_'. */
static void put_path(kh_merge_sink *s, const kh_merge *m, uint32_t taxon, int rank, bool names)
{
	const kh_merge_lineage lineage = kh_merge_lineage_of(m, taxon);

	for (int i = 0; i <= rank; i++) {
		const uint32_t at = lineage.taxon[i];

		if (!rank_name[i])
			continue;
		kh_buf_string(&s->b, i > 0 ? "|" : "\t");
		if (at != KH_NO_TAXON && names)
			kh_merge_put_name(s, kh_merge_name(m, at), "|");
		else if (at != KH_NO_TAXON)
			kh_buf_print(&s->b, "%" PRIu32, m->taxon[at].taxid);
	}
}

static void put_rank(kh_merge_sink *s, const kh_merge *m, uint32_t sample, int rank)
{
	for (uint32_t t = 1; t < m->n; t++) {
		const double share = kh_merge_rank_of(m, t) == rank ? amount_of(m, t, sample) : 0;

		if (!(share > 0))
			continue;
		kh_buf_print(&s->b, "%" PRIu32 "\t%s", m->taxon[t].taxid, rank_name[rank]);
		put_path(s, m, t, rank, false);
		put_path(s, m, t, rank, true);
		kh_buf_print(&s->b, "\t%.6f\n", 100 * share);
	}
}

void kh_merge_cami(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s)
{
	for (size_t i = o->from; i < o->to && !s->rc; i++) {
		kh_buf_string(&s->b, i > o->from ? "\n" : "");
		kh_buf_string(&s->b, "@SampleID:");
		kh_buf_string(&s->b, m->sample[i].name);
		kh_buf_string(&s->b, "\n@Version:0.10.0\n@Ranks:superkingdom|phylum|class|order|"
				     "family|genus|species\n"
				     "@@TAXID\tRANK\tTAXPATH\tTAXPATHSN\tPERCENTAGE\n");
		for (int rank = 0; rank < KH_MERGE_RANKS; rank++)
			if (rank_name[rank] && (!o->rank || o->rank[0] == kh_merge_ranks[rank]))
				put_rank(s, m, (uint32_t)i, rank);
		if (m->profiles)
			kh_buf_print(&s->b, "#unknown\t%.6f\n", 100 * kh_merge_share(
				m->sample[i].unknown.abundance, KH_MERGE_ONE));
		kh_merge_flush_much(s);
	}
}
