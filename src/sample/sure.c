/*
 * sure.c - how sure it is that a species is there; fragments that are few, but near
 *
 * A handful of fragments fits nothing, and beside those that chance brings they look like part of a
 * relative's.  But a relative's are called the species and are near the reference only here and
 * there.  So where half of those that are called it are near, these are its own, however few.
 */
#include <config.h>
#include "sample/model_in.h"

#include "sample/logs.h"

enum {
	NEAR = 980,             /* in 1/1000: an identity, with errors, that is near */
	FEW_SHAPE = 6,          /* the divergence of fragments that are few is taken to be this */
	/* what is sure: */
	SURE_READS = 10 * 256,
	SURE_WITHIN = 20,       /* its identity is known within so much, in 1/1000 */
	SURE_STRAIN = 70,       /* none of these is farther than a strain is */
	SURE_NEAR = 20,         /* and is at least as near */
	SURE_SHARE = KH_WEIGHT_ONE / 4 * 3      /* or so many fragments are explained */
};

/* The least share j of features found that is near. */
static uint32_t near_share(uint32_t k)
{
	const uint32_t part = kh_exp2q(k * (kh_log2q(1000) - kh_log2q(NEAR)));

	return (uint32_t)((uint64_t)part * KH_SHARES >> 24);
}

void kh_count_near(kh_work *w)
{
	const kh_classes *c = w->in->classes;
	const uint32_t *species = w->in->db->tax->species;
	const uint32_t least = near_share(kh_rule_counted(w->in->rule).k);

	for (size_t i = 0; i < c->n; i++) {
		const kh_class *k = &c->at[i];
		const uint32_t s = k->call == KH_NO_TAXON ? KH_NO_TAXON : species[k->call];
		kh_presence *p;

		if (s == KH_NO_TAXON || !w->place[s])
			continue;
		p = &w->m->at[w->place[s] - 1];
		p->called += k->many;
		/* what has other candidates may be an error away from these */
		p->near += k->cell % KH_SHARES >= least && k->species[1] == KH_NO_TAXON ? k->many
											: 0;
	}
}

static bool is_near(const kh_presence *p)
{
	return p->near > 0 && 2 * p->near >= p->called;
}

void kh_keep_near(kh_presence *p)
{
	kh_fit *f = &p->fit;
	const uint64_t near = p->near << 28, part = f->total > 0 ? near / f->total : 0;
	const uint32_t weight = part < KH_WEIGHT_ONE ? (uint32_t)part : KH_WEIGHT_ONE - 1;

	if (p->refuted || !is_near(p) || (p->verdict != KH_RELATIVE && p->verdict != KH_ECHO))
		return;
	p->verdict = KH_TOO_FEW;
	*f = (kh_fit) { .kind = KH_FIT_FEW, .own = true, .n = 2,
			.total = f->total, .many_long = f->many_long,
			.shape = { FEW_SHAPE, KH_JUNK },
			.weight = { weight, KH_WEIGHT_ONE - weight },
			.low = FEW_SHAPE, .high = FEW_SHAPE };
}

enum kh_confidence kh_confidence_of(const kh_presence *p)
{
	const kh_fit *f = &p->fit;
	const uint32_t from = kh_divergence[f->low], to = kh_divergence[f->high];

	if (p->verdict == KH_TOO_FEW)
		return is_near(p) ? KH_LOW : KH_NO_CONFIDENCE;
	if (p->verdict != KH_PRESENT && p->verdict != KH_DIVERGENT)
		return KH_NO_CONFIDENCE;
	if (kh_presence_own(p) < SURE_READS)
		return KH_LOW;
	/* of long ones errors make the interval wide */
	if (p->by_long)
		return p->verdict == KH_PRESENT && f->weight[0] >= SURE_SHARE ? KH_HIGH : KH_LOW;
	return !f->weak && to - from <= SURE_WITHIN && to <= SURE_STRAIN &&
			       (to <= SURE_NEAR || f->weight[0] >= SURE_SHARE)
		       ? KH_HIGH : KH_LOW;
}
