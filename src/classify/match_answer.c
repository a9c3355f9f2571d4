/* match_answer.c - what an answer has of a segment for others to be weighed against: answer.h */
#include <config.h>
#include "classify/match_in.h"
#include "classify/match_score.h"

/* Are all lists whole, and no more than so many anchors there? */
static bool is_plain(const kh_found *f, uint32_t most)
{
	const kh_seed_set all = kh_seed_below(f->n);

	for (uint32_t w = 0; w < KH_MATCH_SEEDS / 64; w++)
		if (f->known.bit[w] != all.bit[w])
			return false;
	return f->n < KH_MATCH_SEEDS && f->n_anchors <= most;
}

/* 1: it has regions that are never compared. */
static uint16_t bound_of(const kh_found *f, uint32_t len)
{
	uint32_t loss = UINT16_MAX;

	for (uint32_t i = 0; i < f->n_regions; i++)
		loss = f->region[i].loss < loss ? f->region[i].loss : loss;
	return f->n_regions == 0 ? 0 : loss < len ? (uint16_t)(len - loss) : 1;
}

static uint8_t load_of(const kh_found *f, bool places, bool far)
{
	const uint32_t load = places ? f->n_regions + f->n_places : f->n_anchors;

	return (uint8_t)((load < KH_ANSWER_FAR ? load : KH_ANSWER_FAR - 1) |
			 (far ? KH_ANSWER_FAR : 0));
}

void kh_asking_bounds(kh_asking *x, const kh_matching *m)
{
	x->small = true;
	for (uint32_t i = 0; i < 2; i++) {
		const uint32_t len = x->s.mate[i].len;

		x->bound[i] = bound_of(&m->found[i], len);
		x->far[i] = x->bound[i] + kh_answer_far(len) <= len;
		x->small &= is_plain(&m->found[i], KH_ANSWER_FEW);
	}
}

void kh_asking_bounds_again(kh_asking *x, const kh_matching *m)
{
	for (uint32_t i = 0; i < 2; i++) {
		const uint32_t len = x->s.mate[i].len;

		x->far[i] &= bound_of(&m->found[i], len) + kh_answer_far(len) <= len;
	}
}

void kh_asking_settled(const kh_asking *x, const kh_matching *m, bool all_seeds, kh_answer *a)
{
	const int64_t slack = kh_match_slack(m->db, &x->s);
	bool leads = true;

	for (uint32_t i = 0; i < 2; i++) {
		const kh_found *f = &m->found[i];
		const int64_t best = (int64_t)f->best - slack;
		const int64_t need = best < f->least ? best : f->least;

		a->bound[i] = x->bound[i];
		a->need[i] = need > 0 ? (uint16_t)need : 0;
		a->load[i] = load_of(f, m->n_place > 0, x->far[i]);
		leads &= f->crowd == 0 && is_plain(f, KH_ANSWER_MOST);
	}
	a->bits = (x->early[0].bins + x->early[1].bins == 0 ? KH_ANSWER_NONE_EARLY : 0) |
		  (x->small ? KH_ANSWER_SMALL : 0) | (leads ? KH_ANSWER_LEADS : 0) |
		  (all_seeds ? KH_ANSWER_ALL_SEEDS : 0);
	for (uint32_t i = 0; i < 2 && !leads; i++)
		a->need[i] = a->load[i] = 0;
}
