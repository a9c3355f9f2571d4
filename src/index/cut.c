#include <config.h>
#include "index/cut.h"

#include <stdbool.h>
#include <stdlib.h>
#include "base/mem.h"

int kh_cut_grow(kh_cut *c, const kh_bins *bins, size_t longest, kh_err *err)
{
	int rc;

	if (bins->most == 0)
		return KH_OK;
	c->bins = bins;
	if (!c->in)
		c->in = kh_array(bins->n - bins->n_targets, sizeof *c->in, err);
	if (!c->in)
		return KH_ENOMEM;
	rc = KH_GROW(c->species, c->cap_species, longest, err);
	return rc ? rc : KH_GROW(c->much, c->cap_much, longest, err);
}

void kh_cut_clear(kh_cut *c)
{
	free(c->in);
	free(c->species);
	free(c->much);
	*c = (kh_cut) { .bins = NULL };
}

/* The target of a bin that is not before target t: often t itself, or, with strains, the next
 * one. */
static uint32_t target_from(const kh_bins *b, uint32_t t, uint32_t bin)
{
	for (int i = 0; i < 4; i++, t++)
		if (bin < b->first[t + 1])      /* the species stand behind the last target */
			return t;
	return kh_bins_target(b, bin);
}

/* Finds the species of each location, counts what they have, and lists those that have too much in
 * c->much.  A vote stands for too much. */
static size_t count(kh_cut *c, const uint32_t *loc, size_t n)
{
	const kh_bins *b = c->bins;
	uint32_t t = kh_bins_target(b, loc[0]);
	size_t n_much = 0;

	for (size_t i = 0; i < n; i++) {
		const bool vote = loc[i] >= b->votes;
		const uint32_t before = t;
		uint32_t s;

		t = vote ? kh_bins_target(b, loc[i]) : target_from(b, t, loc[i]);
		s = (vote ? t : b->species[t]) - b->n_targets;
		c->species[i] = s;
		if (kh_bins_much(b, c->in[s]))
			continue;
		c->in[s] += vote ? (b->most + 1) * KH_IN_TARGET
				 : 1 + (i == 0 || t != before) * KH_IN_TARGET;
		if (kh_bins_much(b, c->in[s]))
			c->much[n_much++] = s;
	}
	return n_much;
}

/* Keeps the first places of each species. */
static size_t keep_first(kh_cut *c, uint32_t *loc, size_t n)
{
	const kh_bins *b = c->bins;
	uint32_t t = kh_bins_target(b, loc[0]);
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		t = target_from(b, t, loc[i]);
		const uint32_t s = b->species[t] - b->n_targets;

		c->species[i] = s;
		if (c->in[s]++ < b->most)
			loc[kept++] = loc[i];
	}
	for (size_t i = 0; i < n; i++)
		c->in[c->species[i]] = 0;
	return kept;
}

size_t kh_cut_list(kh_cut *c, uint32_t *loc, size_t n)
{
	const kh_bins *b = c->bins;
	size_t n_much, kept = 0;

	if (b == NULL || n <= 1 || (n <= b->most && loc[n - 1] < b->votes))
		return n;
	if (b->places)
		return keep_first(c, loc, n);
	n_much = count(c, loc, n);
	for (size_t i = 0; i < n && n_much > 0; i++)
		if (!kh_bins_much(b, c->in[c->species[i]]))
			loc[kept++] = loc[i];
	for (size_t i = 0; i < n; i++)
		c->in[c->species[i]] = 0;
	if (n_much == 0)
		return n;
	if (n_much > 1)
		qsort(c->much, n_much, sizeof *c->much, kh_by_u32);
	for (size_t i = 0; i < n_much; i++)
		loc[kept++] = b->first[b->n_targets + c->much[i]];
	return kept;
}
