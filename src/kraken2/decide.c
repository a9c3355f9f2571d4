#include <config.h>
#include "kraken2/decide.h"

#include <stdlib.h>
#include "base/mem.h"

void kh_k2_decider_clear(kh_k2_decider *d)
{
	free(d->hit);
	*d = (kh_k2_decider) { .n = 0 };
}

/* --- hits ------------------------------------------------------------------------- */
/* Adds n hits; neighbours are mostly of one taxon. */
static int add_hits(kh_k2_decider *d, uint32_t taxon, uint32_t n, kh_err *err)
{
	const size_t look = d->n < 4 ? d->n : 4;

	for (size_t i = 1; i <= look; i++)
		if (d->hit[d->n - i].taxon == taxon) {
			d->hit[d->n - i].n += n;
			return KH_OK;
		}
	const int rc = KH_GROW(d->hit, d->cap, d->n + 1, err);

	if (!rc)
		d->hit[d->n++] = (kh_k2_hit) { .taxon = taxon, .n = n };
	return rc;
}

/* Goes through the runs up to the end of the search. */
static int count(kh_k2_decider *d, const kh_k2_rule *r, kh_k2_fragment *f, kh_k2_verdict *v,
		 kh_err *err)
{
	size_t next = f->first_key;
	int rc = KH_OK;

	d->n = 0;
	for (size_t i = 0; i < f->n_runs && !rc; i++) {
		kh_k2_run *run = &f->run[i];

		if (run->what < KH_K2_CODES) {
			const size_t key = run->what;

			run->what = f->taxon[key];
			if (key == next) {
				next++;
				v->groups += run->what != KH_NO_TAXON;
			}
			if (run->what != KH_NO_TAXON && r->quick && v->groups >= r->min_groups)
				f->n_runs = i;
			else if (run->what != KH_NO_TAXON)
				rc = add_hits(d, run->what, run->n, err);
		}
		if (i < f->n_runs)
			v->kmers += run->n;
	}
	v->keys = next - f->first_key;
	return rc;
}

static int by_taxon(const void *a, const void *b)
{
	const kh_k2_hit *x = a, *y = b;

	return (x->taxon > y->taxon) - (x->taxon < y->taxon);
}

/* In order of taxa, each once. */
static void sort_hits(kh_k2_decider *d)
{
	size_t n = 0;

	if (d->n < 2)
		return;
	qsort(d->hit, d->n, sizeof *d->hit, by_taxon);
	for (size_t i = 1; i < d->n; i++)
		if (d->hit[i].taxon == d->hit[n].taxon)
			d->hit[n].n += d->hit[i].n;
		else
			d->hit[++n] = d->hit[i];
	d->n = n + 1;
}

/* --- the call --------------------------------------------------------------------- */
/* The taxon with the best score; in preorder, ancestors come first. */
static uint32_t best(kh_k2_decider *d, const kh_tree *t, kh_k2_verdict *v)
{
	kh_extent e = kh_extent_empty();

	for (size_t i = 0; i < d->n; i++) {
		kh_k2_hit *h = &d->hit[i];

		h->above = i > 0 ? (uint32_t)(i - 1) : UINT32_MAX;
		while (h->above != UINT32_MAX &&
		       !kh_tree_within(t, d->hit[h->above].taxon, h->taxon))
			h->above = d->hit[h->above].above;
		h->score = h->n + (h->above != UINT32_MAX ? d->hit[h->above].score : 0);
		if (h->score > v->score) {
			v->score = h->score;
			e = kh_extent_empty();
		}
		if (h->score == v->score)
			e = kh_extent_add(e, h->taxon);
	}
	return d->n > 0 ? kh_tree_lca(t, e.lo, e.hi) : KH_NO_TAXON;
}

/* Hits in [from, to) of the preorder. */
static uint32_t hits_in(const kh_k2_decider *d, uint32_t from, uint32_t to)
{
	uint32_t n = 0;

	for (size_t i = 0; i < d->n; i++)
		if (d->hit[i].taxon >= from && d->hit[i].taxon < to)
			n += d->hit[i].n;
	return n;
}

/* The first clade, from the call upwards, with as many hits as are required; for the call itself
 * its own hits suffice. */
static uint32_t supported(const kh_k2_decider *d, const kh_tree *t, uint32_t call,
			  uint32_t required)
{
	if (call == KH_NO_TAXON || required == 0 || hits_in(d, call, call + 1) >= required)
		return call;
	while (hits_in(d, call, t->end[call]) < required) {
		if (call == 0)
			return KH_NO_TAXON;
		call = t->parent[call];
	}
	return call;
}

int kh_k2_decide(kh_k2_decider *d, const kh_k2_rule *r, const kh_tree *t, kh_k2_fragment *f,
		 kh_k2_verdict *v, kh_err *err)
{
	*v = (kh_k2_verdict) { .taxon = KH_NO_TAXON };
	const int rc = count(d, r, f, v, err);

	if (rc)
		return rc;
	/* the borders are no k-mers; that of frames is counted so by Kraken 2 */
	v->kmers -= (f->mates ? 1u : 0u) + (!r->protein ? 0u : f->mates ? 4u : 2u);
	sort_hits(d);
	v->taxon = supported(d, t, best(d, t, v), kh_k2_required(r, v->kmers));
	if (v->groups < r->min_groups)
		v->taxon = KH_NO_TAXON;
	return KH_OK;
}
