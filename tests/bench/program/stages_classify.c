/*
 * stages_classify.c - what the CPU does in a run of classify, between reading and lines
 *
 * Sampling and looking up, of all features, are run by themselves; comparison and decision are what
 * is left of the whole.
 */
#include <config.h>
#include "tests/bench/program/bench_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "classify/match.h"
#include "index/seeds.h"

/* The features of a job's records: those of fragment i are key[from[i]] and on. */
struct keys {
	uint64_t *key;
	uint32_t *from;
	size_t cap, cap_from;
};

struct classify {
	kh_bench *b;
	kh_bench_reads *r;
	const kh_db *db;
	kh_rule rule;
	struct keys *keys;      /* by job */
	bool keep;              /* keep what is computed with the jobs */
	kh_bench_work work;
	/* of what was looked up, so that the compiler cannot leave it out */
	_Atomic uint64_t sum;
};

/* --- sample ----------------------------------------------------------------------- */
static int sample_job(const struct classify *c, const kh_job *j, struct keys *to, uint32_t *pos,
		      kh_err *err)
{
	const kh_sampling *sampling = &c->rule.sampling;
	size_t n = 0;
	int rc = kh_grow((void **)&to->from, &to->cap_from, j->n + 1, sizeof *to->from, err);

	for (size_t i = 0; i < j->n && !rc; i++) {
		const kh_record *r = &j->block[0]->rec[j->from[0] + i];
		uint64_t starts = kh_sampling_starts(sampling, r->len);
		kh_stretch s = { j->block[0]->bases, j->block[0]->amb, r->seq, r->seq + starts };

		rc = kh_grow((void **)&to->key, &to->cap, n + kh_sampling_bound(sampling, starts),
			     sizeof *to->key, err);
		to->from[i] = (uint32_t)n;
		if (!rc)
			n += kh_sampling_run(sampling, &s, to->key + n, pos);
		to->from[i + 1] = (uint32_t)n;
	}
	return rc;
}

static int sample_worker(void *arg, unsigned worker, kh_err *err)
{
	struct classify *c = arg;
	struct keys tmp = { .key = NULL };
	uint32_t *pos = kh_array(kh_sampling_bound(&c->rule.sampling, 1000), sizeof *pos, err);
	int rc = pos ? KH_OK : KH_ENOMEM;

	(void)worker;
	for (uint64_t i; !rc && kh_bench_take(c->b, &i);)
		rc = sample_job(c, &c->r->job[i % c->r->n], c->keep ? &c->keys[i] : &tmp, pos, err);
	free(tmp.key);
	free(tmp.from);
	free(pos);
	return rc;
}

static int sample_all(void *arg, kh_bench_pass *p, kh_err *err)
{
	struct classify *c = arg;

	return kh_bench_threads(c->b, p, c->r->n, sample_worker, c, err);
}

/* --- look up ---------------------------------------------------------------------- */
static int look_up_worker(void *arg, unsigned worker, kh_err *err)
{
	enum { TOGETHER = 128 };        /* about as many as of a read at a time */
	struct classify *c = arg;
	kh_seeds_found found = { .bin = NULL };
	uint64_t sum = 0;
	int rc = KH_OK;

	(void)worker;
	for (uint64_t i; !rc && kh_bench_take(c->b, &i);) {
		const struct keys *k = &c->keys[i % c->r->n];
		const size_t n = k->from[c->r->job[i % c->r->n].n];

		for (size_t at = 0; at < n && !rc; at += TOGETHER) {
			const size_t m = n - at < TOGETHER ? n - at : TOGETHER;

			rc = kh_seeds_find(&c->db->seeds, k->key + at, m, &found, err);
			sum += found.n;
		}
	}
	c->sum += sum;
	kh_seeds_found_clear(&found);
	return rc;
}

static int look_up_all(void *arg, kh_bench_pass *p, kh_err *err)
{
	struct classify *c = arg;

	return kh_bench_threads(c->b, p, c->r->n, look_up_worker, c, err);
}

/* --- the whole -------------------------------------------------------------------- */
static int call_worker(void *arg, unsigned worker, kh_err *err)
{
	struct classify *c = arg;
	kh_matcher *k = NULL;
	kh_call *call = kh_array(c->r->reads, sizeof *call, err);
	int rc = call ? kh_matcher_new(&k, c->db, &c->rule, err) : KH_ENOMEM;

	(void)worker;
	for (uint64_t i; !rc && kh_bench_take(c->b, &i);) {
		const size_t j = i % c->r->n;

		rc = kh_match_job(k, &c->r->job[j], c->keep ? c->r->call[j] : call, NULL, NULL,
				  NULL, err);
	}
	kh_matcher_free(k);
	free(call);
	return rc;
}

static int call_all(void *arg, kh_bench_pass *p, kh_err *err)
{
	struct classify *c = arg;

	return kh_bench_threads(c->b, p, c->r->n, call_worker, c, err);
}

/* Runs a stage once more, to keep what the next stage begins with. */
static int once(struct classify *c, kh_bench_fn *fn, kh_err *err)
{
	kh_bench_pass p = { c->b->o->threads, 1, 0 };
	int rc;

	c->keep = true;
	rc = fn(c, &p, err);
	c->keep = false;
	return rc;
}

/* What is left of the whole when the time of the other stages, measured beside it, is taken off. */
static int rest(void *arg, kh_bench_pass *p, kh_err *err)
{
	double whole, left;
	int rc = call_all(arg, p, err);

	whole = left = p->seconds;
	if (!rc)
		rc = sample_all(arg, p, err);
	left -= p->seconds;
	if (!rc)
		rc = look_up_all(arg, p, err);
	left -= p->seconds;
	p->seconds = left > whole / 100 ? left : whole / 100;
	return rc;
}

/* --- all -------------------------------------------------------------------------- */
static void count(struct classify *c)
{
	for (size_t i = 0; i < c->r->n; i++) {
		const kh_job *j = &c->r->job[i];
		const struct keys *k = &c->keys[i];

		for (size_t f = 0; f < j->n; f++)
			c->work.bases += (double)j->block[0]->rec[j->from[0] + f].len;
		c->work.features += k->from[j->n];
		for (uint32_t x = 0; x < k->from[j->n]; x++) {
			kh_seed_search s = kh_seed_begin(&c->db->seeds, k->key[x]);

			for (; s.line; kh_seed_go_on(&c->db->seeds, &s))
				c->work.lines++;
		}
	}
}

static int sampled(struct classify *c, kh_bench_reads *r, const kh_db *db, kh_err *err)
{
	*c = (struct classify) { .b = r->b, .r = r, .db = db };
	kh_rule_init(&c->rule, db->h);
	c->keys = kh_array(r->n, sizeof *c->keys, err);
	int rc = c->keys ? once(c, sample_all, err) : KH_ENOMEM;

	if (!rc)
		count(c);
	return rc || c->work.features > 0 ? rc
		: kh_fail(err, KH_EFORMAT, "the reads that were cut have no feature");
}

static void clear(struct classify *c)
{
	for (size_t i = 0; c->keys && i < c->r->n; i++) {
		free(c->keys[i].key);
		free(c->keys[i].from);
	}
	free(c->keys);
}

int kh_bench_work_of(kh_bench_reads *r, const kh_db *db, kh_bench_work *w, kh_err *err)
{
	struct classify c;
	int rc = sampled(&c, r, db, err);

	*w = c.work;
	clear(&c);
	return rc;
}

static int stages(struct classify *c, kh_err *err)
{
	kh_bench *b = c->b;
	const kh_bench_work *w = &c->work;
	const double reads = c->r->reads;
	const kh_bench_limit in = { b->memory.rate / (0.375 + 8 * w->features / w->bases),
				    b->memory.of },
			     text = b->random,  /* a place at least */
			     both = { b->random.rate / (1 + w->lines / reads), b->random.of };
	const kh_bench_stage stage[] = {
		{ "classify: sample", &kh_unit_bases, w->bases, in, sample_all, c, false },
		{ "classify: look up", &kh_unit_keys, w->features, b->random, look_up_all, c,
		  false },
		{ "classify: compare, decide", &kh_unit_reads, reads, text, rest, c, false },
		{ "classify: sample to decision", &kh_unit_reads, reads, both, call_all, c, false }
	};
	int rc = KH_OK;

	for (size_t i = 0; i < sizeof stage / sizeof *stage && !rc; i++)
		rc = kh_bench_measure(b, &stage[i], NULL, err);
	return rc ? rc : once(c, call_all, err);
}

struct loading {
	kh_bench *b;
	kh_db *db;
};

static int load(void *arg, kh_bench_pass *p, kh_err *err)
{
	struct loading *x = arg;
	const kh_db_options o = { .threads = p->threads };
	int rc = KH_OK;
	double t = kh_seconds();

	for (uint64_t i = 0; i < p->loops && !rc; i++) {
		kh_db_close(x->db);
		x->db = NULL;
		rc = kh_db_open(&x->db, x->b->o->db, &o, err);
	}
	p->seconds = kh_seconds() - t;
	return rc;
}

/* Opens the database, and prints a line of how fast it was loaded. */
static int open_db(kh_bench *b, kh_db **db, kh_err *err)
{
	struct loading x = { b, NULL };
	kh_bench_stage s = { "classify: load, check", &kh_unit_gb, 0, b->memory, load, &x, false };
	kh_bench_pass p = { b->o->threads, 1, 0 };
	int rc = load(&x, &p, err);

	if (!rc) {
		s.amount = (double)x.db->h->section[KH_SEC_INDEX].bytes;
		rc = kh_bench_measure(b, &s, NULL, err);
	}
	*db = x.db;
	return rc;
}

int kh_bench_classify_cpu(kh_bench *b, const kh_bench_refs *refs, kh_err *err)
{
	struct classify c = { .keys = NULL };
	kh_bench_reads r = { .fd = -1 };
	kh_db *db = NULL;
	int rc = open_db(b, &db, err);

	if (!rc && !(rc = kh_bench_random(b, db->image, db->h->section[KH_SEC_INDEX].bytes, err)) &&
	    !(rc = kh_bench_reads_open(&r, refs, 0, err)) &&
	    !(rc = kh_bench_read(b, &r.file, err)) && !(rc = kh_bench_parse(b, &r.file, 0, err)) &&
	    !(rc = sampled(&c, &r, db, err)) && !(rc = stages(&c, err)))
		rc = kh_bench_lines_run(&r, db, err);
	clear(&c);
	kh_bench_reads_close(&r);
	kh_db_close(db);
	return rc;
}

/* --- the CPU's table -------------------------------------------------------------- */
int kh_bench_cpu(kh_bench *b, kh_err *err)
{
	kh_bench_refs r = { .b = b };
	int rc = KH_OK;

	b->room = kh_array(KH_BENCH_ROOM, 1, err);
	if (!b->room)
		return KH_ENOMEM;
	memset(b->room, 1, KH_BENCH_ROOM);
	if (!(rc = kh_bench_memory(b, err)) && !(rc = kh_bench_one_file(b, err)) &&
	    !(rc = kh_bench_read(b, b->refs, err)) && !(rc = kh_bench_parse(b, b->refs, 0, err)) &&
	    !(rc = kh_bench_refs_load(&r, b, err)) && !(rc = kh_bench_build_cpu(b, &r, err)) &&
	    b->o->db)
		rc = kh_bench_classify_cpu(b, &r, err);
	kh_bench_refs_clear(&r);
	free(b->room);
	return rc;
}
