#include <config.h>
#include "merge/formats_in.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "base/escape.h"
#include "sample/model.h"

/* --- taxa by samples -------------------------------------------------------------- */
static bool has(const kh_merge *m, const kh_merge_options *o, enum kh_merge_value v)
{
	const bool usual = v == (m->profiles ? KH_MERGE_ABUNDANCE : KH_MERGE_CLADE),
		   there = v != (m->profiles ? KH_MERGE_CLADE : KH_MERGE_ABUNDANCE);

	return o->value == v || (o->value == KH_MERGE_ALL && there) ||
	       (o->value == KH_MERGE_USUAL && usual);
}

static int add_reads(kh_merge_sink *s, const kh_merge_options *o, const kh_merge *m,
		     const kh_merge_cell *c, kh_err *err)
{
	const uint64_t total = m->sample[c->sample].unclassified + m->sample[c->sample].classified;
	int rc = KH_OK;

	if (has(m, o, KH_MERGE_READS))
		rc = kh_buf_print(&s->b, err, "\t%" PRIu64, c->direct);
	if (!rc && has(m, o, KH_MERGE_CLADE))
		rc = kh_buf_print(&s->b, err, "\t%" PRIu64, c->clade);
	if (!rc && has(m, o, KH_MERGE_SHARE))
		rc = kh_buf_print(&s->b, err, "\t%.8f", kh_merge_share(c->clade, total));
	return rc;
}

static int add_profile(kh_merge_sink *s, const kh_merge_options *o, const kh_merge *m,
		       const kh_merge_cell *c, kh_err *err)
{
	int rc = KH_OK;

	if (has(m, o, KH_MERGE_READS))
		rc = kh_buf_print(&s->b, err, "\t%" PRIu64 ".%02u", (uint64_t)c->reads / 100,
				  (unsigned)(c->reads % 100));
	if (!rc && has(m, o, KH_MERGE_SHARE))
		rc = kh_buf_print(&s->b, err, "\t%.8f", kh_merge_share(c->share, KH_MERGE_ONE));
	if (!rc && has(m, o, KH_MERGE_ABUNDANCE))
		rc = kh_buf_print(&s->b, err, "\t%.8f",
				  kh_merge_share(c->abundance, KH_MERGE_ONE));
	if (!rc && o->value == KH_MERGE_ALL)
		rc = kh_buf_print(&s->b, err, "\t%s", c->verdict
				  ? kh_verdict_name((enum kh_verdict)(c->verdict - 1)) : "-");
	return rc;
}

/* c: NULL if the sample does not have the taxon. */
static int add_values(kh_merge_sink *s, const kh_merge_options *o, const kh_merge *m,
		      const kh_merge_cell *c, size_t sample, kh_err *err)
{
	const kh_merge_cell none = { .sample = (uint32_t)sample };

	return m->profiles ? add_profile(s, o, m, c ? c : &none, err)
			   : add_reads(s, o, m, c ? c : &none, err);
}

static int table_header(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s,
			kh_err *err)
{
	static const char *const report[] = { "_reads", "_clade", "_share", NULL },
				 *const profile[] = { "_reads", "_share", "_abundance", "_verdict",
						      NULL },
				 *const one[] = { "", NULL };
	const char *const *of = o->value != KH_MERGE_ALL ? one : m->profiles ? profile : report;
	int rc = kh_buf_string(&s->b, "taxid\trank\tname\tlineage", err);

	for (size_t i = o->from; i < o->to && !rc; i++)
		for (const char *const *what = of; *what && !rc; what++) {
			rc = kh_buf_string(&s->b, "\t", err);
			if (!rc)
				rc = kh_buf_string(&s->b, m->sample[i].name, err);
			if (!rc)
				rc = kh_buf_string(&s->b, *what, err);
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
		rc = add_values(s, o, m, kh_merge_next_cell(m, row, &at, (uint32_t)i), i, err);
	return rc ? rc : kh_merge_end_row(s, err);
}

/* What has no taxon. */
static int unclassified_row(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s,
			    kh_err *err)
{
	int rc = kh_buf_print(&s->b, err, "0\tU\t%s\t",
			      m->profiles ? "unknown" : "unclassified");

	for (size_t i = o->from; i < o->to && !rc; i++) {
		const uint64_t n = m->sample[i].unclassified;
		kh_merge_cell c = { .sample = (uint32_t)i, .clade = n, .direct = n };

		if (m->profiles)
			c = m->sample[i].unknown;
		rc = add_values(s, o, m, &c, i, err);
	}
	return rc ? rc : kh_merge_end_row(s, err);
}

static int write_table(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s, kh_err *err)
{
	int rc = table_header(m, o, s, err);

	if (!rc && !o->rank)
		rc = unclassified_row(m, o, s, err);
	for (size_t row = 0; row < m->n && !rc; row++)
		if (m->first[row] < m->first[row + 1] && kh_merge_wanted(m, m->order[row], o->rank))
			rc = table_row(m, o, row, s, err);
	return rc;
}

/* --- BIOM 1.0, which is JSON ------------------------------------------------------ */
/* Does the table have the taxon: is it of the rank, and were reads of these samples given it? */
static bool biom_has(const kh_merge *m, const kh_merge_options *o, size_t row)
{
	uint64_t sum = 0;

	for (size_t c = m->first[row]; c < m->first[row + 1]; c++)
		if (m->cell[c].sample >= o->from && m->cell[c].sample < o->to)
			sum += m->cell[c].direct;
	return sum > 0 && kh_merge_wanted(m, m->order[row], o->rank);
}

/* One member of a list: its comma, and the value, which is taken over. */
static int biom_put(kh_merge_sink *s, bool *any, json_t *value, kh_err *err)
{
	char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;
	int rc = text ? kh_buf_print(&s->b, err, *any ? ",\n" : "\n") : kh_fail_nomem(err);

	if (!rc && !(rc = kh_buf_string(&s->b, text, err)))
		rc = kh_merge_flush(s, false, err);
	*any = true;
	free(text);
	json_decref(value);
	return rc;
}

static json_t *biom_text(const char *prefix, const char *name)
{
	char *shown = kh_escaped(name);
	json_t *t = shown ? json_sprintf("%s%s", prefix, shown) : NULL;

	free(shown);
	return t;
}

static json_t *biom_row(const kh_merge *m, uint32_t taxon)
{
	const kh_merge_lineage l = kh_merge_lineage_of(m, taxon);
	json_t *lineage = json_array();

	for (int i = 0; i < KH_MERGE_RANKS; i++) {
		const char prefix[] = { (char)(kh_merge_ranks[i].letter | 0x20), '_', '_', 0 };

		if (l.taxon[i] != KH_NO_TAXON)
			json_array_append_new(lineage,
					      biom_text(prefix, kh_merge_name(m, l.taxon[i])));
	}
	return json_pack("{s:o, s:{s:o}}", "id",
			 json_sprintf("%" PRIu32, m->taxon[taxon].taxid), "metadata", "taxonomy",
			 lineage);
}

static int biom_data(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s, kh_err *err)
{
	size_t n = 0;
	bool any = false;
	int rc = kh_buf_string(&s->b, "],\n\"data\":[", err);

	for (size_t row = 0; row < m->n && !rc; row++) {
		const bool has = biom_has(m, o, row);

		for (size_t c = m->first[row]; has && c < m->first[row + 1] && !rc; c++) {
			const kh_merge_cell *x = &m->cell[c];

			if (x->sample >= o->from && x->sample < o->to && x->direct > 0)
				rc = biom_put(s, &any,
					      json_pack("[IIo]", (json_int_t)n,
							(json_int_t)(x->sample - o->from),
							json_integer((json_int_t)x->direct)), err);
		}
		n += has;
	}
	return rc ? rc : kh_buf_string(&s->b, "]}\n", err);
}

static int write_biom(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s, kh_err *err)
{
	size_t rows = 0;
	bool any = false;
	int rc;

	for (size_t row = 0; row < m->n; row++)
		rows += biom_has(m, o, row);
	/* the format demands a date; the same reports give the same bytes at any time */
	rc = kh_buf_print(&s->b, err, "{\"id\":null,"
			  "\"format\":\"Biological Observation Matrix 1.0.0\","
			  "\"format_url\":\"http://biom-format.org\",\"type\":\"Taxon table\","
			  "\"generated_by\":\"%s\",\"date\":\"1970-01-01T00:00:00\","
			  "\"matrix_type\":\"sparse\",\"matrix_element_type\":\"int\","
			  "\"shape\":[%zu,%zu],\n\"rows\":[", PACKAGE_STRING, rows,
			  o->to - o->from);
	for (size_t row = 0; row < m->n && !rc; row++)
		if (biom_has(m, o, row))
			rc = biom_put(s, &any, biom_row(m, m->order[row]), err);
	any = false;
	if (!rc)
		rc = kh_buf_string(&s->b, "],\n\"columns\":[", err);
	for (size_t i = o->from; i < o->to && !rc; i++)
		rc = biom_put(s, &any, json_pack("{s:o, s:n}", "id",
						 biom_text("", m->sample[i].name), "metadata"),
			      err);
	return rc ? rc : biom_data(m, o, s, err);
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
		{ .name = "table", .suffix = ".tsv", .write = write_table,
		  .ranks = true, .profiles = true },
		{ .name = "report", .suffix = ".kreport", .write = kh_merge_report },
		{ .name = "html", .suffix = ".html", .write = kh_merge_page },
		{ .name = "krona", .suffix = ".krona.txt", .write = write_krona,
		  .one_sample = true },
		{ .name = "biom", .suffix = ".biom", .write = write_biom, .ranks = true },
		{ .name = "cami-profile", .suffix = ".profile", .write = kh_merge_write_cami,
		  .ranks = true, .profiles = true },
		{ .name = "cami-binning", .suffix = ".binning", .one_sample = true },
	};

	for (size_t i = 0; i < sizeof format / sizeof *format; i++)
		if (strcmp(name, format[i].name) == 0)
			return &format[i];
	return NULL;
}

int kh_merge_format_check(const kh_merge_format *f, const kh_merge *m, const kh_merge_options *o,
			  kh_err *err)
{
	const char *first = m->n_samples > 0 ? m->sample[0].path : "";

	if (m->profiles && !f->profiles)
		return kh_fail(err, KH_EUSAGE, "--format %s is made of reports, and %s is a "
			       "profile", f->name, first);
	if (o->value == (m->profiles ? KH_MERGE_CLADE : KH_MERGE_ABUNDANCE))
		return kh_fail(err, KH_EUSAGE, "--value %s is nothing that a %s has: %s",
			       m->profiles ? "clade" : "abundance",
			       m->profiles ? "profile" : "report", first);
	return KH_OK;
}
