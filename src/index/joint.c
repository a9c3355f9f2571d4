#include <config.h>
#include "index/joint.h"

#include <stdbool.h>
#include <stdlib.h>
#include "base/mem.h"

static int make_room(kh_joint_found *f, unsigned n, kh_err *err)
{
	if (f->n >= n)
		return KH_OK;
	kh_joint_found_clear(f);
	f->of = kh_array(n, sizeof *f->of, err);
	f->at = kh_array(n, sizeof *f->at, err);
	if (!f->of || !f->at)
		return KH_ENOMEM;
	f->n = n;
	return KH_OK;
}

void kh_joint_found_clear(kh_joint_found *f)
{
	for (unsigned i = 0; i < f->n; i++)
		kh_seeds_found_clear(&f->of[i]);
	free(f->of);
	free(f->at);
	*f = (kh_joint_found) { .of = NULL };
}

static int look_up(const kh_seed_joint *x, const uint64_t *key, size_t n, kh_joint_found *f,
		   size_t *all, kh_err *err)
{
	int rc = KH_OK;

	*all = 0;
	for (unsigned i = 0; i < x->n && !rc; i++) {
		rc = kh_seeds_find(&x->index[i], key, n, &f->of[i], err);
		f->at[i] = 0;
		*all += f->of[i].n;
	}
	return rc;
}

/* The least seed that is left; UINT32_MAX: none is. */
static uint32_t next_seed(const kh_joint_found *f, unsigned n)
{
	uint32_t least = UINT32_MAX;

	for (unsigned i = 0; i < n; i++) {
		const kh_seeds_found *of = &f->of[i];

		if (f->at[i] < of->n && (uint32_t)of->bin[f->at[i]] < least)
			least = (uint32_t)of->bin[f->at[i]];
	}
	return least;
}

/* Takes over the bins of a seed. */
static void take(const kh_seed_joint *x, kh_joint_found *f, uint32_t seed, kh_seeds_found *to)
{
	const size_t from = to->n;
	bool many = false;

	for (unsigned i = 0; i < x->n; i++) {
		const kh_seeds_found *of = &f->of[i];
		size_t at = f->at[i];

		for (; at < of->n && (uint32_t)of->bin[at] == seed; at++) {
			many |= of->bin[at] >> 32 == KH_SEED_MANY;
			to->bin[to->n++] = of->bin[at] + ((uint64_t)x->first_bin[i] << 32);
		}
		f->at[i] = at;
	}
	if (!many && to->n - from <= KH_LIST_MAX)
		return;
	to->bin[from] = (uint64_t)KH_SEED_MANY << 32 | seed;
	to->n = from + 1;
}

int kh_joint_find(const kh_seed_joint *x, const uint64_t *key, size_t n, kh_joint_found *scratch,
		  kh_seeds_found *to, kh_err *err)
{
	size_t all;
	int rc;

	if (x->n == 1)
		return kh_seeds_find(&x->index[0], key, n, to, err);
	if ((rc = make_room(scratch, x->n, err)) ||
	    (rc = look_up(x, key, n, scratch, &all, err)) ||
	    (rc = KH_GROW(to->bin, to->cap, all + 1, err)))
		return rc;
	to->n = 0;
	for (uint32_t seed; (seed = next_seed(scratch, x->n)) != UINT32_MAX;)
		take(x, scratch, seed, to);
	return KH_OK;
}
