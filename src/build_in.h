/*
 * build_in.h - inside a build: build.c reads and maps, build_write.c makes the file
 */
#ifndef KH_BUILD_IN_H
#define KH_BUILD_IN_H

#include "backend.h"
#include "refs.h"

/* A share of the digest of a sequence. */
struct part {
	uint64_t seq, digest;
};

struct worker {
	kh_pieces pieces;
	struct part *part;
	size_t n, cap;
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
	kh_refs refs;
	struct worker *worker;
	kh_taxdump *dump;
	kh_taxonomy *tax;
	/* targets: the sequences that have a taxon */
	uint32_t *target;               /* n_targets: number of the sequence */
	uint32_t *first, *taxon;        /* n_targets: kh_bins */
	uint32_t *to, *old_first;       /* all sequences: kh_remap */
	uint32_t n_targets;
	kh_db_writer *w;
	kh_range *dir;
	uint64_t image_bytes;
	unsigned ranges;
	double started, begun;          /* this pass, the first one */
};

/* The pairs are encoded and written with all that belongs to them; the file is complete. */
int kh_build_write(struct build *b, kh_err *err);

#endif
