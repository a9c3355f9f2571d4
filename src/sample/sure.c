/*
 * sure.c - the confidence that a species is there; few fragments of high identity
 *
 * A handful of fragments is too few for a fit, and beside chance matches it looks like part of a
 * relative's.  But only some of a relative's fragments that are called the species have a high
 * identity.  So if half of the fragments called it have 98 % or more, these are its own, however
 * few; and so are fragments in several places that all have 95 % or more.  Copies of a fragment lie
 * in one place, and are judged as one fragment.
 */
#include <config.h>
#include "sample/model_in.h"

#include "sample/logs.h"

enum {
	NEAR = 980,             /* in 1/1000: least identity, with errors, of near fragments, */
	CLOSE = 950,            /* and of close ones */
	FEW_PLACES = 5,         /* fragments in fewer intervals, */
	COPIES = 16,            /* with no more than so many in each, are copies */
	FEW_SHAPE = 6,          /* the shape assumed of few fragments */
	/* high confidence: */
	SURE_READS = KH_SURE_READS * 256 - 128, /* to the nearest fragment */
	SURE_WITHIN = 20,       /* its identity is known within so much, in 1/1000 */
	SURE_STRAIN = 70,       /* none of these is farther than a strain is */
	SURE_NEAR = 20,         /* and is at least as near */
	SURE_SHARE = KH_WEIGHT_ONE / 4 * 3      /* or so many fragments are explained */
};

/* The least share j of features found of such an identity. */
static uint32_t share_at(uint32_t k, uint32_t identity)
{
	const uint32_t part = kh_exp2q(k * (kh_log2q(1000) - kh_log2q(identity)));

	return (uint32_t)((uint64_t)part * KH_SHARES >> 24);
}

void kh_near_begin(kh_modelling *w)
{
	const uint32_t k = kh_rule_counted(w->in->rule).k;

	w->least.near = share_at(k, NEAR);
	w->least.close = share_at(k, CLOSE);
}

void kh_count_called(kh_modelling *w, const kh_class *k)
{
	const uint32_t s = k->call == KH_NO_TAXON ? KH_NO_TAXON
						  : w->in->db->tax->species[k->call],
		       at = s == KH_NO_TAXON ? 0 : w->place[s], share = k->cell % KH_SHARES;
	kh_presence *p = at ? &w->m->at[at - 1] : NULL;

	if (!p)
		return;
	kh_add(&p->called, k->many);
	if (k->cell / KH_SHARES == KH_LONG)
		kh_add(&w->told_many[at - 1], k->many);
	/* what has other candidates may be an error away from these */
	if (k->species[1] == KH_NO_TAXON && share >= w->least.near)
		kh_add(&p->near, k->many);
	if (k->species[1] == KH_NO_TAXON && share >= w->least.close)
		kh_add(&p->close, k->many);
}

static bool is_near(const kh_presence *p)
{
	return (p->near > 0 && 2 * p->near >= p->called) ||
	       (p->found > 1 && p->called > 0 && p->close == p->called);
}

/* Has it copies of a few fragments? */
static bool has_copies(const kh_presence *p)
{
	return p->verdict == KH_NARROW && p->found < FEW_PLACES && p->counted <= COPIES * p->found;
}

void kh_keep_near(kh_presence *p)
{
	kh_fit *f = &p->fit;
	const uint64_t near = (p->near > 0 ? p->near : p->close) << 28,
		       part = f->total > 0 ? near / f->total : 0;
	const uint32_t weight = part < KH_WEIGHT_ONE ? (uint32_t)part : KH_WEIGHT_ONE - 1;

	if (p->refuted || !is_near(p) ||
	    (p->verdict != KH_RELATIVE && p->verdict != KH_ECHO && !has_copies(p)))
		return;
	p->verdict = KH_TOO_FEW;
	*f = (kh_fit) { .kind = KH_FIT_FEW, .own = true, .n = 2,
			.total = f->total, .many_long = f->many_long,
			.shape = { FEW_SHAPE, KH_JUNK },
			.weight = { weight, KH_WEIGHT_ONE - weight },
			.low = FEW_SHAPE, .high = FEW_SHAPE };
}

/* Are nearly all that were called it near, in many places?  Then what names it besides, but was
 * called nothing, or something else, does not matter. */
static bool calls_are_near(const kh_presence *p)
{
	return p->found >= KH_SURE_READS && 4 * p->near >= 3 * p->called;
}

/* What keeps a species that is there from being sure. */
static enum kh_doubt doubt_of(const kh_presence *p)
{
	const kh_fit *f = &p->fit;
	const uint32_t from = kh_divergence[f->low], to = kh_divergence[f->high];

	if (kh_presence_different(p) < SURE_READS)
		return KH_DOUBT_READS;
	/* of long ones errors make the confidence interval wide */
	if (p->by_long && p->verdict != KH_PRESENT)
		return KH_DOUBT_FAR;
	if (f->weak && !calls_are_near(p))
		return KH_DOUBT_SHARE;
	if (!p->by_long && to - from > SURE_WITHIN)
		return KH_DOUBT_IDENTITY;
	if (!p->by_long && to > SURE_STRAIN)
		return KH_DOUBT_FAR;
	return (p->by_long || to > SURE_NEAR) && f->weight[0] < SURE_SHARE ? KH_DOUBT_REST
									   : KH_NO_DOUBT;
}

void kh_judge_confidence(kh_presence *p)
{
	p->doubt = KH_NO_DOUBT;
	if (p->verdict == KH_TOO_FEW) {
		p->confidence = is_near(p) ? KH_LOW : KH_NO_CONFIDENCE;
	} else if (kh_presence_is_there(p)) {
		p->doubt = doubt_of(p);
		p->confidence = p->doubt ? KH_LOW : KH_HIGH;
	} else {
		p->confidence = KH_NO_CONFIDENCE;
	}
}
