/*
 * bracken_sequences.h - which target of a database a sequence of its references is
 *
 * A database has the ids, the lengths and the digests of the sequences that it was made from, but
 * not the sequences.  So the user gives them once more.  The files may be in any order, but
 * sequences with the same id must be in the order of the build.  Whether they are the same is
 * known when all have been read.
 */
#ifndef KH_BUILD_BRACKEN_SEQUENCES_H
#define KH_BUILD_BRACKEN_SEQUENCES_H

#include "build/refs.h"
#include "db/db.h"

typedef struct kh_sequences {
	const kh_db *db;
	kh_idmap *ids;                  /* of targets, then of sequences without a taxon */
	size_t n_ids;                   /* of targets */
	/* by id: the first of its targets that has not been read, */
	uint32_t *to_come;
	uint32_t *next;                 /* by target: the next one of that id; NO_TARGET: none */
	uint32_t *target;               /* by sequence: its target, or NO_TARGET */
	_Atomic uint64_t *digest;       /* by sequence: the digest of what has been read of it */
	size_t n, n_all;                /* sequences that have begun, and all of them */
} kh_sequences;

#define KH_NO_TARGET UINT32_MAX

/* Zero it first; to be cleared even if that fails.  The database is borrowed. */
int kh_sequences_open(kh_sequences *s, const kh_db *db, kh_err *err);
void kh_sequences_clear(kh_sequences *s);

/* Begins the next sequence, of this file: one call at a time. Fails if the database was made
 * without it. */
int kh_sequences_begin(void *sequences, const char *id, const char *path, kh_err *err);
/* Adds a piece of sequence p->seq, when that sequence has begun; any thread. */
void kh_sequences_piece(kh_sequences *s, const kh_block_pieces *of, const kh_piece *p);
/* The taxon of sequence number i, as a preorder number, or KH_NO_TAXON. */
uint32_t kh_sequences_taxon(const kh_sequences *s, uint64_t i);
/* To be called when all have been read: fails unless they are those of the database, with the
 * same bases. */
int kh_sequences_check(const kh_sequences *s, const kh_refs *refs, kh_err *err);

#endif
