/*
 * build.h - references in, a database out
 *
 *	blocks of sequence -> pieces of whole bins -> text -> stretches that are kept ->
 *	features, as (key, bin) pairs -> 256 ranges, each sorted and encoded -> file
 *
 * Sequences are numbered in input order, and get bins as if each were a target.  Taxa are
 * looked up when all ids are known, so references are read once and may come from a
 * pipe; the bins of sequences that turn out to have no taxon are then closed up.
 * Example, bins of 16 bases: sequences of 100, 50 and 30 bases have 7, 4 and 2 bins, and one more
 * behind each, so they begin with the bins 0, 8 and 13.  If the second sequence has no taxon, the
 * third one begins with bin 8.
 *
 * A block's share of a sequence is kept in whole bins: what is left behind its last
 * complete bin (fewer than stride + k bases) is carried to the next block, in the room
 * in front of its first piece.
 */
#ifndef KH_BUILD_H
#define KH_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "db/db.h"
#include "seqio/feed.h"
#include "index/index.h"
#include "build/pieces.h"
#include "base/memory_left.h"
#include "base/msg.h"
#include "io/output.h"
#include "kmer/sampling.h"

/* One sequence. */
typedef struct kh_ref {
	uint64_t id;            /* offset in ids */
	uint64_t bases;
	uint64_t digest;
	uint32_t first_bin;
	uint32_t header_taxid;  /* from its header line, or of its file; 0: none */
	uint32_t file;          /* number of its file */
	uint32_t known;         /* 1: somewhere k bases in a row are known; 0: no k-mer is */
} kh_ref;

/* For N bases ceil(log4(2 N)) + 4, from 8 to 18, with which chance hits are rare; 20 beyond 10^11
 * bases.  A chance hit is a comparison, and not a call, but no more than one look-up in three
 * should have one. */
uint32_t kh_default_k(uint64_t bases);
#define KH_BASES_18 UINT64_C(100000000000)
/* Bases of a bin: as few as do not take a slot from the lines of the index, but 64 at least where
 * they would, and more where 31 bits do not number the bins. */
uint32_t kh_default_stride(uint64_t bases);
/* Bases of an s-mer: the scheme alone keeps as few k-mers as there are to be seeds, or hardly more,
 * as seeds that lie further apart are in more reads without an error. */
uint32_t kh_default_s(uint64_t bases, uint32_t k, uint32_t stride);
/* The same of minhash: bases of a bin, which is a window, and features of it. */
uint32_t kh_default_minhash_stride(uint64_t bases);
uint32_t kh_default_minhash_s(uint64_t bases, uint32_t stride);
/* Of 2^32 features, how many are kept, so that text and index take about .75 bytes a base: one byte
 * in three is text, and by the slots in a line a seed takes 4.5 to 6 bytes. */
uint64_t kh_default_share(uint64_t bases, const kh_sampling *s);

/* defaults */
#define KH_MAX_UNMAPPED 0.05

typedef struct kh_build_options {
	const char *const *refs;
	size_t n_refs;
	const char *db;                 /* the file to make */
	/* NULL, or a database that the references join.  Then sampling is its own, but for
	 * sampling.least, which follows from max_db_size. */
	const kh_db *base;
	bool keep_all;                  /* also what is alike in strains of a species */
	bool translated;                /* with translated seeds: translated/section.h */
	const char *taxonomy;           /* folder of dump files, or NULL */
	/* from which the taxonomy is made, or which join that of the folder; NULL: none */
	const struct kh_lineages *lineages;
	bool header_lineages;           /* header lines have them */
	/* n_refs: the taxid of all its sequences, or 0; NULL: no file has one */
	const uint32_t *file_taxid;
	const char *const *maps;        /* accession2taxid or id-taxid tables, in order */
	size_t n_maps;
	/* of all references, nearly: what is not given follows from them; 0: from their number */
	uint64_t bases;
	kh_sampling sampling;           /* k, s, stride = 0: kh_default_k, _s, _stride */
	uint64_t max_db_size;           /* bytes of the file at most, 0: no limit: limit.h */
	unsigned threads;
	uint64_t memory;                /* bytes for features, others go to a file beside
					 * db; 0: as much as is left */
	bool dry_run;                   /* stops after checking the inputs and planning */
	double max_unmapped;            /* share of the added sequences, 0..1 */
	bool allow_duplicates;
	bool allow_no_eof;
	size_t block_size;
	kh_inflate_by inflate;          /* who inflates large gzip files */
} kh_build_options;

/* Is it known before the bases are counted what is sampled?  Else references may be read twice. */
static inline bool kh_build_settled(const kh_build_options *o)
{
	return o->bases > 0 || o->base;
}

/* Bytes that a build is going to take, estimated from the sizes of its inputs; after a dry run the
 * file is measured on a part of the features. */
typedef struct kh_build_estimate {
	/* false: an input is not a regular file, so its size is not known */
	bool known;
	uint64_t text;                  /* of all references, decompressed */
	uint32_t k;
	uint64_t features;
	/* memory and disk for them until all references have been read; */
	uint64_t pairs;
	uint64_t kept;                  /* the part of that in memory; the rest is on disk */
	uint64_t other;                 /* memory for all else */
	uint64_t alike;                 /* memory, before that, to find what strains share */
	uint64_t file;                  /* the database */
	/* of a dry run only: the bases of the references, and their different features */
	uint64_t bases, distinct;
	double share;                   /* of the different features, that the database has */
	bool thin;                      /* it has an index alone */
	kh_memory_left left;
} kh_build_estimate;

typedef struct kh_build_summary {
	kh_db_header header;            /* as written; zeros after a dry run */
	uint32_t species;               /* of the targets, as inspect counts them */
	kh_build_estimate estimate;
	double seconds_read, seconds_map, seconds_write;
} kh_build_summary;

/* Compressed bytes of those references that are gzip files of least..most bytes. */
uint64_t kh_build_gzipped(const kh_build_options *o, uint64_t least, uint64_t most);
int kh_build(const kh_build_options *o, kh_build_summary *sum, kh_err *err);

/* Copies the input, "-" or a FIFO, byte for byte, to a file beside the database, which goes away
 * when it is closed.  Its name is kh_out_file(*copy). */
int kh_spool(kh_out **copy, const char *input, const char *db, kh_err *err);

#endif
