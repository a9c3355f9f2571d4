/*
 * ranks_deal.c - the backend of rank 0: its tasks are dealt to all ranks
 *
 * A lane has a slot for each of its tasks under way.  Who gets the calls of a task puts
 * its slot into the lane's queue; the lane's worker gives tasks back in the order of submit.
 */
#include <config.h>
#include "ranks_in.h"

#include <stdlib.h>
#include <string.h>
#include "mem.h"

enum { PER_THREAD = 3 };                /* tasks under way for each thread of all ranks */

struct slot {
	kh_task *task;
	kh_lane *lane;
	unsigned to;                    /* rank */
	bool done;                      /* seen by the worker */
};

struct kh_lane {
	kh_ranks *r;
	kh_monitor *m;                  /* stopped when the run fails */
	kh_queue *done;                 /* slots */
	size_t first, n, depth;
	struct slot slot[];
};

struct kh_engine {
	kh_ranks *r;
	size_t depth;
};

/* --- for the servers ----------------------------------------------------------------------------- */
static struct slot *slot_of(uint64_t id)
{
	return (struct slot *)(uintptr_t)id;
}

kh_task *kh_deal_task(uint64_t id)
{
	return slot_of(id)->task;
}

void kh_deal_done(kh_ranks *r, uint64_t id)
{
	struct slot *s = slot_of(id);

	kh_monitor_lock(r->m);
	r->member[s->to].jobs--;
	kh_monitor_unlock(r->m);
	kh_queue_push(s->lane->done, s);
}

void kh_deal_stop(kh_ranks *r, const kh_err *e)
{
	kh_monitor_lock(r->m);
	for (size_t i = 0; i < r->n_dealing; i++)
		kh_monitor_stop(r->dealing[i]->m, e);
	kh_monitor_unlock(r->m);
}

/* --- engine ----------------------------------------------------------------------------------------- */
/* Ends the servers of this rank. */
static int stop_servers(kh_ranks *r, kh_err *err)
{
	kh_err e = { 0, "" };
	int rc;

	if (!r->crew)
		return KH_OK;
	if (kh_comm_post(r->o.comm, r->rank, KH_CH_STOP, NULL, 0, &e))
		kh_comm_fail(r->o.comm, &e);
	rc = kh_crew_join(r->crew, err);
	r->crew = NULL;
	return rc;
}

static int deal_engine_open(kh_engine **out, const kh_db *db, const kh_engine_options *o, kh_err *err)
{
	kh_engine *e = kh_array(1, sizeof *e, err);
	int rc;

	(void)db;
	if (!e)
		return KH_ENOMEM;
	*e = (kh_engine) { o->ranks, o->depth };
	rc = kh_crew_start(&e->r->crew, e->r->m, e->r->o.threads, kh_ranks_server, e->r, err);
	if (!rc && (rc = kh_monitor_error(e->r->m, err)))       /* not all of them run */
		stop_servers(e->r, NULL);
	if (rc) {
		free(e);
		return rc;
	}
	*out = e;
	return KH_OK;
}

/* What all have counted, to sk. */
static int deal_engine_end(kh_engine *e, kh_sketches *sk, kh_err *err)
{
	kh_ranks *r = e->r;
	int rc = KH_OK;

	for (unsigned k = 1; k < r->size && !rc; k++)
		rc = kh_comm_post(r->o.comm, k, KH_CH_STOP, NULL, 0, err);
	if (!rc)
		rc = stop_servers(r, err);
	for (unsigned k = 1; k < r->size && !rc; k++) {
		kh_message m;

		rc = kh_comm_take_from(r->o.comm, k, KH_CH_END, &m, err);
		if (rc)
			break;
		if (sk)
			rc = kh_ranks_add_sketches(sk, &m, err);
		free(m.p);
	}
	for (unsigned i = 0; i < r->o.threads && sk && !rc; i++)
		for (uint32_t t = 0; t < sk->n && !rc; t++)
			rc = kh_sketches_join(sk, t, &r->server[i].sketches, t, err);
	return rc;
}

static void deal_engine_close(kh_engine *e)
{
	stop_servers(e->r, NULL);
	free(e);
}

/* --- lanes ----------------------------------------------------------------------------------------------- */
/* Servers may still be at work on its tasks. */
static void deal_lane_close(kh_lane *l)
{
	kh_ranks *r = l->r;

	stop_servers(r, NULL);
	for (size_t i = 0; i < r->n_dealing; i++)
		if (r->dealing[i] == l) {
			r->dealing[i] = r->dealing[--r->n_dealing];
			break;
		}
	kh_queue_free(l->done);
	kh_monitor_free(l->m);
	free(l);
}

static int enlist(kh_ranks *r, kh_lane *l, kh_err *err)
{
	int rc;

	kh_monitor_lock(r->m);
	rc = kh_grow((void **)&r->dealing, &r->cap_dealing, r->n_dealing + 1, sizeof *r->dealing, err);
	if (!rc)
		r->dealing[r->n_dealing++] = l;
	kh_monitor_unlock(r->m);
	return rc;
}

static int deal_lane_open(kh_lane **out, kh_engine *e, unsigned worker, size_t block_size, kh_err *err)
{
	kh_lane *l = kh_array(1, sizeof *l + e->depth * sizeof l->slot[0], err);
	int rc;

	(void)worker, (void)block_size;
	if (!l)
		return KH_ENOMEM;
	l->r = e->r;
	l->depth = e->depth;
	if ((rc = kh_monitor_new(&l->m, err)) || (rc = kh_queue_new(&l->done, l->m, l->depth, err)) ||
	    (rc = enlist(e->r, l, err))) {
		kh_queue_free(l->done);
		kh_monitor_free(l->m);
		free(l);
		return rc;
	}
	*out = l;
	return KH_OK;
}

/* Who has least to do for its threads; of equals the last, as rank 0 has the reading, too. */
static unsigned choose(kh_ranks *r)
{
	unsigned best = 0;

	kh_monitor_lock(r->m);
	for (unsigned k = 1; k < r->size; k++) {
		const struct kh_member *a = &r->member[k], *b = &r->member[best];

		if ((uint64_t)a->jobs * b->threads <= (uint64_t)b->jobs * a->threads)
			best = k;
	}
	r->member[best].jobs++;
	kh_monitor_unlock(r->m);
	return best;
}

static int deal_submit(kh_lane *l, kh_task *t, kh_err *err)
{
	kh_ranks *r = l->r;
	struct slot *s = &l->slot[(l->first + l->n) % l->depth];
	const uint64_t id = (uint64_t)(uintptr_t)s;
	void *p = NULL;
	size_t n = sizeof id;
	int rc = KH_OK;

	assert(l->n < l->depth);
	*s = (struct slot) { t, l, choose(r), false };
	if (s->to != r->rank)
		rc = kh_ranks_pack(t, id, &p, &n, err);
	else if ((p = kh_array(1, n, err)) != NULL)
		memcpy(p, &id, n);
	else
		rc = KH_ENOMEM;
	if (!rc)
		rc = kh_comm_post(r->o.comm, s->to, KH_CH_JOB, p, n, err);
	l->n += !rc;
	return rc;
}

static int deal_collect(kh_lane *l, kh_task **t, kh_err *err)
{
	struct slot *s = &l->slot[l->first];

	*t = NULL;
	if (l->n == 0)
		return KH_OK;
	while (!s->done) {
		struct slot *x = kh_queue_pop(l->done);

		if (!x)
			return kh_monitor_error(l->m, err);
		x->done = true;
	}
	l->first = (l->first + 1) % l->depth;
	l->n--;
	*t = s->task;
	return KH_OK;
}

int kh_ranks_backend(kh_backend *b, const kh_ranks_options *o, kh_err *err)
{
	uint64_t threads = o->threads;
	int rc = kh_comm_sum(o->comm, &threads, 1, err);

	if (rc)
		return rc;
	*b = (kh_backend) {
		.name = o->choice->backend->name,
		.block_size = o->choice->backend->far_block_size,
		.far_block_size = o->choice->backend->far_block_size,
		.engine_open = deal_engine_open,
		.engine_end = deal_engine_end,
		.engine_close = deal_engine_close,
		.lane_open = deal_lane_open,
		.lane_close = deal_lane_close,
		.depth = (unsigned)((PER_THREAD * threads + o->threads - 1) / o->threads),
		.submit = deal_submit,
		.collect = deal_collect,
	};
	return KH_OK;
}
