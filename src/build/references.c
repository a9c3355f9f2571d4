#include <config.h>
#include "build/references.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/mem.h"
#include "io/paths.h"
#include "io/source.h"
#include "taxonomy/columns.h"
#include "taxonomy/taxonomy.h"

void kh_references_clear(kh_references *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->path[i]);
	for (size_t i = 0; i < r->n_reports; i++)
		free(r->report[i]);
	free(r->report);
	free(r->passed_over);
	kh_assemblies_clear(&r->assemblies);
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
		rc = KH_GROW(r->path, r->cap_path, r->n + 1, err);
	if (!rc)
		rc = KH_GROW(r->taxid, r->cap_taxid, r->n + 1, err);
	if (rc) {
		free(path);
		return rc;
	}
	r->path[r->n] = path;
	r->taxid[r->n++] = taxid;
	return KH_OK;
}

int kh_references_add(kh_references *r, const char *path, kh_err *err)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return kh_references_folder(r, path, err);
	return kh_references_take(r, strdup(path), 0, err);
}

/* --- lists and tables ------------------------------------------------------------- */
/* Any rows of a text, and who takes them. */
struct rows {
	kh_references *r;
	kh_tsv tsv;
	int (*take)(struct rows *x, kh_span row, kh_err *err);
	/* of a table: its columns of file or accession and of taxids; no_header: it has none */
	kh_columns c;
	int key, taxid;
	bool begun, no_header, accessions;
};

static int read_rows(struct rows *x, const char *file, kh_err *err)
{
	kh_errs *errs = &x->r->errs;
	const bool any_end = x->tsv.any_end;
	kh_err one = { 0, "" };
	kh_span row;
	int got, rc = kh_tsv_open(&x->tsv, file, &one);

	if (rc)
		return kh_errs_add(errs, &one, err);
	x->tsv.any_end = any_end;
	while (!rc && (got = kh_tsv_next(&x->tsv, &row, err)) != 0) {
		const char *nul = got > 0 ? memchr(row.p, 0, row.n) : NULL;

		if (got < 0)
			rc = got;
		else if (nul)
			rc = kh_errs_note(errs, err, KH_EFORMAT,
					  "%s:%llu: column %zu: a NUL byte; expected names of "
					  "files, one a line", file,
					  (unsigned long long)x->tsv.line,
					  (size_t)(nul - row.p) + 1);
		else if (!kh_row_is_blank(row))
			rc = x->take(x, row, err);
	}
	kh_tsv_clear(&x->tsv);
	return rc;
}

static int list_row(struct rows *x, kh_span row, kh_err *err)
{
	const kh_span cell = kh_row_cell(row);
	char *path;
	int rc;

	if (kh_row_is_comment(row))
		return KH_OK;
	path = strndup(cell.p, cell.n);
	rc = path ? kh_references_add(x->r, path, err) : kh_fail_nomem(err);
	free(path);
	return rc;
}

int kh_references_list(kh_references *r, const char *list, kh_err *err)
{
	/* people write it */
	struct rows x = { .r = r, .take = list_row, .tsv.any_end = true };

	return read_rows(&x, list, err);
}

#define BAD(x, err, fmt, ...) kh_errs_note(&(x)->r->errs, err, KH_EFORMAT, "%s:%llu: " fmt, \
	(x)->tsv.name, (unsigned long long)(x)->tsv.line, __VA_ARGS__)

/* Looks for a header; without one a row is a file and a taxid. */
static int first_row(struct rows *x, kh_span row, kh_err *err)
{
	static const char *const file[] = { "file", "path", "fasta", "filename", "file_name",
					    "genome", "fasta_file", NULL };
	static const char *const accession[] = { "assembly_accession", "accession", "assembly",
						 "Assembly Accession", NULL };
	static const char *const taxid[] = { "taxid", "tax_id", "taxonomy_id",
					     "Organism Taxonomic ID", NULL };
	int rc = kh_columns_first(&x->c, &x->tsv, row, &x->r->errs, err);

	x->taxid = kh_columns_find(&x->c, taxid);
	x->key = kh_columns_find(&x->c, file);
	x->accessions = x->key < 0;
	if (x->accessions)
		x->key = kh_columns_find(&x->c, accession);
	x->no_header = x->taxid < 0 && x->key < 0;
	x->begun = !x->no_header || !kh_row_is_comment(row);
	if (x->no_header) {
		x->key = 0;
		x->taxid = 1;
		x->accessions = false;
	} else if (!rc && (x->taxid < 0 || x->key < 0)) {
		rc = BAD(x, err, "no column \"%s\" in the header; expected taxid, and file or "
			 "accession", x->taxid < 0 ? "taxid" : "file");
	}
	return rc;
}

static int take_files(struct rows *x, kh_span name, uint32_t taxid, kh_err *err)
{
	kh_references *r = x->r;
	char *path = strndup(name.p, name.n);
	const size_t from = r->n;
	int rc = path ? kh_references_add(r, path, err) : kh_fail_nomem(err);

	for (size_t i = from; i < r->n; i++)
		r->taxid[i] = taxid;
	free(path);
	return rc;
}

static int table_row(struct rows *x, kh_span row, kh_err *err)
{
	const bool first = !x->begun;
	uint32_t taxid = 0;
	int rc;

	if (!first && kh_row_is_comment(row))
		return KH_OK;
	if (first && ((rc = first_row(x, row, err)) || !x->no_header || !x->begun))
		return rc;
	if (x->key < 0 || x->taxid < 0)         /* the header was bad */
		return KH_OK;
	if (x->no_header)
		x->c.between = memchr(row.p, '\t', row.n) ? '\t' : ',';
	rc = kh_columns_split(&x->c, &x->tsv, row, &x->r->errs, err);
	if (rc || x->c.n < 0)
		return rc;
	if (x->c.n <= x->key || x->c.n <= x->taxid || x->c.v[x->key].n == 0)
		return BAD(x, err, "column %d: \"%s\": expected %s, a %s and a taxid", x->key + 1,
			   kh_span_show(row).s, x->accessions ? "an accession" : "a file",
			   x->c.between == ',' && !x->no_header ? "comma" : "tab");
	const kh_span key = x->c.v[x->key], number = x->c.v[x->taxid];
	if (!kh_span_u32(number, &taxid) || taxid == 0)
		return BAD(x, err, "column %d: \"%s\" is not a taxid", x->taxid + 1,
			   kh_span_show(number).s);
	return x->accessions ? kh_assemblies_add(&x->r->assemblies, key, taxid, err)
			     : take_files(x, key, taxid, err);
}

int kh_references_table(kh_references *r, const char *table, kh_err *err)
{
	struct rows x = { .r = r, .take = table_row };
	int rc = read_rows(&x, table, err);

	return rc ? rc : kh_assemblies_sort(&r->assemblies, table, &r->errs, err);
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

/* Takes the header line of a record, if it has a lineage. */
static int header_row(struct rows *x, kh_span row, kh_err *err)
{
	kh_lineage_row lineage = { .file = x->tsv.name, .line = x->tsv.line };

	if (row.p[0] != '>')
		return KH_OK;
	row = kh_span_trim(row.p + 1, row.p + row.n);
	lineage.lineage = kh_lineages_in_header(row, &lineage.closed);
	return lineage.lineage.n == 0 ? KH_OK
	       : kh_lineages_add(x->r->lineages, &lineage, &x->r->errs, err);
}

int kh_references_headers(kh_references *r, kh_err *err)
{
	int rc = with_lineages(r, err);

	for (size_t i = 0; i < r->n && !rc; i++) {
		struct rows x = { .r = r, .take = header_row, .tsv.any_end = true };

		rc = read_rows(&x, r->path[i], err);
	}
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

/* The last part of a path, and, if there is one, the part in front of it. */
struct parts {
	const char *name, *folder;
	size_t folder_len;
};

static struct parts parts_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *folder = slash;

	while (folder && folder > path && folder[-1] != '/')
		folder--;
	return (struct parts) { slash ? slash + 1 : path, folder ? folder : path,
				slash ? (size_t)(slash - folder) : 0 };
}

/* The taxon of a file: by the accession in its name, else by its name without the ending of FASTA
 * files, else by the accession in the name of its folder. */
static uint32_t taxid_by_lineage(const kh_lineages *l, const char *path)
{
	const struct parts p = parts_of(path);
	const kh_span a = accession_in(p.name, strlen(p.name));
	size_t n = kh_references_plain(p.name);
	uint32_t taxid;

	if (a.n > 0)
		return kh_lineages_taxid(l, a.p, a.n);
	while (n > 0 && p.name[n - 1] != '.')
		n--;
	taxid = n > 1 ? kh_lineages_taxid(l, p.name, n - 1) : 0;
	if (taxid)
		return taxid;
	const kh_span b = accession_in(p.folder, p.folder_len);
	return b.n > 0 ? kh_lineages_taxid(l, b.p, b.n) : 0;
}

/* The same by the tables of assemblies. */
static uint32_t taxid_by_assembly(const kh_assemblies *a, const char *path)
{
	const struct parts p = parts_of(path);
	kh_span found = accession_in(p.name, strlen(p.name));
	char accession[64];

	if (found.n == 0)
		found = accession_in(p.folder, p.folder_len);
	if (found.n == 0 || found.n >= sizeof accession)
		return 0;
	memcpy(accession, found.p, found.n);
	accession[found.n] = 0;
	return kh_assemblies_find(a, accession);
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

/* Gives files the taxids of tables of accessions, unless something else has said them. */
static int use_assemblies(kh_references *r, kh_err *err)
{
	size_t used = 0;

	for (size_t i = 0; i < r->n; i++) {
		const uint32_t taxid = taxid_by_assembly(&r->assemblies, r->path[i]);

		used += taxid > 0;
		r->taxid[i] = r->taxid[i] ? r->taxid[i] : taxid;
	}
	if (used > 0 || r->n == 0)
		return KH_OK;
	return kh_errs_note(&r->errs, err, KH_EFORMAT,
			    "no reference has in its name one of the %zu accession%s in "
			    "--assemblies, as GCF_000005845.2_ASM584v2_genomic.fna has "
			    "GCF_000005845.2", r->assemblies.n, kh_plural(r->assemblies.n));
}

/* Numbers the taxa of lineages, and gives the files theirs. */
static int use_lineages(kh_references *r, const char *taxonomy, kh_err *err)
{
	kh_taxdump *d = NULL;
	int rc = taxonomy ? kh_taxdump_open(&d, taxonomy, err) : KH_OK;

	if (!rc)
		rc = kh_lineages_finish(r->lineages, d, r->move_taxa, &r->errs, err);
	const kh_errs *doubts = kh_lineages_doubts(r->lineages);

	for (size_t i = 0; i < doubts->n && !rc; i++)
		kh_log(KH_WARN, "%s", doubts->v[i].msg);
	if (!rc && doubts->found > doubts->n)
		kh_log(KH_WARN, "and %zu more such tax%s", doubts->found - doubts->n,
		       doubts->found - doubts->n == 1 ? "on" : "a");
	for (size_t i = 0; i < r->n && !rc; i++) {
		const uint32_t taxid = taxid_by_lineage(r->lineages, r->path[i]);

		if (taxid || !taxonomy)
			r->taxid[i] = taxid;
	}
	kh_taxdump_close(d);
	return rc;
}

/* File b is file a again. */
static int note_twice(kh_references *r, size_t a, size_t b, kh_err *err)
{
	const char *first = r->path[a], *again = r->path[b];
	const char *then = !r->taxid[a] == !r->taxid[b] ? "leave one out"
			   : "give it by --assemblies only, not by its name or folder as well";

	if (r->taxid[a] && r->taxid[b] && r->taxid[a] != r->taxid[b])
		return kh_errs_note(&r->errs, err, KH_EFORMAT, "%s (taxid %u) and %s (taxid %u) "
				    "are the same file: %s", first, r->taxid[a], again,
				    r->taxid[b], then);
	if (strcmp(first, again) == 0)
		return kh_errs_note(&r->errs, err, KH_EFORMAT, "%s is given twice: %s", first,
				    then);
	return kh_errs_note(&r->errs, err, KH_EFORMAT, "%s and %s are the same file: %s", first,
			    again, then);
}

/* Said here, as a message on sequences would not say that their file was given twice; and those of
 * files that have taxids may be called alike. */
static int check_twice(kh_references *r, kh_err *err)
{
	kh_file_id *id = kh_array(r->n, sizeof *id, err);
	size_t n = 0;
	int rc = id ? KH_OK : KH_ENOMEM;
	struct stat st;

	for (size_t i = 0; i < r->n && !rc; i++)
		if (kh_path_is_file(r->path[i], &st))
			id[n++] = (kh_file_id) { .dev = st.st_dev, .ino = st.st_ino, .i = i };
	if (n > 1)
		qsort(id, n, sizeof *id, kh_by_file_id);
	for (size_t k = 1; k < n && !rc; k++)
		if (kh_is_same_file(&id[k], &id[k - 1]))
			rc = note_twice(r, id[k - 1].i, id[k].i, err);
	free(id);
	return rc;
}

int kh_references_finish(kh_references *r, const char *taxonomy, kh_err *err)
{
	int rc = r->lineages ? use_lineages(r, taxonomy, err) : KH_OK;

	if (r->n_passed_over > 0)
		kh_log(KH_INFO, "files in folders that are not called .fa, .fna, .fasta, .fas or "
		       ".ffn are passed over: %zu, the first is %s", r->n_passed_over,
		       r->passed_over);
	if (!rc && r->assemblies.n > 0)
		rc = use_assemblies(r, err);
	return rc || r->may_be_twice ? rc : check_twice(r, err);
}
