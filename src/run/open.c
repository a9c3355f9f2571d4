#include <config.h>
#include "run/open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/kraken.h"

/* --- operands --------------------------------------------------------------------- */
static int add_operands(kh_sheet *s, const kh_open_options *o, kh_err *err)
{
	const size_t step = o->two ? 2 : 1;
	kh_sheet_sample *x;
	int rc = KH_OK;

	if (o->n_reads == 0)
		return kh_fail(err, KH_EUSAGE, "no reads are named");
	if (o->n_reads % step)
		return kh_fail(err, KH_EUSAGE, "--paired needs an even number of files, not %zu",
			       o->n_reads);
	for (size_t i = 0; i < o->n_reads; i++)
		if (!o->reads[i] || !*o->reads[i])
			return kh_fail(err, KH_EUSAGE, "a file of reads has an empty name");
	if (!(x = kh_sheet_add(s, NULL, err)))
		return KH_ENOMEM;
	for (size_t i = 0; i < o->n_reads && !rc; i += step) {
		const char *first = o->reads[i], *second = o->two ? o->reads[i + 1] : "";
		const kh_span file[2] = { { first, strlen(first) }, { second, strlen(second) } };

		rc = kh_sheet_add_reads(s, x, file, (kh_sheet_file[2]) { 0 }, err);
	}
	return rc ? rc : kh_sheet_check_operands(s, err);
}

/* --- what is written ---------------------------------------------------------------- */
/* Adds what is wrong with a sample, or an input (x is NULL), to those of the table.  Of operands it
 * is the error. */
static int note(const kh_open_options *o, const kh_sheet_sample *x, const kh_err *what,
		kh_errs *errs, kh_err *err)
{
	if (!o->table) {
		*err = *what;
		return err->code;
	}
	return x ? kh_errs_note(errs, err, what->code, "%s:%llu: sample %s: %.350s", o->table,
				x->line, x->name, what->msg)
		 : kh_errs_note(errs, err, what->code, "%s: %.400s", o->table, what->msg);
}

int kh_open_check_database(const kh_paths *p, const char *db, kh_err *err)
{
	static const char *const kraken[] = { "taxo.k2d", "opts.k2d" };
	char *file = NULL;
	int rc = kh_db_find(&file, db, err);

	if (!rc)
		rc = kh_paths_input(p, file, "the database", err);
	for (size_t i = 0; i < 2 && !rc && kh_db_is_kraken_file(file); i++) {
		char *other;

		if (!(rc = kh_path_beside(&other, file, err, "%s", kraken[i])))
			rc = kh_paths_input(p, other, "a file of the database", err);
		free(other);
	}
	free(file);
	return rc;
}

/* Fails if a result is also another one, or an input of any sample, or a database. */
static int check_files(const kh_sheet *s, const kh_open_options *o, kh_errs *errs, kh_err *err)
{
	kh_paths *p = NULL;
	kh_err one = { 0, "" };
	int rc = kh_paths_new(&p, err);

	if (!rc)
		rc = kh_paths_output(p, o->page, err);
	for (size_t i = 0; i < s->n && !rc; i++)
		for (int k = 0; k < KH_N_RESULTS && !rc; k++)
			if (kh_paths_output(p, s->v[i].path[k], &one))
				rc = note(o, &s->v[i], &one, errs, err);
	for (size_t i = 0; i < s->n_files && !rc; i++)
		if (kh_paths_input(p, s->file[i].path, "an input", &one))
			rc = note(o, NULL, &one, errs, err);
	if (!rc && o->table && kh_paths_input(p, o->table, "the sheet", &one))
		rc = note(o, NULL, &one, errs, err);
	for (size_t i = 0; i < o->n_join && !rc; i++)
		rc = kh_paths_input(p, o->join[i], "an input", err);
	for (size_t i = 0; i < o->n_db && !rc && (!errs || errs->found == 0); i++)
		rc = kh_open_check_database(p, o->db[i], err);
	kh_paths_free(p);
	return rc;
}

int kh_open_sheet(kh_sheet *s, const kh_open_options *o, kh_errs *errs, kh_err *err)
{
	int rc = o->table ? kh_sheet_load(s, o->table, errs, err) : add_operands(s, o, err);

	if (!rc && s->interleaved && o->name)
		rc = kh_errs_note(errs, err, KH_EUSAGE,
				  "%s:%llu: interleaved reads are not read by a sheet: give two "
				  "files, or classify the sample with --interleaved", o->table,
				  s->interleaved);
	for (size_t i = 0; i < s->n && !rc && o->name; i++)
		rc = o->name(o->arg, &s->v[i], err);
	return rc || !o->name ? rc : check_files(s, o, errs, err);
}
