/*
 * mpi.c - the thread that carries messages over MPI
 *
 * Nothing in it waits for a peer: sends and receives are started and tested, so a peer that
 * has stopped in the middle of a transfer cannot stop this process, and its silence is
 * noticed.  MPI keeps the order of messages between two processes, whatever their tags.
 *
 * At its end, a process sends a BYE to all others; when it has got theirs, it may call
 * MPI_Finalize. Until its BYE it gives signs of life, also to processes that have sent theirs and
 * wait for it. After a failure, where that would mean to wait for a peer that is gone, MPI_Abort
 * ends the run.
 */
#include <config.h>
#include "comm/mpi_in.h"

#include <errno.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef HAVE_SYS_PRCTL_H
#include <sys/prctl.h>
#endif
#include "base/mem.h"

/* seconds that processes have to end in order after a failure */
enum { FINAL = 3 };
enum { START = 5 };                     /* time-outs that MPI_Init may take */

/* --- signs of life ---------------------------------------------------------------- */
static void beat(struct carrier *t, double now)
{
	const double every = t->c->timeout / 4 < 1 ? t->c->timeout / 4 : 1;

	if (now - t->beat < every)
		return;
	if (now - t->beat > t->c->timeout / 2)  /* this process itself was stopped: be patient */
		for (unsigned r = 0; r < t->c->size; r++)
			t->peer[r].heard = now;
	t->beat = now;
	for (unsigned r = 0; r < t->c->size && !t->bye; r++)
		if (r != t->c->self)
			kh_move_alive(t, r);
}

/* A process that has not parted and was not heard of for the time-out, or KH_NOBODY. */
static unsigned find_lost(const struct carrier *t, double now)
{
	for (unsigned r = 0; r < t->c->size; r++)
		if (r != t->c->self && !t->peer[r].bye && now - t->peer[r].heard > t->c->timeout)
			return r;
	return KH_NOBODY;
}

static void miss(struct carrier *t, double now)
{
	const unsigned r = find_lost(t, now);
	kh_err e = { 0, "" };

	if (r == KH_NOBODY)
		return;
	kh_fail(&e, KH_EIO,
		"process %u does not answer: nothing heard of it for %.0f s (KH_COMM_TIMEOUT)", r,
		t->c->timeout);
	kh_comm_set_failure(t->c, KH_EIO, false, e.msg);
}

/* --- the end ---------------------------------------------------------------------- */
/* What the threads of the process ask of the carrier: to report a failure, to say BYE. */
static bool has_failed(struct carrier *t, bool *closing)
{
	kh_comm *c = t->c;

	pthread_mutex_lock(&c->lock);
	bool tell = c->failure.code && !c->told && !t->told && !t->bye;

	if (c->failure.code && !t->told)        /* the message must not change while it is sent */
		t->failure = c->failure;
	*closing = c->closing && !c->outbox.first;
	pthread_mutex_unlock(&c->lock);
	if (tell)
		kh_move_to_all(t, TAG_FAILURE, &t->failure, sizeof t->failure);
	t->told |= tell;
	return t->failure.code != 0;
}

static bool all_gone(const struct carrier *t)
{
	for (unsigned r = 0; r < t->c->size; r++)
		if (r != t->c->self && !t->peer[r].bye)
			return false;
	return !t->out;
}

/* Nothing follows a BYE.  Has every process come to its end?  After a failure those that live
 * may still have files to remove and are waited for; if one is lost, the run is ended by force,
 * with the status of the failure, when all others have had time to part. */
static bool part(struct carrier *t, double now, bool failed)
{
	if (!t->bye) {
		t->bye = true;
		kh_move_to_all(t, TAG_BYE, NULL, 0);
	}
	if (all_gone(t))
		return true;
	if (failed && t->deadline == 0)
		t->deadline = now + FINAL;
	if (failed && now > t->deadline && find_lost(t, now) != KH_NOBODY) {
		fflush(NULL);
		MPI_Abort(MPI_COMM_WORLD, t->failure.code == KH_EUSAGE ? 2 : 1);
	}
	return false;
}

/* The process's threads may wait for something else, such as a disk that is gone, and not learn
 * that the run has failed.  SIGTERM ends it with its temporary files: in this thread, as a
 * thread that a disk holds up takes no signal. */
static void end_idlers(struct carrier *t, double now)
{
	if (t->failed == 0)
		t->failed = now;
	if (now - t->failed > t->c->timeout)
		raise(SIGTERM);
}

static void run(struct carrier *t)
{
	for (;;) {
		kh_packets l = kh_comm_outgoing(t->c);
		bool busy = l.first != NULL, closing;

		for (kh_packet *p; (p = kh_packets_pop(&l)) != NULL;)
			kh_move_message(t, p);
		busy |= kh_move_test(t);

		double now = kh_seconds();
		bool failed = has_failed(t, &closing);

		beat(t, now);
		if (!failed)
			miss(t, now);
		else if (!closing)
			end_idlers(t, now);
		if (closing && part(t, now, failed))
			return;
		if (busy)
			t->since = now;
		/* The longer nothing comes, the less often it looks, so that it takes no CPU time
		 * when idle. */
		double nap = (now - t->since) / 4;
		double most = kh_move_under_way(t) ? 1e-4 : 1e-3;
		kh_comm_nap(t->c, nap < 2e-5 ? 2e-5 : nap > most ? most : nap);
	}
}

/* --- the thread ------------------------------------------------------------------- */
static int begin(struct carrier *t, kh_err *err)
{
	kh_comm *c = t->c;
	int got = 0, self, size;

	MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &got);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &self);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (got < MPI_THREAD_FUNNELED)
		return kh_fail(err, KH_EUSAGE, "this MPI does not allow threads");
	if ((unsigned)size != c->size)
		return kh_fail(err, KH_EUSAGE,
			       "%u processes were started, but MPI knows of %d: they were "
			       "started by another MPI than this program was built with",
			       c->size, size);
	t->peer = kh_array(c->size, sizeof *t->peer, err);
	if (!t->peer)
		return KH_ENOMEM;
	c->self = (unsigned)self;
	t->beat = t->since = kh_seconds();
	for (unsigned r = 0; r < c->size; r++)
		t->peer[r].heard = t->beat;
	return KH_OK;
}

static void *carry(void *arg)
{
	struct carrier t = { .c = arg };
	kh_comm *c = arg;
	kh_err err = { 0, "" };
	int rc = begin(&t, &err);

#ifdef PR_SET_TIMERSLACK
	prctl(PR_SET_TIMERSLACK, 1000UL);       /* naps of 20 us, not of 70 */
#endif
	pthread_mutex_lock(&c->lock);
	c->open = !rc;
	if (rc)
		c->failure = err;
	pthread_cond_broadcast(&c->came);
	pthread_mutex_unlock(&c->lock);
	if (!rc)
		run(&t);
	kh_move_clear(&t);
	free(t.peer);
	pthread_mutex_lock(&c->lock);
	c->open = false;
	pthread_mutex_unlock(&c->lock);
	MPI_Finalize();
	pthread_mutex_lock(&c->lock);
	c->ended = true;
	pthread_cond_broadcast(&c->came);
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

int kh_comm_carry(kh_comm *c, kh_err *err)
{
	int rc = pthread_create(&c->carrier, NULL, carry, c) == 0 ? KH_OK
		 : kh_fail(err, KH_EIO, "cannot start a thread");

	if (rc)
		return rc;
	const struct timespec until = kh_comm_after(START * c->timeout);

	pthread_mutex_lock(&c->lock);
	while (!c->open && !c->ended && !c->stuck)
		c->stuck = pthread_cond_timedwait(&c->came, &c->lock, &until) == ETIMEDOUT;
	if (c->stuck && !c->open && !c->ended) {
		rc = kh_fail(err, KH_EIO, "MPI did not start within %.0f s (five times "
			     "KH_COMM_TIMEOUT): do all %u processes run, and reach each other?",
			     START * c->timeout, c->size);
		pthread_mutex_unlock(&c->lock);
		return rc;
	}
	c->stuck = false;
	/* c->open counts, as another process may have failed by now, which is not a failure to
	 * open */
	rc = c->open ? KH_OK : c->failure.code;
	if (rc)
		*err = c->failure;
	pthread_mutex_unlock(&c->lock);
	if (rc)
		pthread_join(c->carrier, NULL);
	return rc;
}
