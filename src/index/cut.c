#include <config.h>
#include "index/cut.h"

#include <stdlib.h>
#include "base/mem.h"

static int make_room(kh_cut *c, const kh_bins *bins, size_t longest, kh_err *err)
{
	if (!c->in)
		c->in = kh_array(bins->n_species, sizeof *c->in, err);
	return c->in ? KH_GROW(c->species, c->cap_species, longest, err) : KH_ENOMEM;
}

void kh_cut_clear(kh_cut *c)
{
	free(c->in);
	free(c->species);
	*c = (kh_cut) { .in = NULL };
}

/* The target of a bin that is not before target t: often t itself, or, with strains, the next
 * one. */
static uint32_t target_from(const kh_bins *b, uint32_t t, uint32_t bin)
{
	for (int i = 0; i < 4 && t < b->n_targets; i++, t++)
		if (bin < b->first[t + 1])
			return t;
	return kh_bins_target(b, bin);
}

/* Keeps the first places of each species, of n ascending, distinct bins; how many are left. */
static size_t cut_list(kh_cut *c, const kh_bins *b, uint32_t *bin, size_t n)
{
	uint32_t t = n > 0 ? kh_bins_target(b, bin[0]) : 0;
	size_t kept = 0;

	if (n <= KH_SPECIES_PLACES)
		return n;
	for (size_t i = 0; i < n; i++) {
		t = target_from(b, t, bin[i]);
		c->species[i] = b->species[t] - b->n_targets;
		if (c->in[c->species[i]]++ < KH_SPECIES_PLACES)
			bin[kept++] = bin[i];
	}
	for (size_t i = 0; i < n; i++)
		c->in[c->species[i]] = 0;
	return kept;
}

int kh_pairs_list(const kh_pairs *p, size_t from, size_t to, kh_cut *cut, const kh_bins *bins,
		  uint32_t *list, size_t *n, kh_err *err)
{
	const int rc = make_room(cut, bins, to - from, err);

	*n = 0;
	for (size_t i = from; i < to && !rc; i++)
		if (*n == 0 || list[*n - 1] != p->loc[i])
			list[(*n)++] = p->loc[i];
	*n = rc ? 0 : cut_list(cut, bins, list, *n);
	return rc;
}
