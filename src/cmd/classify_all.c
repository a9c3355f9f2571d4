/* classify_all.c - results of all samples of a table, when the last one is done: a page, and
 * comparisons with controls */
#include <config.h>
#include "cmd/classify_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "base/mem.h"
#include "cmd/record.h"
#include "io/paths.h"
#include "merge/blanks.h"
#include "merge/formats.h"
#include "merge/recorded.h"

static bool has_controls(const struct classify *j)
{
	for (size_t i = 0; i < j->sheet.n; i++)
		if (j->sheet.v[i].control)
			return true;
	return false;
}

static bool has_concentrations(const struct classify *j)
{
	for (size_t i = 0; i < j->sheet.n; i++)
		if (j->sheet.v[i].concentration > 0)
			return true;
	return false;
}

static int open_one(kh_writer **w, const char *path, bool digest, kh_err *err)
{
	const kh_writer_options o = { .path = path,
				      .bgzf = kh_writer_wants_bgzf(path),
				      .digest = digest,
				      .threads = 1 };

	return kh_writer_open(w, &o, err);
}

int kh_classify_open_all(struct classify *j, kh_err *err)
{
	int rc = KH_OK;

	if (has_controls(j) || has_concentrations(j)) {
		if (j->v.mpa || !j->sheet.v[0].path[KH_RESULT_REPORT])
			return kh_fail(err, KH_EUSAGE, "samples are compared with their controls "
				       "by reports: report among --write, and no --set mpa-style");
		rc = kh_print(&j->blanks_path, err, "%s/samples.blanks.tsv", j->v.out.outdir);
		if (!rc)
			rc = open_one(&j->blanks, j->blanks_path, false, err);
	}
	return rc || !j->v.out.html ? rc : open_one(&j->page, j->v.out.html, false, err);
}

/* --- reports and profiles ----------------------------------------------------------- */
/* Reads a result that was written, or was there already, into m. */
static int read_result(kh_merge *m, const kh_sheet_sample *x, enum kh_result which, kh_err *err)
{
	kh_errs errs = { NULL, 0, 0, 0 };
	int rc = kh_merge_read(m, x->name, x->path[which], &errs, err);

	if (!rc && errs.n > 0) {
		*err = errs.v[0];
		rc = err->code;
	}
	kh_errs_clear(&errs);
	return rc;
}

/* Reads the reports of the samples that are there, and for a page their profiles. */
static int read_results(const struct classify *j, kh_merge *reports, kh_merge *profiles,
			kh_err *err)
{
	const bool more = j->v.out.profile && j->page;
	int rc = KH_OK;

	for (size_t i = 0; i < j->sheet.n && !rc; i++) {
		if (!j->sample[i].there)
			continue;
		rc = read_result(reports, &j->sheet.v[i], KH_RESULT_REPORT, err);
		if (rc)
			return rc;
		kh_merge_sample *s = &reports->sample[reports->n_samples - 1];
		s->control = j->sheet.v[i].control;
		s->concentration = j->sheet.v[i].concentration;
		if (more)
			rc = read_result(profiles, &j->sheet.v[i], KH_RESULT_PROFILE, err);
	}
	if (!rc && more)
		rc = kh_merge_add_evidence(reports, profiles, err);
	if (!rc)
		rc = kh_merge_finish(reports, err);
	return rc || !j->blanks ? rc : kh_merge_blanks(reports, err);
}

static int write_table(const struct classify *j, const kh_merge *reports, kh_err *err)
{
	const kh_merge_options o = { .to = reports->n_samples };
	kh_merge_sink sink = { .writer = j->blanks, .err = err };

	kh_merge_blanks_table(reports, &o, &sink);
	const int rc = kh_merge_flush(&sink);
	free(sink.b.p);
	return rc;
}

/* --- profiles ----------------------------------------------------------------------- */
/* The summary of a sample, which tells another size and digest of its profile. */
static int tell_summary(const kh_sheet_sample *x, const kh_writer *profile, kh_writer *summary,
			kh_err *err)
{
	json_t *root = kh_recorded_load(x->path[KH_RESULT_SUMMARY]), *of;
	kh_buf b = { .n = 0 };
	uint64_t bytes, xxh3;
	size_t at = 0;
	int rc;

	for (int k = 0; k < KH_RESULT_PROFILE; k++)
		at += x->path[k] != NULL;
	of = json_array_get(json_object_get(json_object_get(root, "run"), "outputs"), at);
	if (!of)
		rc = kh_fail(err, KH_EFORMAT, "%s: was changed while it was used",
			     x->path[KH_RESULT_SUMMARY]);
	else if (kh_writer_digest(profile, &bytes, &xxh3) &&
		 (json_object_set_new(of, "size", json_integer((json_int_t)bytes)) ||
		  json_object_set_new(of, "xxh3", kh_recorded_hex(xxh3))))
		rc = kh_fail_nomem(err);
	else
		rc = kh_record_text(&b, json_incref(root), err);
	if (!rc)
		rc = kh_writer_put(summary, b.p, b.n, err);
	free(b.p);
	json_decref(root);
	return rc;
}

static int replace_profile(const kh_sheet_sample *x, const kh_buf *b, kh_err *err)
{
	kh_writer *w[2] = { NULL, NULL };
	const bool summary = x->path[KH_RESULT_SUMMARY];
	int rc = open_one(&w[0], x->path[KH_RESULT_PROFILE], summary, err);

	if (!rc)
		rc = kh_writer_put(w[0], b->p, b->n, err);
	if (!rc)
		rc = kh_writer_finish(w[0], err);
	if (!rc && summary)
		rc = open_one(&w[1], x->path[KH_RESULT_SUMMARY], false, err);
	if (!rc && summary)
		rc = tell_summary(x, w[0], w[1], err);
	if (!rc)
		rc = kh_writer_commit(w, 2, err);
	kh_writer_close(w[0]);
	kh_writer_close(w[1]);
	return rc;
}

/* Profiles get the column of verdicts, or lose that of an earlier run. */
static int tell_profiles(const struct classify *j, const kh_merge *reports, kh_err *err)
{
	uint32_t number = 0;            /* in the reports */
	int rc = KH_OK;

	for (size_t i = 0; i < j->sheet.n && !rc; i++) {
		const kh_sheet_sample *x = &j->sheet.v[i];
		kh_buf b = { .n = 0 };
		bool changed = false;
		struct stat st;
		kh_tsv tsv;

		if (!j->sample[i].there)
			continue;
		const uint32_t sample = number++;
		if (!kh_path_is_file(x->path[KH_RESULT_PROFILE], &st))
			continue;               /* what a FIFO gave is gone */
		rc = kh_tsv_open(&tsv, x->path[KH_RESULT_PROFILE], err);
		if (!rc)
			rc = has_controls(j) ? kh_merge_blanks_profile(reports, sample, &tsv, &b,
								       &changed, err)
					     : kh_merge_blanks_drop(&tsv, &b, &changed, err);
		kh_tsv_clear(&tsv);
		if (!rc && changed)
			rc = replace_profile(x, &b, err);
		free(b.p);
	}
	return rc;
}

/* The table and the page get their names last: where they are, the profiles tell the same. */
int kh_classify_write_all(struct classify *j, kh_err *err)
{
	kh_merge reports = { .n = 0 }, profiles = { .wants_evidence = true };
	bool any = false;
	int rc = KH_OK;

	for (size_t i = 0; i < j->sheet.n; i++)
		any |= j->sample[i].there;
	if (any && (j->blanks || j->page))
		rc = read_results(j, &reports, &profiles, err);
	if (!rc && any && j->blanks)
		rc = write_table(j, &reports, err);
	if (!rc && any && j->page)
		rc = kh_classify_samples_page(j, &reports, err);
	if (!rc && j->v.out.profile && (has_controls(j) || j->v.many.resume))
		rc = tell_profiles(j, &reports, err);
	if (!rc && any && (j->blanks || j->page))
		rc = kh_writer_commit((kh_writer *[]) { j->blanks, j->page }, 2, err);
	kh_merge_clear(&reports);
	kh_merge_clear(&profiles);
	return rc;
}
