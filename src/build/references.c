#include <config.h>
#include "build/references.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/mem.h"
#include "io/source.h"

void kh_references_clear(kh_references *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->path[i]);
	for (size_t i = 0; i < r->n_reports; i++)
		free(r->report[i]);
	free(r->report);
	free(r->path);
	free(r->taxid);
	kh_lineages_free(r->lineages);
	kh_errs_clear(&r->errs);
	*r = (kh_references) { .path = NULL };
}

int kh_references_take(kh_references *r, char *path, uint32_t taxid, kh_err *err)
{
	int rc = path ? KH_OK : kh_fail_nomem(err);

	if (!rc)
		rc = kh_grow((void **)&r->path, &r->cap_path, r->n + 1, sizeof *r->path, err);
	if (!rc)
		rc = kh_grow((void **)&r->taxid, &r->cap_taxid, r->n + 1, sizeof *r->taxid, err);
	if (rc) {
		free(path);
		return rc;
	}
	r->path[r->n] = path;
	r->taxid[r->n++] = taxid;
	return KH_OK;
}

/* --- folders ---------------------------------------------------------------------- */
static bool ends_in(const char *s, size_t n, const char *end)
{
	const size_t m = strlen(end);

	return n > m && memcmp(s + n - m, end, m) == 0;
}

static bool is_fasta(const char *name)
{
	static const char *const end[] = { ".fa", ".fna", ".fasta", ".ffn" };
	size_t n = strlen(name);

	if (ends_in(name, n, ".gz"))
		n -= 3;
	for (size_t i = 0; i < sizeof end / sizeof *end; i++)
		if (ends_in(name, n, end[i]))
			return true;
	return false;
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
	int rc = path ? kh_grow((void **)&w->v, &w->cap, w->n + 1, sizeof *w->v, err)
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
	const bool there = lstat(path, &st) == 0;
	if (there && S_ISDIR(st.st_mode))
		return a->n > 0 ? push_assembly(w, a, path, e->d_name, err)
				: push(w, path, f->taxid, err);
	if (there && is_fasta(e->d_name) && !(f->taxid && is_part_of_genome(e->d_name)))
		return kh_references_take(w->r, path, f->taxid, err);
	free(path);
	return KH_OK;
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
	rc = kh_grow((void **)&w->r->report, &w->r->cap_reports, w->r->n_reports + 1,
		     sizeof *w->r->report, err);
	if (!rc)
		rc = kh_grow((void **)&w->tree, &w->cap_trees, w->n_trees + 1, sizeof *w->tree,
			     err);
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
			    "%s/%s: %zu of the %zu assemblies in it have no sequences here, the "
			    "first is %s: get them (datasets rehydrate), or delete their lines",
			    t->folder, report_name, without, n, first);
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

static int add_folder(kh_references *r, const char *path, kh_err *err)
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
				  "%s: no file called *.fa, *.fna, *.fasta or *.ffn (or so with "
				  ".gz) in this folder", path);
	if (!rc)
		rc = sort_files(r, from, err);
	return check_trees(r, from, &w, rc, err);
}

int kh_references_add(kh_references *r, const char *path, kh_err *err)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return add_folder(r, path, err);
	return kh_references_take(r, strdup(path), 0, err);
}

/* --- lists and tables ------------------------------------------------------------- */
typedef int row_fn(kh_references *r, const kh_tsv *l, kh_span row, kh_err *err);

static row_fn table_row;

static int read_rows(kh_references *r, const char *file, row_fn *fn, kh_err *err)
{
	kh_source *s;
	kh_err one = { 0, "" };
	kh_span row;
	kh_tsv l;
	int got, rc = kh_source_open(&s, file, &one);

	if (rc)
		return kh_errs_add(&r->errs, &one, err);
	kh_tsv_init(&l, file, kh_tsv_source, s);
	/* the lines are names of files, or sequences: people write them */
	l.any_end = fn != table_row;
	while (!rc && (got = kh_tsv_next(&l, &row, err)) != 0) {
		const char *nul = got > 0 ? memchr(row.p, 0, row.n) : NULL;

		if (got < 0)
			rc = got;
		else if (nul)
			rc = kh_errs_note(&r->errs, err, KH_EFORMAT,
					  "%s:%llu: column %zu: a NUL byte; expected names of "
					  "files, one a line", file, (unsigned long long)l.line,
					  (size_t)(nul - row.p) + 1);
		else if (row.n > 0)
			rc = fn(r, &l, row, err);
	}
	kh_tsv_clear(&l);
	kh_source_close(s);
	return rc;
}

static int list_row(kh_references *r, const kh_tsv *l, kh_span row, kh_err *err)
{
	char *path = strndup(row.p, row.n);
	int rc = path ? kh_references_add(r, path, err) : kh_fail_nomem(err);

	(void)l;
	free(path);
	return rc;
}

int kh_references_list(kh_references *r, const char *list, kh_err *err)
{
	return read_rows(r, list, list_row, err);
}

static int table_row(kh_references *r, const kh_tsv *l, kh_span row, kh_err *err)
{
	const char *tab = memchr(row.p, '\t', row.n);
	const size_t n = tab ? (size_t)(tab - row.p) : row.n;
	const kh_span number = { tab ? tab + 1 : "", tab ? row.n - n - 1 : 0 };
	uint32_t taxid = 0;

	if (!tab || n == 0)
		return kh_errs_note(&r->errs, err, KH_EFORMAT,
				    "%s:%llu: column 1: \"%s\": expected a file, a tab and a taxid",
				    l->name, (unsigned long long)l->line, kh_span_show(row).s);
	if (!kh_span_u32(number, &taxid) || taxid == 0)
		return kh_errs_note(&r->errs, err, KH_EFORMAT,
				    "%s:%llu: column 2: \"%s\" is not a taxid", l->name,
				    (unsigned long long)l->line, kh_span_show(number).s);
	char *path = strndup(row.p, n);
	const size_t from = r->n;
	int rc = path ? kh_references_add(r, path, err) : kh_fail_nomem(err);
	for (size_t i = from; i < r->n; i++)
		r->taxid[i] = taxid;
	free(path);
	return rc;
}

int kh_references_table(kh_references *r, const char *table, kh_err *err)
{
	return read_rows(r, table, table_row, err);
}

/* --- lineages --------------------------------------------------------------------- */
static int with_lineages(kh_references *r, kh_err *err)
{
	return r->lineages ? KH_OK : kh_lineages_new(&r->lineages, err);
}

int kh_references_lineages(kh_references *r, const char *table, kh_err *err)
{
	int rc = with_lineages(r, err);

	return rc ? rc : kh_lineages_load(r->lineages, table, &r->errs, err);
}

/* Takes the header line of a record: an id, blanks, and a lineage, if there is a ';' in it. */
static int header_row(kh_references *r, const kh_tsv *l, kh_span row, kh_err *err)
{
	size_t n = 1;

	if (row.p[0] != '>')
		return KH_OK;
	while (n < row.n && row.p[n] != ' ' && row.p[n] != '\t')
		n++;
	size_t from = n;
	while (from < row.n && (row.p[from] == ' ' || row.p[from] == '\t'))
		from++;
	if (n == 1 || from == row.n || !memchr(row.p + from, ';', row.n - from))
		return KH_OK;
	const kh_lineage_row x = { l->name, l->line, { row.p + 1, n - 1 },
				   { row.p + from, row.n - from } };
	return kh_lineages_add(r->lineages, &x, &r->errs, err);
}

int kh_references_headers(kh_references *r, kh_err *err)
{
	int rc = with_lineages(r, err);

	for (size_t i = 0; i < r->n && !rc; i++)
		rc = read_rows(r, r->path[i], header_row, err);
	return rc;
}

/* The accession of an assembly in a name: GCF_ or GCA_, digits, a point and digits. */
static kh_span accession_in(const char *name, size_t n)
{
	static const char digit[] = "0123456789";

	for (const char *p = name; p + 4 < name + n && (p = strstr(p, "GC")) != NULL; p++) {
		const char *q = p + 4 + strspn(p + 4, digit);

		if (q > name + n)
			break;
		if ((p[2] != 'F' && p[2] != 'A') || p[3] != '_' || q == p + 4)
			continue;
		if (*q == '.' && strspn(q + 1, digit) > 0)
			q += 1 + strspn(q + 1, digit);
		return (kh_span) { p, (size_t)(q - p) };
	}
	return (kh_span) { name, 0 };
}

/* The taxon of a file: by the accession in its name, else by its name without the ending of FASTA
 * files, else by the accession in the name of its folder. */
static uint32_t taxid_of_file(const kh_lineages *l, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const kh_span a = accession_in(name, strlen(name));
	uint32_t taxid = a.n > 0 ? kh_lineages_taxid(l, a.p, a.n) : 0;
	size_t n = strlen(name);

	if (taxid || a.n > 0)
		return taxid;
	if (ends_in(name, n, ".gz"))
		n -= 3;
	while (n > 0 && name[n - 1] != '.')
		n--;
	taxid = n > 1 ? kh_lineages_taxid(l, name, n - 1) : 0;
	if (taxid || !slash)
		return taxid;
	const char *folder = slash;
	while (folder > path && folder[-1] != '/')
		folder--;
	const kh_span b = accession_in(folder, (size_t)(slash - folder));
	return b.n > 0 ? kh_lineages_taxid(l, b.p, b.n) : 0;
}

int kh_references_check(kh_references *r, kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = 0; i < r->n && !rc; i++) {
		kh_err one = { 0, "" };
		uint64_t size;

		if (kh_source_check(r->path[i], &size, &one))
			rc = kh_errs_add(&r->errs, &one, err);
	}
	return rc;
}

int kh_references_finish(kh_references *r, kh_err *err)
{
	int rc = r->lineages ? kh_lineages_finish(r->lineages, &r->errs, err) : KH_OK;

	for (size_t i = 0; r->lineages && i < r->n && !rc; i++)
		r->taxid[i] = taxid_of_file(r->lineages, r->path[i]);
	return rc;
}
