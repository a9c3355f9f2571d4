/* classify_samples_names.c - classify --samples: its options, and the files of each sample */
#include <config.h>
#include "cmd/classify_samples_in.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"
#include "io/paths.h"

/* --- options ---------------------------------------------------------------------- */
int kh_classify_check_samples(const struct classify *j, int n_operands, kh_err *err)
{
	const struct classify_values *v = &j->v;
	static const char *const format[] = { "tsv", "tsv.gz", "none" };
	bool known = !v->output_format;

	for (int i = 0; i < 3 && !known; i++)
		known = strcmp(v->output_format, format[i]) == 0;
	if (!v->samples) {
		if (v->outdir || v->output_format || v->keep_going || v->resume)
			return kh_fail(err, KH_EUSAGE, "--outdir, --output-format, --keep-going "
				       "and --resume need --samples SHEET");
		return KH_OK;
	}
	if (!v->outdir)
		return kh_fail(err, KH_EUSAGE, "--samples needs --outdir DIR");
	if (n_operands > 0)
		return kh_fail(err, KH_EUSAGE, "reads are named by --samples or by operands: not "
			       "both");
	if (v->output || v->report || v->json)
		return kh_fail(err, KH_EUSAGE, "--samples names its outputs itself: no --output, "
			       "--report or --json");
	if (v->paired || v->interleaved)
		return kh_fail(err, KH_EUSAGE, "--samples says itself which reads are paired");
	if (!known)
		return kh_fail(err, KH_EUSAGE, "--output-format: '%s' is none of tsv, tsv.gz and "
			       "none", v->output_format);
	if (v->html && v->mpa)
		return kh_fail(err, KH_EUSAGE, "--html of samples is made of their reports, which "
			       "--use-mpa-style has no counts of taxa for");
	if (j->comm)
		return kh_fail(err, KH_EUSAGE, "--samples works in one process");
	return KH_OK;
}

/* --- names ------------------------------------------------------------------------ */
static int make_name(char **path, const char *dir, const char *sample, const char *end,
		     kh_err *err)
{
	if (asprintf(path, "%s/%s.%s", dir, sample, end) >= 0)
		return KH_OK;
	*path = NULL;
	return kh_fail_nomem(err);
}

/* Names files of reads: with a '#' two for pairs, and one more for single reads beside them. */
static int name_reads(const kh_sheet_sample *x, const char *dir, const char *name, char **first,
		      char **single, kh_err *err)
{
	const char *hash = name ? strchr(name, '#') : NULL;
	bool pairs = false, singles = false;
	char *end = NULL;
	int rc = KH_OK;

	for (size_t i = 0; i < x->n_reads; i++) {
		pairs |= x->reads[i].paired;
		singles |= !x->reads[i].paired;
	}
	if (!name)
		return KH_OK;
	if (!hash)
		return make_name(first, dir, x->name, name, err);
	for (int mate = 0; mate <= pairs && !rc; mate++) {
		char number[3] = { '_', (char)('1' + mate), 0 };

		if (asprintf(&end, "%.*s%s%s", (int)(hash - name), name, pairs ? number : "",
			     hash + 1) < 0)
			return kh_fail_nomem(err);
		rc = make_name(first + mate, dir, x->name, end, err);
		free(end);
	}
	if (rc || !pairs || !singles)
		return rc;
	if (asprintf(&end, "%.*s%s", (int)(hash - name), name, hash + 1) < 0)
		return kh_fail_nomem(err);
	rc = make_name(single, dir, x->name, end, err);
	free(end);
	return rc;
}

static int name_files(const struct samples *s, size_t i, kh_err *err)
{
	const struct classify_values *v = &s->j->v;
	const kh_sheet_sample *x = &s->sheet.v[i];
	const char *format = v->output_format ? v->output_format : "tsv";
	char **path = s->files[i].path;
	int rc = make_name(&path[REPORT], v->outdir, x->name, "kreport", err);

	if (!rc)
		rc = make_name(&path[JSON], v->outdir, x->name, "json", err);
	if (!rc && v->profile)
		rc = make_name(&path[PROFILE], v->outdir, x->name, v->profile, err);
	if (!rc && v->registers)
		rc = make_name(&path[REGISTERS], v->outdir, x->name, v->registers, err);
	if (!rc && strcmp(format, "none") != 0)
		rc = make_name(&path[KH_RESULT_LINES], v->outdir, x->name, format, err);
	if (!rc)
		rc = name_reads(x, v->outdir, v->classified, &path[KH_RESULT_CLASSIFIED],
				&path[KH_RESULT_CLASSIFIED_SINGLE], err);
	if (!rc)
		rc = name_reads(x, v->outdir, v->unclassified, &path[KH_RESULT_UNCLASSIFIED],
				&path[KH_RESULT_UNCLASSIFIED_SINGLE], err);
	return rc;
}

/* Fails if an output is also another output, or the reads of any sample. */
static int check_files(struct samples *s, kh_err *err)
{
	const char *sheet = s->j->v.samples;
	kh_paths *p = NULL;
	int rc = kh_paths_new(&p, err);

	if (!rc)
		rc = kh_paths_output(p, s->j->v.html, err);
	for (size_t i = 0; i < s->sheet.n && !rc; i++)
		for (int k = 0; k < N_FILES && !rc; k++) {
			kh_err one = { 0, "" };

			if (kh_paths_output(p, s->files[i].path[k], &one))
				rc = kh_errs_note(&s->errs, err, one.code,
						  "%s:%llu: sample %s: %.350s", sheet,
						  s->sheet.v[i].line, s->sheet.v[i].name, one.msg);
		}
	for (size_t i = 0; i < s->sheet.n_text && !rc; i++) {
		kh_err one = { 0, "" };

		if (kh_paths_input(p, s->sheet.text[i], "an input", &one))
			rc = kh_errs_note(&s->errs, err, one.code, "%s: %.400s", sheet, one.msg);
	}
	kh_paths_free(p);
	return rc;
}

static int make_folder(struct samples *s, kh_err *err)
{
	const char *dir = s->j->v.outdir;

	struct stat st;

	if ((mkdir(dir, 0777) != 0 && errno != EEXIST) || stat(dir, &st) != 0)
		return kh_errs_note(&s->errs, err, KH_EIO, "%s: %s", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return kh_errs_note(&s->errs, err, KH_EIO, "%s: is no folder", dir);
	if (access(dir, W_OK | X_OK) != 0)
		return kh_errs_note(&s->errs, err, KH_EIO, "%s: %s", dir, strerror(errno));
	return KH_OK;
}

int kh_classify_samples_prepare(struct samples *s, kh_err *err)
{
	int rc = kh_sheet_load(&s->sheet, s->j->v.samples, &s->errs, err);

	if (rc)
		return rc;
	s->files = kh_array(s->sheet.n, sizeof *s->files, err);
	rc = s->files ? KH_OK : KH_ENOMEM;
	for (size_t i = 0; i < s->sheet.n && !rc; i++)
		rc = name_files(s, i, err);
	if (!rc && !s->j->v.dry_run)
		rc = make_folder(s, err);
	return rc ? rc : check_files(s, err);
}
