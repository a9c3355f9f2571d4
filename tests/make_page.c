/*
 * make_page.c - pages of made-up taxa, for the tests and to measure them
 *
 * make_page TAXA SAMPLES PAGE: a tree of about TAXA taxa, by ranks from domain to strain, with
 * names that try to be more than text, and a profile's columns in the first sample.
 */
#include <config.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "io/output.h"
#include "page/page.h"

#define NAME 400

static uint64_t seed = 20;

static uint64_t draw(void)
{
	uint64_t x = seed += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static const char *const rank[] = { "no rank", "superkingdom", "phylum", "class", "order",
				    "family", "genus", "species", "strain" };
enum { LEVELS = sizeof rank / sizeof *rank };

/* What a page must show as it stands. */
static const char *const hostile[] = {
	"<script>document.title = 'broken'</script>",
	"</script><img src=x onerror=\"document.title='broken'\">",
	"\"quoted\" & 'quoted' \\ {{x}} ${x} %s",
	("\xd7\x97\xd7\x99\xd7\x99\xd7\x93\xd7\xa7 \xe2\x80\xae" "abc"), /* right to left */
	"not UTF-8: \xff\xfe",
};
enum { HOSTILE = sizeof hostile / sizeof *hostile };

struct made {
	kh_page_taxon *t;
	char (*name)[NAME];
	uint64_t **direct;              /* a sample each */
	size_t n, room, samples;
};

static void name_of(struct made *m, size_t i, unsigned level)
{
	static const char *const part[] = { "ba", "co", "di", "fu", "la", "me", "no", "ri",
					    "sta", "the", "ve", "xy", "sal", "bor", "lin", "gor" };
	static const char *const tail[] = { "", "ia", "ota", "ia", "ales", "aceae", "ella",
					    " communis", " strain" };
	char *name = m->name[i];
	size_t at = 0;

	for (unsigned k = 0; k < 3; k++)
		at += (size_t)snprintf(name + at, NAME - at, "%s", part[draw() % 16]);
	snprintf(name + at, NAME - at, "%s %zu", tail[level], i);
	name[0] = (char)(name[0] & ~0x20);
}

/* A taxon and what is below it, in preorder; about `want` in all. */
static void grow(struct made *m, uint32_t parent, unsigned level, size_t want)
{
	const uint32_t me = (uint32_t)m->n++;
	const bool leaf = level + 1 == LEVELS || want < 2;

	m->t[me] = (kh_page_taxon) { .taxid = me ? me * 7 + 2 : 1, .parent = parent,
				     .name = m->name[me], .rank = rank[level] };
	name_of(m, me, level);
	for (size_t s = 0; s < m->samples; s++) {
		const double u = (double)(draw() >> 11) * 0x1p-53;

		if (leaf || draw() % 8 == 0)
			m->direct[s][me] = (uint64_t)pow(10, 5 * u * u);
	}
	for (size_t left = want - 1; !leaf && left > 0 && m->n < m->room;) {
		size_t part = level + 2 == LEVELS ? 1 : 1 + (size_t)(draw() % left);

		if (level == 0 && left > 4)     /* a few domains of many taxa */
			part = left * 3 / 4;
		grow(m, me, level + 1, part);
		left -= part < left ? part : left;
	}
}

static int make(struct made *m, size_t taxa, size_t samples, kh_err *err)
{
	m->room = taxa;
	m->samples = samples;
	m->t = kh_array(taxa, sizeof *m->t, err);
	m->name = kh_array(taxa, sizeof *m->name, err);
	m->direct = kh_array(samples, sizeof *m->direct, err);
	if (!m->t || !m->name || !m->direct)
		return KH_ENOMEM;
	for (size_t s = 0; s < samples; s++)
		if (!(m->direct[s] = kh_array(taxa, sizeof **m->direct, err)))
			return KH_ENOMEM;
	grow(m, 0, 0, taxa);
	snprintf(m->name[0], NAME, "root");
	for (size_t i = 0; i < HOSTILE && i + 2 < m->n; i++)
		snprintf(m->name[m->n - 1 - i], NAME, "%s", hostile[i]);
	if (m->n > HOSTILE + 2)
		snprintf(m->name[m->n - 1 - HOSTILE], NAME, "Long %0290d", 7);
	return KH_OK;
}

/* Coverage of the first COVERED species, as much as classify --html writes. */
enum { COVERED = 300, PARTS = 100 };

struct cover {
	kh_covered species[COVERED];
	uint32_t part[PARTS];
	size_t n;
};

/* One target, which all of them have. */
static char ids[] = "NZ_<b>0001.1";
static kh_db_target target = { .bases = 4000000 };
static const kh_db db = { .target = &target, .ids = ids };

static void make_cover(struct cover *c, const struct made *m)
{
	const kh_covered_target one = { .many = 60000, .part = c->part, .n = PARTS };

	for (size_t i = 0; i < PARTS; i++)
		c->part[i] = (uint32_t)(50 + draw() % 1000);
	for (size_t i = 0; i < m->n && c->n < COVERED; i++) {
		if (strcmp(m->t[i].rank, "species") != 0)
			continue;
		kh_covered *x = &c->species[c->n++];

		*x = (kh_covered) { .species = (uint32_t)i, .many = 180000,
				    .n = KH_COVERAGE_TARGETS };
		for (size_t k = 0; k < KH_COVERAGE_TARGETS; k++)
			x->target[k] = one;
		for (size_t k = 0; k < KH_SHARES; k++)
			x->share[k] = k * k;
	}
}

enum { DETECTED, ANI, WHY, FIRST, COLUMNS };

/* Values of all species; returns their number. */
static size_t make_rows(const struct made *m, kh_page_row *row, kh_page_value (*value)[COLUMNS])
{
	static const char *const detected[] = { "yes", "low", "no", NULL };
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++) {
		if (strcmp(m->t[i].rank, "species") != 0)
			continue;
		row[n] = (kh_page_row) { i, value[n] };
		value[n][ANI].number = 0.9 + (double)(draw() % 1000) * 1e-4;
		value[n][FIRST].number = (double)(draw() % 1000);
		const char *text = detected[draw() % 4];

		value[n][DETECTED].text = text;
		value[n][WHY].text = text ? text : "too few";
		n++;
	}
	return n;
}

static int write_page(struct made *m, const char *path, kh_err *err)
{
	kh_page_row *row = kh_array(m->n, sizeof *row, err);
	kh_page_value (*value)[COLUMNS] = kh_array(m->n, sizeof *value, err);
	kh_page_sample *sample = kh_array(m->samples, sizeof *sample, err);
	char (*name)[32] = kh_array(m->samples, sizeof *name, err);
	static struct cover cover;
	kh_buf b = { .n = 0 };
	kh_out *out = NULL;
	int rc = row && value && sample && name ? KH_OK : KH_ENOMEM;
	const size_t rows = rc ? 0 : make_rows(m, row, value);
	const kh_page_column column[] = {
		{ .key = "detected", .label = "Detected", .kind = KH_PAGE_TEXT },
		{ .key = "ani", .label = "ANI", .kind = KH_PAGE_PERCENT, .digits = 2,
		  .help = "average nucleotide identity" },
		{ .key = "why", .label = "Why", .kind = KH_PAGE_TEXT, .detail = true },
		{ .key = "first", .label = "First", .kind = KH_PAGE_NUMBER, .detail = true },
	};
	const kh_page_fact fact[] = { { .label = "Program", .value = PACKAGE_STRING },
				      { .label = "Command", .value = "make_page <b>x</b>",
					.code = true } };
	for (size_t s = 0; !rc && s < m->samples; s++) {
		snprintf(name[s], sizeof *name, s == 1 ? "<b>sample</b> %zu" : "sample %zu", s + 1);
		sample[s] = (kh_page_sample) { .name = name[s], .direct = m->direct[s],
					       .unclassified = 1000 * (s + 1),
					       .row = row,
					       .n_rows = s == 0 ? rows : 0 };
	}
	if (!rc) {
		make_cover(&cover, m);
		sample[0].coverage = cover.species;
		sample[0].n_coverage = cover.n;
	}
	const kh_page p = { .unit = "reads", .taxon = m->t, .n_taxa = m->n, .sample = sample,
			    .n_samples = m->samples, .column = column, .n_columns = COLUMNS,
			    .db = &db, .k = 18,
			    .fact = fact, .n_facts = 2 };
	if (!rc && !(rc = kh_page_write(&b, &p, err)) && !(rc = kh_out_open(&out, path, err)) &&
	    !(rc = kh_out_write(out, b.p, b.n, err)))
		rc = kh_out_commit(&out, 1, err);
	kh_out_close(out);
	free(b.p);
	free(name);
	free(sample);
	free(value);
	free(row);
	return rc;
}

int main(int argc, char **argv)
{
	const long taxa = argc == 4 ? strtol(argv[1], NULL, 10) : 0;
	const long samples = argc == 4 ? strtol(argv[2], NULL, 10) : 0;
	struct made m = { .n = 0 };
	kh_err err = { 0, "" };
	int rc;

	if (taxa < 1 || samples < 1) {
		fprintf(stderr, "usage: make_page TAXA SAMPLES PAGE\n");
		return 2;
	}
	rc = make(&m, (size_t)taxa, (size_t)samples, &err);
	if (!rc)
		rc = write_page(&m, argv[3], &err);
	if (rc)
		fprintf(stderr, "make_page: %s\n", err.msg);
	for (size_t s = 0; m.direct && s < m.samples; s++)
		free(m.direct[s]);
	free(m.direct);
	free(m.name);
	free(m.t);
	return rc != KH_OK;
}
