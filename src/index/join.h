/*
 * join.h - the lists of an index joined by new pairs
 *
 * Both come in the order of keys.  Nearly all lists stay as they are, also where their key has
 * new pairs: most of these are in a species that the list has as a vote.
 */
#ifndef KH_INDEX_JOIN_H
#define KH_INDEX_JOIN_H

#include <stdbool.h>
#include "index/lists.h"

/* Everything is borrowed. */
typedef struct kh_join {
	kh_lists *out;                  /* what has been joined; with room for all */
	kh_cut *cut;
	const kh_bins *bins;
	const kh_pairs *p;
	size_t next;                    /* of p */
	uint32_t first_target;          /* that a pair may be of */
} kh_join;

/* Adds the keys of pairs that are below `key`. */
int kh_join_below(kh_join *j, uint64_t key, kh_err *err);
/* Adds a key with its list of n words, which may be none; those of pairs that are below it have
 * been added.  The list is cut anew if it has new locations, or if `cut`. */
int kh_join_list(kh_join *j, uint64_t key, const uint32_t *list, size_t n, bool cut, kh_err *err);
/* Adds n keys, whose lists are cut, of up to KH_LIST_MAX words and one behind another, and those of
 * pairs below the last of them. */
int kh_join_lists(kh_join *j, const uint64_t *key, const uint8_t *len, const uint32_t *word,
		  size_t n, kh_err *err);

#endif
