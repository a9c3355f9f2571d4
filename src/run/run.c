#include <config.h>
#include "run/run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/mem.h"
#include "base/progress.h"
#include "db/in_use.h"
#include "io/paths.h"
#include "run/slots.h"

struct kh_run {
	kh_run_options o;
	const kh_db *db;
	const kh_rule *rule;
	kh_compute *compute;
	kh_run_totals *totals;
	kh_monitor *m;                  /* its lock guards all below */
	kh_event *changed;
	bool *woken;                    /* a worker */
	kh_slot *slot;
	unsigned n_slots;
	unsigned each;                  /* workers of a sample while as many are under way */
	size_t next, ended;             /* the next sample that is not begun; and how many ended */
	kh_timer times;
	double started;
	bool stop;
	/* the error of the first sample that failed, if all are to stop */
	int rc;
	kh_err err;
};

/* --- which worker does what; callers hold the lock ---------------------------------- */
static void wake_all(kh_run *r)
{
	for (unsigned i = 0; i < r->o.threads; i++)
		r->woken[i] = true;
}

static kh_slot *free_slot(kh_run *r)
{
	for (unsigned i = 0; i < r->n_slots; i++)
		if (!r->slot[i].used)
			return &r->slot[i];
	return NULL;
}

enum choice { BEGIN, JOIN, WAIT, LEAVE };

/* Decides what a worker does next; *slot: the sample. */
static enum choice choose(kh_run *r, unsigned worker, kh_slot **slot)
{
	const size_t n = r->o.sheet->n;
	enum choice c = WAIT;

	kh_monitor_lock(r->m);
	if (r->stop) {
		c = LEAVE;
	} else if (r->next < n && (*slot = free_slot(r))) {
		(*slot)->used = (*slot)->opening = true;
		(*slot)->sample = r->next++;
		(*slot)->workers = 1;
		c = BEGIN;
	} else if ((*slot = kh_slot_to_join(r->slot, r->n_slots, r->each))) {
		(*slot)->workers++;
		c = JOIN;
	} else if (r->ended == n) {
		c = LEAVE;
	}
	r->woken[worker] = false;
	kh_monitor_unlock(r->m);
	return c;
}

/* --- one sample ------------------------------------------------------------------- */
static const kh_sheet_sample *sample_of(const kh_run *r, const kh_slot *t)
{
	return &r->o.sheet->v[t->sample];
}

kh_feed_options kh_run_feed_options(const kh_run_options *o, const kh_sheet_sample *x, size_t k)
{
	const kh_sheet_reads *reads = &x->reads[k];
	kh_feed_options fo = o->feed;

	for (int i = 0; i < 2; i++) {
		fo.path[i] = reads->path[i];
		fo.n_path[i] = i == 0 || reads->paired ? reads->n : 0;
	}
	fo.text = x->path[KH_RESULT_LINES] || x->path[KH_RESULT_PAF] ||
				  x->path[KH_RESULT_CANDIDATES] || o->volumes
			  ? KH_FEED_NAMES : KH_FEED_BASES;
	for (int i = KH_RESULT_SAM; i < KH_N_BY_FRAGMENT; i++)
		if (x->path[i])
			fo.text = KH_FEED_ALL;
	return fo;
}

/* Opens the next of its reads. */
static int open_feed(kh_run *r, kh_slot *t, kh_err *err)
{
	kh_feed_options fo = kh_run_feed_options(&r->o, sample_of(r, t), t->reads);

	fo.threads = r->each;           /* threads that may inflate one stream together */
	return kh_feed_open(&t->feed, &fo, t->m, err);
}

/* Opens the files of a sample: its first reads, and its results. */
static int open_files(kh_run *r, kh_slot *t, kh_err *err)
{
	const unsigned least = r->o.threads < 4 ? r->o.threads : 4;
	kh_monitor *m = NULL;
	int rc = kh_monitor_new(&m, err);

	kh_monitor_lock(r->m);
	t->m = m;
	if (m && r->stop)
		kh_monitor_stop(m);
	kh_monitor_unlock(r->m);
	if (!rc)
		rc = open_feed(r, t, err);
	return rc ? rc : kh_results_open(&t->results, sample_of(r, t),
					 r->each > least ? r->each : least, t->m, err);
}

static int open_pass(kh_run *r, kh_slot *t, kh_err *err)
{
	const kh_pass_options o = { .db = r->db,
				    .rule = r->rule,
				    .style = r->o.style,
				    .threads = r->o.threads,
				    .change = r->o.change,
				    .lines = t->results.out[KH_RESULT_LINES] != NULL,
				    .reads = kh_results_want_reads(&t->results),
				    .coverage = t->results.out[KH_RESULT_PAGE] != NULL,
				    .path = sample_of(r, t)->path };

	return r->o.pass ? kh_pass_open(&t->results.pass, &o, err) : KH_OK;
}

static int open_flow(kh_run *r, kh_slot *t, kh_err *err)
{
	t->work = kh_flow_work;
	t->flow = (kh_flow) { .feed = t->feed, .compute = r->compute, .db = r->db,
			      .style = r->o.style, .results = &t->results, .m = t->m,
			      .distinct = r->o.distinct, .quiet = r->o.sheet->n > 1,
			      .only_sample = r->o.sheet->n == 1,
			      .volumes = r->o.volumes ? *r->o.volumes : NULL };
	return kh_flow_open(&t->flow, err);
}

/* What stands in front of alignments. */
static int begin_sam(kh_run *r, kh_slot *t, kh_err *err)
{
	kh_writer *out = t->results.out[KH_RESULT_SAM];
	kh_buf b = { .n = 0 };
	int rc = out ? kh_sam_header(&b, r->db, r->o.style->select, err) : KH_OK;

	if (!rc && out)
		rc = kh_writer_put(out, b.p, b.n, err);
	free(b.p);
	return rc;
}

/* Begins a sample; 1: it is passed over. */
static int begin(kh_run *r, kh_slot *t, kh_err *err)
{
	int rc = r->o.begin(r->o.arg, t->sample, err);

	t->started = kh_seconds();
	if (!rc && !t->m)               /* else kh_run_open has opened them */
		rc = open_files(r, t, err);
	if (!rc)
		rc = kh_tally_init(&t->results.tally, r->db->tax->n, r->o.distinct, err);
	if (!rc)
		rc = open_pass(r, t, err);
	if (!rc && t->results.pass)
		rc = kh_tally_want_bases(&t->results.tally, err);
	if (!rc)
		rc = begin_sam(r, t, err);
	if (!rc && t->results.out[KH_RESULT_CANDIDATES])
		rc = kh_answers_out_new(&t->results.answers, r->db, r->rule->want, err);
	return rc ? rc : open_flow(r, t, err);
}

static void close_reads(kh_run *r, kh_slot *t)
{
	kh_monitor_lock(r->m);
	for (unsigned i = 0; t->flow.worker && i < t->flow.n_workers; i++)
		kh_timer_add(&r->times, &t->flow.worker[i].timer);
	kh_monitor_unlock(r->m);
	kh_flow_close(&t->flow);
	kh_feed_close(t->feed);
	t->feed = NULL;
}

/* Notes the digests of files that were read in order, so that they need not be read again. */
static int note_digests(const kh_run *r, kh_slot *t, kh_err *err)
{
	const kh_sheet_reads *reads = &sample_of(r, t)->reads[t->reads];
	kh_results *to = &t->results;
	const size_t n = reads->paired ? 2 * reads->n : reads->n;
	int rc = r->o.feed.digests ? KH_GROW(to->digest, to->cap_files, to->n_files + n, err)
				   : KH_OK;

	for (size_t i = 0; r->o.feed.digests && i < n && !rc; i++) {
		kh_file_digest *d = &to->digest[to->n_files++];

		d->known = reads->paired ? kh_feed_digest(t->feed, i % 2, i / 2, &d->xxh3)
					 : kh_feed_digest(t->feed, 0, i, &d->xxh3);
	}
	return rc;
}

/* All reads are classified, and all calls final: writes what is made of the counts. */
static int write_results(kh_run *r, kh_slot *t, kh_err *err)
{
	kh_buf b = { .n = 0 };
	int rc = KH_OK;

	t->results.sum.seconds = kh_seconds() - t->started;
	for (int k = KH_N_BY_FRAGMENT; k < KH_N_RESULTS && !rc; k++) {
		if (!t->results.out[k])
			continue;
		/* it tells the size and the digest of the others */
		for (int i = 0; i < k && k == KH_RESULT_SUMMARY && !rc; i++)
			if (t->results.out[i])
				rc = kh_writer_finish(t->results.out[i], err);
		if (rc)
			break;
		b.n = 0;
		rc = r->o.write[k](r->o.arg, t->sample, &t->results, &b, err);
		if (!rc)
			rc = kh_buf_check(&b, err);
		if (!rc)
			rc = kh_writer_put(t->results.out[k], b.p, b.n, err);
	}
	free(b.p);
	return rc;
}

/* Counts a sample that has ended, and stops all if it failed; the caller holds the lock. */
static void count(kh_run *r, const kh_slot *t, int rc, const kh_err *err)
{
	const kh_run_summary *s = &t->results.sum;
	kh_run_totals *to = r->totals;

	to->done += !rc;
	to->skipped += rc == 1;
	to->failed += rc < 0 && rc != KH_ECANCEL;
	if (r->o.sheet->n > 1)
		kh_progress(&(kh_step) { .doing = "done with",
					 .things = "samples",
					 .started = r->started,
					 .done = to->done + to->skipped + to->failed,
					 .total = r->o.sheet->n });
	if (!rc) {
		to->sum.fragments += s->fragments;
		to->sum.classified += s->classified;
		to->sum.bases += s->bases;
		to->sum.kept += s->kept;
		to->sum.swapped += s->swapped;
	}
	if (rc < 0 && rc != KH_ECANCEL && !r->o.keep_going && !r->stop) {
		r->rc = rc;
		r->err = *err;
		/* no sample is begun any more, and workers that wait for input return */
		r->stop = true;
		for (unsigned i = 0; i < r->n_slots; i++)
			if (r->slot[i].m)
				kh_monitor_stop(r->slot[i].m);
		wake_all(r);
	}
}

/* Ends a sample, done or failed. */
static void end(kh_run *r, kh_slot *t, int rc, kh_err *err)
{
	kh_monitor *m = t->m;

	if (rc == KH_ECANCEL)
		*err = (kh_err) { .code = KH_ECANCEL };
	close_reads(r, t);
	r->o.end(r->o.arg, t->sample, &t->results, rc < 0 ? err : NULL);
	kh_monitor_lock(r->m);
	count(r, t, rc, err);
	kh_monitor_unlock(r->m);
	kh_results_close(&t->results);
	kh_monitor_lock(r->m);
	*t = (kh_slot) { .used = false };
	r->ended++;
	wake_all(r);
	kh_monitor_unlock(r->m);
	kh_monitor_free(m);
	kh_event_set(r->changed);
}

/* --- a worker --------------------------------------------------------------------- */
/* Works on a sample until there is nothing to be taken up. 1: others are still at it; 0: all have
 * left, and this worker goes on with it. */
static int work(kh_run *r, kh_slot *t, unsigned worker)
{
	kh_err err = { KH_ECANCEL, "" };        /* if others have failed */
	const int rc = t->work(&t->flow, worker, &err);
	bool last;

	if (rc)
		kh_monitor_fail(t->m, &err);
	kh_monitor_lock(r->m);
	t->joinable = false;
	t->opening = !rc && t->reads + 1 < sample_of(r, t)->n_reads;
	last = --t->workers == 0;
	if (last)
		t->workers = 1;
	kh_monitor_unlock(r->m);
	return !last;
}

/* All reads of a sample have been read: decides on them, by all workers if no other sample needs
 * these.  1: its outputs are written anew; 0: it is done. */
static int all_read(const kh_run *r, kh_slot *t, kh_err *err)
{
	kh_results *to = &t->results;
	int rc = KH_OK;

	if (!to->pass)
		return KH_OK;
	if (r->o.sheet->n == 1)
		rc = kh_team_new(&to->team, t->m, r->o.threads, err);
	if (!rc)
		rc = kh_flow_decide(&t->flow, err);
	if (rc || !kh_pass_writes(to->pass))
		return rc;
	t->work = kh_flow_rewrite;
	return 1;
}

/* What comes when all have left: the next reads of the sample, or the outputs of the second pass
 * (1: workers may join), or its other results (0). */
static int next_step(kh_run *r, kh_slot *t, kh_err *err)
{
	int rc = kh_monitor_error(t->m, err);

	if (!rc && t->work == kh_flow_work) {
		rc = kh_flow_add_up(&t->flow, err);
		t->results.sum.swapped += kh_feed_swapped(t->feed);
		if (!rc)
			rc = note_digests(r, t, err);
		if (!rc && t->reads + 1 < sample_of(r, t)->n_reads) {
			close_reads(r, t);
			t->reads++;
			if (!(rc = open_feed(r, t, err)))
				rc = open_flow(r, t, err);
			return rc ? rc : 1;
		}
		if (!rc)
			rc = all_read(r, t, err);
	}
	if (rc == 1)
		return 1;
	if (!rc)
		rc = write_results(r, t, err);
	if (!rc && r->o.check)
		rc = r->o.check(r->o.arg, t->sample, err);
	/* what was made from a database that has changed must not get its name */
	rc = kh_db_reason(r->db, rc, err);
	return rc ? rc : kh_writer_commit(t->results.out, KH_N_RESULTS, err);
}

/* A slot has been opened: other workers may join. */
static void let_join(kh_run *r, kh_slot *t)
{
	kh_monitor_lock(r->m);
	t->opening = false;
	t->joinable = !r->stop;
	wake_all(r);
	kh_monitor_unlock(r->m);
	kh_event_set(r->changed);
}

static void serve(kh_run *r, kh_slot *t, unsigned worker)
{
	kh_err err = { 0, "" };
	int rc;

	while (!work(r, t, worker)) {
		if ((rc = next_step(r, t, &err)) != 1) {
			end(r, t, rc, &err);
			return;
		}
		let_join(r, t);
	}
}

static int run_worker(void *arg, unsigned worker, kh_err *err)
{
	kh_run *r = arg;
	kh_slot *t = NULL;

	for (;;) {
		const enum choice c = choose(r, worker, &t);
		int rc = KH_OK;

		if (c == LEAVE)
			return KH_OK;
		if (c == WAIT) {
			if (kh_event_wait(r->changed, &r->woken[worker]))
				return KH_ECANCEL;
			continue;
		}
		if (c == BEGIN && (rc = begin(r, t, err))) {
			end(r, t, rc, err);
			continue;
		}
		if (c == BEGIN)
			let_join(r, t);
		serve(r, t, worker);
	}
}

/* --- the run ------------------------------------------------------------------------ */
int kh_run_open(kh_run **out, const kh_run_options *o, kh_err *err)
{
	kh_run *r = kh_array(1, sizeof *r, err);
	int rc;

	if (!r)
		return KH_ENOMEM;
	*out = r;
	r->o = *o;
	r->n_slots = o->sheet->n < o->threads ? (unsigned)o->sheet->n : o->threads;
	r->each = o->threads / r->n_slots;
	r->slot = kh_array(r->n_slots, sizeof *r->slot, err);
	r->woken = kh_array(o->threads, sizeof *r->woken, err);
	rc = r->slot && r->woken ? kh_monitor_new(&r->m, err) : KH_ENOMEM;
	if (!rc)
		rc = kh_event_new(&r->changed, r->m, err);
	if (!rc && !o->sheet->v[0].name)
		rc = open_files(r, &r->slot[0], err);
	return rc;
}

void kh_run_close(kh_run *r)
{
	if (!r)
		return;
	for (unsigned i = 0; r->slot && i < r->n_slots; i++) {
		kh_feed_close(r->slot[i].feed);
		kh_results_close(&r->slot[i].results);
		kh_monitor_free(r->slot[i].m);
	}
	kh_event_free(r->changed);
	kh_monitor_free(r->m);
	free(r->slot);
	free(r->woken);
	free(r);
}

uint64_t kh_run_bytes(const kh_run *r)
{
	uint64_t done, bytes = 0;
	struct stat st;

	if (r->slot[0].feed) {
		kh_feed_progress(r->slot[0].feed, &done, &bytes);
		return bytes;
	}
	for (size_t i = 0; i < r->o.sheet->n_files; i++)
		if (kh_path_is_file(r->o.sheet->file[i].path, &st))
			bytes += (uint64_t)st.st_size;
	return bytes;
}

int kh_run_samples(kh_run *r, const kh_db *db, const kh_rule *rule, kh_compute *compute,
		   kh_run_totals *totals, kh_err *err)
{
	const unsigned workers = r->o.threads;
	double between;
	int rc;

	assert(workers == compute->workers);
	r->db = db;
	r->rule = rule;
	r->compute = compute;
	r->totals = totals;
	r->started = kh_seconds();
	rc = kh_threads_run(r->m, workers, run_worker, r, err);
	totals->sum.seconds = kh_seconds() - r->started;
	kh_progress_end();
	between = workers * totals->sum.seconds;
	for (int k = 0; k < KH_TIMER_KINDS; k++)
		between -= r->times.spent[k];
	kh_flow_show_times(&r->times, workers, r->o.sheet->n > 1 ? &between : NULL);
	if (!rc && r->rc) {
		rc = r->rc;
		*err = r->err;
	}
	return rc;
}
