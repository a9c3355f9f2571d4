/*
 * mpi_in.h - inside the thread that carries messages: mpi.c decides what is done when,
 * mpi_transfer.c does the transfers over MPI
 */
#ifndef KH_COMM_MPI_IN_H
#define KH_COMM_MPI_IN_H

#include "comm/comm_in.h"

/* Tags below KH_CHANNELS: the last, or only, chunk of a message on that channel. */
enum { TAG_MORE = KH_CHANNELS, TAG_ALIVE = 2 * KH_CHANNELS, TAG_FAILURE, TAG_BYE };

typedef struct flight flight;           /* a transfer under way */

struct peer {
	double heard;
	bool bye;
	flight *alive;                  /* its last sign of life from us, or NULL */
	flight *in, *in_last;           /* in order of coming */
	char *part[KH_CHANNELS];        /* the chunks so far of a message in several */
	size_t n_part[KH_CHANNELS], cap_part[KH_CHANNELS];
};

struct carrier {
	kh_comm *c;
	struct peer *peer;
	flight *out;                    /* any order */
	double beat;                    /* when signs of life went out */
	double since;                   /* the time when something was last done */
	/* until which the process may end in order after a failure; 0: none */
	double deadline;
	double failed;                  /* when it was seen; 0: not yet */
	bool told, bye;
	kh_err failure;                 /* as it is sent to the others */
};

/* This process has failed. */
void kh_carrier_fail(struct carrier *t, const char *msg);

/* Takes over the packet. */
void kh_move_message(struct carrier *t, kh_packet *p);
/* Sends a small message of the carrier itself to all others; p must live until it is out. */
void kh_move_to_all(struct carrier *t, int tag, void *p, size_t n);
/* Sends a sign of life, if the last one is out. */
void kh_move_alive(struct carrier *t, unsigned to);
/* Receives what comes and delivers what is complete. Has anything happened? */
bool kh_move_test(struct carrier *t);
/* Is anything on its way? */
bool kh_move_under_way(const struct carrier *t);
void kh_move_clear(struct carrier *t);

#endif
