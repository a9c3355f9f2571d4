/*
 * exchange.h - the pairs of a range from all the ranks that have some
 *
 * Who makes a range asks every rank for its share, and puts the shares together in the order of
 * ranks, which is that of the input.  One thread of each rank serves: it answers what others
 * ask, and hands what comes to the worker that asked.  A worker has one range under way, so what
 * is on its way to a rank is bounded by its workers.
 */
#ifndef KH_EXCHANGE_H
#define KH_EXCHANGE_H

#include "comm.h"
#include "pairs.h"
#include "pipeline.h"
#include "shard.h"

typedef struct kh_exchange kh_exchange;

typedef struct kh_exchange_options {
	kh_comm *comm;
	kh_monitor *m;                  /* of the crew that calls what is below */
	const kh_store *store;          /* complete */
	const kh_remap *remap;          /* or NULL */
	unsigned workers;
} kh_exchange_options;

/* Collective: the ranks agree on who makes which ranges. */
int kh_exchange_open(kh_exchange **x, const kh_exchange_options *o, kh_err *err);
void kh_exchange_close(kh_exchange *x);
const kh_shards *kh_exchange_shards(const kh_exchange *x);

/* By one thread: until all ranks have all that they want. */
int kh_exchange_serve(kh_exchange *x, kh_err *err);
/* By the others: the pairs of a range, mapped and sorted. */
int kh_exchange_range(kh_exchange *x, unsigned worker, unsigned range, kh_pair_room *room,
		      kh_pairs *out, kh_err *err);
/* This rank wants no more. */
int kh_exchange_end(kh_exchange *x, kh_err *err);

#endif
