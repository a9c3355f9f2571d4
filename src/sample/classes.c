/* classes.c - counts of classes of fragments */
#include <config.h>
#include "sample/classes.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

enum {
	FIRST_SLOTS = 1024,
	SLOTS = 4,              /* for each class, at least */
	TOGETHER = 32,          /* fragments whose classes are prefetched at a time */
	LOOKED_AT = 64          /* classes sampled for each part, to make parts of equal size */
};

int kh_classes_init(kh_classes *c, kh_err *err)
{
	*c = (kh_classes) { .mask = FIRST_SLOTS - 1 };
	c->slot = kh_array(FIRST_SLOTS, sizeof *c->slot, err);
	return c->slot ? KH_OK : KH_ENOMEM;
}

void kh_classes_clear(kh_classes *c)
{
	free(c->at);
	free(c->slot);
	*c = (kh_classes) { .at = NULL };
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

/* A fragment whose class is to be found. */
struct wanted {
	const kh_candidates *cand;
	kh_class_rest rest;
	uint64_t mix;
	size_t fragment;
};

static void describe(struct wanted *w, const kh_class_rule *r, const kh_call *call,
		     const kh_candidates *cand, uint32_t *target)
{
	const uint32_t best = kh_class_best(cand);

	if (best != KH_NO_TAXON) {
		const uint32_t t = kh_match_target(r->text, cand->bin);

		if (r->text->tree.species[r->text->bins.taxon[t]] == best)
			*target = t;
	}
	w->cand = cand;
	w->rest = kh_class_rest_of(r->rule, call, *target != KH_NO_TARGET);
	w->mix = kh_class_mix_of(cand->species, cand->drop, &w->rest);
}

static inline bool is_of(const struct wanted *w, const kh_class *k)
{
	if (k->call != w->rest.call || k->cell != w->rest.cell ||
	    k->located != w->rest.located || k->enough != w->rest.enough ||
	    k->drop[KH_DROP_OF_MATES] != w->cand->drop[KH_DROP_OF_MATES])
		return false;
	for (int i = 0; i < KH_CANDIDATES; i++) {
		if (k->species[i] != w->cand->species[i] || k->drop[i] != w->cand->drop[i])
			return false;
		if (k->species[i] == KH_NO_TAXON)
			break;
	}
	return true;
}

/* Finds the place of the class of a fragment; it is added if it is new. */
static int find(kh_classes *c, const struct wanted *w, uint32_t *index, kh_err *err)
{
	size_t at = w->mix & c->mask;
	int rc = KH_OK;

	for (; c->slot[at]; at = (at + 1) & c->mask)
		if (is_of(w, &c->at[c->slot[at] - 1])) {
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
	c->at[c->n] = kh_class_make(w->cand, &w->rest);
	c->n++;
	c->slot[at] = (uint32_t)c->n;
	return SLOTS * c->n > c->mask ? make_slots(c, 2 * (c->mask + 1), err) : KH_OK;
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

		rc = find(c, &w[i], index, err);
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
		of[i] = (kh_class_of) { KH_NO_CLASS, KH_NO_TARGET };
		if (kh_has_class(&call[i], &cand[i])) {
			describe(&w[wanted], r, &call[i], &cand[i], &of[i].target);
			__builtin_prefetch(&c->slot[w[wanted].mix & c->mask]);
			w[wanted++].fragment = i;
			c->many[kh_class_counted(call[i].kmers)]++;
		}
		if (wanted == TOGETHER) {
			rc = find_all(c, w, wanted, of, err);
			wanted = 0;
		}
	}
	return rc ? rc : find_all(c, w, wanted, of, err);
}

/* --- all of them ------------------------------------------------------------------ */
/* One of the classes that are joined: class `at` of c[of].  They are put in order by their first
 * species, and then by the mix of their keys: nearly always one number tells them apart. */
struct ref {
	uint64_t order;
	uint32_t of, at;
};

/* Each thread joins the classes of a range of the order, so parts that are in order, one behind
 * the other, are in order.  Before, each finds out of which parts some of the classes are, and puts
 * refs to these there. */
struct part {
	uint64_t from;                  /* up to that of the next part */
	size_t first, n;                /* its refs among those of all */
	struct ref *ref;                /* in order */
	size_t *at;                     /* by part: where this thread puts the next ref to it */
	size_t classes;                 /* different ones */
	size_t place;                   /* of the first one among those of all parts */
};

struct joining {
	kh_classes *sum;
	const kh_classes *c;
	unsigned n;
	uint32_t **to;
	struct part *part;
	unsigned parts;
	size_t *at;                     /* parts times parts */
	size_t total;
	struct ref *ref;                /* total of them, and as many to sort them */
};

static uint64_t order_of(const kh_class *k)
{
	return (uint64_t)k->species[0] << 32 | kh_class_mix(k) >> 32;
}

static const kh_class *class_of(const struct joining *x, const struct ref *r)
{
	return &x->c[r->of].at[r->at];
}

/* Where the share of a thread begins among all classes. */
static size_t share_of(const struct joining *x, unsigned id)
{
	return (size_t)((uint64_t)x->total * id / x->parts);
}

/* Parts of about as many classes, by looking at some of these. */
static int cut_parts(struct joining *x, kh_err *err)
{
	const size_t step = x->total / ((size_t)LOOKED_AT * x->parts) + 1;
	uint64_t *some = kh_array(x->total / step + x->n, sizeof *some, err);
	size_t n = 0;

	if (!some)
		return KH_ENOMEM;
	for (unsigned i = 0; i < x->n && x->parts > 1; i++)
		for (size_t j = 0; j < x->c[i].n; j += step)
			some[n++] = order_of(&x->c[i].at[j]);
	qsort(some, n, sizeof *some, kh_by_u64);
	for (unsigned p = 1; p < x->parts; p++)
		x->part[p].from = n > 0 ? some[n * p / x->parts] : 0;
	free(some);
	return KH_OK;
}

static unsigned part_of(const struct joining *x, uint64_t order)
{
	unsigned low = 0, end = x->parts;

	while (end - low > 1) {
		const unsigned p = (low + end) / 2;

		*(x->part[p].from <= order ? &low : &end) = p;
	}
	return low;
}

/* Makes refs to a thread's share of the classes, behind the room for those in order, and counts
 * them by part. */
static int count_some(void *arg, unsigned id, kh_err *err)
{
	struct joining *x = arg;
	const size_t from = share_of(x, id), end = share_of(x, id + 1);
	size_t before = 0;

	(void)err;
	for (unsigned i = 0; i < x->n; before += x->c[i++].n) {
		const size_t last = end < before + x->c[i].n ? end : before + x->c[i].n;

		for (size_t j = from > before ? from : before; j < last; j++) {
			const uint32_t at = (uint32_t)(j - before);
			const uint64_t order = order_of(&x->c[i].at[at]);

			x->ref[x->total + j] = (struct ref) { order, i, at };
			x->part[id].at[part_of(x, order)]++;
		}
	}
	return KH_OK;
}

static int put_some(void *arg, unsigned id, kh_err *err)
{
	struct joining *x = arg;
	const struct ref *ref = x->ref + x->total;

	(void)err;
	for (size_t j = share_of(x, id); j < share_of(x, id + 1); j++)
		x->ref[x->part[id].at[part_of(x, ref[j].order)]++] = ref[j];
	return KH_OK;
}

/* Sorts refs by their order, eight bits at a time from the lowest; `room` is for as many.  Returns
 * which of the two has them then. */
static struct ref *sort_by_bytes(struct ref *ref, struct ref *room, size_t n)
{
	uint64_t differ = 0;

	for (size_t i = 1; i < n; i++)
		differ |= ref[i].order ^ ref[0].order;
	for (unsigned shift = 0; shift < 64; shift += 8) {
		struct ref *const from = ref;
		size_t at[256] = { 0 }, sum = 0;

		if (!(differ >> shift & 255))
			continue;
		for (size_t i = 0; i < n; i++)
			at[from[i].order >> shift & 255]++;
		for (int b = 0; b < 256; b++) {
			const size_t many = at[b];

			at[b] = sum;
			sum += many;
		}
		for (size_t i = 0; i < n; i++)
			room[at[from[i].order >> shift & 255]++] = from[i];
		ref = room;
		room = from;
	}
	return ref;
}

static int compare(const struct joining *x, const struct ref *a, const struct ref *b)
{
	return a->order != b->order ? (a->order < b->order ? -1 : 1)
				    : memcmp(class_of(x, a), class_of(x, b), KH_CLASS_KEY);
}

/* Makes the order complete where different classes have the same number, which is rare. */
static void sort_ties(const struct joining *x, struct ref *ref, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t j = i; j > 0 && compare(x, &ref[j], &ref[j - 1]) < 0; j--) {
			const struct ref swap = ref[j];

			ref[j] = ref[j - 1];
			ref[j - 1] = swap;
		}
}

static bool is_new(const struct joining *x, const struct part *p, size_t i)
{
	return i == 0 || compare(x, &p->ref[i], &p->ref[i - 1]) != 0;
}

static int sort_part(void *arg, unsigned id, kh_err *err)
{
	struct joining *x = arg;
	struct part *p = &x->part[id];
	struct ref *ref = x->ref + p->first;

	(void)err;
	p->ref = sort_by_bytes(ref, ref + x->total, p->n);
	sort_ties(x, p->ref, p->n);
	for (size_t i = 0; i < p->n; i++)
		p->classes += is_new(x, p, i);
	return KH_OK;
}

static int place_part(void *arg, unsigned id, kh_err *err)
{
	struct joining *x = arg;
	const struct part *p = &x->part[id];
	size_t at = p->place;

	(void)err;
	for (size_t i = 0; i < p->n; i++) {
		const struct ref *r = &p->ref[i];

		if (is_new(x, p, i))
			x->sum->at[at++] = *class_of(x, r);
		else
			x->sum->at[at - 1].many += class_of(x, r)->many;
		x->to[r->of][r->at] = (uint32_t)(at - 1);
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

/* Where the refs of each part begin, and those that each thread puts there. */
static void line_up_refs(struct joining *x)
{
	size_t sum = 0;

	for (unsigned p = 0; p < x->parts; p++) {
		x->part[p].first = sum;
		for (unsigned id = 0; id < x->parts; id++) {
			const size_t n = x->part[id].at[p];

			x->part[id].at[p] = sum;
			sum += n;
		}
		x->part[p].n = sum - x->part[p].first;
	}
}

/* Room for all classes in one, and where those of each part begin. */
static int line_up(struct joining *x, kh_err *err)
{
	size_t n = 0;

	for (unsigned i = 0; i < x->parts; i++) {
		x->part[i].place = n;
		n += x->part[i].classes;
	}
	x->sum->at = kh_array_large(n, sizeof *x->sum->at, err);
	if (!x->sum->at)
		return KH_ENOMEM;
	x->sum->n = x->sum->cap = n;
	return KH_OK;
}

int kh_classes_join(kh_classes *sum, const kh_classes *c, unsigned n, uint32_t **to, kh_team *team,
		    kh_err *err)
{
	struct joining x = { .sum = sum, .c = c, .n = n, .to = to, .parts = kh_team_size(team) };
	int rc;

	x.part = kh_array(x.parts, sizeof *x.part, err);
	x.at = kh_array((size_t)x.parts * x.parts, sizeof *x.at, err);
	rc = x.part && x.at ? add_up(&x, err) : KH_ENOMEM;
	if (!rc && !(x.ref = kh_array_large(2 * x.total, sizeof *x.ref, err)))
		rc = KH_ENOMEM;
	if (!rc)
		rc = cut_parts(&x, err);
	for (unsigned p = 0; p < x.parts && !rc; p++)
		x.part[p].at = x.at + (size_t)p * x.parts;
	if (!rc)
		rc = kh_team_run(team, count_some, &x, err);
	if (!rc)
		line_up_refs(&x);
	if (!rc)
		rc = kh_team_run(team, put_some, &x, err);
	if (!rc)
		rc = kh_team_run(team, sort_part, &x, err);
	if (!rc)
		rc = line_up(&x, err);
	if (!rc)
		rc = kh_team_run(team, place_part, &x, err);
	free(x.ref);
	free(x.at);
	free(x.part);
	return rc;
}
