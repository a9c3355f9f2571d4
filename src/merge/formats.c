#include <config.h>
#include "merge/formats_in.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "base/escape.h"
#include "run/profile.h"

/* --- taxa by samples -------------------------------------------------------------- */
static bool has(const kh_merge *m, const kh_merge_options *o, enum kh_merge_value v)
{
	const bool usual = v == (m->profiles ? KH_MERGE_ABUNDANCE : KH_MERGE_CLADE),
		   there = v != (m->profiles ? KH_MERGE_CLADE : KH_MERGE_ABUNDANCE);

	return o->value == v || (o->value == KH_MERGE_ALL && there) ||
	       (o->value == KH_MERGE_USUAL && usual);
}

static void put_reads(kh_merge_sink *s, const kh_merge_options *o, const kh_merge *m,
		      const kh_merge_cell *c)
{
	const uint64_t total = m->sample[c->sample].unclassified + m->sample[c->sample].classified;

	if (has(m, o, KH_MERGE_READS))
		kh_buf_print(&s->b, "\t%" PRIu64, c->direct);
	if (has(m, o, KH_MERGE_CLADE))
		kh_buf_print(&s->b, "\t%" PRIu64, c->clade);
	if (has(m, o, KH_MERGE_SHARE))
		kh_buf_print(&s->b, "\t%.8f", kh_merge_share(c->clade, total));
}

static void put_profile(kh_merge_sink *s, const kh_merge_options *o, const kh_merge *m,
			const kh_merge_cell *c)
{
	if (has(m, o, KH_MERGE_READS))
		kh_buf_print(&s->b, "\t%" PRIu64 ".%02u", (uint64_t)c->reads / 100,
			       (unsigned)(c->reads % 100));
	if (has(m, o, KH_MERGE_SHARE))
		kh_buf_print(&s->b, "\t%.8f", kh_merge_share(c->share, KH_MERGE_ONE));
	if (has(m, o, KH_MERGE_ABUNDANCE))
		kh_buf_print(&s->b, "\t%.8f", kh_merge_share(c->abundance, KH_MERGE_ONE));
	if (o->value == KH_MERGE_ALL)
		kh_buf_print(&s->b, "\t%s", kh_detected_name((enum kh_detected)c->detected));
}

/* c: NULL if the sample does not have the taxon. */
static void put_values(kh_merge_sink *s, const kh_merge_options *o, const kh_merge *m,
		       const kh_merge_cell *c, size_t sample)
{
	const kh_merge_cell none = { .sample = (uint32_t)sample };

	if (m->profiles)
		put_profile(s, o, m, c ? c : &none);
	else
		put_reads(s, o, m, c ? c : &none);
}

static void put_header(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s)
{
	static const char *const report[] = { "_reads", "_clade", "_share", NULL },
				 *const profile[] = { "_reads", "_share", "_abundance", "_detected",
						      NULL },
				 *const one[] = { "", NULL };
	const char *const *of = o->value != KH_MERGE_ALL ? one : m->profiles ? profile : report;

	kh_buf_string(&s->b, "taxid\trank\tname\tlineage");
	for (size_t i = o->from; i < o->to; i++)
		for (const char *const *what = of; *what; what++) {
			kh_buf_string(&s->b, "\t");
			kh_buf_string(&s->b, m->sample[i].name);
			kh_buf_string(&s->b, *what);
		}
	kh_merge_end_row(s);
}

/* What has no taxon. */
static void put_unclassified(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s)
{
	kh_buf_print(&s->b, "0\tU\t%s\t", m->profiles ? "unknown" : "unclassified");
	for (size_t i = o->from; i < o->to; i++) {
		const uint64_t n = m->sample[i].unclassified;
		const kh_merge_cell c = { .sample = (uint32_t)i, .clade = n, .direct = n };

		put_values(s, o, m, m->profiles ? &m->sample[i].unknown : &c, i);
	}
	kh_merge_end_row(s);
}

static void write_table(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s)
{
	put_header(m, o, s);
	if (!o->rank)
		put_unclassified(m, o, s);
	for (uint32_t row = 0; row < m->n && !s->rc; row++) {
		const kh_merge_taxon *t = &m->taxon[row];

		if (m->first[row] == m->first[row + 1] || !kh_merge_wanted(m, row, o->rank))
			continue;
		kh_buf_print(&s->b, "%" PRIu32 "\t%s\t", t->taxid, t->code);
		kh_buf_string(&s->b, kh_merge_name(m, row));
		kh_buf_string(&s->b, "\t");
		kh_merge_put_lineage(s, m, row);
		for (size_t i = o->from; i < o->to; i++)
			put_values(s, o, m, kh_merge_find_cell(m, row, (uint32_t)i), i);
		kh_merge_end_row(s);
	}
}

/* --- BIOM 1.0, which is JSON ------------------------------------------------------ */
/* Of one rank the reads of clades, as nothing below is a row; else those called just this taxon. */
static uint64_t biom_reads(const kh_merge_options *o, const kh_merge_cell *c)
{
	return o->rank ? c->clade : c->direct;
}

/* Does the table have the taxon: is it of the rank, and has it reads of these samples? */
static bool biom_has(const kh_merge *m, const kh_merge_options *o, uint32_t row)
{
	uint64_t sum = 0;

	for (size_t c = m->first[row]; c < m->first[row + 1]; c++)
		if (m->cell[c].sample >= o->from && m->cell[c].sample < o->to)
			sum += biom_reads(o, &m->cell[c]);
	return sum > 0 && kh_merge_wanted(m, row, o->rank);
}

/* One member of a list on a line of its own, with the comma in front of it; value is taken over. */
static void put_json(kh_merge_sink *s, bool *any, json_t *value)
{
	char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;

	if (!text && !s->rc)
		s->rc = kh_fail_nomem(s->err);
	kh_buf_string(&s->b, *any ? "," : "");
	kh_merge_end_row(s);
	kh_buf_string(&s->b, text ? text : "");
	*any = true;
	free(text);
	json_decref(value);
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
	const kh_merge_lineage lineage = kh_merge_lineage_of(m, taxon);
	json_t *names = json_array();

	for (int i = 0; i < KH_MERGE_RANKS; i++) {
		const char prefix[] = { (char)(kh_merge_ranks[i] | 0x20), '_', '_', 0 };

		if (lineage.taxon[i] != KH_NO_TAXON)
			json_array_append_new(names, biom_text(prefix, kh_merge_name(
							     m, lineage.taxon[i])));
	}
	return json_pack("{s:o, s:{s:o}}", "id",
			 json_sprintf("%" PRIu32, m->taxon[taxon].taxid), "metadata", "taxonomy",
			 names);
}

static void put_cells(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s)
{
	size_t n = 0;
	bool any = false;

	for (uint32_t row = 0; row < m->n && !s->rc; row++) {
		if (!biom_has(m, o, row))
			continue;
		for (size_t c = m->first[row]; c < m->first[row + 1]; c++) {
			const kh_merge_cell *x = &m->cell[c];
			const uint64_t reads = biom_reads(o, x);

			if (x->sample >= o->from && x->sample < o->to && reads > 0)
				put_json(s, &any, json_pack("[III]", (json_int_t)n,
							    (json_int_t)(x->sample - o->from),
							    (json_int_t)reads));
		}
		n++;
	}
}

static void write_biom(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s)
{
	size_t rows = 0;
	bool any = false;

	for (uint32_t row = 0; row < m->n; row++)
		rows += biom_has(m, o, row);
	/* the format demands a date; the same reports give the same bytes at any time */
	kh_buf_string(&s->b, "{\"id\":null,\"format\":\"Biological Observation Matrix 1.0.0\","
			  "\"format_url\":\"http://biom-format.org\",\"type\":\"Taxon table\","
			  "\"generated_by\":\"" PACKAGE_STRING "\","
			  "\"date\":\"1970-01-01T00:00:00\",\"matrix_type\":\"sparse\","
			  "\"matrix_element_type\":\"int\",");
	kh_buf_print(&s->b, "\"shape\":[%zu,%zu],\n\"rows\":[", rows, o->to - o->from);
	for (uint32_t row = 0; row < m->n && !s->rc; row++)
		if (biom_has(m, o, row))
			put_json(s, &any, biom_row(m, row));
	kh_buf_string(&s->b, "],\n\"columns\":[");
	any = false;
	for (size_t i = o->from; i < o->to; i++)
		put_json(s, &any, json_pack("{s:o, s:n}", "id", biom_text("", m->sample[i].name),
					    "metadata"));
	kh_buf_string(&s->b, "],\n\"data\":[");
	put_cells(m, o, s);
	kh_buf_string(&s->b, "]}\n");
}

/* --- Krona ------------------------------------------------------------------------ */
/* Rows with the same lineage add up in Krona, so each taxon has its own. */
static void write_krona(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s)
{
	const kh_merge_sample *sample = &m->sample[o->from];

	if (sample->unclassified > 0)
		kh_buf_print(&s->b, "%" PRIu64 "\tUnclassified\n", sample->unclassified);
	for (uint32_t row = 0; row < m->n && !s->rc; row++) {
		const kh_merge_cell *c = kh_merge_find_cell(m, row, (uint32_t)o->from);

		if (!c || c->direct == 0)
			continue;
		const kh_merge_lineage lineage = kh_merge_lineage_of(m, c->taxon);
		kh_buf_print(&s->b, "%" PRIu64, c->direct);
		for (int i = 0; i < KH_MERGE_RANKS; i++)
			if (lineage.taxon[i] != KH_NO_TAXON) {
				kh_buf_string(&s->b, "\t");
				kh_buf_string(&s->b, kh_merge_name(m, lineage.taxon[i]));
			}
		kh_merge_end_row(s);
	}
}

/* --- all of them ------------------------------------------------------------------ */
const kh_merge_format *kh_merge_format_find(const char *name)
{
	static const kh_merge_format format[] = {
		{ .name = "table", .suffix = ".table.tsv", .write = write_table,
		  .ranks = true, .profiles = true },
		{ .name = "html", .suffix = ".merged.html", .write = kh_merge_page },
		{ .name = "krona", .suffix = ".krona", .write = write_krona,
		  .one_sample = true },
		{ .name = "biom", .suffix = ".biom", .write = write_biom, .ranks = true },
		{ .name = "cami-profile", .suffix = ".merged.cami", .write = kh_merge_cami,
		  .ranks = true, .profiles = true },
		{ .name = "blanks", .suffix = ".blanks.tsv", .write = kh_merge_blanks_table,
		  .profiles = true, .controls = true },
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
