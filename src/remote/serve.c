/* serve.c - the threads that take messages, and jobs that one process does alone */
#include <config.h>
#include "remote/remote_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

#define BIT(channel) (1u << (channel))

/* --- jobs ------------------------------------------------------------------------- */
/* Takes a job that is idle, or makes one. */
static int take_idle(kh_remote *r, kh_remote_job **out, kh_err *err)
{
	kh_remote_job *j;

	pthread_mutex_lock(&r->lock);
	j = r->idle;
	if (j) {
		r->idle = j->next_idle;
	} else if (!KH_GROW(r->job, r->cap_jobs, r->n_jobs + 1, err) &&
		 (j = kh_array(1, sizeof *j, err))) {
		j->number = (uint32_t)r->n_jobs;
		r->job[r->n_jobs++] = j;
	}
	if (j)
		j->use++;
	pthread_mutex_unlock(&r->lock);
	*out = j;
	return j ? KH_OK : KH_ENOMEM;
}

static int job_of(kh_server *s, kh_message *m, kh_remote_job **out, kh_err *err)
{
	kh_remote *r = s->r;
	kh_remote_job *j;
	int rc = take_idle(r, &j, err);

	if (rc)
		return rc;
	j->own = m->from == r->self;
	if (j->own) {
		memcpy(&j->id, m->p, sizeof j->id);
		j->task = *kh_dispatch_task(r, j->id, r->self);
	} else {
		rc = kh_remote_unpack(j, m, r->o.rule->candidates, err);
	}
	j->task.distinct = r->o.distinct ? &s->distinct : NULL;
	*out = j;
	return rc;
}

int kh_remote_finished(kh_remote *r, kh_remote_job *j, kh_err *err)
{
	int rc = KH_OK;

	if (j->own)
		kh_dispatch_done(r, j->id);
	else
		rc = kh_comm_post(r->o.on.comm, 0, KH_CHANNEL_CALLS, j->out,
				  sizeof *j->out +
					  kh_remote_calls_bytes(j->job.n, r->o.rule->candidates),
				  err);
	j->out = NULL;
	free(j->message);
	j->message = NULL;
	pthread_mutex_lock(&r->lock);
	j->next_idle = r->idle;
	r->idle = j;
	pthread_mutex_unlock(&r->lock);
	return rc;
}

int kh_remote_done(void *server, kh_task *t, kh_err *err)
{
	return kh_remote_finished(((kh_server *)server)->r,
				  (kh_remote_job *)((char *)t - offsetof(kh_remote_job, task)),
				  err);
}

static int do_job(kh_server *s, kh_message *m, kh_err *err)
{
	kh_remote_job *j;
	int rc = job_of(s, m, &j, err);

	if (rc)
		return rc;
	return kh_tasks_submit(&s->tasks, &j->task, err);
}

/* --- messages --------------------------------------------------------------------- */
/* Takes the calls of a task that this process has sent out. */
static int take_calls(kh_remote *r, const kh_message *m, kh_err *err)
{
	uint64_t id;
	int rc = kh_remote_number(m, &id, err);
	const kh_task *t = rc ? NULL : kh_dispatch_task(r, id, m->from);

	if (!rc && !t)
		return kh_fail(err, KH_EIO, "process %u sent calls that it was not asked for",
			       m->from);
	if (!rc)
		rc = kh_remote_unpack_calls(t, m, r->db, r->o.rule, err);
	if (!rc)
		kh_dispatch_done(r, id);
	return rc;
}

/* May this process send us such a message? */
static bool is_expected(const kh_remote *r, const kh_message *m)
{
	switch (m->channel) {
	case KH_CHANNEL_JOB:
		return m->from == 0;
	case KH_CHANNEL_CALLS:
		return r->self == 0 && m->from != 0;
	default:
		return m->from == 0 || m->from == r->self;
	}
}

/* Each server takes this message once and passes it on, except the last one. */
static int pass_stop(kh_remote *r, kh_err *err)
{
	bool last;

	pthread_mutex_lock(&r->lock);
	last = ++r->stopping == r->o.on.threads;
	pthread_mutex_unlock(&r->lock);
	return last ? KH_OK : kh_comm_post(r->o.on.comm, r->self, KH_CHANNEL_STOP, NULL, 0, err);
}

static int handle(kh_server *s, kh_message *m, bool *stop, kh_err *err)
{
	if (!is_expected(s->r, m))
		return kh_fail(err, KH_EIO, "process %u sent a message that is not for this one",
			       m->from);
	switch (m->channel) {
	case KH_CHANNEL_JOB:
		return do_job(s, m, err);
	case KH_CHANNEL_CALLS:
		return take_calls(s->r, m, err);
	default:
		*stop = true;
		return pass_stop(s->r, err);
	}
}

int kh_remote_server(void *arg, unsigned id, kh_err *err)
{
	kh_remote *r = arg;
	kh_server *s = &r->server[id];
	const unsigned channels = BIT(KH_CHANNEL_JOB) | BIT(KH_CHANNEL_CALLS) |
				  BIT(KH_CHANNEL_STOP);
	bool stop = false;
	int rc = KH_OK;

	while (!rc && !stop) {
		kh_message m;

		rc = kh_comm_take(r->o.on.comm, channels, s->tasks.under_way == 0, &m, err);
		if (rc)
			break;
		if (m.from == KH_NOBODY) {
			rc = kh_tasks_finish(&s->tasks, err);
			continue;
		}
		rc = handle(s, &m, &stop, err);
		free(m.p);
	}
	if (rc) { /* the other servers of this process wait for messages, its workers for calls */
		kh_comm_fail(r->o.on.comm, err);
		kh_dispatch_stop(r, err);
	}
	return rc;
}
