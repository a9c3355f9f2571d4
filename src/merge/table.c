#include <config.h>
#include "merge/read_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "kmer/kmer.h"

#define NONE UINT32_MAX

void kh_merge_clear(kh_merge *m)
{
	free(m->taxon);
	free(m->names.p);
	free(m->sample);
	free(m->cell);
	free(m->evidence);
	free(m->blank);
	kh_numbers_clear(&m->numbers);
	free(m->first);
	*m = (kh_merge) { .n = 0 };
}

/* --- taxa by their taxid ---------------------------------------------------------- */
uint32_t kh_merge_find(const kh_merge *m, uint32_t taxid)
{
	const uint64_t hash = kh_fmix64(taxid);
	size_t at = 0;
	uint32_t i = kh_numbers_next(&m->numbers, hash, &at);

	while (i != NONE && m->taxon[i].taxid != taxid)
		i = kh_numbers_next(&m->numbers, hash, &at);
	return i;
}

int kh_merge_add_taxon(kh_merge *m, const kh_merge_taxon *t, const kh_merge_row *x,
		       uint32_t *number, kh_err *err)
{
	kh_merge_taxon *to;
	int rc = KH_GROW(m->taxon, m->cap, m->n + 1, err);

	if (rc)
		return rc;
	to = &m->taxon[m->n];
	*to = *t;
	to->name = m->names.n;
	memcpy(to->code, x->code.p, x->code.n);
	kh_buf_word(&m->names, x->name.p, x->name.n);
	if ((rc = kh_buf_check(&m->names, err)))
		return rc;
	*number = (uint32_t)m->n++;
	return kh_numbers_add(&m->numbers, kh_fmix64(t->taxid), *number, err);
}

/* --- domains of one name ------------------------------------------------------------ */
static int by_name(const void *a, const void *b)
{
	const kh_merge_domain *x = a, *y = b;
	const int d = strcmp(x->name, y->name);

	return d ? d : (x->taxid > y->taxid) - (x->taxid < y->taxid);
}

int kh_merge_two_domains(const kh_merge *m, kh_merge_domain two[2], kh_err *err)
{
	kh_merge_domain *x = kh_array(m->n, sizeof *x, err);
	size_t n = 0, i = 1;

	if (!x)
		return KH_ENOMEM;
	for (uint32_t t = 0; t < m->n; t++)
		if (strcmp(m->taxon[t].code, "D") == 0 || strcmp(m->taxon[t].code, "K") == 0)
			x[n++] = (kh_merge_domain) { kh_merge_name(m, t), m->taxon[t].taxid };
	qsort(x, n, sizeof *x, by_name);
	while (i < n && strcmp(x[i - 1].name, x[i].name) != 0)
		i++;
	if (i < n)
		memcpy(two, x + i - 1, 2 * sizeof *two);
	free(x);
	return i < n;
}

/* --- the order -------------------------------------------------------------------- */
struct edge {
	uint32_t parent, taxid, taxon;
};

static int by_parent(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return (x->taxid > y->taxid) - (x->taxid < y->taxid);
}

/* now[t] becomes the number of taxon t in preorder.  Taxon 0 is the root, as it comes first in any
 * report, and profiles get one; each other one comes behind its parent.  So a taxon has its number
 * before its children are looked at: each of these is as far behind the one before as that has taxa
 * in its clade. */
static int find_numbers(const kh_merge *m, uint32_t *now, kh_err *err)
{
	struct edge *edge = kh_array(m->n, sizeof *edge, err);
	uint32_t *clade = kh_array(m->n, sizeof *clade, err), at = 0;
	int rc = edge && clade ? KH_OK : KH_ENOMEM;

	for (uint32_t i = (uint32_t)m->n; i-- > 1 && !rc;) {
		const uint32_t parent = m->taxon[i].parent;

		edge[i - 1] = (struct edge) { parent, m->taxon[i].taxid, i };
		clade[parent] += ++clade[i];
	}
	if (!rc && m->n > 1)
		qsort(edge, m->n - 1, sizeof *edge, by_parent);
	for (size_t i = 0; i + 1 < m->n && !rc; i++) {
		if (i == 0 || edge[i].parent != edge[i - 1].parent)
			at = now[edge[i].parent] + 1;
		now[edge[i].taxon] = at;
		at += clade[edge[i].taxon];
	}
	free(edge);
	free(clade);
	return rc;
}

/* Cells stand by sample; a stable sort by their taxon keeps that. */
static void sort_cells(kh_merge *m, kh_merge_cell *to)
{
	for (size_t i = 0; i < m->n_cells; i++)
		m->first[m->cell[i].taxon + 2]++;
	for (size_t t = 0; t < m->n; t++)
		m->first[t + 2] += m->first[t + 1];
	for (size_t i = 0; i < m->n_cells; i++)
		to[m->first[m->cell[i].taxon + 1]++] = m->cell[i];
}

int kh_merge_finish(kh_merge *m, kh_err *err)
{
	uint32_t *now = kh_array(m->n, sizeof *now, err);
	kh_merge_taxon *taxon = kh_array(m->n, sizeof *taxon, err);
	kh_merge_cell *cell = kh_array(m->n_cells, sizeof *cell, err);
	int rc = now && taxon && cell ? find_numbers(m, now, err) : KH_ENOMEM;

	if (!rc && !(m->first = kh_array(m->n + 2, sizeof *m->first, err)))
		rc = KH_ENOMEM;
	if (rc) {
		free(taxon);
		free(cell);
		free(now);
		return rc;
	}
	for (uint32_t t = 0; t < m->n; t++) {
		kh_merge_taxon *to = &taxon[now[t]];

		*to = m->taxon[t];
		to->parent = t ? now[to->parent] : NONE;
	}
	for (size_t i = 0; i < m->n_cells; i++)
		m->cell[i].taxon = now[m->cell[i].taxon];
	for (size_t i = 0; i < m->n_evidence; i++)
		m->evidence[i].taxon = now[m->evidence[i].taxon];
	sort_cells(m, cell);
	free(now);
	free(m->taxon);
	free(m->cell);
	m->taxon = taxon;
	m->cell = cell;
	return KH_OK;
}
