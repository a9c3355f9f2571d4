#include <config.h>
#include "merge/read_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

enum { FIRST_SLOTS = 1024 };
#define NONE UINT32_MAX

void kh_merge_clear(kh_merge *m)
{
	free(m->taxon);
	free(m->names.p);
	free(m->sample);
	free(m->cell);
	free(m->told);
	free(m->slot);
	free(m->order);
	free(m->first);
	*m = (kh_merge) { .n = 0 };
}

/* --- taxa by their taxid ---------------------------------------------------------- */
static uint32_t *probe(const kh_merge *m, uint32_t taxid)
{
	size_t i = (taxid * UINT32_C(2654435769)) & m->mask;

	while (m->slot[i] && m->taxon[m->slot[i] - 1].taxid != taxid)
		i = (i + 1) & m->mask;
	return &m->slot[i];
}

uint32_t kh_merge_find(const kh_merge *m, uint32_t taxid)
{
	return m->slot ? *probe(m, taxid) - 1 : NONE;   /* a free slot is 0 */
}

/* Keeps at least half of the slots free. */
static int reserve(kh_merge *m, kh_err *err)
{
	const size_t n = m->slot ? 2 * (m->mask + 1) : FIRST_SLOTS;

	if (m->slot && 2 * (m->n + 1) <= m->mask)
		return KH_OK;
	if (m->n >= NONE - 1)
		return kh_fail(err, KH_EFORMAT, "too many taxa");
	uint32_t *slot = kh_array(n, sizeof *slot, err);
	if (!slot)
		return KH_ENOMEM;
	free(m->slot);
	m->slot = slot;
	m->mask = n - 1;
	for (size_t i = 0; i < m->n; i++)
		*probe(m, m->taxon[i].taxid) = (uint32_t)i + 1;
	return KH_OK;
}

int kh_merge_add_taxon(kh_merge *m, const kh_merge_taxon *t, const kh_merge_row *x,
		       uint32_t *number, kh_err *err)
{
	kh_merge_taxon *to;
	int rc = reserve(m, err);

	if (!rc)
		rc = kh_grow((void **)&m->taxon, &m->cap, m->n + 1, sizeof *m->taxon, err);
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
	*probe(m, t->taxid) = *number + 1;
	return KH_OK;
}

/* --- the order -------------------------------------------------------------------- */
struct edge {
	uint32_t parent, taxid, taxon;
};

/* Children of a taxon stand together, in reverse order, as a stack needs them. */
static int by_parent(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return (x->taxid < y->taxid) - (x->taxid > y->taxid);
}

/* Fills m->order: taxon 0 is the root, as it comes first in any report, and profiles get one. */
static void walk(kh_merge *m, const struct edge *edge, const size_t *child, uint32_t *stack)
{
	size_t n_stack = 1, n = 0;

	stack[0] = 0;
	while (n_stack > 0) {
		const uint32_t t = stack[--n_stack];

		m->order[n++] = t;
		for (size_t i = child[t]; i < child[t + 1]; i++)
			stack[n_stack++] = edge[i].taxon;
	}
}

static int make_order(kh_merge *m, kh_err *err)
{
	struct edge *edge = kh_array(m->n, sizeof *edge, err);
	size_t *child = kh_array(m->n + 2, sizeof *child, err);
	uint32_t *stack = kh_array(m->n, sizeof *stack, err);
	int rc = edge && child && stack ? KH_OK : KH_ENOMEM;

	for (uint32_t i = 1; i < m->n && !rc; i++) {
		edge[i - 1] = (struct edge) { m->taxon[i].parent, m->taxon[i].taxid, i };
		child[m->taxon[i].parent + 1]++;
	}
	if (!rc && m->n > 0) {
		qsort(edge, m->n - 1, sizeof *edge, by_parent);
		for (size_t i = 0; i < m->n; i++)
			child[i + 1] += child[i];
		walk(m, edge, child, stack);
	}
	free(edge);
	free(child);
	free(stack);
	return rc;
}

/* Cells stand by sample; a stable sort by their taxon's place keeps that. */
static int sort_cells(kh_merge *m, kh_err *err)
{
	kh_merge_cell *cell = kh_array(m->n_cells, sizeof *cell, err);
	size_t *at = kh_array(m->n + 1, sizeof *at, err);       /* by taxon */
	int rc = cell && at ? KH_OK : KH_ENOMEM;

	for (size_t i = 0; i < m->n_cells && !rc; i++)
		at[m->cell[i].taxon]++;
	for (size_t i = 0; i < m->n && !rc; i++) {
		const size_t count = at[m->order[i]];

		at[m->order[i]] = m->first[i];
		m->first[i + 1] = m->first[i] + count;
	}
	for (size_t i = 0; i < m->n_cells && !rc; i++)
		cell[at[m->cell[i].taxon]++] = m->cell[i];
	free(at);
	if (rc) {
		free(cell);
		return rc;
	}
	free(m->cell);
	m->cell = cell;
	m->cells_cap = m->n_cells;
	return KH_OK;
}

int kh_merge_finish(kh_merge *m, kh_err *err)
{
	m->order = kh_array(m->n, sizeof *m->order, err);
	m->first = kh_array(m->n + 1, sizeof *m->first, err);
	if (!m->order || !m->first)
		return KH_ENOMEM;
	int rc = make_order(m, err);
	return rc ? rc : sort_cells(m, err);
}
