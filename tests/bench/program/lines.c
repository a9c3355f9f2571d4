/* lines.c - calls to text, and text to one file in order: stages of every device */
#include <config.h>
#include "tests/bench/program/bench_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "run/format.h"
#include "base/mem.h"
#include "base/order.h"
#include "io/text.h"

struct lines {
	kh_bench *b;
	const kh_bench_reads *r;
	kh_style style;
	uint64_t bytes;         /* of the lines of all jobs */
	uint64_t times;         /* how often they are written, to make a file of some size */
	kh_buf all;             /* those lines, that many times */
	char *path;
	kh_text *text;
	kh_queue *idle;
	kh_order *order;
};

static int format_job(const struct lines *x, size_t i, kh_buf *buf, kh_err *err)
{
	const kh_task t = { .job = &x->r->job[i], .call = x->r->call[i] };

	for (size_t f = 0; f < t.job->n; f++)
		kh_format_line(buf, &x->style, &t, f);
	return kh_buf_check(buf, err);
}

/* --- format ----------------------------------------------------------------------- */
/* In a run, a worker formats text that it has just parsed and classified, so the text is in its
 * caches. Here each job is formatted several times, so that this holds for all but the first. */
enum { AGAIN = 8 };

static int format_worker(void *arg, unsigned worker, kh_err *err)
{
	const struct lines *x = arg;
	kh_buf buf = { .n = 0 };
	int rc = KH_OK;

	(void)worker;
	for (uint64_t i; !rc && kh_bench_take(x->b, &i);) {
		buf.n = 0;
		rc = format_job(x, i / AGAIN % x->r->n, &buf, err);
	}
	free(buf.p);
	return rc;
}

static int format_all(void *arg, kh_bench_pass *p, kh_err *err)
{
	const struct lines *x = arg;

	return kh_bench_threads(x->b, p, x->r->n, format_worker, arg, err);
}

/* --- write ------------------------------------------------------------------------ */
static int open_text(struct lines *x, kh_monitor *m, kh_err *err)
{
	const kh_text_options o = { .path = x->path, .threads = 1 };

	return kh_text_open(&x->text, &o, m, err);
}

/* Makes the file durable, and removes it. */
static int commit(struct lines *x, kh_bench_pass *p, double from, int rc, kh_err *err)
{
	if (!rc)
		rc = kh_text_commit(&x->text, 1, err);
	p->seconds = kh_seconds() - from;
	kh_text_close(x->text);
	x->text = NULL;
	if (!rc)
		unlink(x->path);
	return rc;
}

/* Makes a file that fn fills. */
static int with_text(struct lines *x, kh_bench_pass *p,
		     int (*fn)(struct lines *x, const kh_bench_pass *p, kh_monitor *m, kh_err *err),
		     kh_err *err)
{
	kh_monitor *m = NULL;
	double from = kh_seconds();
	int rc = kh_monitor_new(&m, err);

	if (!rc)
		rc = open_text(x, m, err);
	if (!rc)
		rc = fn(x, p, m, err);
	rc = commit(x, p, from, rc, err);
	kh_monitor_free(m);
	return rc;
}

static int put_all(struct lines *x, const kh_bench_pass *p, kh_monitor *m, kh_err *err)
{
	int rc = KH_OK;

	(void)p, (void)m;
	for (size_t at = 0; at < x->all.n && !rc; at += KH_BENCH_STEP)
		rc = kh_text_put(x->text, x->all.p + at,
				 x->all.n - at < KH_BENCH_STEP ? x->all.n - at : KH_BENCH_STEP,
				 NULL, err);
	return rc;
}

static int write_all(void *arg, kh_bench_pass *p, kh_err *err)
{
	return with_text(arg, p, put_all, err);
}

/* --- both ------------------------------------------------------------------------- */
/* Writes in order, one job at a time, as a run of classify does. */
static int deliver(void *arg, void *item, kh_err *err)
{
	struct lines *x = arg;
	kh_buf *buf = item;
	int rc = kh_text_put(x->text, buf->p, buf->n, NULL, err);

	kh_queue_push(x->idle, buf);
	return rc;
}

/* A worker takes a number only when it has a buffer, so the lowest number that is not written
 * always has one, and the workers cannot block one another. */
static int both_worker(void *arg, unsigned worker, kh_err *err)
{
	struct lines *x = arg;
	int rc = KH_OK;

	(void)worker;
	while (!rc) {
		kh_buf *buf = kh_queue_pop(x->idle);
		uint64_t i;

		if (!buf)
			return KH_ECANCEL;
		if (!kh_bench_take(x->b, &i)) {
			kh_queue_push(x->idle, buf);
			break;
		}
		buf->n = 0;
		rc = format_job(x, i % x->r->n, buf, err);
		if (!rc)
			rc = kh_order_put(x->order, i, buf, deliver, x);
	}
	return rc;
}

static int format_and_put(struct lines *x, const kh_bench_pass *p, kh_monitor *m, kh_err *err)
{
	const size_t n = 4 * p->threads + 2;
	kh_bench *b = x->b;
	kh_buf *buf = kh_array(n, sizeof *buf, err);
	int rc = buf ? kh_queue_new(&x->idle, m, n, err) : KH_ENOMEM;

	if (!rc)
		rc = kh_order_new(&x->order, m, n, err);
	for (size_t i = 0; i < n && !rc; i++)
		kh_queue_push(x->idle, &buf[i]);
	b->next = 0;
	b->end = x->r->n * x->times;
	b->m = m;
	if (!rc)
		rc = kh_threads_run(m, p->threads, both_worker, x, err);
	b->m = NULL;
	kh_order_free(x->order);
	kh_queue_free(x->idle);
	x->order = NULL;
	x->idle = NULL;
	for (size_t i = 0; buf && i < n; i++)
		free(buf[i].p);
	free(buf);
	return rc;
}

static int both(void *arg, kh_bench_pass *p, kh_err *err)
{
	return with_text(arg, p, format_and_put, err);
}

/* --- all -------------------------------------------------------------------------- */
static int stages(struct lines *x, kh_err *err)
{
	kh_bench *b = x->b;
	const double written = (double)x->bytes * (double)x->times;
	const kh_bench_limit memory = { b->memory.rate * x->r->reads / (double)x->bytes,
					b->memory.of };
	char name[64];
	kh_bench_stage s = { "classify: format", &kh_unit_lines, x->r->reads, memory, format_all,
			     x, false };
	int rc = kh_bench_measure(b, &s, NULL, err);

	if (rc)
		return rc;
	s =
		(kh_bench_stage) { "classify: write", &kh_unit_gb, written, b->write,
				   write_all,         x,           true };
	rc = kh_bench_measure(b, &s, NULL, err);
	snprintf(name, sizeof name, "classify: format, write %.0f MB", written * 1e-6);
	s = (kh_bench_stage) { name, &kh_unit_gb, written, b->write, both, x, true };
	return rc ? rc : kh_bench_measure(b, &s, NULL, err);
}

int kh_bench_lines_run(kh_bench_reads *r, const kh_db *db, kh_err *err)
{
	struct lines x = { .b = r->b, .r = r, .style = { .tax = db->tax, .k = db->h->sampling.k } };
	int rc = KH_OK;

	if (asprintf(&x.path, "%s/lines", r->b->folder) < 0)
		return kh_fail_nomem(err);
	for (size_t i = 0; i < r->n && !rc; i++)
		rc = format_job(&x, i, &x.all, err);
	x.bytes = x.all.n;
	x.times = KH_BENCH_FILE / (x.bytes + 1) + 1;
	for (uint64_t i = 1; i < x.times && kh_buf_reserve(&x.all, x.bytes); i++)
		kh_buf_add(&x.all, x.all.p, x.bytes);
	if (!rc)
		rc = kh_buf_check(&x.all, err);
	if (!rc)
		rc = stages(&x, err);
	free(x.all.p);
	free(x.path);
	return rc;
}
