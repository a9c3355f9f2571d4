/* strains.c - the taxa below species */
#include <config.h>
#include "db/load_in.h"

#include <stdlib.h>
#include "base/mem.h"

/* --- the section ------------------------------------------------------------------------ */
/* Is `taxon` of the clade of a target's own species, or the species? */
static bool is_of(const kh_tree *tree, uint32_t target, uint32_t taxon)
{
	return taxon < tree->n && kh_tree_within(tree, kh_tree_own_species(tree, target), taxon);
}

/* Does x lie in stretch k, and are its taxa of the stretch's species, and not what is so without a
 * record? */
static bool is_sound(const kh_db *db, const kh_tree *tree, const kh_db_kept *k,
		     const kh_text_strains *x)
{
	const uint32_t own = db->target[k->target].taxon;

	return x->bins > 0 && x->bin >= k->first_bin &&
	       (uint64_t)x->bin + x->bins <= (uint64_t)k->first_bin + k->bins &&
	       is_of(tree, own, x->same) && is_of(tree, own, x->other) &&
	       kh_tree_within(tree, x->same, own) && (x->same != own || x->other != own);
}

static int find_section(kh_db *db, const kh_tree *tree, kh_err *err)
{
	const kh_db_extent *e = &db->h->section[KH_SEC_STRAINS];
	uint32_t k = 0;

	if (e->at == 0)
		return KH_OK;
	db->strains = kh_db_section(db, KH_SEC_STRAINS);
	if (e->bytes % sizeof *db->strains != 0 || e->bytes == 0 ||
	    e->bytes / sizeof *db->strains > db->h->bins)
		return kh_db_bad(db, "its section strains is damaged", err);
	db->n_strains = (uint32_t)(e->bytes / sizeof *db->strains);
	for (uint32_t i = 0; i < db->n_strains; i++) {
		const kh_text_strains *x = &db->strains[i];

		while (k + 1 < db->n_kept && db->kept[k + 1].first_bin <= x->bin)
			k++;
		if (k >= db->n_kept || !is_sound(db, tree, &db->kept[k], x) ||
		    (i > 0 && x->bin < (uint64_t)x[-1].bin + x[-1].bins))
			return kh_db_bad(db, "its section strains is damaged", err);
	}
	return KH_OK;
}

/* --- species ---------------------------------------------------------------------------- */
/* The number of a species among those that have bins. */
static uint32_t number_of(const uint32_t *species, uint32_t n, uint32_t taxon)
{
	uint32_t lo = 0;

	for (uint32_t half; n > 1; n -= half) {
		half = n / 2;
		lo = species[lo + half] <= taxon ? lo + half : lo;
	}
	return lo;
}

int kh_db_name_species(kh_db *db, const kh_tree *tree, kh_err *err)
{
	uint32_t *species = db->bin_map.taxon + db->bins.n_targets;
	const uint32_t n = db->bins.n_species;
	kh_extent *all = kh_array(n, sizeof *all, err);

	if (!all)
		return KH_ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		all[i] = kh_extent_empty();
	for (uint32_t i = 0; i < db->h->n_targets && n > 0; i++) {
		const uint32_t own = kh_tree_own_species(tree, db->target[i].taxon);
		const uint32_t x = number_of(species, n, own);

		if (species[x] == own)
			all[x] = kh_extent_add(all[x], db->target[i].taxon);
	}
	for (uint32_t i = 0; i < n; i++)
		species[i] = kh_tree_lca(tree, all[i].lo, all[i].hi);
	free(all);
	return KH_OK;
}

int kh_db_find_strains(kh_db *db, kh_err *err)
{
	const kh_tree tree = kh_taxonomy_tree(db->tax);
	const int rc = find_section(db, &tree, err);

	return rc ? rc : kh_db_name_species(db, &tree, err);
}
