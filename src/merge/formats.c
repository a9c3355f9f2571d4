#include <config.h>
#include "merge/formats_in.h"

#include <inttypes.h>
#include <string.h>

/* --- taxa by samples -------------------------------------------------------------- */
static int add_values(kh_merge_sink *s, const kh_merge_options *o, const kh_merge_cell *c,
		      uint64_t total, kh_err *err)
{
	const uint64_t clade = c ? c->clade : 0, direct = c ? c->direct : 0;
	int rc = KH_OK;

	if (o->value == KH_MERGE_READS || o->value == KH_MERGE_ALL)
		rc = kh_buf_print(&s->b, err, "\t%" PRIu64, direct);
	if (!rc && (o->value == KH_MERGE_CLADE || o->value == KH_MERGE_ALL))
		rc = kh_buf_print(&s->b, err, "\t%" PRIu64, clade);
	if (!rc && (o->value == KH_MERGE_SHARE || o->value == KH_MERGE_ALL))
		rc = kh_buf_print(&s->b, err, "\t%.8f", kh_merge_share(clade, total));
	return rc;
}

static int table_header(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s,
			kh_err *err)
{
	static const char *const all[] = { "_reads", "_clade", "_share" };
	int rc = kh_buf_string(&s->b, "taxid\trank\tname\tlineage", err);

	for (size_t i = o->from; i < o->to && !rc; i++)
		for (int k = 0; k < (o->value == KH_MERGE_ALL ? 3 : 1) && !rc; k++) {
			rc = kh_buf_string(&s->b, "\t", err);
			if (!rc)
				rc = kh_buf_string(&s->b, m->sample[i].name, err);
			if (!rc && o->value == KH_MERGE_ALL)
				rc = kh_buf_string(&s->b, all[k], err);
		}
	return rc ? rc : kh_merge_end_row(s, err);
}

static int table_row(const kh_merge *m, const kh_merge_options *o, size_t row, kh_merge_sink *s,
		     kh_err *err)
{
	const uint32_t taxon = m->order[row];
	size_t at = m->first[row];
	int rc = kh_buf_print(&s->b, err, "%" PRIu32 "\t%s\t", m->taxon[taxon].taxid,
			      m->taxon[taxon].code);

	if (!rc)
		rc = kh_buf_string(&s->b, kh_merge_name(m, taxon), err);
	if (!rc)
		rc = kh_buf_string(&s->b, "\t", err);
	if (!rc)
		rc = kh_merge_put_lineage(s, m, taxon, ";", err);
	for (size_t i = o->from; i < o->to && !rc; i++)
		rc = add_values(s, o, kh_merge_next_cell(m, row, &at, (uint32_t)i),
				m->sample[i].unclassified + m->sample[i].classified, err);
	return rc ? rc : kh_merge_end_row(s, err);
}

static int write_table(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s, kh_err *err)
{
	int rc = table_header(m, o, s, err);

	if (!rc && !o->rank) {
		rc = kh_buf_string(&s->b, "0\tU\tunclassified\t", err);
		for (size_t i = o->from; i < o->to && !rc; i++) {
			const uint64_t n = m->sample[i].unclassified;
			const kh_merge_cell c = { KH_NO_TAXON, (uint32_t)i, n, n };

			rc = add_values(s, o, &c, n + m->sample[i].classified, err);
		}
		if (!rc)
			rc = kh_merge_end_row(s, err);
	}
	for (size_t row = 0; row < m->n && !rc; row++)
		if (kh_merge_wanted(m, m->order[row], o->rank))
			rc = table_row(m, o, row, s, err);
	return rc;
}

/* --- BIOM's table of text --------------------------------------------------------- */
static int write_biom(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s, kh_err *err)
{
	int rc = kh_buf_string(&s->b, "#OTU ID", err);

	for (size_t i = o->from; i < o->to && !rc; i++)
		if (!(rc = kh_buf_string(&s->b, "\t", err)))
			rc = kh_buf_string(&s->b, m->sample[i].name, err);
	if (!rc && !(rc = kh_buf_string(&s->b, "\ttaxonomy", err)))
		rc = kh_merge_end_row(s, err);
	for (size_t row = 0; row < m->n && !rc; row++) {
		const uint32_t taxon = m->order[row];
		size_t at = m->first[row];
		uint64_t sum = 0;

		for (size_t c = m->first[row]; c < m->first[row + 1]; c++)
			if (m->cell[c].sample >= o->from && m->cell[c].sample < o->to)
				sum += m->cell[c].direct;
		if (sum == 0 || !kh_merge_wanted(m, taxon, o->rank))
			continue;
		rc = kh_buf_print(&s->b, err, "%" PRIu32, m->taxon[taxon].taxid);
		for (size_t i = o->from; i < o->to && !rc; i++) {
			const kh_merge_cell *c = kh_merge_next_cell(m, row, &at, (uint32_t)i);

			rc = kh_buf_print(&s->b, err, "\t%" PRIu64, c ? c->direct : 0);
		}
		if (!rc && !(rc = kh_buf_string(&s->b, "\t", err)))
			rc = kh_merge_put_lineage(s, m, taxon, "; ", err);
		if (!rc)
			rc = kh_merge_end_row(s, err);
	}
	return rc;
}

/* --- Krona ------------------------------------------------------------------------ */
static int krona_row(const kh_merge *m, const kh_merge_cell *c, kh_merge_sink *s, kh_err *err)
{
	const kh_merge_lineage l = kh_merge_lineage_of(m, c->taxon);
	int rc = kh_buf_print(&s->b, err, "%" PRIu64, c->direct);

	for (int i = 0; i < KH_MERGE_RANKS && !rc; i++)
		if (l.taxon[i] != KH_NO_TAXON && !(rc = kh_buf_string(&s->b, "\t", err)))
			rc = kh_buf_string(&s->b, kh_merge_name(m, l.taxon[i]), err);
	return rc ? rc : kh_merge_end_row(s, err);
}

/* Rows with the same lineage add up in Krona, so each taxon has its own. */
static int write_krona(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s, kh_err *err)
{
	const kh_merge_sample *sample = &m->sample[o->from];
	int rc = KH_OK;

	if (sample->unclassified > 0)
		rc = kh_buf_print(&s->b, err, "%" PRIu64 "\tUnclassified\n", sample->unclassified);
	for (size_t row = 0; row < m->n && !rc; row++) {
		const kh_merge_cell *c = kh_merge_find_cell(m, row, (uint32_t)o->from);

		if (c && c->direct > 0)
			rc = krona_row(m, c, s, err);
	}
	return rc;
}

/* --- all of them ------------------------------------------------------------------ */
const kh_merge_format *kh_merge_format_find(const char *name)
{
	static const kh_merge_format format[] = {
		{ "table", ".tsv", write_table, false, true, true },
		{ "biom", ".biom.tsv", write_biom, false, true, false },
		{ "krona", ".krona.txt", write_krona, true, false, false },
		{ "metaphlan", ".mpa.tsv", kh_merge_write_metaphlan, false, true, false },
		{ "cami-profile", ".profile", kh_merge_write_cami, false, true, false },
		{ "html", ".html", kh_merge_page, false, false, false },
		{ "report", ".kreport", kh_merge_report, false, false, true },
		{ "cami-binning", ".binning", NULL, true, false, false },
	};

	for (size_t i = 0; i < sizeof format / sizeof *format; i++)
		if (strcmp(name, format[i].name) == 0)
			return &format[i];
	return NULL;
}
