/*
 * lists.h - the keys of a range in order, each with its list: what an index is encoded from
 *
 * Lists are cut by species (bins.h).  They are made of the pairs of a build, or are those of an
 * index that was taken apart, with new pairs merged in (grow.h).
 */
#ifndef KH_INDEX_LISTS_H
#define KH_INDEX_LISTS_H

#include "index/cut.h"

/* Pairs of one range, sorted by key, equal keys by location. */
typedef struct kh_pairs {
	uint64_t *key;                  /* the low 40 bits */
	uint32_t *loc;
	size_t n;
} kh_pairs;

/* To be cleared; it may be used again. */
typedef struct kh_lists {
	size_t n, n_words, n_longer;
	uint64_t *key;                  /* n, ascending: the low 40 bits */
	uint8_t *len;                   /* n: words of the list; KH_LIST_OVER: more than
					 * KH_LIST_MAX */
	uint32_t *word;                 /* n_words: the lists one behind another */
	uint32_t *longer;               /* n_longer: words of those that are longer, in order */
	size_t cap[4];
} kh_lists;

/* Words of list i; *longer points to the lengths of the longer ones from it on, and goes on. */
static inline size_t kh_lists_words(const kh_lists *l, size_t i, const uint32_t **longer)
{
	return l->len[i] == KH_LIST_OVER ? *(*longer)++ : l->len[i];
}

/* Keys from .. to - 1, which share an entry of the index. */
typedef struct kh_entry {
	size_t from, to;
	const uint32_t *word, *longer;  /* their lists; lengths of the longer ones among these */
	size_t n_words, n_longer;
} kh_entry;

/* Makes it empty, with room for so many. */
int kh_lists_start(kh_lists *l, size_t keys, size_t words, kh_err *err);
/* The next key, whose list of n > 0 words stands behind the words of the others already. */
int kh_lists_add(kh_lists *l, uint64_t key, size_t n, kh_err *err);
/* The list of the pairs from .. to - 1, which have one key: their distinct bins, cut by species.
 * It has room for one of each, and may be where their bins are. */
int kh_pairs_list(const kh_pairs *p, size_t from, size_t to, kh_cut *cut, const kh_bins *bins,
		  uint32_t *list, size_t *n, kh_err *err);
/* The lists of pairs. */
int kh_lists_of_pairs(kh_lists *l, const kh_pairs *p, kh_cut *cut, const kh_bins *bins,
		      kh_err *err);
void kh_lists_clear(kh_lists *l);

#endif
