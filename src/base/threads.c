#include <config.h>
#include "base/threads_in.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

enum { STACK = 1 << 20 };                /* least size of a thread's stack, in bytes */

struct kh_event {
	kh_monitor *m;
	pthread_cond_t cv;
};

struct kh_queue {
	kh_monitor *m;
	pthread_cond_t cv;
	size_t cap, n, head;
	void *item[];
};

/* --- monitor ---------------------------------------------------------------- */
int kh_monitor_new(kh_monitor **m, kh_err *err)
{
	kh_monitor *p = kh_array(1, sizeof *p, err);

	if (!p)
		return KH_ENOMEM;
	pthread_mutex_init(&p->mu, NULL);
	*m = p;
	return KH_OK;
}

void kh_monitor_free(kh_monitor *m)
{
	if (!m)
		return;
	pthread_mutex_destroy(&m->mu);
	free(m->watched);
	free(m);
}

int kh_monitor_watch(kh_monitor *m, pthread_cond_t *cv, size_t n, kh_err *err)
{
	int rc;

	for (size_t i = 0; i < n; i++)
		pthread_cond_init(&cv[i], NULL);
	pthread_mutex_lock(&m->mu);
	rc = KH_GROW(m->watched, m->cap_watched, m->n_watched + 1, err);
	if (!rc)
		m->watched[m->n_watched++] = (struct watched) { cv, n };
	pthread_mutex_unlock(&m->mu);
	return rc;
}

void kh_monitor_unwatch(kh_monitor *m, pthread_cond_t *cv, size_t n)
{
	pthread_mutex_lock(&m->mu);
	for (size_t i = 0; i < m->n_watched; i++)
		if (m->watched[i].cv == cv) {
			m->watched[i] = m->watched[--m->n_watched];
			break;
		}
	pthread_mutex_unlock(&m->mu);
	for (size_t i = 0; i < n; i++)
		pthread_cond_destroy(&cv[i]);
}

/* The caller holds the lock. */
static void stop(kh_monitor *m)
{
	if (m->stopped)
		return;
	m->stopped = true;
	for (size_t i = 0; i < m->n_watched; i++)
		for (size_t j = 0; j < m->watched[i].n; j++)
			pthread_cond_broadcast(&m->watched[i].cv[j]);
}

void kh_monitor_stop(kh_monitor *m)
{
	pthread_mutex_lock(&m->mu);
	stop(m);
	pthread_mutex_unlock(&m->mu);
}

int kh_monitor_fail(kh_monitor *m, const kh_err *e)
{
	pthread_mutex_lock(&m->mu);
	if (m->err.code == 0 && e->code != KH_ECANCEL)
		m->err = *e;
	stop(m);
	pthread_mutex_unlock(&m->mu);
	return e->code;
}

bool kh_monitor_stopped(kh_monitor *m)
{
	pthread_mutex_lock(&m->mu);
	bool stopped = m->stopped;
	pthread_mutex_unlock(&m->mu);
	return stopped;
}

int kh_monitor_error(kh_monitor *m, kh_err *err)
{
	int rc = KH_OK;

	pthread_mutex_lock(&m->mu);
	if (m->stopped) {
		rc = m->err.code ? m->err.code : KH_ECANCEL;
		if (err)
			*err = m->err;
	}
	pthread_mutex_unlock(&m->mu);
	return rc;
}

void kh_monitor_lock(kh_monitor *m)
{
	pthread_mutex_lock(&m->mu);
}

void kh_monitor_unlock(kh_monitor *m)
{
	pthread_mutex_unlock(&m->mu);
}

/* --- queues ---------------------------------------------------------------------- */
int kh_queue_new(kh_queue **q, kh_monitor *m, size_t cap, kh_err *err)
{
	kh_queue *p = kh_array(1, sizeof *p + cap * sizeof p->item[0], err);
	int rc;

	if (!p)
		return KH_ENOMEM;
	p->m = m;
	p->cap = cap;
	rc = kh_monitor_watch(m, &p->cv, 1, err);
	if (rc) {
		free(p);
		return rc;
	}
	*q = p;
	return KH_OK;
}

void kh_queue_free(kh_queue *q)
{
	if (!q)
		return;
	kh_monitor_unwatch(q->m, &q->cv, 1);
	free(q);
}

void kh_queue_push(kh_queue *q, void *item)
{
	pthread_mutex_lock(&q->m->mu);
	assert(q->n < q->cap);
	q->item[(q->head + q->n++) % q->cap] = item;
	pthread_cond_signal(&q->cv);
	pthread_mutex_unlock(&q->m->mu);
}

void kh_queue_give_back(kh_queue *q, void *item)
{
	pthread_mutex_lock(&q->m->mu);
	assert(q->n < q->cap);
	q->head = (q->head + q->cap - 1) % q->cap;
	q->item[q->head] = item;
	q->n++;
	pthread_cond_signal(&q->cv);
	pthread_mutex_unlock(&q->m->mu);
}

static void *queue_take(kh_queue *q)
{
	if (q->n == 0 || q->m->stopped)
		return NULL;
	void *item = q->item[q->head];
	q->head = (q->head + 1) % q->cap;
	q->n--;
	return item;
}

void *kh_queue_pop(kh_queue *q)
{
	pthread_mutex_lock(&q->m->mu);
	while (q->n == 0 && !q->m->stopped)
		pthread_cond_wait(&q->cv, &q->m->mu);
	void *item = queue_take(q);
	pthread_mutex_unlock(&q->m->mu);
	return item;
}

void *kh_queue_try(kh_queue *q)
{
	pthread_mutex_lock(&q->m->mu);
	void *item = queue_take(q);
	pthread_mutex_unlock(&q->m->mu);
	return item;
}

/* --- events ------------------------------------------------------------------------ */
int kh_event_new(kh_event **e, kh_monitor *m, kh_err *err)
{
	kh_event *p = kh_array(1, sizeof *p, err);
	int rc;

	if (!p)
		return KH_ENOMEM;
	p->m = m;
	rc = kh_monitor_watch(m, &p->cv, 1, err);
	if (rc) {
		free(p);
		return rc;
	}
	*e = p;
	return KH_OK;
}

void kh_event_free(kh_event *e)
{
	if (!e)
		return;
	kh_monitor_unwatch(e->m, &e->cv, 1);
	free(e);
}

void kh_event_set(kh_event *e)
{
	pthread_mutex_lock(&e->m->mu);
	pthread_cond_broadcast(&e->cv);
	pthread_mutex_unlock(&e->m->mu);
}

int kh_event_wait(kh_event *e, const bool *set)
{
	pthread_mutex_lock(&e->m->mu);
	while (!*set && !e->m->stopped)
		pthread_cond_wait(&e->cv, &e->m->mu);
	int rc = *set ? KH_OK : KH_ECANCEL;
	pthread_mutex_unlock(&e->m->mu);
	return rc;
}

/* --- workers ---------------------------------------------------------------------- */
struct worker {
	kh_monitor *m;
	kh_worker_fn *fn;
	void *arg;
	unsigned id;
	pthread_t thread;
	bool started;
};

static void *worker_main(void *p)
{
	struct worker *w = p;
	kh_err err = { 0, "" };

	if (w->fn(w->arg, w->id, &err)) {
		if (!err.code)
			err.code = KH_ECANCEL;
		kh_monitor_fail(w->m, &err);
	}
	return NULL;
}

struct kh_threads {
	kh_monitor *m;
	unsigned n;
	struct worker worker[];
};

/* As large as the limit on stacks, but large enough for the workers. */
static void set_stack(pthread_attr_t *attr)
{
	size_t size;

	pthread_attr_init(attr);
	if (pthread_attr_getstacksize(attr, &size) == 0 && size < STACK)
		pthread_attr_setstacksize(attr, STACK);
}

/* Starts the threads from .. n - 1. */
static int threads_new(kh_threads **out, const struct worker *model, unsigned from, unsigned n,
		       kh_err *err)
{
	kh_threads *c = kh_array(1, sizeof *c + n * sizeof c->worker[0], err);
	pthread_attr_t attr;

	if (!c)
		return KH_ENOMEM;
	c->m = model->m;
	c->n = n;
	for (unsigned i = 0; i < n; i++) {
		c->worker[i] = *model;
		c->worker[i].id = i;
	}
	set_stack(&attr);
	for (unsigned i = from; i < n; i++) {
		struct worker *x = &c->worker[i];

		const int failed = pthread_create(&x->thread, &attr, worker_main, x);

		x->started = failed == 0;
		if (failed) {
			kh_err e = { 0, "" };

			kh_fail(&e, KH_EIO, "cannot start thread %u of %u: %s", i + 1, n,
				strerror(failed));
			kh_monitor_fail(c->m, &e);
		}
	}
	pthread_attr_destroy(&attr);
	*out = c;
	return KH_OK;
}

int kh_threads_start(kh_threads **c, kh_monitor *m, unsigned n, kh_worker_fn *fn, void *arg,
		     kh_err *err)
{
	return threads_new(c, &(struct worker) { .m = m, .fn = fn, .arg = arg }, 0, n, err);
}

int kh_threads_join(kh_threads *c, kh_err *err)
{
	kh_monitor *m = c->m;

	for (unsigned i = 0; i < c->n; i++)
		if (c->worker[i].started)
			pthread_join(c->worker[i].thread, NULL);
	free(c);
	return kh_monitor_error(m, err);
}

int kh_threads_run(kh_monitor *m, unsigned n, kh_worker_fn *fn, void *arg, kh_err *err)
{
	kh_threads *c;
	int rc = threads_new(&c, &(struct worker) { .m = m, .fn = fn, .arg = arg }, 1, n, err);

	if (rc)
		return rc;
	worker_main(&c->worker[0]);
	return kh_threads_join(c, err);
}

int kh_side_by_side(unsigned n, kh_worker_fn *fn, void *arg, kh_err *err)
{
	kh_monitor *m = NULL;
	int rc = kh_monitor_new(&m, err);

	if (!rc)
		rc = kh_threads_run(m, n ? n : 1, fn, arg, err);
	kh_monitor_free(m);
	return rc;
}

struct each {
	kh_each_fn *fn;
	void *arg;
	size_t n;
	_Atomic size_t next;
};

static int each_worker(void *arg, unsigned worker, kh_err *err)
{
	struct each *e = arg;
	int rc = KH_OK;

	(void)worker;
	for (size_t i; !rc && (i = e->next++) < e->n;)
		rc = e->fn(e->arg, i, err);
	return rc;
}

int kh_each(unsigned threads, size_t n, kh_each_fn *fn, void *arg, kh_err *err)
{
	struct each e = { fn, arg, n, 0 };

	return kh_side_by_side(threads, each_worker, &e, err);
}
