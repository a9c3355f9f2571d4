/* page.c - a merged table as one page for a browser */
#include <config.h>
#include "merge/blanks.h"
#include "merge/formats.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"
#include "page/species.h"

struct pages {
	kh_page_taxon *taxon;
	uint64_t **direct;              /* a sample each, then a taxon each */
	kh_page_sample *sample;
	kh_page_rows *rows;             /* a sample each: what its profile says */
	size_t n;                       /* samples */
};

static int allocate(struct pages *p, const kh_merge *m, size_t samples, kh_err *err)
{
	p->taxon = kh_array(m->n, sizeof *p->taxon, err);
	p->direct = kh_array(samples, sizeof *p->direct, err);
	p->sample = kh_array(samples, sizeof *p->sample, err);
	p->rows = kh_array(samples, sizeof *p->rows, err);
	if (!p->taxon || !p->direct || !p->sample || !p->rows)
		return KH_ENOMEM;
	for (p->n = 0; p->n < samples; p->n++)
		if (!(p->direct[p->n] = kh_array(m->n, sizeof **p->direct, err)))
			return KH_ENOMEM;
	return KH_OK;
}

static void fill(struct pages *p, const kh_merge *m, size_t from)
{
	for (uint32_t i = 0; i < m->n; i++) {
		const kh_merge_taxon *t = &m->taxon[i];

		p->taxon[i] = (kh_page_taxon) { .taxid = t->taxid, .parent = i ? t->parent : 0,
						.name = kh_merge_name(m, i), .rank = t->code };
		for (size_t c = m->first[i]; c < m->first[i + 1]; c++) {
			const size_t s = m->cell[c].sample;

			if (s >= from && s < from + p->n)
				p->direct[s - from][i] = m->cell[c].direct;
		}
	}
	for (size_t s = 0; s < p->n; s++) {
		const kh_merge_sample *of = &m->sample[from + s];

		p->sample[s] = (kh_page_sample) { .name = of->name, .direct = p->direct[s],
						  .unclassified = of->unclassified,
						  .readout = of->readout };
	}
}

static void fill_row(const kh_merge *m, const kh_merge_evidence *x, kh_page_row *row,
		     kh_page_value *v)
{
	row->taxon = x->taxon;
	v[KH_PAGE_ABUNDANCE].number = x->abundance;
	if (!m->names.p[x->why])
		return;
	if (x->detected)
		v[KH_PAGE_DETECTED].text = kh_detected_name((enum kh_detected)x->detected);
	v[KH_PAGE_DISTINCT].number = x->distinct;
	v[KH_PAGE_IDENTITY].number = x->identity;
	v[KH_PAGE_WHY].text = m->names.p + x->why;
	v[KH_PAGE_EVENNESS].number = x->evenness;
	v[KH_PAGE_COVERED].number = x->covered;
	v[KH_PAGE_FIRST].number = x->first;
}

static void fill_blank(const kh_merge_blank *x, kh_page_row *row, kh_page_value *v)
{
	row->taxon = x->taxon;
	v[KH_PAGE_BLANK].text = kh_merge_blank_name(x->verdict);
	v[KH_PAGE_RATE].number = x->rate;
	v[KH_PAGE_CONTROL].number = x->control_rate;
	v[KH_PAGE_FREQUENCY].number = x->by_frequency;
}

/* Rows of one sample, which has evidence[0] to evidence[n_evidence - 1], and blank[0] to
 * blank[n_blanks - 1]; at: a number for each taxon, all zero. */
static int make_rows(kh_page_rows *rows, const kh_merge *m, const kh_merge_evidence *evidence,
		     size_t n_evidence, const kh_merge_blank *blank, size_t n_blanks, size_t *at,
		     kh_err *err)
{
	int rc = kh_page_rows_init(rows, n_evidence + n_blanks, err);

	rows->n = rc ? 0 : n_evidence;
	for (size_t k = 0; k < n_evidence && !rc; k++) {
		fill_row(m, &evidence[k], &rows->row[k], &rows->value[k * KH_PAGE_COLUMNS]);
		at[evidence[k].taxon] = k + 1;
	}
	for (size_t k = 0; k < n_blanks && !rc; k++) {
		const size_t have = at[blank[k].taxon], row = have ? have - 1 : rows->n++;

		fill_blank(&blank[k], &rows->row[row], &rows->value[row * KH_PAGE_COLUMNS]);
	}
	for (size_t k = 0; k < n_evidence; k++)
		at[evidence[k].taxon] = 0;
	return rc;
}

/* What profiles and controls say, which is kept sample by sample. */
static int make_all_rows(struct pages *p, const kh_merge *m, size_t from, kh_err *err)
{
	size_t *at = kh_array(m->n, sizeof *at, err), i = 0, b = 0;
	int rc = at ? KH_OK : KH_ENOMEM;

	for (size_t s = 0; s < p->n && !rc; s++) {
		size_t n = 0, n_blanks = 0;

		while (i < m->n_evidence && m->evidence[i].sample < from + s)
			i++;
		while (b < m->n_blanks && m->blank[b].sample < from + s)
			b++;
		while (i + n < m->n_evidence && m->evidence[i + n].sample == from + s)
			n++;
		while (b + n_blanks < m->n_blanks && m->blank[b + n_blanks].sample == from + s)
			n_blanks++;
		rc = make_rows(&p->rows[s], m, m->evidence + i, n, m->blank + b, n_blanks, at, err);
		p->sample[s].row = p->rows[s].row;
		p->sample[s].n_rows = rc ? 0 : p->rows[s].n;
		i += n;
		b += n_blanks;
	}
	free(at);
	return rc;
}

void kh_merge_page(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s)
{
	const size_t samples = o->to - o->from;
	struct pages p = { .n = 0 };
	char number[24];
	int rc = allocate(&p, m, samples, s->err);

	if (!rc) {
		fill(&p, m, o->from);
		rc = make_all_rows(&p, m, o->from, s->err);
	}
	if (!rc) {
		snprintf(number, sizeof number, "%zu", samples);
		const kh_page_fact usual[] = { { .label = "Program", .value = PACKAGE_STRING },
					       { .label = "Reports", .value = number } };
		const size_t columns = m->n_blanks     ? KH_PAGE_COLUMNS
				       : m->n_evidence ? KH_PAGE_PROFILE : 0;

		rc = kh_page_write(&s->b, &(kh_page) { .unit = "reads", .taxon = p.taxon,
						       .n_taxa = m->n, .sample = p.sample,
						       .n_samples = samples,
						       .column = kh_page_species,
						       .n_columns = columns,
						       .fact = o->fact ? o->fact : usual,
						       .n_facts = o->fact ? o->n_facts : 2,
						       .known = o->known },
				   s->err);
	}
	s->rc = rc;
	for (size_t i = 0; i < p.n; i++) {
		free(p.direct[i]);
		kh_page_rows_clear(&p.rows[i]);
	}
	free(p.rows);
	free(p.direct);
	free(p.sample);
	free(p.taxon);
}
