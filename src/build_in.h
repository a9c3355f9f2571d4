/*
 * build_in.h - inside a build: build.c reads and maps, build_write.c makes the file,
 * build_deal.c says who reads what, build_ranks.c is between the ranks
 */
#ifndef KH_BUILD_IN_H
#define KH_BUILD_IN_H

#include "backend.h"
#include "laps.h"
#include "refs.h"
#include "shard.h"

/* A share of the digest of a sequence. */
struct part {
	uint64_t seq, digest;
};

struct worker {
	struct build *build;
	kh_laps laps;
	kh_pieces pieces;
	struct part *part;
	size_t n, cap;
};

struct totals {
	uint64_t bases, bins, sequences;
};

struct build {
	const kh_build_options *o;
	kh_build_summary *sum;
	kh_sketch sketch;
	uint32_t gap;
	kh_choice choice;
	kh_monitor *m;
	kh_feed *feed;
	kh_builder *builder;
	size_t first_file, n_files;     /* this rank's of the references, */
	uint64_t from_byte, to_byte;    /*   the first from this one on, the last to that; 0: all */
	kh_refs refs;                   /* this rank's, and from kh_build_gather on those of all */
	struct totals all;              /* of all ranks */
	size_t first_seq, n_own;        /* this rank's sequences among all, */
	uint32_t first_bin;             /*   and how far their bins have moved up */
	struct worker *worker;
	kh_taxdump *dump;
	kh_taxonomy *tax;
	/* targets: the sequences that have a taxon */
	uint32_t *target;               /* n_targets: number of the sequence */
	uint32_t *first, *taxon;        /* n_targets: kh_bins */
	uint32_t *to;                   /* all sequences: their first bin among targets, or KH_DROP */
	uint32_t *old_first;            /* this rank's: their first bin as it was when they were read */
	uint32_t n_targets;
	kh_db_writer *w;
	kh_range *dir;
	uint64_t image_bytes;
	unsigned ranges;                /* made so far, by this rank */
	kh_db_stretch *kept;            /* of several ranks: their images, until it is known where they go */
	double started, begun;          /* this pass, the first one */
};

/* Which of the references are this rank's; a guess at the bases of all, if k is not given. */
int kh_build_deal(struct build *b, uint64_t *bases, kh_err *err);

/* --- between the ranks; of one, nothing to do --- */
int kh_build_agree(const struct build *b, kh_err *err);
int kh_build_total(struct build *b, kh_err *err);
int kh_build_same_taxa(const struct build *b, kh_err *err);
/* All learn of all sequences; their ids only rank 0.  Fails there if one occurs twice. */
int kh_build_gather(struct build *b, kh_err *err);
/* Rank 0's n bytes, to all. */
int kh_build_share(const struct build *b, void *p, size_t n, kh_err *err);
int kh_build_create(struct build *b, kh_err *err);
/* The ranges that were kept are written, and all know of all: b->dir. */
int kh_build_join(struct build *b, kh_err *err);

/* The pairs are encoded and written with all that belongs to them; the file is complete. */
int kh_build_write(struct build *b, kh_err *err);

#endif
