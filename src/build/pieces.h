/*
 * pieces.h - pieces of reference sequences in a block of packed bases, and their features
 */
#ifndef KH_BUILD_PIECES_H
#define KH_BUILD_PIECES_H

#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"
#include "kmer/sampling.h"

/* What a block has of one sequence, from a bin on. */
typedef struct kh_piece {
	uint64_t at;            /* its first base in the packed arrays */
	uint64_t starts;        /* k-mers that start in it and belong to it */
	uint64_t bases;         /* whole bins, or up to the end of the sequence */
	uint32_t bin;           /* its first bin, numbered over all sequences */
	uint32_t local;         /* the same, within the sequence */
	uint64_t seq;           /* number of the sequence */
} kh_piece;

/* The pieces of one block. */
typedef struct kh_block_pieces {
	uint64_t ticket;        /* order of blocks: 0, 1, 2, ... */
	const uint64_t *bases;
	const uint32_t *amb;
	const kh_piece *piece;
	size_t n;
} kh_block_pieces;

/* Features with the bins that they start in, in arrays that grow: free() both. */
typedef struct kh_features {
	uint64_t *key;
	uint32_t *bin;
	size_t n, cap_key, cap_bin;
} kh_features;

/* Finds the features of all pieces of a block, in order. */
int kh_pieces_features(kh_features *to, const kh_block_pieces *s, const kh_sampling *sampling,
		       kh_err *err);

/* The order-free checksum of a piece: a sum over its bins of a chain of fmix64 over (number of the
 * bin, packed bases, mask), so that the pieces of a sequence add up. */
uint64_t kh_digest(const kh_block_pieces *s, const kh_piece *p, uint32_t stride);

#endif
