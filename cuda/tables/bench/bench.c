/*
 * bench.c - timing and checking one case; the front of `kmerhash-bench tables`
 *
 * A case opens a table, inserts, looks everything up, and checks: as many values came
 * back as were stored, and their sum is right.  Times are of the stream alone, by events;
 * opening a table (its memory) is not in them; figures are medians, spreads (max - min) /
 * median.
 *
 * A profiler sees the first look-up of each line alone, and behind it the kernel that marks the
 * end of the line: so cuda/tables/bench/table_lines.py tells what ncu counted for which.
 */
#include "cuda/tables/bench/bench_in.h"
#include "cuda/tables/bench/originals.h"

#include <cuda_profiler_api.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- timing ----------------------------------------------------------------------- */

int kht_bench_check(cudaError_t e, const char *what, kh_err *err)
{
	if (e == cudaSuccess)
		return KH_OK;
	(void)cudaGetLastError();
	return kh_fail(err, e == cudaErrorMemoryAllocation ? KH_ENOMEM : KH_EDEVICE, "%s: %s", what,
		       cudaGetErrorString(e));
}

static int by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double kht_bench_median(kht_times *t)
{
	qsort(t->ms, (size_t)t->n, sizeof *t->ms, by_double);
	return t->n ? t->ms[t->n / 2] : 0;
}

double kht_bench_spread(kht_times *t)
{
	double m = kht_bench_median(t);

	return t->n ? (t->ms[t->n - 1] - t->ms[0]) / m : 0;
}

int kht_bench_start(kht_bench *b)
{
	CU(cudaEventRecord(b->from, b->stream));
	return KH_OK;
}

int kht_bench_stop(kht_bench *b, kht_times *t)
{
	float ms;

	CU(cudaEventRecord(b->to, b->stream));
	CU(cudaEventSynchronize(b->to));
	CU(cudaEventElapsedTime(&ms, b->from, b->to));
	t->ms[t->n++] = ms;
	return KH_OK;
}

int kht_bench_watch(kht_bench *b, bool on)
{
	CU(cudaStreamSynchronize(b->stream));
	CU(on ? cudaProfilerStart() : cudaProfilerStop());
	return KH_OK;
}

/* --- one case --------------------------------------------------------------------- */

static bool is_made(const char *name)
{
	return kht_bench_system(name) || strcmp(name, "hashgraph") == 0 ||
	       kht_bench_is_filter(name);
}

/* Whether `name` is one of the names in `list`, which commas divide. */
static bool is_listed(const char *list, const char *name)
{
	const size_t n = strlen(name);

	for (const char *p = list; p; p = strchr(p, ','), p = p ? p + 1 : NULL)
		if (strncmp(p, name, n) == 0 && (p[n] == ',' || p[n] == '\0'))
			return true;
	return false;
}

bool kht_bench_wanted(const kht_bench *b, const char *table)
{
	/* An original may have been left out. */
	return is_made(table) && (!b->o->table || is_listed(b->o->table, table));
}

/* All names in the list must be there. */
static int check_tables(const char *list, kh_err *err)
{
	for (const char *p = list; p; p = strchr(p, ','), p = p ? p + 1 : NULL) {
		char name[32];

		snprintf(name, sizeof name, "%.*s", (int)strcspn(p, ","), p);
		if (!is_made(name))
			return kh_fail(err, KH_EUSAGE, "no table is called '%s'", name);
	}
	return KH_OK;
}

int kht_bench_repeats(const kht_bench *b)
{
	return b->o->repeat > 0 && b->o->repeat < RUNS_MAX ? b->o->repeat : 5;
}

double kht_bench_rate(double n, double ms) { return ms > 0 ? n / ms / 1e6 : 0; }

void kht_bench_line(kht_bench *b, const kht_case *c, kht_times *in, kht_times *out,
		    const kht_table_stats *st, const char *verdict)
{
	double mi = kht_bench_median(in), mo = kht_bench_median(out);
	double asked = c->look == LOOK_LISTS ? (double)c->values : (double)c->queries;

	char restarts[32] = "";

	if (st && st->restarts)
		snprintf(restarts, sizeof restarts, " restarts %llu",
			 (unsigned long long)st->restarts);
	if (!kht_bench_watch(b, true) &&
	    !kht_bench_check(kht_bench_mark(b->stream), "mark", b->err))
		(void)kht_bench_watch(b, false);
	fprintf(b->out, "%s,%s,%zu,%.3g,%g,%u,%.2f,%.2f,%llu,%s,%u,%u,%.3f,%.3f,%s%s,%.2f\n",
		c->table, c->name, c->n,
		c->cfg.load > 0     ? c->cfg.load
		: c->cfg.length > 0 ? c->cfg.length
				    : c->cfg.range,
		c->r, c->cfg.group, kht_bench_rate((double)c->n, mi), kht_bench_rate(asked, mo),
		(unsigned long long)(st ? st->bytes : 0), verdict, c->cfg.key_bits,
		c->cfg.value_bits, kht_bench_spread(in), kht_bench_spread(out),
		c->note ? c->note : "", restarts,
		st ? (double)st->bytes / (double)c->n : 0);
	fflush(b->out);
}

int kht_bench_data(kht_bench *b, const kht_case *c)
{
	kht_bench_gen g = { .n = c->n,
			    .distinct = c->distinct,
			    .key_bits = c->cfg.key_bits,
			    .value_bits = c->cfg.value_bits,
			    .order = c->order };

	if (c->skew)
		CU(kht_bench_skewed(&g, c->skew, b->keys, b->stream));
	else
		CU(kht_bench_keys(&g, b->keys, b->stream));
	CU(kht_bench_values(&g, b->values, b->stream));
	g.n = c->queries;
	g.distinct = 0;
	g.first = c->absent;
	CU(kht_bench_keys(&g, b->queries, b->stream));
	return KH_OK;
}

/* Whether the table may bring back something else than what was stored. */
static bool inexact(const kht_case *c)
{
	return kht_bench_system(c->table)->can & KHT_TABLE_INEXACT;
}

static int ask(kht_bench *b, kht_table *t, const kht_case *c)
{
	kht_keys q = { b->queries, c->queries };
	kht_found f = { b->result, NULL, 0 };
	kht_lists l = { b->offsets, b->result,
			inexact(c) ? b->room * 64 / c->cfg.value_bits : c->values };

	switch (c->look) {
	case LOOK_FIND:
		return kht_table_find(t, &q, &f, b->stream, b->err);
	case LOOK_LISTS:
		return kht_table_retrieve(t, &q, &l, b->stream, b->err);
	case LOOK_COUNT:
		return kht_table_count(t, &q, b->result, b->stream, b->err);
	case LOOK_JOIN:
		return kht_table_join(t, &q, b->result, b->stream, b->err);
	default:
		return KH_OK;
	}
}

int kht_bench_total(kht_bench *b, const void *p, size_t n, unsigned bits, uint64_t *sum)
{
	unsigned long long x;

	CU(cudaMemsetAsync(b->sum, 0, sizeof x, b->stream));
	CU(kht_bench_sum(p, n, bits, b->sum, b->stream));
	CU(cudaMemcpyAsync(&x, b->sum, sizeof x, cudaMemcpyDeviceToHost, b->stream));
	CU(cudaStreamSynchronize(b->stream));
	*sum = x;
	return KH_OK;
}

/* Did all that was stored come back? */
static int verify(kht_bench *b, const kht_case *c, bool *good)
{
	uint64_t got, want = c->n, total = c->values;

	if (c->look == LOOK_NONE) {
		*good = true;
		return KH_OK;
	}
	if (c->look == LOOK_COUNT || c->look == LOOK_JOIN) {
		TRY(kht_bench_total(b, b->result, c->queries, 32, &got));
		*good = got == c->values;
		return KH_OK;
	}
	if (c->look == LOOK_LISTS)
		CU(cudaMemcpy(&total, b->offsets + c->queries, sizeof total,
			      cudaMemcpyDeviceToHost));
	if (inexact(c)) { /* it drops long lists, and merges the lists of a few keys */
		*good = fabs((double)total / (double)c->values - 1) < 0.001;
		return KH_OK;
	}
	TRY(kht_bench_total(b, b->result, c->look == LOOK_FIND ? c->queries : c->values,
			    c->cfg.value_bits, &got));
	TRY(kht_bench_total(b, (char *)b->values + c->absent * c->cfg.value_bits / 8,
			    c->n - c->absent, c->cfg.value_bits, &want));
	*good = got == want && total == c->values;
	return KH_OK;
}

int kht_bench_fill(kht_bench *b, const kht_case *c, kht_table **t, kht_times *in)
{
	const size_t batch = c->batches ? (c->n + c->batches - 1) / c->batches : c->n;

	TRY(kht_table_open_system(kht_bench_system(c->table), &c->cfg, b->stream, t, b->err));
	CU(cudaStreamSynchronize(b->stream));
	TRY(kht_bench_start(b));
	for (size_t i = 0; i < c->n; i += batch) {
		kht_kv p = { (char *)b->keys + i * (c->cfg.key_bits / 8),
			     (char *)b->values + i * (c->cfg.value_bits / 8),
			     i + batch < c->n ? batch : c->n - i };
		TRY(kht_table_insert(*t, &p, b->stream, b->err));
	}
	return kht_bench_stop(b, in);
}

int kht_bench_run(kht_bench *b, kht_case *c)
{
	kht_times in = { 0 }, out = { 0 };
	kht_table_stats st = { 0 };
	kht_table *t = NULL;
	bool good = false;
	int rc;

	if (!kht_bench_wanted(b, c->table) || c->n > b->room)
		return KH_OK;
	c->cfg.capacity = c->cfg.capacity ? c->cfg.capacity : c->n;
	TRY(kht_bench_data(b, c));
	for (int i = 0; i <= kht_bench_repeats(b); i++) {
		kht_table_close(t);
		t = NULL;
		rc = kht_bench_fill(b, c, &t, &in);
		if (!rc)
			rc = kht_table_status(t, b->stream, &st, b->err);
		else if (t)
			(void)kht_table_status(t, b->stream, &st, NULL);
		if (i == 0)
			in.n = 0; /* the first warms up */
		if (rc)
			break;
	}
	for (int i = 0; !rc && c->look != LOOK_NONE && i <= kht_bench_repeats(b); i++) {
		if (i == 0)
			rc = kht_bench_watch(b, true);
		if (!rc)
			rc = kht_bench_start(b);
		if (!rc)
			rc = ask(b, t, c);
		if (!rc)
			rc = kht_bench_stop(b, &out);
		if (i == 0) {
			out.n = 0;
			rc = rc ? rc : kht_bench_watch(b, false);
		}
	}
	if (!rc)
		rc = kht_table_status(t, b->stream, NULL, b->err);
	if (!rc)
		rc = verify(b, c, &good);
	kht_table_close(t);
	if (rc == KH_EDEVICE)
		return rc;
	kht_bench_line(b, c, &in, &out, &st,
		       rc == KH_ENOMEM ? "full"
		       : rc            ? "refused"
		       : good          ? "ok"
				       : "WRONG");
	return KH_OK;
}

int kht_bench_log2n(const kht_bench *b, int otherwise)
{
	return b->o->log2n > 0 ? b->o->log2n : otherwise;
}

/* --- the front -------------------------------------------------------------------- */

static void close_bench(kht_bench *b)
{
	kht_table_close(b->anchor);
	cudaFree(b->keys);
	cudaFree(b->values);
	cudaFree(b->queries);
	cudaFree(b->result);
	cudaFree(b->offsets);
	cudaFree(b->op);
	cudaFree(b->sum);
	if (b->from)
		cudaEventDestroy(b->from);
	if (b->to)
		cudaEventDestroy(b->to);
	if (b->stream)
		cudaStreamDestroy(b->stream);
}

static int open_bench(kht_bench *b)
{
	const kht_table_config c = { .capacity = 1, .key_bits = 32, .value_bits = 32 };
	int n;

	if (cudaGetDeviceCount(&n) != cudaSuccess || n == 0)
		return kh_fail(b->err, KH_ENODEV,
			       "tables need a CUDA device, and there is none");
	b->room = (size_t)1 << kht_bench_log2n(b, 28);
	CU(cudaStreamCreate(&b->stream));
	CU(cudaEventCreate(&b->from));
	CU(cudaEventCreate(&b->to));
	CU(cudaMalloc(&b->keys, b->room * 8));
	CU(cudaMalloc(&b->values, b->room * 8));
	CU(cudaMalloc(&b->queries, b->room * 8));
	CU(cudaMalloc(&b->result, b->room * 8));
	CU(cudaMalloc((void **)&b->offsets, (b->room + 1) * 8));
	CU(cudaMalloc((void **)&b->op, b->room));
	CU(cudaMalloc((void **)&b->sum, 8));
	CU(cudaMemset(b->keys, 0, b->room * 8));
	CU(cudaMemset(b->values, 0, b->room * 8));
	return kht_table_open("sorted", &c, b->stream, &b->anchor, b->err);
}

int kh_bench_tables(const kh_bench_tables_options *o, FILE *out, kh_err *err)
{
	kht_bench b = { .o = o, .out = out, .err = err };
	bool any = false;
	int rc = KH_OK;

	if (o->log2n && (o->log2n < 10 || o->log2n > 30))
		return kh_fail(err, KH_EUSAGE, "log2n is %d: 10 to 30 are possible", o->log2n);
	if ((rc = check_tables(o->table, err)))
		return rc;
	for (const kht_bench_experiment *e = kht_bench_list; e->name; e++)
		any |= !o->experiment || strcmp(o->experiment, e->name) == 0;
	if (!any)
		return kh_fail(err, KH_EUSAGE, "no experiment is called '%s'", o->experiment);
	rc = open_bench(&b);
	if (!rc)
		fprintf(out, "table,case,n,load,multiplicity,group,insert_gops,retrieve_"
			     "gops,bytes,check,"
			     "key_bits,value_bits,insert_spread,retrieve_spread,note,"
			     "bytes_a_pair\n");
	for (const kht_bench_experiment *e = kht_bench_list; !rc && e->name; e++)
		if (!o->experiment || strcmp(o->experiment, e->name) == 0)
			rc = e->run(&b);
	close_bench(&b);
	return rc;
}
