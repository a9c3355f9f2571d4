/*
 * gpu_classify.c - `kmerhash-bench pipeline` on a GPU: the stages of classify
 */
#include <config.h>
#include "tests/bench/program/gpu/gpu_in.h"

#include <stdlib.h>
#include "cuda/engine/engine_in.h"
#include "base/mem.h"

struct classify {
	kh_gpu_bench *g;
	kh_db *db;
	kh_engine *e;
	kh_bench_reads reads;
	kh_task_queue *l;
};

/* --- load --------------------------------------------------------------------------- */
static int load(void *arg, kh_bench_pass *p, kh_err *err)
{
	struct classify *c = arg;
	const kh_db_options o = { .later = true, .threads = p->threads };
	kh_rule rule;
	const kh_engine_options eo = { .rule = &rule,
				       .on.choice = { .device = { c->g->device }, .n = 1 } };
	double t;
	int rc;

	kh_cuda_engine_close(c->e);
	kh_db_close(c->db);
	c->e = NULL;
	c->db = NULL;
	t = kh_seconds();
	rc = kh_db_open(&c->db, c->g->b->o->db, &o, err);
	if (rc)
		return rc;
	kh_rule_init(&rule, c->db->h);
	rc = kh_cuda_engine_open(&c->e, c->db, &eo, err);
	p->seconds = kh_seconds() - t;
	return rc;
}

static int load_stage(struct classify *c, kh_err *err)
{
	kh_bench_pass p = { c->g->b->o->threads, 1, 0 };
	kh_bench_stage s = {
		"classify: load, check", &kh_unit_gb, 0, c->g->copy, load, c, true
	};
	int rc = load(c, &p, err);

	if (rc)
		return rc;
	s.amount = (double)kh_cuda_extent(c->db).bytes;
	return kh_bench_measure(c->g->b, &s, NULL, err);
}

/* --- the kernels -------------------------------------------------------------------- */
static int compare(void *arg, kh_bench_pass *p, kh_err *err)
{
	const struct classify *c = arg;
	int rc = KH_OK;

	p->seconds = 0;
	for (size_t i = 0; i < c->reads.n && !rc; i++) {
		double s;

		rc = kh_gpu_bench_query(c->e, &c->reads.job[i], &s, err);
		p->seconds += s;
	}
	return rc;
}

/* No read can be compared before its bases and masks have come to the device. */
static int compare_stage(struct classify *c, kh_err *err)
{
	const double reads = c->reads.reads;
	double bytes = 0;

	for (size_t i = 0; i < c->reads.n_block; i++)
		bytes += 12.0 * (double)c->reads.block[i]->n_words;
	const kh_bench_limit come = { c->g->copy.rate * reads / bytes, c->g->copy.of };
	const kh_bench_stage s = { "classify: compare", &kh_unit_reads, reads, come, compare, c,
				   true };

	return kh_bench_measure(c->g->b, &s, NULL, err);
}

/* --- all ---------------------------------------------------------------------------- */
static int call_all(struct classify *c, kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = 0; i < c->reads.n && !rc; i++) {
		kh_task t = { .job = &c->reads.job[i], .call = c->reads.call[i] }, *done;

		rc = kh_cuda_submit(c->l, &t, err);
		if (!rc)
			rc = kh_cuda_collect(c->l, &done, err);
	}
	return rc;
}

static int stages(struct classify *c, const kh_bench_refs *refs, kh_err *err)
{
	kh_bench *b = c->g->b;
	kh_bench_reads *r = &c->reads;
	int rc = load_stage(c, err);

	/* one job, larger than those of classify, so that launches do not count */
	if (rc || (rc = kh_bench_reads_open(r, refs, 2 * KH_BENCH_FILE, err)) ||
	    (rc = kh_bench_read(b, &r->file, err)) ||
	    (rc = kh_bench_parse(b, &r->file, kh_backend_cuda.block_size, err)) ||
	    (rc = kh_cuda_queue_open(&c->l, c->e, 0, 0, err)) || (rc = call_all(c, err)))
		return rc;
	rc = compare_stage(c, err);
	return rc ? rc : kh_bench_lines_run(r, c->db, err);
}

int kh_gpu_bench_classify(kh_gpu_bench *g, kh_err *err)
{
	struct classify c = { .g = g, .reads = { .fd = -1 } };
	kh_bench_refs refs = { .b = g->b };
	int rc = kh_bench_refs_load(&refs, g->b, err);

	if (!rc)
		rc = stages(&c, &refs, err);
	kh_cuda_queue_close(c.l);
	kh_bench_reads_close(&c.reads);
	kh_bench_refs_clear(&refs);
	kh_cuda_engine_close(c.e);
	kh_db_close(c.db);
	return rc;
}
