/* feed_harness.h - runs a feed over bytes and keeps all that comes out */
#ifndef KH_FEED_HARNESS_H
#define KH_FEED_HARNESS_H

#include "gz_make.h"
#include "seqio/feed.h"
#include "base/order.h"
#include "kmer/kmer.h"

struct got_record {
	char *name, *seq, *text;
	size_t name_len, id_len, len, text_len, room;
	bool fastq;
};

struct got {
	struct got_record *rec;
	size_t n, cap;
	size_t n_ends, n_bad;   /* ends of files; promises of feed.h that were broken */
	uint64_t n_frag, n_job;
	int rc;
	kh_err err;
	/* while it runs: */
	kh_feed *f;
	kh_feed_options o;
	kh_monitor *m;
	kh_order *order;
	struct got_block *block;        /* one for each worker */
	bool late;              /* which reads on rather than wait until its block is committed */
	void (*seen)(struct got *, const kh_block *);   /* NULL, or called of each block in turn */
};

static inline char *copy_bytes(const char *s, size_t n)
{
	char *p = malloc(n + 1);

	if (n > 0)
		memcpy(p, s, n);
	p[n] = 0;
	return p;
}

static inline void got_bases(struct got *g, struct got_record *q, const kh_block *b,
			     const kh_record *r)
{
	if (q->room < q->len + r->len + 1)
		q->seq = realloc(q->seq, q->room = 2 * (q->len + r->len + 1));
	for (uint64_t i = 0; i < r->len; i++)
		q->seq[q->len++] = kh_packed_amb(b->amb, r->seq + i)
					   ? 'N'
					   : "ACGT"[kh_packed_base(b->bases, r->seq + i)];
	q->seq[q->len] = 0;
	g->n_bad += r->seq % 32 != 0;
	for (uint64_t i = r->len; i % 32; i++)          /* behind the last base */
		g->n_bad += !kh_packed_amb(b->amb, r->seq + i)
			    || kh_packed_base(b->bases, r->seq + i);
	for (uint64_t i = 0; i < r->len; i++)
		g->n_bad += kh_packed_amb(b->amb, r->seq + i)
			    && kh_packed_base(b->bases, r->seq + i);
	g->n_bad += (r->seq + r->len + 31) / 32 > b->n_words;
}

static inline void got_add(struct got *g, const kh_block *b, const kh_record *r)
{
	if (r->flags & KH_REC_CONTINUES) {
		g->n_bad += g->n == 0 || r != b->rec || r->seq != g->o.front || r->len == 0;
		if (g->n > 0)
			got_bases(g, &g->rec[g->n - 1], b, r);
		return;
	}
	if (g->n == g->cap)
		g->rec = realloc(g->rec, (g->cap = 2 * g->cap + 16) * sizeof *g->rec);
	struct got_record *q = &g->rec[g->n++];
	const bool named = g->o.text != KH_FEED_BASES, whole = g->o.text == KH_FEED_ALL;
	*q = (struct got_record) {
		.name = copy_bytes(b->text + r->name, named ? r->name_len : 0),
		.name_len = r->name_len,
		.id_len = r->id_len,
		.fastq = r->fastq,
		.text_len = r->text_len,
		.text = copy_bytes(b->text + r->text, whole ? r->text_len : 0),
	};
	got_bases(g, q, b, r);
}

/* A block and the jobs that it has completed, which wait for their turn to be checked. */
struct got_block {
	const kh_block *b;
	kh_block *put;          /* put, but its jobs are not taken yet */
	kh_jobs jobs;
};

static inline void got_job(struct got *g, const kh_job *j)
{
	g->n_bad += j->ticket != g->n_job++ || j->first != g->n_frag || !j->n;
	g->n_frag += j->n;
	for (size_t i = 0; i < j->n; i++) {
		const kh_block *bl[2];
		const kh_record *r[2];

		kh_job_records(j, i, bl, r);
		got_add(g, bl[0], r[0]);
		if (r[1])
			got_add(g, bl[1], r[1]);
	}
	kh_feed_release_job(g->f, j);
}

static inline int got_block(void *arg, void *item, kh_err *err)
{
	struct got *g = arg;
	const struct got_block *x = item;

	(void)err;
	g->n_ends += x->b->file_end;
	if (g->seen)
		g->seen(g, x->b);
	for (size_t i = 0; i < x->jobs.n; i++)
		got_job(g, &x->jobs.job[i]);
	g->n_bad += g->o.pieces && x->jobs.n > 0;
	for (size_t i = 0; g->o.pieces && i < x->b->n_rec; i++)
		got_add(g, x->b, &x->b->rec[i]);
	return KH_OK;
}

/* Takes what comes of the block that was put last. */
static inline int got_put(struct got *g, struct got_block *x, kh_err *err)
{
	kh_block *b = x->put;

	if (!b)
		return 0;
	x->put = NULL;
	x->b = b;
	int rc = kh_feed_jobs(g->f, b, &x->jobs, err);
	if (!rc)
		rc = kh_order_put(g->order, b->ticket, x, got_block, g);
	if (!rc)
		rc = kh_order_wait(g->order, b->ticket);
	if (!rc)
		kh_feed_release(g->f, b);
	return rc;
}

static inline int got_next(struct got *g, struct got_block *x, kh_block **b, kh_err *err)
{
	int rc = x->put ? kh_feed_try(g->f, b, err) : 0;

	if (rc)
		return rc;
	rc = got_put(g, x, err);
	return rc ? rc : kh_feed_next(g->f, b, err);
}

static inline int got_work(void *arg, unsigned worker, kh_err *err)
{
	struct got *g = arg;
	struct got_block *x = &g->block[worker];
	kh_block *b;
	int rc;

	while ((rc = got_next(g, x, &b, err)) > 0) {
		const int done = kh_feed_put(g->f, b, err);

		rc = done < 0 ? done : got_put(g, x, err);
		x->put = b;
		if (!rc && !(g->late && !done))
			rc = got_put(g, x, err);
		if (rc)
			return rc;
	}
	return rc;
}

/* A feed by itself, whose blocks the test takes. */
static inline kh_feed *open_feed(const kh_feed_options *o, kh_monitor **m)
{
	kh_feed *f = NULL;
	kh_err err = { 0, "" };

	if (kh_monitor_new(m, &err) || kh_feed_open(&f, o, *m, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		abort();
	}
	return f;
}

static inline void close_feed(kh_feed *f, kh_monitor *m)
{
	kh_feed_close(f);
	kh_monitor_free(m);
}

static inline int got_open(struct got *g, const kh_feed_options *o, unsigned threads)
{
	*g = (struct got) { .o = *o };
	g->o.workers = threads;
	g->o.threads = threads;
	g->late = threads % 2 == 0;
	g->block = calloc(threads, sizeof *g->block);
	if ((g->rc = kh_monitor_new(&g->m, &g->err)) ||
	    (g->rc = kh_order_new(&g->order, g->m, 2 * kh_feed_blocks(&g->o), &g->err)))
		return g->rc;
	return g->rc = kh_feed_open(&g->f, &g->o, g->m, &g->err);
}

static inline void got_close(struct got *g)
{
	kh_feed_close(g->f);
	kh_order_free(g->order);
	kh_monitor_free(g->m);
	free(g->block);
}

static inline void got_run(struct got *g, const kh_feed_options *o, unsigned threads)
{
	if (!got_open(g, o, threads))
		g->rc = kh_threads_run(g->m, threads, got_work, g, &g->err);
	got_close(g);
}

static inline void got_free(struct got *g)
{
	for (size_t i = 0; i < g->n; i++) {
		free(g->rec[i].name);
		free(g->rec[i].seq);
		free(g->rec[i].text);
	}
	free(g->rec);
}

#endif
