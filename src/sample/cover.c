/*
 * cover.c - over how much of its genome what is a species' alone is spread
 *
 * Reads of a strain of the species fall everywhere on its genome.  Of those of a relative that is
 * not in the database some fit the species alone, but only where the relative is like it; or few
 * do, as they fit others as well.  So of its short fragments those are looked at that have it alone
 * as their best, a place in it, and as many k-mers there as are no chance: n of them.  Genomes are
 * cut into blocks in which one and a half to three of them should lie, where empty blocks tell
 * most; if the species lies over the share a of G blocks, the blocks with any are
 *
 *	a G mean of (1 - e^(-n u / (U a G)))
 *
 * over blocks that the text was asked about (probe.c), of whose perfect reads the share u is the
 * species' alone, and U is the mean of u.  So what nothing tells from sisters is not missed, and it
 * does not matter how many reads there are.  And of all the fragments that the species has by
 * sharing, U should be so: the part of these that is there.  Besides, what is a species' own leads:
 * as many of its fragments as of the perfect ones have no other species near the best.  Of what is
 * about as far from several species, now one and now another is the best, but few lead.
 */
#include <config.h>
#include "sample/model_in.h"

#include <stdlib.h>
#include "base/mem.h"
#include "sample/logs.h"

/* In 1/1024, but for fragments. */
enum {
	CLEAR = 6,              /* of 32 k-mers so many must be found */
	READS_LEAST = 40,       /* fragments that tell something */
	SOME = 52,              /* of perfect reads so many must be alone: .05 */
	MOST = 4 * KH_COVER_ONE,
	OFF = 686,              /* .67: the standard error, times the root of the fragments */
	/* cover times part of what is there: .66.  Chosen on worlds of close species (ties.py,
	 * seeds 5 and 21), where 47 of 48 that are present have .84 and more, and .66 and .72 do
	 * the same */
	THERE = 676,
	/* those of its alone that lead, of as many as of its own, .56: on the same worlds present
	 * ones have .68 and more, 21 of 26 absent ones less; real strains and worlds of
	 * bench/worlds .87 and more */
	LEAD = 573,
	/* what cannot be told from its reference lacks nothing but genes: a divergence, and so many
	 * perfect reads that are alone, .9 */
	AS_IT_IS = 3,
	TOLD = 922,
	/* cover of a strain that is far from its reference, .86: B. subtilis has .89, S. mitis on
	 * S. pneumoniae .79; its divergence, and the weight of one of these alone */
	ALL_OVER = 881,
	FAR = 85,
	ONE_OF = KH_WEIGHT_ONE / 10 * 8,
	/* the cover, .75, divergence and weight of one strain whose fragments are all its own; what
	 * is its reference has no genes that are far from it */
	STEADY = 768,
	STEADY_FAR = 3,
	STEADY_OF = KH_WEIGHT_ONE / 10 * 7
};

/* --- how much ---------------------------------------------------------------------------- */
/* Counts the fragments that tell something, of each species. */
static void count(kh_work *w)
{
	const kh_classes *c = w->in->classes;

	for (size_t i = 0; i < c->n; i++) {
		const kh_class *k = &c->at[i];

		kh_cover *to;

		if (!k->located || k->cell / KH_SHARES == KH_LONG || k->cell % KH_SHARES < CLEAR)
			continue;
		to = &w->m->at[w->place[kh_class_alone(k)] - 1].cover;
		to->n += k->many;
		to->sole += k->species[1] == KH_NO_TAXON ? k->many : 0;
	}
}

/* A block is so many stretches, as a power of two, that 1.5 fragments or more should lie in it; but
 * there are four blocks at least. */
static void cut(kh_presence *p)
{
	kh_cover *c = &p->cover;

	while (c->n > 0 && 2 * (c->n << c->shift) < 3 * p->length && p->length >> c->shift > 4)
		c->shift++;
}

void kh_cover_begin(kh_work *w)
{
	count(w);
	for (uint32_t i = 0; i < w->m->n; i++)
		cut(&w->m->at[i]);
}

/* The share of the blocks with any, in 1/2^34, of a species that is all over the share a of them,
 * where a block has `depth` fragments, in 1/1024. */
static uint64_t hit(const kh_probe *q, uint64_t depth, uint64_t a)
{
	const uint32_t all = KH_PROBES * KH_PROBE_READS;
	uint64_t sum = 0;

	if (q->all_alone == 0)
		return a * (KH_EXP2_ONE - kh_exp2q(KH_LOG2_E * depth / a));
	const uint32_t blocks = all / q->reads;

	for (uint32_t j = 0; j < all; j += q->reads) {
		const uint32_t in_it = q->alone[j / KH_PROBE_READS] >> j % KH_PROBE_READS,
			       u = (uint32_t)__builtin_popcount(in_it & ((1u << q->reads) - 1));

		sum += KH_EXP2_ONE -
		       kh_exp2q(KH_LOG2_E * depth * blocks * u / (q->all_alone * a));
	}
	return a * sum / blocks;
}

/* The least share that as many blocks have any of. */
static uint32_t find_share(const kh_presence *p, const kh_probe *q, uint64_t found)
{
	const uint8_t shift = p->cover.shift;
	const uint64_t per = (p->cover.n << shift) * KH_COVER_ONE / p->length,
		       depth = per < 64 * KH_COVER_ONE ? per : 64 * KH_COVER_ONE,
		       is = ((found << shift << 20) / p->length) << 14;
	uint32_t below = 0, from = MOST;

	while (from - below > 1) {
		const uint32_t a = (below + from) / 2;

		*(hit(q, depth, a) < is ? &below : &from) = a;
	}
	return from;
}

static uint32_t root(uint64_t x)
{
	uint32_t r = 0;

	while ((uint64_t)(r + 1) * (r + 1) <= x)
		r++;
	return r;
}

/* Of all that the species has, and that is clear, n would be alone. */
static uint32_t find_part(const kh_work *w, uint32_t i)
{
	const kh_cover *c = &w->m->at[i].cover;
	uint64_t all = 0, part;

	for (uint32_t cell = 0; cell < KH_LONG * KH_SHARES; cell++)
		all += cell % KH_SHARES >= CLEAR ? w->many[i][cell] : 0;
	if (c->alone == 0 || all == 0)
		return 0;
	part = (c->n << 8) * KH_COVER_ONE / all * KH_COVER_ONE / c->alone;
	return part < UINT32_MAX ? (uint32_t)part : UINT32_MAX;
}

/* Of those that are its alone, so many lead: of as many as of perfect reads, if these are some. */
static uint32_t find_lead(const kh_cover *c, const kh_probe *q)
{
	const uint64_t all = KH_PROBES * KH_PROBE_READS;

	if (q->all_sole * KH_COVER_ONE < SOME * all)
		return KH_COVER_ONE;
	return (uint32_t)(c->sole * KH_COVER_ONE * q->all_alone / q->all_sole / c->n);
}

/* --- what follows ------------------------------------------------------------------------- */
static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* A strain beside a relative is not judged so: most of these are the relative's. */
static bool is_refuted(const kh_presence *p)
{
	const kh_cover *c = &p->cover;
	const bool as_it_is = kh_divergence[p->fit.one_shape] <= AS_IT_IS &&
			      p->fit.one_weight >> 4 >= KH_NEARLY_ALL && c->alone >= TOLD;
	const uint32_t share = least(c->share + c->off, KH_COVER_ONE);
	const bool there = share * least(c->part, KH_COVER_ONE) >= THERE * KH_COVER_ONE;

	return c->n >= READS_LEAST && c->alone >= SOME && !as_it_is &&
	       p->fit.kind != KH_FIT_PAIR && (!there || c->lead < LEAD);
}

int kh_cover_make(kh_work *w, kh_err *err)
{
	uint32_t *own = kh_array(w->m->n, sizeof *own, err);
	uint8_t *shift = kh_array(w->m->n, sizeof *shift, err);
	uint64_t *found = kh_array(w->m->n, sizeof *found, err);
	int rc = own && shift && found ? KH_OK : KH_ENOMEM;

	for (uint32_t i = 0; i < w->m->n && !rc; i++) {
		own[i] = UINT32_MAX << CLEAR;
		shift[i] = w->m->at[i].cover.shift;
	}
	if (!rc)
		rc = kh_search(w, own, shift, found, err);
	for (uint32_t i = 0; i < w->m->n && !rc; i++) {
		kh_presence *p = &w->m->at[i];

		if (p->cover.n == 0)
			continue;
		p->cover.alone =
			w->probe[i].all_alone * KH_COVER_ONE / (KH_PROBES * KH_PROBE_READS);
		p->cover.share = find_share(p, &w->probe[i], found[i]);
		p->cover.off = root(OFF * OFF / p->cover.n);
		p->cover.part = find_part(w, i);
		p->cover.lead = find_lead(&p->cover, &w->probe[i]);
		p->refuted = is_refuted(p);
	}
	free(own);
	free(shift);
	free(found);
	return rc;
}

/* Does it lie over so much at least? */
static bool lies_over(const kh_presence *p, uint32_t share)
{
	return !p->by_long && p->cover.n >= READS_LEAST && p->cover.share >= share + p->cover.off;
}

void kh_cover_rescue(kh_presence *p)
{
	kh_fit *f = &p->fit;
	/* a strain with little beside what would be a relative */
	const bool little = f->kind == KH_FIT_PAIR && f->weight[0] < KH_WEIGHT_ONE / 20;

	if (p->refuted || f->kind == KH_FIT_FEW || (f->own && !little) || !lies_over(p, ALL_OVER) ||
	    kh_divergence[f->one_shape] > FAR || f->one_weight < ONE_OF)
		return;
	f->kind = KH_FIT_SINGLE;
	f->own = true;
	f->weak = false;
	f->n = 2;
	f->shape[0] = f->low = f->high = f->one_shape;
	f->shape[1] = KH_JUNK;
	f->weight[0] = f->one_weight;
	f->weight[1] = KH_WEIGHT_ONE - f->one_weight;
}

bool kh_cover_is_steady(const kh_presence *p)
{
	return (p->verdict == KH_PRESENT || p->verdict == KH_DIVERGENT) &&
	       p->fit.kind == KH_FIT_SINGLE && p->fit.weight[0] >= STEADY_OF &&
	       kh_divergence[p->fit.shape[0]] >= STEADY_FAR && lies_over(p, STEADY);
}
