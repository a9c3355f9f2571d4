/* ranks_serve.c - the threads of a rank that take messages, and jobs that one rank does alone */
#include <config.h>
#include "ranks_in.h"

#include <stdlib.h>
#include <string.h>
#include "mem.h"

#define BIT(channel) (1u << (channel))

/* --- jobs ------------------------------------------------------------------------------------- */
static int take_idle(kh_ranks *r, kh_ranks_job **out, kh_err *err)
{
	kh_ranks_job *j;

	kh_monitor_lock(r->m);
	j = r->idle;
	if (j)
		r->idle = j->next_idle;
	kh_monitor_unlock(r->m);
	if (!j) {
		j = kh_array(1, sizeof *j, err);
		if (!j)
			return KH_ENOMEM;
		kh_monitor_lock(r->m);
		j->next = r->all;
		r->all = j;
		kh_monitor_unlock(r->m);
	}
	*out = j;
	return KH_OK;
}

static int job_of(kh_server *s, kh_message *m, kh_ranks_job **out, kh_err *err)
{
	kh_ranks *r = s->r;
	kh_ranks_job *j;
	int rc = take_idle(r, &j, err);

	if (rc)
		return rc;
	j->own = m->from == r->rank;
	if (j->own) {
		memcpy(&j->id, m->p, sizeof j->id);
		j->task = *kh_deal_task(j->id);
	} else {
		rc = kh_ranks_unpack(j, m, err);
	}
	j->task.sketches = r->o.sketches ? &s->sketches : NULL;
	*out = j;
	return rc;
}

int kh_ranks_finished(kh_ranks *r, kh_ranks_job *j, kh_err *err)
{
	int rc = KH_OK;

	if (j->own)
		kh_deal_done(r, j->id);
	else
		rc = kh_comm_post(r->o.comm, 0, KH_CH_CALLS, j->out,
				  sizeof *j->out + j->job.n * sizeof(kh_call), err);
	j->out = NULL;
	free(j->message);
	j->message = NULL;
	kh_monitor_lock(r->m);
	j->next_idle = r->idle;
	r->idle = j;
	kh_monitor_unlock(r->m);
	return rc;
}

/* Finishes the oldest job that the rank's own backend has. */
static int collect(kh_server *s, kh_err *err)
{
	kh_task *t = NULL;
	int rc = s->r->be->collect(s->lane, &t, err);

	if (rc)
		return rc;
	s->under_way--;
	return kh_ranks_finished(s->r, (kh_ranks_job *)((char *)t - offsetof(kh_ranks_job, task)),
				 err);
}

static int do_job(kh_server *s, kh_message *m, kh_err *err)
{
	kh_ranks_job *j;
	int rc = KH_OK;

	while (!rc && s->lane && s->under_way >= s->r->be->depth)
		rc = collect(s, err);
	if (!rc)
		rc = job_of(s, m, &j, err);
	if (rc || !s->lane)
		return rc ? rc : kh_shard_job(s, j, err);
	rc = s->r->be->submit(s->lane, &j->task, err);
	s->under_way += !rc;
	return rc;
}

/* --- messages ------------------------------------------------------------------------------------ */
/* Of a task that we dealt. */
static int take_calls(kh_ranks *r, const kh_message *m, kh_err *err)
{
	uint64_t id;
	kh_task *t;

	memcpy(&id, m->p, sizeof id);
	t = kh_deal_task(id);
	if (m->n != sizeof id + t->job->n * sizeof(kh_call))
		return kh_fail(err, KH_EIO, "rank %u sent %zu bytes for the calls of %zu reads",
			       m->from, m->n, t->job->n);
	memcpy(t->call, (const char *)m->p + sizeof id, t->job->n * sizeof(kh_call));
	kh_deal_done(r, id);
	return KH_OK;
}

/* Each server takes this once: it passes it on, but for the last. */
static int pass_stop(kh_ranks *r, kh_err *err)
{
	bool last;

	kh_monitor_lock(r->m);
	last = ++r->stopping == r->o.threads;
	kh_monitor_unlock(r->m);
	return last ? KH_OK : kh_comm_post(r->o.comm, r->rank, KH_CH_STOP, NULL, 0, err);
}

static int handle(kh_server *s, kh_message *m, bool *stop, kh_err *err)
{
	switch (m->channel) {
	case KH_CH_JOB:
		return do_job(s, m, err);
	case KH_CH_CALLS:
		return take_calls(s->r, m, err);
	case KH_CH_LOOKUP:
		return kh_shard_lookup(s, m, err);
	case KH_CH_LISTS:
		return kh_shard_lists(s, m, err);
	default:
		*stop = true;
		return pass_stop(s->r, err);
	}
}

int kh_ranks_server(void *arg, unsigned id, kh_err *err)
{
	kh_ranks *r = arg;
	kh_server *s = &r->server[id];
	const unsigned channels = BIT(KH_CH_JOB) | BIT(KH_CH_CALLS) | BIT(KH_CH_LOOKUP) |
				  BIT(KH_CH_LISTS) | BIT(KH_CH_STOP);
	bool stop = false;
	int rc = KH_OK;

	while (!rc && !stop) {
		kh_message m;

		rc = kh_comm_take(r->o.comm, channels, s->under_way == 0, &m, err);
		if (rc)
			break;
		if (m.from == KH_NOBODY) {
			rc = collect(s, err);
			continue;
		}
		rc = handle(s, &m, &stop, err);
		free(m.p);
	}
	if (rc) {               /* the others of this rank wait for messages, its workers for calls */
		kh_comm_fail(r->o.comm, err);
		kh_deal_stop(r, err);
	}
	return rc;
}
