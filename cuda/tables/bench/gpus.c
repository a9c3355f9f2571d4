/*
 * gpus.c - tables over several GPUs: multi-GPU HashGraph's Figs. 3 to 5, and
 * WarpCore's two modes
 *
 * Weak scaling: every GPU has as many pairs, over 1, 2, 4 .. GPUs. Each key is
 * stored r times, distributed over all GPUs, and each GPU asks for its share of the keys, once
 * each. So as many values come back as were stored, and their sum is known. Times are the host's,
 * from call to return, data in place and table open; phases are of the last run.
 */
#include "cuda/tables/bench/bench_in.h"

#include <string.h>
#include "cuda/tables/dtable.h"

#define GPUS 64

struct gpus {
	kht_bench *b;
	unsigned members;
	int device[GPUS];
	kh_gpu_comm *comm;
	kht_dtable *d;
	size_t n; /* pairs a member */
	kht_dpart pairs[GPUS], queries[GPUS];
	kht_lists lists[GPUS]; /* counts go where values go */
	unsigned long long *sum[GPUS];
};

struct gcase {
	const char *name, *system;
	unsigned key_bits, value_bits, chunks, looks;
	uint64_t r;
	int independent;
	enum kht_bench_order order;
};

/* --- memory and data -------------------------------------------------------------- */
static void close_gpus(struct gpus *g)
{
	kht_dtable_close(g->d);
	kh_gpu_comm_close(g->comm);
	for (unsigned i = 0; i < g->members; i++) {
		if (cudaSetDevice(g->device[i]) != cudaSuccess)
			continue;
		cudaFree((void *)g->pairs[i].keys);
		cudaFree((void *)g->pairs[i].values);
		cudaFree((void *)g->queries[i].keys);
		cudaFree(g->lists[i].offsets);
		cudaFree(g->lists[i].values);
		cudaFree(g->sum[i]);
	}
}

static int open_gpus(kht_bench *b, struct gpus *g, unsigned members, size_t n)
{
	memset(g, 0, sizeof *g);
	g->b = b;
	g->members = members;
	g->n = n;
	for (unsigned i = 0; i < members; i++)
		g->device[i] = (int)i;
	for (unsigned i = 0; i < members; i++) {
		CU(cudaSetDevice(g->device[i]));
		CU(cudaMalloc((void **)&g->pairs[i].keys, n * 8));
		CU(cudaMalloc((void **)&g->pairs[i].values, n * 8));
		CU(cudaMalloc((void **)&g->queries[i].keys, n * 8));
		CU(cudaMalloc((void **)&g->lists[i].offsets, (n + 1) * 8));
		CU(cudaMalloc(&g->lists[i].values, n * 8));
		CU(cudaMalloc((void **)&g->sum[i], 8));
	}
	return kh_gpu_comm_open(&g->comm, g->device, members, b->err);
}

static int make_data(struct gpus *g, const struct gcase *c)
{
	const uint64_t distinct = g->n * g->members / c->r;
	kht_bench *b = g->b;

	for (unsigned i = 0; i < g->members; i++) {
		kht_bench_gen k = { .n = g->n,
				    .distinct = distinct,
				    .key_bits = c->key_bits,
				    .value_bits = c->value_bits,
				    .order = c->order,
				    .first = g->n * i,
				    .spread = 1 };

		CU(cudaSetDevice(g->device[i]));
		CU(kht_bench_keys(&k, (void *)g->pairs[i].keys, NULL));
		if (c->value_bits)
			CU(kht_bench_values(&k, (void *)g->pairs[i].values, NULL));
		g->pairs[i].n = k.n;
		g->queries[i].n = k.n = g->n / c->r;
		k.first = k.n * i;
		CU(kht_bench_keys(&k, (void *)g->queries[i].keys, NULL));
		CU(cudaDeviceSynchronize());
	}
	return KH_OK;
}

/* --- one case --------------------------------------------------------------------- */
static int build(struct gpus *g, const struct gcase *c, kht_times *in)
{
	const kht_dtable_config cfg = {
		.system = c->system,
		.independent = c->independent,
		.chunks = c->chunks,
		.table = { .capacity = g->n,
			   .key_bits = c->key_bits,
			   .value_bits = c->value_bits,
			   .distinct = c->independent ? g->n : g->n / c->r },
	};
	double began;

	kht_dtable_close(g->d);
	g->d = NULL;
	TRY(kht_dtable_open(&cfg, g->comm, g->device, g->members, &g->d, g->b->err));
	began = kh_seconds();
	TRY(kht_dtable_insert(g->d, g->pairs, g->b->err));
	in->ms[in->n++] = (kh_seconds() - began) * 1e3;
	return KH_OK;
}

static int look(struct gpus *g, enum look what, kht_times *out)
{
	const double began = kh_seconds();
	uint32_t *counts[GPUS];
	int rc;

	for (unsigned i = 0; i < g->members; i++) {
		counts[i] = g->lists[i].values;
		g->lists[i].capacity = g->n;
	}
	if (what == LOOK_LISTS)
		rc = kht_dtable_retrieve(g->d, g->queries, g->lists, g->b->err);
	else
		rc = (what == LOOK_JOIN ? kht_dtable_join : kht_dtable_count)(g->d, g->queries,
									      counts, g->b->err);
	out->ms[out->n++] = (kh_seconds() - began) * 1e3;
	return rc;
}

/* Counts add up to the pairs; so do the lists, and their values to what was stored. */
static int verify(struct gpus *g, const struct gcase *c, enum look what, bool *good)
{
	const bool lists = what == LOOK_LISTS;
	const uint64_t n = g->n, values = n % 2 ? (n - 1) / 2 * n : n / 2 * (n - 1);
	uint64_t got = 0, length = 0, want = (lists ? values : n) * g->members;
	kht_bench *b = g->b;

	for (unsigned i = 0; i < g->members; i++) {
		unsigned long long sum;
		uint64_t end = lists ? 0 : g->queries[i].n;

		CU(cudaSetDevice(g->device[i]));
		if (lists)
			CU(cudaMemcpy(&end, g->lists[i].offsets + g->queries[i].n, sizeof end,
				      cudaMemcpyDeviceToHost));
		CU(cudaMemset(g->sum[i], 0, sizeof sum));
		CU(kht_bench_sum(g->lists[i].values, end, lists ? c->value_bits : 32, g->sum[i],
				 NULL));
		CU(cudaMemcpy(&sum, g->sum[i], sizeof sum, cudaMemcpyDeviceToHost));
		got += sum;
		length += end;
	}
	*good = got == want && (!lists || length == n * g->members);
	return KH_OK;
}

/* Milliseconds a phase; what the busiest GPU sent, and how fast. */
static void note(const kht_dtable_stats *s, char *p, size_t room)
{
	size_t at = (size_t)snprintf(p, room, "chunks %u ms", s->chunks);

	for (unsigned k = 0; k < KHT_DPHASES && at < room; k++)
		at += (size_t)snprintf(p + at, room - at, " %s %.2f",
				       kht_dphase_name((enum kht_dphase)k), s->seconds[k] * 1e3);
	if (s->wire_bytes && s->wire > 0 && at < room)
		at += (size_t)snprintf(p + at, room - at, "; wire %.2f ms %.0f GB/s", s->wire * 1e3,
				       (double)s->wire_bytes / s->wire / 1e9);
	if (at < room)
		snprintf(p + at, room - at, "; most %.3f of mean",
			 s->pairs ? (double)s->most * s->members / (double)s->pairs : 1);
}

static int line(struct gpus *g, const struct gcase *c, enum look what, kht_times *in,
		kht_times *out, int rc)
{
	char text[400], name[64];
	kht_dtable_stats s;
	bool good = true;
	int full = rc ? rc : kht_dtable_status(g->d, &s, g->b->err);

	if (full && full != KH_ENOMEM)
		return full;
	if (!full && what != LOOK_NONE)
		TRY(verify(g, c, what, &good));
	if (full)
		snprintf(text, sizeof text, "%s", "");
	else
		note(&s, text, sizeof text);
	snprintf(name, sizeof name, "%s%s", c->name,
		 what == LOOK_JOIN    ? " probe-new"
		 : what == LOOK_LISTS ? " retrieve"
		 : what == LOOK_COUNT ? " count"
				      : "");
	kht_case k = { .table = c->system,
		       .name = name,
		       .cfg = { .key_bits = c->key_bits,
				.value_bits = c->value_bits,
				.group = g->members },
		       .n = g->n * g->members,
		       .queries = g->n / c->r * g->members,
		       .values = g->n * g->members,
		       .r = (double)c->r,
		       .look = what,
		       .note = text };
	kht_table_stats st = { .bytes = full ? 0 : s.bytes };
	kht_bench_line(g->b, &k, in, out, &st, full ? "full" : good ? "ok" : "WRONG");
	return KH_OK;
}

static int run(struct gpus *g, const struct gcase *c)
{
	static const enum look looks[] = { LOOK_COUNT, LOOK_JOIN, LOOK_LISTS };
	kht_times in = { 0 }, out = { 0 };
	int rc = KH_OK;

	if (!kht_bench_wanted(g->b, c->system))
		return KH_OK;
	TRY(make_data(g, c));
	for (int i = 0; !rc && i <= kht_bench_repeats(g->b); i++) {
		rc = build(g, c, &in);
		in.n = i == 0 ? 0 : in.n;
	}
	TRY(line(g, c, LOOK_NONE, &in, &out, rc));
	for (int k = 0; !rc && k < 3; k++) {
		if (!(c->looks & 1u << looks[k]))
			continue;
		out.n = 0;
		for (int i = 0; !rc && i <= kht_bench_repeats(g->b); i++) {
			rc = look(g, looks[k], &out);
			out.n = i == 0 ? 0 : out.n;
		}
		TRY(line(g, c, looks[k], &in, &out, rc));
	}
	kht_dtable_close(g->d);
	g->d = NULL;
	return rc == KH_ENOMEM ? KH_OK : rc;
}

/* --- experiments ------------------------------------------------------------------ */
enum { COUNTS = 1u << LOOK_COUNT, JOINS = 1u << LOOK_JOIN, LISTS = 1u << LOOK_LISTS };

/* Fig. 3, and with one chunk, where phases do not overlap, Fig. 5. */
static int scaling(struct gpus *g)
{
	for (unsigned bits = 0; bits <= 32; bits += 32) {
		struct gcase c = { .name = "weak scaling",
				   .system = "hashgraph",
				   .key_bits = 32,
				   .value_bits = bits,
				   .r = 1,
				   .looks = COUNTS | JOINS | (bits ? LISTS : 0) };

		TRY(run(g, &c));
		c.name = "phases";
		c.chunks = 1;
		c.looks = COUNTS;
		if (g->members > 1)
			TRY(run(g, &c));
	}
	return KH_OK;
}

/* By the number of chunks: a single one travels when all pairs are in order; of several, each
 * travels while the next one is brought into order. */
static int chunks(struct gpus *g)
{
	struct gcase c = { .name = "gpus chunks",
			   .system = "hashgraph",
			   .key_bits = 32,
			   .value_bits = 32,
			   .r = 1 };

	for (c.chunks = 1; g->members > 1 && c.chunks <= 16; c.chunks *= 2)
		TRY(run(g, &c));
	return KH_OK;
}

/* Fig. 4, and sequential keys: with all GPUs. */
static int others(struct gpus *g)
{
	struct gcase c = { .name = "gpus duplicates",
			   .system = "hashgraph",
			   .key_bits = 32,
			   .looks = COUNTS | JOINS };

	for (c.r = 4; c.r <= 1024 && c.r <= g->n; c.r *= 4)
		TRY(run(g, &c));
	c.name = "gpus sequential";
	c.r = 1;
	c.order = KHT_BENCH_SEQUENTIAL;
	return run(g, &c);
}

/* The modes side by side: one value a key, and sixteen. */
static int modes(struct gpus *g)
{
	static const char *const name[] = { "single", "bucket64", "multi", "bucketlist" };

	for (int k = 0; k < 4; k++)
		for (int alone = 0; alone < 2; alone++) {
			struct gcase c = { .name = alone ? "independent" : "distributed",
					   .system = name[k],
					   .key_bits = 32,
					   .value_bits = 32,
					   .r = k < 2 ? 1 : 16,
					   .independent = alone,
					   .looks = LISTS };
			TRY(run(g, &c));
		}
	return KH_OK;
}

/* Calls f with 1, 2, 4 .. and all GPUs, and `last` with all of them; either may be NULL. */
static int each_number(kht_bench *b, int lg, int (*f)(struct gpus *), int (*last)(struct gpus *))
{
	const size_t n = (size_t)1 << kht_bench_log2n(b, lg);
	int all, device, rc = KH_OK;

	CU(cudaGetDevice(&device));
	CU(cudaGetDeviceCount(&all));
	all = all < GPUS ? all : GPUS;
	for (int p = 1; p <= all && !rc; p = p < all && p * 2 > all ? all : p * 2) {
		struct gpus g;

		if (!f && p < all)
			continue;
		rc = open_gpus(b, &g, (unsigned)p, n);
		if (!rc && f)
			rc = f(&g);
		if (!rc && last && p == all)
			rc = last(&g);
		close_gpus(&g);
	}
	CU(cudaSetDevice(device));
	return rc;
}

int kht_bench_gpus(kht_bench *b)
{
	return kht_bench_wanted(b, "hashgraph") ? each_number(b, 28, scaling, others) : KH_OK;
}

int kht_bench_chunks(kht_bench *b)
{
	return kht_bench_wanted(b, "hashgraph") ? each_number(b, 28, NULL, chunks) : KH_OK;
}

int kht_bench_modes(kht_bench *b) { return each_number(b, 26, modes, NULL); }
