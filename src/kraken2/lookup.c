#include <config.h>
#include "kraken2/lookup.h"

/* So many cells are asked for before the first of them is read: as many as keep the memory busy,
 * and not so many that the first ones leave the cache. */
enum { TOGETHER = 128 };

static void look_up_few(const kh_k2_table *t, const uint64_t *key, size_t n, uint32_t *taxon)
{
	const kh_k2_rule *r = t->rule;
	uint64_t hash[TOGETHER], cell[TOGETHER];

	for (size_t i = 0; i < n; i++) {
		hash[i] = kh_fmix64(key[i]);
		cell[i] = kh_k2_cell(r, hash[i]);
		__builtin_prefetch(t->cells + cell[i] * r->cell_bytes);
	}
	for (size_t i = 0; i < n; i++) {
		const uint32_t value = hash[i] < r->least_hash ? 0
				       : kh_k2_find(r, t->cells, hash[i], cell[i]);

		/* the cells need not have been checked, and their file can change */
		taxon[i] = value < r->n_nodes ? t->taxon[value] : KH_NO_TAXON;
	}
}

void kh_k2_lookup(const kh_k2_table *t, const uint64_t *key, size_t n, uint32_t *taxon)
{
	for (size_t i = 0; i < n; i += TOGETHER)
		look_up_few(t, key + i, n - i < TOGETHER ? n - i : TOGETHER, taxon + i);
}
