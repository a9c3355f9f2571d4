/* team.c - threads that wait for the next round */
#include <config.h>
#include "base/team.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "base/mem.h"

/* Rounds are short, and the next one mostly comes soon: so often a thread looks before it sleeps,
 * as being woken takes longer than many a round. */
enum { LOOKS = 1000 };

struct kh_team {
	kh_monitor *m;
	kh_threads *threads;            /* n - 1 */
	unsigned n;
	kh_worker_fn *fn;               /* what they do in this round, ... */
	void *arg;
	_Atomic uint64_t rounds;        /* ... and which round it is */
	atomic_uint busy;               /* threads, without the caller's, that are at it */
	atomic_bool over;
	/* a thread takes the lock only to sleep, or to wake one that sleeps */
	pthread_mutex_t mu;
	pthread_cond_t begin, done;
};

/* Waits for the round behind number `last`; false: there is none. */
static bool next_round(kh_team *t, uint64_t last)
{
	for (int i = 0; i < LOOKS && t->rounds == last && !t->over; i++)
		sched_yield();
	if (t->rounds == last && !t->over) {
		pthread_mutex_lock(&t->mu);
		while (t->rounds == last && !t->over)
			pthread_cond_wait(&t->begin, &t->mu);
		pthread_mutex_unlock(&t->mu);
	}
	return t->rounds != last;
}

static void do_round(kh_team *t, unsigned id)
{
	kh_err err = { 0, "" };

	if (t->fn(t->arg, id, &err)) {
		if (!err.code)
			err.code = KH_ECANCEL;
		kh_monitor_fail(t->m, &err);
	}
}

static int member_main(void *arg, unsigned id, kh_err *err)
{
	kh_team *t = arg;

	(void)err;
	for (uint64_t last = 0; next_round(t, last); last++) {
		do_round(t, id + 1);
		if (--t->busy > 0)
			continue;
		pthread_mutex_lock(&t->mu);
		pthread_cond_signal(&t->done);
		pthread_mutex_unlock(&t->mu);
	}
	return KH_OK;
}

int kh_team_new(kh_team **out, kh_monitor *m, unsigned n, kh_err *err)
{
	kh_team *t = kh_array(1, sizeof *t, err);
	int rc;

	if (!t)
		return KH_ENOMEM;
	t->m = m;
	t->n = n;
	pthread_mutex_init(&t->mu, NULL);
	pthread_cond_init(&t->begin, NULL);
	pthread_cond_init(&t->done, NULL);
	rc = kh_threads_start(&t->threads, m, n - 1, member_main, t, err);
	/* a thread that could not be started has stopped the monitor */
	if (!rc)
		rc = kh_monitor_error(m, err);
	if (rc)
		kh_team_free(t);
	else
		*out = t;
	return rc;
}

void kh_team_free(kh_team *t)
{
	kh_err err;

	if (!t)
		return;
	pthread_mutex_lock(&t->mu);
	t->over = true;
	pthread_cond_broadcast(&t->begin);
	pthread_mutex_unlock(&t->mu);
	if (t->threads)
		kh_threads_join(t->threads, &err);
	pthread_cond_destroy(&t->begin);
	pthread_cond_destroy(&t->done);
	pthread_mutex_destroy(&t->mu);
	free(t);
}

unsigned kh_team_size(const kh_team *t)
{
	return t ? t->n : 1;
}

int kh_team_run(kh_team *t, kh_worker_fn *fn, void *arg, kh_err *err)
{
	if (!t)
		return fn(arg, 0, err);
	pthread_mutex_lock(&t->mu);
	t->fn = fn;
	t->arg = arg;
	t->busy = t->n - 1;
	t->rounds++;
	pthread_cond_broadcast(&t->begin);
	pthread_mutex_unlock(&t->mu);
	do_round(t, 0);
	for (int i = 0; i < LOOKS && t->busy > 0; i++)
		sched_yield();
	if (t->busy > 0) {
		pthread_mutex_lock(&t->mu);
		while (t->busy > 0)
			pthread_cond_wait(&t->done, &t->mu);
		pthread_mutex_unlock(&t->mu);
	}
	return kh_monitor_error(t->m, err);
}
