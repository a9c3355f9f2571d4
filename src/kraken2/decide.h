/*
 * decide.h - from what the k-mers of a fragment were called to its own call
 *
 * Each taxon hit has as its score the hits on the way from it up to the root.  The best score wins,
 * the lowest common ancestor of several with the same.  Then the call goes up until its clade has
 * the share of all k-mers that --confidence asks for.
 *
 * Example: of 10 k-mers 5 are E. coli, 3 Escherichia, 2 S. enterica.  E. coli has the score 5 + 3,
 * and is called.  With a confidence of .7 it is not, as its clade has 5 of 10, but Escherichia is,
 * with 8 of 10.
 */
#ifndef KH_KRAKEN2_DECIDE_H
#define KH_KRAKEN2_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include "base/msg.h"
#include "kraken2/rule.h"

/* A taxon that was hit. */
typedef struct kh_k2_hit {
	uint32_t taxon, n;
	uint32_t score;
	uint32_t above;                 /* index of the next one towards the root, or UINT32_MAX */
} kh_k2_hit;

/* Zero it first. */
typedef struct kh_k2_decider {
	kh_k2_hit *hit;
	size_t n, cap;
} kh_k2_decider;

void kh_k2_decider_clear(kh_k2_decider *d);

/* A fragment: its runs, of keys or codes, and the taxa of keys by their numbers. */
typedef struct kh_k2_fragment {
	kh_k2_run *run;
	size_t n_runs;
	const uint32_t *taxon;
	size_t first_key;               /* keys below belong to fragments before */
	bool mates;
} kh_k2_fragment;

typedef struct kh_k2_verdict {
	uint32_t taxon;                 /* or KH_NO_TAXON */
	uint32_t score, groups;
	uint64_t kmers;
	size_t keys;                    /* that were looked at: of a quick search not all */
} kh_k2_verdict;

/* Replaces keys in the runs by taxa; a quick search ends with fewer runs. */
int kh_k2_decide(kh_k2_decider *d, const kh_k2_rule *r, const kh_tree *t, kh_k2_fragment *f,
		 kh_k2_verdict *v, kh_err *err);

#endif
