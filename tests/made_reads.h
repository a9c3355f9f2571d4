/* made_reads.h - a database whose features are where a test puts them, and reads of it */
#ifndef KH_TEST_MADE_READS_H
#define KH_TEST_MADE_READS_H

#include "classify/classify.h"
#include "made_index.h"
#include "packed.h"

enum { MAX_FEATURES = 2000 };

/* A fragment: one read, or two; and its features, in order, repeats too. */
typedef struct fragment {
	packed p[2];
	size_t len[2];
	bool paired;
	uint64_t key[MAX_FEATURES];
	uint32_t pos[MAX_FEATURES];
	size_t n, n_first;              /* features; those of the first mate */
} fragment;

typedef struct world {
	kh_taxonomy *tax;
	kh_rule rule;
	pairs where;
	made m;
	kh_db db;
} world;

static inline void world_init(world *w)
{
	*w = (world) { .tax = small_tree() };
	w->rule = (kh_rule) { .sampling = { KH_SYNCMER, 18, 12, 112, 0, 1 }, .max_span = 1008 };
	for (int i = 0; i < 32; i++)
		w->rule.minima[i] = 1;
}

static inline void world_clear(world *w)
{
	free(w->m.image);
	free(w->where.v);
	w->m.image = NULL;
	w->where = (pairs) { .most = w->where.most };
}

static inline fragment *make_fragment(const world *w, const char *a, const char *b)
{
	fragment *f = calloc(1, sizeof *f);
	const char *s[2] = { a, b };

	f->paired = b != NULL;
	for (int i = 0; i < 2 && s[i]; i++) {
		f->len[i] = strlen(s[i]);
		f->p[i] = pack(s[i], f->len[i]);
		uint64_t starts = kh_sampling_starts(&w->rule.sampling, f->len[i]);
		kh_stretch st = { f->p[i].bases, f->p[i].amb, 0, starts };
		assert_true(f->n + kh_sampling_bound(&w->rule.sampling, starts) < MAX_FEATURES);
		f->n += kh_sampling_run(&w->rule.sampling, &st, f->key + f->n, f->pos + f->n);
		f->n_first = i == 0 ? f->n : f->n_first;
	}
	return f;
}

static inline void drop_fragment(fragment *f)
{
	unpack(&f->p[0]);
	unpack(&f->p[1]);
	free(f);
}

/* Features from .. to-1 of the fragment occur in that bin of that target. */
static inline void occur(world *w, const fragment *f, size_t from, size_t to, uint32_t bin)
{
	assert_true(to <= f->n);
	for (size_t i = from; i < to; i++)
		add_pair(&w->where, f->key[i] & ((UINT64_C(1) << 40) - 1), bin);
}

static inline uint32_t bin_of(uint32_t target, uint32_t bin)
{
	return target * (TARGET_BINS + GAP) + bin;
}

/* Features from .. to-1 are overpopulated: in all bins of two targets, with their gaps. */
static inline void overflow(world *w, const fragment *f, size_t from, size_t to,
			    const uint32_t target[2])
{
	for (uint32_t bin = 0; bin < TARGET_BINS + GAP; bin++)
		for (int i = 0; i < 2; i++)
			occur(w, f, from, to, bin_of(target[i], bin));
}

/* The same in two steps: range p of the index is in part p % PARTS, part 0 our own. */
static inline kh_call classify_in_parts(kh_classifier *c, const world *w, const kh_job *job)
{
	enum { PARTS = 3, HEAD = 8 };
	kh_asked a = { .key = NULL };
	kh_answer part[PARTS] = { { NULL, NULL } };
	uint8_t owner[KH_RANGES];
	void *p[PARTS] = { NULL };
	kh_err err = { 0, "" };
	kh_call call;

	for (unsigned i = 0; i < KH_RANGES; i++)
		owner[i] = (uint8_t)(i % PARTS);
	assert_int_equal(kh_classify_ask(c, job, &a, &err), 0);
	for (unsigned k = 1; k < PARTS; k++) {
		uint64_t *key = calloc(a.n + 1, sizeof *key);
		size_t n = 0, bytes;

		for (size_t i = 0; i < a.n; i++)
			if (owner[kh_key_range(a.key[i])] == k)
				key[n++] = a.key[i];
		assert_int_equal(kh_answer_make(&w->db, key, n, HEAD, &p[k], &bytes, &err), 0);
		assert_int_equal(
			kh_answer_read(&part[k], (char *)p[k] + HEAD, bytes - HEAD, n, &err), 0);
		if (bytes > HEAD)
			assert_int_equal(kh_answer_read(&(kh_answer) { NULL, NULL },
							(char *)p[k] + HEAD, bytes - HEAD - 1, n,
							&err),
					 KH_EIO);
		free(key);
	}
	kh_answers answers = { owner, part };
	assert_int_equal(kh_classify_answer(c, &a, &answers, &call, NULL, &err), 0);
	for (unsigned k = 1; k < PARTS; k++)
		free(p[k]);
	kh_asked_clear(&a);
	return call;
}

static inline kh_call classify(world *w, const fragment *f)
{
	kh_record r[2] = { { .len = f->len[0] }, { .len = f->len[1] } };
	kh_block b[2] = {
		{ .bases = f->p[0].bases, .amb = f->p[0].amb, .rec = &r[0], .n_rec = 1 },
		{ .bases = f->p[1].bases, .amb = f->p[1].amb, .rec = &r[1], .n_rec = 1 }
	};
	kh_job job = { .n = 1, .block = { &b[0], f->paired ? &b[1] : NULL } };
	kh_classifier *c;
	kh_err err = { 0, "" };
	kh_call call[2];

	if (!w->m.image && make_range(&w->m, &w->where, w->tax, &err))
		fail_msg("%s", err.msg);
	w->db = (kh_db) {
		.image = w->m.image, .dir = w->m.dir, .tax = w->tax, .bins = small_bins()
	};
	assert_int_equal(kh_classifier_new(&c, &w->db, &w->rule, &err), 0);
	/* twice, as the scratch memory must be clean again */
	for (int i = 0; i < 2; i++)
		assert_int_equal(kh_classify_job(c, &job, &call[i], NULL, &err), 0);
	assert_memory_equal(&call[0], &call[1], sizeof call[0]);
	call[1] = classify_in_parts(c, w, &job);
	assert_memory_equal(&call[0], &call[1], sizeof call[0]);
	kh_classifier_free(c);
	return call[0];
}

#endif
