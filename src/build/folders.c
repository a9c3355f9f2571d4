/* folders.c - the references in folders, and in trees of NCBI's `datasets` */
#include <config.h>
#include "build/references.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/mem.h"

static bool ends_in(const char *s, size_t n, const char *const *end, size_t *stem)
{
	for (; *end; end++) {
		const size_t m = strlen(*end);

		*stem = n - m;
		if (n > m && memcmp(s + n - m, *end, m) == 0)
			return true;
	}
	*stem = n;
	return false;
}

size_t kh_references_plain(const char *name)
{
	static const char *const end[] = { ".gz", ".bgz", ".zst", ".bz2", ".xz", NULL };
	size_t stem;

	ends_in(name, strlen(name), end, &stem);
	return stem;
}

static bool is_fasta(const char *name)
{
	static const char *const end[] = { ".fa", ".fna", ".fasta", ".fas", ".ffn", NULL };
	size_t stem;

	return ends_in(name, kh_references_plain(name), end, &stem);
}

/* Notes a file that is not taken, unless its name says that it is something else. */
static int pass_over(kh_references *r, const char *path, kh_err *err)
{
	static const char *const end[] = { ".md", ".md5", ".txt", ".json", ".jsonl", ".tsv", ".csv",
					   NULL };
	size_t stem;

	if (ends_in(path, strlen(path), end, &stem))
		return KH_OK;
	r->n_passed_over++;
	if (r->passed_over && strcmp(r->passed_over, path) < 0)
		return KH_OK;
	free(r->passed_over);
	r->passed_over = strdup(path);
	return r->passed_over ? KH_OK : kh_fail_nomem(err);
}

/* True of the other files that `datasets` puts beside the genome of an assembly on request. */
static bool is_part_of_genome(const char *name)
{
	return strncmp(name, "cds_from_genomic.fna", 20) == 0 || strncmp(name, "rna.fna", 7) == 0;
}

struct folder {
	char *path;                     /* owned */
	uint32_t taxid;                 /* of all files below it, or 0 */
};

/* A tree of `datasets`: the folder of its report, and what that lists. */
struct tree {
	char *folder;                   /* owned */
	kh_assemblies a;
};

struct walk {
	kh_references *r;
	struct tree *tree;              /* trees found */
	size_t n_trees, cap_trees;
	struct folder *v;               /* folders to be looked at */
	size_t n, cap;
};

static int push(struct walk *w, char *path, uint32_t taxid, kh_err *err)
{
	int rc = path ? KH_GROW(w->v, w->cap, w->n + 1, err)
		      : kh_fail_nomem(err);

	if (rc)
		free(path);
	else
		w->v[w->n++] = (struct folder) { path, taxid };
	return rc;
}

static char *join(const char *folder, const char *name)
{
	const size_t n = strlen(folder);
	char *path = NULL;

	if (asprintf(&path, "%s%s%s", folder, n > 0 && folder[n - 1] == '/' ? "" : "/", name) < 0)
		return NULL;
	return path;
}

/* Takes the folder of an assembly, unless the report of its tree does not list it. */
static int push_assembly(struct walk *w, const kh_assemblies *a, char *path, const char *name,
			 kh_err *err)
{
	const uint32_t taxid = kh_assemblies_find(a, name);
	const bool assembly = strncmp(name, "GCF_", 4) == 0 || strncmp(name, "GCA_", 4) == 0;

	if (taxid == 0 && assembly) {
		int rc = kh_errs_note(&w->r->errs, err, KH_EFORMAT,
				      "%s: the assembly is not in assembly_data_report.jsonl",
				      path);

		free(path);
		return rc;
	}
	return push(w, path, taxid, err);
}

static int look_at(struct walk *w, const struct folder *f, const kh_assemblies *a,
		   const struct dirent *e, kh_err *err)
{
	struct stat st;
	char *path = join(f->path, e->d_name);

	if (!path)
		return kh_fail_nomem(err);
	const bool there = lstat(path, &st) == 0, fasta = is_fasta(e->d_name);
	if (there && S_ISDIR(st.st_mode))
		return a->n > 0 ? push_assembly(w, a, path, e->d_name, err)
				: push(w, path, f->taxid, err);
	if (there && fasta && !(f->taxid && is_part_of_genome(e->d_name)))
		return kh_references_take(w->r, path, f->taxid, err);
	const int rc = there && S_ISREG(st.st_mode) && !fasta ? pass_over(w->r, path, err) : KH_OK;
	free(path);
	return rc;
}

static int is_shown(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static const char report_name[] = "assembly_data_report.jsonl";

/* Loads the report of a folder, if it has one. *a: it is empty, or what stays in w->tree. */
static int load_report(struct walk *w, const char *folder, kh_assemblies *a, kh_err *err)
{
	char *report = join(folder, report_name);
	struct stat st;
	int rc = report ? KH_OK : kh_fail_nomem(err);

	if (rc || stat(report, &st) != 0) {
		free(report);
		return rc;
	}
	rc = KH_GROW(w->r->report, w->r->cap_reports, w->r->n_reports + 1, err);
	if (!rc)
		rc = KH_GROW(w->tree, w->cap_trees, w->n_trees + 1, err);
	if (rc) {
		free(report);
		return rc;
	}
	w->r->report[w->r->n_reports++] = report;
	struct tree *t = &w->tree[w->n_trees++];
	*t = (struct tree) { .folder = strdup(folder) };
	rc = t->folder ? kh_assemblies_load(&t->a, report, &w->r->errs, err) : kh_fail_nomem(err);
	*a = t->a;
	return rc;
}

static int list_folder(struct walk *w, const struct folder *f, kh_err *err)
{
	kh_assemblies a = { NULL, 0, 0 };
	struct dirent **e = NULL;
	const int n = scandir(f->path, &e, is_shown, NULL);

	if (n < 0 && errno == ENOMEM)
		return kh_fail_errno(err, f->path);
	if (n < 0)
		return kh_errs_note(&w->r->errs, err, KH_EIO, "%s: %s", f->path, strerror(errno));
	int rc = load_report(w, f->path, &a, err);
	for (int i = 0; i < n; i++) {
		if (!rc)
			rc = look_at(w, f, &a, e[i], err);
		free(e[i]);
	}
	free(e);
	return rc;
}

struct named {
	char *path;
	uint32_t taxid;
};

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->path, ((const struct named *)b)->path);
}

/* Sorts the files from number `from` on by their paths. */
static int sort_files(kh_references *r, size_t from, kh_err *err)
{
	const size_t n = r->n - from;
	struct named *v = kh_array(n, sizeof *v, err);

	if (!v)
		return KH_ENOMEM;
	for (size_t i = 0; i < n; i++)
		v[i] = (struct named) { r->path[from + i], r->taxid[from + i] };
	qsort(v, n, sizeof *v, by_path);
	for (size_t i = 0; i < n; i++) {
		r->path[from + i] = v[i].path;
		r->taxid[from + i] = v[i].taxid;
	}
	free(v);
	return KH_OK;
}

/* Is there a file below folder/name among those from number `from` on, which are sorted? */
static int has_file_below(const kh_references *r, size_t from, const char *folder,
			  const char *name, bool *has, kh_err *err)
{
	char *path = join(folder, name), *prefix = path ? join(path, "") : NULL;
	size_t lo = from, hi = r->n;

	while (prefix && lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;

		if (strcmp(r->path[mid], prefix) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	*has = prefix && lo < r->n && strncmp(r->path[lo], prefix, strlen(prefix)) == 0;
	free(path);
	if (!prefix)
		return kh_fail_nomem(err);
	free(prefix);
	return KH_OK;
}

/* Notes an error if assemblies of the report have no sequences, as in a tree that was not
 * unpacked or rehydrated to its end. */
static int check_whole(kh_references *r, size_t from, const struct tree *t, kh_err *err)
{
	size_t n = 0, without = 0;
	const char *first = NULL;
	int rc = KH_OK;

	for (size_t i = 0; i < t->a.n && !rc; i++) {
		const char *name = t->a.v[i].accession;
		bool has = false;

		if (i > 0 && strcmp(name, t->a.v[i - 1].accession) == 0)
			continue;
		rc = has_file_below(r, from, t->folder, name, &has, err);
		first = has || first ? first : name;
		without += !has;
		n++;
	}
	if (rc || without == 0)
		return rc;
	return kh_errs_note(&r->errs, err, KH_EFORMAT,
			    "%s/%s: %zu of %zu assembl%s in it %s no sequences here, the first is "
			    "%s: run datasets rehydrate, or delete the lines of these",
			    t->folder, report_name, without, n, n == 1 ? "y" : "ies",
			    without == 1 ? "has" : "have", first);
}

/* To be called at the end of a walk, which has come to rc. */
static int check_trees(kh_references *r, size_t from, struct walk *w, int rc, kh_err *err)
{
	for (size_t i = 0; i < w->n_trees; i++) {
		if (!rc && r->n > from)
			rc = check_whole(r, from, &w->tree[i], err);
		kh_assemblies_clear(&w->tree[i].a);
		free(w->tree[i].folder);
	}
	free(w->tree);
	return rc;
}

int kh_references_folder(kh_references *r, const char *path, kh_err *err)
{
	struct walk w = { .r = r };
	const size_t from = r->n, errors = r->errs.found;
	int rc = push(&w, strdup(path), 0, err);

	while (!rc && w.n > 0) {
		const struct folder f = w.v[--w.n];

		rc = list_folder(&w, &f, err);
		free(f.path);
	}
	while (w.n > 0)
		free(w.v[--w.n].path);
	free(w.v);
	if (!rc && r->n == from && r->errs.found == errors)
		rc = kh_errs_note(&r->errs, err, KH_EIO,
				  "%s: no file called *.fa, *.fna, *.fasta, *.fas or *.ffn (or "
				  "so with .gz) in this folder", path);
	if (!rc)
		rc = sort_files(r, from, err);
	return check_trees(r, from, &w, rc, err);
}

