#include <config.h>
#include "run/samples.h"

#include <stdlib.h>
#include "base/mem.h"
#include "base/progress.h"
#include "db/in_use.h"
#include "run/samples_in.h"

struct samples {
	const kh_samples_options *o;
	kh_samples_summary *sum;
	kh_monitor *m;                  /* its lock guards all below */
	kh_event *changed;
	bool *woken;                    /* a worker */
	struct sample_slot *slot;              /* o->at_once */
	unsigned share;                 /* workers of a sample while as many are under way */
	size_t next;                    /* the next sample that is not begun */
	kh_timer times;
	double started;
	bool stop;
	/* the error of the first sample that failed, if all are to stop */
	int rc;
	kh_err err;
};

/* --- which worker does what; callers hold the lock ---------------------------------- */
static void wake_all(struct samples *s)
{
	for (unsigned i = 0; i < s->o->compute->workers; i++)
		s->woken[i] = true;
}

static struct sample_slot *free_slot(struct samples *s)
{
	for (unsigned i = 0; i < s->o->at_once; i++)
		if (!s->slot[i].used)
			return &s->slot[i];
	return NULL;
}

static bool any_used(const struct samples *s)
{
	for (unsigned i = 0; i < s->o->at_once; i++)
		if (s->slot[i].used)
			return true;
	return false;
}

/* Stops all: no sample is begun any more, and workers that wait for input return. */
static void stop_all(struct samples *s)
{
	s->stop = true;
	for (unsigned i = 0; i < s->o->at_once; i++)
		if (s->slot[i].m)
			kh_monitor_stop(s->slot[i].m, NULL);
	wake_all(s);
}

enum choice { BEGIN, JOIN, WAIT, LEAVE };

/* Decides what a worker does next; *slot: the sample. */
static enum choice choose(struct samples *s, unsigned worker, struct sample_slot **slot)
{
	enum choice c = WAIT;

	kh_monitor_lock(s->m);
	if (s->stop) {
		c = LEAVE;
	} else if (s->next < s->o->n && (*slot = free_slot(s))) {
		**slot = (struct sample_slot) { .used = true, .opening = true,
					  .sample = s->next++, .workers = 1 };
		c = BEGIN;
	} else if ((*slot = sample_to_join(s->slot, s->o->at_once, s->share))) {
		(*slot)->workers++;
		c = JOIN;
	} else if (s->next == s->o->n && !any_used(s)) {
		c = LEAVE;
	}
	s->woken[worker] = false;
	kh_monitor_unlock(s->m);
	return c;
}

/* --- one sample ------------------------------------------------------------------- */
/* Opens the next of its reads: files of pairs, or of single reads. */
static int open_reads(struct samples *s, struct sample_slot *t, kh_err *err)
{
	const kh_sheet_sample *x = &s->o->sample[t->sample];
	const kh_sheet_reads *r = &x->reads[t->reads];
	kh_feed_options fo = s->o->feed;
	bool pairs = false;
	int rc;

	for (size_t i = 0; i < x->n_reads; i++)
		pairs |= x->reads[i].paired;
	for (int i = 0; i < 2; i++) {
		fo.path[i] = r->path[i];
		fo.n_path[i] = i == 0 || r->paired ? r->n : 0;
	}
	fo.threads = s->share;          /* threads that may inflate one stream together */
	fo.digests = true;
	rc = kh_feed_open(&t->feed, &fo, t->m, err);
	if (rc)
		return rc;
	t->flow = (kh_flow) { .feed = t->feed, .compute = s->o->compute, .style = s->o->style,
			      .results = &t->results, .m = t->m, .two_streams = r->paired,
			      .single = pairs && !r->paired, .distinct = s->o->distinct,
			      .quiet = true };
	return kh_flow_open(&t->flow, err);
}

static void close_reads(struct samples *s, struct sample_slot *t)
{
	kh_monitor_lock(s->m);
	kh_flow_add_times(&t->flow, &s->times);
	kh_monitor_unlock(s->m);
	kh_flow_close(&t->flow);
	kh_feed_close(t->feed);
	t->feed = NULL;
}

/* Begins a sample; 1: it is passed over. */
static int begin(struct samples *s, struct sample_slot *t, kh_err *err)
{
	const unsigned workers = s->o->compute->workers;
	kh_results_options ro = { .threads = workers < 4 ? workers : 4,
				  .n_taxa = s->o->db->tax->n,
				  .distinct = s->o->distinct };
	kh_monitor *m = NULL;
	int rc = kh_monitor_new(&m, err);

	t->started = kh_seconds();
	kh_monitor_lock(s->m);
	t->m = m;
	if (m && s->stop)
		kh_monitor_stop(m, NULL);
	kh_monitor_unlock(s->m);
	if (!rc)
		rc = s->o->open(s->o->arg, t->sample, t->m, &ro, err);
	if (!rc)
		rc = kh_results_open(&t->results, &ro, t->m, err);
	return rc ? rc : open_reads(s, t, err);
}

/* Finishes a sample whose reads are all classified: writes its files. */
static int finish(struct samples *s, struct sample_slot *t, unsigned worker, kh_err *err)
{
	kh_text *table[KH_SAMPLE_TABLES] = { NULL };
	int rc = KH_OK;

	/* by this thread alone, as the others work on other samples */
	if (t->results.pass && !(rc = kh_flow_decide(&t->flow, err)))
		rc = kh_flow_rewrite(&t->flow, worker, err);
	t->results.sum.seconds = kh_seconds() - t->started;
	if (rc)
		return rc;
	rc = s->o->finish(s->o->arg, t->sample, &t->results, table, err);
	rc = kh_db_reason(s->o->db, rc, err);
	return rc ? rc : kh_results_commit(&t->results, table, KH_SAMPLE_TABLES, err);
}

static void count(struct samples *s, const struct sample_slot *t, int rc)
{
	const kh_run_summary *r = &t->results.sum;

	s->sum->skipped += rc == 1;
	s->sum->failed += rc < 0 && rc != KH_ECANCEL;
	kh_progress(&(kh_step) { .doing = "done with",
				 .things = "samples",
				 .started = s->started,
				 .done = s->sum->done + s->sum->skipped + s->sum->failed + !rc,
				 .total = s->o->n });
	if (rc)
		return;
	s->sum->done++;
	s->sum->fragments += r->fragments;
	s->sum->classified += r->classified;
	s->sum->bases += r->bases;
}

/* Ends a sample, done or failed. */
static void end(struct samples *s, struct sample_slot *t, int rc, kh_err *err)
{
	kh_monitor *m = t->m;

	if (rc == KH_ECANCEL)
		*err = (kh_err) { .code = KH_ECANCEL };
	close_reads(s, t);
	s->o->close(s->o->arg, t->sample, &t->results, rc < 0 ? err : NULL);
	kh_results_close(&t->results);
	kh_monitor_lock(s->m);
	count(s, t, rc);
	if (rc < 0 && rc != KH_ECANCEL && !s->o->keep_going && !s->stop) {
		s->rc = rc;
		s->err = *err;
		stop_all(s);
	}
	*t = (struct sample_slot) { .used = false };
	wake_all(s);
	kh_monitor_unlock(s->m);
	kh_monitor_free(m);
	kh_event_set(s->changed);
}

/* --- a worker --------------------------------------------------------------------- */
static void set_joinable(struct samples *s, struct sample_slot *t)
{
	kh_monitor_lock(s->m);
	t->opening = false;
	t->joinable = !s->stop;
	wake_all(s);
	kh_monitor_unlock(s->m);
	kh_event_set(s->changed);
}

/* Works on a sample while its reads have blocks. 1: others are still at it; 0: all have left. */
static int work(struct samples *s, struct sample_slot *t, unsigned worker)
{
	kh_err err = { 0, "" };
	const int rc = kh_flow_work(&t->flow, worker, &err);
	bool last;

	if (rc)
		kh_monitor_stop(t->m, rc == KH_ECANCEL ? NULL : &err);
	kh_monitor_lock(s->m);
	t->joinable = false;
	t->opening = !rc && t->reads + 1 < s->o->sample[t->sample].n_reads;
	last = --t->workers == 0;
	if (last)
		t->workers = 1;         /* this worker goes on with it */
	kh_monitor_unlock(s->m);
	return !last;
}

/* Called by the last worker to leave: goes on with the next reads of the sample. 0: there are
 * more; 1: the sample is done. */
static int go_on(struct samples *s, struct sample_slot *t, unsigned worker)
{
	kh_err err = { 0, "" };
	int rc = kh_monitor_error(t->m, &err);

	if (!rc)
		rc = kh_flow_add_up(&t->flow, &err);
	if (!rc)
		rc = s->o->read(s->o->arg, t->sample, t->reads, t->feed, &err);
	if (!rc && ++t->reads < s->o->sample[t->sample].n_reads) {
		close_reads(s, t);
		rc = open_reads(s, t, &err);
		if (!rc)
			return 0;
	} else if (!rc) {
		rc = finish(s, t, worker, &err);
	}
	end(s, t, rc, &err);
	return 1;
}

static void serve(struct samples *s, struct sample_slot *t, unsigned worker, bool opened)
{
	for (;;) {
		if (opened)
			set_joinable(s, t);
		if (work(s, t, worker) || go_on(s, t, worker))
			return;
		opened = true;
	}
}

static int run_worker(void *arg, unsigned worker, kh_err *err)
{
	struct samples *s = arg;
	struct sample_slot *t = NULL;

	for (;;) {
		const enum choice c = choose(s, worker, &t);
		int rc = KH_OK;

		if (c == LEAVE)
			return KH_OK;
		if (c == WAIT) {
			if (kh_event_wait(s->changed, &s->woken[worker]))
				return KH_ECANCEL;
			continue;
		}
		if (c == BEGIN && (rc = begin(s, t, err)))
			end(s, t, rc, err);
		else
			serve(s, t, worker, c == BEGIN);
	}
}

static void show_times(const struct samples *s)
{
	const unsigned workers = s->o->compute->workers;
	double between = workers * (kh_seconds() - s->started);

	for (int k = 0; k < KH_TIMER_KINDS; k++)
		between -= s->times.spent[k];
	kh_flow_show_times(&s->times, workers, &between);
}

int kh_samples_run(const kh_samples_options *o, kh_samples_summary *sum, kh_err *err)
{
	const unsigned workers = o->compute->workers;
	struct samples s = { .o = o, .sum = sum,
			     .share = workers > o->at_once ? workers / o->at_once : 1,
			     .started = kh_seconds() };
	int rc;

	*sum = (kh_samples_summary) { .done = 0 };
	s.slot = kh_array(o->at_once, sizeof *s.slot, err);
	s.woken = kh_array(workers, sizeof *s.woken, err);
	rc = s.slot && s.woken ? kh_monitor_new(&s.m, err) : KH_ENOMEM;
	if (!rc)
		rc = kh_event_new(&s.changed, s.m, err);
	if (!rc)
		rc = kh_threads_run(s.m, workers, run_worker, &s, err);
	kh_progress_end();
	show_times(&s);
	if (!rc && s.rc) {
		rc = s.rc;
		*err = s.err;
	}
	kh_event_free(s.changed);
	kh_monitor_free(s.m);
	free(s.slot);
	free(s.woken);
	return rc;
}
