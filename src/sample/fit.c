/* fit.c - chooses between mixtures: one divergence, or a strain and a relative */
#include <config.h>
#include "sample/fit.h"

#include <string.h>

enum {
	FEW_SHAPE = 6,          /* the shape assumed of fewer than KH_FEW fragments */
	APART = 40,             /* least distance of two divergences, in 1/1000 */
	STRAIN = 40,            /* the greatest divergence of a strain beside a relative */
	RELATIVE = 70,          /* the least divergence of that relative */
	BEYOND = 20,            /* it is at least so much above the best single divergence */
	EVEN_RELATIVE = 60,     /* the least divergence of a relative with an even shape */
	WIDER = 20,             /* least distance of two divergences of one strain */
	WIDE_LEAST = 50,        /* and the least divergence of the farther one */
	PART = 20 * 256         /* least fragments, in 1/256, of a strain with a small weight */
};

/* Logarithms of likelihoods are in 1/2^24 bits. Two divergences must be better than one by 10
 * log2(e), and, as shapes are not exact, by 0.006 log2(e) for each fragment; by more where nearly
 * all are like the reference, as strains may have genes that differ more.  By 0.002 they must be
 * better than what is as flexible.  The confidence interval ends where the loss is 1.92 log2(e). */
#define GAIN ((INT64_C(14427) << 24) / 1000)
#define GAIN_LIKELIER 567               /* for 1/256 of a fragment */
#define GAIN_EACH 1701                  /* the same of 0.018 */
#define GAIN_EACH_NEAR 4727             /* the same of 0.05 */
#define GAIN_EACH_ALIKE 189             /* of 0.002 */
#define NEAR ((INT64_C(2770) << 24) / 1000)

static bool is_own(const kh_mixture *one)
{
	const uint32_t d = kh_divergence[one->shape[0]], w = one->weight[0];

	return (d <= 30 && w >= 8 * KH_PERCENT) || (d <= 40 && w >= 35 * KH_PERCENT) ||
	       (d <= 70 && w >= 80 * KH_PERCENT);
}

/* What a seed led to has narrow shapes, so that more of a strain far from the reference is junk. */
static bool is_own_with_junk(const kh_mixture *one)
{
	return kh_divergence[one->shape[0]] <= 70 && one->weight[0] >= 60 * KH_PERCENT;
}

/* What two divergences are: */
enum kind {
	BESIDE,         /* a strain, and a relative farther than what one makes of both */
	BESIDE_EVEN,    /* a strain, and a relative with an even shape */
	ONE_WIDER,      /* a strain whose genes differ more than the shapes have it */
	NOTHING
};

static enum kind kind_of(const kh_mixture *one, uint32_t a, uint32_t b)
{
	const uint32_t x = kh_divergence[a], y = kh_divergence[b],
		       beyond = is_own(one) ? kh_divergence[one->shape[0]] + BEYOND : 0;

	if (b == KH_JUNK || x > STRAIN)
		return NOTHING;
	if (b >= KH_EVEN)
		return y >= x + APART && y >= EVEN_RELATIVE ? BESIDE_EVEN : NOTHING;
	if (y >= x + APART && y >= RELATIVE && y >= beyond)
		return BESIDE;
	return y >= x + WIDER && y >= WIDE_LEAST ? ONE_WIDER : NOTHING;
}

static kh_mixture best_pair(const kh_cells *c, const kh_mixture *one, enum kind kind)
{
	kh_leaders l = { .n = 0 };

	for (uint32_t a = 0; a < KH_JUNK; a++)
		for (uint32_t b = a + 1; b < KH_SHAPES; b++) {
			kh_mixture m = kh_mixture_start(a, b);

			if (kind_of(one, a, b) != kind)
				continue;
			kh_mixture_run(c, &m, KH_ROUNDS_TRIED);
			kh_mixture_enter(&l, &m);
		}
	return kh_mixture_finish(c, &l);
}

/* Finds the divergences around the first one that explain the fragments nearly as well. */
static void find_interval(kh_fit *fit, const kh_cells *c, const kh_mixture *best)
{
	const uint32_t end = kh_divergence[best->shape[1]];

	fit->low = fit->high = best->shape[0];
	for (int step = -1; step <= 1; step += 2)
		for (uint32_t a = best->shape[0] + (uint32_t)step;
		     a < KH_JUNK && kh_divergence[a] < end; a += (uint32_t)step) {
			kh_mixture m = *best;

			m.shape[0] = a;
			kh_mixture_run(c, &m, KH_ROUNDS_TRIED);
			if (m.like + NEAR < best->like)
				break;
			*(step < 0 ? &fit->low : &fit->high) = a;
		}
}

/* Most of its fragments are junk. */
static bool is_weak(const kh_mixture *one)
{
	const uint32_t d = kh_divergence[one->shape[0]], w = one->weight[0];

	return w < 30 * KH_PERCENT || (d > 30 && w < 50 * KH_PERCENT);
}

/* Of two divergences: the first one is not the lesser part by far. */
static bool is_clear(const kh_mixture *two)
{
	return two->weight[0] >= 10 * KH_PERCENT;
}

/* Is `two` more likely than `other` by what it must be, with so much for 1/256 of a fragment? */
static bool gains(const kh_cells *c, const kh_mixture *two, const kh_mixture *other, int64_t each)
{
	return two->like - other->like > GAIN + each * (int64_t)c->total;
}

/* That, over one strain whose genes differ more. */
static bool gains_over_wider(const kh_cells *c, const kh_mixture *one, const kh_mixture *two)
{
	const kh_mixture wider = best_pair(c, one, ONE_WIDER);

	return gains(c, two, &wider, GAIN_EACH_ALIKE);
}

/* That, over one divergence: at least `each`. */
static int64_t gain_over(const kh_mixture *one, int64_t each)
{
	const bool near = kh_divergence[one->shape[0]] <= 10 && one->weight[0] >= 85 * KH_PERCENT;

	return near ? GAIN_EACH_NEAR : each;
}

/* A lesser part is not believed beside what would be the species' own by itself. */
static bool has_part(const kh_cells *c, const kh_mixture *one, const kh_mixture *two)
{
	return is_clear(two) || (!is_own(one) && c->total * two->weight[0] >> 20 >= PART);
}

/* Are there two, a strain and a relative?  Then these are *two.  Nothing else that is as flexible
 * may be nearly as likely: one with an even shape, or one strain whose genes differ more.
 * *likelier: two are likelier than one, whether they are believed or not. */
static bool find_pair(const kh_cells *c, const kh_mixture *one, kh_mixture *two, bool *likelier)
{
	const uint32_t even_shapes = ((1 << KH_SHAPES) - 1) >> KH_EVEN << KH_EVEN;
	const kh_mixture even = kh_mixture_single_of(c, even_shapes).m,
			 beside_even = best_pair(c, one, BESIDE_EVEN);

	*two = best_pair(c, one, BESIDE);
	*likelier = two->like - one->like > GAIN_LIKELIER * (int64_t)c->total;
	const bool is = gains(c, two, one, gain_over(one, GAIN_EACH)) &&
			gains(c, two, &even, GAIN_EACH_ALIKE) && has_part(c, one, two);
	const bool is_even = gains(c, &beside_even, one, gain_over(one, GAIN_EACH_ALIKE)) &&
			     gains(c, &beside_even, &even, GAIN_EACH_ALIKE) &&
			     has_part(c, one, &beside_even) &&
			     gains_over_wider(c, one, &beside_even);

	if (is_even && (!is || beside_even.like > two->like))
		*two = beside_even;
	return is || is_even;
}

/* Could any mixture be taken in place of that of one divergence?  Most species are explained so
 * well by one that none could. */
static bool may_be_pair(const kh_cells *c, const kh_mixture *one)
{
	const int64_t each = gain_over(one, GAIN_EACH_ALIKE);

	return kh_mixture_bound(c, one) > one->like + GAIN + each * (int64_t)c->total;
}

static uint64_t long_of(const uint64_t many[KH_CELLS])
{
	uint64_t sum = 0;

	for (uint32_t i = KH_LONG * KH_SHARES; i < KH_CELLS; i++)
		sum += many[i];
	return sum;
}

void kh_fit_make(kh_fit *fit, const kh_shapes *s, const uint64_t many[KH_CELLS])
{
	const uint64_t many_long = long_of(many);
	kh_cells c;
	kh_mixture two;

	kh_cells_gather(&c, s, many);
	*fit = (kh_fit) { .kind = KH_FIT_FEW, .own = true, .n = 2,
			  .total = c.total + many_long, .many_long = many_long,
			  .shape = { FEW_SHAPE, KH_JUNK },
			  .weight = { KH_WEIGHT_ONE / 2, KH_WEIGHT_ONE / 2 },
			  .low = FEW_SHAPE, .high = FEW_SHAPE };
	if (c.total < KH_FEW)
		return;
	const kh_mixture one = kh_mixture_single(&c);
	bool likelier = false;
	const bool pair = may_be_pair(&c, &one) && find_pair(&c, &one, &two, &likelier);
	const kh_mixture m = pair ? two : one;

	fit->kind = pair ? KH_FIT_TWO : KH_FIT_ONE;
	fit->own = pair || is_own(&one) || (!likelier && is_own_with_junk(&one));
	fit->weak = fit->own && (pair ? !is_clear(&m) : is_weak(&one));
	fit->n = m.n;
	fit->one_shape = one.shape[0];
	fit->one_weight = one.weight[0];
	memcpy(fit->shape, m.shape, sizeof m.shape);
	memcpy(fit->weight, m.weight, sizeof m.weight);
	find_interval(fit, &c, &m);
}

bool kh_fit_is_even(const kh_fit *fit, const kh_shapes *s, const uint64_t many[KH_CELLS],
		    uint32_t *shape)
{
	kh_mixture m = kh_mixture_start(fit->one_shape, KH_JUNK);
	uint32_t at = fit->one_shape;
	int64_t best = INT64_MIN, least;
	kh_cells c;

	if (fit->kind != KH_FIT_FEW && fit->one_weight < KH_WEIGHT_EVEN) {
		kh_cells_gather(&c, s, many);
		m.weight[0] = fit->one_weight;
		m.weight[1] = KH_WEIGHT_ONE - fit->one_weight;
		kh_mixture_likelihood(&c, &m);
		least = m.like - NEAR;
		m.weight[0] = KH_WEIGHT_EVEN;
		m.weight[1] = KH_WEIGHT_ONE - KH_WEIGHT_EVEN;
		for (uint32_t a = 0; a < KH_JUNK; a++) {
			m.shape[0] = a;
			kh_mixture_likelihood(&c, &m);
			at = m.like > best ? a : at;
			best = m.like > best ? m.like : best;
		}
		if (best < least)
			return false;
	}
	*shape = at;
	return fit->kind != KH_FIT_FEW;
}
