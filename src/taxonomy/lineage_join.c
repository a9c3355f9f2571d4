/*
 * lineage_join.c - lineages beside dump files: finds the taxa that the dump has
 *
 * Names are not unique: there is a Bacillus among the insects, too. So a taxon of a lineage is the
 * taxon of the dump with its name and its rank that lies below one with the name of the lineage's
 * first part.
 *
 * Taxa of the dump keep their parents, so lineages that skip ranks in different ways may name the
 * same taxon. If lineages move taxa, a taxon of the dump has one parent and so one path.
 */
#include <config.h>
#include "taxonomy/lineage_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "taxonomy/taxdump.h"

static bool same_rank(kh_rank a, kh_rank b)
{
	return a == b || (kh_rank_place(a) && kh_rank_place(a) == kh_rank_place(b));
}

static bool may_be(const kh_lineages *l, const kh_lineage_node *x, const kh_taxdump *d, uint32_t j)
{
	return kh_span_is(kh_lineages_name(l, x), d->names.p + d->node[j].name) &&
	       same_rank(x->rank, d->node[j].rank);
}

static uint32_t first_part(const kh_lineages *l, uint32_t i)
{
	while (l->node[i].parent != UINT32_MAX)
		i = l->node[i].parent;
	return i;
}

/* Does taxon j of the dump lie below one that is called as the first part of lineage i? */
static bool lies_there(const kh_lineages *l, uint32_t i, const kh_taxdump *d, uint32_t j)
{
	const uint32_t top = first_part(l, i);
	const kh_span name = kh_lineages_name(l, &l->node[top]);

	if (top == i)
		return true;
	while (j > 0 && !kh_span_is(name, d->names.p + d->node[j = d->node[j].parent].name))
		;
	return j > 0;
}

/* Is taxon j of the dump that of lineage i?  Notes a species that would be if it lay there. */
static bool is_taxon(kh_lineages *l, uint32_t i, const kh_taxdump *d, uint32_t j)
{
	kh_lineage_node *x = &l->node[i];

	if (!may_be(l, x, d, j))
		return false;
	if (lies_there(l, i, d, j))
		return true;
	if (kh_rank_place(x->rank) == 'S')
		x->elsewhere = d->node[j].taxid;
	return false;
}

/* Does it even lie below one that may be the parent which lineage i names? */
static bool fits_parent(const kh_lineages *l, uint32_t i, const kh_taxdump *d, uint32_t j)
{
	const uint32_t up = l->node[i].parent;

	if (up == UINT32_MAX)
		return true;
	while (j > 0 && !may_be(l, &l->node[up], d, j = d->node[j].parent))
		;
	return j > 0;
}

/* Gives taxon j's number to the path that is first in the order of bytes, of those without a number
 * that may be it. */
static void number_path(kh_lineages *l, const kh_numbers *by_name, const kh_taxdump *d, uint32_t j)
{
	const char *name = d->names.p + d->node[j].name;
	const uint64_t hash = kh_lineages_hash((kh_span) { name, strlen(name) });
	uint32_t best = UINT32_MAX, i;
	size_t at = 0;

	while ((i = kh_numbers_next(by_name, hash, &at)) != KH_NO_NUMBER) {
		const kh_lineage_node *x = &l->node[i];

		if (x->taxid || !is_taxon(l, i, d, j))
			continue;
		if (best == UINT32_MAX || kh_lineages_compare(kh_lineages_path(l, x),
				kh_lineages_path(l, &l->node[best])) < 0)
			best = i;
	}
	if (best != UINT32_MAX)
		l->node[best].taxid = d->node[j].taxid;
}

/* Gives all paths that may be taxon j of the dump its number, unless they have one of a taxon that
 * fits as well: fits[i]. */
static void number_paths(kh_lineages *l, const kh_numbers *by_name, const kh_taxdump *d, uint32_t j,
			 bool *fits)
{
	const char *name = d->names.p + d->node[j].name;
	const uint64_t hash = kh_lineages_hash((kh_span) { name, strlen(name) });
	size_t at = 0;
	uint32_t i;

	while ((i = kh_numbers_next(by_name, hash, &at)) != KH_NO_NUMBER) {
		kh_lineage_node *x = &l->node[i];

		if (fits[i] || !is_taxon(l, i, d, j))
			continue;
		fits[i] = fits_parent(l, i, d, j);
		if (fits[i] || !x->taxid)
			x->taxid = d->node[j].taxid;
	}
}

/* The part of a lineage that names a taxon. */
static kh_span part_of(const kh_lineages *l, const kh_lineage_node *x)
{
	const size_t skip = x->parent == UINT32_MAX ? 0 : l->node[x->parent].path_len + 1;

	return (kh_span) { l->text.p + x->path + skip, x->path_len - skip };
}

/* Notes taxa of the dump that do not lie below the parent which a lineage names. */
static int check_parents(const kh_lineages *l, const kh_taxdump *d, kh_errs *errs, kh_err *err)
{
	int rc = KH_OK;

	for (uint32_t i = 0; i < l->n && !rc; i++) {
		const kh_lineage_node *x = &l->node[i];
		const kh_lineage_node *up = x->parent == UINT32_MAX ? NULL : &l->node[x->parent];
		uint32_t j = x->taxid && up ? kh_taxdump_node(d, x->taxid) : 0;
		const uint32_t above = d->node[j].parent;

		if (j == 0)
			continue;
		while (j > 0 && d->node[j = d->node[j].parent].taxid != up->taxid)
			;
		if (j == 0)
			rc = kh_errs_note(errs, err, KH_EFORMAT, "%s:%llu: column 2: \"%s\" is "
					  "taxid %u, which lies below %s in the taxonomy, not "
					  "below \"%s\"%s: write its lineage as there, or "
					  "--set move-taxa moves it", x->file, x->line,
					  kh_span_show(part_of(l, x)).s, (unsigned)x->taxid,
					  d->names.p + d->node[above].name,
					  kh_span_show(part_of(l, up)).s,
					  up->taxid ? "" : ", which is not there");
	}
	return rc;
}

/* A first part that is new lies below the root, whatever else its lineage names. */
static int doubt_first(kh_lineages *l, const kh_lineage_node *x, kh_err *err)
{
	return kh_errs_note(&l->doubts, err, KH_EFORMAT, "%s:%llu: column 2: \"%s\" is a new taxon "
			    "below the root, as the taxonomy has none of this name and rank",
			    x->file, x->line, kh_span_show(part_of(l, x)).s);
}

static int doubt_species(kh_lineages *l, uint32_t i, kh_err *err)
{
	const kh_lineage_node *x = &l->node[i];

	return kh_errs_note(&l->doubts, err, KH_EFORMAT, "%s:%llu: column 2: \"%s\" "
			    "is a new taxon, as taxid %u of that name does not lie "
			    "below \"%s\"", x->file, x->line,
			    kh_span_show(part_of(l, x)).s, (unsigned)x->elsewhere,
			    kh_span_show(part_of(l, &l->node[first_part(l, i)])).s);
}

static int note_doubts(kh_lineages *l, kh_err *err)
{
	int rc = KH_OK;

	for (uint32_t i = 0; i < l->n && !rc; i++) {
		const kh_lineage_node *x = &l->node[i];

		if (!x->taxid && x->parent == UINT32_MAX)
			rc = doubt_first(l, x, err);
		else if (!x->taxid && x->elsewhere)
			rc = doubt_species(l, i, err);
	}
	return rc;
}

int kh_lineages_use_numbers(kh_lineages *l, const kh_taxdump *d, kh_errs *errs, kh_err *err)
{
	bool *fits = kh_array(l->n, sizeof *fits, err);
	kh_numbers by_name = { .n = 0 };
	int rc = fits ? KH_OK : KH_ENOMEM;

	for (uint32_t i = 0; i < l->n && !rc; i++) {
		const kh_span name = kh_lineages_name(l, &l->node[i]);

		rc = kh_numbers_add(&by_name, kh_lineages_hash(name), i, err);
	}
	for (uint32_t j = 1; j < d->n && !rc; j++) {
		if (l->moves)
			number_path(l, &by_name, d, j);
		else
			number_paths(l, &by_name, d, j, fits);
	}
	if (!rc && !l->moves)
		rc = check_parents(l, d, errs, err);
	if (!rc)
		rc = note_doubts(l, err);
	kh_numbers_clear(&by_name);
	free(fits);
	return rc;
}
