/*
 * fuzz_sheet.c - any bytes as a sheet of samples
 *
 * It is parsed twice, at once and in small reads: the same must come out.  What is accepted must be
 * usable: names that files can have, as many second mates as first ones.
 */
#include <config.h>
#include "fuzz.h"
#include "given.h"
#include "run/sheet.h"

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
		given r = { p, (size_t)(end - p), (size_t)i, i > 0, 0 };
		kh_tsv tsv;

		kh_tsv_init(&tsv, "sheet", give, &r);
		rc[i] = kh_sheet_parse(&s[i], &tsv, &errs[i], &err);
		kh_tsv_clear(&tsv);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sheet((const char *)data, (const char *)data + size);
	return 0;
}
