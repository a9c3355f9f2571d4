/* classify_sheet.c - the samples of a run, and what their results are called */
#include <config.h>
#include "cmd/classify_in.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"
#include "io/output.h"
#include "io/paths.h"

/* --- names of results --------------------------------------------------------------- */
/* Results of one file each.  `value`: the option of that result, as an offset; with operands it
 * names the file.  With a table of samples the file is DIR/SAMPLE.END, where END is the option's
 * value, or else `usual`, if it has one. */
static const struct name {
	enum kh_result result;
	size_t value;
	const char *usual;
} names[] = {
	{ KH_RESULT_REGISTERS, offsetof(struct classify_values, registers), NULL },
	{ KH_RESULT_REPORT, offsetof(struct classify_values, report), "kreport" },
	{ KH_RESULT_PROFILE, offsetof(struct classify_values, profile), NULL },
	{ KH_RESULT_SUMMARY, offsetof(struct classify_values, json), "json" },
};

/* The name of a result: `end` itself, or, in a folder, DIR/SAMPLE.END; NULL stays NULL. */
static int set_name(char **path, const char *dir, const char *sample, const char *end,
		    kh_err *err)
{
	int n = 0;

	if (end && dir)
		n = asprintf(path, "%s/%s.%s", dir, sample, end);
	else if (end)
		n = asprintf(path, "%s", end);
	if (n >= 0)
		return KH_OK;
	*path = NULL;
	return kh_fail_nomem(err);
}

/* Names files of reads, the first one of which is path[0]: with a '#' in `name` two for pairs, and
 * one more for single reads beside them. */
static int name_reads(const struct classify *j, kh_sheet_sample *x, const char *name,
		      int first, int single, kh_err *err)
{
	const char *hash = name ? strchr(name, '#') : NULL;
	bool pairs = j->paired, singles = false;
	char *end = NULL;
	int rc = KH_OK;

	for (size_t i = 0; i < x->n_reads && x->name; i++) {
		pairs |= x->reads[i].paired;
		singles |= !x->reads[i].paired;
	}
	if (!hash || (!pairs && !x->name))
		return set_name(&x->path[first], j->v.outdir, x->name, name, err);
	for (int k = 0; k < 3 && !rc; k++) {            /* mates 1, mates 2, single reads */
		const char *number[] = { "_1", "_2", "" };

		if (k < 2 ? !pairs : !singles)
			continue;
		if (asprintf(&end, "%.*s%s%s", (int)(hash - name), name, number[k], hash + 1) < 0)
			return kh_fail_nomem(err);
		rc = set_name(&x->path[k < 2 ? first + k : pairs ? single : first],
			      j->v.outdir, x->name, end, err);
		free(end);
	}
	return rc;
}

static int name_results(const struct classify *j, kh_sheet_sample *x, kh_err *err)
{
	const struct classify_values *v = &j->v;
	const char *lines = v->samples ? v->output_format ? v->output_format : "tsv"
			    : v->output ? v->output
					: "-";
	int rc = KH_OK;

	for (size_t k = 0; k < sizeof names / sizeof *names && !rc; k++) {
		const char *value = *(const char *const *)((const char *)v + names[k].value);

		rc = set_name(&x->path[names[k].result], v->outdir, x->name,
			      value || !v->samples ? value : names[k].usual, err);
	}
	if (!rc && (v->samples ? strcmp(lines, "none") : !v->output || strcmp(lines, "-")))
		rc = set_name(&x->path[KH_RESULT_LINES], v->outdir, x->name, lines, err);
	if (!rc && !v->samples)         /* else it is of all samples */
		rc = set_name(&x->path[KH_RESULT_PAGE], NULL, NULL, v->html, err);
	if (!rc)
		rc = name_reads(j, x, v->classified, KH_RESULT_CLASSIFIED,
				KH_RESULT_CLASSIFIED_SINGLE, err);
	return rc ? rc : name_reads(j, x, v->unclassified, KH_RESULT_UNCLASSIFIED,
				    KH_RESULT_UNCLASSIFIED_SINGLE, err);
}

/* --- checks ------------------------------------------------------------------------- */
/* Adds what is wrong with a sample, or an input (x is NULL), to those of the sheet.  If there is
 * no sheet it is the error. */
static int note(struct classify *j, const kh_sheet_sample *x, const kh_err *what, kh_err *err)
{
	if (!j->v.samples) {
		*err = *what;
		return err->code;
	}
	return x ? kh_errs_note(&j->errs, err, what->code, "%s:%llu: sample %s: %.350s",
				j->v.samples, x->line, x->name, what->msg)
		 : kh_errs_note(&j->errs, err, what->code, "%s: %.400s", j->v.samples, what->msg);
}

/* Checks the database, or the references that it is made of. */
static int check_database(const kh_paths *p, const struct classify *j, kh_err *err)
{
	const kh_words *table[] = { &j->v.references, &j->v.maps, &j->v.seqids };
	char *db = NULL;
	int rc = KH_OK;

	if (j->v.references.n == 0) {
		rc = kh_db_find(&db, j->v.db, err);
		if (!rc)
			rc = kh_paths_input(p, db, "the database", err);
		free(db);
		return rc;
	}
	for (size_t i = 0; i < 3 && !rc; i++)
		for (size_t k = 0; k < table[i]->n && !rc; k++)
			rc = kh_paths_input(p, table[i]->v[k], "an input", err);
	return rc ? rc : kh_cmd_check_taxonomy(p, j->v.taxonomy, err);
}

/* Fails if a result is also another one, or an input of any sample, or the database. */
static int check_files(struct classify *j, kh_err *err)
{
	const kh_sheet *s = &j->sheet;
	kh_paths *p = NULL;
	kh_err one = { 0, "" };
	int rc = kh_paths_new(&p, err);

	if (!rc && j->v.samples)
		rc = kh_paths_output(p, j->v.html, err);
	for (size_t i = 0; i < s->n && !rc; i++)
		for (int k = 0; k < KH_N_RESULTS && !rc; k++)
			if (kh_paths_output(p, s->v[i].path[k], &one))
				rc = note(j, &s->v[i], &one, err);
	for (size_t i = 0; i < s->n_text && !rc; i++)
		if (kh_paths_input(p, s->text[i], "an input", &one))
			rc = note(j, NULL, &one, err);
	if (!rc && j->errs.found == 0)
		rc = check_database(p, j, err);
	kh_paths_free(p);
	return rc;
}

int kh_classify_try_files(const struct classify *j, uint64_t *bytes, kh_err *err)
{
	const kh_run_options o = { .feed = j->feed };
	const kh_sheet_sample *x = &j->sheet.v[0];
	const kh_feed_options fo = kh_run_feed_options(&o, x, 0);
	kh_monitor *m = NULL;
	kh_feed *feed = NULL;
	uint64_t done;
	struct stat st;
	int rc = kh_monitor_new(&m, err);

	if (!rc && !(rc = kh_feed_open(&feed, &fo, m, err)))
		kh_feed_progress(feed, &done, bytes);
	kh_feed_close(feed);
	kh_monitor_free(m);
	for (int k = 0; k < KH_N_RESULTS && !rc; k++) {
		const char *path = x->path[k];
		kh_out *out = NULL;

		/* opening a file that is written in place would empty it */
		if (!path || strcmp(path, "-") == 0 ||
		    (lstat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
			continue;
		rc = kh_out_open(&out, path, err);
		kh_out_close(out);
	}
	return rc;
}

/* --- the sheet ---------------------------------------------------------------------- */
static int add_operands(struct classify *j, int n, char **path, kh_err *err)
{
	const bool two = j->v.paired && !j->v.interleaved;
	kh_sheet_sample *x;
	int rc = KH_OK;

	if (n == 0)
		return kh_fail(err, KH_EUSAGE, "no reads are named");
	if (two && n % 2)
		return kh_fail(err, KH_EUSAGE, "--paired needs an even number of files, not %d", n);
	for (int i = 0; i < n; i++) {
		if (!*path[i])
			return kh_fail(err, KH_EUSAGE, "a file of reads has an empty name");
		if ((rc = kh_comm_check_input(j->on.comm, kh_is_standard_input(path[i]), err)))
			return rc;
	}
	if (!(x = kh_sheet_add(&j->sheet, NULL, err)))
		return KH_ENOMEM;
	for (int i = 0; i < n && !rc; i += two ? 2 : 1) {
		const kh_span file[2] = { { path[i], strlen(path[i]) },
					  { path[i + two], two ? strlen(path[i + two]) : 0 } };

		rc = kh_sheet_add_reads(&j->sheet, x, file, err);
	}
	return rc;
}

static int make_folder(struct classify *j, kh_err *err)
{
	const char *dir = j->v.outdir;
	struct stat st;

	if ((mkdir(dir, 0777) != 0 && errno != EEXIST) || stat(dir, &st) != 0)
		return kh_errs_note(&j->errs, err, KH_EIO, "%s: %s", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return kh_errs_note(&j->errs, err, KH_EIO, "%s: is no folder", dir);
	if (access(dir, W_OK | X_OK) != 0)
		return kh_errs_note(&j->errs, err, KH_EIO, "%s: %s", dir, strerror(errno));
	return KH_OK;
}

int kh_classify_sheet(struct classify *j, int n, char **path, kh_err *err)
{
	int rc = j->v.samples ? kh_sheet_load(&j->sheet, j->v.samples, &j->errs, err)
			      : add_operands(j, n, path, err);

	if (!rc && !(j->sample = kh_array(j->sheet.n, sizeof *j->sample, err)))
		rc = KH_ENOMEM;
	for (size_t i = 0; i < j->sheet.n && !rc; i++)
		rc = name_results(j, &j->sheet.v[i], err);
	if (!rc && j->v.samples && !j->v.dry_run)
		rc = make_folder(j, err);
	if (!rc)
		rc = check_files(j, err);
	if (rc || j->errs.found == 0)
		return rc;
	kh_cmd_fail_all(&kh_cmd_classify, &j->errs);
	return kh_fail(err, KH_EFORMAT, "%s: nothing is classified before that is mended",
		       j->v.samples);
}
