/*
 * ranks.h - classifying over several ranks
 *
 * Rank 0 reads, parses, formats and reports, as it does alone: so order, compression, counts
 * and errors of input are the same.  It deals its jobs, as packed bases, to all ranks and
 * itself, to whoever has least to do for its threads.  A rank does a job on its own devices, with the
 * whole index, or, if the index is in parts, asks the owners of parts for lists; calls come back.
 *
 * Each rank has threads that do nothing but take messages: a job, keys to be looked up, lists,
 * calls.  What a message asks for is done without waiting for another one: a job whose
 * lists are asked for is laid aside, and who takes the last of its lists finishes it.  As
 * nobody who serves ever waits for anything but a message, every message is served in the
 * end, and there is no deadlock.  How much can be under way is bounded by the jobs that
 * rank 0's workers have room for.
 */
#ifndef KH_RANKS_H
#define KH_RANKS_H

#include <stdbool.h>
#include "backend.h"

typedef struct kh_ranks kh_ranks;

typedef struct kh_ranks_options {
	kh_comm *comm;
	const kh_choice *choice;        /* devices of this rank */
	const kh_rule *rule;
	enum kh_placement placement;
	unsigned threads;
	size_t block_size;
	bool no_verify;
	bool sketches;
} kh_ranks_options;

/* What a rank has of the index. */
typedef struct kh_share {
	bool sharded;
	unsigned from, to;              /* ranges */
	uint64_t bytes;
} kh_share;

/* The backend of rank 0: its tasks go to all ranks, whose threads are `threads` in all.  Called by
 * all ranks. */
int kh_ranks_backend(kh_backend *b, const kh_ranks_options *o, kh_err *err);

/* Called by all ranks; db was opened with `later`, and is checked here.  When it returns, all ranks
 * have the same database, and have checked what they will read of it. */
int kh_ranks_open(kh_ranks **r, const kh_db *db, const kh_ranks_options *o, kh_err *err);
void kh_ranks_close(kh_ranks *r);
kh_share kh_ranks_share(const kh_ranks *r);

/* All ranks but 0: does what rank 0 deals, until that has no more. */
int kh_ranks_serve(kh_ranks *r, kh_err *err);

#endif
