/*
 * gpu_classify.c - `kmerhash-bench pipeline` on a GPU: the stages of classify
 *
 * There are versions of the classification kernel that stop earlier; the time of a part is the
 * difference of two versions.
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
	kh_bench_work work;
	kh_task_queue *l;
	uint64_t keys, blocks;          /* looked up in the index of so many blocks */
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
	rc = kh_cuda_engine_open(&kh_backend_cuda, &c->e, c->db, &eo, err);
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
	s.amount = (double)c->db->h->section[KH_SEC_INDEX].bytes;
	return kh_bench_measure(c->g->b, &s, NULL, err);
}

/* --- look-ups by themselves --------------------------------------------------------- */
static int random_reads(void *arg, kh_bench_pass *p, kh_err *err)
{
	const struct classify *c = arg;
	int rc = kh_gpu_bench_start(c->g, err);

	if (!rc)
		rc = kh_gpu_check(kh_gpu_bench_random_reads(c->e->copy[0].ix.image, c->blocks,
							    c->keys, c->g->z.p, c->g->stream),
				  "reads", err);
	return rc ? rc : kh_gpu_bench_stop(c->g, p, err);
}

static int look_up(void *arg, kh_bench_pass *p, kh_err *err)
{
	const struct classify *c = arg;
	int rc = kh_gpu_bench_start(c->g, err);

	if (!rc)
		rc = kh_gpu_check(kh_gpu_bench_look_up(&c->e->copy[0].ix, c->g->x.p, c->keys, NULL,
						       c->g->stream), "look-up kernel", err);
	return rc ? rc : kh_gpu_bench_stop(c->g, p, err);
}

static int look_ups(struct classify *c, kh_err *err)
{
	static const kh_bench_unit unit = { "G/s", 1e-9 };
	kh_gpu_bench *g = c->g;
	kh_bench *b = g->b;
	uint64_t *key = g->host.p;
	int rc;

	c->keys = KH_BENCH_ROOM / 8;
	c->blocks = c->db->h->section[KH_SEC_INDEX].bytes / 64;
	for (uint64_t i = 0; i < c->keys; i++)
		key[i] = kh_fmix64(i + 77) >> 16;
	const kh_bench_stage limit = { "limit: random 64 bytes", &unit,	       (double)c->keys,
				       { 0, NULL },		  random_reads, c,
				       true };
	rc = KH_GPU(cudaMemcpyAsync(g->x.p, key, c->keys * 8, cudaMemcpyHostToDevice,
				    g->stream),
		    err);
	if (!rc)
		rc = kh_bench_measure(b, &limit, &b->random.rate, err);
	b->random.of = "random 64 bytes";
	const kh_bench_stage found = { "classify: look up, random keys",
				       &kh_unit_keys,
				       (double)c->keys,
				       b->random,
				       look_up,
				       c,
				       true };
	return rc ? rc : kh_bench_measure(b, &found, NULL, err);
}

/* --- the parts of the kernel -------------------------------------------------------- */
struct part {
	struct classify *c;
	enum kh_gpu_bench_upto upto;
	int without;                    /* the version whose time is taken off; -1: none */
};

static int all_jobs(const struct classify *c, enum kh_gpu_bench_upto upto, double *seconds,
		    kh_err *err)
{
	int rc = KH_OK;

	*seconds = 0;
	for (size_t i = 0; i < c->reads.n && !rc; i++) {
		double s;

		rc = kh_gpu_bench_query(c->e, &c->reads.job[i], upto, &s, err);
		*seconds += s;
	}
	return rc;
}

static int part(void *arg, kh_bench_pass *p, kh_err *err)
{
	const struct part *x = arg;
	double before = 0;
	int rc = all_jobs(x->c, x->upto, &p->seconds, err);

	if (!rc && x->without >= 0)
		rc = all_jobs(x->c, (enum kh_gpu_bench_upto)x->without, &before, err);
	before = p->seconds - before;
	p->seconds = before > p->seconds / 100 ? before : p->seconds / 100;
	return rc;
}

static int parts(struct classify *c, kh_err *err)
{
	const kh_bench_work *w = &c->work;
	const double n = c->reads.reads, rate = c->g->b->random.rate;
	const char *of = c->g->b->random.of;
	struct part x[] = { { c, KH_GPU_BENCH_SAMPLE, -1 },
			    { c, KH_GPU_BENCH_LOOK_UP, KH_GPU_BENCH_SAMPLE },
			    { c, KH_GPU_BENCH_CANDIDATES, KH_GPU_BENCH_LOOK_UP },
			    { c, KH_GPU_BENCH_WHOLE, KH_GPU_BENCH_CANDIDATES },
			    { c, KH_GPU_BENCH_WHOLE, -1 },
			    { c, KH_GPU_BENCH_BLOCKS, -1 } };
	const kh_bench_limit packed = { c->g->memory.rate / 0.375, c->g->memory.of },
			     lists = { rate / (w->blocks / n), of },
			     all = { rate / ((w->features + w->blocks) / n), of };
	const kh_bench_stage stage[] = {
		{ "classify: sample", &kh_unit_bases, w->bases, packed, part, &x[0], true },
		{ "classify: look up", &kh_unit_keys, w->features, c->g->b->random, part,
		  &x[1], true },
		{ "classify: candidates", &kh_unit_reads, n, lists, part, &x[2], true },
		/* at least one taxon has to be looked at */
		{ "classify: decide", &kh_unit_reads, n, { rate, of }, part, &x[3],
		  true },
		{ "classify: sample to decision", &kh_unit_reads, n, all, part, &x[4],
		  true },
		{ "the same, blocks of threads", &kh_unit_reads, n, all, part, &x[5],
		  true },
	};
	int rc = KH_OK;

	for (size_t i = 0; i < sizeof stage / sizeof *stage && !rc; i++)
		rc = kh_bench_measure(c->g->b, &stage[i], NULL, err);
	return rc;
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
	    (rc = kh_bench_work_of(r, c->db, &c->work, err)) ||
	    (rc = kh_cuda_queue_open(&c->l, c->e, 0, 0, err)) || (rc = call_all(c, err)))
		return rc;
	if ((rc = look_ups(c, err)) || (rc = parts(c, err)))
		return rc;
	return kh_bench_lines_run(r, c->db, err);
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
