#include <config.h>
#include "index/bins.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

/* Marks in number[taxon] the species that targets vote for, then numbers them; returns how many
 * there are. */
static uint32_t number_species(uint32_t *number, const kh_bins *targets, const kh_tree *tree)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < targets->n; i++)
		number[kh_tree_own_species(tree, targets->taxon[i])] = 1;
	for (uint32_t t = 0; t < tree->n; t++)
		if (number[t])
			number[t] = n++;
	return n;
}

static int make_room(kh_bin_map *m, uint32_t n, uint32_t n_targets, kh_err *err)
{
	m->first = kh_array(n, sizeof *m->first, err);
	m->taxon = kh_array(n, sizeof *m->taxon, err);
	m->species = kh_array(n_targets, sizeof *m->species, err);
	return m->first && m->taxon && m->species ? KH_OK : KH_ENOMEM;
}

static void fill(kh_bin_map *m, const kh_bins *targets, uint32_t gap, const kh_tree *tree,
		 const uint32_t *number)
{
	for (uint32_t i = 0; i < targets->n; i++) {
		const uint32_t species = kh_tree_own_species(tree, targets->taxon[i]);
		const uint32_t at = targets->n + number[species];

		m->first[i] = targets->first[i];
		m->taxon[i] = targets->taxon[i];
		m->species[i] = at;
		m->taxon[at] = species;
	}
	for (uint32_t i = targets->n; i < m->bins.n; i++, m->end += 1 + (uint64_t)gap)
		m->first[i] = (uint32_t)m->end;
}

int kh_bin_map_init(kh_bin_map *m, const kh_bins *targets, uint64_t end, uint32_t gap,
		    const kh_tree *tree, kh_err *err)
{
	uint32_t *number = kh_array(tree->n, sizeof *number, err), n;
	int rc;

	*m = (kh_bin_map) { .end = end };
	if (!number)
		return KH_ENOMEM;
	n = number_species(number, targets, tree);
	rc = make_room(m, targets->n + n, targets->n, err);
	if (!rc && end + n * (1 + (uint64_t)gap) > UINT32_MAX)
		rc = kh_fail(err, KH_EUSAGE, "%" PRIu64 " bins of targets and those of %" PRIu32
			     " species are more than 32 bits can number: --set stride must "
			     "be greater",
			     end, n);
	m->bins = (kh_bins) { .n = targets->n + n, .n_targets = targets->n, .first = m->first,
			      .taxon = m->taxon, .species = m->species,
			      .votes = n ? (uint32_t)end : KH_NO_BIN };
	if (!rc)
		fill(m, targets, gap, tree, number);
	m->bins.bits = kh_word_bits(m->end, tree->n);
	free(number);
	return rc;
}

void kh_bin_map_clear(kh_bin_map *m)
{
	free(m->first);
	free(m->taxon);
	free(m->species);
	*m = (kh_bin_map) { .first = NULL };
}
