/*
 * rule.h - the rule: from the hits of a fragment to its taxon   [HD]
 *
 * The rule, all in integers (kmerhash-method(7)):
 *	1 a fragment (a read, or a pair) is one segment, or, if it is longer than max_span,
 *	  is cut into segments of max_span bases; f = the distinct features of a segment,
 *	  n = their number summed over segments
 *	2 hits(b) of a segment = its (feature, bin) matches in bins b .. b + r - 1, where
 *	  r = 1 + ceil(span / stride); at most the segment's number of features
 *	3 S(target) = its best hits; h(taxon) = the best S of its targets, summed over segments
 *	4 V(species) = features that vote for it, summed over segments; h(taxon) += V of its species
 *	  where h > 0, and h(species) = V where it has no other
 *	5 o(taxon) = overpopulated features whose LCA is the taxon, above or below it;
 *	  h += o where h > 0
 *	6 h1 = the greatest h; too small (kh_rule_minimum) or below the confidence -> none
 *	7 if h1 is enough for a species: the LCA of the taxa with h near h1 (kh_rule_near_species),
 *	  if that is a species or below
 *	8 else, of a fragment that is one segment: the same of those taxa that have h1 or are
 *	  rivals: they have a feature, anywhere, that the best window lacks (kh_best).  An error
 *	  takes a feature from all taxa alike; so the taxon of a read has what its relatives have,
 *	  and more
 *	9 else the LCA of the taxa with h near h1 (kh_rule_near_genus), raised to genus;
 *	  never the root
 * No list of candidates is cut, so nothing depends on order.
 *
 * The CPU and each kernel find h in their own ways; what follows from h stands here, once:
 * kh_rule_least says which windows can matter at all, and steps 6 to 9 are a kh_decision, which
 * asks for one set of taxa after the other and is told its extent.
 */
#ifndef KH_CLASSIFY_RULE_H
#define KH_CLASSIFY_RULE_H

#include "index/bins.h"
#include "kmer/sampling.h"
#include "taxonomy/tree.h"

/* What is wanted of a fragment beside its call. */
enum { KH_WANT_NONE, KH_WANT_CANDIDATES, KH_WANT_SECOND };

/* What a run is decided by; from the database and the options. */
typedef struct kh_rule {
	kh_sampling sampling;
	uint32_t max_span;
	/* in 1/1000: h1 must be at least this share of n features */
	uint32_t confidence;
	uint32_t candidates;            /* kh_candidates: KH_WANT_... */
	uint32_t text;                  /* 1: fragments are compared with text (match_rule.h) */
	uint32_t minima[32];
} kh_rule;

/* Where fragments are compared with text, what is counted of them has nothing to do with what is
 * looked up: k-mers of so many bases, at every so many bases. */
#define KH_TEXT_KMER 12
#define KH_TEXT_STEP 5

/* What the features that a call counts are like. */
static KH_HD kh_sampling kh_rule_counted(const kh_rule *r)
{
	kh_sampling s = r->sampling;

	if (r->text) {
		s.scheme = KH_MINHASH;
		s.k = KH_TEXT_KMER;
		s.s = 1;
		s.stride = KH_TEXT_STEP;
		s.least = 0;
	}
	return s;
}

/* The result of a fragment. */
typedef struct kh_call {
	uint32_t taxon;                 /* preorder number, or KH_NO_TAXON */
	uint32_t features;              /* n */
	uint32_t hits;                  /* h1, at most n */
	uint32_t found;                 /* features that the index has */
} kh_call;

static_assert(sizeof(kh_call) == 16, "kh_call is copied from devices");

/* --- windows ------------------------------------------------------------------------ */
/* Bins that a window of `span` bases can touch. */
static KH_HD uint32_t kh_rule_window(const kh_rule *r, uint64_t span)
{
	return 1 + (uint32_t)((span + r->sampling.stride - 1) / r->sampling.stride);
}

/*
 * The best window of a segment: that of the lowest bin with the greatest score, which is its
 * hits and the votes for its species; where those alone are most, the bin of a species.  It has
 * a feature that lies in one of its bins, or that votes for its species.
 */
typedef struct kh_best {
	uint32_t score;
	uint32_t first, bins;
	uint32_t vote;                  /* the bin of its species */
} kh_best;

static KH_HD int kh_best_has(const kh_best *w, uint32_t bin)
{
	return (bin >= w->first && bin - w->first < w->bins) || bin == w->vote;
}

/* Is the window of `bin` better than w? */
static KH_HD int kh_best_below(const kh_best *w, uint32_t score, uint32_t bin)
{
	return score > w->score || (score == w->score && bin < w->first);
}

/* How a taxon is a rival: a mark by taxon, of these two.  A vote speaks for all of a species. */
enum { KH_RIVAL_PLACE = 1, KH_RIVAL_VOTE = 2 };

static KH_HD int kh_rival(uint32_t mark, uint32_t mark_of_species)
{
	return (mark & KH_RIVAL_PLACE) || (mark_of_species & KH_RIVAL_VOTE);
}

/* --- thresholds --------------------------------------------------------------------- */
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

/* Where a database has a share of the features only, as many of `hits`, and one more. */
static KH_HD uint32_t kh_rule_of_share(const kh_rule *r, uint32_t hits)
{
	const uint64_t share = kh_sampling_share(&r->sampling);
	const uint32_t some = 1 + (uint32_t)((hits * share + UINT32_MAX) >> 32);

	return some < hits ? some : hits;
}

static KH_HD kh_minimum kh_rule_minimum(const kh_rule *r, uint32_t n)
{
	const uint32_t g = kh_rule_of_share(r, 3);
	const uint32_t s = kh_rule_of_share(r, n < 17 ? 3 : 4);
	uint32_t m = r->minima[kh_log2(n)];
	kh_minimum out;

	m = m > n >> 6 ? m : n >> 6;
	out.genus = m > g ? m : g;
	out.species = s > m ? s : m;
	return out;
}

/* Is h1 enough to call anything? */
static KH_HD int kh_rule_enough(const kh_rule *r, uint32_t h1, uint32_t n)
{
	return n > 0 && h1 >= kh_rule_minimum(r, n).genus &&
	       UINT64_C(1000) * h1 >= (uint64_t)r->confidence * n;
}

/* h1 less a tolerance, which grows with h1: the more features agree, the more of them differ by
 * chance. */
static KH_HD uint32_t kh_rule_below(uint32_t h1, uint32_t tolerance)
{
	tolerance += h1 >> 5;
	return h1 > tolerance ? h1 - tolerance : 1;
}

/* The least h of the taxa whose LCA is taken for a species. */
static KH_HD uint32_t kh_rule_near_species(uint32_t h1, uint32_t n)
{
	const int half = h1 >= n - n / 2, quarter = h1 >= (n + 3) / 4;

	if (half)                       /* a close match: its species is told by a single feature */
		return kh_rule_below(h1, 0);
	if (quarter)                    /* somewhat diverged: one or two may be chance */
		return kh_rule_below(h1, 2);
	return kh_rule_below(h1, 3);    /* far from any reference: chance has the most room */
}

/* The least h of the taxa whose LCA is taken for a genus or above. */
static KH_HD uint32_t kh_rule_near_genus(uint32_t h1)
{
	return kh_rule_below(h1, 1);
}

/* What a fragment could be, for what is decided by the sample: the species of taxa with
 * h >= h1 - KH_CANDIDATE_DROP (of several segments, KH_CANDIDATE_DROP_LONG) and
 * h >= KH_CANDIDATE_LEAST, each by the best of its taxa.  None, if hits are from overpopulated
 * features alone, if there are more than KH_CANDIDATES of them, or if one of these taxa has no
 * species. */
#define KH_CANDIDATES 12
#define KH_CANDIDATE_DROP 3
#define KH_CANDIDATE_DROP_LONG 8
#define KH_CANDIDATE_LEAST 2    /* one hit is chance */
typedef struct kh_candidates {
	uint32_t species[KH_CANDIDATES];        /* ascending, then KH_NO_TAXON */
	uint8_t drop[KH_CANDIDATES];            /* h1 - h, 0 where there is none */
	uint32_t bin;           /* where the best window begins; KH_NO_BIN: in no target */
} kh_candidates;

static_assert(sizeof(kh_candidates) == 64, "kh_candidates is copied from devices");

static KH_HD kh_candidates kh_candidates_none(void)
{
	kh_candidates c;

	for (int i = 0; i < KH_CANDIDATES; i++) {
		c.species[i] = KH_NO_TAXON;
		c.drop[i] = 0;
	}
	c.bin = KH_NO_BIN;
	return c;
}

/* Adds a species with h, or raises the h that it has: *n of them, ascending.  0: there are too
 * many. */
static KH_HD int kh_candidates_add(kh_candidates *out, uint32_t h[KH_CANDIDATES], int *n,
				   uint32_t species, uint32_t most)
{
	int at = 0;

	while (at < *n && out->species[at] < species)
		at++;
	if (at < *n && out->species[at] == species) {
		h[at] = most > h[at] ? most : h[at];
		return 1;
	}
	if (*n == KH_CANDIDATES)
		return 0;
	for (int i = (*n)++; i > at; i--) {
		out->species[i] = out->species[i - 1];
		h[i] = h[i - 1];
	}
	out->species[at] = species;
	h[at] = most;
	return 1;
}

/* Of a fragment of several segments, where one of these lies: the lowest bin with the most hits of
 * a window in it, or KH_NO_BIN.  `fragment`: its number in the job. */
typedef struct kh_located {
	uint32_t fragment, bin;
} kh_located;

static_assert(sizeof(kh_located) == 8, "kh_located is sent to other processes");

/* The second-best taxon, where that is wanted, in place of candidates: of the taxa that are of
 * another species than the best, the one with the greatest h, if that is at least
 * KH_CANDIDATE_LEAST.  It is species[0], or KH_NO_TAXON; its h is in `bin`.  Of several with the
 * same h, the best as well as the second is that of the lowest number. */
static KH_HD uint32_t kh_second_group(const kh_tree *t, uint32_t taxon)
{
	return t->species[taxon] != KH_NO_TAXON ? t->species[taxon] : taxon;
}

static KH_HD kh_candidates kh_candidates_second(uint32_t taxon, uint32_t h)
{
	kh_candidates c = kh_candidates_none();

	c.species[0] = h >= KH_CANDIDATE_LEAST ? taxon : KH_NO_TAXON;
	c.bin = h >= KH_CANDIDATE_LEAST ? h : 0;
	return c;
}

/* Nothing of what is wanted: KH_WANT_... */
static KH_HD kh_candidates kh_candidates_nothing(uint32_t want)
{
	return want == KH_WANT_SECOND ? kh_candidates_second(KH_NO_TAXON, 0)
				      : kh_candidates_none();
}

static KH_HD int kh_candidate_near(uint32_t h, uint32_t h1, int one_segment)
{
	return h >= KH_CANDIDATE_LEAST &&
	       h + (one_segment ? KH_CANDIDATE_DROP : KH_CANDIDATE_DROP_LONG) >= h1;
}

/* Candidates are filled species by species, ascending. This gives the species of a taxon whose h
 * is near, if it is one from `from` on, which is what is asked for now; else UINT32_MAX. */
static KH_HD uint32_t kh_candidate_species(const kh_tree *t, uint32_t taxon, uint32_t from)
{
	const uint32_t s = t->species[taxon];

	return s >= from ? s : UINT32_MAX;
}

/* What is known of the hits of a segment before they are counted by taxon. */
typedef struct kh_hits_most {
	uint32_t hits;                  /* of the best window in a target */
	uint32_t votes;                 /* of the species that has most */
	uint32_t over;                  /* features that are overpopulated */
} kh_hits_most;

/* For a fragment of one segment with n features: the least hits of a window that can matter. What
 * matters is near h1, which is at least the most hits, and the most votes; a window's taxon has
 * at most its hits, and the most votes, and all that is overpopulated. */
static KH_HD uint32_t kh_rule_least(const kh_rule *r, kh_hits_most m, uint32_t n)
{
	const uint32_t h1 = m.hits > m.votes ? m.hits : m.votes, more = m.votes + m.over;
	const uint32_t species = kh_rule_near_species(h1, n), genus = kh_rule_near_genus(h1);
	uint32_t near = genus < species ? genus : species;

	if (r->candidates == KH_WANT_SECOND && near > KH_CANDIDATE_LEAST)
		near = KH_CANDIDATE_LEAST;
	if (r->candidates == KH_WANT_CANDIDATES && near + KH_CANDIDATE_DROP > h1)
		near = h1 > KH_CANDIDATE_DROP ? h1 - KH_CANDIDATE_DROP : 1;
	return near > more ? near - more : 1;
}

/* --- the order of decision ---------------------------------------------------------- */
/* What a decision asks for: the extent of those taxa with h > 0 that kh_decision_takes. */
enum {
	KH_ASK_SPECIES,                 /* step 7 */
	KH_ASK_RIVALS,                  /* step 8: whether a taxon is a rival is now needed */
	KH_ASK_GENUS,                   /* step 9 */
	KH_ASK_NOTHING                  /* it is decided */
};

typedef struct kh_decision {
	uint32_t ask;
	uint32_t near;                  /* the least h of the taxa asked for */
	uint32_t h1;
	uint32_t taxon;                 /* the call, once it is decided */
	/* rivals may be asked for: the fragment is one segment and has windows */
	uint32_t rivals;
	uint32_t over;                  /* h comes from overpopulated features alone */
} kh_decision;

/* Whether a taxon is in the set that is asked for; `rival` counts for KH_ASK_RIVALS only. */
static KH_HD int kh_decision_takes(const kh_decision *d, uint32_t h, int rival)
{
	return h >= d->near && (d->ask != KH_ASK_RIVALS || h == d->h1 || rival);
}

static KH_HD void kh_decision_ask_genus(kh_decision *d)
{
	d->ask = KH_ASK_GENUS;
	d->near = kh_rule_near_genus(d->h1);
}

/* The first question about n features, of which the best taxon has h1.  `windows`: h comes from
 * windows, not from overpopulated features alone. */
static KH_HD kh_decision kh_decision_begin(const kh_rule *r, uint32_t h1, uint32_t n, int windows,
					   int one_segment)
{
	kh_decision d;

	d.ask = KH_ASK_SPECIES;
	d.h1 = h1;
	d.near = 0;
	d.taxon = KH_NO_TAXON;
	d.rivals = windows && one_segment;
	d.over = !windows;
	if (!kh_rule_enough(r, h1, n))
		d.ask = KH_ASK_NOTHING;
	else if (h1 >= kh_rule_minimum(r, n).species)
		d.near = kh_rule_near_species(h1, n);
	else
		kh_decision_ask_genus(&d);
	return d;
}

/* The call for a taxon at genus or above; the root becomes no call. */
static KH_HD uint32_t kh_rule_raise(const kh_tree *t, uint32_t taxon)
{
	if (t->genus[taxon] != KH_NO_TAXON)
		taxon = t->genus[taxon];
	return taxon == 0 ? KH_NO_TAXON : taxon;
}

static KH_HD void kh_decision_call(kh_decision *d, const kh_tree *t, uint32_t taxon)
{
	/* features that very many targets have cannot tell taxa below a species apart */
	if (d->over && taxon != KH_NO_TAXON && t->species[taxon] != KH_NO_TAXON)
		taxon = t->species[taxon];
	d->taxon = taxon;
	d->ask = KH_ASK_NOTHING;
}

/* Takes the answer to what was asked, and asks the next question. */
static KH_HD void kh_decision_go_on(kh_decision *d, const kh_tree *t, kh_extent e)
{
	const uint32_t lca = kh_tree_lca(t, e.lo, e.hi);

	if (d->ask == KH_ASK_GENUS)
		kh_decision_call(d, t, kh_rule_raise(t, lca));
	else if (t->species[lca] != KH_NO_TAXON)
		kh_decision_call(d, t, lca);
	else if (d->ask == KH_ASK_SPECIES && d->rivals)
		d->ask = KH_ASK_RIVALS;
	else
		kh_decision_ask_genus(d);
}

#endif
