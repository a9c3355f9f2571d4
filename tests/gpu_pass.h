/*
 * gpu_pass.h - the second pass of a sample by a database with translated seeds: lines and counts
 * where devices count its fragments, beside those of the CPU
 */
#ifndef KH_TEST_GPU_PASS_H
#define KH_TEST_GPU_PASS_H

#include "gpu_translated.h"
#include "run/pass.h"

enum { PASS_JOBS = 6, PASS_WORKERS = 3, PASS_MOST = PASS_JOBS * GENE_READS };

/* What a sample becomes. */
struct passed {
	kh_buf lines;
	kh_tally tally;
	uint64_t changed;
	size_t said, counted, left;     /* fragments: seeds say something; in a census; not there */
	size_t placed;                  /* of those, where they lie is known */
};

/* A run of it. */
struct passing {
	kh_pass *pass;
	struct passed *p;
	unsigned worker;
};

static int pass_task(void *arg, kh_task *t, kh_err *e)
{
	struct passing *x = arg;

	for (size_t i = 0; i < t->job->n; i++) {
		const uint32_t taxon = t->call[i].taxon;

		++*(taxon == KH_NO_TAXON ? &x->p->tally.unclassified : &x->p->tally.direct[taxon]);
		if (t->like[i].said != KH_NO_TAXON) {
			x->p->said++;
			x->p->placed += t->like[i].stretch != KH_NO_STRETCH_LIKE;
		}
		x->p->counted += t->census && t->class_of[i] < KH_UNCOUNTED;
		x->p->left += t->census && t->class_of[i] == KH_UNCOUNTED;
	}
	return kh_pass_count(x->pass, x->worker, t, e);
}

/* Each job by the queue of one worker after the other. */
static void pass_jobs(struct passing *x, const kh_compute *c, const kh_job *job)
{
	static kh_call call[PASS_MOST];
	static kh_candidates candidates[PASS_MOST];
	static kh_likeness like[PASS_MOST];
	static uint32_t class_of[PASS_MOST];

	for (unsigned i = 0; i < PASS_JOBS; i++) {
		kh_task t = { .job = &job[i], .call = call, .candidates = candidates,
			      .class_of = class_of, .like = like };
		kh_tasks s = kh_compute_tasks(c, x->worker = i % PASS_WORKERS, pass_task, x);

		kh_pass_ask(x->pass, &t);
		OK(kh_tasks_submit(&s, &t, err));
		OK(kh_tasks_drain(&s, err));
	}
}

static struct passed pass_by(const struct way *w, const kh_db *db, const kh_rule *rule,
			     const kh_job *job)
{
	static char *const no_path[KH_N_BY_FRAGMENT];
	const kh_style style = { .tax = db->tax, .k = kh_rule_counted(rule).k };
	struct passed p = { .changed = 0 };
	struct passing x = { .p = &p };
	kh_devices on = devices_of(w);
	kh_monitor *m = NULL;
	kh_team *team = NULL;
	kh_compute c;
	uint64_t fragments = 0;

	on.threads = PASS_WORKERS;
	OK(kh_monitor_new(&m, err));
	OK(kh_tally_init(&p.tally, db->tax->n, false, err));
	OK(kh_compute_open(&c, db, &(kh_compute_options) { &on, rule, .block_size = 1 << 16 },
			   err));
	OK(kh_pass_open(&x.pass, &(kh_pass_options) { .db = db, .rule = rule, .style = &style,
						      .threads = PASS_WORKERS, .change = true,
						      .lines = true, .path = no_path }, err));
	OK(kh_pass_begin(x.pass, &c, err));
	pass_jobs(&x, &c, job);
	for (int i = 0; i < PASS_JOBS; i++)
		fragments += job[i].n;
	OK(kh_team_new(&team, m, PASS_WORKERS, err));
	OK(kh_pass_fit(x.pass, team, fragments, &p.tally, err));
	kh_team_free(team);
	p.changed = kh_pass_result_of(x.pass)->changed;
	assert_int_equal(kh_pass_jobs(x.pass), PASS_JOBS);
	for (uint64_t i = 0; i < PASS_JOBS; i++)
		OK(kh_pass_format(x.pass, 0, i, &(kh_result_bufs) { .lines = &p.lines }, err));
	kh_pass_close(x.pass);
	kh_compute_close(&c);
	kh_monitor_free(m);
	return p;
}

static void passed_clear(struct passed *p)
{
	free(p->lines.p);
	kh_tally_clear(&p->tally);
}

static void same_passed(const struct passed *want, const struct passed *is, const char *what)
{
	if (is->lines.n != want->lines.n || memcmp(is->lines.p, want->lines.p, is->lines.n))
		fail_msg("%s: other lines", what);
	assert_int_equal(is->tally.unclassified, want->tally.unclassified);
	assert_memory_equal(is->tally.direct, want->tally.direct,
			    want->tally.n * sizeof *want->tally.direct);
	assert_int_equal(is->changed, want->changed);
	assert_int_equal(is->said, want->said);
	assert_int_equal(is->placed, want->placed);
}

/* Wherever the seeds lie: on the devices, or with the host, which then counts all that has no
 * call. */
static void check_pass(const struct way *cpu, const struct way *w, size_t n)
{
	kh_build_options o = options_of(SYNCMERS(18, 14, 16), true);
	struct made_block block[3];
	struct passed want;
	kh_rule rule;

	o.translated = true;
	make_genes();
	kh_db *const db = open_built(&o, false, &rule);
	rule.want = KH_WANT_CANDIDATES;
	for (int i = 0; i < 3; i++) {
		make_block(&block[i], GENE_READS, i);
		block[i].b.text = "r";
		for (size_t k = 0; k < block[i].b.n_rec; k++)
			block[i].rec[k].id_len = 1;
	}
	kh_job job[PASS_JOBS] = {
		{ .n = GENE_READS, .block = { &block[0].b } },
		{ .n = GENE_READS / 2, .block = { &block[2].b }, .interleaved = true },
		{ .n = GENE_READS, .block = { &block[1].b } },
		{ .n = GENE_READS / 2, .block = { &block[0].b, &block[1].b },
		  .from = { 3, GENE_READS / 2 } },
		{ .n = GENE_READS, .block = { &block[1].b, &block[1].b } },
		{ .n = GENE_READS / 2, .block = { &block[1].b }, .interleaved = true },
	};
	for (unsigned i = 0; i < PASS_JOBS; i++)
		job[i].ticket = i;
	want = pass_by(cpu, db, &rule, job);
	assert_int_equal(want.counted + want.left, 0);
	assert_true(want.said > 100 && want.changed > 0);
	assert_in_range(want.placed, 1, want.said - 1);
	for (size_t i = 0; i < n; i++) {
		struct passed is = pass_by(&w[i], db, &rule, job);

		assert_true(is.counted > 100 && is.left > 10);
		same_passed(&want, &is, w[i].name);
		passed_clear(&is);
	}
	passed_clear(&want);
	kh_db_close(db);
	for (int i = 0; i < 3; i++)
		free_block(&block[i]);
}

#endif
