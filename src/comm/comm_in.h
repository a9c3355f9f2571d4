/*
 * comm_in.h - between comm.c, which keeps messages for the process's threads, and the thread
 * that carries them (mpi.c; no_mpi.c where there is no MPI)
 */
#ifndef KH_COMM_COMM_IN_H
#define KH_COMM_COMM_IN_H

#include <pthread.h>
#include <time.h>
#include "comm/comm.h"

/* A message on its way in or out. */
typedef struct kh_packet {
	struct kh_packet *next;
	unsigned peer, channel;
	/* coming in: their order; going out: the number of transfers under way */
	uint64_t number;
	void *p;
	size_t n;
} kh_packet;

typedef struct kh_packets {
	kh_packet *first, *last;
} kh_packets;

struct kh_comm {
	unsigned self, size;
	double timeout;                 /* seconds */
	pthread_t carrier;
	/* under the lock */
	pthread_mutex_t lock;
	pthread_cond_t came; /* signals a message, a failure, or the end of opening or closing */
	pthread_cond_t posted;          /* signals that there is something for the carrier */
	kh_packets *inbox;              /* of each process, KH_CHANNELS each */
	kh_packets outbox;
	uint64_t n_came;
	bool open; /* MPI can be used; false again when all processes have said BYE */
	bool closing, ended;
	bool stuck;                     /* MPI_Init has not come back in time */
	/* turns of the loop of the carrier: while they grow, it is not stuck in MPI */
	uint64_t turns;
	kh_err failure;                 /* code 0: none yet */
	bool told;                      /* the other processes know of it */
};

void kh_packets_push(kh_packets *l, kh_packet *p);
kh_packet *kh_packets_pop(kh_packets *l);       /* NULL: empty */
/* Takes over p. NULL: no memory, p is freed. */
kh_packet *kh_packet_new(unsigned peer, unsigned channel, void *p, size_t n);
void kh_packet_free(kh_packet *p);

/* Starts the carrier; self and size are known when it returns. */
int kh_comm_carry(kh_comm *c, kh_err *err);

/* For the carrier: a message has come; what is to be sent; the run has failed (the first
 * failure stands). */
void kh_comm_deliver(kh_comm *c, kh_packet *p);
kh_packets kh_comm_outgoing(kh_comm *c);
void kh_comm_set_failure(kh_comm *c, int code, bool told, const char *msg);
/* The time so many seconds from now, for pthread_cond_timedwait. */
struct timespec kh_comm_after(double seconds);
/* Sleeps for so many seconds, or until something is posted. */
void kh_comm_nap(kh_comm *c, double seconds);

#endif
