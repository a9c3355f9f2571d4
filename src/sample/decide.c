/* decide.c - decides the call of a class of fragments, by the probability that these come from a
 * species */
#include <config.h>
#include "sample/model_in.h"

#include "sample/logs.h"

enum {
	KEEP = 10923,           /* 1/6: below this, a call of the species is raised to the genus */
	/* .85: from here on, another species is called, or one where there was no call */
	MOVE = 55705
};

/* The species that it most probably comes from, and that probability, in 1/65536. */
struct guess {
	uint32_t species, chance;
};

static struct guess guess_of(const kh_work *w, const kh_class *k)
{
	uint64_t log[KH_CANDIDATES][2] = { { 0 } }, most = 0, sum = 0;
	struct guess g = { KH_NO_TAXON, 0 };
	const kh_presence *p;
	int n = 0, best = -1;

	for (; (p = kh_species_of(w, k, n)); n++) {
		const kh_parts d = kh_parts_of(w, p, k->cell);
		const uint64_t base = (UINT64_C(128) << 16) - k->drop[n] * KH_DROP_COST -
				      kh_log2q(p->length);

		/* 0: none of its own */
		log[n][0] = d.own > 0 ? base + kh_log2q(d.own) : 0;
		log[n][1] = base + kh_log2q(d.other > 0 ? d.other : 1);
		if (log[n][0] > (best < 0 ? 0 : log[best][0]))
			best = n;
		most = log[n][0] > most ? log[n][0] : most;
		most = log[n][1] > most ? log[n][1] : most;
	}
	if (best < 0)
		return g;
	for (int i = 0; i < n; i++)
		sum += (uint64_t)(log[i][0] ? kh_exp2q(most - log[i][0]) : 0) +
		       kh_exp2q(most - log[i][1]);
	g.species = k->species[best];
	g.chance = (uint32_t)(((uint64_t)kh_exp2q(most - log[best][0]) << 16) / sum);
	return g;
}

/* The genus of a call at or below species, or what kh_taxonomy has in its place. */
static uint32_t above(const kh_work *w, uint32_t call)
{
	const uint32_t up = w->in->db->tax->genus[call];

	return up == KH_NO_TAXON ? call : up == 0 ? KH_NO_TAXON : up;
}

uint32_t kh_decide(const kh_work *w, const kh_class *k)
{
	const uint32_t now = k->call == KH_NO_TAXON ? KH_NO_TAXON
						     : w->in->db->tax->species[k->call];
	const struct guess g = guess_of(w, k);

	if (now == KH_NO_TAXON)
		return g.chance >= MOVE && k->enough ? g.species : k->call;
	if (g.species == now)
		return g.chance < KEEP ? above(w, k->call) : k->call;
	return g.chance >= MOVE ? g.species : above(w, k->call);
}
