/*
 * build.h - references in, a database out
 *
 *	blocks of sequence -> pieces of whole bins -> (key, bin) pairs -> 256 ranges,
 *	each sorted and encoded -> file
 *
 * Sequences are numbered in input order, and get bins as if each were a target.  Taxa are
 * looked up when all ids are known, so references are read once and may come from a
 * pipe; the bins of sequences that turn out to have no taxon are then closed up.
 *
 * A block's share of a sequence is sampled in whole bins: what is left behind its last
 * complete bin (fewer than stride + k bases) is carried to the next block, in the room
 * in front of its first piece.
 *
 * Of several ranks each reads a stretch of the references and numbers its sequences and bins
 * from 0.  Then all learn of all sequences (rank 0 keeps the ids and looks up the taxa),
 * the pairs go to the owners of their ranges, and each writes its part of the file.
 */
#ifndef KH_BUILD_H
#define KH_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "comm.h"
#include "db.h"
#include "feed.h"
#include "index.h"
#include "msg.h"
#include "sketch.h"

/* A stretch of one sequence in a block, starting at a bin. */
typedef struct kh_piece {
	uint64_t at;            /* its first base in the packed arrays */
	uint64_t starts;        /* k-mers that start in it and belong to it */
	uint64_t bases;         /* whole bins, or up to the end of the sequence */
	uint32_t bin;           /* its first bin, numbered over all sequences */
	uint32_t local;         /* the same, within the sequence */
	uint64_t seq;           /* number of the sequence */
} kh_piece;

/* One sequence. */
typedef struct kh_ref {
	uint64_t id;            /* offset in ids */
	uint64_t bases;
	uint64_t digest;
	uint32_t first_bin;
	uint32_t header_taxid;  /* 0: none */
	uint32_t file;          /* number of its file */
	uint32_t zero;
} kh_ref;

/* What a builder is given: the pieces of one block. */
typedef struct kh_sample {
	uint64_t ticket;        /* order of blocks: 0, 1, 2, ... */
	const uint64_t *bases;
	const uint32_t *amb;
	size_t n_words;
	const kh_piece *piece;
	size_t n;
} kh_sample;

/* From bins over the sequences that a rank has read to bins over the targets of all.
 * Sequence i has the bins from old.first[i] up to old.first[i + 1]; they become those from to[i] on;
 * KH_DROP: no target. */
#define KH_DROP UINT32_MAX
typedef struct kh_remap {
	kh_bins old;            /* .taxon is not used */
	const uint32_t *to;
} kh_remap;

/* The order-free checksum of a stretch of a sequence: a sum over its bins of a chain of
 * fmix64 over (number of the bin, packed bases, mask), so that blocks add up. */
uint64_t kh_digest(const kh_sample *s, const kh_piece *p, uint32_t stride);

/* k = ceil(log4(2 N)) + 4 for N bases, in 8..31: chance hits stay rare. */
uint32_t kh_default_k(uint64_t bases);

/* Bases of an s-mer for a k-mer: a density of 1/5 up to k = 19 (by default, up to 5e8
 * bases), where an index is small whatever is kept of it, and of 1/7 beyond. */
uint32_t kh_default_s(uint32_t k);

/* DESIGN: minima[i] = the least m with N * P(Poisson(lambda) >= m) <= 1/10000 for
 * n = 2^(i+1) - 1 features, the tail bounded by lambda^m / m!, in fixed point. */
void kh_minima(const kh_db_header *h, uint32_t minima[32]);

#define KH_STRIDE 112                   /* defaults */
#define KH_MAX_SPAN 1008
#define KH_MAX_UNMAPPED 0.5

typedef struct kh_build_options {
	const char *const *refs;
	size_t n_refs;
	const char *db;                 /* the file to make */
	const char *taxonomy;           /* folder of dump files */
	const char *const *maps;        /* accession2taxid or id-taxid tables, in order */
	size_t n_maps;
	kh_sketch sketch;               /* k = 0: kh_default_k; s = 0: by scheme and k */
	uint32_t max_span;
	unsigned threads;
	const char *device;             /* "auto", "cpu", "cuda..." */
	uint64_t memory;                /* bytes for pairs, 0: no limit */
	uint64_t gpu_memory;
	kh_comm *comm;                  /* NULL: one rank */
	double max_unmapped;            /* share of sequences, 0..1 */
	bool allow_duplicates;
	bool allow_no_eof;
	size_t block_size;
} kh_build_options;

typedef struct kh_build_summary {
	kh_db_header header;            /* as written */
	double seconds_open;            /* the backend, with its buffers */
	double seconds_read, seconds_map, seconds_write;
	double seconds_ready;           /* from the first block read to the index in memory; 0: never */
	const char *backend;
} kh_build_summary;

/* One call of each rank; of the summary, rank 0 has all, the others their seconds. */
int kh_build(const kh_build_options *o, kh_build_summary *sum, kh_err *err);

#endif
