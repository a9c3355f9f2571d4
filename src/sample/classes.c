/* classes.c - counts of classes of fragments */
#include <config.h>
#include "sample/classes.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

enum { FIRST_SLOTS = 1024, KEY = offsetof(kh_class, many) };

static_assert(KEY == 32 && sizeof(kh_class) == 40, "a class is compared by its bytes");

void kh_class_least(const kh_rule *r, uint32_t least[32])
{
	for (int i = 0; i < 32; i++)
		least[i] = r->minima[i] > 2 ? r->minima[i] : 2;
}

int kh_classes_init(kh_classes *c, uint32_t n_taxa, kh_err *err)
{
	*c = (kh_classes) { .mask = FIRST_SLOTS - 1, .n_taxa = n_taxa };
	c->slot = kh_array(FIRST_SLOTS, sizeof *c->slot, err);
	c->direct = kh_array(n_taxa, sizeof *c->direct, err);
	if (c->slot && c->direct)
		return KH_OK;
	kh_classes_clear(c);
	return KH_ENOMEM;
}

void kh_classes_clear(kh_classes *c)
{
	free(c->at);
	free(c->slot);
	free(c->direct);
	*c = (kh_classes) { .at = NULL };
}

static uint64_t mix_of(const kh_class *k)
{
	uint64_t x = k->call | (uint64_t)k->cell << 32 | (uint64_t)k->located << 40 |
		     (uint64_t)k->enough << 41;

	for (int i = 0; i < KH_CANDIDATES; i++)
		x = kh_fmix64(x ^ (k->species[i] | (uint64_t)k->drop[i] << 32));
	return x;
}

static bool same(const kh_class *a, const kh_class *b)
{
	return memcmp(a, b, KEY) == 0;
}

static int more_slots(kh_classes *c, kh_err *err)
{
	const size_t size = 2 * (c->mask + 1);
	uint32_t *slot = kh_array(size, sizeof *slot, err);

	if (!slot)
		return KH_ENOMEM;
	for (size_t i = 0; i < c->n; i++) {
		size_t at = mix_of(&c->at[i]) & (size - 1);

		while (slot[at])
			at = (at + 1) & (size - 1);
		slot[at] = (uint32_t)i + 1;
	}
	free(c->slot);
	c->slot = slot;
	c->mask = size - 1;
	return KH_OK;
}

static int find(kh_classes *c, const kh_class *k, uint32_t *index, kh_err *err)
{
	size_t at = mix_of(k) & c->mask;
	int rc = KH_OK;

	for (; c->slot[at]; at = (at + 1) & c->mask)
		if (same(&c->at[c->slot[at] - 1], k)) {
			*index = c->slot[at] - 1;
			return KH_OK;
		}
	if (c->n >= KH_NO_CLASS - 1)
		return kh_fail(err, KH_ENOMEM, "the sample has more than %u classes of fragments",
			       KH_NO_CLASS - 1);
	rc = kh_grow((void **)&c->at, &c->cap, c->n + 1, sizeof *c->at, err);
	if (rc)
		return rc;
	*index = (uint32_t)c->n;
	c->at[c->n++] = *k;
	c->slot[at] = (uint32_t)c->n;
	return 2 * c->n > c->mask ? more_slots(c, err) : KH_OK;
}

/* One species alone is best, and the best window is of it. */
static bool is_located(const kh_class_rule *r, const kh_candidates *cand)
{
	uint32_t best = KH_NO_TAXON;

	for (int i = 0; i < KH_CANDIDATES && cand->species[i] != KH_NO_TAXON; i++) {
		if (cand->drop[i] > 0)
			continue;
		if (best != KH_NO_TAXON)
			return false;
		best = cand->species[i];
	}
	if (best == KH_NO_TAXON || cand->bin == KH_NO_BIN)
		return false;
	return r->tree->species[r->bins->taxon[kh_bins_target(r->bins, cand->bin)]] == best;
}

int kh_classes_add(kh_classes *c, const kh_class_rule *r, const kh_call *call,
		   const kh_candidates *cand, uint32_t *index, kh_err *err)
{
	const uint32_t n = call->features, h = call->hits;
	kh_class k;
	int rc;

	*index = KH_NO_CLASS;
	if (n < KH_N_LEAST || n > KH_N_MOST || cand->species[0] == KH_NO_TAXON || h < 2 ||
	    h < r->rule->minima[kh_log2(n)]) {
		if (call->taxon != KH_NO_TAXON)
			c->direct[call->taxon]++;
		return KH_OK;
	}
	memset(&k, 0, sizeof k);
	memcpy(k.species, cand->species, sizeof k.species);
	memcpy(k.drop, cand->drop, sizeof k.drop);
	k.call = call->taxon;
	k.cell = (kh_log2(n) - 3) * KH_SHARES + (h < n ? 32 * h / n : 31);
	k.located = is_located(r, cand);
	k.enough = (uint8_t)kh_rule_enough(r->rule, h, n);
	if ((rc = find(c, &k, index, err)))
		return rc;
	c->at[*index].many++;
	c->many[n]++;
	return KH_OK;
}

/* --- all of them ------------------------------------------------------------------ */
struct ref {
	const kh_class *k;
	uint32_t *to;
};

static int by_key(const void *a, const void *b)
{
	const kh_class *x = ((const struct ref *)a)->k, *y = ((const struct ref *)b)->k;

	for (int i = 0; i < KH_CANDIDATES; i++)
		if (x->species[i] != y->species[i])
			return x->species[i] < y->species[i] ? -1 : 1;
	for (int i = 0; i < KH_CANDIDATES; i++)
		if (x->drop[i] != y->drop[i])
			return x->drop[i] < y->drop[i] ? -1 : 1;
	if (x->cell != y->cell)
		return x->cell < y->cell ? -1 : 1;
	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	return 2 * x->located + x->enough - 2 * y->located - y->enough;
}

static int add_sorted(kh_classes *sum, const struct ref *ref, size_t n, kh_err *err)
{
	int rc = kh_grow((void **)&sum->at, &sum->cap, n, sizeof *sum->at, err);

	for (size_t i = 0; i < n && !rc; i++) {
		if (i == 0 || by_key(&ref[i - 1], &ref[i]) != 0)
			sum->at[sum->n++] = *ref[i].k;
		else
			sum->at[sum->n - 1].many += ref[i].k->many;
		*ref[i].to = (uint32_t)sum->n - 1;
	}
	return rc;
}

int kh_classes_join(kh_classes *sum, const kh_classes *c, unsigned n, uint32_t **to, kh_err *err)
{
	struct ref *ref;
	size_t total = 0, at = 0;
	int rc = KH_OK;

	for (unsigned i = 0; i < n; i++) {
		total += c[i].n;
		for (uint32_t t = 0; t < sum->n_taxa; t++)
			sum->direct[t] += c[i].direct[t];
		for (uint32_t x = 0; x <= KH_N_MOST; x++)
			sum->many[x] += c[i].many[x];
	}
	ref = kh_array(total, sizeof *ref, err);
	if (!ref)
		return KH_ENOMEM;
	for (unsigned i = 0; i < n && !rc; i++) {
		to[i] = kh_array(c[i].n, sizeof *to[i], err);
		rc = to[i] ? KH_OK : KH_ENOMEM;
		for (size_t j = 0; j < c[i].n && !rc; j++)
			ref[at++] = (struct ref) { &c[i].at[j], &to[i][j] };
	}
	if (!rc) {
		qsort(ref, total, sizeof *ref, by_key);
		rc = add_sorted(sum, ref, total, err);
	}
	free(ref);
	return rc;
}
