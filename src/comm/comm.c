/* comm.c - messages kept until they are taken, and collectives made of messages */
#include <config.h>
#include "comm/comm_in.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/mem.h"

/* Conditions wait by this clock. */
#ifdef HAVE_PTHREAD_CONDATTR_SETCLOCK
#define CLOCK_OF_WAITS CLOCK_MONOTONIC
#else
#define CLOCK_OF_WAITS CLOCK_REALTIME
#endif

enum { STUCK = 8 }; /* seconds that the carrier may need for one turn of its loop after a failure */

/* --- packets ---------------------------------------------------------------------- */
void kh_packets_push(kh_packets *l, kh_packet *p)
{
	p->next = NULL;
	if (l->first)
		l->last->next = p;
	else
		l->first = p;
	l->last = p;
}

kh_packet *kh_packets_pop(kh_packets *l)
{
	kh_packet *p = l->first;

	if (p)
		l->first = p->next;
	return p;
}

kh_packet *kh_packet_new(unsigned peer, unsigned channel, void *p, size_t n)
{
	kh_packet *x = calloc(1, sizeof *x);

	if (!x) {
		free(p);
		return NULL;
	}
	*x = (kh_packet) { .peer = peer, .channel = channel, .p = p, .n = n };
	return x;
}

void kh_packet_free(kh_packet *p)
{
	if (p)
		free(p->p);
	free(p);
}

/* --- opening and closing ---------------------------------------------------------- */
/* The innermost launcher decides. */
unsigned kh_comm_launched(void)
{
	static const char *const sizes[] = {
		"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"
	};
	const char *off = getenv("KH_COMM");

	if (off && strcmp(off, "off") == 0)
		return 1;
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		const char *s = getenv(sizes[i]);
		unsigned long n = s ? strtoul(s, NULL, 10) : 0;

		if (n > 0)
			return n < UINT32_MAX ? (unsigned)n : UINT32_MAX;
	}
	return 1;
}

int kh_comm_timeout(double *seconds, kh_err *err)
{
	const char *s = getenv("KH_COMM_TIMEOUT");
	char *end;

	*seconds = 60;
	if (!s || !*s)
		return KH_OK;
	*seconds = strtod(s, &end);
	if (end == s || *end || !(*seconds >= 1 && *seconds <= 1e6))
		return kh_fail(err, KH_EUSAGE,
			       "KH_COMM_TIMEOUT: '%s' is not a number of seconds from 1 on", s);
	return KH_OK;
}

static void comm_free(kh_comm *c)
{
	for (size_t i = 0; c->inbox && i < (size_t)c->size * KH_CHANNELS; i++)
		for (kh_packet *p; (p = kh_packets_pop(&c->inbox[i])) != NULL;)
			kh_packet_free(p);
	for (kh_packet *p; (p = kh_packets_pop(&c->outbox)) != NULL;)
		kh_packet_free(p);
	free(c->inbox);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->came);
	pthread_cond_destroy(&c->posted);
	free(c);
}

int kh_comm_open(kh_comm **out, kh_err *err)
{
	const unsigned size = kh_comm_launched();
	pthread_condattr_t attr;
	kh_comm *c;
	int rc;

	*out = NULL;
	if (size < 2)
		return KH_OK;
	c = kh_array(1, sizeof *c, err);
	if (!c)
		return KH_ENOMEM;
	pthread_condattr_init(&attr);
#ifdef HAVE_PTHREAD_CONDATTR_SETCLOCK
	pthread_condattr_setclock(&attr, CLOCK_OF_WAITS);
#endif
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->came, &attr);
	pthread_cond_init(&c->posted, &attr);
	pthread_condattr_destroy(&attr);
	c->size = size;
	c->inbox = kh_array((size_t)size * KH_CHANNELS, sizeof *c->inbox, err);
	rc = c->inbox ? kh_comm_timeout(&c->timeout, err) : KH_ENOMEM;
	if (!rc)
		rc = kh_comm_carry(c, err);
	if (rc && !c->stuck)
		comm_free(c);
	else
		/* stuck: its thread still uses it, and kh_comm_close reports that */
		*out = c;
	return rc;
}

struct timespec kh_comm_after(double seconds)
{
	struct timespec t;

	clock_gettime(CLOCK_OF_WAITS, &t);
	t.tv_sec += (time_t)seconds;
	t.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

/* The carrier may hang in MPI when a peer is gone; then it is not waited for. */
int kh_comm_close(kh_comm *c)
{
	int status;

	if (!c)
		return 0;
	if (c->stuck)
		return 1;
	pthread_mutex_lock(&c->lock);
	c->closing = true;
	if (c->failure.code) /* the first process that exits has mpirun send this to the others, */
		signal(SIGTERM, SIG_IGN);       /* whose status is to be their own */
	pthread_cond_signal(&c->posted);
	while (!c->ended) {
		const uint64_t turns = c->turns;
		struct timespec until = kh_comm_after(c->failure.code ? STUCK : c->timeout);

		if (pthread_cond_timedwait(&c->came, &c->lock, &until) == ETIMEDOUT &&
		    c->turns == turns && (c->failure.code || !c->open))
			break;
	}
	status = c->ended ? 0 : c->failure.code == KH_EUSAGE ? 2 : 1;
	pthread_mutex_unlock(&c->lock);
	if (status)
		return status;
	pthread_join(c->carrier, NULL);
	comm_free(c);
	return 0;
}

unsigned kh_comm_self(const kh_comm *c)
{
	return c ? c->self : 0;
}

unsigned kh_comm_size(const kh_comm *c)
{
	return c ? c->size : 1;
}

int kh_comm_check_input(const kh_comm *c, bool standard, kh_err *err)
{
	return !c || !standard ? KH_OK
	       : kh_fail(err, KH_EUSAGE, "several processes cannot read standard input: "
			 "name a file, or a FIFO");
}

/* --- failure ---------------------------------------------------------------------- */
void kh_comm_set_failure(kh_comm *c, int code, bool told, const char *msg)
{
	pthread_mutex_lock(&c->lock);
	if (c->failure.code == 0) {
		kh_fail(&c->failure, code, "%s", msg);
		c->told = told;
	}
	pthread_cond_broadcast(&c->came);
	pthread_cond_signal(&c->posted);
	pthread_mutex_unlock(&c->lock);
}

void kh_comm_fail(kh_comm *c, const kh_err *e)
{
	char msg[sizeof e->msg + 32];

	if (!c)
		return;
	snprintf(msg, sizeof msg, "process %u failed: %s", c->self, e->msg[0] ? e->msg : "stopped");
	kh_comm_set_failure(c, e->code ? e->code : KH_EIO, false, msg);
}

/* The caller holds the lock. */
static int failed(const kh_comm *c, kh_err *err)
{
	return c->failure.code ? kh_fail(err, c->failure.code, "%s", c->failure.msg) : KH_OK;
}

int kh_comm_check(kh_comm *c, kh_err *err)
{
	int rc;

	if (!c)
		return KH_OK;
	pthread_mutex_lock(&c->lock);
	rc = failed(c, err);
	pthread_mutex_unlock(&c->lock);
	return rc;
}

/* --- for the carrier -------------------------------------------------------------- */
static kh_packets *inbox(const kh_comm *c, unsigned from, unsigned channel)
{
	return &c->inbox[(size_t)from * KH_CHANNELS + channel];
}

void kh_comm_deliver(kh_comm *c, kh_packet *p)
{
	pthread_mutex_lock(&c->lock);
	p->number = c->n_came++;
	kh_packets_push(inbox(c, p->peer, p->channel), p);
	pthread_cond_broadcast(&c->came);
	pthread_mutex_unlock(&c->lock);
}

kh_packets kh_comm_outgoing(kh_comm *c)
{
	kh_packets l;

	pthread_mutex_lock(&c->lock);
	l = c->outbox;
	c->outbox = (kh_packets) { NULL, NULL };
	pthread_mutex_unlock(&c->lock);
	return l;
}

void kh_comm_nap(kh_comm *c, double seconds)
{
	struct timespec until = kh_comm_after(seconds);

	pthread_mutex_lock(&c->lock);
	c->turns++;
	if (!c->outbox.first)
		pthread_cond_timedwait(&c->posted, &c->lock, &until);
	pthread_mutex_unlock(&c->lock);
}

/* --- messages --------------------------------------------------------------------- */
int kh_comm_post(kh_comm *c, unsigned to, unsigned channel, void *p, size_t n, kh_err *err)
{
	kh_packet *x;
	int rc = kh_comm_check(c, err);

	assert(to < c->size && channel < KH_CHANNELS);
	if (rc) {
		free(p);
		return rc;
	}
	x = kh_packet_new(to, channel, p, n);
	if (!x)
		return kh_fail_nomem(err);
	if (to == c->self) {
		kh_comm_deliver(c, x);
		return KH_OK;
	}
	pthread_mutex_lock(&c->lock);
	kh_packets_push(&c->outbox, x);
	pthread_cond_signal(&c->posted);
	pthread_mutex_unlock(&c->lock);
	return KH_OK;
}

/* Of the lists of processes from .. to - 1 and some channels, the one whose first message is the
 * oldest. */
static kh_packets *earliest(const kh_comm *c, unsigned from, unsigned to, unsigned channels)
{
	kh_packets *best = NULL;

	for (unsigned r = from; r < to; r++)
		for (unsigned ch = 0; ch < KH_CHANNELS; ch++) {
			kh_packets *l = inbox(c, r, ch);

			if ((channels >> ch & 1) && l->first &&
			    (!best || l->first->number < best->first->number))
				best = l;
		}
	return best;
}

static int take(kh_comm *c, const unsigned range[2], unsigned channels, bool wait, kh_message *m,
		kh_err *err)
{
	kh_packets *l;
	kh_packet *p = NULL;
	int rc;

	pthread_mutex_lock(&c->lock);
	while (!(rc = failed(c, err)) && !(l = earliest(c, range[0], range[1], channels)) && wait)
		pthread_cond_wait(&c->came, &c->lock);
	if (!rc && l)
		p = kh_packets_pop(l);
	pthread_mutex_unlock(&c->lock);
	if (rc)
		return rc;
	*m = (kh_message) { .from = KH_NOBODY };
	if (p)
		*m = (kh_message) { p->peer, p->channel, p->p, p->n };
	free(p);
	return KH_OK;
}

int kh_comm_take(kh_comm *c, unsigned channels, bool wait, kh_message *m, kh_err *err)
{
	return take(c, (unsigned[]) { 0, c->size }, channels, wait, m, err);
}

int kh_comm_take_from(kh_comm *c, unsigned from, unsigned channel, kh_message *m, kh_err *err)
{
	return take(c, (unsigned[]) { from, from + 1 }, 1U << channel, true, m, err);
}

/* --- collectives ------------------------------------------------------------------ */
static int post_copy(kh_comm *c, unsigned to, const void *p, size_t n, kh_err *err)
{
	void *copy = malloc(n ? n : 1);

	if (!copy)
		return kh_fail_nomem(err);
	if (n > 0)
		memcpy(copy, p, n);
	return kh_comm_post(c, to, KH_CHANNEL_COLLECTIVE, copy, n, err);
}

/* Takes a message of n bytes from a process into p. */
static int take_into(kh_comm *c, unsigned from, void *p, size_t n, kh_err *err)
{
	kh_message m;
	int rc = kh_comm_take_from(c, from, KH_CHANNEL_COLLECTIVE, &m, err);

	if (rc)
		return rc;
	if (m.n != n)
		rc = kh_fail(
			err, KH_EIO,
			"process %u sent %zu bytes where %zu belong: it may be another version",
			from, m.n, n);
	else if (n > 0)
		memcpy(p, m.p, n);
	free(m.p);
	return rc;
}

/* Down a tree: in each round twice as many processes have it. */
int kh_comm_broadcast(kh_comm *c, unsigned root, void *p, size_t n, kh_err *err)
{
	const unsigned me = (c->self + c->size - root) % c->size;
	unsigned step = 1;
	int rc = KH_OK;

	while (step <= me)
		step *= 2;
	if (me > 0)
		rc = take_into(c, (me - step / 2 + root) % c->size, p, n, err);
	for (; step < c->size && !rc; step *= 2)
		if (me + step < c->size)
			rc = post_copy(c, (me + step + root) % c->size, p, n, err);
	return rc;
}

/* Sums up the same tree to process 0, then sends the result down. */
int kh_comm_sum(kh_comm *c, uint64_t *x, size_t n, kh_err *err)
{
	uint64_t *y = kh_array(n, sizeof *y, err);
	unsigned step = 1, up = 1;
	int rc = y ? KH_OK : KH_ENOMEM;

	while (up <= c->self)
		up *= 2;
	while (step < c->size)
		step *= 2;
	for (; step >= up && !rc; step /= 2) {
		if (c->self + step >= c->size)
			continue;
		rc = take_into(c, c->self + step, y, n * sizeof *y, err);
		for (size_t i = 0; i < n && !rc; i++)
			x[i] += y[i];
	}
	free(y);
	if (!rc && c->self > 0)
		rc = post_copy(c, c->self - up / 2, x, n * sizeof *x, err);
	return rc ? rc : kh_comm_broadcast(c, 0, x, n * sizeof *x, err);
}

int kh_comm_barrier(kh_comm *c, kh_err *err)
{
	uint64_t nothing = 0;

	return kh_comm_sum(c, &nothing, 1, err);
}

/* Takes one message from each process, in the order of processes. */
static int take_all(kh_comm *c, void **recv, size_t *got, kh_err *err)
{
	int rc = KH_OK;

	memset(recv, 0, c->size * sizeof *recv);
	for (unsigned r = 0; r < c->size && !rc; r++) {
		kh_message m;

		rc = kh_comm_take_from(c, r, KH_CHANNEL_COLLECTIVE, &m, err);
		if (!rc) {
			recv[r] = m.p;
			got[r] = m.n;
		}
	}
	for (unsigned r = 0; r < c->size && rc; r++) {
		free(recv[r]);
		recv[r] = NULL;
	}
	return rc;
}

int kh_comm_all_to_all(kh_comm *c, const void *const *send, const size_t *n, void **recv,
		       size_t *got, kh_err *err)
{
	int rc = KH_OK;

	for (unsigned r = 0; r < c->size && !rc; r++)
		rc = post_copy(c, r, send[r], n[r], err);
	return rc ? rc : take_all(c, recv, got, err);
}

int kh_comm_gather(kh_comm *c, const void *p, size_t n, bool to_all, kh_mail *m, kh_err *err)
{
	*m = (kh_mail) { c->size, kh_array(c->size, sizeof *m->recv, err),
			 kh_array(c->size, sizeof *m->got, err) };
	int rc = m->recv && m->got ? KH_OK : KH_ENOMEM;

	for (unsigned r = 0; r < c->size && !rc; r++)
		rc = post_copy(c, r, p, r == 0 || to_all ? n : 0, err);
	return rc ? rc : take_all(c, m->recv, m->got, err);
}

void kh_mail_clear(kh_mail *m)
{
	for (unsigned r = 0; m->recv && r < m->size; r++)
		free(m->recv[r]);
	free(m->recv);
	free(m->got);
	*m = (kh_mail) { .recv = NULL };
}
