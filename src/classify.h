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
 *	5 h1 = the greatest h; too small (kh_rule_minimum) or below the confidence -> none
 *	6 if h1 is enough for a species: the LCA of the taxa with h near h1 (kh_rule_near_species),
 *	  if that is a species or below
 *	7 else, of a fragment that is one segment: the same without the taxa that are outdone: less
 *	  than h1, and of the features that the best window (the lowest bin with the most hits)
 *	  lacks they have none anywhere.  An error takes a feature from all taxa alike; so the
 *	  taxon of a read has what its relatives have, and more
 *	8 else the LCA of the taxa with h near h1 (kh_rule_near_genus), raised to genus; never the root
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
	uint32_t m = r->minima[kh_log2(n)], s = (n < 17 ? 3 : 4) + (r->precise ? 6 : 0);
	kh_minimum out;

	m = m > n >> 6 ? m : n >> 6;
	out.genus = m > 3 ? m : 3;
	out.species = s > m ? s : m;
	return out;
}

/* The least h of the taxa whose LCA is taken: for a species (the better the match, the
 * less is left to chance), for a genus or above. */
static KH_HD uint32_t kh_rule_near_species(const kh_rule *r, uint32_t h1, uint32_t n)
{
	uint32_t t = h1 >= n - n / 2 ? (r->precise ? 4 : 0) : r->precise ? 8 : h1 >= (n + 3) / 4 ? 2 : 3;

	t += h1 >> 5;
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

/* The LCA of a set of taxa, if it is a species or below; else KH_TAXON_NONE. */
static KH_HD uint32_t kh_rule_species(const kh_tree *t, kh_extent s)
{
	uint32_t taxon = kh_tree_lca(t, s.lo, s.hi);

	return t->species[taxon] != KH_TAXON_NONE ? taxon : KH_TAXON_NONE;
}

/* The LCA of a set, at genus or above; the root is none. */
static KH_HD uint32_t kh_rule_genus(const kh_tree *t, kh_extent g)
{
	uint32_t taxon = kh_tree_lca(t, g.lo, g.hi);

	if (t->genus[taxon] != KH_TAXON_NONE)
		taxon = t->genus[taxon];
	return taxon == 0 ? KH_TAXON_NONE : taxon;
}

#ifndef __CUDACC__
#include <stdbool.h>
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

/* --- the same in two steps, where others hold parts of the index ------------------------ */
/* The distinct features of a segment. */
typedef struct kh_segment {
	uint32_t n, span;
	bool only, last;                /* of its fragment */
} kh_segment;

/* What a job asks the index for: the features of its segments, one behind the other. */
typedef struct kh_asked {
	uint64_t *key;
	kh_segment *segment;
	size_t n, n_segments, cap_key, cap_segment;
} kh_asked;

/* The lists of one part: a length for each key asked of it, as in a bucket (index.h), then the
 * words of all lists. */
typedef struct kh_answer {
	const uint8_t *len;             /* NULL: this part is in our own memory */
	const uint32_t *word;
} kh_answer;

/* Of all parts; what has been taken is passed over. */
typedef struct kh_answers {
	const uint8_t *owner;           /* of each range: its part */
	kh_answer *part;
} kh_answers;

int kh_classify_ask(kh_classifier *c, const kh_job *job, kh_asked *a, kh_err *err);
int kh_classify_answer(kh_classifier *c, const kh_asked *a, kh_answers *answers, kh_call *call,
		       kh_sketches *sk, kh_err *err);
void kh_asked_clear(kh_asked *a);

/* The answer to n keys, `head` bytes behind the start of *p (malloc'd, the caller's).  Whoever
 * asked checks that it fits, then knows where its parts are. */
int kh_answer_make(const kh_db *db, const uint64_t *key, size_t n, size_t head, void **p,
		   size_t *bytes, kh_err *err);
int kh_answer_read(kh_answer *a, const void *p, size_t bytes, size_t n, kh_err *err);
#endif

#endif
