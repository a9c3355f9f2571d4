#include <config.h>
#include "backend/compute.h"

#include <stdlib.h>
#include "base/mem.h"
#include "db/stamp.h"

int kh_compute_open(kh_compute *c, const kh_db *db, const kh_compute_options *o, kh_err *err)
{
	const kh_devices *on = o->on;
	const kh_engine_options eo = { .rule = o->rule,
				       .on = *on,
				       .input = o->input,
				       .alone = !o->shared,
				       .queues = on->threads,
				       .block_size = o->block_size };
	const double began = kh_seconds();
	int rc;

	*c = (kh_compute) { .be = on->choice.backend, .workers = on->threads };
	c->queue = kh_array(c->workers, sizeof *c->queue, err);
	if (!c->queue)
		return KH_ENOMEM;
	rc = c->be->engine_open(c->be, &c->engine, db, &eo, err);
	if (!rc && db->unchecked && db->stamps && !on->comm)    /* it was checked while loaded */
		kh_stamp_write(db);
	for (unsigned i = 0; i < c->workers && !rc; i++)
		rc = c->be->queue_open(&c->queue[i], c->engine, i, o->block_size, err);
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
	free(c->queue);
	*c = (kh_compute) { .be = NULL };
}

/* --- tasks under way ---------------------------------------------------------------- */
int kh_tasks_finish(kh_tasks *s, kh_err *err)
{
	kh_task *t = NULL;
	int rc = s->be->collect(s->queue, &t, err);

	if (!t)
		return rc;
	s->under_way--;
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
