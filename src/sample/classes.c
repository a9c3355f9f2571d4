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
struct ref {
	const kh_class *k;
	uint32_t was;
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

/* Each thread joins the classes whose first species is in a range of its own, so sorted parts, one
 * behind the other, are sorted.  Many threads have few different classes: they are joined first and
 * sorted then. */
struct part {
	uint32_t end;
	kh_classes all;
	size_t first;                   /* its place among all parts */
};

struct joining {
	kh_classes *sum;
	const kh_classes *c;
	unsigned n;
	uint32_t **to;
	struct part *part;              /* n */
};

/* Parts of about as many classes: species are told apart by number, which is no more than that. */
static int cut_parts(struct joining *x, kh_err *err)
{
	uint64_t *many = kh_array(x->sum->n_taxa, sizeof *many, err), total = 0, so_far = 0;
	unsigned p = 0;

	if (!many)
		return KH_ENOMEM;
	for (unsigned i = 0; i < x->n; i++)
		for (size_t j = 0; j < x->c[i].n; j++, total++)
			many[x->c[i].at[j].species[0]]++;
	for (uint32_t t = 0; t < x->sum->n_taxa; t++) {
		so_far += many[t];
		while (p + 1 < x->n && so_far * x->n > total * (p + 1))
			x->part[p++].end = t + 1;
	}
	while (p < x->n)
		x->part[p++].end = x->sum->n_taxa;
	free(many);
	return KH_OK;
}

/* Puts the classes of a part in order; where each has gone, to *now. */
static int sort_part(struct part *p, uint32_t **now, kh_err *err)
{
	const size_t n = p->all.n;
	struct ref *ref = kh_array(n, sizeof *ref, err);
	kh_class *at = kh_array(n, sizeof *at, err);
	int rc = (*now = kh_array(n, sizeof **now, err)) && ref && at ? KH_OK : KH_ENOMEM;

	for (size_t i = 0; i < n && !rc; i++)
		ref[i] = (struct ref) { &p->all.at[i], (uint32_t)i };
	if (!rc && n > 1)
		qsort(ref, n, sizeof *ref, by_key);
	for (size_t i = 0; i < n && !rc; i++) {
		at[i] = *ref[i].k;
		(*now)[ref[i].was] = (uint32_t)i;
	}
	free(ref);
	if (rc) {
		free(at);
		return rc;
	}
	free(p->all.at);
	p->all.at = at;
	return KH_OK;
}

static int join_part(void *arg, unsigned id, kh_err *err)
{
	struct joining *x = arg;
	struct part *p = &x->part[id];
	const uint32_t from = id ? p[-1].end : 0;
	uint32_t *now = NULL;
	int rc = KH_OK;

	for (unsigned i = 0; i < x->n; i++)
		for (size_t j = 0; j < x->c[i].n && !rc; j++) {
			const kh_class *k = &x->c[i].at[j];

			if (k->species[0] < from || k->species[0] >= p->end)
				continue;
			rc = find(&p->all, k, kh_class_mix(k), &x->to[i][j], err);
			if (!rc)
				p->all.at[x->to[i][j]].many += k->many;
		}
	if (!rc)
		rc = sort_part(p, &now, err);
	for (unsigned i = 0; i < x->n && !rc; i++)
		for (size_t j = 0; j < x->c[i].n; j++) {
			const uint32_t s = x->c[i].at[j].species[0];

			if (s >= from && s < p->end)
				x->to[i][j] = now[x->to[i][j]];
		}
	free(now);
	return rc;
}

/* Of its part to that of all. */
static int move_part(void *arg, unsigned id, kh_err *err)
{
	struct joining *x = arg;
	const struct part *p = &x->part[id];
	const uint32_t from = id ? p[-1].end : 0;

	(void)err;
	if (p->all.n)
		memcpy(x->sum->at + p->first, p->all.at, p->all.n * sizeof *p->all.at);
	for (unsigned i = 0; i < x->n; i++)
		for (size_t j = 0; j < x->c[i].n; j++) {
			const uint32_t s = x->c[i].at[j].species[0];

			if (s >= from && s < p->end)
				x->to[i][j] += (uint32_t)p->first;
		}
	return KH_OK;
}

static int each_part(struct joining *x, kh_worker_fn *fn, kh_monitor *m, kh_err *err)
{
	int rc = KH_OK;

	if (m)
		return kh_threads_run(m, x->n, fn, x, err);
	for (unsigned i = 0; i < x->n && !rc; i++)
		rc = fn(x, i, err);
	return rc;
}

/* Numbers that are no classes, and room for the places of those that are. */
static int add_up(struct joining *x, kh_err *err)
{
	int rc = KH_OK;

	for (unsigned i = 0; i < x->n && !rc; i++) {
		for (uint32_t f = 0; f <= KH_N_MOST; f++)
			x->sum->many[f] += x->c[i].many[f];
		x->to[i] = kh_array(x->c[i].n, sizeof **x->to, err);
		rc = x->to[i] ? kh_classes_init(&x->part[i].all, 0, err) : KH_ENOMEM;
	}
	return rc;
}

/* Room for all parts in one, and where each begins. */
static int line_up(struct joining *x, kh_err *err)
{
	size_t n = 0;
	int rc;

	for (unsigned i = 0; i < x->n; i++) {
		x->part[i].first = n;
		n += x->part[i].all.n;
	}
	rc = kh_grow((void **)&x->sum->at, &x->sum->cap, n, sizeof *x->sum->at, err);
	x->sum->n = rc ? 0 : n;
	return rc;
}

int kh_classes_join(kh_classes *sum, const kh_classes *c, unsigned n, uint32_t **to, kh_monitor *m,
		    kh_err *err)
{
	struct joining x = { sum, c, n, to, kh_array(n, sizeof *x.part, err) };
	int rc = x.part ? KH_OK : KH_ENOMEM;

	if (!rc)
		rc = add_up(&x, err);
	if (!rc)
		rc = cut_parts(&x, err);
	if (!rc)
		rc = each_part(&x, join_part, m, err);
	if (!rc)
		rc = line_up(&x, err);
	if (!rc)
		rc = each_part(&x, move_part, m, err);
	for (unsigned i = 0; i < n && x.part; i++)
		kh_classes_clear(&x.part[i].all);
	free(x.part);
	return rc;
}
