/* report.c - samples as one report, as if their reads were those of one sample; and as profiles of
 * CAMI */
#include <config.h>
#include "merge/formats_in.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "run/report.h"

/* "S1" says how far up the next taxon with a letter is.  Reports that have no code for some taxa
 * leave that to be counted. */
static void set_code(kh_taxonomy *t, uint32_t i, const char *code)
{
	static const char letters[] = "RDKPCOFGS";
	const char *letter = code[0] ? strchr(letters, code[0]) : NULL;

	t->letter[i] = letter && i > 0 && !code[1] ? code[0] : 0;
	t->level[i] = letter ? (uint8_t)(letter - letters) : t->level[t->parent[i]];
	t->steps[i] = letter ? (uint32_t)strtoul(code + 1, NULL, 10) : t->steps[t->parent[i]] + 1;
}

/* The taxa of the table as a report needs them; NULL if it fails. */
static kh_taxonomy *make_tree(const kh_merge *m, kh_merge_sink *s)
{
	kh_taxonomy *t = NULL;

	if (m->names.n > UINT32_MAX)
		s->rc = kh_fail(s->err, KH_EFORMAT, "the names of all taxa are more than 4 GiB");
	else if (!(t = kh_taxonomy_new((uint32_t)m->n, m->names.n, s->err)))
		s->rc = KH_ENOMEM;
	if (!t)
		return NULL;
	if (m->names.n > 0)
		memcpy(t->names, m->names.p, m->names.n);
	for (uint32_t i = 0; i < t->n; i++) {
		t->taxid[i] = m->taxon[i].taxid;
		t->name[i] = (uint32_t)m->taxon[i].name;
		t->parent[i] = i ? m->taxon[i].parent : 0;
		t->end[i] = i + 1;
		set_code(t, i, m->taxon[i].code);
	}
	for (uint32_t i = t->n; i-- > 1;)
		if (t->end[t->parent[i]] < t->end[i])
			t->end[t->parent[i]] = t->end[i];
	return t;
}

/* --- counts ------------------------------------------------------------------------- */
static void add_reads(kh_tally *sum, const kh_merge *m, const kh_merge_options *o)
{
	for (size_t s = o->from; s < o->to; s++)
		sum->unclassified += m->sample[s].unclassified;
	for (size_t i = 0; i < m->n; i++)
		for (size_t c = m->first[i]; c < m->first[i + 1]; c++)
			if (m->cell[c].sample >= o->from && m->cell[c].sample < o->to)
				sum->direct[i] += m->cell[c].direct;
}

void kh_merge_report(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s)
{
	const kh_report_options ro = { .zero_counts = false };
	kh_taxonomy *t = make_tree(m, s);
	kh_tally sum = { .n = 0 };

	if (!m->n)
		s->rc = kh_fail(s->err, KH_EFORMAT, "no report has a row for the root");
	if (!s->rc)
		s->rc = kh_tally_init(&sum, t->n, false, s->err);
	if (!s->rc) {
		add_reads(&sum, m, o);
		s->rc = kh_report(&s->b, t, &sum, &ro, s->err);
	}
	kh_tally_clear(&sum);
	kh_taxonomy_free(t);
}

/* --- profiles of CAMI, version 0.10, which OPAL reads -------------------------------- */
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
				     "family|genus|species\n");
		if (o->taxonomy_id) {
			kh_buf_string(&s->b, "@TaxonomyID:");
			kh_buf_string(&s->b, o->taxonomy_id);
			kh_buf_string(&s->b, "\n");
		}
		kh_buf_string(&s->b, "@@TAXID\tRANK\tTAXPATH\tTAXPATHSN\tPERCENTAGE\n");
		for (int rank = 0; rank < KH_MERGE_RANKS; rank++)
			if (rank_name[rank] && (!o->rank || o->rank[0] == kh_merge_ranks[rank]))
				put_rank(s, m, (uint32_t)i, rank);
		if (m->profiles)
			kh_buf_print(&s->b, "#unknown\t%.6f\n", 100 * kh_merge_share(
				m->sample[i].unknown.abundance, KH_MERGE_ONE));
		kh_merge_flush(s, false);
	}
}
