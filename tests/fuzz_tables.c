/*
 * fuzz_tables.c - any bytes as a sheet of samples, or as registers of distinct features
 *
 * The first byte says which: 's' a sheet, 'r' registers, 'm' two texts of registers and a form feed
 * between.  A text is parsed twice, at once and in small reads: the same must come out.  What is
 * accepted must be usable: names that files can have, as many second mates as first ones, registers
 * that can be written and read again.
 */
#include <config.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "fuzz_reads.h"
#include "run/registers.h"
#include "run/sheet.h"

enum { N_TAXA = 5 };

static kh_taxonomy *tree;

static void make_tree(void)
{
	static const char nodes[] = "1\t|\t1\t|\tno rank\t|\n10\t|\t1\t|\tgenus\t|\n"
				    "100\t|\t10\t|\tspecies\t|\n101\t|\t10\t|\tspecies\t|\n"
				    "200\t|\t1\t|\tspecies\t|\n",
			  names[] = "10\t|\tg\t|\t\t|\tscientific name\t|\n"
				    "100\t|\ta\t|\t\t|\tscientific name\t|\n"
				    "101\t|\tb\t|\t\t|\tscientific name\t|\n"
				    "200\t|\tc\t|\t\t|\tscientific name\t|\n";
	static const uint32_t all[] = { 100, 101, 200 };
	const kh_bytes a = { nodes, sizeof nodes - 1, "nodes" };
	const kh_bytes b = { names, sizeof names - 1, "names" };
	kh_taxdump *dump;

	REQUIRE(!kh_taxdump_parse(&dump, &a, &b, NULL, NULL));
	REQUIRE(!kh_taxonomy_prune(&tree, dump, all, 3, NULL));
	REQUIRE(tree->n == N_TAXA);
	kh_taxdump_close(dump);
}

/* --- sheets ------------------------------------------------------------------------- */
static void check_sheet(const kh_sheet *s)
{
	size_t files = 0;

	REQUIRE(s->n > 0);
	for (size_t i = 0; i < s->n; i++) {
		const kh_sheet_sample *x = &s->v[i];

		REQUIRE(kh_sheet_is_name((kh_span) { x->name, strlen(x->name) }));
		REQUIRE(x->n_reads > 0);
		for (size_t k = 0; k < i && s->n < 50; k++)
			REQUIRE(strcmp(x->name, s->v[k].name) != 0);
		for (size_t k = 0; k < x->n_reads; k++) {
			REQUIRE(x->reads[k].n > 0);
			for (size_t f = 0; f < x->reads[k].n; f++)
				REQUIRE(x->reads[k].path[0][f][0] &&
					(!x->reads[k].paired || x->reads[k].path[1][f][0]));
			files += x->reads[k].n * (x->reads[k].paired ? 2 : 1);
		}
	}
	REQUIRE(files == s->n_files);
	for (size_t i = 0; i < s->n_files; i++)
		REQUIRE(s->file[i].sample < s->n && s->file[i].line > 1);
}

static void sheet(const char *p, const char *end)
{
	kh_sheet s[2] = { { .v = NULL }, { .v = NULL } };
	kh_errs errs[2] = { { .v = NULL }, { .v = NULL } };
	kh_err err = { 0, "" };
	int rc[2];

	for (int i = 0; i < 2; i++) {
		reader r = { p, end, (size_t)i };

		rc[i] = kh_sheet_parse(&s[i], "sheet", give, &r, &errs[i], &err);
		if (!rc[i] && errs[i].found == 0)
			check_sheet(&s[i]);
	}
	REQUIRE(rc[0] == rc[1] && errs[0].found == errs[1].found && s[0].n == s[1].n);
	for (size_t i = 0; i < s[0].n; i++)
		REQUIRE(strcmp(s[0].v[i].name, s[1].v[i].name) == 0 &&
			s[0].v[i].n_reads == s[1].v[i].n_reads);
	for (int i = 0; i < 2; i++) {
		kh_sheet_clear(&s[i]);
		kh_errs_clear(&errs[i]);
	}
}

/* --- registers ---------------------------------------------------------------------- */
static uint32_t find(const void *of, uint32_t taxid)
{
	return kh_taxonomy_find(of, taxid);
}

static int read_registers(kh_distinct *d, const char *p, const char *end, size_t step,
			  kh_features_of *of)
{
	reader r = { p, end, step };
	const kh_registers_input in = { "registers", give, &r, find, tree };
	kh_err err = { 0, "" };
	const int rc = kh_registers_read(d, &in, of, &err);

	REQUIRE(!rc || (err.code == rc && err.msg[0]));
	return rc;
}

/* What was read can be written, and read again as the same. */
static void again(const kh_tally *t, const kh_features_of *of)
{
	const kh_db_header h = { .sampling = { .scheme = of->scheme, .k = of->k, .s = of->s },
				 .least = of->share, .no_repeats = !of->repeats,
				 .digest = of->references };
	kh_features_of back = { .k = 0 };
	kh_buf b = { .n = 0 };
	kh_tally u;

	REQUIRE(!kh_tally_init(&u, N_TAXA, true, NULL));
	REQUIRE(!kh_registers_write(&b, t, tree, &h, NULL));
	REQUIRE(!read_registers(&u.distinct, b.p, b.p + b.n, 0, &back));
	for (uint32_t i = 0; i < N_TAXA; i++)
		REQUIRE(kh_distinct_count(&t->distinct, i) == kh_distinct_count(&u.distinct, i) &&
			t->distinct.found[i] == u.distinct.found[i]);
	REQUIRE(back.k == of->k && back.s == of->s && back.references == of->references &&
		back.share == of->share && back.scheme == of->scheme);
	free(b.p);
	kh_tally_clear(&u);
}

static void registers(const char *p, const char *end, bool two)
{
	const char *cut = two ? memchr(p, '\f', (size_t)(end - p)) : NULL;
	kh_features_of of[2] = { { .k = 0 }, { .k = 0 } };
	kh_tally t[2];
	int rc[2];

	for (int i = 0; i < 2; i++) {
		REQUIRE(!kh_tally_init(&t[i], N_TAXA, true, NULL));
		for (uint32_t k = 0; k < N_TAXA; k++)
			t[i].direct[k] = 1;     /* so that each taxon has a row */
		rc[i] = read_registers(&t[i].distinct, p, cut ? cut : end, (size_t)i, &of[i]);
		if (!rc[i] && cut)
			rc[i] = read_registers(&t[i].distinct, cut + 1, end, (size_t)i, &of[i]);
	}
	REQUIRE(rc[0] == rc[1]);
	for (uint32_t k = 0; k < N_TAXA; k++)
		REQUIRE(rc[0] || t[0].distinct.found[k] <= INT64_MAX);
	if (!rc[0] && of[0].repeats <= 1)
		again(&t[0], &of[0]);
	kh_tally_clear(&t[0]);
	kh_tally_clear(&t[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data;

	if (size == 0)
		return 0;
	if (!tree)
		make_tree();
	if (data[0] == 's')
		sheet(p + 1, p + size);
	else
		registers(p + 1, p + size, data[0] == 'm');
	return 0;
}
