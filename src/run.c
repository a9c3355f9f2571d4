#include <config.h>
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "laps.h"
#include "mem.h"
#include "text.h"

enum { LINES, CLASSIFIED, CLASSIFIED_2, UNCLASSIFIED, UNCLASSIFIED_2, N_OUTPUTS };
enum { MAX_JOBS = 16 };                 /* taken at a time */

/* A job, its results and its texts. */
typedef struct work {
	struct run *run;
	kh_job job;
	kh_task task;
	kh_call *call;
	size_t cap_call;
	kh_buf text[N_OUTPUTS];
	kh_loan loan;                   /* of the texts */
} work;

/* What a worker spends its time with: bytes into records, what depends on order, handing
 * jobs over, waiting for their results, texts, and getting those to the outputs. */
enum part { READ, SETTLE, HAND, WAIT, TEXT, PUT };

/* One worker's share. */
struct hand {
	struct run *run;
	kh_lane *lane;
	kh_laps laps;
	kh_tally tally;
	kh_run_summary sum;
	unsigned under_way;
	kh_job *jobs;                   /* that its block has completed */
	size_t n_jobs, cap_jobs;
};

struct run {
	const kh_run_options *o;
	const kh_db *db;
	kh_feed *feed;
	const kh_backend *be;
	kh_engine *engine;
	kh_text *out[N_OUTPUTS];        /* NULL: not wanted */
	bool silent;                    /* none is, and nobody asks for names */
	kh_queue *idle;                 /* works */
	kh_order *order;
	work *all;
	size_t n_works;
	struct hand *hand;
	kh_monitor *m;
	double started;
};

/* --- texts of a job --------------------------------------------------------------------- */
static int format_reads(struct run *run, work *w, size_t i, kh_err *err)
{
	const kh_call *call = &w->call[i];
	bool called = call->taxon != KH_TAXON_NONE;
	int first = called ? CLASSIFIED : UNCLASSIFIED, rc = KH_OK;
	const kh_block *b[2];
	const kh_record *r[2];

	if (!run->out[first])
		return KH_OK;
	kh_job_records(&w->job, i, b, r);
	for (int mate = 0; mate < 2 && r[mate] && !rc; mate++) {
		int to = mate && run->out[first + 1] ? first + 1 : first;

		rc = kh_format_read(&w->text[to], b[mate], r[mate],
				    called ? run->db->tax->taxid[call->taxon] : 0, err);
	}
	return rc;
}

static uint64_t bases_of(const work *w, size_t i)
{
	const kh_block *b[2];
	const kh_record *r[2];

	kh_job_records(&w->job, i, b, r);
	return r[0]->len + (r[1] ? r[1]->len : 0);
}

/* Sums go to the hand once a job: hands lie side by side, and a cache line that several threads
 * write to for every read would wander between them. */
static int format_job(struct run *run, struct hand *h, work *w, kh_err *err)
{
	uint64_t bases = 0, classified = 0;
	int rc = KH_OK;

	for (int k = 0; k < N_OUTPUTS; k++)
		w->text[k].n = 0;
	for (size_t i = 0; i < w->job.n && !rc; i++) {
		const uint32_t taxon = w->call[i].taxon;

		bases += bases_of(w, i);
		if (taxon != KH_TAXON_NONE) {
			h->tally.direct[taxon]++;
			classified++;
		}
		if (run->out[LINES])
			rc = kh_format_line(&w->text[LINES], &run->o->style, &w->job, i, &w->call[i], err);
		if (!rc)
			rc = format_reads(run, w, i, err);
	}
	h->sum.fragments += w->job.n;
	h->sum.bases += bases;
	h->sum.classified += classified;
	h->tally.unclassified += w->job.n - classified;
	return rc;
}

/* The work is idle again when all that its texts were lent for is done. */
static void come_back(void *arg)
{
	work *w = arg;

	kh_queue_give_back(w->run->idle, w);
}

/* In order of jobs, one at a time. */
static int deliver(void *arg, void *item, kh_err *err)
{
	struct run *run = arg;
	work *w = item;
	int rc = KH_OK;

	kh_lend(&w->loan, come_back, w);
	for (int k = 0; k < N_OUTPUTS && !rc; k++)
		if (run->out[k] && w->text[k].n > 0)
			rc = kh_text_put(run->out[k], w->text[k].p, w->text[k].n, &w->loan, err);
	kh_loan_end(&w->loan);
	return rc;
}

/* Compresses what waits for that. */
static int help(struct run *run)
{
	int rc = KH_OK;

	for (int k = 0; k < N_OUTPUTS && !rc; k++)
		if (run->out[k])
			rc = kh_text_help(run->out[k]);
	return rc;
}

/* --- a worker ------------------------------------------------------------------------------ */
/* Finishes the oldest job under way, if there is one. */
static int collect(struct run *run, struct hand *h, kh_err *err)
{
	kh_task *t;
	work *w;
	int rc;

	kh_lap(&h->laps, HAND);
	rc = run->be->collect(h->lane, &t, err);
	kh_lap(&h->laps, WAIT);
	if (rc || !t)
		return rc;
	h->under_way--;
	w = (work *)((char *)t - offsetof(work, task));
	rc = format_job(run, h, w, err);
	kh_lap(&h->laps, TEXT);
	kh_feed_release_job(run->feed, &w->job);
	if (!rc)
		rc = kh_order_put(run->order, w->job.ticket, w, deliver, run);
	if (!rc)
		rc = help(run);
	kh_lap(&h->laps, PUT);
	return rc;
}

/* A work for the job with that ticket. Works are as many as the order's window, so that for
 * every ticket in it one is idle, or has been delivered and comes back when its text is
 * compressed; until then, jobs under way are finished: others may wait for them. */
static int take_work(struct run *run, struct hand *h, uint64_t ticket, work **w, kh_err *err)
{
	int rc;

	while ((rc = kh_order_room(run->order, ticket, h->under_way == 0)) == 0) {
		rc = collect(run, h, err);
		if (rc)
			return rc;
	}
	if (rc < 0)
		return rc;
	*w = kh_queue_try(run->idle);
	if (!*w && (rc = help(run)) < 0)
		return rc;
	if (!*w)
		*w = kh_queue_pop(run->idle);
	return *w ? KH_OK : KH_ECANCEL;
}

static int submit(struct run *run, struct hand *h, const kh_job *job, kh_err *err)
{
	work *w;
	int rc = take_work(run, h, job->ticket, &w, err);

	if (rc)
		return rc;
	w->job = *job;
	rc = kh_grow((void **)&w->call, &w->cap_call, job->n, sizeof *w->call, err);
	if (rc)
		return rc;
	w->task = (kh_task) { &w->job, w->call, run->o->sketches ? &h->tally.sketches : NULL };
	while (h->under_way >= run->be->depth && !rc)
		rc = collect(run, h, err);
	if (!rc)
		rc = run->be->submit(h->lane, &w->task, err);
	h->under_way += !rc;
	return rc;
}

static void show_progress(const struct run *run)
{
	uint64_t done, total;
	double s = kh_seconds() - run->started;

	kh_feed_progress(run->feed, &done, &total);
	if (total > 0)
		kh_progress("read %.1f of %.1f MB, %.0f MB/s", done * 1e-6, total * 1e-6,
			    done * 1e-6 / s);
	else
		kh_progress("read %.1f MB, %.0f MB/s", done * 1e-6, done * 1e-6 / s);
}

/* In order of blocks: what jobs this one completes. */
static int settle(void *arg, kh_block *b, kh_err *err)
{
	struct hand *h = arg;
	size_t got = 1;
	int rc = KH_OK;

	for (h->n_jobs = 0; !rc && got > 0; h->n_jobs += rc ? 0 : got) {
		rc = kh_grow((void **)&h->jobs, &h->cap_jobs, h->n_jobs + MAX_JOBS, sizeof *h->jobs, err);
		if (!rc)
			rc = kh_feed_jobs(h->run->feed, b, h->jobs + h->n_jobs, MAX_JOBS, &got, err);
	}
	if (!rc)
		show_progress(h->run);
	return rc;
}

static int worker(void *arg, unsigned id, kh_err *err)
{
	struct run *run = arg;
	struct hand *h = &run->hand[id];
	kh_block *b;
	int rc = KH_OK;

	h->run = run;
	kh_laps_begin(&h->laps);
	while (!rc && (rc = kh_feed_next(run->feed, &b, err)) == 1) {
		kh_lap(&h->laps, READ);
		rc = kh_feed_settle(run->feed, b, settle, h, err);
		if (!rc && run->silent)
			kh_feed_drop_text(run->feed, b);
		kh_feed_release(run->feed, b);
		kh_lap(&h->laps, SETTLE);
		for (size_t i = 0; i < h->n_jobs && !rc; i++)
			rc = submit(run, h, &h->jobs[i], err);
		/* nobody waits for a block while all that it can do is under way */
		while (!rc && h->under_way >= run->be->depth)
			rc = collect(run, h, err);
		kh_lap(&h->laps, HAND);
	}
	kh_lap(&h->laps, READ);
	while (!rc && h->under_way > 0)
		rc = collect(run, h, err);
	return rc;
}

/* --- a run ------------------------------------------------------------------------------------- */
static int open_outputs(struct run *run, kh_err *err)
{
	const kh_run_options *o = run->o;
	const char *path[N_OUTPUTS] = { o->output, o->classified[0], o->classified[1],
					o->unclassified[0], o->unclassified[1] };
	int rc = KH_OK;

	run->silent = o->feed.n_path[1] == 0;
	for (int k = 0; k < N_OUTPUTS && !rc; k++)
		if (path[k]) {
			run->silent = false;
			kh_text_options t = { path[k], kh_text_wants_bgzf(path[k]), o->threads };

			rc = kh_text_open(&run->out[k], &t, run->m, err);
		}
	return rc;
}

static int open_run(struct run *run, kh_err *err)
{
	const kh_run_options *o = run->o;
	const kh_engine_options eo = { &o->rule, o->choice->device, o->choice->n, o->placement, o->comm,
				       o->threads, run->be->depth, o->ranks };
	int rc;

	run->n_works = (size_t)o->threads * (run->be->depth + 3) + 2;
	run->all = kh_array(run->n_works, sizeof *run->all, err);
	run->hand = kh_array(o->threads, sizeof *run->hand, err);
	if (!run->all || !run->hand)
		return KH_ENOMEM;
	if ((rc = open_outputs(run, err)) ||
	    (rc = kh_queue_new(&run->idle, run->m, run->n_works, err)) ||
	    (rc = kh_order_new(&run->order, run->m, run->n_works, err)))
		return rc;
	for (size_t i = 0; i < run->n_works; i++) {
		run->all[i].run = run;
		kh_queue_push(run->idle, &run->all[i]);
	}
	for (unsigned i = 0; i < o->threads && !rc; i++)
		rc = kh_tally_init(&run->hand[i].tally, run->db->tax->n, o->sketches, err);
	if (!rc)
		rc = run->be->engine_open(&run->engine, run->db, &eo, err);
	for (unsigned i = 0; i < o->threads && !rc; i++)
		rc = run->be->lane_open(&run->hand[i].lane, run->engine, i, o->feed.block_size, err);
	return rc;
}

static void close_run(struct run *run)
{
	for (unsigned i = 0; run->hand && i < run->o->threads; i++) {
		if (run->hand[i].lane)
			run->be->lane_close(run->hand[i].lane);
		kh_tally_clear(&run->hand[i].tally);
		free(run->hand[i].jobs);
	}
	for (size_t i = 0; run->all && i < run->n_works; i++) {
		free(run->all[i].call);
		for (int k = 0; k < N_OUTPUTS; k++)
			free(run->all[i].text[k].p);
	}
	for (int k = 0; k < N_OUTPUTS; k++)
		kh_text_close(run->out[k]);
	if (run->engine)
		run->be->engine_close(run->engine);
	kh_queue_free(run->idle);
	kh_order_free(run->order);
	free(run->all);
	free(run->hand);
}

static int add_up(struct run *run, kh_tally *tally, kh_run_summary *sum, kh_err *err)
{
	int rc = kh_tally_init(tally, run->db->tax->n, run->o->sketches, err);

	for (unsigned i = 0; i < run->o->threads && !rc; i++) {
		const kh_run_summary *s = &run->hand[i].sum;

		sum->fragments += s->fragments;
		sum->classified += s->classified;
		sum->bases += s->bases;
		rc = kh_tally_add(tally, &run->hand[i].tally, err);
	}
	if (!rc && run->be->engine_end)
		rc = run->be->engine_end(run->engine, run->o->sketches ? &tally->sketches : NULL, err);
	return rc;
}

static void show_parts(const struct run *run)
{
	static const char *const name[] = { "reading", "settling", "handing over or classifying",
					    "waiting for calls", "formatting", "delivering", NULL };
	kh_laps sum = { 0 };

	for (unsigned i = 0; i < run->o->threads; i++)
		kh_laps_add(&sum, &run->hand[i].laps);
	kh_laps_show(&sum, run->o->threads, name);
}

int kh_run(const kh_run_options *o, const kh_db *db, kh_feed *feed, kh_monitor *m,
	   kh_tally *tally, kh_run_summary *sum, kh_err *err)
{
	struct run run = { .o = o, .db = db, .feed = feed, .be = o->choice->backend, .m = m };
	int rc = open_run(&run, err);

	*sum = (kh_run_summary) { .fragments = 0 };
	run.started = kh_seconds();
	if (!rc)
		rc = kh_crew_run(m, o->threads, worker, &run, err);
	kh_progress_end();
	if (!rc)
		show_parts(&run);
	if (!rc)
		rc = add_up(&run, tally, sum, err);
	if (!rc)
		rc = kh_db_unchanged(db, err);
	sum->seconds = kh_seconds() - run.started;
	if (!rc && o->before_commit)
		rc = o->before_commit(o->arg, err);
	for (int k = 0; k < N_OUTPUTS && !rc; k++)
		if (run.out[k])
			rc = kh_text_commit(run.out[k], err);
	sum->seconds = kh_seconds() - run.started;
	close_run(&run);
	return rc;
}
