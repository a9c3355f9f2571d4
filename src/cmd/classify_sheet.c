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
#include "io/paths.h"

/* --- names of results --------------------------------------------------------------- */
#define VALUE(field) offsetof(struct classify_values, field)

/* Results of one file each, as --write calls them.  `value`: the option that names the file, as an
 * offset; with a table of samples the file is DIR/SAMPLE.VALUE. */
static const struct name {
	const char *word;
	enum kh_result result;
	size_t value;
	const char *end;                /* of the name, if --write asks for the result */
	bool usual;                     /* as it does if it is not given */
} names[] = {
	{ "lines", KH_RESULT_LINES, VALUE(output), "tsv", true },
	{ "lines.gz", KH_RESULT_LINES, VALUE(output), "tsv.gz", false },
	{ "paf", KH_RESULT_PAF, VALUE(paf), "paf", false },
	{ "paf.gz", KH_RESULT_PAF, VALUE(paf), "paf.gz", false },
	{ "report", KH_RESULT_REPORT, VALUE(report), "report", true },
	{ "json", KH_RESULT_SUMMARY, VALUE(json), "json", true },
	{ "html", KH_RESULT_PAGE, VALUE(html), "html", false },
	{ "profile", KH_RESULT_PROFILE, VALUE(profile), "profile.tsv", false },
};
enum { N_NAMES = sizeof names / sizeof *names };

static const char **value_of(struct classify_values *v, const struct name *x)
{
	return (const char **)((char *)v + x->value);
}

/* Finds out which of the names are words of the list; NULL: the usual ones. */
static int find_wanted(const char *list, bool wanted[N_NAMES], kh_err *err)
{
	for (int k = 0; k < N_NAMES; k++)
		wanted[k] = !list && names[k].usual;
	for (size_t n; list; list = list[n] ? list + n + 1 : NULL) {
		bool known = false;

		n = strcspn(list, ",");
		for (int k = 0; k < N_NAMES; k++)
			if (strlen(names[k].word) == n && strncmp(names[k].word, list, n) == 0)
				known = wanted[k] = true;
		if (!known)
			return kh_fail(err, KH_EUSAGE, "--write: '%.*s' is none of lines, "
				       "lines.gz, paf, paf.gz, report, json, html and profile",
				       (int)n, list);
	}
	return KH_OK;
}

int kh_classify_name_wanted(struct classify *j, kh_err *err)
{
	struct classify_values *v = &j->v;
	bool wanted[N_NAMES];
	int rc = find_wanted(v->write, wanted, err);

	j->pages = v->samples && v->write && strstr(v->write, "html");

	for (int k = 0; k < N_NAMES && !rc && (v->samples || v->prefix); k++) {
		const char **value = value_of(v, &names[k]);
		char *name;

		if (*value || !wanted[k])
			continue;
		if (v->samples && names[k].result != KH_RESULT_PAGE) {
			*value = names[k].end;
			continue;
		}
		rc = KH_GROW(j->made.v, j->made.cap, j->made.n + 1, err);
		/* the page is of all samples */
		if (!rc && asprintf(&name, "%s%s.%s", v->samples ? v->outdir : v->prefix,
				    v->samples ? "/samples" : "", names[k].end) < 0)
			rc = kh_fail_nomem(err);
		if (!rc)
			*value = j->made.v[j->made.n++] = name;
	}
	if ((v->samples || v->prefix) && !v->output)
		v->output = "-";
	/* the page of all samples is made of their files */
	if (v->samples && v->html && v->sample_pass && !v->profile)
		v->profile = "profile.tsv";
	if (!rc && v->resume && !v->json)
		rc = kh_fail(err, KH_EUSAGE, "--resume needs the summaries: json among --write");
	return rc;
}

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

static int name_results(struct classify *j, kh_sheet_sample *x, kh_err *err)
{
	struct classify_values *v = &j->v;
	int rc = KH_OK;

	for (int k = 0; k < N_NAMES && !rc; k++) {
		const char *value = *value_of(v, &names[k]);

		if (names[k].result == KH_RESULT_LINES)         /* "-" is none */
			value = !v->output ? "-" : strcmp(v->output, "-") ? v->output : NULL;
		/* the option names the page of all samples */
		if (names[k].result == KH_RESULT_PAGE && v->samples)
			value = j->pages ? names[k].end : NULL;
		if (!x->path[names[k].result])
			rc = set_name(&x->path[names[k].result], v->outdir, x->name, value, err);
	}
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

static int check_database(const kh_paths *p, const struct classify *j, kh_err *err)
{
	char *db = NULL;
	int rc = kh_db_find(&db, j->v.db, err);

	if (!rc)
		rc = kh_paths_input(p, db, "the database", err);
	free(db);
	return rc;
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
	for (size_t i = 0; i < s->n_files && !rc; i++)
		if (kh_paths_input(p, s->file[i].path, "an input", &one))
			rc = note(j, NULL, &one, err);
	if (!rc && j->v.samples && kh_paths_input(p, j->v.samples, "the sheet", &one))
		rc = note(j, NULL, &one, err);
	if (!rc && j->errs.found == 0)
		rc = check_database(p, j, err);
	kh_paths_free(p);
	return rc;
}

/* --- the sheet ---------------------------------------------------------------------- */
/* Two names that differ in one character, 1 and 2: probably mates, which a run without --paired
 * takes for single reads. */
static void hint_at_mates(int n, char **path)
{
	for (int i = 0; i + 1 < n; i++) {
		const char *a = path[i], *b = path[i + 1];
		const size_t len = strlen(a);
		size_t k = 0;

		while (k < len && a[k] == b[k])
			k++;
		if (k == len || a[k] != '1' || b[k] != '2' || strcmp(a + k + 1, b + k + 1) != 0)
			continue;
		kh_log(KH_WARN, "%s and %s look like mates: --paired takes them as pairs", a, b);
		return;
	}
}

static int add_operands(struct classify *j, int n, char **path, kh_err *err)
{
	const bool two = j->v.paired && !j->v.interleaved;
	kh_sheet_sample *x;
	int rc = KH_OK;

	if (n == 0)
		return kh_fail(err, KH_EUSAGE, "no reads are named");
	if (!j->paired)
		hint_at_mates(n, path);
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

		rc = kh_sheet_add_reads(&j->sheet, x, file, (kh_sheet_file[2]) { 0 }, err);
	}
	return rc ? rc : kh_sheet_check_twice(&j->sheet, NULL, NULL, err);
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
	if (!rc)
		rc = check_files(j, err);
	if (!rc && j->v.samples && j->errs.found == 0)
		rc = make_folder(j, err);
	if (rc || j->errs.found == 0)
		return rc;
	const int status = kh_cmd_fail_all(&kh_cmd_classify, &j->errs);
	return kh_fail(err, status == 2 ? KH_EUSAGE : KH_EFORMAT,
		       "%s: nothing is classified before that is mended", j->v.samples);
}
