/*
 * gpu_census.h - fragments counted by class on devices, beside the host's counts: classes, the
 * class of each fragment, intervals; and counters of distinct features; with room for all classes
 * and taxa, and for a few, so that most fragments are left to the host
 */
#ifndef KH_TEST_GPU_CENSUS_H
#define KH_TEST_GPU_CENSUS_H

#include "gpu_queues.h"
#include "gpu_references.h"
#include "build/build.h"
#include "classify/match.h"
#include "sample/classes.h"
#include "sample/model.h"
#include "kmer/text.h"

enum { SAMPLE_READS = 3000, FRAGMENTS = SAMPLE_READS + SAMPLE_READS / 2 + SAMPLE_READS, JOBS = 3,
       PARTS = 3, FEW = 40, FEW_TAXA = 2 };

/* What is counted, and what the host makes of it. */
struct sample {
	const kh_db *db;
	kh_match_db match;
	kh_class_rule rule;
	const kh_job *job;
	struct answer a;
	kh_class_of *of;
	kh_distinct distinct;
	kh_classes classes;
	uint64_t *interval;
	uint32_t *mask;
};

static void mark(const struct sample *s, const kh_class_of *of, const kh_classes *c, size_t i,
		 uint32_t *mask)
{
	if (of->index == KH_NO_CLASS || !c->at[of->index].located)
		return;
	const kh_db_locus l = kh_db_locate(s->db, of->target, s->a.candidates[i].bin);

	mask[s->interval[l.target] + l.at / KH_INTERVAL] |= 1u << c->at[of->index].cell % KH_SHARES;
}

/* The first job has no long fragment: what those find is counted by the host. */
static bool wants_features(int job) { return job == 0; }

/* Counts features; the calls are the same again. */
static void count_features(struct sample *s)
{
	const kh_backend *be = &kh_backend_cpu;
	const kh_engine_options eo = { .rule = s->rule.rule, .queues = 1 };
	kh_engine *e = NULL;
	kh_task_queue *q = NULL;
	kh_candidates *cand = s->a.candidates;
	kh_call *call = s->a.call;

	OK(kh_distinct_init(&s->distinct, s->db->tax->n, err));
	OK(be->engine_open(&e, s->db, &eo, err));
	OK(be->queue_open(&q, e, 0, 0, err));
	for (int i = 0; i < JOBS; cand += s->job[i].n, call += s->job[i++].n) {
		kh_task task = { .job = &s->job[i], .call = call, .candidates = cand,
				 .distinct = wants_features(i) ? &s->distinct : NULL }, *t;

		OK(be->submit(q, &task, err));
		OK(be->collect(q, &t, err));
	}
	be->queue_close(q);
	be->engine_close(e);
}

static void count_on_host(struct sample *s)
{
	static const struct way cpu = { "cpu", &kh_backend_cpu, 1, { 0 }, KH_PLACE_AUTO, false };

	s->a = answer_new(FRAGMENTS, KH_WANT_CANDIDATES);
	s->of = calloc(FRAGMENTS, sizeof *s->of);
	run_jobs(&cpu, s->db, s->rule.rule, s->job, JOBS, &s->a);
	count_features(s);
	OK(kh_intervals(s->db, &s->interval, err));
	s->mask = calloc(s->interval[s->db->h->n_targets], sizeof *s->mask);
	OK(kh_classes_init(&s->classes, err));
	OK(kh_classes_add(&s->classes, &s->rule, s->a.call, s->a.candidates, FRAGMENTS, s->of,
			  err));
	for (size_t i = 0; i < FRAGMENTS; i++)
		mark(s, &s->of[i], &s->classes, i, s->mask);
}

/* What a census has counted, and what was left to the host. */
struct counted {
	kh_call call[FRAGMENTS];
	kh_candidates candidates[FRAGMENTS];
	uint32_t class_of[FRAGMENTS], *mask;
	kh_distinct distinct;
	kh_classes left;
	kh_census_bank bank[PARTS];
	size_t n_left;
};

static void count_left(const struct sample *s, struct counted *c, size_t from, size_t n)
{
	for (size_t i = from; i < from + n; i++) {
		kh_class_of of;

		if (c->class_of[i] != KH_UNCOUNTED)
			continue;
		assert_memory_equal(&c->candidates[i], &s->a.candidates[i], sizeof *c->candidates);
		OK(kh_classes_add(&c->left, &s->rule, &c->call[i], &c->candidates[i], 1, &of, err));
		assert_int_not_equal(of.index, KH_NO_CLASS);
		mark(s, &of, &c->left, i, c->mask);
		c->n_left++;
	}
}

/* Each job by the queue of one worker after the other. */
static void run(const struct sample *s, const struct way *w, kh_engine *e, kh_census *census,
		kh_counters *counters, struct counted *c)
{
	size_t at = 0;

	for (unsigned i = 0; i < JOBS; i++) {
		kh_task_queue *q = NULL;
		kh_task task = { .job = &s->job[i],
				 .call = c->call + at,
				 .candidates = c->candidates + at,
				 .distinct = wants_features((int)i) ? &c->distinct : NULL,
				 .counters = wants_features((int)i) ? counters : NULL,
				 .census = census,
				 .class_of = c->class_of + at,
				 .classes_wanted = true },
			*t;

		OK(w->be->queue_open(&q, e, i, 0, err));
		OK(w->be->submit(q, &task, err));
		OK(w->be->collect(q, &t, err));
		assert_ptr_equal(t, &task);
		if (t->left)
			count_left(s, c, at, s->job[i].n);
		for (size_t x = at; x < at + s->job[i].n; x++)
			assert_int_equal(c->class_of[x] == KH_NO_CLASS,
					 s->of[x].index == KH_NO_CLASS);
		w->be->queue_close(q);
		at += s->job[i].n;
	}
}

/* Are the classes those of the host, and is that of each fragment right? */
static void compare_classes(const struct sample *s, const struct way *w, struct counted *c)
{
	const unsigned n = (unsigned)w->n_devices;
	kh_classes part[PARTS + 1] = { { .at = NULL } }, sum, want;
	uint32_t *to[PARTS + 1], *to_want;
	size_t at = 0;

	for (unsigned i = 0; i < n; i++) {
		part[i] = (kh_classes) { .at = c->bank[i].at, .n = c->bank[i].n };
		memcpy(part[i].many, c->bank[i].many, sizeof part[i].many);
	}
	part[n] = c->left;
	OK(kh_classes_init(&sum, err));
	OK(kh_classes_init(&want, err));
	OK(kh_classes_join(&sum, part, n + 1, to, NULL, err));
	OK(kh_classes_join(&want, &s->classes, 1, &to_want, NULL, err));
	assert_int_equal(sum.n, want.n);
	assert_memory_equal(sum.at, want.at, sum.n * sizeof *sum.at);
	assert_memory_equal(sum.many, want.many, sizeof sum.many);
	for (unsigned i = 0; i < JOBS; i++)
		for (size_t end = at + s->job[i].n; at < end; at++)
			if (c->class_of[at] < KH_UNCOUNTED)
				assert_int_equal(to[i % n][c->class_of[at]],
						 to_want[s->of[at].index]);
	for (unsigned i = 0; i <= n; i++)
		free(to[i]);
	free(to_want);
	kh_classes_clear(&sum);
	kh_classes_clear(&want);
}

/* Are registers and sums those of the host?  Taxa without a call have no registers. */
static void compare_features(const struct sample *s, const struct counted *c)
{
	uint32_t taxa = 0;

	for (uint32_t t = 0; t < s->db->tax->n; t++) {
		assert_int_equal(c->distinct.found[t], s->distinct.found[t]);
		assert_int_equal(c->distinct.reg[t] == NULL, s->distinct.reg[t] == NULL);
		if (!s->distinct.reg[t])
			continue;
		assert_memory_equal(c->distinct.reg[t], s->distinct.reg[t], KH_HLL_SIZE);
		taxa++;
	}
	assert_true(taxa > 2 * FEW_TAXA);
}

static bool any_registers(const kh_distinct *d)
{
	for (uint32_t t = 0; t < d->n; t++)
		if (d->reg[t])
			return true;
	return false;
}

static void compare_intervals(const struct sample *s, kh_census *census, const struct way *w,
			      const struct counted *c)
{
	const uint32_t n = (uint32_t)s->db->h->n_targets;
	uint32_t *own = calloc(n, sizeof *own), *found = calloc(n, sizeof *found);
	uint8_t *shift = calloc(n, sizeof *shift);
	const kh_census_search q = { own, shift, c->n_left ? c->mask : NULL, found };
	uint64_t all = 0;

	for (uint32_t t = 0; t < n; t++) {
		own[t] = t % 5 ? (uint32_t)(test_rand() & test_rand()) : UINT32_MAX;
		shift[t] = (uint8_t)(t % 4);
	}
	OK(w->be->census.search(census, &q, err));
	for (uint32_t t = 0; t < n; t++) {
		const uint64_t end = s->interval[t + 1], block = UINT64_C(1) << shift[t];
		uint32_t want = 0;

		for (uint64_t x = s->interval[t]; x < end; x += block) {
			uint32_t any = 0;

			for (uint64_t y = x; y < x + block && y < end; y++)
				any |= s->mask[y] & own[t];
			want += any != 0;
		}
		assert_int_equal(found[t], want);
		all += want;
	}
	assert_true(all > 20);
	free(own);
	free(shift);
	free(found);
}

static void same_counts(const struct sample *s, const struct way *w, uint32_t room)
{
	const kh_engine_options eo = { .rule = s->rule.rule,
				       .on = devices_of(w),
				       .queues = (unsigned)w->n_devices };
	const kh_census_options co = { .interval = s->interval,
				       .n_targets = (uint32_t)s->db->h->n_targets,
				       .classes = room };
	struct counted *c = calloc(1, sizeof *c);
	kh_engine *e = NULL;
	kh_census *census = NULL;
	kh_counters *counters = NULL;

	c->mask = calloc(s->interval[co.n_targets], sizeof *c->mask);
	OK(kh_classes_init(&c->left, err));
	OK(w->be->engine_open(&e, s->db, &eo, err));
	OK(w->be->census.open(&census, e, &co, err));
	assert_non_null(census);
	assert_int_equal(census->banks, w->n_devices);
	OK(kh_distinct_init(&c->distinct, s->db->tax->n, err));
	OK(w->be->counters.open(&counters, e, room ? FEW_TAXA : 0, err));
	assert_non_null(counters);
	run(s, w, e, census, counters, c);
	/* the host has counted what there was no room for */
	assert_int_equal(any_registers(&c->distinct), room > 0);
	OK(w->be->counters.read(counters, &c->distinct, err));
	compare_features(s, c);
	w->be->counters.close(counters);
	for (unsigned i = 0; i < census->banks; i++) {
		OK(w->be->census.read(census, i, NULL, &c->bank[i], err));
		assert_true(room == 0 || c->bank[i].n == room);
		/* none stands twice */
		assert_true(room > 0 || w->n_devices > 1 || c->bank[i].n == s->classes.n);
	}
	assert_int_equal(c->n_left > 0, room > 0);
	compare_classes(s, w, c);
	compare_intervals(s, census, w, c);
	compare_intervals(s, census, w, c);
	w->be->census.close(census);
	w->be->engine_close(e);
	kh_classes_clear(&c->left);
	kh_distinct_clear(&c->distinct);
	free(c->mask);
	free(c);
}

/* --- the sample ----------------------------------------------------------------------- */
/* The references of a species alone, so that reads are located: an end of the genome that no other
 * one has. */
static kh_db *open_census_db(kh_rule *rule)
{
	const kh_build_options o = options_of(SYNCMERS(18, 12, 32), true);
	const size_t n = make_references();

	put_file(REFS, refs, put_sequence(n, 31, genome + 100100, 30000));
	return open_built(&o, false, rule);
}

/* What the n ways of w count is what the host counts. */
static void check_census(const struct way *w, size_t n)
{
	struct made_block block[2];
	struct sample s = { .db = NULL };
	kh_rule rule;
	kh_db *const db = open_census_db(&rule);

	rule.want = KH_WANT_CANDIDATES;
	for (int i = 0; i < 2; i++)
		make_block(&block[i], SAMPLE_READS, 1 - i);
	const kh_job job[JOBS] = {
		{ .n = SAMPLE_READS, .block = { &block[0].b } },
		{ .n = SAMPLE_READS / 2, .block = { &block[1].b }, .interleaved = true },
		{ .n = SAMPLE_READS, .block = { &block[1].b, &block[0].b } },
	};
	s.db = db;
	kh_match_db_init(&s.match, db, &rule);
	s.rule = (kh_class_rule) { &rule, &s.match };
	s.job = job;
	count_on_host(&s);
	assert_true(s.classes.n > 2 * FEW);
	for (size_t i = 0; i < n; i++) {
		same_counts(&s, &w[i], 0);
		same_counts(&s, &w[i], FEW);
	}
	kh_classes_clear(&s.classes);
	kh_distinct_clear(&s.distinct);
	answer_clear(&s.a);
	free(s.of);
	free(s.interval);
	free(s.mask);
	kh_db_close(db);
	for (int i = 0; i < 2; i++)
		free_block(&block[i]);
}

#endif
