/*
 * refs.h - the reference sequences of a build: their ids, lengths and bins, and how the
 * blocks of a file become pieces of whole bins
 *
 * Used where the blocks of a feed are settled only, by one thread at a time.
 */
#ifndef KH_REFS_H
#define KH_REFS_H

#include "build.h"
#include "targets.h"

typedef struct kh_refs {
	kh_ref *ref;                    /* n, in input order */
	size_t n, cap;
	char *ids;                      /* NUL-terminated */
	size_t ids_len, cap_ids;
	kh_idmap *map;                  /* wants ref i as number i, if none was a duplicate */
	size_t *number;                 /* the number of ref i in map */
	size_t n_numbered, cap_number;
	uint64_t bases;                 /* of all */
	bool allow_duplicates;
	bool number_later;              /* by kh_refs_number, when those of other ranks are there */
	uint64_t next_bin;              /* 64 bits: may pass what a bin can be */
	kh_sketch sketch;
	uint32_t gap;
	/* the open sequence: what is left behind its last whole bin */
	bool open;
	uint64_t done;                  /* its bases before the carry */
	uint64_t *carry_bases;
	uint32_t *carry_amb;
	uint32_t carry;                 /* bases, less than stride + k */
} kh_refs;

int kh_refs_init(kh_refs *r, const kh_sketch *sk, uint32_t gap, kh_err *err);
void kh_refs_clear(kh_refs *r);

/* Room that pieces need in front of a block, in bases: a multiple of 32. */
size_t kh_refs_front(const kh_sketch *sk);

/* Where the block is settled: its sequences join r, its pieces are appended to *piece (grown as
 * needed); carried bases are written in front of the first piece. */
typedef struct kh_pieces {
	kh_piece *v;
	size_t n, cap;
} kh_pieces;
int kh_refs_settle(kh_refs *r, kh_block *b, const char *path, kh_pieces *out, kh_err *err);

/* The next sequence's id joins the map.  Fails if it has none, or another one had it before. */
int kh_refs_number(kh_refs *r, const char *path, kh_err *err);

static inline const char *kh_refs_id(const kh_refs *r, size_t i)
{
	return r->ids + r->ref[i].id;
}

#endif
