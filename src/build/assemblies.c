/* assemblies.c - accessions of assemblies and their taxids, as NCBI's `datasets` reports them */
#include <config.h>
#include "build/references.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "io/source.h"

void kh_assemblies_clear(kh_assemblies *a)
{
	for (size_t i = 0; i < a->n; i++)
		free(a->v[i].accession);
	free(a->v);
	*a = (kh_assemblies) { .v = NULL };
}

int kh_assemblies_add(kh_assemblies *a, kh_span accession, uint32_t taxid, kh_err *err)
{
	int rc = KH_GROW(a->v, a->cap, a->n + 1, err);

	if (rc)
		return rc;
	a->v[a->n] = (kh_assembly) { strndup(accession.p, accession.n), taxid };
	return a->v[a->n].accession ? (a->n++, KH_OK) : kh_fail_nomem(err);
}

/* Each line is a JSON object, of which two members are used. */
static int add_line(kh_assemblies *a, const kh_tsv *tsv, kh_span line, kh_errs *errs, kh_err *err)
{
	json_error_t e;
	json_t *root = json_loadb(line.p, line.n, 0, &e);
	const char *accession = json_string_value(json_object_get(root, "accession"));
	const json_t *organism = json_object_get(root, "organism");
	const json_int_t taxid = json_integer_value(json_object_get(organism, "taxId"));
	int rc;

	if (!root)
		rc = kh_errs_note(errs, err, KH_EFORMAT, "%s:%llu: column %d: %s", tsv->name,
				  (unsigned long long)tsv->line, e.column, e.text);
	else if (!accession || taxid < 1 || taxid > UINT32_MAX)
		rc = kh_errs_note(errs, err, KH_EFORMAT,
				  "%s:%llu: no %s in this object", tsv->name,
				  (unsigned long long)tsv->line,
				  accession ? "taxid \"organism\": {\"taxId\": N}"
					    : "\"accession\"");
	else
		rc = kh_assemblies_add(a, (kh_span) { accession, strlen(accession) },
				       (uint32_t)taxid, err);
	json_decref(root);
	return rc;
}

static int by_accession(const void *a, const void *b)
{
	return strcmp(((const kh_assembly *)a)->accession, ((const kh_assembly *)b)->accession);
}

int kh_assemblies_sort(kh_assemblies *a, const char *table, kh_errs *errs, kh_err *err)
{
	int rc = KH_OK;

	if (a->n > 0)
		qsort(a->v, a->n, sizeof *a->v, by_accession);
	for (size_t i = 1; i < a->n && !rc; i++)
		if (by_accession(&a->v[i - 1], &a->v[i]) == 0 && a->v[i - 1].taxid != a->v[i].taxid)
			rc = kh_errs_note(errs, err, KH_EFORMAT,
					  "%s: %s has two taxids, %u and %u", table,
					  a->v[i].accession, a->v[i - 1].taxid, a->v[i].taxid);
	return rc;
}

int kh_assemblies_load(kh_assemblies *a, const char *report, kh_errs *errs, kh_err *err)
{
	kh_err one = { 0, "" };
	kh_span line;
	kh_tsv tsv;
	int got, rc = kh_tsv_open(&tsv, report, &one);

	if (rc)
		return kh_errs_add(errs, &one, err);
	while (!rc && (got = kh_tsv_next(&tsv, &line, err)) != 0)
		rc = got < 0 ? got : line.n > 0 ? add_line(a, &tsv, line, errs, err) : KH_OK;
	kh_tsv_clear(&tsv);
	return rc ? rc : kh_assemblies_sort(a, report, errs, err);
}

uint32_t kh_assemblies_find(const kh_assemblies *a, const char *accession)
{
	const kh_assembly want = { (char *)accession, 0 };
	const kh_assembly *found =
		a->n > 0 ? bsearch(&want, a->v, a->n, sizeof *a->v, by_accession) : NULL;

	return found ? found->taxid : 0;
}
