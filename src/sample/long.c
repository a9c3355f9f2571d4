/*
 * long.c - the identity of species whose fragments are long
 *
 * A long read lacks k-mers because of its errors or of its strain's divergence.  The qualities of
 * the reads, if there are any, give the errors.  Besides, errors are about the same in all reads of
 * a sample.  So the share that the species with the best reads lacks is taken for errors, if it is
 * less than qualities say, and what other species lack beyond it for divergence.  A long fragment
 * has many k-mers, so its share is precise, and a median does what mixtures do for short ones.
 */
#include <config.h>
#include "sample/model_in.h"

#include "sample/logs.h"

/* In 1/1000. */
enum {
	THERE = 918,            /* the identity that half of a strain's fragments have ... */
	WORST = 880,            /* and nearly all, with their errors */
	/* beside those of a relative: what some of them have, and the least of a strain's */
	BESIDE = 970,
	PART = 5,               /* these some are one of so many */
	/* the least of reads with no more errors than any of today's have */
	READS = 900
};

/* The long fragments of a species by share of features found. */
typedef struct spectrum {
	uint64_t many[KH_SHARES], total;        /* in 1/256 */
} spectrum;

static spectrum spectrum_of(const kh_modelling *w, uint32_t i)
{
	uint64_t many[KH_CELLS];
	spectrum s = { .total = 0 };

	kh_many_of(w, i, many);
	for (uint32_t j = 0; j < KH_SHARES; j++)
		s.total += s.many[j] = many[KH_LONG * KH_SHARES + j];
	return s;
}

/* The share, in 1/256 of a 32th, that `rank` fragments are below, at least 1. */
static uint64_t share_at(const spectrum *s, uint64_t rank)
{
	for (uint32_t j = 0; j < KH_SHARES; j++) {
		if (rank < s->many[j])
			return 256 * j + 256 * rank / s->many[j] + 1;
		rank -= s->many[j];
	}
	return 256 * KH_SHARES;
}

/* How many fragments have less than a share. */
static uint64_t below(const spectrum *s, uint64_t share)
{
	const uint64_t j = share >> 8;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < j && i < KH_SHARES; i++)
		sum += s->many[i];
	return j < KH_SHARES ? sum + (s->many[j] * (share & 255) >> 8) : sum;
}

static uint64_t root(uint64_t x)
{
	uint64_t r = 0;

	for (uint64_t bit = UINT64_C(1) << 31; bit > 0; bit >>= 1)
		r |= (r | bit) * (r | bit) <= x ? bit : 0;
	return r;
}

/* Of what has the share `best` at identity 1, the share at this identity, in 1/1000. */
static uint64_t share_of(uint32_t k, uint64_t best, uint32_t identity)
{
	return best * kh_exp2q(k * (kh_log2q(1000) - kh_log2q(identity))) >> 24;
}

/* The divergence that makes `share` of `best`: the nearest shape. */
static uint32_t shape_of(uint32_t k, uint64_t best, uint64_t share)
{
	const uint64_t loss = share < best ? kh_log2q(best) - kh_log2q(share) : 0;
	uint32_t x = 0;

	while (x + 1 < KH_JUNK) {
		const uint32_t a = 1000 - kh_divergence[x], b = 1000 - kh_divergence[x + 1];

		if (2 * loss < (uint64_t)k * (2 * kh_log2q(1000) - kh_log2q(a) - kh_log2q(b)))
			break;
		x++;
	}
	return x;
}

static bool is_judged(const kh_presence *p, const spectrum *s)
{
	return s->total >= KH_FEW && p->fit.total - s->total < KH_FEW;
}

/* What errors leave: the share of the sample's best species, its median less what that may be off,
 * if that is not less than qualities say. */
static uint64_t best_share(const kh_modelling *w)
{
	const uint64_t most = 256 * KH_SHARES, told = most * w->in->errors_leave >> 24,
		       least = share_of(kh_rule_counted(w->in->rule).k, most, READS);
	uint64_t best = told > least ? told : least;

	for (uint32_t i = 0; i < w->m->n; i++) {
		const spectrum s = spectrum_of(w, i);
		const uint64_t off = root(256 * s.total), half = s.total / 2;

		if (s.total >= KH_FEW && w->m->at[i].fit.own && !w->m->at[i].refuted) {
			const uint64_t share = share_at(&s, half > off ? half - off : 0);

			best = share > best ? share : best;
		}
	}
	return best;
}

static void judge(kh_presence *p, const spectrum *s, uint32_t k, uint64_t best)
{
	const uint64_t most = 256 * KH_SHARES, under = below(s, share_of(k, best, THERE)),
		       near = s->total - below(s, share_of(k, best, BESIDE));
	const bool alone = 2 * under <= s->total,
		   beside = !alone && near >= KH_FEW && PART * near >= s->total;
	const uint64_t from = beside ? under : 0,
		       own = s->total - (alone ? below(s, share_of(k, best, WORST)) : under),
		       median = share_at(s, from + (s->total - from) / 2);
	const uint32_t weight = (uint32_t)((own << 20) / s->total);

	p->by_long = true;
	p->fit.kind = KH_FIT_ONE;
	p->fit.own = p->fit.own && (alone || beside);
	p->fit.weak = false;
	p->fit.n = 2;
	p->fit.shape[0] = p->fit.low = shape_of(k, best, median);
	p->fit.high = shape_of(k, most, median);
	p->fit.shape[1] = KH_JUNK;
	p->fit.weight[0] = weight > 0 ? weight : 1;
	p->fit.weight[1] = KH_WEIGHT_ONE - weight;
}

void kh_judge_long(kh_modelling *w)
{
	const uint32_t k = kh_rule_counted(w->in->rule).k;
	const uint64_t best = best_share(w);

	w->least.strain = (uint32_t)((share_of(k, best, THERE) + 255) >> 8);
	for (uint32_t i = 0; i < w->m->n; i++) {
		const spectrum s = spectrum_of(w, i);

		if (is_judged(&w->m->at[i], &s))
			judge(&w->m->at[i], &s, k, best);
	}
}
