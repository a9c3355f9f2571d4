/*
 * classify_in.h - inside the reference classifier: hits.c fills what classify.c decides on
 */
#ifndef KH_CLASSIFY_CLASSIFY_IN_H
#define KH_CLASSIFY_CLASSIFY_IN_H

#include <stdbool.h>
#include "classify/classify.h"

/* Features that are looked up together, or a few more: so many that the memory has always something
 * to do, and so few that their lists are still in the cache when they are counted. */
enum { KH_TOGETHER = 768 };

/* A bin and its matches, as bin << 32 | count, so that numbers are in the order of bins. */
typedef uint64_t bin_count;

/* The lists of some keys: a length for each, as in a bucket (index.h), 0: absent; and the words of
 * all, one list behind another. */
typedef struct kh_hit_lists {
	uint8_t *len;
	uint32_t *word;
	size_t n_words, cap_len, cap_word;
} kh_hit_lists;

struct kh_classifier {
	const kh_db *db;
	const kh_rule *rule;
	kh_tree tree;
	/* the segment that is sampled: its features */
	uint64_t *key;
	uint32_t *pos;
	size_t n_key;
	uint64_t *seen;                 /* open addressing, ~0: free */
	size_t seen_mask;
	/* segments that wait for a look-up of all their features, and the lists that come of it */
	kh_asked ahead;
	kh_hit_lists lists;
	/* the segment that is counted: its distinct features, and their lists */
	const uint64_t *feature;
	const uint8_t *len;
	const uint32_t *word;
	size_t n, n_words;
	/* matches by bin */
	bin_count *table;               /* open addressing, 0: free */
	size_t cap_table;
	bin_count *bin, *bin2;          /* used slots, then sorted */
	uint32_t *hits;                 /* of the window that starts at bin[i] */
	size_t n_bins, cap_bin, cap_bin2, cap_hits;
	/* the fragment: taxa with h > 0 */
	uint32_t *h, *best;             /* by taxon; best: of this segment */
	uint32_t *votes;                /* by species */
	uint32_t *touched;              /* taxa with h or best > 0 */
	uint32_t *voted;                /* species with votes */
	size_t n_touched, n_voted;
	bool begun;                     /* segments of the fragment have been counted */
	bool only;                      /* it is one segment, the one in len, bin, hits */
	kh_best top;                    /* if `only`: its best window */
	uint32_t *over;                 /* LCAs of overpopulated features, with repeats */
	size_t n_over, cap_over;
	uint64_t *found;                /* the keys that the index has, if they are wanted */
	size_t n_found, cap_found;
	kh_call call;
	kh_candidates *wanted;          /* of the next fragment, or NULL */
	kh_places *places;              /* of the job, or NULL */
	uint32_t number;                /* of the fragment in the job */
	/* where calls go, and the features of those that are called, or NULL */
	kh_call *to;
	kh_distinct *distinct;
};

/* Adds the features of r that start at [from, to) to the segment's. */
void kh_hits_sample(kh_classifier *c, const kh_block *b, const kh_record *r, uint64_t from,
		    uint64_t to);

/* Keeps the first of equal features. */
void kh_hits_distinct(kh_classifier *c);

/* Adds a segment of `span` bases, with its distinct features, to n, h and the overpopulated. If
 * the fragment is one segment, windows that cannot come near h1 are left out. */
int kh_hits_segment(kh_classifier *c, uint64_t span, bool want_keys, kh_err *err);

/* Finds the lists of n keys, in the index or in the answers. */
int kh_lookup(const kh_db *db, const uint64_t *key, size_t n, kh_hit_lists *to, kh_err *err);
int kh_lookup_answered(kh_answers *a, const kh_db *db, const uint64_t *key, size_t n,
		       kh_hit_lists *to, kh_err *err);
void kh_hit_lists_clear(kh_hit_lists *l);
/* Adds a segment whose features are to be looked up. */
int kh_asked_add(kh_asked *a, const uint64_t *key, kh_segment s, kh_err *err);

#endif
