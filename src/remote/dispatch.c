/*
 * dispatch.c - the backend of process 0: its tasks are distributed over all processes
 *
 * A queue has a slot for each of its tasks under way. The server that gets the calls of a task
 * puts its slot into `done`; the worker of the queue gives tasks back in the order of submit.
 */
#include <config.h>
#include "remote/remote_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

enum { PER_THREAD = 3 };                /* tasks under way for each thread of all processes */

struct slot {
	kh_task *task;
	unsigned to;                    /* peer */
	uint32_t use;                   /* how often the slot was used */
	bool under_way;                 /* guarded by the lock: its calls have not come yet */
	bool done;                      /* the worker knows that it is done */
};

struct kh_task_queue {
	kh_remote *r;
	kh_monitor *m;                  /* stopped when the run fails */
	kh_queue *done;                 /* slots */
	unsigned worker;
	size_t first, n, depth;
	struct slot slot[];
};

struct kh_engine {
	kh_remote *r;
	size_t depth;
};

/* --- for the servers -------------------------------------------------------------- */
/* Finds a slot by its number, which is that of its worker times the depth, plus its place. The
 * caller holds the lock. */
static struct slot *find_slot(const kh_remote *r, uint64_t id, kh_task_queue **queue)
{
	const uint32_t number = (uint32_t)id, depth = r->depth;
	kh_task_queue *q = number / depth < r->o.on.threads ? r->queue[number / depth] : NULL;
	struct slot *s = q ? &q->slot[number % depth] : NULL;

	*queue = q;
	return s && s->under_way && s->use == id >> 32 ? s : NULL;
}

kh_task *kh_dispatch_task(kh_remote *r, uint64_t id, unsigned from)
{
	kh_task_queue *q;

	if (!r->queue)
		return NULL;
	pthread_mutex_lock(&r->lock);
	const struct slot *s = find_slot(r, id, &q);
	kh_task *t = s && s->to == from ? s->task : NULL;
	pthread_mutex_unlock(&r->lock);
	return t;
}

void kh_dispatch_done(kh_remote *r, uint64_t id)
{
	kh_task_queue *q;

	pthread_mutex_lock(&r->lock);
	struct slot *s = find_slot(r, id, &q);
	if (s) {
		s->under_way = false;
		r->member[s->to].jobs--;
	}
	pthread_mutex_unlock(&r->lock);
	if (s)
		kh_queue_push(q->done, s);
}

void kh_dispatch_stop(kh_remote *r, const kh_err *e)
{
	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; r->queue && i < r->o.on.threads; i++)
		if (r->queue[i])
			kh_monitor_stop(r->queue[i]->m, e);
	pthread_mutex_unlock(&r->lock);
}

/* --- engine ----------------------------------------------------------------------- */
/* Ends the servers of this process. */
static int stop_servers(kh_remote *r, kh_err *err)
{
	kh_err e = { 0, "" };
	int rc;

	if (!r->threads)
		return KH_OK;
	if (kh_comm_post(r->o.on.comm, r->self, KH_CHANNEL_STOP, NULL, 0, &e))
		kh_comm_fail(r->o.on.comm, &e);
	rc = kh_threads_join(r->threads, err);
	r->threads = NULL;
	return rc;
}

static int dispatch_engine_open(const kh_backend *be, kh_engine **out, const kh_db *db,
			    const kh_engine_options *o, kh_err *err)
{
	kh_engine *e = kh_array(1, sizeof *e, err);
	int rc;

	(void)db, (void)o;              /* kh_remote_open has got them */
	if (!e)
		return KH_ENOMEM;
	*e = (kh_engine) { .r = be->context, .depth = be->depth };
	e->r->depth = be->depth;
	e->r->queue = kh_array(e->r->o.on.threads, sizeof(kh_task_queue *), err);
	if (!e->r->queue) {
		free(e);
		return KH_ENOMEM;
	}
	rc = kh_threads_start(&e->r->threads, e->r->m, e->r->o.on.threads, kh_remote_server, e->r,
			      err);
	if (!rc && (rc = kh_monitor_error(e->r->m, err)))       /* not all servers run */
		stop_servers(e->r, NULL);
	if (rc) {
		free(e);
		return rc;
	}
	*out = e;
	return KH_OK;
}

/* Adds to to what all processes have counted. */
static int dispatch_engine_end(kh_engine *e, kh_distinct *to, kh_err *err)
{
	kh_remote *r = e->r;
	int rc = KH_OK;

	for (unsigned k = 1; k < r->size && !rc; k++)
		rc = kh_comm_post(r->o.on.comm, k, KH_CHANNEL_STOP, NULL, 0, err);
	if (!rc)
		rc = stop_servers(r, err);
	for (unsigned k = 1; k < r->size && !rc; k++) {
		kh_message m;

		rc = kh_comm_take_from(r->o.on.comm, k, KH_CHANNEL_END, &m, err);
		if (rc)
			break;
		if (to)
			rc = kh_remote_add_distinct(to, &m, err);
		free(m.p);
	}
	for (unsigned i = 0; i < r->o.on.threads && to && !rc; i++)
		for (uint32_t t = 0; t < to->n && !rc; t++)
			rc = kh_distinct_join(to, t, &r->server[i].distinct, t, err);
	return rc;
}

static void dispatch_engine_close(kh_engine *e)
{
	stop_servers(e->r, NULL);
	free(e);
}

/* --- queues ----------------------------------------------------------------------- */
/* Servers may still be at work on its tasks. */
static void remote_queue_close(kh_task_queue *q)
{
	kh_remote *r = q->r;

	stop_servers(r, NULL);
	pthread_mutex_lock(&r->lock);
	r->queue[q->worker] = NULL;
	pthread_mutex_unlock(&r->lock);
	kh_queue_free(q->done);
	kh_monitor_free(q->m);
	free(q);
}

static int remote_queue_open(kh_task_queue **out, kh_engine *e, unsigned worker, size_t block_size,
			     kh_err *err)
{
	kh_task_queue *q = kh_array(1, sizeof *q + e->depth * sizeof q->slot[0], err);
	int rc;

	(void)block_size;
	if (!q)
		return KH_ENOMEM;
	assert(worker < e->r->o.on.threads);
	q->r = e->r;
	q->worker = worker;
	q->depth = e->depth;
	if ((rc = kh_monitor_new(&q->m, err)) ||
	    (rc = kh_queue_new(&q->done, q->m, q->depth, err))) {
		kh_queue_free(q->done);
		kh_monitor_free(q->m);
		free(q);
		return rc;
	}
	pthread_mutex_lock(&e->r->lock);
	e->r->queue[worker] = q;
	pthread_mutex_unlock(&e->r->lock);
	*out = q;
	return KH_OK;
}

/* The process that has least to do for its threads; of equal ones the last, as process 0 also has
 * to read. */
static unsigned choose(kh_remote *r)
{
	unsigned best = 0;

	pthread_mutex_lock(&r->lock);
	for (unsigned k = 1; k < r->size; k++) {
		const struct kh_member *a = &r->member[k], *b = &r->member[best];

		if ((uint64_t)a->jobs * b->threads <= (uint64_t)b->jobs * a->threads)
			best = k;
	}
	r->member[best].jobs++;
	pthread_mutex_unlock(&r->lock);
	return best;
}

static int dispatch_submit(kh_task_queue *q, kh_task *t, kh_err *err)
{
	kh_remote *r = q->r;
	const size_t place = (q->first + q->n) % q->depth;
	struct slot *s = &q->slot[place];
	const uint64_t id = kh_remote_ticket((uint32_t)(q->worker * q->depth + place), s->use + 1);
	void *p = NULL;
	size_t n = sizeof id;
	int rc = KH_OK;

	assert(q->n < q->depth);
	const unsigned to = choose(r);

	pthread_mutex_lock(&r->lock);
	*s = (struct slot) { .task = t, .to = to, .use = s->use + 1, .under_way = true };
	pthread_mutex_unlock(&r->lock);
	if (s->to != r->self)
		rc = kh_remote_pack(t, id, &p, &n, err);
	else if ((p = kh_array(1, n, err)) != NULL)
		memcpy(p, &id, n);
	else
		rc = KH_ENOMEM;
	if (!rc)
		rc = kh_comm_post(r->o.on.comm, s->to, KH_CHANNEL_JOB, p, n, err);
	q->n += !rc;
	return rc;
}

static int dispatch_collect(kh_task_queue *q, kh_task **t, kh_err *err)
{
	struct slot *s = &q->slot[q->first];

	*t = NULL;
	if (q->n == 0)
		return KH_OK;
	while (!s->done) {
		struct slot *x = kh_queue_pop(q->done);

		if (!x)
			return kh_monitor_error(q->m, err);
		x->done = true;
	}
	q->first = (q->first + 1) % q->depth;
	q->n--;
	*t = s->task;
	return KH_OK;
}

int kh_remote_backend(kh_backend *b, const kh_devices *on, kh_err *err)
{
	uint64_t threads = on->threads;
	int rc = kh_comm_sum(on->comm, &threads, 1, err);

	if (rc)
		return rc;
	*b = (kh_backend) {
		.name = on->choice.backend->name,
		.read_block_size = on->choice.backend->read_block_size,
		.engine_open = dispatch_engine_open,
		.engine_end = dispatch_engine_end,
		.engine_close = dispatch_engine_close,
		.queue_open = remote_queue_open,
		.queue_close = remote_queue_close,
		.depth = (unsigned)((PER_THREAD * threads + on->threads - 1) / on->threads),
		.submit = dispatch_submit,
		.collect = dispatch_collect,
	};
	return KH_OK;
}
