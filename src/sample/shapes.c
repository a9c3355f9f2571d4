/* shapes.c - shares of features found, by divergence */
#include <config.h>
#include "sample/shapes.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "sample/logs.h"

enum { PLACES = 40, GRID = 64, N = KH_N_MOST + 1 };

const uint16_t kh_divergence[KH_SHAPES] = { 1,	3,  6,	10,  15,  20,  30,  40,	 50,
					    60, 70, 85, 100, 120, 150, 190, 240, 300 };

/* Errors of a read, in 1/1000 a base, and how many reads of 100 have them. */
static const struct {
	uint32_t rate, reads;
} errors[] = { { 3, 89 }, { 20, 8 }, { 40, 3 } };

struct tables {
	uint64_t chance[KH_SHAPES][GRID];       /* of a feature to be found, by 64ths; 1/2^24 */
	uint64_t log_factorial[N];
};

/* The probability of h of n, for one n, by the chance of a feature; 1/2^24. */
struct found {
	uint32_t at[N][GRID];
};

/* Gamma with mean D at t D, t = (2 i + 1) / 16: 2^-(y / 65536) but for a factor. */
static uint64_t gamma_at(uint32_t d, uint32_t i)
{
	const uint64_t up = (1000 + 18 * (uint64_t)d) * (2 * i + 1) * KH_LOG2_E;
	const int64_t log_t = (int64_t)kh_log2q(2 * i + 1) - (4 << 16);

	return (uint64_t)((int64_t)up - 288 * (int64_t)d * log_t) / 16000;
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
			y[i] = gamma_at(d, i);
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

/* What n features count for, in quarters: 1.35 for each k bases that they cover.  Those of a
 * share of all lie further apart, until each counts for itself. */
static uint32_t weight_of(const kh_sampling *s, uint32_t n)
{
	const uint64_t apart = s->scheme == KH_SYNCMER ? s->k - s->s + 1 : s->stride,
		       in_it = s->scheme == KH_SYNCMER ? 1 : s->s;
	uint64_t q = 54 * n * apart / (10 * s->k * in_it);

	if (s->least) {
		q = (q << 32) / kh_sampling_share(s);
		q = q < 4 * (uint64_t)n ? q : 4 * (uint64_t)n;
	}
	return q < 4 ? 4 : (uint32_t)q;
}

/* The beta-binomial distribution for a feature's chance p = (2 g + 1) / 128 and a weight of q
 * quarters has the parameters p q / 4 and (1 - p) q / 4; so its factors are (2 g + 1) q / 512 + i,
 * of what is not found the same at 63 - g, and q / 4 + i. */
static void make_found(struct found *f, const struct tables *t, uint32_t n, uint32_t q)
{
	static const uint32_t unit = 512;
	uint64_t sum[GRID][N], all = 0;

	for (uint32_t g = 0; g < GRID; g++) {
		sum[g][0] = 0;
		for (uint32_t i = 0; i < n; i++)
			sum[g][i + 1] = sum[g][i] + kh_log2q((2 * g + 1) * q + unit * i);
	}
	for (uint32_t i = 0; i < n; i++)
		all += kh_log2q(128 * q + unit * i);
	for (uint32_t g = 0; g < GRID; g++)
		for (uint32_t h = 0; h <= n; h++) {
			const uint64_t up = t->log_factorial[n] + sum[g][h] +
					    sum[GRID - 1 - g][n - h],
				       down = t->log_factorial[h] + t->log_factorial[n - h] + all;

			f->at[h][g] = kh_exp2q(down > up ? down - up : 0);
		}
}

/* For one divergence and one n: the shares of fragments with h >= least, in 1/65536; returns how
 * many these are. */
static uint32_t shares_of(const struct found *f, const uint64_t chance[GRID], uint32_t n,
			  uint32_t least, uint32_t share[KH_SHARES])
{
	uint64_t sum = 0, bin[KH_SHARES] = { 0 };

	for (uint32_t h = least; h <= n; h++) {
		const uint32_t j = 32 * h / n;
		uint64_t p = 0;

		for (uint32_t g = 0; g < GRID; g++)
			p += chance[g] * f->at[h][g];
		p >>= 24;
		bin[j < KH_SHARES ? j : KH_SHARES - 1] += p;
		sum += p;
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

/* Threads take numbers of features, the greatest first, and add to the same sums. */
struct making {
	const kh_sampling *sampling;
	const uint32_t *least;
	const uint64_t *many;
	struct tables tables;
	struct sums sum;
	_Atomic uint32_t taken;
};

static void add(uint64_t *sum, uint64_t x)
{
	atomic_fetch_add_explicit((_Atomic uint64_t *)sum, x, memory_order_relaxed);
}

static void add_features(struct making *m, uint32_t n)
{
	const uint32_t size = kh_log2q(n) >> 16, c = size - 3;
	struct found found;
	uint32_t share[KH_SHARES];

	make_found(&found, &m->tables, n, weight_of(m->sampling, n));
	add(&m->sum.many[c], m->many[n]);
	for (uint32_t x = 0; x < KH_SHAPES; x++) {
		const uint32_t seen =
			shares_of(&found, m->tables.chance[x], n, m->least[size], share);

		add(&m->sum.seen[x][c], m->many[n] * seen);
		for (uint32_t j = 0; j < KH_SHARES; j++)
			add(&m->sum.f[x][c * KH_SHARES + j], m->many[n] * share[j]);
	}
}

static int add_some(void *arg, unsigned id, kh_err *err)
{
	struct making *m = arg;

	(void)id;
	(void)err;
	for (uint32_t i; (i = atomic_fetch_add(&m->taken, 1)) <= KH_N_MOST - KH_N_LEAST;)
		if (m->many[KH_N_MOST - i] > 0)
			add_features(m, KH_N_MOST - i);
	return KH_OK;
}

int kh_shapes_make(kh_shapes *s, const kh_sampling *sampling, const uint32_t least[32],
		   const uint64_t many[KH_N_MOST + 1], kh_team *team, kh_err *err)
{
	struct making *m = kh_array(1, sizeof *m, err);
	int rc;

	if (!m)
		return KH_ENOMEM;
	m->sampling = sampling;
	m->least = least;
	m->many = many;
	make_chances(&m->tables, sampling->k);
	for (uint32_t i = 1; i < N; i++)
		m->tables.log_factorial[i] = m->tables.log_factorial[i - 1] + kh_log2q(i);
	rc = kh_team_run(team, add_some, m, err);
	divide(s, &m->sum);
	free(m);
	return rc;
}
