/*
 * remote.h - classifying over several processes
 *
 * Process 0 reads, parses, formats and reports, as it does alone: so order, compression, counts
 * and errors of input are the same. It sends its jobs, as packed bases, to all processes
 * including itself: each to the process that has least to do for its threads.  A process does a
 * job on its own devices, with the whole database; calls come back.
 *
 * Each process has threads that do nothing but take messages: jobs and calls.  As these threads
 * never wait for anything but a message, every message is served in the end, and there is no
 * deadlock. How much can be under way is bounded by the jobs that process 0's workers may
 * have.
 */
#ifndef KH_REMOTE_H
#define KH_REMOTE_H

#include <stdbool.h>
#include "backend/compute.h"

typedef struct kh_remote kh_remote;

typedef struct kh_remote_options {
	kh_devices on;                  /* what this process works with */
	const kh_rule *rule;
	size_t block_size;
	bool no_verify;
	bool distinct;
} kh_remote_options;

/* Makes the backend of process 0, which sends its tasks to all processes. All processes call
 * this, before blocks are made, as their size depends on it. Before an engine is opened, the
 * context of the backend must be set to what kh_remote_open has made. */
int kh_remote_backend(kh_backend *b, const kh_devices *on, kh_err *err);

/* Called by all processes; db was opened with `later`, and is checked here.  When it returns,
 * all processes have the same database, and have checked what they will read of it. */
int kh_remote_open(kh_remote **r, const kh_db *db, const kh_remote_options *o, kh_err *err);
void kh_remote_close(kh_remote *r);

/* For all processes but 0: does the jobs that process 0 sends, until that has no more. */
int kh_remote_serve(kh_remote *r, kh_err *err);

#endif
