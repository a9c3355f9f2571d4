/*
 * comm.h - the ranks of a run, and messages between them
 *
 * A run is one rank, or those that mpirun or srun started.  Each rank has one thread that
 * talks to the others, and is the only one that calls MPI: it sends what was posted,
 * keeps what comes until it is taken, and tells the others now and then that the rank
 * lives.  So a rank may compute for as long as it likes; one that is not heard of for
 * the time-out (KH_COMM_TIMEOUT seconds, by default 60) is lost.  When a rank fails or
 * is lost, every call of every rank returns an error that names it.
 *
 * Messages from one rank to another on one channel come in the order of posting.  All
 * functions may be called by any thread; a collective one by one thread of each rank at
 * a time, in the same order on all ranks.
 */
#ifndef KH_COMM_H
#define KH_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "msg.h"

typedef struct kh_comm kh_comm;

/* *c is NULL if this process is a run of its own: then nothing below is called.  It is one
 * unless a launcher's variables in the environment speak of several (KH_COMM=off: even then). */
int kh_comm_open(kh_comm **c, kh_err *err);
/* Ends all ranks in order, when each has come here; NULL is fine.  After a failure it waits for ranks
 * that live only: if the ranks cannot end in order it ends the process, with status 1, or 2
 * if the failure is wrong usage.  So outputs are closed and messages printed before. */
void kh_comm_close(kh_comm *c);
/* This rank has failed with *e: tells the others, whose calls then fail with its code, naming it. */
void kh_comm_fail(kh_comm *c, const kh_err *e);
/* 0, or how the run has failed: for loops that compute long without a message.  NULL is fine. */
int kh_comm_check(kh_comm *c, kh_err *err);

unsigned kh_comm_rank(const kh_comm *c);        /* NULL: 0 of 1 */
unsigned kh_comm_size(const kh_comm *c);

/* Fails if it is the standard input, as that is no good to one of several ranks: mpirun that is stopped ends
 * it before the rank, and a part of the input would pass for all of it.  NULL is fine. */
int kh_comm_check_input(const kh_comm *c, const char *path, kh_err *err);

/* --- messages ------------------------------------------------------------------------ */
enum { KH_CHANNELS = 16 };              /* 0: of the collectives below; 1 to 3: of build */

typedef struct kh_message {
	unsigned from, channel;
	void *p;                        /* malloc'd, the taker's */
	size_t n;
} kh_message;

/* Takes over p (malloc'd, or NULL if n is 0), also when it fails.  Never waits for the peer.  A rank
 * may post to itself. */
int kh_comm_post(kh_comm *c, unsigned to, unsigned channel, void *p, size_t n, kh_err *err);
/* The first message that came on one of the channels (bits of `channels`).  `wait`: until there is
 * one; else m->p and m->n are 0 and m->from is KH_NOBODY if there is none. */
#define KH_NOBODY UINT32_MAX
int kh_comm_take(kh_comm *c, unsigned channels, bool wait, kh_message *m, kh_err *err);
/* The same, from one rank. */
int kh_comm_take_from(kh_comm *c, unsigned from, unsigned channel, kh_message *m, kh_err *err);

/* --- collectives --------------------------------------------------------------------- */
int kh_comm_barrier(kh_comm *c, kh_err *err);
/* p of rank `root` to all. */
int kh_comm_broadcast(kh_comm *c, unsigned root, void *p, size_t n, kh_err *err);
/* Sums of n numbers over all ranks, modulo 2^64. */
int kh_comm_sum(kh_comm *c, uint64_t *x, size_t n, kh_err *err);
/* n[r] bytes of send[r] to rank r; what rank r sent to this one comes as recv[r] (malloc'd) of
 * got[r] bytes. */
int kh_comm_all_to_all(kh_comm *c, const void *const *send, const size_t *n, void **recv,
		       size_t *got, kh_err *err);
/* n bytes of each rank, to all: recv[r] (malloc'd) of got[r] bytes. */
int kh_comm_all_gather(kh_comm *c, const void *p, size_t n, void **recv, size_t *got,
		       kh_err *err);

#endif
