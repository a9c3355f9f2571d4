/*
 * build.c - kmerhash-bench build: what GPUs make of references that are in memory, packed
 *
 * The references are read once, and their blocks are kept in the form that the builder takes.
 * Then all threads give them to a builder, in each run to a new one, and the index that it makes
 * is dropped.
 */
#include <config.h>
#include "tests/bench/program/measure.h"
#include "tests/bench/program/gpu/gpu_in.h"

#include <stdlib.h>
#include <string.h>
#include "cuda/builder/builder.h"
#include "seqio/feed.h"
#include "base/mem.h"
#include "base/threads.h"
#include "build/refs.h"

static const kh_sampling sampling = { KH_SYNCMER, 22, 12, 32, 0, 1 };

struct worker {
	kh_pieces pieces;
};

struct bench {
	const kh_bench_packed_options *o;
	kh_monitor *m;
	kh_feed *feed;
	kh_refs refs;
	struct worker *worker;              /* a worker each */
	/* under the lock: */
	kh_block_pieces *kept;
	size_t n, cap, next;
	kh_builder *builder;
	double ready;
};

/* --- reading, once ---------------------------------------------------------------- */
static void *copy(const void *p, size_t n, kh_err *err)
{
	void *to = kh_array(n ? n : 1, 1, err);

	if (to && n > 0)
		memcpy(to, p, n);
	return to;
}

/* Keeps a copy of a block without what lies in front of its first piece, which is not part of it.
 * */
static int keep(struct bench *b, const kh_block *blk, const kh_pieces *p, kh_err *err)
{
	kh_block_pieces s = { .ticket = blk->ticket, .n_words = blk->n_words, .n = p->n };
	int rc;

	s.bases = copy(blk->bases, blk->n_words * 8, err);
	s.amb = copy(blk->amb, blk->n_words * 4, err);
	s.piece = copy(p->v, p->n * sizeof *p->v, err);
	kh_monitor_lock(b->m);
	rc = kh_grow((void **)&b->kept, &b->cap, b->n + 1, sizeof *b->kept, err);
	if (!rc)
		b->kept[b->n++] = s;
	kh_monitor_unlock(b->m);
	if (rc) {
		free((void *)s.bases);
		free((void *)s.amb);
		free((void *)s.piece);
	}
	return rc ? rc : s.bases && s.amb && s.piece ? KH_OK : KH_ENOMEM;
}

static int number_records(void *arg, kh_block *blk, kh_err *err)
{
	struct bench *b = arg;

	return kh_refs_add(&b->refs, blk, kh_refs_path(b->o->refs, b->o->n_refs, blk->file),
			   blk->user, err);
}

static int read_worker(void *arg, unsigned worker, kh_err *err)
{
	struct bench *b = arg;
	struct worker *h = &b->worker[worker];
	kh_block *blk;
	kh_jobs none;
	int rc;

	while ((rc = kh_feed_next(b->feed, &blk, err)) == 1) {
		blk->user = &h->pieces;
		rc = kh_feed_commit(b->feed, blk, &none, err);
		if (!rc)
			rc = keep(b, blk, &h->pieces, err);
		kh_feed_release(b->feed, blk);
		if (rc)
			break;
	}
	return rc;
}

static int read_all(struct bench *b, kh_err *err)
{
	const kh_bench_packed_options *o = b->o;
	const kh_feed_options fo = { .path = { o->refs },
				     .n_path = { o->n_refs },
				     .pieces = true,
				     .block_size = kh_backend_cuda.block_size,
				     .workers = o->threads,
				     .front = kh_refs_front(&sampling),
				     .committed = number_records,
				     .arg = b };
	int rc = kh_refs_init(&b->refs, &sampling, 10, err);

	b->refs.allow_duplicates = true;
	if (rc || (rc = kh_monitor_new(&b->m, err)) ||
	    (rc = kh_feed_open(&b->feed, &fo, b->m, err)))
		return rc;
	return kh_threads_run(b->m, o->threads, read_worker, b, err);
}

/* --- a run ------------------------------------------------------------------------ */
static int add_worker(void *arg, unsigned worker, kh_err *err)
{
	struct bench *b = arg;
	int rc = KH_OK;

	while (!rc) {
		kh_monitor_lock(b->m);
		size_t i = b->next++;
		kh_monitor_unlock(b->m);
		if (i >= b->n)
			break;
		rc = kh_cuda_builder_add(b->builder, worker, &b->kept[i], err);
	}
	return rc;
}

static int drop_image(void *arg, const kh_image *im, kh_err *err)
{
	(void)arg;
	(void)im;
	(void)err;
	return KH_OK;
}

static void is_ready(void *arg)
{
	struct bench *b = arg;

	b->ready = kh_seconds();
}

static double most(double a, double b)
{
	return a > b ? a : b;
}

static void print(const struct bench *b, FILE *out, double added, double ready)
{
	kh_cuda_times sum = { .wait = 0 };
	uint64_t largest = 0;

	for (unsigned i = 0; i < b->o->choice->n; i++) {
		const kh_cuda_times t = kh_cuda_builder_times(b->builder, i);

		sum.wait = most(sum.wait, t.wait);
		sum.gather = most(sum.gather, t.gather);
		sum.exchange = most(sum.exchange, t.split + t.exchange);
		sum.sort = most(sum.sort, t.sort);
		sum.encode = most(sum.encode, t.encode);
		sum.pairs += t.pairs;
		largest = t.pairs > largest ? t.pairs : largest;
	}
	fprintf(out, "%4zu %8.3f %8.3f %8.3f %8.3f %8.3f %8.3f %8.3f %9.2f %8.3f\n",
		b->o->choice->n, ready, added, sum.wait, sum.gather, sum.exchange, sum.sort,
		sum.encode, (double)b->refs.bases * 1e-9 / ready,
		sum.pairs ? (double)largest * (double)b->o->choice->n / (double)sum.pairs : 0);
	fflush(out);
}

static int run(struct bench *b, FILE *out, kh_err *err)
{
	const kh_builder_options bo = { .sampling = sampling,
					.on = { .choice = *b->o->choice,
						.threads = b->o->threads },
					.block_size = kh_backend_cuda.block_size,
					.tmp = "bench" };
	double from = 0, added = 0;
	int rc = kh_cuda_builder_open(&b->builder, &bo, err);

	b->next = 0;
	b->ready = 0;
	if (!rc) {
		from = kh_seconds();
		rc = kh_threads_run(b->m, b->o->threads, add_worker, b, err);
		added = kh_seconds() - from;
	}
	if (!rc)
		rc = kh_gpu_bench_finish(b->builder, &b->refs,
					 &(kh_finish) { .sink = drop_image, .arg = b,
							.ready = is_ready }, err);
	if (!rc && b->ready <= 0)
		rc = kh_fail(err, KH_ENOMEM, "the GPUs have not the memory for all at once");
	if (!rc)
		print(b, out, added, b->ready - from);
	kh_cuda_builder_close(b->builder);
	b->builder = NULL;
	return rc;
}

int kh_bench_packed(const kh_bench_packed_options *o, FILE *out, kh_err *err)
{
	struct bench b = { .o = o };
	int rc;

	b.worker = kh_array(o->threads, sizeof *b.worker, err);
	rc = b.worker ? read_all(&b, err) : KH_ENOMEM;
	if (!rc)
		fprintf(out, "%4s %8s %8s %8s %8s %8s %8s %8s %9s %8s\n", "GPUs", "ready s",
			"given", "wait", "order", "exchange", "sort", "encode", "G bases/s",
			"largest");
	for (int i = 0; i < o->repeat && !rc; i++)
		rc = run(&b, out, err);
	for (size_t i = 0; i < b.n; i++) {
		free((void *)b.kept[i].bases);
		free((void *)b.kept[i].amb);
		free((void *)b.kept[i].piece);
	}
	free(b.kept);
	for (unsigned i = 0; b.worker && i < o->threads; i++)
		free(b.worker[i].pieces.v);
	free(b.worker);
	kh_feed_close(b.feed);
	kh_refs_clear(&b.refs);
	kh_monitor_free(b.m);
	return rc;
}
