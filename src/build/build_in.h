/*
 * build_in.h - inside a build: build.c is the way of it, split_input.c says which process reads
 * what, plan.c what all takes, read.c reads, gather.c is between the processes, taxa.c finds the
 * targets, write_db.c makes the file
 */
#ifndef KH_BUILD_BUILD_IN_H
#define KH_BUILD_BUILD_IN_H

#include "backend/backend.h"
#include "base/timing.h"
#include "build/refs.h"
#include "index/shard.h"

/* A share of the digest of a sequence. */
struct part {
	uint64_t seq, digest;
};

struct worker {
	struct build *build;
	kh_timer timer;
	kh_pieces pieces;
	struct part *part;
	size_t n, cap;
};

struct totals {
	uint64_t bases, bins, sequences;
};

/* What this process has of the references: of the first of its files the bytes from from_byte on,
 * of the last those before to_byte (0: all of it). */
struct share {
	size_t first_file, n_files;
	uint64_t from_byte, to_byte;
	uint64_t text;                  /* bytes of text in the files of all processes, */
	bool text_known;                /*   unless one is no regular file */
	size_t first_seq, n_own;        /* its sequences among those of all processes, */
	uint32_t first_bin;             /*   and how far their bins have moved up */
};

/* One pass over the references. */
struct reading {
	kh_monitor *m;
	kh_feed *feed;                  /* NULL: this process reads nothing */
	kh_builder *builder;
	uint64_t memory;                /* for features, 0: no limit */
	struct worker *worker;          /* o->threads */
	double started, begun;          /* this pass, the first one */
};

/* The taxonomy, and the targets: the sequences that have a taxon of it. */
struct taxa {
	kh_taxdump *dump;
	kh_taxonomy *tax;
	uint32_t n_targets;
	uint32_t *target;               /* n_targets: number of the sequence */
	uint32_t *first, *taxon;        /* n_targets: kh_bins */
	kh_bin_map bins;                /* theirs, and those of their species */
	uint32_t *to;                   /* all sequences: first bin among targets, or KH_DROP */
	uint32_t *old_first; /* this process's: their first bin as it was when they were read */
};

/* The database file. */
struct file {
	kh_db_writer *w;
	kh_range *dir;
	uint64_t image_bytes;
	unsigned ranges;                /* made so far, by this process */
	kh_db_stretch *kept; /* of several processes: their images, until their places are known */
};

struct build {
	const kh_build_options *o;
	kh_build_summary *sum;
	kh_choice choice;
	kh_sampling sampling;
	uint32_t gap;
	struct totals all;              /* of all processes */
	kh_refs refs; /* this process's sequences, and from kh_build_gather on those of all */
	struct share mine;
	struct reading in;
	struct taxa taxa;
	struct file out;
};

/* Which of the references are this process's; a guess at the bases of all, if k is not given. */
int kh_build_deal(struct build *b, uint64_t *bases, kh_err *err);

/* One pass over this process's references, with b->sampling. */
int kh_build_read(struct build *b, kh_err *err);
/* Bytes of text in a block. */
size_t kh_build_block_size(const struct build *b);
/* Of that pass, all but its figures. */
void kh_build_forget(struct build *b);
/* Sums of sequences, of which several workers have read parts. */
int kh_build_add_digests(struct build *b, kh_err *err);

/* b->sum->estimate and b->in.memory; fails if there is too little memory. */
int kh_build_plan(struct build *b, kh_err *err);
/* The same of the backend, whose builder is open. */
int kh_build_plan_backend(const struct build *b, kh_err *err);

/* The taxon of each sequence; those that have one become targets. */
int kh_build_find_taxa(struct build *b, kh_err *err);

/* --- between the processes; of one, nothing to do --- */
int kh_build_agree(const struct build *b, kh_err *err);
int kh_build_total(struct build *b, kh_err *err);
int kh_build_same_taxa(const struct build *b, kh_err *err);
/* All learn of all sequences; their ids only process 0.  Fails there if one occurs twice. */
int kh_build_gather(struct build *b, kh_err *err);
/* Process 0's n bytes, to all. */
int kh_build_share(const struct build *b, void *p, size_t n, kh_err *err);
int kh_build_create(struct build *b, kh_err *err);
/* The ranges that were kept are written, and all know of all: b->dir. */
int kh_build_join(struct build *b, kh_err *err);

/* The pairs are encoded and written with all that belongs to them; the file is complete. */
int kh_build_write(struct build *b, kh_err *err);

#endif
