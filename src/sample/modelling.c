/* modelling.c - what all steps of the model use: threads, their sums, and densities at a cell */
#include <config.h>
#include "sample/model_in.h"

#include <string.h>
#include "base/mem.h"

/* bytes that all threads' copies of sums may have together */
#define LARGE_SUMS ((size_t)1 << 27)

int kh_modelling_run(kh_modelling *w, size_t things, size_t few, kh_worker_fn *fn, kh_err *err)
{
	kh_team *team = things < few ? NULL : w->in->team;

	w->threads = kh_team_size(team);
	return kh_team_run(team, fn, w, err);
}

int kh_tallies_init(kh_tallies *s, size_t n, unsigned threads, kh_err *err)
{
	const size_t most = n * sizeof *s->at < LARGE_SUMS ? LARGE_SUMS / (n * sizeof *s->at) : 1;

	s->n = n;
	s->shared = most < threads;
	s->copies = s->shared ? (unsigned)most : threads;
	s->at = kh_array(n, s->copies * sizeof *s->at, err);
	return s->at ? KH_OK : KH_ENOMEM;
}

uint64_t *kh_tallies_add_up(const kh_tallies *s, kh_err *err)
{
	uint64_t *sum = kh_array(s->n, sizeof *sum, err);

	for (unsigned i = 0; sum && i < s->copies; i++)
		for (size_t j = 0; j < s->n; j++)
			sum[j] += kh_tallies_of(s, i)[j];
	return sum;
}

void kh_many_of(const kh_modelling *w, uint32_t i, uint64_t many[KH_CELLS])
{
	memset(many, 0, KH_CELLS * sizeof *many);
	for (uint32_t j = 0; j < w->cell.n; j++)
		many[w->cell.at[j]] = w->many[(size_t)i * w->cell.n + j];
}

kh_expected kh_expected_of(const kh_modelling *w, const kh_presence *p, uint32_t cell)
{
	kh_expected d = { 0, 0 };

	if (cell / KH_SHARES == KH_LONG) {
		d.own = p->fit.own ? p->fit.total * p->own_long >> 16 : 0;
		d.other = p->fit.total - d.own;
		return d;
	}
	for (uint32_t i = 0; i < p->fit.n; i++) {
		const uint64_t many = kh_fit_short(&p->fit) * p->fit.weight[i] >> 20,
			       x = many * w->m->shapes.f[p->fit.shape[i]][cell];

		*(i == 0 && p->fit.own ? &d.own : &d.other) += x;
	}
	return d;
}
