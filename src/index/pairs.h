/*
 * pairs.h - the (key, bin) pairs of a build in host memory, by range
 *
 * Each block's pairs are partitioned stably into the 256 ranges and kept, 9 bytes a pair; a
 * range gathers its slices in the order of blocks and sorts them stably by key, so that equal
 * keys have ascending bins without being sorted by them. Beyond the limit of memory, slices go to
 * a temporary file (io/spill.h).
 *
 * Example: the pairs (0x50ae88c2ed0e, 3), (0x386cb3724e51, 3) and (0x50ae88c2ed0e, 9) of a block:
 * range 0x38 gets (0x6cb3724e51, 3), and range 0x50 (0xae88c2ed0e, 3) and (0xae88c2ed0e, 9).
 */
#ifndef KH_INDEX_PAIRS_H
#define KH_INDEX_PAIRS_H

#include <stddef.h>
#include "base/msg.h"
#include "index/index.h"

typedef struct kh_store kh_store;

/* Pairs of one range, sorted by key, equal keys by bin. */
typedef struct kh_pairs {
	uint64_t *key;                  /* the low 40 bits */
	uint32_t *loc;
	size_t n;
} kh_pairs;

/* `beside`: the spill file is made in its folder.  memory 0: no limit. */
int kh_store_new(kh_store **s, uint64_t memory, const char *beside, kh_err *err);
void kh_store_free(kh_store *s);

/* Keeps n pairs of block `ticket`; keys have 48 bits.  Thread-safe. */
int kh_store_add(kh_store *s, uint64_t ticket, const uint64_t *key, const uint32_t *bin, size_t n,
		 kh_err *err);

/* Room for the pairs of a range in key and loc, and for their sort. */
typedef struct kh_pair_scratch {
	uint64_t *key, *key2;
	uint32_t *loc, *loc2;
	size_t cap[4];
} kh_pair_scratch;
int kh_pair_scratch_grow(kh_pair_scratch *r, uint64_t n, kh_err *err);
/* Sorts the n pairs in key and loc stably by key; *out tells where they are then. */
void kh_pair_scratch_sort(kh_pair_scratch *r, size_t n, kh_pairs *out);
void kh_pair_scratch_clear(kh_pair_scratch *r);

/* Gathers the pairs of a range and sorts them. */
int kh_store_range(const kh_store *s, unsigned range, kh_pair_scratch *scratch, kh_pairs *out,
		   kh_err *err);

#endif
