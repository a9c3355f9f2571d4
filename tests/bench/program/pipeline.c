/* pipeline.c - kmerhash-bench pipeline: the table, runs of a stage, and the choice of the device */
#include <config.h>
#include "tests/bench/program/bench_in.h"

#include <stdlib.h>
#include <unistd.h>

#define LONG_ENOUGH 0.02                /* seconds of a run */
#define TOO_LONG 4.0                    /* of the runs of a stage */

const kh_bench_unit kh_unit_gb = { "GB/s", 1e-9 }, kh_unit_bases = { "Gbases/s", 1e-9 },
	kh_unit_pairs = { "Gpairs/s", 1e-9 }, kh_unit_keys = { "Gkeys/s", 1e-9 },
	kh_unit_reads = { "Mreads/s", 1e-6 }, kh_unit_lines = { "Mlines/s", 1e-6 };

/* --- the table -------------------------------------------------------------------- */
static void head(FILE *out)
{
	fprintf(out, "%-30s %9s %9s %9s %9s  %-8s %9s %6s\n", "stage", "least", "median", "most",
		"1 thread", "", "limit", "share");
}

static int by_rate(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

/* The median of n > 0 sorted rates. */
static double median_of(const double *rate, int n)
{
	return (rate[(n - 1) / 2] + rate[n / 2]) / 2;
}

void kh_bench_note(kh_bench *b, double amount, double seconds)
{
	if (b->n < KH_BENCH_RUNS)
		b->rate[b->n++] = amount / (seconds > 1e-9 ? seconds : 1e-9);
}

double kh_bench_print(kh_bench *b, const char *stage, const kh_bench_unit *unit,
		     kh_bench_limit limit)
{
	const double s = unit->scale;
	double median;

	qsort(b->rate, (size_t)b->n, sizeof *b->rate, by_rate);
	median = median_of(b->rate, b->n);
	fprintf(b->out, "%-30s %9.4g %9.4g %9.4g ", stage, b->rate[0] * s, median * s,
		b->rate[b->n - 1] * s);
	if (b->one > 0)
		fprintf(b->out, "%9.4g", b->one * s);
	else
		fprintf(b->out, "%9s", "-");
	fprintf(b->out, "  %-8s", unit->name);
	if (limit.rate > 0)
		fprintf(b->out, " %9.4g %6.3f  of %s", limit.rate * s, median / limit.rate,
			limit.of);
	fputc('\n', b->out);
	fflush(b->out);
	b->n = 0;
	b->one = 0;
	return median;
}

/* --- a stage ---------------------------------------------------------------------- */
/* Sets b->one to the median of runs by one thread, as many as there were by all threads. */
static int run_one(kh_bench *b, const kh_bench_stage *s, const kh_bench_pass *all, kh_err *err)
{
	kh_bench_pass p = { 1, all->loops / all->threads, 0 };
	double rate[KH_BENCH_RUNS], from = kh_seconds();
	int n = 0, rc = KH_OK;

	p.loops += p.loops == 0;
	while (!rc && n < b->o->repeat && (n == 0 || kh_seconds() - from < TOO_LONG)) {
		rc = s->fn(s->arg, &p, err);
		rate[n++] = s->amount * (double)p.loops / (p.seconds > 1e-9 ? p.seconds : 1e-9);
	}
	qsort(rate, (size_t)n, sizeof *rate, by_rate);
	b->one = median_of(rate, n);
	return rc;
}

int kh_bench_measure(kh_bench *b, const kh_bench_stage *s, double *median, kh_err *err)
{
	kh_bench_pass p = { b->o->threads, 1, 0 };
	double from = kh_seconds(), rate;
	/* fills caches, loads kernels, and shows how long a run takes */
	int rc = s->fn(s->arg, &p, err);

	if (!rc && !s->alone && p.seconds < LONG_ENOUGH)
		p.loops = (uint64_t)(LONG_ENOUGH / (p.seconds > 1e-6 ? p.seconds : 1e-6)) + 1;
	while (!rc && b->n < b->o->repeat && (b->n == 0 || kh_seconds() - from < TOO_LONG)) {
		rc = s->fn(s->arg, &p, err);
		kh_bench_note(b, s->amount * (double)p.loops, p.seconds);
	}
	if (!rc && !s->alone && b->choice->backend->on_host)
		rc = run_one(b, s, &p, err);
	if (rc)
		return rc;
	rate = kh_bench_print(b, s->name, s->unit, s->limit);
	if (median)
		*median = rate;
	return KH_OK;
}

int kh_bench_threads(kh_bench *b, kh_bench_pass *p, uint64_t items, kh_worker_fn *fn, void *arg,
		  kh_err *err)
{
	int rc = kh_monitor_new(&b->m, err);
	double t;

	b->next = 0;
	b->end = items * p->loops;
	t = kh_seconds();
	if (!rc)
		rc = kh_threads_run(b->m, p->threads, fn, arg, err);
	p->seconds = kh_seconds() - t;
	kh_monitor_free(b->m);
	b->m = NULL;
	return rc;
}

bool kh_bench_take(kh_bench *b, uint64_t *i)
{
	*i = atomic_fetch_add(&b->next, 1);
	return *i < b->end;
}

/* --- all -------------------------------------------------------------------------- */
/* Only this user can write to the folder, and nobody can have put a link in its place: mkdtemp
 * makes a new one. */
static int make_folder(kh_bench *b, kh_err *err)
{
	if (asprintf(&b->folder, "%s/.kmerhash-bench.XXXXXX", b->o->dir) < 0) {
		b->folder = NULL;
		return kh_fail_nomem(err);
	}
	if (mkdtemp(b->folder))
		return KH_OK;
	kh_fail_errno(err, b->folder);
	free(b->folder);
	b->folder = NULL;
	return KH_EIO;
}

int kh_bench_pipeline(const kh_bench_pipeline_options *o, FILE *out, kh_err *err)
{
	kh_choice choice;
	kh_bench_files refs = { .path = o->refs, .n = o->n_refs };
	kh_bench b = { .o = o, .out = out, .choice = &choice, .refs = &refs };
	int rc = kh_backend_choose(&choice, o->device, err);

	if (!rc)
		rc = kh_bench_files_open(&refs, err);
	if (!rc)
		rc = make_folder(&b, err);
	if (!rc) {
		head(out);
		rc = choice.backend->on_host ? kh_bench_cpu(&b, err) : kh_bench_cuda(&b, err);
	}
	if (b.folder)
		rmdir(b.folder);
	free(b.folder);
	kh_bench_files_close(&refs);
	return rc;
}
