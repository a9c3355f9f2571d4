/*
 * bench.c - the papers' experiments on the tables, and the machine's limits
 *
 * Tables: 1 timing, 2 one case, 3 the experiments, 4 the front.
 * A case opens a table, inserts, looks everything up, and checks: as many values came back
 * as were stored, and their sum is right.  Times are of the stream alone, by events;
 * opening a table (its memory) is not in them; figures are medians, spreads (max - min) /
 * median.
 */
#include "bench.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "bench_kernels.h"
#include "sort.h"
#include "table.h"

#define RUNS_MAX 32
#define TRY(x) do { int rc_ = (x); if (rc_) return rc_; } while (0)
#define CU(x) TRY(check((x), #x, b->err))

enum look { LOOK_FIND, LOOK_LISTS, LOOK_COUNT, LOOK_JOIN, LOOK_NONE };

struct bench {
	const kh_bench_options *o;
	FILE *out;
	kh_err *err;
	cudaStream_t stream;
	cudaEvent_t from, to;
	void *keys, *values, *queries, *result;
	uint64_t *offsets;
	uint8_t *op;
	unsigned long long *sum;
	size_t room;                    /* pairs that the arrays hold */
	kh_table *anchor;               /* keeps the scratch pool between tables */
};

/* One case: what is put in and asked, and how it is called. */
struct one {
	const char *table, *name;
	kh_table_config cfg;
	size_t n, queries;
	uint64_t distinct, values;      /* that the queries must bring back in all */
	double r;                       /* multiplicity, for the line */
	enum kh_bench_order order;
	const kh_bench_skew *skew;
	enum look look;
	const char *note;
};

struct times { int n; double ms[RUNS_MAX]; };

/* --- 1 timing -------------------------------------------------------------------------- */

static int check(cudaError_t e, const char *what, kh_err *err)
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

static double median(struct times *t)
{
	qsort(t->ms, (size_t)t->n, sizeof *t->ms, by_double);
	return t->n ? t->ms[t->n / 2] : 0;
}

static double spread(const struct times *t)
{
	return t->n ? (t->ms[t->n - 1] - t->ms[0]) / t->ms[t->n / 2] : 0;
}

static int start(struct bench *b)
{
	CU(cudaEventRecord(b->from, b->stream));
	return KH_OK;
}

static int stop(struct bench *b, struct times *t)
{
	float ms;

	CU(cudaEventRecord(b->to, b->stream));
	CU(cudaEventSynchronize(b->to));
	CU(cudaEventElapsedTime(&ms, b->from, b->to));
	t->ms[t->n++] = ms;
	return KH_OK;
}

/* --- 2 one case ------------------------------------------------------------------------- */

static bool wanted(const struct bench *b, const char *table)
{
	return !b->o->table || strcmp(b->o->table, table) == 0;
}

static int repeats(const struct bench *b)
{
	return b->o->repeat > 0 && b->o->repeat < RUNS_MAX ? b->o->repeat : 5;
}

static double rate(double n, double ms)
{
	return ms > 0 ? n / ms / 1e6 : 0;
}

static void line(struct bench *b, const struct one *c, struct times *in, struct times *out,
		 const kh_table_stats *st, const char *verdict)
{
	double mi = median(in), mo = median(out);
	double asked = c->look == LOOK_LISTS ? (double)c->values : (double)c->queries;

	fprintf(b->out, "%s,%s,%zu,%.3g,%g,%u,%.2f,%.2f,%llu,%s,%u,%u,%.3f,%.3f,%s\n", c->table, c->name,
		c->n, c->cfg.load > 0 ? c->cfg.load : c->cfg.length > 0 ? c->cfg.length : c->cfg.range,
		c->r, c->cfg.group, rate((double)c->n, mi), rate(asked, mo),
		(unsigned long long)(st ? st->bytes : 0), verdict, c->cfg.key_bits, c->cfg.value_bits,
		spread(in), spread(out), c->note ? c->note : "");
	fflush(b->out);
}

static int make_data(struct bench *b, const struct one *c)
{
	kh_bench_gen g = { c->n, c->distinct, c->cfg.key_bits, c->cfg.value_bits, c->order, 0 };

	if (c->skew)
		CU(kh_bench_skewed(&g, c->skew, b->keys, b->stream));
	else
		CU(kh_bench_keys(&g, b->keys, b->stream));
	CU(kh_bench_values(&g, b->values, b->stream));
	g.n = c->queries;
	g.distinct = 0;
	CU(kh_bench_keys(&g, b->queries, b->stream));
	return KH_OK;
}

/* Tables that may bring back a little more than was stored. */
static bool inexact(const struct one *c)
{
	return kh_table_system_find(c->table)->can & KH_TABLE_INEXACT;
}

static int ask(struct bench *b, kh_table *t, const struct one *c)
{
	kh_keys q = { b->queries, c->queries };
	kh_found f = { b->result, NULL, 0 };
	kh_lists l = { b->offsets, b->result, inexact(c) ? b->room : c->values };

	switch (c->look) {
	case LOOK_FIND:
		return kh_table_find(t, &q, &f, b->stream, b->err);
	case LOOK_LISTS:
		return kh_table_retrieve(t, &q, &l, b->stream, b->err);
	case LOOK_COUNT:
		return kh_table_count(t, &q, b->result, b->stream, b->err);
	case LOOK_JOIN:
		return kh_table_join(t, &q, b->result, b->stream, b->err);
	default:
		return KH_OK;
	}
}

static int sum_of(struct bench *b, const void *p, size_t n, unsigned bits, uint64_t *sum)
{
	unsigned long long x;

	CU(cudaMemsetAsync(b->sum, 0, sizeof x, b->stream));
	CU(kh_bench_sum(p, n, bits, b->sum, b->stream));
	CU(cudaMemcpyAsync(&x, b->sum, sizeof x, cudaMemcpyDeviceToHost, b->stream));
	CU(cudaStreamSynchronize(b->stream));
	*sum = x;
	return KH_OK;
}

/* Did all that was stored come back? */
static int verify(struct bench *b, const struct one *c, bool *good)
{
	uint64_t got, want = c->n, total = c->values;

	if (c->look == LOOK_NONE) {
		*good = true;
		return KH_OK;
	}
	if (c->look == LOOK_COUNT || c->look == LOOK_JOIN) {
		TRY(sum_of(b, b->result, c->queries, 32, &got));
		*good = got == c->values;
		return KH_OK;
	}
	if (c->look == LOOK_LISTS)
		CU(cudaMemcpy(&total, b->offsets + c->queries, sizeof total, cudaMemcpyDeviceToHost));
	if (inexact(c)) {               /* it drops long lists, and merges a few */
		*good = fabs((double)total / (double)c->values - 1) < 0.001;
		return KH_OK;
	}
	TRY(sum_of(b, b->result, c->values, c->cfg.value_bits, &got));
	TRY(sum_of(b, b->values, c->n, c->cfg.value_bits, &want));
	*good = got == want && total == c->values;
	return KH_OK;
}

static int fill_table(struct bench *b, const struct one *c, kh_table **t, struct times *in)
{
	kh_kv p = { b->keys, b->values, c->n };

	TRY(kh_table_open(c->table, &c->cfg, b->stream, t, b->err));
	CU(cudaStreamSynchronize(b->stream));
	TRY(start(b));
	TRY(kh_table_insert(*t, &p, b->stream, b->err));
	return stop(b, in);
}

/* Inserts and asks; the line says `full` where the table refused, which is no failure. */
static int run(struct bench *b, struct one *c)
{
	struct times in = { 0 }, out = { 0 };
	kh_table_stats st = { 0 };
	kh_table *t = NULL;
	bool good = false;
	int rc;

	if (!wanted(b, c->table) || c->n > b->room)
		return KH_OK;
	c->cfg.capacity = c->cfg.capacity ? c->cfg.capacity : c->n;
	TRY(make_data(b, c));
	for (int i = 0; i <= repeats(b); i++) {
		kh_table_close(t);
		t = NULL;
		rc = fill_table(b, c, &t, &in);
		if (!rc)
			rc = kh_table_status(t, b->stream, &st, b->err);
		if (i == 0)
			in.n = 0;               /* the first warms up */
		if (rc)
			break;
	}
	for (int i = 0; !rc && c->look != LOOK_NONE && i <= repeats(b); i++) {
		rc = start(b);
		if (!rc)
			rc = ask(b, t, c);
		if (!rc)
			rc = stop(b, &out);
		if (i == 0)
			out.n = 0;
	}
	if (!rc)
		rc = kh_table_status(t, b->stream, NULL, b->err);
	if (!rc)
		rc = verify(b, c, &good);
	kh_table_close(t);
	if (rc == KH_EDEVICE)
		return rc;
	line(b, c, &in, &out, &st, rc == KH_ENOMEM ? "full" : rc ? "refused" : good ? "ok" : "WRONG");
	return KH_OK;
}

static int log2n(const struct bench *b, int otherwise)
{
	return b->o->log2n > 0 ? b->o->log2n : otherwise;
}

/* --- 3 the experiments -------------------------------------------------------------------- */

static int limit(struct bench *b, enum kh_bench_limit what, const char *name)
{
	size_t bytes = b->room * 8, n = b->room / 2;
	struct times t = { 0 };

	for (int i = 0; i <= repeats(b); i++) {
		TRY(start(b));
		CU(kh_bench_limit(what, b->keys, bytes, n, b->stream));
		TRY(stop(b, &t));
		t.n = i == 0 ? 0 : t.n;
	}
	fprintf(b->out, "limit,%s,%zu,0,1,0,0,%.2f,%zu,ok,0,0,0,%.3f,G/s\n", name, n,
		rate((double)n, median(&t)), bytes, spread(&t));
	return KH_OK;
}

static int limit_sort(struct bench *b, unsigned value_bits, int from, const char *name)
{
	kh_sort s = { b->keys, b->values, b->queries, b->result, b->room, 32, value_bits, from, 32 };
	kh_bench_gen g = { b->room, 0, 32, value_bits, KH_BENCH_RANDOM, 0 };
	struct times t = { 0 };

	CU(kh_bench_keys(&g, b->keys, b->stream));
	for (int i = 0; i <= repeats(b); i++) {
		TRY(start(b));
		TRY(kh_sort_pairs(b->anchor, &s, b->stream, b->err));
		TRY(stop(b, &t));
		t.n = i == 0 ? 0 : t.n;
	}
	fprintf(b->out, "limit,%s,%zu,0,1,0,%.2f,0,0,ok,32,%u,%.3f,0,G/s\n", name, s.n,
		rate((double)s.n, median(&t)), value_bits, spread(&t));
	return KH_OK;
}

static int limits(struct bench *b)
{
	struct times t = { 0 };

	for (int i = 0; i <= repeats(b); i++) {
		TRY(start(b));
		CU(cudaMemcpyAsync(b->queries, b->keys, b->room * 8, cudaMemcpyDeviceToDevice, b->stream));
		TRY(stop(b, &t));
		t.n = i == 0 ? 0 : t.n;
	}
	fprintf(b->out, "limit,copy,%zu,0,1,0,0,%.1f,%zu,ok,0,0,0,%.3f,GB/s read and written\n", b->room,
		rate((double)b->room * 16, median(&t)), b->room * 8, spread(&t));
	TRY(limit(b, KH_LIMIT_READ32, "read 32 B"));
	TRY(limit(b, KH_LIMIT_READ64, "read 64 B"));
	TRY(limit(b, KH_LIMIT_READ128, "read 128 B"));
	TRY(limit(b, KH_LIMIT_CAS, "CAS 8 B"));
	TRY(limit(b, KH_LIMIT_SECTOR, "store 32 B"));
	TRY(limit_sort(b, 32, 0, "sort 32/32"));
	TRY(limit_sort(b, 64, 0, "sort 32/64"));
	TRY(limit_sort(b, 32, 24, "scatter 256 32/32"));
	return limit_sort(b, 64, 24, "scatter 256 32/64");
}

/* Unique keys: all of them stored, all of them found. */
static struct one unique_case(struct bench *b, const char *table, const char *name, int lg)
{
	size_t n = (size_t)1 << log2n(b, lg);

	return (struct one) { .table = table, .name = name, .n = n, .queries = n, .values = n, .r = 1,
			      .cfg = { .key_bits = 32, .value_bits = 32 }, .look = LOOK_FIND };
}

/* WarpCore Fig. 5: by density; and by group and layout at 0.8. */
static int unique(struct bench *b)
{
	static const double load[] = { 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97 };
	static const char *const name[] = { "single", "bucket64", "cuckoo" };
	static const char *const layout[] = { "", "packed", "aos", "soa" };

	for (int k = 0; k < 3; k++)
		for (size_t i = 0; i < sizeof load / sizeof *load; i++) {
			struct one c = unique_case(b, name[k], "unique", 28);
			c.cfg.load = load[i];
			TRY(run(b, &c));
		}
	for (unsigned g = 1; g <= 32; g *= 2)
		for (int l = KH_LAYOUT_PACKED; l <= KH_LAYOUT_SOA; l++) {
			struct one c = unique_case(b, "single", "groups", 28);
			c.cfg.load = 0.8;
			c.cfg.group = g;
			c.cfg.layout = (enum kh_layout)l;
			c.note = layout[l];
			TRY(run(b, &c));
		}
	for (unsigned g = 1; g <= 8; g *= 2)
		for (unsigned w = g; w <= 32; w *= 2) {
			static char note[16];
			struct one c = unique_case(b, "single", "windows", 28);
			c.cfg.load = 0.8;
			c.cfg.group = g;
			c.cfg.window = w;
			snprintf(note, sizeof note, "window %u", w);
			c.note = note;
			TRY(run(b, &c));
		}
	struct one c = unique_case(b, "bucket64", "not partitioned", 28);
	c.cfg.load = 0.8;
	c.cfg.direct = 1;
	return run(b, &c);
}

/* n pairs over n / r keys, drawn at random. */
static struct one multi_case(struct bench *b, const char *table, double r)
{
	size_t n = (size_t)1 << log2n(b, 28);

	return (struct one) { .table = table, .name = "multi", .n = n, .values = n, .r = r,
			      .queries = (size_t)((double)n / r), .distinct = (uint64_t)((double)n / r),
			      .cfg = { .key_bits = 32, .value_bits = 32,
				       .distinct = (uint64_t)((double)n / r) },
			      .look = LOOK_LISTS };
}

/* WarpCore Fig. 7, uniform. */
static int multi(struct bench *b)
{
	static const char *const name[] = { "csr", "sorted", "hashgraph1", "hashgraph2", "bucketlist", "multi" };

	for (double r = 1; r <= 256; r *= 4)
		for (int k = 0; k < 6; k++) {
			struct one c = multi_case(b, name[k], r);

			TRY(run(b, &c));
			if (strcmp(name[k], "bucketlist") == 0) {
				c.cfg.growth = 1;
				c.cfg.first = (unsigned)r;
				c.note = "lambda 1, s0 r";
				TRY(run(b, &c));
			}
			for (unsigned g = 16; strcmp(name[k], "multi") == 0 && g <= 32; g *= 2) {
				c.cfg.group = g;
				TRY(run(b, &c));
			}
		}
	return KH_OK;
}

/* A third of the keys with one value, the others exponential; mean 11, some hundreds. */
static uint64_t make_skew(kh_bench_skew *k, unsigned lg)
{
	uint64_t n = UINT64_C(1) << lg, pairs = 0, keys = 0, distinct = n / 11;
	unsigned c = 0;

	memset(k, 0, sizeof *k);
	k->log2n = lg;
	for (int i = -1; i < 65 && pairs < n; i++, c++) {
		double part = i < 0 ? 1.0 / 3 : i == 64 ? 0.0002 : 2.0 / 3 / 64;
		double m = i < 0 ? 1 : i == 64 ? 400 : ceil(-15.2 * log(1 - (i + 0.5) / 64));
		uint64_t share = (uint64_t)(part * (double)distinct);

		k->times[c] = (uint32_t)m;
		share = share ? share : 1;
		if (pairs + share * k->times[c] > n)
			share = (n - pairs) / k->times[c];
		k->pair[c] = pairs += share * k->times[c];
		k->key[c] = keys += share;
	}
	if (pairs < n) {                /* what is left: more keys with one value */
		k->times[c] = 1;
		k->key[c] = keys += n - pairs;
		k->pair[c++] = n;
	}
	k->classes = c;
	return keys;
}

static int skewed(struct bench *b)
{
	static const char *const name[] = { "csr", "sorted", "hashgraph2", "bucketlist", "multi" };
	kh_bench_skew skew;
	uint64_t keys = make_skew(&skew, (unsigned)log2n(b, 28));

	for (int k = 0; k < 5; k++) {
		struct one c = multi_case(b, name[k], 11);
		c.name = "skewed";
		c.skew = &skew;
		c.queries = keys;
		c.cfg.distinct = keys;
		c.cfg.value_bits = 64;
		TRY(run(b, &c));
	}
	return KH_OK;
}

/* HashGraph: build and both probes over N, duplicates, hash range, order of keys. */
static int hashgraph(struct bench *b)
{
	static const char *const name[] = { "hashgraph1", "hashgraph2" };
	int top = log2n(b, 28);

	for (int k = 0; k < 2; k++) {
		for (int join = 0; join < 2; join++)
			for (int lg = top - 8; lg <= top; lg += 4) {
				struct one c = unique_case(b, name[k], join ? "N, probe-new" : "N", lg);
				c.n = c.queries = c.values = (size_t)1 << lg;
				c.look = join ? LOOK_JOIN : LOOK_COUNT;
				TRY(run(b, &c));
				c.order = KH_BENCH_SEQUENTIAL;
				c.note = "sequential keys";
				TRY(run(b, &c));
			}
		for (double r = 1; r <= 1024; r *= 4) {
			struct one c = multi_case(b, name[k], r);
			c.name = "duplicates";
			c.look = LOOK_COUNT;
			TRY(run(b, &c));
			c.name = "duplicates, probe-new";
			c.look = LOOK_JOIN;
			TRY(run(b, &c));
		}
		for (double range = 0.25; range <= 4; range *= 2) {
			struct one c = unique_case(b, name[k], "range", 28);
			c.look = LOOK_COUNT;
			c.cfg.range = range;
			TRY(run(b, &c));
			c.name = "range, probe-new";
			c.look = LOOK_JOIN;
			TRY(run(b, &c));
		}
	}
	return KH_OK;
}

/* Build and search with these parameters. */
static int dac_search(struct bench *b, const char *name, int lg, const kh_table_config *cfg, const char *note)
{
	struct one c = unique_case(b, "dachash", name, lg);

	c.n = c.queries = c.values = (size_t)1 << lg;
	c.cfg = *cfg;
	c.note = note;
	return run(b, &c);
}

/* Batches of n operations on a table of n keys, `writes` per cent of them writing. */
static int dac_mixed(struct bench *b, unsigned writes, const kh_table_config *cfg, const char *name)
{
	struct one c = unique_case(b, "dachash", name, 22);
	struct times in = { 0 }, out = { 0 };
	kh_ops o = { b->op, b->queries, b->result, 0, 0 };
	kh_table_stats st;
	kh_table *t = NULL;
	int rc = KH_OK;

	if (!wanted(b, "dachash"))
		return KH_OK;
	c.n = c.queries = c.values = o.n = (size_t)1 << log2n(b, 22);
	c.cfg = *cfg;
	c.cfg.capacity = c.n;
	c.note = "retrieve: operations";
	TRY(make_data(b, &c));
	CU(kh_bench_ops(o.n, writes, b->op, b->stream));
	for (int i = 0; !rc && i <= repeats(b); i++) {
		if ((rc = fill_table(b, &c, &t, &in)) || (rc = start(b)) ||
		    (rc = kh_table_mixed(t, &o, b->stream, b->err)) || (rc = stop(b, &out)) ||
		    (rc = kh_table_status(t, b->stream, &st, b->err)))
			break;
		if (i == 0)
			in.n = out.n = 0;
		kh_table_close(t);
		t = NULL;
	}
	kh_table_close(t);
	if (!rc)
		line(b, &c, &in, &out, &st, st.pairs < c.n && st.failed == 0 ? "ok" : "WRONG");
	return rc;
}

/* DACHash Figs. 7.1 to 7.7. */
static int dachash(struct bench *b)
{
	const kh_table_config plain = { .key_bits = 32, .value_bits = 32 };
	kh_table_config c = plain;

	for (c.node = 1; c.node <= 32; c.node *= 2)
		for (c.length = 0.5; c.length <= 1; c.length *= 2) {
			c.reorder = 1;
			TRY(dac_search(b, "node size", 22, &c, c.node == 1 ? "1" : c.node == 2 ? "2" :
				       c.node == 4 ? "4" : c.node == 8 ? "8" : c.node == 16 ? "16" : "32"));
		}
	c = plain;
	for (int lg = 19; lg <= log2n(b, 28); lg++) {
		for (c.reorder = 0; c.reorder < 2; c.reorder++)
			TRY(dac_search(b, "search", lg, &c, c.reorder ? "reorder" : ""));
		c.reorder = 0;
		c.mapping = KH_MAP_QUAD;
		TRY(dac_search(b, "search", lg, &c, "quad"));
		c.mapping = KH_MAP_AUTO;
	}
	c = plain;
	for (c.length = 0.125; c.length <= 4; c.length *= 2)
		for (c.reorder = 0; c.reorder < 2; c.reorder++)
			for (int m = KH_MAP_ONE; m <= KH_MAP_MANY; m++) {
				c.mapping = (enum kh_mapping)m;
				TRY(dac_search(b, m == KH_MAP_ONE ? "one-to-one" : "many-to-one", 22, &c,
					       c.reorder ? "reorder" : ""));
				TRY(dac_mixed(b, 20, &c, m == KH_MAP_ONE ? "80/20 one-to-one" : "80/20 many-to-one"));
				TRY(dac_mixed(b, 40, &c, m == KH_MAP_ONE ? "60/40 one-to-one" : "60/40 many-to-one"));
			}
	return KH_OK;
}

static int cuckoo(struct bench *b)
{
	for (unsigned tables = 2; tables <= 4; tables++)
		for (double load = 0.5; load < 0.95; load += 0.1) {
			struct one c = unique_case(b, "cuckoo", tables == 2 ? "2 tables" : tables == 3 ? "3 tables" : "4 tables", 26);
			if ((tables == 2 && load > 0.55) || (tables == 3 && load > 0.85))
				continue;
			c.cfg.load = load;
			c.cfg.subtables = tables;
			TRY(run(b, &c));
		}
	return KH_OK;
}

/* WarpCore's set, counter and filter. */
static int sets(struct bench *b)
{
	static const char *const name[] = { "hashset", "counting", "bloom" };

	for (int k = 0; k < 3; k++) {
		struct one c = unique_case(b, name[k], "unique", 28);
		c.look = LOOK_COUNT;
		TRY(run(b, &c));
		if (k == 1) {
			c = multi_case(b, name[k], 16);
			c.look = LOOK_COUNT;
			TRY(run(b, &c));
		}
	}
	return KH_OK;
}

static int product(struct bench *b)
{
	for (double r = 1; r <= 16; r *= 4) {
		struct one c = multi_case(b, "index", r);
		c.cfg.key_bits = 64;
		TRY(run(b, &c));
	}
	return KH_OK;
}

/* What this library is held to. */
static int targets(struct bench *b)
{
	static const double load[] = { 0.8, 0.9 };
	static const char *const name[] = { "single", "bucket64" };
	const kh_table_config plain = { .key_bits = 32, .value_bits = 32 };
	const kh_table_config quad = { .key_bits = 32, .value_bits = 32, .mapping = KH_MAP_QUAD };

	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 2; k++) {
			struct one c = unique_case(b, name[k], "unique", 28);
			c.cfg.load = load[i];
			TRY(run(b, &c));
		}
	for (double r = 1; r <= 64; r *= 4) {
		struct one c = multi_case(b, "csr", r);
		TRY(run(b, &c));
		c = multi_case(b, "hashgraph2", r);
		TRY(run(b, &c));
	}
	TRY(skewed(b));
	for (double r = 1; r <= 1024; r *= 1024) {
		struct one c = multi_case(b, "hashgraph2", r);
		c.look = LOOK_COUNT;
		c.name = "duplicates";
		TRY(run(b, &c));
	}
	TRY(dac_search(b, "search", 22, &plain, ""));
	TRY(dac_search(b, "search", 26, &plain, ""));
	TRY(dac_search(b, "search", 22, &quad, "quad"));
	TRY(dac_search(b, "search", 26, &quad, "quad"));
	return dac_mixed(b, 20, &plain, "80/20");
}

static const struct {
	const char *name;
	int (*run)(struct bench *);
} experiment[] = {
	{ "limits", limits }, { "targets", targets }, { "unique", unique }, { "multi", multi },
	{ "skewed", skewed }, { "hashgraph", hashgraph }, { "dachash", dachash }, { "cuckoo", cuckoo },
	{ "sets", sets }, { "index", product },
};
#define EXPERIMENTS (sizeof experiment / sizeof *experiment)

const char *const kh_bench_experiments[] = { "limits", "targets", "unique", "multi", "skewed",
					     "hashgraph", "dachash", "cuckoo", "sets", "index", NULL };

/* --- 4 the front --------------------------------------------------------------------------- */

static void close_bench(struct bench *b)
{
	kh_table_close(b->anchor);
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

static int open_bench(struct bench *b)
{
	const kh_table_config c = { .capacity = 1, .key_bits = 32, .value_bits = 32 };
	int n;

	if (cudaGetDeviceCount(&n) != cudaSuccess || n == 0)
		return kh_fail(b->err, KH_ENODEV, "bench tables needs a CUDA device, and there is none");
	b->room = (size_t)1 << log2n(b, 28);
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
	return kh_table_open("sorted", &c, b->stream, &b->anchor, b->err);
}

int kh_bench_tables(const kh_bench_options *o, FILE *out, kh_err *err)
{
	struct bench b = { .o = o, .out = out, .err = err };
	bool any = false;
	int rc = KH_OK;

	if (o->log2n && (o->log2n < 10 || o->log2n > 30))
		return kh_fail(err, KH_EUSAGE, "log2n is %d: 10 to 30 are possible", o->log2n);
	if (o->table && !kh_table_system_find(o->table))
		return kh_fail(err, KH_EUSAGE, "no table is called '%s'", o->table);
	for (size_t i = 0; i < EXPERIMENTS; i++)
		any |= !o->experiment || strcmp(o->experiment, experiment[i].name) == 0;
	if (!any)
		return kh_fail(err, KH_EUSAGE, "no experiment is called '%s'", o->experiment);
	rc = open_bench(&b);
	if (!rc)
		fprintf(out, "table,case,n,load,multiplicity,group,insert_gops,retrieve_gops,bytes,check,"
			     "key_bits,value_bits,insert_spread,retrieve_spread,note\n");
	for (size_t i = 0; !rc && i < EXPERIMENTS; i++)
		if (!o->experiment || strcmp(o->experiment, experiment[i].name) == 0)
			rc = experiment[i].run(&b);
	close_bench(&b);
	return rc;
}
