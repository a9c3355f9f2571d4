#include <config.h>
#include "kraken2/lookup.h"

#include <stdbool.h>

/* So many cells are asked for before the first of them is read: as many as keep the memory busy,
 * and not so many that the first ones leave the cache. */
enum { TOGETHER = 128 };

/* Searches the line of memory that *cell is in.  False: the search goes on at *cell, in the next.
 * That is asked for, too, and looked at when it will be there: to wait for it took a sixth of the
 * time of a whole run. */
static bool search_line(const kh_k2_table *t, uint64_t hash, uint64_t *cell, uint32_t *value)
{
	const kh_k2_rule *r = t->rule;
	const uint64_t key = hash >> (64 - r->key_bits);
	const uintptr_t at = (uintptr_t)(t->cells + *cell * r->cell_bytes);
	uint64_t i = *cell, end = i + 1 + (~at & 63) / r->cell_bytes;

	for (end = end < r->capacity ? end : r->capacity; i < end; i++) {
		const kh_k2_content c = kh_k2_read(r, t->cells, i);

		if (c.value == 0 || c.key == key) {
			*value = c.value;
			return true;
		}
	}
	*cell = i == r->capacity ? 0 : i;
	return false;
}

static void look_up_few(const kh_k2_table *t, const uint64_t *key, size_t n, uint32_t *taxon)
{
	const kh_k2_rule *r = t->rule;
	uint64_t hash[TOGETHER], cell[TOGETHER];
	uint32_t value[TOGETHER], later[TOGETHER];
	size_t n_later = 0;

	for (size_t i = 0; i < n; i++) {
		hash[i] = kh_fmix64(key[i]);
		cell[i] = kh_k2_cell(r, hash[i]);
		__builtin_prefetch(t->cells + cell[i] * r->cell_bytes);
	}
	for (size_t i = 0; i < n; i++) {
		value[i] = 0;
		if (hash[i] >= r->least_hash && !search_line(t, hash[i], &cell[i], &value[i])) {
			__builtin_prefetch(t->cells + cell[i] * r->cell_bytes);
			later[n_later++] = (uint32_t)i;
		}
	}
	for (size_t j = 0; j < n_later; j++) {
		const size_t i = later[j];

		value[i] = kh_k2_find(r, t->cells, hash[i], cell[i]);
	}
	/* the cells need not have been checked, and their file can change */
	for (size_t i = 0; i < n; i++)
		taxon[i] = value[i] < r->n_nodes ? t->taxon[value[i]] : KH_NO_TAXON;
}

void kh_k2_lookup(const kh_k2_table *t, const uint64_t *key, size_t n, uint32_t *taxon)
{
	for (size_t i = 0; i < n; i += TOGETHER)
		look_up_few(t, key + i, n - i < TOGETHER ? n - i : TOGETHER, taxon + i);
}
