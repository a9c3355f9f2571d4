/* report.c - samples as one report, as if their reads were those of one sample; and as profiles of
 * CAMI */
#include <config.h>
#include "merge/formats_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "merge/cami.h"
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

/* The taxa of the table as a report and a profile need them; NULL if it fails. */
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

/* --- profiles of CAMI --------------------------------------------------------------- */
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

void kh_merge_cami(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s)
{
	double *share = kh_array(m->n, sizeof *share, s->err);
	kh_taxonomy *t = make_tree(m, s);
	kh_cami c = { .tax = t, .taxonomy_id = o->taxonomy_id, .share = share,
		      .rank = o->rank ? o->rank[0] : 0 };

	if (!share)
		s->rc = KH_ENOMEM;
	for (size_t i = o->from; i < o->to && !s->rc; i++) {
		for (uint32_t taxon = 0; taxon < t->n; taxon++)
			share[taxon] = amount_of(m, taxon, (uint32_t)i);
		c.sample = m->sample[i].name;
		kh_buf_string(&s->b, i > o->from ? "\n" : "");
		kh_cami_profile(&s->b, &c);
		if (m->profiles)
			kh_buf_print(&s->b, "#unknown\t%.6f\n", 100 * kh_merge_share(
				m->sample[i].unknown.abundance, KH_MERGE_ONE));
		kh_merge_flush(s, false);
	}
	kh_taxonomy_free(t);
	free(share);
}
