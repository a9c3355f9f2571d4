#include <config.h>
#include "merge/inputs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"
#include "io/paths.h"
#include "merge/summaries.h"
#include "taxonomy/tsv.h"

void kh_merge_files_clear(kh_merge_files *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free(f->v[i].sample);
		free(f->v[i].path);
	}
	free(f->v);
	*f = (kh_merge_files) { .v = NULL };
}

/* --- names ------------------------------------------------------------------------ */
static bool cut_end(char *s, const char *end)
{
	const size_t n = strlen(s), m = strlen(end);

	if (n <= m || strcmp(s + n - m, end) != 0)
		return false;
	s[n - m] = 0;
	return true;
}

char *kh_merge_sample_name(const char *path)
{
	static const char *const end[] = { ".report", ".kreport", ".kreport2", ".kraken",
					   ".kraken2", ".tsv", ".txt" };
	const char *slash = strrchr(path, '/');
	char *name = strdup(strcmp(path, "-") == 0 ? "stdin" : slash ? slash + 1 : path);

	if (!name)
		return NULL;
	cut_end(name, ".gz");
	/* in front of these stands the sample's own name */
	if (cut_end(name, ".report") || cut_end(name, ".kreport"))
		return name;
	cut_end(name, ".txt");
	for (size_t i = 0; i < sizeof end / sizeof *end; i++)
		if (cut_end(name, end[i]))
			break;
	cut_end(name, ".profile");
	return name;
}

/* Adds a file; takes over both strings. */
static int add_file(kh_merge_files *f, char *sample, char *path, kh_err *err)
{
	int rc = sample && path ? KH_GROW(f->v, f->cap, f->n + 1, err)
				: kh_fail_nomem(err);

	if (rc) {
		free(sample);
		free(path);
		return rc;
	}
	f->v[f->n++] = (kh_merge_file) { sample, path };
	return KH_OK;
}

/* --- folders ---------------------------------------------------------------------- */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static bool ends_in(const char *name, const char *end)
{
	const size_t n = strlen(name), m = strlen(end);

	return n > m && strcmp(name + n - m, end) == 0;
}

/* .kreport: of earlier versions, and of others */
static bool is_report(const char *name)
{
	static const char *const end[] = { ".report", ".report.gz", ".kreport", ".kreport.gz" };
	bool is = false;

	for (size_t i = 0; i < sizeof end / sizeof *end; i++)
		is |= ends_in(name, end[i]);
	return is;
}

/* The length of what stands in front of ".NAME" in that of a profile; 0: it is none's. */
static size_t profile_stem(const kh_merge_files *f, const char *name)
{
	const size_t n = strlen(name), m = f->profile ? strlen(f->profile) + 1 : n;

	return n > m && name[n - m] == '.' && strcmp(name + n - m + 1, f->profile) == 0 ? n - m : 0;
}

/* The sample that a file is of, to be freed; NULL: no memory. */
static char *sample_of(const kh_merge_files *f, const char *path)
{
	const char *name = kh_base_name(path);
	const size_t stem = profile_stem(f, name);

	return stem ? strndup(name, stem) : kh_merge_sample_name(path);
}

/* Notes if the sample of a report, or of a summary that has no report, has no profile. */
static int check_profile(const kh_merge_files *f, const char *path, kh_errs *errs, kh_err *err)
{
	const char *name = kh_base_name(path);
	char *sample = kh_merge_sample_name(path), *profile = NULL, *report = NULL;
	int rc = KH_OK;

	if (sample)
		cut_end(sample, ".json");
	else
		rc = kh_fail_nomem(err);
	if (!rc)
		rc = kh_path_beside(&profile, path, err, "%s.%s", sample, f->profile);
	if (!rc)
		rc = kh_path_beside(&report, path, err, "%s.report", sample);
	if (!rc && access(profile, F_OK) != 0 && (is_report(name) || access(report, F_OK) != 0))
		rc = kh_errs_note(errs, err, KH_EIO, "%s: there is no such file, but %s of the "
				  "same sample", profile, path);
	free(report);
	free(profile);
	free(sample);
	return rc;
}

/* Notes if the file is of another run than the summary of its sample. */
static int check_run(const kh_merge_files *f, const char *path, kh_errs *errs, kh_err *err)
{
	char *sample = sample_of(f, path);
	const int rc = sample ? kh_merge_check_run(path, sample, errs, err) : kh_fail_nomem(err);

	free(sample);
	return rc;
}

/* Adds a file of a folder: a report or a profile, by what is wanted. */
static int add_entry(kh_merge_files *f, const char *path, kh_errs *errs, kh_err *err)
{
	const char *name = kh_base_name(path);

	if (f->profile ? profile_stem(f, name) > 0 : is_report(name))
		return add_file(f, sample_of(f, path), strdup(path), err);
	if (!f->profile || !(is_report(name) || (ends_in(name, ".json") &&
						  kh_merge_is_summary(path))))
		return KH_OK;
	const int rc = check_profile(f, path, errs, err);
	return rc || !is_report(name) ? rc : check_run(f, path, errs, err);
}

static int add_folder(kh_merge_files *f, const char *folder, kh_errs *errs, kh_err *err)
{
	struct dirent **e = NULL;
	const int n = scandir(folder, &e, NULL, by_name);
	const size_t before = f->n;
	int rc = KH_OK;

	if (n < 0 && errno == ENOMEM)
		return kh_fail_errno(err, folder);
	if (n < 0)
		return kh_errs_note(errs, err, KH_EIO, "%s: %s", folder, strerror(errno));
	for (int i = 0; i < n; i++) {
		char *path = NULL;

		if (!rc && e[i]->d_name[0] != '.') {
			rc = kh_print(&path, err, "%s/%s", folder, e[i]->d_name);
			if (!rc)
				rc = add_entry(f, path, errs, err);
			free(path);
		}
		free(e[i]);
	}
	free(e);
	if (!rc && f->n == before)
		rc = kh_errs_note(errs, err, KH_EIO, "%s: no %s in this folder: no *.%s", folder,
				  f->profile ? "profile" : "report",
				  f->profile ? f->profile : "report");
	return rc;
}

int kh_merge_files_add(kh_merge_files *f, const char *path, kh_errs *errs, kh_err *err)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return add_folder(f, path, errs, err);
	return add_file(f, kh_merge_sample_name(path), strdup(path), err);
}

/* --- lists ------------------------------------------------------------------------ */
static int list_row(kh_merge_files *f, kh_span row, kh_errs *errs, kh_err *err)
{
	const char *tab = memchr(row.p, '\t', row.n);
	const size_t n_name = tab ? (size_t)(tab - row.p) : 0;
	kh_span cell = kh_row_cell(row);
	int rc;

	if (tab) {
		const kh_span name = kh_row_cell((kh_span) { row.p, n_name });

		cell = kh_row_cell((kh_span) { tab + 1, row.n - n_name - 1 });
		return add_file(f, strndup(name.p, name.n), strndup(cell.p, cell.n), err);
	}
	char *path = strndup(cell.p, cell.n);
	rc = path ? kh_merge_files_add(f, path, errs, err) : kh_fail_nomem(err);
	free(path);
	return rc;
}

int kh_merge_files_list(kh_merge_files *f, const char *list, kh_errs *errs, kh_err *err)
{
	kh_span row;
	kh_tsv t;
	int got, rc = kh_tsv_open(&t, list, err);

	if (rc)
		return rc;
	t.any_end = true;
	while (!rc && (got = kh_tsv_next(&t, &row, err)) != 0) {
		const char *nul = got > 0 ? memchr(row.p, 0, row.n) : NULL;

		if (got < 0)
			rc = got;
		else if (nul)
			rc = kh_errs_note(errs, err, KH_EFORMAT,
					  "%s:%llu: column %zu: a NUL byte; expected PATH, or "
					  "SAMPLE tab PATH", list, (unsigned long long)t.line,
					  (size_t)(nul - row.p) + 1);
		else if (!kh_row_is_blank(row) && !kh_row_is_comment(row))
			rc = list_row(f, row, errs, err);
	}
	kh_tsv_clear(&t);
	return rc;
}

/* --- all of them ------------------------------------------------------------------ */
static int by_sample(const void *a, const void *b)
{
	const kh_merge_file *const *x = a, *const *y = b;
	const int d = strcmp((*x)->sample, (*y)->sample);

	return d ? d : (*x > *y) - (*x < *y);
}

int kh_merge_files_check(const kh_merge_files *f, kh_errs *errs, kh_err *err)
{
	const kh_merge_file **v = kh_array(f->n, sizeof *v, err);
	int rc = v ? KH_OK : KH_ENOMEM;

	for (size_t i = 0; i < f->n && !rc; i++) {
		const char *name = f->v[i].sample;

		v[i] = &f->v[i];
		if (!kh_span_is_printable((kh_span) { name, strlen(name) }))
			rc = kh_errs_note(errs, err, KH_EFORMAT,
					  "%s: the name of its sample, \"%s\", is not printable "
					  "text", f->v[i].path, name);
	}
	if (!rc && f->n > 0)
		qsort(v, f->n, sizeof *v, by_sample);
	for (size_t i = 1; i < f->n && !rc; i++)
		if (strcmp(v[i - 1]->sample, v[i]->sample) == 0)
			rc = kh_errs_note(errs, err, KH_EUSAGE,
					  "two samples are called %s: %s and %s (--list gives them "
					  "names)", v[i]->sample, v[i - 1]->path, v[i]->path);
	free(v);
	for (size_t i = 0; i < f->n && !rc; i++)
		rc = check_run(f, f->v[i].path, errs, err);
	return rc;
}
