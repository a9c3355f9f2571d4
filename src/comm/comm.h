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

/* *c is NULL if this process is a run of its own: then nothing below is called. It is one unless
 * variables that launchers set in the environment speak of several; with KH_COMM=off it is one
 * even then. */
/* Fails if MPI does not start within five time-outs; *c, which is not NULL then, can only be
 * closed. */
int kh_comm_open(kh_comm **c, kh_err *err);
/* Ends all processes in order, when each has called it; NULL is fine. After a failure it waits
 * only for processes that are still alive. 0; or, if the processes cannot end in order, the
 * status that this one has to end with at once, by _exit(): a thread of it hangs in MPI, and
 * would hang what exit() calls. */
int kh_comm_close(kh_comm *c);
/* Seconds that a process may be silent: KH_COMM_TIMEOUT, or 60. */
int kh_comm_timeout(double *seconds, kh_err *err);
/* Tells the others that this process has failed with *e. Their calls then fail with its code, and
 * a message that names it. */
void kh_comm_fail(kh_comm *c, const kh_err *e);
/* 0, or the error that the run has failed with: for long loops that take no message. NULL is
 * fine. */
int kh_comm_check(kh_comm *c, kh_err *err);

unsigned kh_comm_self(const kh_comm *c);        /* NULL: 0 of 1 */
unsigned kh_comm_size(const kh_comm *c);

/* How many processes a launcher, as mpirun, has started; 1: none has, or KH_COMM is off. */
unsigned kh_comm_launched(void);
/* Fails if an input is standard input, which several processes cannot rely on: an mpirun that is
 * stopped closes it before it ends the process, and a part of the input would pass for all of it.
 * NULL is fine. */
int kh_comm_check_input(const kh_comm *c, bool standard, kh_err *err);

/* --- messages --------------------------------------------------------------------- */
/* All kinds of messages: each is sent and taken by one module only. */
enum kh_channel {
	KH_CHANNEL_COLLECTIVE,          /* comm.c: the collectives below */
	/* classify: remote/ */
	KH_CHANNEL_JOB,                 /* process 0 -> the process that does it */
	KH_CHANNEL_CALLS,               /* back */
	KH_CHANNEL_STOP,                /* process 0 -> all: there are no more jobs */
	KH_CHANNEL_END,                 /* all -> process 0: what was counted */
	KH_CHANNELS                     /* how many there are */
};

typedef struct kh_message {
	unsigned from, channel;
	void *p;                        /* malloc'd; the caller frees it */
	size_t n;
} kh_message;

/* Takes over p (malloc'd, or NULL if n is 0), also when it fails.  Never waits for the peer.  A
 * process may post to itself. */
int kh_comm_post(kh_comm *c, unsigned to, unsigned channel, void *p, size_t n, kh_err *err);
/* Takes the oldest message on some channels (bits of `channels`). With `wait` it waits for one;
 * otherwise, if there is none, m->p and m->n are 0 and m->from is KH_NOBODY. */
#define KH_NOBODY UINT32_MAX
int kh_comm_take(kh_comm *c, unsigned channels, bool wait, kh_message *m, kh_err *err);
/* The same for messages from one process. */
int kh_comm_take_from(kh_comm *c, unsigned from, unsigned channel, kh_message *m, kh_err *err);

/* --- collectives ------------------------------------------------------------------ */
int kh_comm_barrier(kh_comm *c, kh_err *err);
/* Sends p of process `root` to all. */
int kh_comm_broadcast(kh_comm *c, unsigned root, void *p, size_t n, kh_err *err);
/* Sums of n numbers over all processes, modulo 2^64. */
int kh_comm_sum(kh_comm *c, uint64_t *x, size_t n, kh_err *err);
/* n[r] bytes of send[r] to process r; what process r sent to this one comes as recv[r]
 * (malloc'd) of got[r] bytes. */
int kh_comm_all_to_all(kh_comm *c, const void *const *send, const size_t *n, void **recv,
		       size_t *got, kh_err *err);
/* What each process has sent: recv[r] has got[r] bytes.  To be cleared, also after a failure. */
typedef struct kh_mail {
	unsigned size;
	void **recv;
	size_t *got;
} kh_mail;
/* Sends n bytes of each process to process 0, or to all. */
int kh_comm_gather(kh_comm *c, const void *p, size_t n, bool to_all, kh_mail *m, kh_err *err);
void kh_mail_clear(kh_mail *m);

#endif
