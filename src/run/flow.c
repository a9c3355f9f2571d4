#include <config.h>
#include "run/flow_in.h"

#include <stdlib.h>
#include "base/mem.h"
#include "base/progress.h"

/* What a worker spends its time on: parsing, what depends on the order of blocks, giving jobs to
 * the backend, waiting for their results, formatting, handing outputs to the writers in order, and
 * what it does while it has no sample. */
enum activity { READ, COMMIT, SUBMIT, WAIT, TEXT, PUT, BETWEEN };

/* Makes the flow_job idle again when its outputs are not used any more. */
static void give_back(void *arg)
{
	flow_job *w = arg;

	kh_queue_give_back(w->flow->idle, w);
}

static int put_answers(kh_flow *f, const flow_job *w, kh_err *err)
{
	const kh_buf *b;
	const kh_beside beside = { w->task.candidates, w->task.second };
	int rc = kh_answers_out_add(f->results->answers, w->volumes.answer, &beside,
				    w->volumes.hash, w->job.n, &b, err);

	return rc ? rc
		  : kh_writer_put(f->results->out[KH_RESULT_CANDIDATES], b->p, b->n, err);
}

/* Called in the order of jobs, one at a time. */
static int deliver(void *arg, void *item, kh_err *err)
{
	kh_flow *f = arg;
	flow_job *w = item;
	int rc = f->results->answers ? put_answers(f, w, err) : KH_OK;

	kh_lend(&w->loan, give_back, w);
	for (int k = 0; k < KH_N_BY_FRAGMENT && !rc; k++) {
		const kh_buf *b = &w->buf[k];

		rc = kh_buf_check(b, err);
		if (!rc && f->results->out[k] && b->n > 0)
			rc = kh_writer_lend(f->results->out[k], b->p, b->n, &w->loan, err);
	}
	kh_loan_end(&w->loan);
	return rc;
}

/* --- a worker --------------------------------------------------------------------- */
/* A job is done: its outputs are made and delivered in order. */
static int finish(void *arg, kh_task *t, kh_err *err)
{
	kh_flow_worker *self = arg;
	kh_flow *f = self->flow;
	flow_job *w = (flow_job *)((char *)t - offsetof(flow_job, task));
	int rc;

	kh_timer_mark(&self->timer, WAIT);
	rc = kh_flow_format(f, self, w, err);
	kh_timer_mark(&self->timer, TEXT);
	kh_feed_release_job(f->feed, &w->job);
	if (!rc)
		rc = kh_order_put(f->order, w->job.ticket, w, deliver, f);
	if (!rc)
		rc = kh_results_help(f->results);
	kh_timer_mark(&self->timer, PUT);
	return rc;
}

/* Takes the next idle flow_job.  If none is idle, first compresses text that waits, and then waits
 * for one. */
static int take_idle(kh_flow *f, flow_job **w)
{
	int rc;

	*w = kh_queue_try(f->idle);
	if (!*w && (rc = kh_results_help(f->results)) < 0)
		return rc;
	if (!*w)
		*w = kh_queue_pop(f->idle);
	return *w ? KH_OK : KH_ECANCEL;
}

/* Sets the task of a flow_job, whose job is set. */
static int set_task(kh_flow *f, kh_flow_worker *self, flow_job *w, kh_err *err)
{
	const size_t n = w->job.n;
	kh_writer *const *out = f->results->out;
	const bool runs = f->style->column5 == KH_COLUMN5_KMERS && out[KH_RESULT_LINES];
	const bool aligned = f->style->identity || out[KH_RESULT_PAF] || out[KH_RESULT_SAM];
	const kh_answers_out *answers = f->results->answers;
	const uint32_t want = answers	     ? kh_answers_out_want(answers)
			      : f->results->pass ? KH_WANT_CANDIDATES
			      : f->style->second ? KH_WANT_SECOND
						 : KH_WANT_NONE;
	int rc = KH_GROW(w->call, w->cap_call, n, err);

	w->task = (kh_task) { .job = &w->job,
			      .call = w->call,
			      .distinct = f->distinct ? &self->tally.distinct : NULL,
			      .runs = runs ? &w->runs : NULL,
			      .aligned = aligned ? &w->aligned : NULL,
			      .counters = f->counters };
	if (!rc && want == KH_WANT_CANDIDATES &&
	    !(rc = KH_GROW(w->candidates, w->cap_candidates, n, err)))
		w->task.candidates = w->candidates;
	if (!rc && want == KH_WANT_SECOND && !(rc = KH_GROW(w->second, w->cap_second, n, err)))
		w->task.second = w->second;
	if (!rc && f->volumes)
		rc = kh_volumes_look_up(&w->volumes, f->volumes, self->from, &w->task,
					&self->sum.answers, err);
	else if (!rc && answers)
		rc = kh_volumes_ask(&w->volumes, &w->task, &self->sum.answers, err);
	if (rc || !f->results->pass)
		return rc;
	rc = KH_GROW(w->class_of, w->cap_class_of, n, err);
	if (rc)
		return rc;
	w->task.class_of = w->class_of;
	if (f->compute->translator && kh_pass_compares(f->results->pass)) {
		if ((rc = KH_GROW(w->like, w->cap_like, n, err)))
			return rc;
		w->task.like = w->like;
	}
	kh_pass_ask(f->results->pass, &w->task);
	return KH_OK;
}

/* There is a flow_job for each ticket in the window of the order, so for every ticket in it one is
 * idle, or has been delivered and becomes idle when its text is compressed. Until the ticket is
 * in it, this finishes jobs under way, as other workers may wait for them. */
static int submit(kh_flow *f, kh_flow_worker *self, const kh_job *job, kh_err *err)
{
	flow_job *w;
	int rc;

	while ((rc = kh_order_may_put(f->order, job->ticket, self->tasks.under_way == 0)) == 0)
		if ((rc = kh_tasks_finish(&self->tasks, err)))
			return rc;
	if (rc < 0 || (rc = take_idle(f, &w)))
		return rc;
	w->job = *job;
	/* now, as later its records are in no cache any more */
	self->sum.bases += kh_job_bases(job);
	rc = set_task(f, self, w, err);
	return rc ? rc : kh_tasks_submit(&self->tasks, &w->task, err);
}

/* Waits until a block is committed, and submits the jobs that it completes. */
static int take_jobs(kh_flow *f, kh_flow_worker *self, kh_block **block, kh_err *err)
{
	kh_block *b = *block;
	kh_step s = { .doing = "read", .started = f->started };
	kh_jobs jobs;
	int rc;

	if (!b)
		return KH_OK;
	*block = NULL;
	rc = kh_feed_jobs(f->feed, b, &jobs, err);
	if (!rc && !f->quiet) {
		kh_feed_progress(f->feed, &s.done, &s.total);
		kh_progress(&s);
	}
	kh_timer_mark(&self->timer, COMMIT);
	for (size_t i = 0; i < jobs.n && !rc; i++)
		rc = submit(f, self, &jobs.job[i], err);
	kh_timer_mark(&self->timer, SUBMIT);
	kh_feed_release(f->feed, b);
	/* a worker does not wait for a block while it has as many tasks under way as it may */
	if (!rc)
		rc = kh_tasks_make_way(&self->tasks, err);
	return rc;
}

/* Are calls, and lines by these, all that is wanted of reads that a device has parsed, and can it
 * do them?  What Kraken 2 calls each k-mer needs too much memory for a task of so many reads. */
static bool wants_parsed(const kh_flow *f)
{
	const kh_compute *c = f->compute;
	bool more = f->style->identity || f->style->second ||
		    (f->style->column5 != KH_COLUMN5_FEATURES && f->results->out[KH_RESULT_LINES]);

	for (int k = 0; k < KH_N_BY_FRAGMENT; k++)
		more = more || (k != KH_RESULT_LINES && f->results->out[k]);
	return !more && !c->translator && c->be->takes_parsed && c->be->takes_parsed(c->engine);
}

/* Takes jobs that a device has parsed until there are none. */
static int take_parsed(kh_flow *f, kh_flow_worker *self, kh_err *err)
{
	kh_job job;
	int more = wants_parsed(f), rc = KH_OK;

	while (!rc && more > 0) {
		more = kh_feed_parsed(f->feed, f->style->k, self->tasks.under_way == 0, &job,
				      err);
		kh_timer_mark(&self->timer, READ);
		if (more == KH_FEED_LATER)
			rc = kh_tasks_finish(&self->tasks, err);
		else if (more > 0 && !(rc = submit(f, self, &job, err)))
			rc = kh_tasks_make_way(&self->tasks, err);
		kh_timer_mark(&self->timer, SUBMIT);
	}
	return rc ? rc : more;
}

/* Takes blocks until there are none.  While one is read, at most one is handed in whose jobs are
 * not yet taken. */
static int take_blocks(kh_flow *f, unsigned id, kh_err *err)
{
	kh_flow_worker *self = &f->worker[id];
	kh_block *b, *held = NULL;      /* a block that is handed in, and not yet taken up again */
	int more, committed, rc = KH_OK;

	kh_timer_start(&self->timer);
	if (self->tally.n == 0)
		rc = kh_tally_init(&self->tally, f->results->tally.n, f->distinct, err);
	if (!rc && f->results->tally.bases && !self->tally.bases)
		rc = kh_tally_want_bases(&self->tally, err);
	if (!rc)
		rc = take_parsed(f, self, err);
	while (!rc) {
		/* rather than wait until `held` is committed, another block, if one is free */
		more = held ? kh_feed_try(f->feed, &b, err) : 0;
		if (more == 0) {
			if ((rc = take_jobs(f, self, &held, err)))
				break;
			more = kh_feed_next(f->feed, &b, err);
		}
		kh_timer_mark(&self->timer, READ);
		if (more <= 0) {
			rc = more;
			break;
		}
		committed = kh_feed_put(f->feed, b, err);
		rc = committed < 0 ? committed : take_jobs(f, self, &held, err);
		kh_timer_mark(&self->timer, COMMIT);
		held = b;
		if (!rc && committed)
			rc = take_jobs(f, self, &held, err);
	}
	return rc ? rc : kh_tasks_drain(&self->tasks, err);
}

/* Does this worker only deliver?  Another one would have jobs under way that only it can finish: so
 * while it delivers those of all, the order soon waits for one of its own, and all wait for it. */
static bool is_to_serve(kh_flow *f)
{
	kh_monitor_lock(f->m);
	const bool serves = f->serves;

	f->serves = false;
	kh_monitor_unlock(f->m);
	return serves;
}

int kh_flow_work(void *flow, unsigned id, kh_err *err)
{
	kh_flow *f = flow;
	int rc;

	if (is_to_serve(f))
		return kh_order_serve(f->order, deliver, f);
	kh_order_come(f->order);
	rc = take_blocks(f, id, err);
	kh_order_leave(f->order);
	return rc;
}

/* --- the second pass -------------------------------------------------------------- */
int kh_flow_decide(kh_flow *f, kh_err *err)
{
	kh_results *r = f->results;
	int rc = kh_pass_fit(r->pass, r->team, r->sum.fragments, &r->tally, err);

	if (rc)
		return rc;
	r->sum.classified += (uint64_t)kh_pass_result_of(r->pass)->classified;
	r->sum.kept = kh_pass_result_of(r->pass)->model->small;
	f->again = 0;
	f->started = kh_seconds();
	kh_order_free(f->order);
	f->order = NULL;
	return kh_order_new(&f->order, f->m, f->n_works, err);
}

/* A worker takes a ticket only when it has a flow_job, so the lowest ticket always has one. */
int kh_flow_rewrite(void *flow, unsigned id, kh_err *err)
{
	kh_flow *f = flow;
	const uint64_t jobs = kh_pass_jobs(f->results->pass);
	int rc = KH_OK;

	while (!rc) {
		flow_job *w;

		if ((rc = take_idle(f, &w)))
			return rc;
		kh_monitor_lock(f->m);
		w->job.ticket = f->again++;
		kh_monitor_unlock(f->m);
		if (w->job.ticket >= jobs) {
			kh_queue_give_back(f->idle, w);
			return KH_OK;
		}
		if (!f->quiet)
			kh_progress(&(kh_step) { .doing = "looked again at",
						 .things = "blocks of reads",
						 .started = f->started,
						 .done = w->job.ticket,
						 .total = jobs });
		const kh_result_bufs to = kh_flow_bufs(f, w);
		rc = kh_pass_format(f->results->pass, id, w->job.ticket, &to, err);
		if (!rc)
			rc = kh_order_put(f->order, w->job.ticket, w, deliver, f);
		if (!rc)
			rc = kh_results_help(f->results);
	}
	return rc;
}

/* --- all workers ------------------------------------------------------------------ */
/* Fewer workers have more to do than one writes, and on cores that classify that takes longest. */
static bool has_server(const kh_flow *f)
{
	enum { MANY = 12 };
	const kh_writer *lines = f->results->out[KH_RESULT_LINES];

	return f->only_sample && f->compute->workers >= MANY && f->compute->be->depth > 1 &&
	       lines && kh_writer_plain(lines) &&
	       !(f->results->pass && kh_pass_writes(f->results->pass));
}

int kh_flow_open(kh_flow *f, kh_err *err)
{
	kh_compute *c = f->compute;
	int rc = f->results->pass ? kh_pass_begin(f->results->pass, c, err) : KH_OK;

	f->started = kh_seconds();
	if (!rc && f->distinct && c->be->counters.open)
		rc = c->be->counters.open(&f->counters, c->engine, 0, err);
	if (rc)
		return rc;
	f->n_workers = c->workers;
	f->serves = has_server(f);
	f->n_works = (size_t)c->workers * (c->be->depth + 3) + 2;
	f->all = kh_array(f->n_works, sizeof *f->all, err);
	f->worker = kh_array(f->n_workers, sizeof *f->worker, err);
	if (!f->all || !f->worker)
		return KH_ENOMEM;
	for (unsigned i = 0; i < f->n_workers; i++) {
		f->worker[i].flow = f;
		f->worker[i].tasks = kh_compute_tasks(c, i, finish, &f->worker[i]);
		if (f->volumes && !(f->worker[i].from = kh_array(1, sizeof(kh_answers), err)))
			return KH_ENOMEM;
	}
	if ((rc = kh_queue_new(&f->idle, f->m, f->n_works, err)) ||
	    (rc = kh_order_new(&f->order, f->m, f->n_works, err)))
		return rc;
	for (size_t i = 0; i < f->n_works; i++) {
		f->all[i].flow = f;
		kh_queue_push(f->idle, &f->all[i]);
	}
	return KH_OK;
}

void kh_flow_close(kh_flow *f)
{
	for (unsigned i = 0; f->worker && i < f->n_workers; i++) {
		kh_tasks_drop(&f->worker[i].tasks);
		kh_tally_clear(&f->worker[i].tally);
		kh_answers_free(f->worker[i].from);
	}
	for (size_t i = 0; f->all && i < f->n_works; i++) {
		free(f->all[i].call);
		kh_k2_runs_clear(&f->all[i].runs);
		kh_alignments_clear(&f->all[i].aligned);
		free(f->all[i].candidates);
		free(f->all[i].second);
		free(f->all[i].class_of);
		free(f->all[i].like);
		kh_volumes_asked_clear(&f->all[i].volumes);
		for (int k = 0; k < KH_N_BY_FRAGMENT; k++)
			free(f->all[i].buf[k].p);
		free(f->all[i].one.p);
	}
	if (f->counters)
		f->compute->be->counters.close(f->counters);
	kh_queue_free(f->idle);
	kh_order_free(f->order);
	free(f->all);
	free(f->worker);
	*f = (kh_flow) { .feed = NULL };
}

int kh_flow_add_up(kh_flow *f, kh_err *err)
{
	kh_run_summary *sum = &f->results->sum;
	int rc = KH_OK;

	for (unsigned i = 0; i < f->n_workers && !rc; i++) {
		const kh_run_summary *s = &f->worker[i].sum;

		sum->fragments += s->fragments;
		sum->classified += s->classified;
		sum->bases += s->bases;
		sum->answers.reads += s->answers.reads;
		sum->answers.compared += s->answers.compared;
		if (f->worker[i].tally.n > 0)
			rc = kh_tally_add(&f->results->tally, &f->worker[i].tally, err);
	}
	if (!rc && f->counters)
		rc = f->compute->be->counters.read(f->counters, &f->results->tally.distinct, err);
	if (!rc && f->volumes)
		rc = kh_volumes_check(f->volumes, sum->fragments, &sum->answers, err);
	return rc || !f->results->answers ? rc : kh_results_end_answers(f->results, err);
}

void kh_flow_show_times(const kh_timer *sum, unsigned workers, const double *between)
{
	const char *const name[] = { "reading", "committing", "submitting or classifying",
				     "waiting for calls", "formatting", "delivering",
				     between ? "between samples" : NULL, NULL };
	kh_timer t = *sum;

	t.spent[BETWEEN] = between ? *between : 0;
	kh_timer_show(&t, workers, name);
}
