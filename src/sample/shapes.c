/* shapes.c - shares of features found, by divergence */
#include <config.h>
#include "sample/shapes.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "sample/lanes.h"
#include "sample/logs.h"

enum { PLACES = 40, GRID = 64, PARTS = 4, RUN = 12, N = KH_N_MOST + 1 };

const uint16_t kh_divergence[KH_SHAPES] = {
	1,  3,	6,  10, 15, 20, 30, 40,	 50, 60, 70, 85, 100, 120, 150, 190, 240, 300,
	/* even */
	50, 60, 65, 70, 77, 85, 100, 120
};

/* Errors of a read, in 1/1000 a base, and how many reads of 100 have them. */
static const struct {
	uint32_t rate, reads;
} errors[] = { { 3, 89 }, { 20, 8 }, { 40, 3 } };

struct tables {
	uint64_t chance[KH_SHAPES][GRID];       /* of a feature to be found, by 64ths; 1/2^24 */
	uint32_t found[N][GRID][N];             /* [n][g][h]: h of n, by that chance; 1/2^24 */
};

/* Gamma with mean D at t D, t = (2 i + 1) / 16: 2^-(y / 65536) but for a factor. */
static uint64_t gamma_at(uint32_t x, uint32_t i)
{
	const int64_t d = kh_divergence[x], shape = x < KH_EVEN ? 1000 + 18 * d : 400000 / d,
		      up = shape * (2 * i + 1) * KH_LOG2_E,
		      log_t = (int64_t)kh_log2q(2 * i + 1) - (4 << 16);

	return (uint64_t)(up - 16 * (shape - 1000) * log_t) / 16000;
}

/* The probability that a feature is found at divergence t D with errors e, ((1 - t D)(1 - e))^k,
 * in 64ths. */
static uint32_t chance_at(uint32_t d, uint32_t i, uint32_t e, uint32_t k)
{
	const uint32_t t = d * (2 * i + 1), away = t < 12000 ? t : 12000;
	const uint64_t loss = kh_log2q(16000000) - kh_log2q((16000 - away) * (1000 - e));
	const uint32_t p = kh_exp2q(k * loss) >> 18;

	return p < GRID ? p : GRID - 1;
}

static void make_chances(struct tables *t, uint32_t k)
{
	for (uint32_t x = 0; x < KH_SHAPES; x++) {
		const uint32_t d = kh_divergence[x];
		uint64_t y[PLACES], least = UINT64_MAX, sum = 0;

		for (uint32_t i = 0; i < PLACES; i++) {
			y[i] = gamma_at(x, i);
			least = y[i] < least ? y[i] : least;
		}
		for (uint32_t i = 0; i < PLACES; i++)
			for (uint32_t e = 0; e < sizeof errors / sizeof *errors; e++) {
				const uint32_t p = chance_at(d, i, errors[e].rate, k);
				uint64_t w = kh_exp2q(y[i] - least) * (uint64_t)errors[e].reads;

				t->chance[x][p] += w;
				sum += w;
			}
		for (uint32_t g = 0; g < GRID; g++)
			t->chance[x][g] = (t->chance[x][g] << 24) / sum;
	}
}

/* How features follow one another: the k bases of one are so many parts, and the next one begins
 * 0, 1 or 2 parts further, with these chances in 1/65536. */
struct steps {
	uint32_t parts, chance[3];
	uint32_t run;                   /* parts of a seed */
	uint32_t none;                  /* -log2 of the chance that none ends in a part, or 0 */
};

static struct steps steps_of(const kh_sampling *s)
{
	const uint64_t apart = s->scheme == KH_SYNCMER ? s->k - s->s + 1 : s->stride,
		       in_it = s->scheme == KH_SYNCMER ? 1 : s->s,
		       most = (uint64_t)s->k << 17;
	uint64_t bases = (apart << 16) / in_it, parts, q;

	bases = bases < most ? bases : most;
	if (s->least)
		bases = (bases << 32) / kh_sampling_share(s);
	bases = bases < most ? bases : most;
	parts = most / bases < PARTS ? most / bases : PARTS;
	/* two times out of two, each with the chance q */
	q = (bases * parts << 16) / most;
	const uint64_t both = q * q >> 16, one = 2 * (q - both);

	return (struct steps) { (uint32_t)parts,
				{ (uint32_t)(65536 - one - both), (uint32_t)one, (uint32_t)both },
				(uint32_t)parts, 0 };
}

/* A fragment is seen only if one of its seeds is without a difference.  A seed has so
 * many parts, of which the k bases of a feature are s->parts, and begins at one in some bases. */
static void add_seeds(struct steps *s, uint32_t k, const kh_sampling *seeds)
{
	const uint64_t in_it = seeds->scheme == KH_SYNCMER ? 1 : seeds->s;
	const uint64_t apart = seeds->scheme == KH_SYNCMER ? seeds->k - seeds->s + 1
							   : seeds->stride;
	const uint64_t bases = (apart << 48) / in_it / kh_sampling_share(seeds);
	const uint32_t run = (seeds->k * s->parts + k - 1) / k;

	s->run = run < RUN ? run : RUN;
	s->none = (uint32_t)((kh_log2q(bases) - kh_log2q(bases > 65536 ? bases - 65536 : 1)) * k /
			     s->parts);
}

/* Features in order: how many were found so far, and how many parts before the end of the last one
 * are without a difference, up to those of a feature, or, of what no seed has found, of a seed; in
 * 1/2^32.  Lanes have a chance each. */
struct walk {
	uint32_t first, last;           /* between which all are that are not 0 */
	/* With no difference in the next parts, of which there are two at most; or with 0 or 1
	 * since one, which does not depend on what was before; in 1/2^24. */
	kh_lanes on[RUN + 1][RUN + 1], off[RUN + 1];
	uint32_t parts, most;
	/* by parts: the rows that go there, or `all`, and by which factors */
	struct into {
		uint32_t n;
		kh_term term[KH_TERMS];
	} into[RUN + 1];
	kh_lanes all[N];                /* the sum of the rows */
	kh_lanes now[RUN + 1][N];
};

/* No more parts than there are. */
static uint32_t up_to(const struct walk *w, uint32_t parts)
{
	return parts < w->most ? parts : w->most;
}

/* The chance that no seed ends in the last parts of a run that has grown by some. */
static uint64_t without(const struct steps *s, bool seedless, uint32_t run, uint32_t grown)
{
	const uint32_t in_seeds = run < s->run ? 0 : run - s->run + 1;

	return seedless ? kh_exp2q((uint64_t)s->none * (grown < in_seeds ? grown : in_seeds))
			: KH_EXP2_ONE;
}

/* The chance of a feature is p = (2 g + 1) / 128.  seedless: of what no seed has found. */
static void start(struct walk *w, uint32_t lane, const struct steps *s, uint32_t g, bool seedless)
{
	const uint32_t loss = ((7 << 16) - kh_log2q(2 * g + 1)) / s->parts;
	uint64_t same[PARTS + 1] = { KH_EXP2_ONE };     /* so many parts are without a difference */

	for (uint32_t i = 1; i <= PARTS; i++)
		same[i] = kh_exp2q(i * loss);
	for (uint32_t from = 0; from <= w->most; from++)
		for (uint32_t step = 0; step < 3; step++) {
			const uint64_t c = s->chance[step] * same[step] >> 16;

			w->on[from][up_to(w, from + step)].at[lane] +=
				c * without(s, seedless, from + step, step) >> 24;
			for (uint32_t to = 0; from == 0 && to < step; to++)
				w->off[to].at[lane] +=
					s->chance[step] * (same[to] - same[to + 1]) >> 16;
		}
	for (uint32_t i = 0; i < w->parts; i++)
		w->now[i][0].at[lane] = (same[i] - same[i + 1]) << 8;
	w->now[w->parts][1].at[lane] = (same[w->parts] << 8) *
				       without(s, seedless, w->parts, w->parts) >> 24;
}

static bool is_zero(const kh_lanes *x)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < KH_LANES; i++)
		any |= x->at[i];
	return any == 0;
}

static void add_term(struct into *x, const kh_lanes *row, const kh_lanes *factor)
{
	if (!is_zero(factor))
		x->term[x->n++] = (kh_term) { row, factor };
}

/* Nothing goes to fewer parts, but from all to 0 or 1. */
static void find_terms(struct walk *w)
{
	for (uint32_t to = 0; to <= w->most; to++) {
		for (uint32_t step = 0; step <= 2 && step <= to; step++)
			add_term(&w->into[to], w->now[to - step], &w->on[to - step][to]);
		add_term(&w->into[to], w->all, &w->off[to]);
	}
}

/* From one feature to the next, in place. */
static void go_on(struct walk *w, const kh_lanes_fns *fns)
{
	fns->add_up(&w->all[w->first], w->last + 1 - w->first, &w->now[0][w->first], w->most + 1,
		    N);
	while (w->first < w->last && is_zero(&w->all[w->first]))
		w->first++;
	while (w->first < w->last && is_zero(&w->all[w->last]))
		w->last--;
	for (uint32_t to = w->most + 1; to-- > 0;) {
		const struct into *x = &w->into[to];
		const uint32_t more = to >= w->parts;

		fns->sum_up(w->now[to] + more, w->first, w->last + 1, x->term, x->n);
		if (more)
			w->now[to][w->first] = (kh_lanes) { { 0 } };
	}
	w->last++;
}

/* For one divergence and one n: the shares of fragments with a class, in 1/65536; returns how many
 * these are. */
static uint32_t shares_of(const struct tables *t, uint32_t x, uint32_t n,
			  uint32_t share[KH_SHARES])
{
	uint64_t sum = 0, bin[KH_SHARES] = { 0 }, p[N] = { 0 };

	for (uint32_t g = 0; g < GRID; g++)
		for (uint32_t h = KH_H_LEAST; t->chance[x][g] > 0 && h <= n; h++)
			p[h] += t->chance[x][g] * t->found[n][g][h];
	for (uint32_t h = KH_H_LEAST; h <= n; h++) {
		const uint32_t j = 32 * h / n;

		bin[j < KH_SHARES ? j : KH_SHARES - 1] += p[h] >> 24;
		sum += p[h] >> 24;
	}
	for (uint32_t j = 0; j < KH_SHARES; j++)
		share[j] = sum > 0 ? (uint32_t)((bin[j] << 16) / sum) : 0;
	return (uint32_t)(sum >> 8);
}

/* Sums over the fragments of a size, to be divided by their number. */
struct sums {
	uint64_t f[KH_SHAPES][KH_CELLS], seen[KH_SHAPES][KH_SIZES], many[KH_SIZES];
};

static void divide(kh_shapes *s, const struct sums *sum)
{
	for (uint32_t x = 0; x < KH_SHAPES; x++) {
		for (uint32_t i = 0; i < KH_CELLS; i++) {
			const uint64_t many = sum->many[i / KH_SHARES];
			const uint64_t f = many ? sum->f[x][i] / many : 0;

			s->f[x][i] = (uint16_t)(f < 1 ? 1 : f > 65535 ? 65535 : f);
		}
		for (uint32_t c = 0; c < KH_SIZES; c++)
			s->seen[x][c] = sum->many[c] ? (uint32_t)(sum->seen[x][c] / sum->many[c])
						     : 65536;
	}
}

static void mix(kh_shapes *s)
{
	for (uint32_t i = 0; i < KH_CELLS; i++) {
		const uint64_t junk = s->f[KH_JUNK][i];
		uint64_t most = 0;

		for (uint32_t x = 0; x < KH_JUNK; x++) {
			const uint64_t f = s->f[x][i];

			s->mixed[x][i] = kh_log2q((9 * f + junk) * (1 << 20) / 10);
			most = f > most ? f : most;
		}
		s->least[i] = kh_log2q((most << 18) + (junk << 20));
	}
}

/* Threads take chances, and then shapes. */
struct making {
	const uint64_t *many;
	struct steps steps;
	uint32_t most;                  /* features of any fragment */
	const kh_lanes_fns *lanes;
	struct tables tables;
	struct sums sum;
	_Atomic uint32_t walked, taken;
};

static void add_features(struct making *m, uint32_t x, uint32_t n)
{
	const uint32_t c = kh_class_size(n);
	uint32_t share[KH_SHARES];

	m->sum.seen[x][c] += m->many[n] * shares_of(&m->tables, x, n, share);
	for (uint32_t j = 0; j < KH_SHARES; j++)
		m->sum.f[x][c * KH_SHARES + j] += m->many[n] * share[j];
}

static void add_found(struct making *m, uint32_t n, uint32_t g, const struct walk *w, bool minus)
{
	for (uint32_t h = w->first; h <= w->last; h++) {
		kh_lanes sum = { { 0 } };

		for (uint32_t i = 0; i <= w->most; i++)
			for (uint32_t j = 0; j < KH_LANES; j++)
				sum.at[j] += w->now[i][h].at[j] >> 8;
		for (uint32_t j = 0; j < KH_LANES; j++) {
			const uint32_t x = (uint32_t)sum.at[j];

			m->tables.found[n][g + j][h] += minus ? 0 - x : x;
		}
	}
}

/* Adds all fragments, or takes off those without a seed; of the chances from g on. */
static void walk(struct making *m, uint32_t g, bool seedless)
{
	const struct steps *s = &m->steps;
	struct walk w;

	memset(&w, 0, offsetof(struct walk, all));
	w.parts = s->parts;
	w.most = seedless && s->run > s->parts ? s->run : s->parts;
	w.last = 1;
	for (uint32_t i = 0; i <= w.most; i++)
		memset(w.now[i], 0, (m->most + 1) * sizeof **w.now);
	for (uint32_t j = 0; j < KH_LANES; j++)
		start(&w, j, s, g + j, seedless);
	find_terms(&w);
	for (uint32_t n = 1; n <= m->most; n++) {
		if (m->many[n] > 0)
			add_found(m, n, g, &w, seedless);
		if (n < m->most)
			go_on(&w, m->lanes);
	}
}

static int walk_some(void *arg, unsigned id, kh_err *err)
{
	struct making *m = arg;

	(void)id;
	(void)err;
	for (uint32_t g; (g = KH_LANES * atomic_fetch_add(&m->walked, 1)) < GRID;) {
		walk(m, g, false);
		if (m->steps.none > 0)
			walk(m, g, true);
	}
	return KH_OK;
}

static int add_some(void *arg, unsigned id, kh_err *err)
{
	struct making *m = arg;

	(void)id;
	(void)err;
	for (uint32_t x; (x = atomic_fetch_add(&m->taken, 1)) < KH_SHAPES;)
		for (uint32_t n = KH_N_LEAST; n <= m->most; n++)
			if (m->many[n] > 0)
				add_features(m, x, n);
	return KH_OK;
}

int kh_shapes_make(kh_shapes *s, const kh_sampling *sampling, const kh_sampling *seeds,
		   const uint64_t many[KH_N_MOST + 1], kh_team *team, kh_err *err)
{
	struct making *m = kh_array(1, sizeof *m, err);
	int rc;

	if (!m)
		return KH_ENOMEM;
	m->many = many;
	m->lanes = kh_lanes_get();
	m->steps = steps_of(sampling);
	add_seeds(&m->steps, sampling->k, seeds);
	for (uint32_t n = KH_N_LEAST; n < N; n++) {
		m->most = many[n] > 0 ? n : m->most;
		m->sum.many[(kh_log2q(n) >> 16) - 3] += many[n];
	}
	make_chances(&m->tables, sampling->k);
	rc = kh_team_run(team, walk_some, m, err);
	if (!rc)
		rc = kh_team_run(team, add_some, m, err);
	divide(s, &m->sum);
	mix(s);
	free(m);
	return rc;
}
