/*
 * comm_in.h - between comm.c, which keeps messages for the rank's threads, and the thread
 * that carries them (comm_mpi.c; comm_none.c where there is no MPI)
 */
#ifndef KH_COMM_IN_H
#define KH_COMM_IN_H

#include <pthread.h>
#include "comm.h"

/* A message on its way in or out. */
typedef struct kh_parcel {
	struct kh_parcel *next;
	unsigned peer, channel;
	uint64_t number;                /* in order of coming; going out: transfers under way */
	void *p;
	size_t n;
} kh_parcel;

typedef struct kh_parcels {
	kh_parcel *first, *last;
} kh_parcels;

struct kh_comm {
	unsigned rank, size;
	double timeout;                 /* seconds */
	pthread_t carrier;
	/* under the lock */
	pthread_mutex_t lock;
	pthread_cond_t came;            /* a message, or a failure, or the end of opening or closing */
	pthread_cond_t posted;          /* something for the carrier */
	kh_parcels *inbox;              /* of each rank, KH_CHANNELS each */
	kh_parcels outbox;
	uint64_t n_came;
	bool open;                      /* MPI can be used; false again when all ranks have parted */
	bool closing, ended;
	uint64_t turns;                 /* of the carrier: it is not stuck in MPI */
	kh_err failure;                 /* code 0: none yet */
	bool told;                      /* the others know of it */
};

void kh_parcels_push(kh_parcels *l, kh_parcel *p);
kh_parcel *kh_parcels_pop(kh_parcels *l);       /* NULL: empty */
/* Takes over p. NULL: no memory, p is freed. */
kh_parcel *kh_parcel_new(unsigned peer, unsigned channel, void *p, size_t n);
void kh_parcel_free(kh_parcel *p);

/* Starts the carrier; rank and size are known when it returns. */
int kh_comm_carry(kh_comm *c, kh_err *err);

/* For the carrier: a message has come; what is to be sent; the run has failed (the first
 * failure stands). */
void kh_comm_deliver(kh_comm *c, kh_parcel *p);
kh_parcels kh_comm_outgoing(kh_comm *c);
void kh_comm_set_failure(kh_comm *c, int code, bool told, const char *msg);
/* Sleeps for so many seconds, or until something is posted. */
void kh_comm_nap(kh_comm *c, double seconds);

#endif
