/* abundances.c - profiles of samples: as MetaPhlAn writes them, and CAMI's */
#include <config.h>
#include "merge/formats_in.h"

#include <inttypes.h>
#include <stdlib.h>
#include "base/mem.h"

/* --- as MetaPhlAn ----------------------------------------------------------------- */
/* MetaPhlAn's k__ is the domain: a kingdom counts where a lineage has no domain. */
static bool mpa_skips(const kh_merge_lineage *l, int rank)
{
	return rank == KH_MERGE_KINGDOM && l->taxon[KH_MERGE_DOMAIN] != KH_NO_TAXON;
}

static char mpa_letter(int rank)
{
	return rank == KH_MERGE_DOMAIN ? 'k' : (char)(kh_merge_ranks[rank].letter | 0x20);
}

static int mpa_clade(kh_merge_sink *s, const kh_merge *m, const kh_merge_lineage *l, kh_err *err)
{
	bool any = false;
	int rc = KH_OK;

	for (int i = 0; i < KH_MERGE_RANKS && !rc; i++) {
		if (l->taxon[i] == KH_NO_TAXON || mpa_skips(l, i))
			continue;
		rc = kh_buf_print(&s->b, err, "%s%c__", any ? "|" : "", mpa_letter(i));
		any = true;
		if (!rc)
			rc = kh_merge_put_name(s, kh_merge_name(m, l->taxon[i]), " |", err);
	}
	return rc;
}

static int mpa_taxids(kh_merge_sink *s, const kh_merge *m, const kh_merge_lineage *l, kh_err *err)
{
	const char *between = "\t";
	int rc = KH_OK;

	for (int i = 0; i < KH_MERGE_RANKS && !rc; i++)
		if (l->taxon[i] != KH_NO_TAXON && !mpa_skips(l, i)) {
			const uint32_t taxid = m->taxon[l->taxon[i]].taxid;

			rc = kh_buf_print(&s->b, err, "%s%" PRIu32, between, taxid);
			between = "|";
		}
	return rc;
}

/* For each sample, the reads in clades of each rank, which make up 100 %. */
static uint64_t *sum_ranks(const kh_merge *m, const kh_merge_options *o, kh_err *err)
{
	uint64_t *sum = kh_array((o->to - o->from) * KH_MERGE_RANKS, sizeof *sum, err);

	for (size_t i = 0; sum && i < m->n_cells; i++) {
		const kh_merge_cell *c = &m->cell[i];
		const int rank = kh_merge_rank_of(m, c->taxon);

		if (rank >= 0 && c->sample >= o->from && c->sample < o->to)
			sum[(c->sample - o->from) * KH_MERGE_RANKS + (size_t)rank] +=
				kh_merge_part(m, c);
	}
	return sum;
}

static int mpa_row(const kh_merge *m, const kh_merge_options *o, size_t row, const uint64_t *sum,
		   kh_merge_sink *s, kh_err *err)
{
	const uint32_t taxon = m->order[row];
	const int rank = kh_merge_rank_of(m, taxon);
	const kh_merge_lineage l = kh_merge_lineage_of(m, taxon);
	const bool one = o->to - o->from == 1;
	size_t at = m->first[row];
	uint64_t reads = 0;
	int rc = KH_OK;

	for (size_t c = m->first[row]; c < m->first[row + 1]; c++)
		if (m->cell[c].sample >= o->from && m->cell[c].sample < o->to)
			reads += kh_merge_part(m, &m->cell[c]);
	if (rank < 0 || mpa_skips(&l, rank) || reads == 0 || !kh_merge_wanted(m, taxon, o->rank))
		return KH_OK;
	rc = mpa_clade(s, m, &l, err);
	if (!rc && one)
		rc = mpa_taxids(s, m, &l, err);
	for (size_t i = o->from; i < o->to && !rc; i++) {
		const kh_merge_cell *c = kh_merge_next_cell(m, row, &at, (uint32_t)i);

		const uint64_t all = sum[(i - o->from) * KH_MERGE_RANKS + (size_t)rank];

		rc = kh_buf_print(&s->b, err, "\t%.5f",
				  100 * kh_merge_share(c ? kh_merge_part(m, c) : 0, all));
	}
	if (!rc && one)
		rc = kh_buf_string(&s->b, "\t", err); /* additional_species */
	return rc ? rc : kh_merge_end_row(s, err);
}

int kh_merge_write_metaphlan(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s,
			   kh_err *err)
{
	uint64_t *sum = sum_ranks(m, o, err);
	int rc = sum ? kh_buf_string(&s->b, "#mpa_v_kmerhash\n", err) : KH_ENOMEM;

	if (!rc && o->to - o->from == 1)
		rc = kh_buf_string(&s->b,
				   "#clade_name\tNCBI_tax_id\trelative_abundance\t"
				   "additional_species\n",
				   err);
	else if (!rc && !(rc = kh_buf_string(&s->b, "clade_name", err))) {
		for (size_t i = o->from; i < o->to && !rc; i++)
			if (!(rc = kh_buf_string(&s->b, "\t", err)))
				rc = kh_buf_string(&s->b, m->sample[i].name, err);
		if (!rc)
			rc = kh_merge_end_row(s, err);
	}
	for (size_t row = 0; row < m->n && !rc; row++)
		rc = mpa_row(m, o, row, sum, s, err);
	free(sum);
	return rc;
}

/* --- CAMI's profile --------------------------------------------------------------- */
/* Ancestors of all ranks of the profile down to `rank`, with nothing for those that are not
 * there. */
static int cami_path(kh_merge_sink *s, const kh_merge *m, const kh_merge_lineage *l, int rank,
		     bool names, kh_err *err)
{
	int rc = kh_buf_add(&s->b, "\t", 1, err);

	for (int i = 0; i <= rank && !rc; i++) {
		if (!kh_merge_ranks[i].cami)
			continue;
		if (i > 0)
			rc = kh_buf_add(&s->b, "|", 1, err);
		if (rc || l->taxon[i] == KH_NO_TAXON)
			continue;
		rc = names ? kh_merge_put_name(s, kh_merge_name(m, l->taxon[i]), "|", err)
			   : kh_buf_print(&s->b, err, "%" PRIu32, m->taxon[l->taxon[i]].taxid);
	}
	return rc;
}

static int cami_rows(const kh_merge *m, uint32_t sample, int rank, kh_merge_sink *s, kh_err *err)
{
	int rc = KH_OK;

	for (size_t row = 0; row < m->n && !rc; row++) {
		const uint32_t taxon = m->order[row];
		const bool of_rank = kh_merge_rank_of(m, taxon) == rank;
		const kh_merge_cell *c = of_rank ? kh_merge_find_cell(m, row, sample) : NULL;

		if (!c || kh_merge_part(m, c) == 0)
			continue;
		const kh_merge_lineage l = kh_merge_lineage_of(m, taxon);
		rc = kh_buf_print(&s->b, err, "%" PRIu32 "\t%s", m->taxon[taxon].taxid,
				  kh_merge_ranks[rank].cami);
		if (!rc)
			rc = cami_path(s, m, &l, rank, false, err);
		if (!rc)
			rc = cami_path(s, m, &l, rank, true, err);
		if (!rc)
			rc = kh_buf_print(&s->b, err, "\t%.6f",
					  100 * kh_merge_share(kh_merge_part(m, c),
							       kh_merge_whole(m, sample)));
		if (!rc)
			rc = kh_merge_end_row(s, err);
	}
	return rc;
}

int kh_merge_write_cami(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s,
			kh_err *err)
{
	static const char ranks[] = "\n@Version:0.10.0\n"
				    "@Ranks:superkingdom|phylum|class|order|family|"
				    "genus|species\n";
	static const char columns[] = "@@TAXID\tRANK\tTAXPATH\tTAXPATHSN\tPERCENTAGE\n";
	int rc = KH_OK;

	for (size_t i = o->from; i < o->to && !rc; i++) {
		rc = kh_buf_string(&s->b, i > o->from ? "\n@SampleID:" : "@SampleID:", err);
		if (!rc)
			rc = kh_buf_string(&s->b, m->sample[i].name, err);
		if (!rc)
			rc = kh_buf_string(&s->b, ranks, err);
		if (!rc && o->taxonomy_id && !(rc = kh_buf_string(&s->b, "@TaxonomyID:", err)) &&
		    !(rc = kh_buf_string(&s->b, o->taxonomy_id, err)))
			rc = kh_merge_end_row(s, err);
		if (!rc)
			rc = kh_buf_string(&s->b, columns, err);
		for (int rank = 0; rank < KH_MERGE_RANKS && !rc; rank++)
			if (kh_merge_ranks[rank].cami &&
			    (!o->rank || o->rank[0] == kh_merge_ranks[rank].letter))
				rc = cami_rows(m, (uint32_t)i, rank, s, err);
	}
	return rc;
}
