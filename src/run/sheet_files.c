/* sheet_files.c - the files that a sheet names: each once, and mates of each other; sheet.h */
#include <config.h>
#include "run/sheet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"
#include "io/paths.h"
#include "io/source.h"

/* Nothing comes out of /dev/null, however often it is read. */
static bool is_null(const struct stat *st)
{
	struct stat null;

	return S_ISCHR(st->st_mode) && stat("/dev/null", &null) == 0 &&
	       st->st_rdev == null.st_rdev;
}

/* Files that cannot be looked at are left out: opening them says why.  stream: by file, what is
 * read from it is gone. */
static size_t identify(const kh_sheet *s, kh_file_id *id, bool *stream)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_files; i++) {
		const bool standard = strcmp(s->file[i].path, "-") == 0;
		struct stat st;

		if ((standard ? fstat(STDIN_FILENO, &st) : stat(s->file[i].path, &st)) == 0 &&
		    !is_null(&st)) {
			id[n++] = (kh_file_id) { st.st_dev, st.st_ino, s->file[i].sample, i };
			stream[i] = !S_ISREG(st.st_mode);
		}
	}
	qsort(id, n, sizeof *id, kh_by_file_id);
	return n;
}

/* The file f is g again. */
static int note_twice(const kh_sheet *s, const char *name, const kh_sheet_file *f,
		      const kh_sheet_file *g, bool stream, kh_errs *errs, kh_err *err)
{
	if (!f->line && stream)
		return kh_fail(err, KH_EUSAGE, "%s is named twice, and can be read only once",
			       f->path);
	if (!f->line && f->second != g->second)
		return kh_fail(err, KH_EUSAGE, "%s is named for the first mates and for the second",
			       f->path);
	if (!f->line)
		return kh_fail(err, KH_EUSAGE, "%s is named twice, the other time as %s: its reads "
			       "would count twice", f->path, g->path);
	if (f->sample != g->sample)
		return kh_errs_note(errs, err, KH_EFORMAT, "%s:%llu: column %d: \"%.300s\" is no "
				    "file: it can be read only once, and sample %.100s has it",
				    name, f->line, f->column, f->path, s->v[g->sample].name);
	return kh_errs_note(errs, err, KH_EFORMAT, "%s:%llu: column %d: \"%.300s\" is named for "
			    "sample %.100s a second time", name, f->line, f->column, f->path,
			    s->v[f->sample].name);
}

/* name: of the table; NULL, and no `errs`, of operands. */
static int check_twice(const kh_sheet *s, const char *name, kh_errs *errs, kh_err *err)
{
	kh_file_id *id = kh_array(s->n_files, sizeof *id, err);
	bool *stream = kh_array(s->n_files, sizeof *stream, err);
	int rc = id && stream ? KH_OK : KH_ENOMEM;
	const size_t n = rc ? 0 : identify(s, id, stream);

	for (size_t k = 1; k < n && !rc; k++) {
		const kh_sheet_file *f = &s->file[id[k].i], *g = &s->file[id[k - 1].i];
		const bool once = stream[id[k].i];

		if (kh_is_same_file(&id[k], &id[k - 1]) && (once || f->sample == g->sample))
			rc = note_twice(s, name, f, g, once, errs, err);
	}
	free(stream);
	free(id);
	return rc;
}

/* Reads both files as far as they are alike. */
static bool same_bytes(const char *a, const char *b)
{
	enum { N = 1 << 14 };
	FILE *f = fopen(a, "re"), *g = fopen(b, "re");
	char x[N], y[N];
	bool same = f && g, more = same;

	while (same && more) {
		const size_t n = fread(x, 1, N, f);

		same = fread(y, 1, N, g) == n && memcmp(x, y, n) == 0 && !ferror(f) && !ferror(g);
		more = n == N;
	}
	if (f)
		fclose(f);
	if (g)
		fclose(g);
	return same;
}

/* Has it a first byte, after it is inflated?  Assumed where it is not inflated here. */
static bool has_text(const char *path)
{
	kh_source *s = NULL;
	char byte;
	const bool has = kh_source_open(&s, path, NULL) || kh_source_read(s, &byte, 1, NULL) != 0;

	kh_source_close(s);
	return has;
}

/* Is b a copy of a, which has reads?  Nearly all files differ in size, or in their first names. */
static bool is_copy(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) && S_ISREG(y.st_mode) &&
	       x.st_size == y.st_size && x.st_size > 0 && same_bytes(a, b) && has_text(a);
}

static int check_mates(const kh_sheet *s, const char *name, kh_errs *errs, kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = 0; i + 1 < s->n_files && !rc; i++) {
		const kh_sheet_file *f = &s->file[i], *g = f + 1;

		if (!g->second || !is_copy(f->path, g->path))
			continue;
		rc = f->line ? kh_errs_note(errs, err, KH_EFORMAT, "%s:%llu: column %d: \"%.200s\" "
					    "has the same bytes as \"%.200s\", whose mates it "
					    "should have", name, g->line, g->column, g->path,
					    f->path)
			     : kh_fail(err, KH_EFORMAT, "%s has the same bytes as %s, whose mates "
				       "it should have", g->path, f->path);
	}
	return rc;
}

int kh_sheet_check_operands(const kh_sheet *s, kh_err *err)
{
	const int rc = check_twice(s, NULL, NULL, err);

	return rc ? rc : check_mates(s, NULL, NULL, err);
}

static int check_files(const kh_sheet *s, kh_errs *errs, kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = 0; i < s->n_files && !rc; i++) {
		kh_err one = { 0, "" };
		uint64_t size;

		if (kh_source_check(s->file[i].path, &size, &one))
			rc = kh_errs_add(errs, &one, err);
	}
	return rc;
}

int kh_sheet_load(kh_sheet *s, const char *path, kh_errs *errs, kh_err *err)
{
	kh_tsv tsv;
	int rc = kh_tsv_open(&tsv, path, err);

	if (!rc)
		rc = kh_sheet_parse(s, &tsv, errs, err);
	kh_tsv_clear(&tsv);
	if (!rc)
		rc = check_twice(s, path, errs, err);
	if (!rc)
		rc = check_mates(s, path, errs, err);
	return rc ? rc : check_files(s, errs, err);
}
