#include <config.h>
#include "classify/compute.h"

#include <stdlib.h>
#include "base/mem.h"
#include "base/memory_left.h"
#include "db/join.h"
#include "db/pages.h"
#include "db/stamp.h"
#include "translated/graded.h"

/* Copies the seeds to large pages, where that takes less time than it saves: cpu.c does the same
 * with the index. */
static int copy_translated(kh_compute *c, const kh_db *db, const kh_compute_options *o, kh_err *err)
{
	const uint64_t bytes = db->h->section[KH_SEC_TRANSLATED].bytes;
	int rc;

	if (db->fd < 0 || o->input < bytes ||
	    bytes > kh_memory_left_now(c->workers).bytes / 4)
		return KH_OK;
	rc = kh_db_copy(db, KH_SEC_TRANSLATED, &c->copy, c->workers, err);
	if (rc)
		return rc;
	c->copied = bytes;
	kh_translated_move(&c->translated, c->copy);
	return KH_OK;
}

static int open_translators(kh_compute *c, const kh_db *db, const kh_compute_options *o,
			    kh_err *err)
{
	int rc;

	c->translated = db->translated;
	c->tax = db->tax;
	rc = copy_translated(c, db, o, err);
	if (rc)
		return rc;
	c->translator = kh_array(c->workers, sizeof *c->translator, err);
	rc = c->translator ? KH_OK : KH_ENOMEM;
	for (unsigned i = 0; i < c->workers && !rc; i++)
		rc = kh_translator_new(&c->translator[i], &c->translated, err);
	return rc;
}

int kh_compute_open(kh_compute *c, const kh_db *db, const kh_compute_options *o, kh_err *err)
{
	const kh_devices *on = o->on;
	const kh_engine_options eo = { .rule = o->rule,
				       .on = *on,
				       .input = o->input,
				       .translate = db->translated.head &&
						    o->rule->confidence == 0,
				       .features = o->features,
				       .queues = on->threads,
				       .block_size = o->block_size };
	const double began = kh_seconds();
	int rc;

	*c = (kh_compute) { .be = on->choice.backend, .workers = on->threads };
	c->queue = kh_array(c->workers, sizeof *c->queue, err);
	if (!c->queue)
		return KH_ENOMEM;
	rc = c->be->engine_open(&c->engine, db, &eo, err);
	for (unsigned i = 0; i < kh_db_volumes(db) && !rc; i++) {
		const kh_db *part = kh_db_volume(db, i);

		if (part->unchecked && part->stamps)    /* it was checked while loaded */
			kh_stamp_write(part);
	}
	for (unsigned i = 0; i < c->workers && !rc; i++)
		rc = c->be->queue_open(&c->queue[i], c->engine, i, o->block_size, err);
	/* with a least share of features, a call without any is none */
	if (!rc && eo.translate)
		rc = open_translators(c, db, o, err);
	c->seconds = kh_seconds() - began;
	return rc;
}

void kh_compute_close(kh_compute *c)
{
	for (unsigned i = 0; c->queue && i < c->workers; i++)
		if (c->queue[i])
			c->be->queue_close(c->queue[i]);
	if (c->engine)
		c->be->engine_close(c->engine);
	for (unsigned i = 0; c->translator && i < c->workers; i++)
		kh_translator_free(c->translator[i]);
	free(c->translator);
	if (c->copy)
		kh_pages_free(c->copy, (size_t)c->copied);
	free(c->queue);
	*c = (kh_compute) { .be = NULL };
}

/* --- translated seeds ---------------------------------------------------------------- */
uint32_t kh_compute_called(const kh_taxonomy *tax, uint32_t taxon)
{
	const uint32_t up = taxon == KH_NO_TAXON ? taxon : tax->genus[taxon];
	const uint32_t to = up == KH_NO_TAXON ? taxon : up;

	return to == 0 ? KH_NO_TAXON : to;
}

/* Takes what is said of a fragment, and calls it, if that is a call: no features agree with it. */
static void take(const kh_tasks *s, const kh_task *t, size_t i, const kh_likeness *like)
{
	uint32_t taxon = like->said;

	if (kh_is_graded(taxon))
		taxon = kh_graded_family(taxon) < KH_GRADE_CALLED ? KH_NO_TAXON
		      : s->translated->genus[kh_graded_place(taxon)].family;
	taxon = kh_compute_called(s->tax, taxon);
	if (t->like)
		t->like[i] = *like;
	if (taxon == KH_NO_TAXON)
		return;
	t->call[i].taxon = taxon;
	t->call[i].hits = 0;
}

/* Makes calls of what has been added. */
static int settle(const kh_tasks *s, const kh_task *t, kh_err *err)
{
	const kh_translated_call *call;
	size_t n;
	int rc = kh_translator_settle(s->translator, &call, &n, err);

	for (size_t i = 0; i < n && !rc; i++)
		take(s, t, call[i].number, &call[i].like);
	return rc;
}

/* Is what a device says of a fragment all that is wanted?  What it is like only the host finds. */
static bool is_known(const kh_task *t, uint32_t said)
{
	return said != KH_ON_HOST && (said == KH_NO_TAXON || kh_is_weak(said) || !t->like);
}

/* Looks for a genus for the fragments of a task that are not called. */
static int translate(const kh_tasks *s, const kh_task *t, kh_err *err)
{
	enum { AHEAD = 6 };
	kh_translator *r = s->translator;
	int rc = KH_OK;

	kh_translator_compare(r, t->like != NULL);
	for (size_t i = 0; i < t->job->n && !rc; i++) {
		kh_translated_read mate[2] = { { .len = 0 } };
		const kh_block *b[2];
		const kh_record *rec[2];

		if (!t->genus && i + AHEAD < t->job->n && t->call[i + AHEAD].taxon == KH_NO_TAXON) {
			kh_job_records(t->job, i + AHEAD, b, rec);
			for (int m = 0; m < 2 && rec[m]; m++)
				__builtin_prefetch(&b[m]->bases[rec[m]->seq / 32]);
		}
		if (t->like)
			t->like[i].said = KH_NO_TAXON;
		if (t->call[i].taxon != KH_NO_TAXON)
			continue;
		if (t->genus && is_known(t, t->genus[i])) {
			take(s, t, i, &(kh_likeness) { .said = t->genus[i],
						       .stretch = KH_NO_STRETCH_LIKE });
			continue;
		}
		kh_job_records(t->job, i, b, rec);
		for (int m = 0; m < 2 && rec[m]; m++)
			mate[m] = (kh_translated_read) { b[m]->bases, b[m]->amb, rec[m]->seq,
							 rec[m]->len };
		rc = kh_translator_add(r, mate, i, err);
	}
	if (!rc)
		rc = settle(s, t, err);
	if (rc)
		kh_translator_forget(r);
	return rc;
}

/* --- tasks under way ---------------------------------------------------------------- */
int kh_tasks_finish(kh_tasks *s, kh_err *err)
{
	kh_task *t = NULL;
	int rc = s->be->collect(s->queue, &t, err);

	if (!t)
		return rc;
	s->under_way--;
	if (!rc && s->translator)
		rc = translate(s, t, err);
	return rc ? rc : s->done(s->arg, t, err);
}

int kh_tasks_make_way(kh_tasks *s, kh_err *err)
{
	int rc = KH_OK;

	while (!rc && s->under_way >= s->be->depth)
		rc = kh_tasks_finish(s, err);
	return rc;
}

int kh_tasks_submit(kh_tasks *s, kh_task *t, kh_err *err)
{
	int rc = kh_tasks_make_way(s, err);

	if (!rc)
		rc = s->be->submit(s->queue, t, err);
	s->under_way += !rc;
	return rc;
}

int kh_tasks_drain(kh_tasks *s, kh_err *err)
{
	int rc = KH_OK;

	while (!rc && s->under_way > 0)
		rc = kh_tasks_finish(s, err);
	return rc;
}

void kh_tasks_drop(kh_tasks *s)
{
	kh_task *t = NULL;

	while (s->under_way > 0) {      /* a task that failed is given back as well */
		s->be->collect(s->queue, &t, NULL);
		s->under_way = t ? s->under_way - 1 : 0;
	}
}
