/*
 * pairs_exchange.h - collects the pairs of a range from all processes that have some
 *
 * The process that makes a range asks every process for its part, and puts the parts together
 * in the order of processes, which is that of the input. One thread of each process serves: it
 * answers what others ask, and hands what comes to the worker that asked. A worker has one range
 * under way, so what is on its way to a process is bounded by its workers.
 */
#ifndef KH_INDEX_PAIRS_EXCHANGE_H
#define KH_INDEX_PAIRS_EXCHANGE_H

#include "comm/comm.h"
#include "index/pairs.h"
#include "base/threads.h"
#include "index/shard.h"

typedef struct kh_pairs_exchange kh_pairs_exchange;

typedef struct kh_pairs_exchange_options {
	kh_comm *comm;
	kh_monitor *m;                  /* of the threads that call the functions below */
	const kh_store *store;          /* complete */
	const kh_remap *remap;          /* or NULL */
	unsigned workers;
} kh_pairs_exchange_options;

/* Collective: the processes agree which of them makes which ranges. */
int kh_pairs_exchange_open(kh_pairs_exchange **x, const kh_pairs_exchange_options *o, kh_err *err);
void kh_pairs_exchange_close(kh_pairs_exchange *x);
const kh_shards *kh_pairs_exchange_shards(const kh_pairs_exchange *x);

/* Called by one thread: returns when no process wants pairs any more. */
int kh_pairs_exchange_serve(kh_pairs_exchange *x, kh_err *err);
/* Called by the other threads: gets the pairs of a range, mapped and sorted. */
int kh_pairs_exchange_range(kh_pairs_exchange *x, unsigned worker, unsigned range,
			    kh_pair_scratch *scratch, kh_pairs *out, kh_err *err);
/* Says that this process wants no more pairs. */
int kh_pairs_exchange_end(kh_pairs_exchange *x, kh_err *err);

#endif
