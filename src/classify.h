/*
 * classify.h - from the features of a fragment to its taxon   [HD]
 *
 * The rule, all in integers (DESIGN 6; kmerhash-classify(1)):
 *	1 a fragment (a read, or a pair) is one segment, or, if it is longer than max_span,
 *	  is cut into segments of max_span bases; f = the distinct features of a segment,
 *	  n = their number summed over segments
 *	2 hits(b) of a segment = its (feature, bin) matches in bins b .. b + r - 1, where
 *	  r = 1 + ceil(span / stride); at most the segment's number of features
 *	3 S(target) = its best hits; h(taxon) = the best S of its targets, summed over segments
 *	4 o(taxon) = overpopulated features whose LCA is the taxon, above or below it;
 *	  h += o where h > 0
 *	5 h1 = the greatest h; too small (kh_rule_minima) or below the confidence -> none
 *	6 the LCA of all taxa with h near h1, tolerant for a species, less so for a genus
 * No list of candidates is cut, so nothing depends on order.
 */
#ifndef KH_CLASSIFY_H
#define KH_CLASSIFY_H

#include "index.h"
#include "sketch.h"

#define KH_TAXON_NONE UINT32_MAX

/* What a run is decided by; from the database and the options. */
typedef struct kh_rule {
	kh_sketch sketch;
	uint32_t max_span;
	uint32_t confidence;            /* in 1/1000: h1 of n features at least */
	uint32_t precise;               /* 0 or 1 */
	uint32_t minima[32];
} kh_rule;

/* The result of a fragment. */
typedef struct kh_call {
	uint32_t taxon;                 /* preorder number, or KH_TAXON_NONE */
	uint32_t features;              /* n */
	uint32_t hits;                  /* h1, at most n */
	uint32_t found;                 /* features that the index has */
} kh_call;

static_assert(sizeof(kh_call) == 16, "kh_call is copied from devices");

/* Bins that a window of `span` bases can touch. */
static KH_HD uint32_t kh_rule_window(const kh_rule *r, uint64_t span)
{
	return 1 + (uint32_t)((span + r->sketch.stride - 1) / r->sketch.stride);
}

static KH_HD uint32_t kh_log2(uint32_t n)
{
	uint32_t i = 0;

	while (n >>= 1)
		i++;
	return i;
}

/* Hits that a call needs: for a genus or above, and for a species. */
typedef struct kh_minimum {
	uint32_t genus, species;
} kh_minimum;

static KH_HD kh_minimum kh_rule_minimum(const kh_rule *r, uint32_t n)
{
	uint32_t m = r->minima[kh_log2(n)], g = 2, s = r->precise ? 5 : 3;
	kh_minimum out;

	m = m > n >> 6 ? m : n >> 6;
	out.genus = g > m ? g : m;
	out.species = s > m ? s : m;
	return out;
}

/* The least h of the taxa whose LCA is taken: for a species, for a genus or above. */
static KH_HD uint32_t kh_rule_near_species(const kh_rule *r, uint32_t h1)
{
	uint32_t t = (r->precise ? 4 : 2) + (h1 >> 5);

	return h1 > t ? h1 - t : 1;
}

static KH_HD uint32_t kh_rule_near_genus(uint32_t h1)
{
	uint32_t t = 1 + (h1 >> 5);

	return h1 > t ? h1 - t : 1;
}

/* The tree as the rule needs it: arrays by preorder number (taxonomy.h). */
typedef struct kh_tree {
	uint32_t n;
	const uint32_t *parent, *end;
	const uint32_t *species;        /* self or ancestor, KH_TAXON_NONE: above species */
	const uint32_t *genus;          /* what a call below genus is raised to */
} kh_tree;

static KH_HD uint32_t kh_tree_lca(const kh_tree *t, uint32_t lo, uint32_t hi)
{
	while (hi >= t->end[lo])
		lo = t->parent[lo];
	return lo;
}

/* Is one of a, b an ancestor of the other, or the same? */
static KH_HD int kh_tree_related(const kh_tree *t, uint32_t a, uint32_t b)
{
	return a < b ? b < t->end[a] : a < t->end[b];
}

/* The least and the greatest number of a set of taxa; empty: lo > hi. */
typedef struct kh_extent {
	uint32_t lo, hi;
} kh_extent;

static KH_HD kh_extent kh_extent_add(kh_extent e, uint32_t taxon)
{
	e.lo = taxon < e.lo ? taxon : e.lo;
	e.hi = taxon > e.hi ? taxon : e.hi;
	return e;
}

/* Is h1 enough to call anything? */
static KH_HD int kh_rule_enough(const kh_rule *r, uint32_t h1, uint32_t n)
{
	return n > 0 && h1 >= kh_rule_minimum(r, n).genus &&
	       UINT64_C(1000) * h1 >= (uint64_t)r->confidence * n;
}

/* The call, given that h1 is enough: `s` of the taxa near h1 for a species, `g` for a genus. */
static KH_HD uint32_t kh_rule_call(const kh_rule *r, const kh_tree *t, uint32_t h1, uint32_t n,
				   kh_extent s, kh_extent g)
{
	uint32_t taxon;

	if (h1 >= kh_rule_minimum(r, n).species) {
		taxon = kh_tree_lca(t, s.lo, s.hi);
		if (t->species[taxon] != KH_TAXON_NONE)
			return taxon;
	}
	taxon = kh_tree_lca(t, g.lo, g.hi);
	if (t->genus[taxon] != KH_TAXON_NONE)
		taxon = t->genus[taxon];
	return taxon == 0 ? KH_TAXON_NONE : taxon;
}

#ifndef __CUDACC__
#include "db.h"
#include "feed.h"
#include "sketches.h"

void kh_rule_init(kh_rule *r, const kh_db_header *h);
kh_tree kh_tree_of(const kh_taxonomy *t);


/* The reference classifier: one worker's scratch. */
typedef struct kh_classifier kh_classifier;

int kh_classifier_new(kh_classifier **c, const kh_db *db, const kh_rule *rule, kh_err *err);
void kh_classifier_free(kh_classifier *c);
int kh_classify_job(kh_classifier *c, const kh_job *job, kh_call *call, kh_sketches *sk,
		    kh_err *err);
#endif

#endif
