#include <config.h>
#include "run/compute.h"

#include <stdlib.h>
#include "base/mem.h"
#include "db/stamp.h"

int kh_compute_open(kh_compute *c, const kh_db *db, const kh_compute_options *o, kh_err *err)
{
	const kh_engine_options eo = { .rule = o->rule,
				       .device = o->choice->device,
				       .n_devices = o->choice->n,
				       .placement = o->placement,
				       .memory = o->gpu_memory,
				       .comm = o->comm,
				       .input = o->input,
				       .alone = true,
				       .queues = o->workers,
				       .block_size = o->block_size,
				       .threads = o->workers };
	const double began = kh_seconds();
	int rc;

	*c = (kh_compute) { .be = o->choice->backend, .workers = o->workers };
	c->queue = kh_array(o->workers, sizeof *c->queue, err);
	if (!c->queue)
		return KH_ENOMEM;
	rc = c->be->engine_open(c->be, &c->engine, db, &eo, err);
	if (!rc && db->unchecked && db->stamps && !o->comm)     /* it was checked while loaded */
		kh_stamp_write(db);
	for (unsigned i = 0; i < o->workers && !rc; i++)
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
