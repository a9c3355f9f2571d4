/* decide.c - decides the call of a class of fragments, by the probability that these come from a
 * species
 *
 * Two questions: do they come from a strain of any candidate, and of which one?  If the first
 * answer is sure, a species that has half of this probability will do for the second.
 */
#include <config.h>
#include "sample/model_in.h"

#include "base/mem.h"
#include "sample/logs.h"

/* The least probability, of 65536, that the fragments come from strains of the candidates: 3/4.  On
 * worlds of close species (ties.py, seeds 7001 to 7007) as many reads of absent species are called
 * as with .85 and no limit to what ties give (cover.c), and 15 % more with .70. */
enum { STRAINS = 49152 };

/* For each of n candidates, how likely the fragments are its own; `own` and `other`: the sums of
 * that, and of what they are else. */
struct odds {
	uint64_t of[KH_CANDIDATES], own, other;
	int n;
};

static int log_some(void *arg, unsigned id, kh_err *err)
{
	const kh_modelling *w = arg;
	const size_t n = w->m->n;

	(void)err;
	for (size_t i = kh_modelling_from(w, n, id); i < kh_modelling_from(w, n, id + 1); i++) {
		const kh_presence *p = &w->m->at[i];
		const uint32_t base = (128 << 16) - kh_log2q(p->length);

		for (uint32_t j = 0; j < w->cell.n; j++) {
			const kh_expected d = kh_expected_of(w, p, w->cell.at[j]);

			w->cell.logs[i * w->cell.n + j] = (kh_logs) {
				.own = d.own > 0 ? base + kh_log2q(d.own) : 0,
				.other = base + kh_log2q(d.other > 0 ? d.other : 1),
			};
		}
	}
	return KH_OK;
}

int kh_decide_begin(kh_modelling *w, kh_err *err)
{
	w->cell.logs = kh_array((size_t)w->m->n * w->cell.n, sizeof *w->cell.logs, err);
	return w->cell.logs ? kh_modelling_run(w, w->m->n, KH_MANY_SPECIES, log_some,
					       err) : KH_ENOMEM;
}

static bool is_long(const kh_class *k)
{
	return k->cell / KH_SHARES == KH_LONG;
}

/* Of fragments that are called the species `now`.  Most classes have one candidate, so only what is
 * read is set: to clear room for KH_CANDIDATES would take long beside the rest. */
static void set_odds(struct odds *o, const kh_modelling *w, const kh_class *k, uint32_t now)
{
	const kh_logs *of_cell = w->cell.logs + w->cell.slot[k->cell];
	const uint64_t drop = is_long(k) ? KH_DROP_COST_LONG : KH_DROP_COST;
	const kh_told *told = is_long(k) ? w->told : NULL;
	uint64_t own[KH_CANDIDATES], other[KH_CANDIDATES], most = 0;
	int n = 0;

	for (; n < KH_CANDIDATES && k->species[n] != KH_NO_TAXON; n++) {
		const size_t at = w->place[k->species[n]] - 1;
		const kh_logs *l = &of_cell[at * w->cell.n];
		const bool not = k->species[n] != now;
		const uint64_t cost = k->drop[n] * drop;

		own[n] = l->own > 0 ? l->own - cost - (told ? told[at].own[not] : 0) : 0;
		other[n] = l->other - cost - (told ? told[at].other[not] : 0);
		most = own[n] > most ? own[n] : most;
		most = other[n] > most ? other[n] : most;
	}
	o->own = o->other = 0;
	o->n = n;
	for (int i = 0; i < n; i++) {
		o->of[i] = own[i] ? kh_exp2q(most - own[i]) : 0;
		o->own += o->of[i];
		o->other += kh_exp2q(most - other[i]);
	}
}

/* The genus of a call at or below species, or what kh_taxonomy has in its place. */
static uint32_t above(const kh_modelling *w, uint32_t call)
{
	const uint32_t up = w->in->db->tax->genus[call];

	return up == KH_NO_TAXON ? call : up == 0 ? KH_NO_TAXON : up;
}

/* part / all >= share? */
static bool reaches(uint64_t part, uint64_t all, uint64_t share)
{
	return part > 0 && part << 16 >= all * share;
}

/* Is a long fragment as near as nearly all of a strain's are? */
static bool is_near(const kh_modelling *w, const kh_class *k)
{
	return k->cell % KH_SHARES >= w->least.strain;
}

/* May fragments that are called `now` become another species'?  Long ones, if they are called
 * something above species and are near, or are called one of its genus: parts of them may fit
 * others. */
static bool may_become(const kh_modelling *w, const kh_class *k, uint32_t now, uint32_t species)
{
	const uint32_t *genus = w->in->db->tax->genus;

	if (species == now || (now == KH_NO_TAXON && !k->enough))
		return false;
	return !is_long(k) || (now == KH_NO_TAXON ? k->call != KH_NO_TAXON && is_near(w, k)
						   : genus[now] == genus[species]);
}

/* Is what is called this species its own, or, of long ones, this?  Of these, some are near though
 * most are a relative's. */
static bool stays(const kh_modelling *w, const kh_class *k, const kh_presence *p)
{
	if (p->steady || !is_long(k))
		return p->steady;
	return !p->refuted && p->own_long == 65536 &&
	       (p->fit.own || (p->by_long && is_near(w, k)));
}

uint32_t kh_decide(const kh_modelling *w, const kh_class *k)
{
	const uint32_t now = k->call == KH_NO_TAXON ? KH_NO_TAXON
						     : w->in->db->tax->species[k->call];
	struct odds o;
	uint64_t of_now = 0;
	int best = 0;

	set_odds(&o, w, k, now);
	const uint64_t all = o.own + o.other;

	for (int i = 0; i < o.n; i++) {
		best = o.of[i] > o.of[best] ? i : best;
		of_now = k->species[i] == now ? o.of[i] : of_now;
	}
	if (may_become(w, k, now, k->species[best]) &&
	    reaches(o.own, all, STRAINS) && 2 * o.of[best] >= o.own)
		return k->species[best];
	if (now != KH_NO_TAXON && w->place[now] && stays(w, k, &w->m->at[w->place[now] - 1]))
		return k->call;
	return now == KH_NO_TAXON || reaches(of_now, all, KH_KEEP) ? k->call : above(w, k->call);
}
