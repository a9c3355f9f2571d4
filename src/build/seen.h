/*
 * seen.h - k-mers that were seen, each with the places where it was seen first and last
 */
#ifndef KH_BUILD_SEEN_H
#define KH_BUILD_SEEN_H

#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"
#include "kmer/kmer.h"

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
