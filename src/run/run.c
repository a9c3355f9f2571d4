#include <config.h>
#include "run/run.h"

#include "db/in_use.h"
#include "run/flow.h"

static int open_all(const kh_run_options *o, const kh_db *db, kh_flow *f, kh_err *err)
{
	uint64_t done, total;

	kh_feed_progress(f->feed, &done, &total);
	const kh_compute_options co = { .rule = &o->rule,
					.choice = o->choice,
					.placement = o->placement,
					.gpu_memory = o->gpu_memory,
					.comm = o->comm,
					.workers = o->threads,
					.input = total,
					.block_size = o->feed.block_size };
	const kh_results_options ro = {
		.path = { [KH_RESULT_LINES] = o->output,
			  [KH_RESULT_CLASSIFIED] = o->classified[0],
			  [KH_RESULT_CLASSIFIED_2] = o->classified[1],
			  [KH_RESULT_UNCLASSIFIED] = o->unclassified[0],
			  [KH_RESULT_UNCLASSIFIED_2] = o->unclassified[1] },
		.threads = o->threads,
		.n_taxa = db->tax->n,
		.distinct = o->distinct
	};
	int rc = kh_results_open(f->results, &ro, f->m, err);

	if (!rc)
		rc = kh_compute_open(f->compute, db, &co, err);
	return rc ? rc : kh_flow_open(f, err);
}

/* Adds up what the workers have counted and what only the engine knows. */
static int add_up(kh_flow *f, kh_err *err)
{
	const kh_compute *c = f->compute;
	int rc = kh_flow_add_up(f, err);

	if (!rc && c->be->engine_end)
		rc = c->be->engine_end(c->engine, f->distinct ? &f->results->tally.distinct : NULL,
				       err);
	return rc;
}

int kh_run(const kh_run_options *o, const kh_db *db, kh_feed *feed, kh_monitor *m,
	   kh_results *results, kh_err *err)
{
	kh_compute compute = { .be = NULL };
	kh_flow f = { .feed = feed, .compute = &compute, .style = &o->style, .results = results,
		      .m = m, .two_streams = o->feed.n_path[1] > 0, .distinct = o->distinct };
	int rc = open_all(o, db, &f, err);

	const double started = kh_seconds();
	results->sum.seconds_load = compute.seconds;
	if (!rc)
		rc = kh_threads_run(m, o->threads, kh_flow_work, &f, err);
	kh_progress_end();
	if (!rc) {
		kh_timer times = { 0 };

		kh_flow_add_times(&f, &times);
		kh_flow_show_times(&times, o->threads, NULL);
	}
	if (!rc)
		rc = add_up(&f, err);
	if (!rc && results->pass && !(rc = kh_flow_decide(&f, err)))
		rc = kh_threads_run(m, o->threads, kh_flow_rewrite, &f, err);
	results->sum.seconds = kh_seconds() - started;
	if (!rc && o->write_tables)
		rc = o->write_tables(o->arg, err);
	/* output made from a database that has changed must not get its name */
	rc = kh_db_reason(db, rc, err);
	if (!rc)
		rc = kh_results_commit(results, o->tables, KH_RUN_TABLES, err);
	results->sum.seconds = kh_seconds() - started;
	kh_compute_close(&compute);     /* first, as tasks under way use memory of the flow */
	kh_flow_close(&f);
	return rc;
}
