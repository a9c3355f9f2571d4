#include <config.h>
#include "index/bins.h"

#include <stdlib.h>
#include "base/mem.h"

/* Marks in number[taxon] the species of targets, then numbers them; returns how many there are. */
static uint32_t number_species(uint32_t *number, const kh_bins *targets, const kh_tree *tree)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < targets->n_targets; i++)
		number[kh_tree_own_species(tree, targets->taxon[i])] = 1;
	for (uint32_t t = 0; t < tree->n; t++)
		if (number[t])
			number[t] = n++;
	return n;
}

static int make_room(kh_bin_map *m, uint32_t n_targets, uint32_t n_species, kh_err *err)
{
	m->first = kh_array((size_t)n_targets + 1, sizeof *m->first, err);
	m->taxon = kh_array((size_t)n_targets + n_species, sizeof *m->taxon, err);
	m->species_row = kh_array(n_targets, sizeof *m->species_row, err);
	return m->first && m->taxon && m->species_row ? KH_OK : KH_ENOMEM;
}

static void fill(kh_bin_map *m, const kh_bins *targets, const kh_tree *tree,
		 const uint32_t *number)
{
	const uint32_t n = targets->n_targets;

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t species = kh_tree_own_species(tree, targets->taxon[i]);

		m->first[i] = targets->first[i];
		m->taxon[i] = targets->taxon[i];
		m->species_row[i] = n + number[species];
		m->taxon[n + number[species]] = species;
	}
	m->first[n] = (uint32_t)m->end;
}

int kh_bin_map_init(kh_bin_map *m, const kh_bins *targets, uint64_t end, const kh_tree *tree,
		    kh_err *err)
{
	uint32_t *number = kh_array(tree->n, sizeof *number, err), n;
	int rc;

	*m = (kh_bin_map) { .end = end };
	if (!number)
		return KH_ENOMEM;
	n = number_species(number, targets, tree);
	rc = make_room(m, targets->n_targets, n, err);
	m->bins = (kh_bins) { .first = m->first, .taxon = m->taxon, .species_row = m->species_row,
			      .n_targets = targets->n_targets, .n_species = n };
	if (!rc)
		fill(m, targets, tree, number);
	free(number);
	return rc;
}

void kh_bin_map_clear(kh_bin_map *m)
{
	free(m->first);
	free(m->taxon);
	free(m->species_row);
	*m = (kh_bin_map) { .first = NULL };
}
