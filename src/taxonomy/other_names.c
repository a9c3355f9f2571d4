/* other_names.c - synonyms, common names and acronyms in names.dmp */
#include <config.h>
#include "taxonomy/taxdump.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

bool kh_taxother_is(kh_span class)
{
	static const char *const known[] = { "synonym", "equivalent name", "common name",
					     "genbank common name", "acronym",
					     "genbank acronym" };

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (kh_span_is(class, known[i]))
			return true;
	return false;
}

int kh_taxdump_add_other(kh_taxdump *d, uint32_t taxid, kh_span name, kh_err *err)
{
	int rc;

	if (!kh_span_is_printable(name) || kh_taxdump_node(d, taxid) == KH_NO_TAXON ||
	    name.n >= UINT32_MAX - d->names.n)
		return KH_OK;
	if ((rc = KH_GROW(d->other, d->other_cap, d->n_other + 1, err)))
		return rc;
	d->other[d->n_other++] = (kh_taxother) { taxid, (uint32_t)d->names.n };
	kh_buf_word(&d->names, name.p, name.n);
	return kh_buf_check(&d->names, err);
}

/* Of equal names the first one comes first. */
static int by_text(const void *a, const void *b, void *names)
{
	const kh_taxother *x = a, *y = b;
	const int d = x->taxid != y->taxid ? (x->taxid < y->taxid ? -1 : 1)
		      : strcmp((char *)names + x->name, (char *)names + y->name);

	return d ? d : (x->name > y->name) - (x->name < y->name);
}

/* Names stand in the buffer as they do in the file. */
static int by_place(const void *a, const void *b)
{
	const kh_taxother *x = a, *y = b;

	if (x->taxid != y->taxid)
		return x->taxid < y->taxid ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

void kh_taxdump_sort_others(kh_taxdump *d)
{
	const char *names = d->names.p;
	size_t n = 0;

	if (d->n_other == 0)
		return;
	qsort_r(d->other, d->n_other, sizeof *d->other, by_text, d->names.p);
	for (size_t i = 0; i < d->n_other; i++)
		if (n == 0 || d->other[n - 1].taxid != d->other[i].taxid ||
		    strcmp(names + d->other[n - 1].name, names + d->other[i].name) != 0)
			d->other[n++] = d->other[i];
	qsort(d->other, n, sizeof *d->other, by_place);
	d->n_other = n;
}

const kh_taxother *kh_taxdump_others(const kh_taxdump *d, uint32_t taxid, size_t *n)
{
	size_t low = 0, high = d->n_other;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (d->other[mid].taxid < taxid)
			low = mid + 1;
		else
			high = mid;
	}
	for (*n = 0; low + *n < d->n_other && d->other[low + *n].taxid == taxid;)
		++*n;
	return *n ? &d->other[low] : NULL;
}
