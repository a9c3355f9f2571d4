/*
 * comm.h - the processes of a run, and messages between them
 *
 * A run is one process, or those that mpirun or srun started.  Each process has one thread that
 * talks to the others, and is the only one that calls MPI: it sends what was posted,
 * keeps what comes until it is taken, and tells the others now and then that the process
 * lives.  So a process may compute for as long as it likes; one that is not heard of for
 * the time-out (KH_COMM_TIMEOUT seconds, by default 60) is lost.  When a process fails or
 * is lost, every call of every process returns an error that names it.
 *
 * Messages from one process to another on one channel come in the order of posting.  All
 * functions may be called by any thread; a collective one by one thread of each process at
 * a time, in the same order on all processes.
 */
#ifndef KH_COMM_H
#define KH_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"

typedef struct kh_comm kh_comm;

/* *c is NULL if this process is a run of its own: then nothing below is called.  It is one
 * unless a launcher's variables in the environment speak of several (KH_COMM=off: even then). */
/* Fails if MPI does not start within five time-outs; then *c is not NULL, only to be closed. */
int kh_comm_open(kh_comm **c, kh_err *err);
/* Ends all processes in order, when each has come here; NULL is fine.  After a failure it waits
 * for processes that live only.  0; or, if the processes cannot end in order, the status that this
 * one has to end with at once, by _exit(): a thread of it hangs in MPI, and would hang what
 * exit() calls. */
int kh_comm_close(kh_comm *c);
/* Seconds that a process may be silent: KH_COMM_TIMEOUT, or 60. */
int kh_comm_timeout(double *seconds, kh_err *err);
/* This process has failed with *e: tells the others, whose calls then fail with its code,
 * naming it. */
void kh_comm_fail(kh_comm *c, const kh_err *e);
/* 0, or how the run has failed: for loops that compute long without a message.  NULL is fine. */
int kh_comm_check(kh_comm *c, kh_err *err);

unsigned kh_comm_self(const kh_comm *c);        /* NULL: 0 of 1 */
unsigned kh_comm_size(const kh_comm *c);

/* Fails if an input is the standard one, as that is no good to one of several processes: mpirun
 * that is stopped ends it before the process, and a part of the input would pass for all of
 * it.  NULL is fine. */
int kh_comm_check_input(const kh_comm *c, bool standard, kh_err *err);

/* --- messages --------------------------------------------------------------------- */
/* All kinds of messages: each is sent and taken by one module only. */
enum kh_channel {
	KH_CHANNEL_COLLECTIVE,          /* comm.c: the collectives below */
	/* build: index/pairs_exchange.c, db/write_parts.c */
	KH_CHANNEL_PAIRS_ASK,           /* for a process's pairs of a range */
	KH_CHANNEL_PAIRS,               /* the answer */
	KH_CHANNEL_TAIL,                /* of a process's part of the file, to the next process */
	/* classify: remote/ */
	KH_CHANNEL_JOB,                 /* process 0 -> one that does it */
	KH_CHANNEL_CALLS,               /* back */
	KH_CHANNEL_LOOKUP,              /* who does a job -> an owner of a part of the index */
	KH_CHANNEL_LISTS,               /* back */
	KH_CHANNEL_STOP,                /* process 0 -> all: there are no more jobs */
	KH_CHANNEL_END,                 /* all -> process 0: what was counted */
	KH_CHANNELS                     /* how many there are */
};

typedef struct kh_message {
	unsigned from, channel;
	void *p;                        /* malloc'd, the taker's */
	size_t n;
} kh_message;

/* Takes over p (malloc'd, or NULL if n is 0), also when it fails.  Never waits for the peer.  A
 * process may post to itself. */
int kh_comm_post(kh_comm *c, unsigned to, unsigned channel, void *p, size_t n, kh_err *err);
/* The first message that came on one of the channels (bits of `channels`).  `wait`: until there is
 * one; else m->p and m->n are 0 and m->from is KH_NOBODY if there is none. */
#define KH_NOBODY UINT32_MAX
int kh_comm_take(kh_comm *c, unsigned channels, bool wait, kh_message *m, kh_err *err);
/* The same, from one process. */
int kh_comm_take_from(kh_comm *c, unsigned from, unsigned channel, kh_message *m, kh_err *err);

/* --- collectives ------------------------------------------------------------------ */
int kh_comm_barrier(kh_comm *c, kh_err *err);
/* p of process `root` to all. */
int kh_comm_broadcast(kh_comm *c, unsigned root, void *p, size_t n, kh_err *err);
/* Sums of n numbers over all processes, modulo 2^64. */
int kh_comm_sum(kh_comm *c, uint64_t *x, size_t n, kh_err *err);
/* n[r] bytes of send[r] to process r; what process r sent to this one comes as recv[r]
 * (malloc'd) of got[r] bytes. */
int kh_comm_all_to_all(kh_comm *c, const void *const *send, const size_t *n, void **recv,
		       size_t *got, kh_err *err);
/* n bytes of each process, to all: recv[r] (malloc'd) of got[r] bytes. */
int kh_comm_all_gather(kh_comm *c, const void *p, size_t n, void **recv, size_t *got,
		       kh_err *err);

#endif
