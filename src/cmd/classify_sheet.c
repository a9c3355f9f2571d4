/* classify_sheet.c - the samples of a run, and the names of their results */
#include <config.h>
#include "cmd/classify_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/mem.h"
#include "run/open.h"

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
	{ "lines", KH_RESULT_LINES, VALUE(out.output), "tsv", true },
	{ "lines.gz", KH_RESULT_LINES, VALUE(out.output), "tsv.gz", false },
	{ "paf", KH_RESULT_PAF, VALUE(out.paf), "paf", false },
	{ "paf.gz", KH_RESULT_PAF, VALUE(out.paf), "paf.gz", false },
	{ "sam", KH_RESULT_SAM, VALUE(out.sam), "sam", false },
	{ "sam.gz", KH_RESULT_SAM, VALUE(out.sam), "sam.gz", false },
	{ "report", KH_RESULT_REPORT, VALUE(out.report), "report", true },
	{ "json", KH_RESULT_SUMMARY, VALUE(out.json), "json", true },
	{ "html", KH_RESULT_PAGE, VALUE(out.html), "html", false },
	{ "profile", KH_RESULT_PROFILE, VALUE(out.profile), "profile.tsv", false },
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
		int k = 0, other = 0;

		n = strcspn(list, ",");
		while (k < N_NAMES &&
		       (strlen(names[k].word) != n || strncmp(names[k].word, list, n) != 0))
			k++;
		while (k < N_NAMES && other < N_NAMES &&
		       (other == k || !wanted[other] || names[other].result != names[k].result))
			other++;
		if (k < N_NAMES && other < N_NAMES)
			return kh_fail(err, KH_EUSAGE, "--write: %s or %s, not both",
				       names[other].word, names[k].word);
		if (k < N_NAMES)
			wanted[k] = true;
		else
			return kh_fail(err, KH_EUSAGE, "--write: '%.*s' is none of lines, "
				       "lines.gz, paf, paf.gz, sam, sam.gz, report, json, html "
				       "and profile",
				       (int)n, list);
	}
	return KH_OK;
}

int kh_classify_name_wanted(struct classify *j, kh_err *err)
{
	struct classify_values *v = &j->v;
	bool wanted[N_NAMES];
	int rc = find_wanted(v->out.write, wanted, err);

	j->pages = v->many.samples && v->out.write && strstr(v->out.write, "html");

	for (int k = 0; k < N_NAMES && !rc && (v->many.samples || v->out.prefix); k++) {
		const char **value = value_of(v, &names[k]);
		char *name;

		if (*value || !wanted[k])
			continue;
		if (v->many.samples && names[k].result != KH_RESULT_PAGE) {
			*value = names[k].end;
			continue;
		}
		rc = KH_GROW(j->made.v, j->made.cap, j->made.n + 1, err);
		/* the page is of all samples */
		if (!rc)
			rc = kh_print(&name, err, "%s%s.%s",
				      v->many.samples ? v->out.outdir : v->out.prefix,
				      v->many.samples ? "/samples" : "", names[k].end);
		if (!rc)
			*value = j->made.v[j->made.n++] = name;
	}
	if ((v->many.samples || v->out.prefix) && !v->out.output)
		v->out.output = "-";
	/* the page of all samples is made of their files */
	if (v->many.samples && v->out.html && v->sample_pass && !v->out.profile)
		v->out.profile = "profile.tsv";
	if (!rc && v->many.resume && !v->out.json)
		rc = kh_fail(err, KH_EUSAGE, "--resume needs the summaries: json among --write");
	return rc;
}

/* The name of a result: `end` itself, or, in a folder, DIR/SAMPLE.END; NULL stays NULL. */
static int set_name(char **path, const char *dir, const char *sample, const char *end,
		    kh_err *err)
{
	if (!end)
		return KH_OK;
	return dir ? kh_print(path, err, "%s/%s.%s", dir, sample, end)
		   : kh_print(path, err, "%s", end);
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
		return set_name(&x->path[first], j->v.out.outdir, x->name, name, err);
	for (int k = 0; k < 3 && !rc; k++) {            /* mates 1, mates 2, single reads */
		const char *number[] = { "_1", "_2", "" };

		if (k < 2 ? !pairs : !singles)
			continue;
		rc = kh_print(&end, err, "%.*s%s%s", (int)(hash - name), name, number[k],
			      hash + 1);
		if (!rc)
			rc = set_name(&x->path[k < 2 ? first + k : pairs ? single : first],
				      j->v.out.outdir, x->name, end, err);
		free(end);
	}
	return rc;
}

static int name_results(void *arg, kh_sheet_sample *x, kh_err *err)
{
	struct classify *j = arg;
	struct classify_values *v = &j->v;
	int rc = KH_OK;

	for (int k = 0; k < N_NAMES && !rc; k++) {
		const char *value = *value_of(v, &names[k]);

		if (names[k].result == KH_RESULT_LINES)         /* "-" is none */
			value = !v->out.output ? "-"
				: strcmp(v->out.output, "-") ? v->out.output : NULL;
		/* the option names the page of all samples */
		if (names[k].result == KH_RESULT_PAGE && v->many.samples)
			value = j->pages ? names[k].end : NULL;
		if (!x->path[names[k].result])
			rc = set_name(&x->path[names[k].result], v->out.outdir, x->name, value,
				      err);
	}
	if (!rc)
		rc = set_name(&x->path[KH_RESULT_CANDIDATES], NULL, NULL, v->out.candidates, err);
	if (!rc)
		rc = name_reads(j, x, v->out.classified, KH_RESULT_CLASSIFIED,
				KH_RESULT_CLASSIFIED_SINGLE, err);
	return rc ? rc : name_reads(j, x, v->out.unclassified, KH_RESULT_UNCLASSIFIED,
				    KH_RESULT_UNCLASSIFIED_SINGLE, err);
}

/* --- the sheet ---------------------------------------------------------------------- */
/* Do two names differ in one character only, which is `one` in the first and `two` in the other? */
static bool differ_in(const char *a, const char *b, char one, char two)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == one && *b == two && strcmp(a + 1, b + 1) == 0;
}

/* Names like those of mates, which a run without --paired takes for single reads. */
static void hint_at_mates(int n, char **path)
{
	for (int i = 0; i + 1 < n; i++)
		if (differ_in(path[i], path[i + 1], '1', '2')) {
			kh_log(KH_WARN, "%s and %s look like mates: --paired takes them as pairs",
			       path[i], path[i + 1]);
			return;
		}
}

/* Files of second mates that are called as those of first ones, and the other way round. */
static bool hint_at_swapped(const kh_sheet *s)
{
	for (size_t i = 1; i < s->n_files; i++) {
		const char *first = s->file[i - 1].path, *second = s->file[i].path;

		if (!s->file[i].second || !differ_in(first, second, '2', '1'))
			continue;
		kh_log(KH_WARN, "first mates are read from %s and second ones from %s: are they "
		       "swapped?", first, second);
		return true;
	}
	return false;
}

/* Tells all errors of the sheet; the error that is left is about all of them. */
static int tell_errors(const struct classify *j, const char *sheet, kh_err *err)
{
	const int status = kh_cmd_fail_all(j->command, &j->errs);

	return kh_fail(err, status == 2 ? KH_EUSAGE : KH_EFORMAT,
		       "%s: nothing is classified before that is mended", sheet);
}

int kh_classify_check_sheet(struct classify *j, kh_err *err)
{
	const char *sheet = j->v.many.check_sheet;
	kh_buf b = { .n = 0 };
	int rc = kh_cmd_check_printing(&sheet, 1, "the sheet", err);

	if (!rc)
		rc = kh_sheet_load(&j->sheet, sheet, &j->errs, err);
	if (!rc && j->errs.found > 0)
		rc = tell_errors(j, sheet, err);
	kh_buf_string(&b, "sample\treads1\treads2\n");
	for (size_t i = 0; i < j->sheet.n && !rc; i++) {
		const kh_sheet_sample *x = &j->sheet.v[i];

		for (size_t k = 0; k < x->n_reads; k++)
			for (size_t f = 0; f < x->reads[k].n; f++)
				kh_buf_print(&b, "%s\t%s\t%s\n", x->name,
					     x->reads[k].path[0][f],
					     x->reads[k].paired ? x->reads[k].path[1][f] : "");
	}
	if (!rc && !(rc = kh_buf_check(&b, err)))
		kh_cmd_print(b.p, b.n);
	free(b.p);
	return rc;
}

int kh_classify_sheet(struct classify *j, int n, char **path, kh_err *err)
{
	const kh_open_options o = { .db = j->v.db.v,
				    .n_db = j->v.db.n,
				    .join = j->v.join.v,
				    .n_join = j->v.join.n,
				    .table = j->v.many.samples,
				    .reads = (const char *const *)path,
				    .n_reads = (size_t)n,
				    .two = j->v.reads.paired && !j->v.reads.interleaved,
				    .page = j->v.many.samples ? j->v.out.html : NULL,
				    .name = name_results,
				    .arg = j };
	int rc;

	if (!j->paired)
		hint_at_mates(n, path);
	rc = kh_open_sheet(&j->sheet, &o, &j->errs, err);
	if (!rc && j->errs.found == 0)
		j->said_swapped = hint_at_swapped(&j->sheet);
	if (!rc && !(j->sample = kh_array(j->sheet.n, sizeof *j->sample, err)))
		rc = KH_ENOMEM;
	if (!rc && j->v.many.samples && j->errs.found == 0)
		rc = kh_cmd_make_folder(j->v.out.outdir, err);
	if (rc || j->errs.found == 0)
		return rc;
	return tell_errors(j, j->v.many.samples, err);
}
