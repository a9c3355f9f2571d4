/* classes.c - counts of classes of fragments */
#include <config.h>
#include "sample/classes.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

enum {
	FIRST_SLOTS = 1024,
	TOGETHER = 32           /* fragments whose classes are fetched at a time */
};

void kh_class_least(const kh_rule *r, uint32_t least[32])
{
	for (int i = 0; i < 32; i++)
		least[i] = r->minima[i] > 2 ? r->minima[i] : 2;
}

int kh_classes_init(kh_classes *c, uint32_t n_taxa, kh_err *err)
{
	*c = (kh_classes) { .mask = FIRST_SLOTS - 1, .n_taxa = n_taxa };
	c->slot = kh_array(FIRST_SLOTS, sizeof *c->slot, err);
	return c->slot ? KH_OK : KH_ENOMEM;
}

void kh_classes_clear(kh_classes *c)
{
	free(c->at);
	free(c->slot);
	*c = (kh_classes) { .at = NULL };
}

static bool same(const kh_class *a, const kh_class *b)
{
	return memcmp(a, b, KH_CLASS_KEY) == 0;
}

/* Makes a table of `size` slots and enters all classes. */
static int make_slots(kh_classes *c, size_t size, kh_err *err)
{
	uint32_t *slot = kh_array(size, sizeof *slot, err);

	if (!slot)
		return KH_ENOMEM;
	for (size_t i = 0; i < c->n; i++) {
		size_t at = kh_class_mix(&c->at[i]) & (size - 1);

		while (slot[at])
			at = (at + 1) & (size - 1);
		slot[at] = (uint32_t)i + 1;
	}
	free(c->slot);
	c->slot = slot;
	c->mask = size - 1;
	return KH_OK;
}

/* Finds the place of a class, which is added if it is new. mix: kh_class_mix of it. */
static int find(kh_classes *c, const kh_class *k, uint64_t mix, uint32_t *index, kh_err *err)
{
	size_t at = mix & c->mask;
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
	c->at[c->n] = *k;
	c->at[c->n++].many = 0;
	c->slot[at] = (uint32_t)c->n;
	return 2 * c->n > c->mask ? make_slots(c, 2 * (c->mask + 1), err) : KH_OK;
}

/* A fragment whose class is to be found. */
struct wanted {
	kh_class key;
	uint64_t mix;
	size_t fragment;
};

static void describe(struct wanted *w, const kh_class_rule *r, const kh_call *call,
		     const kh_candidates *cand, uint32_t *target)
{
	const uint32_t best = kh_class_best(cand);
	bool located = false;

	if (best != KH_NO_TAXON) {
		*target = kh_bins_target(r->bins, cand->bin);
		located = r->tree->species[r->bins->taxon[*target]] == best;
	}
	w->key = kh_class_make(r->rule, call, cand, located);
	w->mix = kh_class_mix(&w->key);
}

/* Counts the fragments in w. */
static int find_all(kh_classes *c, const struct wanted *w, size_t n, kh_class_of *of, kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = 0; i < n; i++) {
		const uint32_t slot = c->slot[w[i].mix & c->mask];

		if (slot)
			__builtin_prefetch(&c->at[slot - 1]);
	}
	for (size_t i = 0; i < n && !rc; i++) {
		uint32_t *index = &of[w[i].fragment].index;

		rc = find(c, &w[i].key, w[i].mix, index, err);
		if (!rc)
			c->at[*index].many++;
	}
	return rc;
}

int kh_classes_add(kh_classes *c, const kh_class_rule *r, const kh_call *call,
		   const kh_candidates *cand, size_t n, kh_class_of *of, kh_err *err)
{
	struct wanted w[TOGETHER];
	size_t wanted = 0;
	int rc = KH_OK;

	for (size_t i = 0; i < n && !rc; i++) {
		of[i] = (kh_class_of) { KH_NO_CLASS, 0 };
		if (kh_has_class(r->rule, &call[i], &cand[i])) {
			describe(&w[wanted], r, &call[i], &cand[i], &of[i].target);
			__builtin_prefetch(&c->slot[w[wanted].mix & c->mask]);
			w[wanted++].fragment = i;
			c->many[call[i].features]++;
		}
		if (wanted == TOGETHER) {
			rc = find_all(c, w, wanted, of, err);
			wanted = 0;
		}
	}
	return rc ? rc : find_all(c, w, wanted, of, err);
}

/* --- all of them ------------------------------------------------------------------ */
/* One of the classes that are joined, and where its place is to be noted.  They are put in order by
 * their first species, and then by the mix of their keys: nearly always one comparison tells them
 * apart. */
struct ref {
	uint64_t order;
	const kh_class *k;
	uint32_t *to;
};

static uint64_t order_of(const kh_class *k)
{
	return (uint64_t)k->species[0] << 32 | kh_class_mix(k) >> 32;
}

static int by_order(const void *a, const void *b)
{
	const struct ref *x = a, *y = b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return memcmp(x->k, y->k, KH_CLASS_KEY);
}

/* Each thread joins the classes of a range of the order, so parts that are in order, one behind
 * the other, are in order. */
struct part {
	uint64_t from;                  /* up to that of the next part */
	struct ref *ref;
	size_t n, cap;
	size_t classes;                 /* different ones */
	size_t first;                   /* their place among all parts */
};

struct joining {
	kh_classes *sum;
	const kh_classes *c;
	unsigned n;
	uint32_t **to;
	struct part *part;              /* parts, and one where nothing is */
	unsigned parts;
	size_t total;
};

/* Parts of about as many classes; mixes are spread evenly. */
static int cut_parts(struct joining *x, kh_err *err)
{
	uint64_t *many = kh_array(x->sum->n_taxa, sizeof *many, err), so_far = 0;
	unsigned p = 1;

	if (!many)
		return KH_ENOMEM;
	for (unsigned i = 0; i < x->n; i++)
		for (size_t j = 0; j < x->c[i].n; j++)
			many[x->c[i].at[j].species[0]]++;
	for (uint32_t t = 0; t < x->sum->n_taxa; so_far += many[t++])
		for (; p < x->parts; p++) {
			const uint64_t before = (uint64_t)x->total * p / x->parts;

			if (before >= so_far + many[t])
				break;
			x->part[p].from = (uint64_t)t << 32 | ((before - so_far) << 32) / many[t];
		}
	for (; p <= x->parts; p++)
		x->part[p].from = UINT64_MAX;
	free(many);
	return KH_OK;
}

static int gather_part(struct joining *x, struct part *p, kh_err *err)
{
	const uint64_t from = p->from, end = p[1].from;
	int rc = kh_grow((void **)&p->ref, &p->cap, x->total / x->parts, sizeof *p->ref, err);

	for (unsigned i = 0; i < x->n; i++)
		for (size_t j = 0; j < x->c[i].n && !rc; j++) {
			const kh_class *k = &x->c[i].at[j];
			uint64_t order;

			/* most are of other parts, which shows without a mix */
			if (k->species[0] < from >> 32 || k->species[0] > end >> 32)
				continue;
			order = order_of(k);
			if (order < from || order >= end)
				continue;
			rc = kh_grow((void **)&p->ref, &p->cap, p->n + 1, sizeof *p->ref, err);
			if (!rc)
				p->ref[p->n++] = (struct ref) { order, k, &x->to[i][j] };
		}
	return rc;
}

static bool is_new(const struct part *p, size_t i)
{
	return i == 0 || p->ref[i].order != p->ref[i - 1].order ||
	       !same(p->ref[i].k, p->ref[i - 1].k);
}

static int sort_part(void *arg, unsigned id, kh_err *err)
{
	struct joining *x = arg;
	struct part *p = &x->part[id];
	int rc = gather_part(x, p, err);

	if (rc)
		return rc;
	if (p->n > 1)
		qsort(p->ref, p->n, sizeof *p->ref, by_order);
	for (size_t i = 0; i < p->n; i++)
		p->classes += is_new(p, i);
	return KH_OK;
}

static int place_part(void *arg, unsigned id, kh_err *err)
{
	struct joining *x = arg;
	const struct part *p = &x->part[id];
	size_t at = p->first;

	(void)err;
	for (size_t i = 0; i < p->n; i++) {
		const struct ref *r = &p->ref[i];

		if (is_new(p, i))
			x->sum->at[at++] = *r->k;
		else
			x->sum->at[at - 1].many += r->k->many;
		*r->to = (uint32_t)(at - 1);
	}
	return KH_OK;
}

/* Numbers that are no classes, and room for the places of those that are. */
static int add_up(struct joining *x, kh_err *err)
{
	for (unsigned i = 0; i < x->n; i++) {
		for (uint32_t f = 0; f <= KH_N_MOST; f++)
			x->sum->many[f] += x->c[i].many[f];
		x->total += x->c[i].n;
		x->to[i] = kh_array(x->c[i].n, sizeof **x->to, err);
		if (!x->to[i])
			return KH_ENOMEM;
	}
	return KH_OK;
}

/* Room for all parts in one, and where each begins. */
static int line_up(struct joining *x, kh_err *err)
{
	size_t n = 0;
	int rc;

	for (unsigned i = 0; i < x->parts; i++) {
		x->part[i].first = n;
		n += x->part[i].classes;
	}
	rc = kh_grow((void **)&x->sum->at, &x->sum->cap, n, sizeof *x->sum->at, err);
	x->sum->n = rc ? 0 : n;
	return rc;
}

int kh_classes_join(kh_classes *sum, const kh_classes *c, unsigned n, uint32_t **to, kh_team *team,
		    kh_err *err)
{
	struct joining x = { .sum = sum, .c = c, .n = n, .to = to, .parts = kh_team_size(team) };
	int rc;

	x.part = kh_array((size_t)x.parts + 1, sizeof *x.part, err);
	rc = x.part ? add_up(&x, err) : KH_ENOMEM;
	if (!rc)
		rc = cut_parts(&x, err);
	if (!rc)
		rc = kh_team_run(team, sort_part, &x, err);
	if (!rc)
		rc = line_up(&x, err);
	if (!rc)
		rc = kh_team_run(team, place_part, &x, err);
	for (unsigned i = 0; i < x.parts && x.part; i++)
		free(x.part[i].ref);
	free(x.part);
	return rc;
}
