/* mixture.c - mixtures of shapes by expectation maximisation, in integers */
#include <config.h>
#include "sample/mixture.h"

#include "sample/logs.h"

enum {
	ROUNDS = 60,
	LOGS_OFF = 8            /* logarithms of two densities may be off by so much */
};

void kh_cells_gather(kh_cells *c, const kh_shapes *s, const uint64_t many[KH_CELLS])
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

static uint64_t density(const kh_cells *c, const kh_mixture *m, uint32_t i)
{
	uint64_t sum = 0;

	for (uint32_t x = 0; x < m->n; x++)
		sum += (uint64_t)m->weight[x] * c->f[m->shape[x]][i];
	return sum;
}

/* Adds to sum[x] what the shape number x has of the fragments. */
static void add_shares(const kh_cells *c, const kh_mixture *m, uint64_t sum[3])
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
static bool improve(const kh_cells *c, kh_mixture *m)
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

void kh_mixture_likelihood(const kh_cells *c, kh_mixture *m)
{
	m->like = 0;
	for (uint32_t i = 0; i < c->n; i++)
		m->like += (int64_t)c->many[i] *
			   ((int64_t)kh_log2q(density(c, m, i)) - (INT64_C(36) << 16));
}

void kh_mixture_run(const kh_cells *c, kh_mixture *m, int rounds)
{
	while (rounds-- > 0 && improve(c, m))
		;
	kh_mixture_likelihood(c, m);
}

kh_mixture kh_mixture_start(uint32_t a, uint32_t b)
{
	if (b == KH_JUNK)
		return (kh_mixture) { { a, KH_JUNK }, 2, { 90 * KH_PERCENT, 10 * KH_PERCENT }, 0 };
	return (kh_mixture) {
		{ a, b, KH_JUNK }, 3, { 50 * KH_PERCENT, 40 * KH_PERCENT, 10 * KH_PERCENT }, 0
	};
}

void kh_mixture_enter(kh_leaders *l, const kh_mixture *m)
{
	uint32_t i = l->n;

	for (; i > 0 && l->m[i - 1].like < m->like; i--)
		l->m[i] = l->m[i - 1];
	l->m[i] = *m;
	l->n = l->n < KH_KEPT ? l->n + 1 : KH_KEPT;
}

kh_mixture kh_mixture_finish(const kh_cells *c, kh_leaders *l)
{
	uint32_t best = 0;

	for (uint32_t i = 0; i < l->n; i++) {
		kh_mixture_run(c, &l->m[i], ROUNDS - KH_ROUNDS_TRIED);
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

kh_single kh_mixture_single_of(const kh_cells *c, uint32_t set)
{
	kh_leaders l = { .n = 0 };
	int64_t tried[KH_SHAPES];
	kh_mixture m;

	for (uint32_t a = 0; a < KH_SHAPES; a++)
		if (set >> a & 1) {
			m = kh_mixture_start(a, KH_JUNK);
			kh_mixture_run(c, &m, KH_ROUNDS_TRIED);
			tried[a] = m.like;
			kh_mixture_enter(&l, &m);
		}
	m = kh_mixture_finish(c, &l);
	return (kh_single) { m, tried[m.shape[0]] };
}

/* A first guess of the best one: the likeliest one at first. */
static uint32_t guess(const kh_cells *c)
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
 * times the logarithm of the mean of its density / g (see kh_mixture_bound); and that mean is one
 * of the means of its two parts, by weight.  So with a quarter of shape `a` or more it is no more
 * than that of all of it, or of a quarter; and with less, no more than what any shape could make.
 * Returns the shapes that may reach a likelihood. */
static uint32_t may_reach(const kh_cells *c, const kh_mixture *m, int64_t reached)
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

/* If those that may reach the guess are no more than are kept, then the guess is, and what is
 * likelier at first; only another one, which is the best in the end, may have been passed over. */
kh_mixture kh_mixture_single(const kh_cells *c)
{
	const uint32_t all = (1 << KH_JUNK) - 1, only = UINT32_C(1) << guess(c);
	const kh_single first = kh_mixture_single_of(c, only);
	const int64_t least = first.tried < first.m.like ? first.tried : first.m.like;
	const uint32_t set = only | may_reach(c, &first.m, least);

	if (set == only)
		return first.m;
	if (__builtin_popcount(set) <= KH_KEPT) {
		const kh_single best = kh_mixture_single_of(c, set);

		if (best.m.shape[0] == first.m.shape[0] || best.tried >= first.tried)
			return best.m;
	}
	return kh_mixture_single_of(c, all).m;
}

/* With densities g, any others are as likely as the sum of many log2(g), and that of many
 * log2(density / g); as the logarithm is concave, the latter is at most the total times the
 * logarithm of the mean of density / g, and that mean is greatest for one shape alone, with all
 * of the weight.  The bound is near if g fits well: it is of the best single divergence, with a
 * 64th for all others.  INT64_MAX stands for one that is not. */
int64_t kh_mixture_bound(const kh_cells *c, const kh_mixture *one)
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
