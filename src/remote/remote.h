/*
 * remote.h - classifying over several processes
 *
 * Process 0 reads, parses, formats and reports, as it does alone: so order, compression, counts
 * and errors of input are the same.  It deals its jobs, as packed bases, to all processes and
 * itself, to whoever has least to do for its threads.  A process does a job on its own devices,
 * with the whole index, or, if the index is in parts, asks the owners of parts for lists; calls
 * come back.
 *
 * Each process has threads that do nothing but take messages: a job, keys to be looked up, lists,
 * calls.  What a message asks for is done without waiting for another one: a job whose
 * lists are asked for is laid aside, and who takes the last of its lists finishes it.  As
 * nobody who serves ever waits for anything but a message, every message is served in the
 * end, and there is no deadlock.  How much can be under way is bounded by the jobs that
 * process 0's workers have room for.
 */
#ifndef KH_REMOTE_H
#define KH_REMOTE_H

#include <stdbool.h>
#include "backend/backend.h"

typedef struct kh_remote kh_remote;

typedef struct kh_remote_options {
	kh_comm *comm;
	const kh_choice *choice;        /* devices of this process */
	const kh_rule *rule;
	enum kh_placement placement;
	unsigned threads;
	size_t block_size;
	bool no_verify;
	bool distinct;
} kh_remote_options;

/* What a process has of the index. */
typedef struct kh_share {
	bool sharded;
	unsigned from, to;              /* ranges */
	uint64_t bytes;
} kh_share;

/* The backend of process 0: its tasks go to all processes.  Called by all of them, early, as blocks
 * have the size that suits it.  Before an engine is opened its context must be set to what
 * kh_remote_open has made. */
int kh_remote_backend(kh_backend *b, const kh_remote_options *o, kh_err *err);

/* Called by all processes; db was opened with `later`, and is checked here.  When it returns,
 * all processes have the same database, and have checked what they will read of it. */
int kh_remote_open(kh_remote **r, const kh_db *db, const kh_remote_options *o, kh_err *err);
void kh_remote_close(kh_remote *r);
kh_share kh_remote_share(const kh_remote *r);

/* All processes but 0: does what process 0 deals, until that has no more. */
int kh_remote_serve(kh_remote *r, kh_err *err);

#endif
