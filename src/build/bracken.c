#include <config.h>
#include "build/bracken.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/mem.h"
#include "base/progress.h"
#include "base/threads.h"
#include "build/bracken_nmers.h"
#include "build/bracken_sequences.h"
#include "db/in_use.h"

struct worker {
	struct distrib *d;
	kh_pieces pieces;
	kh_tasks tasks;
	kh_nmers *nmers;                /* one for each length, and one for each task under way */
	size_t n_nmers;
	kh_nmers **idle;                /* those of them that are neither open nor submitted */
	size_t n_idle;
	kh_nmers **open;                /* by length: what its N-mers are added to */
	kh_pair_counts *counts;         /* by length */
	kh_distrib_summary sum;
};

struct distrib {
	const kh_distrib_options *o;
	const kh_db *db;
	kh_sampling sampling;           /* as if k were the longest N: pieces overlap by N - 1 */
	uint32_t shortest, longest;
	kh_monitor *m;
	kh_feed *feed;
	kh_refs refs;
	kh_sequences sequences;
	kh_compute compute;
	struct worker *worker;
	bool looks;                     /* if these are the references; nothing is classified */
	double started;
};

/* --- calls ------------------------------------------------------------------------ */
/* Counts N-mers that are classified. Most neighbours are of one sequence and have one call: they
 * are added to the table together. */
static int count(void *arg, kh_task *t, kh_err *err)
{
	struct worker *w = arg;
	const struct distrib *d = w->d;
	kh_nmers *x = (kh_nmers *)((char *)t - offsetof(kh_nmers, task));
	int rc = KH_OK;

	w->idle[w->n_idle++] = x;

	for (size_t i = 0, next; i < x->job.n && !rc; i = next) {
		kh_pair_count c = { .genome = kh_sequences_taxon(&d->sequences, x->of[i].seq),
				    .called = x->call[i].taxon, .first = x->of[i].seq };

		for (next = i; next < x->job.n && x->of[next].seq == c.first &&
			       x->call[next].taxon == c.called; next++)
			c.n += x->of[next].n;
		w->sum.nmers += c.n;
		w->sum.classified += c.called == KH_NO_TAXON ? 0 : c.n;
		rc = kh_pair_counts_add(&w->counts[x->number], &c, err);
	}
	w->sum.calls += x->job.n;
	return rc;
}

/* Submits the N-mers that are open for length number l to the backend. */
static int submit(struct worker *w, unsigned l, kh_err *err)
{
	int rc;

	if (!w->open[l] || w->open[l]->job.n == 0)
		return KH_OK;
	rc = kh_tasks_submit(&w->tasks, &w->open[l]->task, err);
	if (!rc)
		w->open[l] = NULL;
	return rc;
}

/* --- N-mers ------------------------------------------------------------------------- */
/* Makes sure that one more N-mer of length number l can be added. */
static int open_nmers(struct distrib *d, struct worker *w, unsigned l, kh_err *err)
{
	int rc = w->open[l] && w->open[l]->job.n == w->open[l]->most ? submit(w, l, err) : KH_OK;

	if (rc || w->open[l])
		return rc;
	while (!rc && w->n_idle == 0)
		rc = kh_tasks_finish(&w->tasks, err);
	if (rc)
		return rc;
	w->open[l] = w->idle[--w->n_idle];
	kh_nmers_start(w->open[l], l, d->o->length[l]);
	return KH_OK;
}

/* N-mers that begin in a piece.  All but the last piece of a sequence have N - 1 bases more behind
 * them, of the longest N. */
static uint64_t starts_in(const kh_piece *p, uint32_t length)
{
	if (p->bases == p->starts)
		return p->starts;
	return p->bases < length ? 0 : p->bases - length + 1;
}

static int add_nmers(struct distrib *d, struct worker *w, const kh_block *b, const kh_piece *p,
		     unsigned l, kh_err *err)
{
	const uint32_t length = d->o->length[l], step = d->o->step;
	const uint64_t starts = starts_in(p, length);
	const uint64_t at = (uint64_t)p->local * d->sampling.stride;    /* in the sequence */
	int rc = KH_OK;

	for (uint64_t i = (step - at % step) % step; i < starts && !rc; i += step)
		if (!(rc = open_nmers(d, w, l, err)))
			kh_nmers_add(w->open[l], b, p->at + i, p->seq);
	return rc;
}

static int take_piece(struct distrib *d, struct worker *w, const kh_block *b, const kh_piece *p,
		      kh_err *err)
{
	const kh_block_pieces s = { b->ticket, b->bases, b->amb, p, 1 };
	int rc = KH_OK;

	if (kh_sequences_taxon(&d->sequences, p->seq) == KH_NO_TAXON)
		return KH_OK;
	kh_sequences_piece(&d->sequences, &s, p);
	for (unsigned l = 0; l < d->o->n_lengths && !d->looks && !rc; l++)
		rc = add_nmers(d, w, b, p, l, err);
	return rc;
}

/* --- a worker ----------------------------------------------------------------------- */
static int number_records(void *arg, kh_block *b, kh_err *err)
{
	struct distrib *d = arg;

	return kh_refs_add(&d->refs, b, kh_refs_path(d->o->refs, d->o->n_refs, b->file), b->user,
			   err);
}

static int work(void *arg, unsigned id, kh_err *err)
{
	struct distrib *d = arg;
	struct worker *w = &d->worker[id];
	kh_step s = { .doing = "read", .started = d->started };
	kh_jobs none;
	kh_block *b;
	int rc;

	while ((rc = kh_feed_next(d->feed, &b, err)) == 1) {
		b->user = &w->pieces;
		rc = kh_feed_commit(d->feed, b, &none, err);
		kh_feed_progress(d->feed, &s.done, &s.total);
		kh_progress(&s);
		for (size_t i = 0; i < w->pieces.n && !rc; i++)
			rc = take_piece(d, w, b, &w->pieces.v[i], err);
		kh_feed_release(d->feed, b);
		if (rc)
			return rc;
	}
	for (unsigned l = 0; l < d->o->n_lengths && !d->looks && !rc; l++)
		rc = submit(w, l, err);
	return rc || d->looks ? rc : kh_tasks_drain(&w->tasks, err);
}

/* --- all of them -------------------------------------------------------------------- */
static size_t block_size(const struct distrib *d)
{
	const size_t suits = d->o->on->choice.backend->block_size;

	return d->o->block_size ? d->o->block_size : suits ? suits : KH_BLOCK_SIZE;
}

static int open_worker(struct distrib *d, struct worker *w, kh_err *err)
{
	const unsigned lengths = d->o->n_lengths;
	const size_t half = block_size(d) / 2;  /* of FASTQ, half is bases */
	const size_t least = 32 * ((size_t)d->longest / 32 + 1);
	int rc = KH_OK;

	w->n_nmers = (size_t)lengths + d->compute.be->depth + 1;
	w->nmers = kh_array(w->n_nmers, sizeof *w->nmers, err);
	w->idle = kh_array(w->n_nmers, sizeof *w->idle, err);
	w->open = kh_array(lengths, sizeof *w->open, err);
	w->counts = kh_array(lengths, sizeof *w->counts, err);
	if (!w->nmers || !w->idle || !w->open || !w->counts)
		return KH_ENOMEM;
	for (size_t i = 0; i < w->n_nmers && !rc; i++) {
		rc = kh_nmers_open(&w->nmers[i], half > least ? half : least, d->shortest, err);
		w->idle[w->n_idle++] = &w->nmers[i];
	}
	return rc;
}

static void close_worker(struct distrib *d, struct worker *w)
{
	for (size_t i = 0; w->nmers && i < w->n_nmers; i++)
		kh_nmers_close(&w->nmers[i]);
	for (unsigned l = 0; w->counts && l < d->o->n_lengths; l++)
		kh_pair_counts_clear(&w->counts[l]);
	free(w->nmers);
	free(w->idle);
	free(w->open);
	free(w->counts);
	free(w->pieces.v);
}

static int open_input(struct distrib *d, kh_err *err)
{
	const kh_distrib_options *o = d->o;
	const kh_feed_options fo = { .path = { o->refs },
				     .n_path = { o->n_refs },
				     .pieces = true,
				     .allow_no_eof = o->allow_no_eof,
				     .block_size = block_size(d),
				     .workers = o->on->threads,
				     .threads = o->on->threads,
				     .front = kh_refs_front(&d->sampling),
				     .committed = number_records,
				     .arg = d };
	int rc = kh_monitor_new(&d->m, err);

	if (!rc)
		rc = kh_feed_open(&d->feed, &fo, d->m, err);
	if (!rc)
		rc = kh_refs_init(&d->refs, &d->sampling, err);
	d->refs.number_later = true;
	d->refs.begun = kh_sequences_begin;
	d->refs.begun_arg = &d->sequences;
	return rc;
}

static void close_input(struct distrib *d)
{
	kh_feed_close(d->feed);
	kh_sequences_clear(&d->sequences);
	kh_refs_clear(&d->refs);
	kh_monitor_free(d->m);
	d->feed = NULL;
	d->m = NULL;
}

static int open_workers(struct distrib *d, kh_err *err)
{
	const kh_distrib_options *o = d->o;
	const kh_compute_options co = { .on = o->on,
					.rule = o->rule,
					.block_size = block_size(d) };
	int rc = kh_compute_open(&d->compute, d->db, &co, err);

	for (unsigned i = 0; i < o->on->threads && !rc; i++) {
		d->worker[i].tasks = kh_compute_tasks(&d->compute, i, count, &d->worker[i]);
		rc = open_worker(d, &d->worker[i], err);
	}
	return rc;
}

/* Reads all references, and fails unless they are those of the database. */
static int read_all(struct distrib *d, kh_err *err)
{
	int rc = open_input(d, err);

	if (!rc)
		rc = kh_sequences_open(&d->sequences, d->db, err);
	d->started = kh_seconds();
	if (!rc)
		rc = kh_threads_run(d->m, d->o->on->threads, work, d, err);
	kh_progress_end();
	return rc ? rc : kh_sequences_check(&d->sequences, &d->refs, err);
}

/* A stream cannot be read twice. */
static bool are_files(const kh_distrib_options *o)
{
	struct stat st;

	for (size_t i = 0; i < o->n_refs; i++)
		if (strcmp(o->refs[i], "-") == 0 || stat(o->refs[i], &st) != 0 ||
		    !S_ISREG(st.st_mode))
			return false;
	return true;
}

/* Finds out what is missing before the work, which takes far longer than to read. */
static int look(struct distrib *d, kh_err *err)
{
	d->looks = true;
	const int rc = are_files(d->o) ? read_all(d, err) : KH_OK;

	close_input(d);
	d->looks = false;
	return rc;
}

static int add_up(const struct distrib *d, kh_pair_counts *counts, kh_distrib_summary *sum,
		  kh_err *err)
{
	int rc = KH_OK;

	sum->sequences = d->sequences.n;
	for (unsigned i = 0; i < d->o->on->threads; i++) {
		const struct worker *w = &d->worker[i];

		sum->nmers += w->sum.nmers;
		sum->classified += w->sum.classified;
		sum->calls += w->sum.calls;
		for (unsigned l = 0; l < d->o->n_lengths; l++)
			for (size_t k = 0; k < w->counts[l].n && !rc; k++)
				rc = kh_pair_counts_add(&counts[l], &w->counts[l].v[k], err);
	}
	return rc;
}

int kh_distrib(kh_pair_counts *counts, const kh_db *db, const kh_distrib_options *o,
	       kh_distrib_summary *sum, kh_err *err)
{
	struct distrib d = { .o = o, .db = db, .shortest = UINT32_MAX };
	int rc;

	*sum = (kh_distrib_summary) { .sequences = 0 };
	for (unsigned l = 0; l < o->n_lengths; l++) {
		d.shortest = o->length[l] < d.shortest ? o->length[l] : d.shortest;
		d.longest = o->length[l] > d.longest ? o->length[l] : d.longest;
	}
	d.sampling = (kh_sampling) { .k = d.longest, .stride = db->h->sampling.stride };
	d.worker = kh_array(o->on->threads, sizeof *d.worker, err);
	for (unsigned i = 0; i < o->on->threads && d.worker; i++)
		d.worker[i].d = &d;
	rc = d.worker ? look(&d, err) : KH_ENOMEM;
	if (!rc)
		rc = open_workers(&d, err);
	if (!rc)
		rc = read_all(&d, err);
	if (!rc)
		rc = add_up(&d, counts, sum, err);
	rc = kh_db_reason(db, rc, err);
	sum->seconds = kh_seconds() - d.started;
	kh_compute_close(&d.compute);   /* first, as tasks under way use memory of the workers */
	for (unsigned i = 0; d.worker && i < o->on->threads; i++)
		close_worker(&d, &d.worker[i]);
	free(d.worker);
	close_input(&d);
	return rc;
}
