/*
 * comm_mpi.c - the thread that carries messages over MPI
 *
 * Nothing in it waits for a peer: sends and receives are started and tested, so a peer that
 * has stopped in the middle of a transfer cannot stop this rank, and its silence is
 * noticed.  MPI keeps the order of messages between two ranks, whatever their tags.
 *
 * Ranks part by a BYE each to all; who has all of them may call MPI_Finalize.  After a
 * failure, where that would wait for a peer that is gone, MPI_Abort ends the run.
 */
#include <config.h>
#include "comm_in.h"

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "mem.h"

enum { CHUNK = 16 << 20 };              /* bytes of one transfer */
enum { FINAL = 3 };                     /* seconds to part in order after a failure */
/* Tags below KH_CHANNELS: the last, or only, chunk of a message on that channel. */
enum { TAG_MORE = KH_CHANNELS, TAG_ALIVE = 2 * KH_CHANNELS, TAG_FAILURE, TAG_BYE };

/* A transfer under way. */
typedef struct flight {
	struct flight *next;
	MPI_Request request;
	int tag;
	char *p;
	int n;
	kh_parcel *parcel;              /* sent: freed when all its chunks are out */
} flight;

struct peer {
	double heard;
	bool bye;
	MPI_Request alive;              /* its last sign of life from us, or MPI_REQUEST_NULL */
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

/* --- failures ------------------------------------------------------------------------------ */
static void fail(struct carrier *t, const char *msg)
{
	kh_err e = { 0, "" };

	kh_fail(&e, KH_EIO, "rank %u failed: %s", t->c->rank, msg);
	kh_comm_set_failure(t->c, KH_EIO, false, e.msg);
}

static bool check(struct carrier *t, int rc, const char *what)
{
	char text[MPI_MAX_ERROR_STRING], msg[MPI_MAX_ERROR_STRING + 64];
	int n = 0;

	if (rc == MPI_SUCCESS)
		return true;
	MPI_Error_string(rc, text, &n);
	snprintf(msg, sizeof msg, "%s: %.*s", what, n, text);
	fail(t, msg);
	return false;
}

/* --- sending ------------------------------------------------------------------------------- */
static bool send_chunk(struct carrier *t, const flight *what, unsigned to)
{
	flight *f = malloc(sizeof *f);

	if (!f) {
		fail(t, "out of memory");
		return false;
	}
	*f = *what;
	if (!check(t, MPI_Isend(f->p, f->n, MPI_BYTE, (int)to, f->tag, MPI_COMM_WORLD, &f->request),
		   "MPI_Isend")) {
		free(f);
		return false;
	}
	f->next = t->out;
	t->out = f;
	if (f->parcel)
		f->parcel->number++;
	return true;
}

/* Takes over the parcel. */
static void send_parcel(struct carrier *t, kh_parcel *p)
{
	size_t at = 0, left = p->n;
	bool sent = true;

	p->number = 0;
	for (; sent && left > CHUNK; at += CHUNK, left -= CHUNK) {
		flight f = { .tag = TAG_MORE + (int)p->channel, .p = (char *)p->p + at, .n = CHUNK,
			     .parcel = p };

		sent = send_chunk(t, &f, p->peer);
	}
	if (sent) {
		flight f = { .tag = (int)p->channel, .p = left ? (char *)p->p + at : NULL,
			     .n = (int)left, .parcel = p };

		sent = send_chunk(t, &f, p->peer);
	}
	if (p->number == 0)
		kh_parcel_free(p);
}

/* Messages of the carrier's own, small; p lives as long as it does. */
static void send_all(struct carrier *t, int tag, void *p, size_t n)
{
	for (unsigned r = 0; r < t->c->size; r++) {
		flight f = { .tag = tag, .p = p, .n = (int)n };

		if (r != t->c->rank)
			send_chunk(t, &f, r);
	}
}

static bool test_sends(struct carrier *t)
{
	bool any = false;

	for (flight **at = &t->out; *at;) {
		flight *f = *at;
		int done = 0;

		if (!check(t, MPI_Test(&f->request, &done, MPI_STATUS_IGNORE), "MPI_Test") || !done) {
			at = &f->next;
			continue;
		}
		*at = f->next;
		any = true;
		if (f->parcel && --f->parcel->number == 0)
			kh_parcel_free(f->parcel);
		free(f);
	}
	return any;
}

/* --- receiving ------------------------------------------------------------------------------ */
static void receive(struct carrier *t, MPI_Message *m, const MPI_Status *s)
{
	struct peer *p = &t->peer[s->MPI_SOURCE];
	flight *f = calloc(1, sizeof *f);

	if (f) {
		MPI_Get_count(s, MPI_BYTE, &f->n);
		f->p = malloc((size_t)f->n + 1);
	}
	if (!f || !f->p) {
		free(f);
		fail(t, "out of memory");
		return;
	}
	f->tag = s->MPI_TAG;
	if (!check(t, MPI_Imrecv(f->p, f->n, MPI_BYTE, m, &f->request), "MPI_Imrecv")) {
		free(f->p);
		free(f);
		return;
	}
	if (p->in)
		p->in_last->next = f;
	else
		p->in = f;
	p->in_last = f;
}

static bool look(struct carrier *t)
{
	bool any = false;

	for (;;) {
		MPI_Message m;
		MPI_Status s;
		int there = 0;

		if (!check(t, MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &m, &s),
			   "MPI_Improbe") || !there)
			return any;
		t->peer[s.MPI_SOURCE].heard = kh_seconds();
		receive(t, &m, &s);
		any = any || s.MPI_TAG != TAG_ALIVE;
	}
}

/* A chunk of a message that goes on, or went on: takes over f->p.  *all: the whole message. */
static bool join(struct carrier *t, struct peer *p, const flight *f, char **all, size_t *n)
{
	unsigned ch = (unsigned)f->tag % KH_CHANNELS;

	if (f->tag < KH_CHANNELS && p->n_part[ch] == 0) {
		*all = f->p;
		*n = (size_t)f->n;
		return true;
	}
	if (kh_grow((void **)&p->part[ch], &p->cap_part[ch], p->n_part[ch] + (size_t)f->n, 1, NULL)) {
		fail(t, "out of memory");
		free(f->p);
		return false;
	}
	memcpy(p->part[ch] + p->n_part[ch], f->p, (size_t)f->n);
	p->n_part[ch] += (size_t)f->n;
	free(f->p);
	if (f->tag >= KH_CHANNELS)
		return false;
	*all = p->part[ch];
	*n = p->n_part[ch];
	p->part[ch] = NULL;
	p->n_part[ch] = p->cap_part[ch] = 0;
	return true;
}

/* What has come from a rank, whole. */
static void hand_over(struct carrier *t, unsigned from, const flight *f)
{
	struct peer *p = &t->peer[from];
	char *all;
	size_t n;

	if (f->tag < TAG_ALIVE) {
		if (!join(t, p, f, &all, &n))
			return;
		kh_parcel *x = kh_parcel_new(from, (unsigned)f->tag, all, n);

		if (x)
			kh_comm_deliver(t->c, x);
		else
			fail(t, "out of memory");
		return;
	}
	if (f->tag == TAG_FAILURE && f->n == sizeof(kh_err)) {
		kh_err e;

		memcpy(&e, f->p, sizeof e);
		e.msg[sizeof e.msg - 1] = 0;
		kh_comm_set_failure(t->c, e.code, true, e.msg);
	}
	if (f->tag == TAG_BYE)
		p->bye = true;
	free(f->p);
}

static bool test_receives(struct carrier *t)
{
	bool any = false;

	for (unsigned r = 0; r < t->c->size; r++) {
		struct peer *p = &t->peer[r];

		while (p->in) {
			flight *f = p->in;
			int done = 0;

			if (!check(t, MPI_Test(&f->request, &done, MPI_STATUS_IGNORE), "MPI_Test") || !done)
				break;
			p->in = f->next;
			hand_over(t, r, f);
			free(f);
			any = true;
		}
	}
	return any;
}

static bool receiving(const struct carrier *t)
{
	for (unsigned r = 0; r < t->c->size; r++)
		if (t->peer[r].in)
			return true;
	return false;
}

/* --- signs of life ---------------------------------------------------------------------------- */
static void beat(struct carrier *t, double now)
{
	const double every = t->c->timeout / 4 < 1 ? t->c->timeout / 4 : 1;

	if (now - t->beat < every || t->bye)
		return;
	if (now - t->beat > t->c->timeout / 2)  /* this rank itself was stopped: be patient */
		for (unsigned r = 0; r < t->c->size; r++)
			t->peer[r].heard = now;
	t->beat = now;
	for (unsigned r = 0; r < t->c->size; r++) {
		struct peer *p = &t->peer[r];
		int done = 1;

		if (r == t->c->rank || p->bye)
			continue;
		if (p->alive != MPI_REQUEST_NULL)
			check(t, MPI_Test(&p->alive, &done, MPI_STATUS_IGNORE), "MPI_Test");
		if (done)
			check(t, MPI_Isend(NULL, 0, MPI_BYTE, (int)r, TAG_ALIVE, MPI_COMM_WORLD, &p->alive),
			      "MPI_Isend");
	}
}

static void miss(struct carrier *t, double now)
{
	for (unsigned r = 0; r < t->c->size; r++)
		if (r != t->c->rank && !t->peer[r].bye && now - t->peer[r].heard > t->c->timeout) {
			kh_err e = { 0, "" };

			kh_fail(&e, KH_EIO, "rank %u does not answer: nothing heard of it for %.0f s "
				"(KH_COMM_TIMEOUT)", r, t->c->timeout);
			kh_comm_set_failure(t->c, KH_EIO, false, e.msg);
			return;
		}
}

/* --- the end ------------------------------------------------------------------------------------ */
/* What the rank's threads want of the carrier: to tell of a failure, to part. */
static bool has_failed(struct carrier *t, bool *closing)
{
	kh_comm *c = t->c;

	pthread_mutex_lock(&c->lock);
	bool tell = c->failure.code && !c->told && !t->told && !t->bye;

	if (c->failure.code && !t->told)        /* while it is sent, it stays */
		t->failure = c->failure;
	*closing = c->closing && !c->outbox.first;
	pthread_mutex_unlock(&c->lock);
	if (tell)
		send_all(t, TAG_FAILURE, &t->failure, sizeof t->failure);
	t->told |= tell;
	return t->failure.code != 0;
}

static bool all_gone(const struct carrier *t)
{
	for (unsigned r = 0; r < t->c->size; r++)
		if (r != t->c->rank && !t->peer[r].bye)
			return false;
	return !t->out;
}

/* Nothing follows a BYE.  Has every rank come to its end?  After a failure, one that cannot be
 * waited for any longer has it ended by force, with the status of the failure. */
static bool part(struct carrier *t, double now, bool failed)
{
	if (!t->bye) {
		t->bye = true;
		send_all(t, TAG_BYE, NULL, 0);
	}
	if (all_gone(t))
		return true;
	if (failed && t->deadline == 0)
		t->deadline = now + FINAL;
	if (failed && now > t->deadline) {
		fflush(NULL);
		MPI_Abort(MPI_COMM_WORLD, t->failure.code == KH_EUSAGE ? 2 : 1);
	}
	return false;
}

/* The rank's threads may wait for something else, such as a disk that is gone, and not learn that the
 * run has failed.  SIGTERM ends it with its temporary files. */
static void end_idlers(struct carrier *t, double now)
{
	if (t->failed == 0)
		t->failed = now;
	if (now - t->failed > t->c->timeout)
		kill(getpid(), SIGTERM);
}

static void run(struct carrier *t)
{
	for (;;) {
		kh_parcels l = kh_comm_outgoing(t->c);
		bool busy = l.first != NULL, closing;

		for (kh_parcel *p; (p = kh_parcels_pop(&l)) != NULL;)
			send_parcel(t, p);
		busy |= look(t);
		busy |= test_receives(t);
		busy |= test_sends(t);

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
		/* The longer nothing comes the rarer it looks: idle, it takes no time of a core. */
		double nap = (now - t->since) / 4;
		double most = t->out || receiving(t) ? 1e-4 : 1e-3;
		kh_comm_nap(t->c, nap < 2e-5 ? 2e-5 : nap > most ? most : nap);
	}
}

/* --- the thread ----------------------------------------------------------------------------------- */
static int begin(struct carrier *t, kh_err *err)
{
	kh_comm *c = t->c;
	int got = 0, rank, size;

	MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &got);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (got < MPI_THREAD_FUNNELED)
		return kh_fail(err, KH_EUSAGE, "this MPI does not allow threads");
	if ((unsigned)size != c->size)
		return kh_fail(err, KH_EUSAGE, "%u ranks were started, but MPI knows of %d: they were "
			       "started by another MPI than this program was built with", c->size, size);
	t->peer = kh_array(c->size, sizeof *t->peer, err);
	if (!t->peer)
		return KH_ENOMEM;
	c->rank = (unsigned)rank;
	t->beat = t->since = kh_seconds();
	for (unsigned r = 0; r < c->size; r++) {
		t->peer[r].heard = t->beat;
		t->peer[r].alive = MPI_REQUEST_NULL;
	}
	return KH_OK;
}

static void clear(struct carrier *t)
{
	for (unsigned r = 0; t->peer && r < t->c->size; r++) {
		if (t->peer[r].alive != MPI_REQUEST_NULL)
			MPI_Request_free(&t->peer[r].alive);
		for (int ch = 0; ch < KH_CHANNELS; ch++)
			free(t->peer[r].part[ch]);
	}
	free(t->peer);
}

static void *carry(void *arg)
{
	struct carrier t = { .c = arg };
	kh_comm *c = arg;
	kh_err err = { 0, "" };
	int rc = begin(&t, &err);

	prctl(PR_SET_TIMERSLACK, 1000UL);       /* naps of 20 us, not of 70 */
	pthread_mutex_lock(&c->lock);
	c->open = true;
	if (rc)
		c->failure = err;
	pthread_cond_broadcast(&c->came);
	pthread_mutex_unlock(&c->lock);
	if (!rc)
		run(&t);
	clear(&t);
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
	pthread_mutex_lock(&c->lock);
	while (!c->open && !c->ended)
		pthread_cond_wait(&c->came, &c->lock);
	rc = c->failure.code;
	if (rc)
		*err = c->failure;
	pthread_mutex_unlock(&c->lock);
	if (rc)
		pthread_join(c->carrier, NULL);
	return rc;
}
