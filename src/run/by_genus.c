#include <config.h>
#include "run/by_genus.h"

#include <stdlib.h>
#include "base/mem.h"

int kh_by_genus_init(kh_by_genus *g, const kh_db *db, unsigned threads, kh_err *err)
{
	*g = (kh_by_genus) { .threads = threads,
			     .n_taxa = db->tax->n,
			     .species = db->tax->species };
	if (!db->translated.head)
		return KH_OK;
	g->of = kh_array(threads, sizeof *g->of, err);
	g->many = kh_array(g->n_taxa, sizeof *g->many, err);
	g->dropped = kh_array(g->n_taxa, sizeof *g->dropped, err);
	if (!g->of || !g->many || !g->dropped)
		return KH_ENOMEM;
	for (unsigned i = 0; i < threads; i++)
		if (!(g->of[i] = kh_array(g->n_taxa, sizeof *g->of[i], err)))
			return KH_ENOMEM;
	return KH_OK;
}

void kh_by_genus_clear(kh_by_genus *g)
{
	for (unsigned i = 0; g->of && i < g->threads; i++)
		free(g->of[i]);
	free(g->of);
	free(g->many);
	free(g->dropped);
	*g = (kh_by_genus) { .threads = 0 };
}

void kh_by_genus_add(kh_by_genus *g, unsigned worker, const kh_task *t)
{
	for (size_t i = 0; g->of && i < t->job->n; i++)
		if (kh_by_genus_is(g, &t->call[i]))
			g->of[worker][t->call[i].taxon]++;
}

static bool has_species(const kh_db *db, const kh_model *m, uint32_t genus)
{
	const kh_tree tree = kh_taxonomy_tree(db->tax);

	for (uint32_t i = 0; i < m->n; i++)
		if (kh_tree_within(&tree, genus, m->at[i].taxon) &&
		    (m->at[i].verdict == KH_PRESENT || m->at[i].verdict == KH_DIVERGENT))
			return true;
	return false;
}

uint64_t kh_by_genus_judge(kh_by_genus *g, const kh_db *db, const kh_model *m, uint64_t *direct,
			   kh_tally *tally)
{
	uint64_t dropped = 0;

	for (uint32_t t = 0; g->of && t < g->n_taxa; t++) {
		uint64_t n = 0;

		for (unsigned i = 0; i < g->threads; i++)
			n += g->of[i][t];
		g->dropped[t] = m->changes && n > 0 && n < KH_BY_GENUS_LEAST &&
				!has_species(db, m, t);
		g->many[t] = g->dropped[t] ? 0 : n;
		if (!g->dropped[t])
			continue;
		direct[t] -= n;
		tally->direct[t] -= n;
		tally->unclassified += n;
		dropped += n;
	}
	return dropped;
}
