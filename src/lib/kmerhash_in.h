/* kmerhash_in.h - inside the library: an open database, and who may use its queues */
#ifndef KH_LIB_KMERHASH_IN_H
#define KH_LIB_KMERHASH_IN_H

#include "lib/kmerhash.h"

#include <pthread.h>
#include "classify/compute.h"
#include "seqio/batch.h"

/* A job, from where its sequences are packed to where its calls go. */
struct flight {
	kh_task task;
	kh_batch batch;
	kh_call *call;
	kh_second *second;              /* NULL: not wanted */
	size_t cap_call, cap_second;
	kmerhash_call *to;
};

/* Used by one thread at a time. */
struct slot {
	const kh_taxonomy *tax;
	kh_tasks tasks;
	struct flight *flight;          /* a ring of `depth`, as tasks are done in order */
	unsigned next, depth;
};

struct kmerhash {
	kh_devices on;
	kh_db *db;
	kh_rule rule;
	kh_compute compute;
	struct slot *slot;
	unsigned n_slots;
	/* protects which slots are idle; `given` is signalled when one is given back */
	pthread_mutex_t lock;
	pthread_cond_t given;
	struct slot **idle;
	unsigned n_idle;
};

/* Fills the error of the caller, unless that is NULL; returns rc. */
int kh_lib_tell(kmerhash_error *error, int rc, const kh_err *err);
/* Waits until `least` slots are idle, and takes as many as are wanted. */
unsigned kh_lib_take_slots(kmerhash *k, unsigned least, unsigned want, struct slot **slot);
void kh_lib_give_slots(kmerhash *k, struct slot **slot, unsigned n);

#endif
