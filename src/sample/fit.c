/* fit.c - mixtures of shapes by expectation maximisation, in integers */
#include <config.h>
#include "sample/fit.h"

#include <string.h>
#include "sample/logs.h"

enum {
	FEW_SHAPE = 6,          /* and the divergence is taken to be this */
	ROUNDS = 60,
	ROUNDS_TRIED = 8,       /* rounds for the mixtures that are compared first */
	KEPT = 6,               /* of these mixtures get more rounds */
	APART = 40,             /* least distance of two divergences, in 1/1000 */
	STRAIN = 40,            /* the greatest of a strain beside a relative */
	RELATIVE = 70,          /* the least of the relative */
	BEYOND = 20,            /* by so much it is farther than what one would be */
	EVEN_RELATIVE = 60,     /* the least of a relative with an even shape */
	WIDER = 20,             /* least distance where both are one strain's */
	WIDE_LEAST = 50,        /* and the least of the farther one */
	PART = 20 * 256,        /* fragments that a part of a relative's must have */
	PERCENT = KH_WEIGHT_ONE / 100,
	LOGS_OFF = 8            /* logarithms of two densities may be off by so much */
};

/* Logarithms of likelihoods are in 1/2^24 bits. Two divergences must be better than one by 10
 * log2(e), and, as shapes are not exact, by 0.006 log2(e) for each fragment; by more where nearly
 * all are like the reference, as strains may have genes that differ more.  By 0.002 they must be
 * better than what is as flexible.  An interval ends where the loss is 1.92 log2(e). */
#define GAIN ((INT64_C(14427) << 24) / 1000)
#define GAIN_LIKELIER 567               /* for 1/256 of a fragment */
#define GAIN_EACH 1701                  /* the same of 0.018 */
#define GAIN_EACH_NEAR 4727             /* the same of 0.05 */
#define GAIN_EACH_ALIKE 189             /* of 0.002 */
#define NEAR ((INT64_C(2770) << 24) / 1000)

/* The cells that have fragments. */
struct cells {
	uint64_t many[KH_CELLS], total;
	uint64_t part[KH_CELLS];        /* the share of the total, in 1/2^20, rounded up */
	uint16_t f[KH_SHAPES][KH_CELLS];
	uint32_t mixed[KH_JUNK][KH_CELLS], least[KH_CELLS];     /* shapes.h */
	uint32_t n;
};

struct mixture {
	uint32_t shape[3], n;
	uint32_t weight[3];
	int64_t like;
};

static void gather(struct cells *c, const kh_shapes *s, const uint64_t many[KH_CELLS])
{
	c->n = 0;
	c->total = 0;
	for (uint32_t i = 0; i < KH_LONG * KH_SHARES; i++) {
		if (many[i] == 0)
			continue;
		c->many[c->n] = many[i];
		c->total += many[i];
		for (uint32_t x = 0; x < KH_SHAPES; x++)
			c->f[x][c->n] = s->f[x][i];
		for (uint32_t x = 0; x < KH_JUNK; x++)
			c->mixed[x][c->n] = s->mixed[x][i];
		c->least[c->n] = s->least[i];
		c->n++;
	}
	for (uint32_t i = 0; i < c->n; i++)
		c->part[i] = (c->many[i] << 20) / c->total + 1;
}

static uint64_t density(const struct cells *c, const struct mixture *m, uint32_t i)
{
	uint64_t sum = 0;

	for (uint32_t x = 0; x < m->n; x++)
		sum += (uint64_t)m->weight[x] * c->f[m->shape[x]][i];
	return sum;
}

/* Adds to sum[x] what the shape number x has of the fragments. */
static void add_shares(const struct cells *c, const struct mixture *m, uint64_t sum[3])
{
	/* of a mixture of two, no part is of a third */
	const uint16_t *const f[3] = { c->f[m->shape[0]], c->f[m->shape[1]], c->f[m->shape[2]] };
	const uint64_t w[3] = { m->weight[0], m->weight[1], m->n == 3 ? m->weight[2] : 0 };

	for (uint32_t i = 0; i < c->n; i++) {
		const uint64_t a = w[0] * f[0][i], b = w[1] * f[1][i], d = w[2] * f[2][i],
			       /* of no less than each part, whose share so has 63 bits */
			       inverse = (UINT64_C(1) << 63) / (a + b + d), many = c->many[i];

		sum[0] += (a * inverse >> 47) * many;
		sum[1] += (b * inverse >> 47) * many;
		sum[2] += (d * inverse >> 47) * many;
	}
}

/* Makes one round; false: nothing changes any more. */
static bool improve(const struct cells *c, struct mixture *m)
{
	uint64_t sum[3] = { 0 };
	bool changed = false;

	add_shares(c, m, sum);
	for (uint32_t x = 0; x < m->n; x++) {
		uint64_t w = (sum[x] << 4) / c->total;

		w = w > 0 ? w : 1;
		changed = changed || w != m->weight[x];
		m->weight[x] = (uint32_t)w;
	}
	return changed;
}

static void likelihood(const struct cells *c, struct mixture *m)
{
	m->like = 0;
	for (uint32_t i = 0; i < c->n; i++)
		m->like += (int64_t)c->many[i] *
			   ((int64_t)kh_log2q(density(c, m, i)) - (INT64_C(36) << 16));
}

static void run(const struct cells *c, struct mixture *m, int rounds)
{
	while (rounds-- > 0 && improve(c, m))
		;
	likelihood(c, m);
}

static struct mixture start(uint32_t a, uint32_t b)
{
	if (b == KH_JUNK)
		return (struct mixture) { { a, KH_JUNK }, 2, { 90 * PERCENT, 10 * PERCENT }, 0 };
	return (struct mixture) { { a, b, KH_JUNK },
				  3,
				  { 50 * PERCENT, 40 * PERCENT, 10 * PERCENT },
				  0 };
}

/* The KEPT most likely mixtures, in order; of equal ones those that came first. */
struct leaders {
	struct mixture m[KEPT + 1];
	uint32_t n;
};

static void enter(struct leaders *l, const struct mixture *m)
{
	uint32_t i = l->n;

	for (; i > 0 && l->m[i - 1].like < m->like; i--)
		l->m[i] = l->m[i - 1];
	l->m[i] = *m;
	l->n = l->n < KEPT ? l->n + 1 : KEPT;
}

static struct mixture finish(const struct cells *c, struct leaders *l)
{
	uint32_t best = 0;

	for (uint32_t i = 0; i < l->n; i++) {
		run(c, &l->m[i], ROUNDS - ROUNDS_TRIED);
		if (l->m[i].like > l->m[best].like)
			best = i;
	}
	return l->m[best];
}

/* The logarithm by which a mixture is likelier at most, for each fragment, of the mean of
 * density / g, in 1/2^43.  Weights sum to KH_WEIGHT_ONE and 3 at most; each logarithm may be off
 * by 4. */
static int64_t gain_of(uint64_t mean)
{
	return (int64_t)kh_log2q(mean) - (INT64_C(43) << 16) + 2 * LOGS_OFF;
}

/* The best one of one divergence and junk. */
struct single {
	struct mixture m;
	int64_t tried;                  /* its likelihood when mixtures were compared first */
};

/* Compares those of the shapes of a set, as bits. */
static struct single best_of(const struct cells *c, uint32_t set)
{
	struct leaders l = { .n = 0 };
	int64_t tried[KH_SHAPES];
	struct mixture m;

	for (uint32_t a = 0; a < KH_SHAPES; a++)
		if (set >> a & 1) {
			m = start(a, KH_JUNK);
			run(c, &m, ROUNDS_TRIED);
			tried[a] = m.like;
			enter(&l, &m);
		}
	m = finish(c, &l);
	return (struct single) { m, tried[m.shape[0]] };
}

/* A first guess of it: the likeliest one at first. */
static uint32_t guess(const struct cells *c)
{
	int64_t like[KH_JUNK];
	uint32_t best = 0;

	for (uint32_t a = 0; a < KH_JUNK; a++) {
		like[a] = 0;
		for (uint32_t i = 0; i < c->n; i++)
			like[a] += (int64_t)c->many[i] *
				   ((int64_t)c->mixed[a][i] - (INT64_C(36) << 16));
		best = like[a] > like[best] ? a : best;
	}
	return best;
}

/* Most shapes explain the fragments so much worse than a guess that they need not be tried.  With
 * the densities g of what the guess gave, another mixture is likelier by no more than the total
 * times the logarithm of the mean of its density / g (see bound); and that mean is one of the
 * means of its two parts, by weight.  So with a quarter of shape `a` or more it is no more than
 * that of all of it, or of a quarter; and with less, no more than what any shape could make.
 * Returns the shapes that may reach a likelihood. */
static uint32_t may_reach(const struct cells *c, const struct mixture *m, int64_t reached)
{
	uint64_t mean[KH_JUNK + 1] = { 0 };
	int64_t least = 0;
	uint32_t set = 0;

	for (uint32_t i = 0; i < c->n; i++) {
		const uint64_t inverse = (UINT64_C(1) << 63) / density(c, m, i) + 1;

		for (uint32_t a = 0; a <= KH_JUNK; a++)
			mean[a] += c->part[i] * ((c->f[a][i] * inverse >> 20) + 1);
		least += (int64_t)c->many[i] *
			 ((int64_t)c->least[i] - (INT64_C(36) << 16) + LOGS_OFF);
	}
	if (least >= reached)
		return (1 << KH_JUNK) - 1;
	for (uint32_t a = 0; a < KH_JUNK; a++) {
		const uint64_t quarter = mean[a] / 4 + mean[KH_JUNK] / 4 * 3 + 4;
		const int64_t gain = gain_of(mean[a] > quarter ? mean[a] : quarter);

		if (gain >= 65536 || m->like + gain * (int64_t)c->total >= reached)
			set |= UINT32_C(1) << a;
	}
	return set;
}

/* The best one of one divergence, of those that are kept if all are tried.  If those that may reach
 * the guess are no more than are kept, then the guess is, and what is likelier at first; only
 * another one, which is the best in the end, may have been passed over. */
static struct mixture best_strain(const struct cells *c)
{
	const uint32_t all = (1 << KH_JUNK) - 1, only = UINT32_C(1) << guess(c);
	const struct single first = best_of(c, only);
	const uint32_t set = only | may_reach(c, &first.m, first.tried < first.m.like
							   ? first.tried : first.m.like);

	if (set == only)
		return first.m;
	if (__builtin_popcount(set) <= KEPT) {
		const struct single best = best_of(c, set);

		if (best.m.shape[0] == first.m.shape[0] || best.tried >= first.tried)
			return best.m;
	}
	return best_of(c, all).m;
}

static bool is_own(const struct mixture *one)
{
	const uint32_t d = kh_divergence[one->shape[0]], w = one->weight[0];

	return (d <= 30 && w >= 8 * PERCENT) || (d <= 40 && w >= 35 * PERCENT) ||
	       (d <= 70 && w >= 80 * PERCENT);
}

/* What a seed led to has narrow shapes, so that more of a strain far from the reference is junk. */
static bool is_own_with_junk(const struct mixture *one)
{
	return kh_divergence[one->shape[0]] <= 70 && one->weight[0] >= 60 * PERCENT;
}

/* What two divergences are: */
enum kind {
	BESIDE,         /* a strain, and a relative farther than what one makes of both */
	BESIDE_EVEN,    /* a strain, and a relative with an even shape */
	ONE_WIDER,      /* a strain whose genes differ more than the shapes have it */
	NOTHING
};

static enum kind kind_of(const struct mixture *one, uint32_t a, uint32_t b)
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

static struct mixture best_pair(const struct cells *c, const struct mixture *one, enum kind kind)
{
	struct leaders l = { .n = 0 };

	for (uint32_t a = 0; a < KH_JUNK; a++)
		for (uint32_t b = a + 1; b < KH_SHAPES; b++) {
			struct mixture m = start(a, b);

			if (kind_of(one, a, b) != kind)
				continue;
			run(c, &m, ROUNDS_TRIED);
			enter(&l, &m);
		}
	return finish(c, &l);
}

/* Finds the divergences around the first one that explain the fragments nearly as well. */
static void find_interval(kh_fit *fit, const struct cells *c, const struct mixture *best)
{
	const uint32_t end = kh_divergence[best->shape[1]];

	fit->low = fit->high = best->shape[0];
	for (int step = -1; step <= 1; step += 2)
		for (uint32_t a = best->shape[0] + (uint32_t)step;
		     a < KH_JUNK && kh_divergence[a] < end; a += (uint32_t)step) {
			struct mixture m = *best;

			m.shape[0] = a;
			run(c, &m, ROUNDS_TRIED);
			if (m.like + NEAR < best->like)
				break;
			*(step < 0 ? &fit->low : &fit->high) = a;
		}
}

/* Most of its fragments are junk. */
static bool is_weak(const struct mixture *one)
{
	const uint32_t d = kh_divergence[one->shape[0]], w = one->weight[0];

	return w < 30 * PERCENT || (d > 30 && w < 50 * PERCENT);
}

/* Of two divergences: the first one is not the lesser part by far. */
static bool is_clear(const struct mixture *two)
{
	return two->weight[0] >= 10 * PERCENT;
}

/* Is `two` more likely than `other` by what it must be, with so much for 1/256 of a fragment? */
static bool gains(const struct cells *c, const struct mixture *two, const struct mixture *other,
		  int64_t each)
{
	return two->like - other->like > GAIN + each * (int64_t)c->total;
}

/* That, over one strain whose genes differ more. */
static bool gains_over_wider(const struct cells *c, const struct mixture *one,
			     const struct mixture *two)
{
	const struct mixture wider = best_pair(c, one, ONE_WIDER);

	return gains(c, two, &wider, GAIN_EACH_ALIKE);
}

/* That, over one divergence: at least `each`. */
static int64_t gain_over(const struct mixture *one, int64_t each)
{
	const bool near = kh_divergence[one->shape[0]] <= 10 && one->weight[0] >= 85 * PERCENT;

	return near ? GAIN_EACH_NEAR : each;
}

/* A lesser part is not believed beside what would be the species' own by itself. */
static bool has_part(const struct cells *c, const struct mixture *one, const struct mixture *two)
{
	return is_clear(two) || (!is_own(one) && c->total * two->weight[0] >> 20 >= PART);
}

/* Are there two, a strain and a relative?  Then these are *two.  Nothing else that is as flexible
 * may be nearly as likely: one with an even shape, or one strain whose genes differ more.
 * *likelier: two are likelier than one, whether they are believed or not. */
static bool find_pair(const struct cells *c, const struct mixture *one, struct mixture *two,
		      bool *likelier)
{
	const struct mixture even = best_of(c, ((1 << KH_SHAPES) - 1) >> KH_EVEN << KH_EVEN).m,
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

/* An upper bound of the likelihood of any mixture.  With densities g, any others are as likely as
 * the sum of many log2(g), and that of many log2(density / g); as the logarithm is concave, the
 * latter is at most the total times the logarithm of the mean of density / g, and that mean is
 * greatest for one shape alone, with all of the weight.  The bound is near if g fits well: it is of
 * the best single divergence, with a 64th for all others.  INT64_MAX stands for one that is not. */
static int64_t bound(const struct cells *c, const struct mixture *one)
{
	uint64_t weight[KH_SHAPES], mean[KH_SHAPES] = { 0 }, most = 0;
	int64_t like = 0;

	for (uint32_t x = 0; x < KH_SHAPES; x++)
		weight[x] = KH_WEIGHT_ONE / 64 / KH_SHAPES;
	for (uint32_t x = 0; x < one->n; x++)
		weight[one->shape[x]] += one->weight[x] - one->weight[x] / 64;
	for (uint32_t i = 0; i < c->n; i++) {
		uint64_t g = 0, inverse;

		for (uint32_t x = 0; x < KH_SHAPES; x++)
			g += weight[x] * c->f[x][i];
		inverse = (UINT64_C(1) << 63) / g + 1;
		/* f / g < 2^-9, as g has some of each shape; all that follows is rounded up */
		for (uint32_t x = 0; x < KH_SHAPES; x++)
			mean[x] += c->part[i] * ((c->f[x][i] * inverse >> 20) + 1);
		like += (int64_t)c->many[i] * ((int64_t)kh_log2q(g) - (INT64_C(36) << 16));
	}
	for (uint32_t x = 0; x < KH_SHAPES; x++)
		most = mean[x] > most ? mean[x] : most;
	const int64_t gain = gain_of(most);

	return gain < 65536 ? like + gain * (int64_t)c->total : INT64_MAX;
}

/* Could any mixture be taken in place of that of one divergence?  Most species are explained so
 * well by one that none could. */
static bool may_be_pair(const struct cells *c, const struct mixture *one)
{
	const int64_t each = gain_over(one, GAIN_EACH_ALIKE);

	return bound(c, one) > one->like + GAIN + each * (int64_t)c->total;
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
	struct cells c;
	struct mixture two;

	gather(&c, s, many);
	*fit = (kh_fit) { .kind = KH_FIT_FEW, .own = true, .n = 2,
			  .total = c.total + many_long, .many_long = many_long,
			  .shape = { FEW_SHAPE, KH_JUNK },
			  .weight = { KH_WEIGHT_ONE / 2, KH_WEIGHT_ONE / 2 },
			  .low = FEW_SHAPE, .high = FEW_SHAPE };
	if (c.total < KH_FEW)
		return;
	const struct mixture one = best_strain(&c);
	bool likelier = false;
	const bool pair = may_be_pair(&c, &one) && find_pair(&c, &one, &two, &likelier);
	const struct mixture m = pair ? two : one;

	fit->kind = pair ? KH_FIT_PAIR : KH_FIT_SINGLE;
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
	struct mixture m = start(fit->one_shape, KH_JUNK);
	uint32_t at = fit->one_shape;
	int64_t best = INT64_MIN, least;
	struct cells c;

	if (fit->kind != KH_FIT_FEW && fit->one_weight < KH_WEIGHT_EVEN) {
		gather(&c, s, many);
		m.weight[0] = fit->one_weight;
		m.weight[1] = KH_WEIGHT_ONE - fit->one_weight;
		likelihood(&c, &m);
		least = m.like - NEAR;
		m.weight[0] = KH_WEIGHT_EVEN;
		m.weight[1] = KH_WEIGHT_ONE - KH_WEIGHT_EVEN;
		for (uint32_t a = 0; a < KH_JUNK; a++) {
			m.shape[0] = a;
			likelihood(&c, &m);
			at = m.like > best ? a : at;
			best = m.like > best ? m.like : best;
		}
		if (best < least)
			return false;
	}
	*shape = at;
	return fit->kind != KH_FIT_FEW;
}
