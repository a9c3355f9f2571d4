/*
 * lineage_join.c - lineages beside dump files: which of their taxa the dump has
 *
 * Names are not unique, as there is a Bacillus among the insects, too. So a taxon of a lineage is
 * that of the dump which has its name and its rank and lies below one that is called as the first
 * part of the lineage.
 */
#include <config.h>
#include "taxonomy/lineage_in.h"

#include <string.h>
#include "taxonomy/taxdump.h"

static bool same_rank(kh_rank a, kh_rank b)
{
	return a == b || (kh_rank_place(a) && kh_rank_place(a) == kh_rank_place(b));
}

/* Does taxon j of the dump lie below one that is called as the first part of lineage i? */
static bool lies_there(const kh_lineages *l, uint32_t i, const kh_taxdump *d, uint32_t j)
{
	uint32_t top = i;

	while (l->node[top].parent != UINT32_MAX)
		top = l->node[top].parent;
	const kh_span name = kh_lineages_name(l, &l->node[top]);

	if (top == i)
		return true;
	while (j > 0 && !kh_span_is(name, d->names.p + d->node[j = d->node[j].parent].name))
		;
	return j > 0;
}

/* The path that is first in the order of bytes, of those without a number that may be taxon j of
 * the dump; UINT32_MAX: none. */
static uint32_t find_path(const kh_lineages *l, const kh_numbers *by_name, const kh_taxdump *d,
			  uint32_t j)
{
	const char *name = d->names.p + d->node[j].name;
	const uint64_t hash = kh_lineages_hash((kh_span) { name, strlen(name) });
	uint32_t best = UINT32_MAX, i;
	size_t at = 0;

	while ((i = kh_numbers_next(by_name, hash, &at)) != KH_NO_NUMBER) {
		const kh_lineage_node *x = &l->node[i];

		if (x->taxid || !kh_span_is(kh_lineages_name(l, x), name) ||
		    !same_rank(x->rank, d->node[j].rank) || !lies_there(l, i, d, j))
			continue;
		if (best == UINT32_MAX || kh_lineages_compare(kh_lineages_path(l, x),
				kh_lineages_path(l, &l->node[best])) < 0)
			best = i;
	}
	return best;
}

int kh_lineages_use_numbers(kh_lineages *l, const kh_taxdump *d, kh_err *err)
{
	kh_numbers by_name = { .n = 0 };
	int rc = KH_OK;

	for (uint32_t i = 0; i < l->n && !rc; i++) {
		const kh_span name = kh_lineages_name(l, &l->node[i]);

		rc = kh_numbers_add(&by_name, kh_lineages_hash(name), i, err);
	}
	for (uint32_t j = 1; j < d->n && !rc; j++) {
		const uint32_t i = find_path(l, &by_name, d, j);

		if (i != UINT32_MAX)
			l->node[i].taxid = d->node[j].taxid;
	}
	kh_numbers_clear(&by_name);
	return rc;
}
