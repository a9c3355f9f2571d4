/*
 * seen.h - finds text that is alike, by k-mers: which k-mers are taken, and a table of those that
 * were seen, each with the first and the last place where it was
 */
#ifndef KH_BUILD_SEEN_H
#define KH_BUILD_SEEN_H

#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"
#include "kmer/kmer.h"
#include "kmer/text.h"

/* One in four of the k-mers of a scheme: one k-mer in KH_SEEN_EACH. */
enum {
	KH_SEEN_K = 16,
	KH_SEEN_S = 12,
	KH_SEEN_EACH = 4 * (KH_SEEN_K - KH_SEEN_S + 1),
	KH_SEEN_ROW = 4096,             /* bases of a row of tiles */
	/* so many of a row, or of a tile, at most */
	KH_SEEN_OF_ROW = KH_SEEN_ROW / ((KH_SEEN_K - KH_SEEN_S) / 2 + 1) + 1,
	KH_SEEN_OF_TILE = KH_TEXT_SPAN / ((KH_SEEN_K - KH_SEEN_S) / 2 + 1) + 1
};

/* Writes the k-mers of these bases of a text that begin in the first KH_SEEN_ROW of them, and where
 * they begin; returns how many.  Base `at` is the first one of a word of the text. */
size_t kh_seen_sample(const uint32_t *text, uint64_t at, uint64_t bases, uint64_t *key,
		      uint32_t *pos);

typedef struct kh_seen_at {
	uint64_t key;                   /* plus 1; 0: free */
	struct {
		uint32_t member, at;
	} place[2];                     /* the first one, and the last one */
} kh_seen_at;

/* Open addressing. */
typedef struct kh_seen {
	kh_seen_at *slot;
	size_t n, size;                 /* a power of two */
} kh_seen;

/* Room for about n of them; it grows if there are more. */
int kh_seen_init(kh_seen *s, size_t n, kh_err *err);
void kh_seen_clear(kh_seen *s);
int kh_seen_add(kh_seen *s, uint64_t key, uint32_t member, uint32_t at, kh_err *err);

static inline kh_seen_at *kh_seen_first(const kh_seen *s, uint64_t key)
{
	return &s->slot[kh_fmix64(key) & (s->size - 1)];
}

/* Where the key is, or would be: a free slot. */
static inline kh_seen_at *kh_seen_slot(const kh_seen *s, uint64_t key)
{
	kh_seen_at *at = kh_seen_first(s, key);

	while (at->key != 0 && at->key != key + 1)
		at = at + 1 == s->slot + s->size ? s->slot : at + 1;
	return at;
}

#endif
