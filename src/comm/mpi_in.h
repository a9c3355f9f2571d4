/*
 * mpi_in.h - inside the thread that carries messages: mpi.c, what it does when;
 * mpi_transfer.c, transfers over MPI
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
	char *part[KH_CHANNELS];        /* chunks of a message that goes on */
	size_t n_part[KH_CHANNELS], cap_part[KH_CHANNELS];
};

struct carrier {
	kh_comm *c;
	struct peer *peer;
	flight *out;                    /* any order */
	double beat;                    /* when signs of life went out */
	double since;                   /* something was done last */
	double deadline;                /* to part, after a failure; 0: none */
	double failed;                  /* when it was seen; 0: not yet */
	bool told, bye;
	kh_err failure;                 /* as it is told to the others */
};

/* This process has failed. */
void kh_carrier_fail(struct carrier *t, const char *msg);

/* Takes over the packet. */
void kh_move_message(struct carrier *t, kh_packet *p);
/* To all others, a message of the carrier's own, small; p lives as long as it does. */
void kh_move_to_all(struct carrier *t, int tag, void *p, size_t n);
/* A sign of life, if the last one is out. */
void kh_move_alive(struct carrier *t, unsigned to);
/* What comes is taken in, what is complete handed over: is there news? */
bool kh_move_test(struct carrier *t);
/* Is anything on its way? */
bool kh_move_under_way(const struct carrier *t);
void kh_move_clear(struct carrier *t);

#endif
