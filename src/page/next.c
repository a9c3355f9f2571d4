/* next.c - for each species, the other one that is most often a candidate of its reads */
#include <config.h>
#include "page/species.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"
#include "base/numbers.h"

/* The reads of which `species` is a best candidate: near, those with `other` as a candidate; same,
 * those with `other` as a best one, too.  If other == species, both are all of them. */
struct beside {
	uint32_t species, other;
	uint64_t near, same;
};

struct list {
	struct beside *v;
	size_t n, cap;
	kh_numbers numbers;
};

static int add(struct list *l, uint32_t species, uint32_t other, uint64_t many, bool same,
	       kh_err *err)
{
	const uint64_t hash = kh_fmix64((uint64_t)species << 32 | other);
	size_t at = 0;
	uint32_t i;

	while ((i = kh_numbers_next(&l->numbers, hash, &at)) != KH_NO_NUMBER &&
	       (l->v[i].species != species || l->v[i].other != other))
		;
	if (i == KH_NO_NUMBER) {
		int rc = KH_GROW(l->v, l->cap, l->n + 1, err);

		i = (uint32_t)l->n;
		if (!rc)
			rc = kh_numbers_add(&l->numbers, hash, i, err);
		if (rc)
			return rc;
		l->v[l->n++] = (struct beside) { .species = species, .other = other };
	}
	l->v[i].near += many;
	l->v[i].same += same ? many : 0;
	return KH_OK;
}

static int count(struct list *l, const kh_classes *c, kh_err *err)
{
	int rc = KH_OK;

	for (size_t k = 0; k < c->n; k++) {
		const kh_class *x = &c->at[k];

		for (int i = 0; i < KH_CANDIDATES && x->species[i] != KH_NO_TAXON; i++)
			for (int j = 0; j < KH_CANDIDATES && x->species[j] != KH_NO_TAXON; j++)
				if (x->drop[i] == 0 && !rc)
					rc = add(l, x->species[i], x->species[j], x->many,
						 x->drop[j] == 0, err);
	}
	return rc;
}

/* A species itself stands first, then the nearest of others. */
static int by_near(const void *a, const void *b)
{
	const struct beside *x = a, *y = b;
	const bool self = x->species == x->other;

	if (x->species != y->species)
		return x->species < y->species ? -1 : 1;
	if (self != (y->species == y->other))
		return self ? -1 : 1;
	if (x->near != y->near)
		return x->near > y->near ? -1 : 1;
	if (x->same != y->same)
		return x->same > y->same ? -1 : 1;
	return x->other < y->other ? -1 : x->other > y->other;
}

/* all: of the species itself; others are behind it. */
static void fill_next(kh_page_rows *x, size_t row, const kh_profile *p, const struct beside *all,
		      const struct beside *end)
{
	const struct beside *other = all + 1;
	const double of = (double)all->near / 100;

	if (other == end || other->species != all->species)
		snprintf(x->next[row], KH_PROFILE_WHY, "none is near any of its reads");
	else
		snprintf(x->next[row], KH_PROFILE_WHY, "%.200s: near %.1f %% of its reads, as good "
			 "for %.1f %%", kh_profile_name(p, other->other),
			 (double)other->near / of, (double)other->same / of);
	x->value[row * KH_PAGE_COLUMNS + KH_PAGE_NEXT].text = x->next[row];
}

int kh_page_rows_next(kh_page_rows *x, const kh_profile *p, const kh_classes *c, kh_err *err)
{
	struct list l = { .n = 0 };
	int rc = count(&l, c, err);

	if (!rc && !(x->next = kh_array(x->n, sizeof *x->next, err)))
		rc = KH_ENOMEM;
	if (!rc && l.n > 0)
		qsort(l.v, l.n, sizeof *l.v, by_near);
	/* both are in the order of taxa */
	for (size_t i = 0, row = 0; i < l.n && !rc; i++) {
		while (row < x->n && x->row[row].taxon < l.v[i].species)
			row++;
		if (l.v[i].species == l.v[i].other && row < x->n &&
		    x->row[row].taxon == l.v[i].species)
			fill_next(x, row, p, &l.v[i], l.v + l.n);
	}
	kh_numbers_clear(&l.numbers);
	free(l.v);
	return rc;
}
