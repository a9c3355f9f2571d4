/* experiments.c - the papers' experiments, and the machine's limits */
#include "cuda/tables/bench/bench_in.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "cuda/tables/sort.h"

static int limit(kht_bench *b, enum kht_bench_limit what, const char *name)
{
	size_t bytes = b->room * 8, n = b->room / 2;
	kht_times t = { 0 };

	for (int i = 0; i <= kht_bench_repeats(b); i++) {
		TRY(kht_bench_start(b));
		CU(kht_bench_limit(what, b->keys, bytes, n, b->stream));
		TRY(kht_bench_stop(b, &t));
		t.n = i == 0 ? 0 : t.n;
	}
	fprintf(b->out, "limit,%s,%zu,0,1,0,0,%.2f,%zu,ok,0,0,0,%.3f,G/s\n", name, n,
		kht_bench_rate((double)n, kht_bench_median(&t)), bytes, kht_bench_spread(&t));
	return KH_OK;
}

static int limit_sort(kht_bench *b, unsigned value_bits, int from, const char *name)
{
	kht_sort s = {
		b->keys, b->values, b->queries, b->result, b->room, 32, value_bits, from, 32
	};
	kht_bench_gen g = { .n = b->room, .key_bits = 32, .value_bits = value_bits };
	kht_times t = { 0 };

	CU(kht_bench_keys(&g, b->keys, b->stream));
	for (int i = 0; i <= kht_bench_repeats(b); i++) {
		TRY(kht_bench_start(b));
		TRY(kht_sort_pairs(b->anchor, &s, b->stream, b->err));
		TRY(kht_bench_stop(b, &t));
		t.n = i == 0 ? 0 : t.n;
	}
	fprintf(b->out, "limit,%s,%zu,0,1,0,%.2f,0,0,ok,32,%u,%.3f,0,G/s\n", name, s.n,
		kht_bench_rate((double)s.n, kht_bench_median(&t)), value_bits,
		kht_bench_spread(&t));
	return KH_OK;
}

static int limits(kht_bench *b)
{
	kht_times t = { 0 };

	for (int i = 0; i <= kht_bench_repeats(b); i++) {
		TRY(kht_bench_start(b));
		CU(cudaMemcpyAsync(b->queries, b->keys, b->room * 8, cudaMemcpyDeviceToDevice,
				   b->stream));
		TRY(kht_bench_stop(b, &t));
		t.n = i == 0 ? 0 : t.n;
	}
	fprintf(b->out, "limit,copy,%zu,0,1,0,0,%.1f,%zu,ok,0,0,0,%.3f,GB/s read and written\n",
		b->room, kht_bench_rate((double)b->room * 16, kht_bench_median(&t)), b->room * 8,
		kht_bench_spread(&t));
	TRY(limit(b, KHT_LIMIT_READ32, "read 32 B"));
	TRY(limit(b, KHT_LIMIT_READ64, "read 64 B"));
	TRY(limit(b, KHT_LIMIT_READ128, "read 128 B"));
	TRY(limit(b, KHT_LIMIT_CAS, "CAS 8 B"));
	TRY(limit(b, KHT_LIMIT_SECTOR, "store 32 B"));
	TRY(limit_sort(b, 32, 0, "sort 32/32"));
	TRY(limit_sort(b, 64, 0, "sort 32/64"));
	TRY(limit_sort(b, 32, 24, "scatter 256 32/32"));
	return limit_sort(b, 64, 24, "scatter 256 32/64");
}

/* Unique keys: all of them stored, all of them found. */
static kht_case unique_case(kht_bench *b, const char *table, const char *name, int lg)
{
	size_t n = (size_t)1 << kht_bench_log2n(b, lg);

	return (kht_case) { .table = table,
			    .name = name,
			    .n = n,
			    .queries = n,
			    .values = n,
			    .r = 1,
			    .cfg = { .key_bits = 32, .value_bits = 32 },
			    .look = LOOK_FIND };
}

/* WarpCore Fig. 5: by density; and by group and layout at 0.8. */
static int unique(kht_bench *b)
{
	static const double load[] = { 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97 };
	static const char *const name[] = { "single",   "bucket64",  "cuckoo", "cuco", "bght4",
					    "slabhash", "warpcore", "warpspeed", NULL };
	static const char *const layout[] = { "", "packed", "aos", "soa" };

	for (int k = 0; name[k]; k++)
		for (size_t i = 0; i < sizeof load / sizeof *load; i++) {
			kht_case c = unique_case(b, name[k], "unique", 28);
			c.cfg.load = load[i];
			TRY(kht_bench_run(b, &c));
		}
	for (unsigned g = 1; g <= 32; g *= 2)
		for (int l = KHT_LAYOUT_PACKED; l <= KHT_LAYOUT_SOA; l++) {
			kht_case c = unique_case(b, "single", "groups", 28);
			c.cfg.load = 0.8;
			c.cfg.group = g;
			c.cfg.layout = (enum kht_layout)l;
			c.note = layout[l];
			TRY(kht_bench_run(b, &c));
		}
	for (unsigned g = 1; g <= 8; g *= 2)
		for (unsigned w = g; w <= 32; w *= 2) {
			static char note[16];
			kht_case c = unique_case(b, "single", "windows", 28);
			c.cfg.load = 0.8;
			c.cfg.group = g;
			c.cfg.window = w;
			snprintf(note, sizeof note, "window %u", w);
			c.note = note;
			TRY(kht_bench_run(b, &c));
		}
	kht_case c = unique_case(b, "bucket64", "not partitioned", 28);
	c.cfg.load = 0.8;
	c.cfg.direct = 1;
	return kht_bench_run(b, &c);
}

/* HashGraph: build and both probes over N, duplicates, hash range, order of keys. */
static int hashgraph(kht_bench *b)
{
	static const char *const name[] = { "hashgraph1", "hashgraph2" };
	int top = kht_bench_log2n(b, 28);

	for (int k = 0; k < 2; k++) {
		for (int join = 0; join < 2; join++)
			for (int lg = top - 8; lg <= top; lg += 4) {
				kht_case c =
					unique_case(b, name[k], join ? "N probe-new" : "N", lg);
				c.n = c.queries = c.values = (size_t)1 << lg;
				c.look = join ? LOOK_JOIN : LOOK_COUNT;
				TRY(kht_bench_run(b, &c));
				c.order = KHT_BENCH_SEQUENTIAL;
				c.note = "sequential keys";
				TRY(kht_bench_run(b, &c));
			}
		for (double r = 1; r <= 1024; r *= 4) {
			kht_case c = kht_bench_multi_case(b, name[k], r);
			c.name = "duplicates";
			c.look = LOOK_COUNT;
			TRY(kht_bench_run(b, &c));
			c.name = "duplicates probe-new";
			c.look = LOOK_JOIN;
			TRY(kht_bench_run(b, &c));
		}
		for (double range = 0.25; range <= 4; range *= 2) {
			kht_case c = unique_case(b, name[k], "range", 28);
			c.look = LOOK_COUNT;
			c.cfg.range = range;
			TRY(kht_bench_run(b, &c));
			c.name = "range probe-new";
			c.look = LOOK_JOIN;
			TRY(kht_bench_run(b, &c));
		}
	}
	return KH_OK;
}

/* Build and search with these parameters. */
static int dac_search(kht_bench *b, const char *name, int lg, const kht_table_config *cfg,
		      const char *note)
{
	kht_case c = unique_case(b, "dachash", name, lg);

	c.n = c.queries = c.values = (size_t)1 << lg;
	c.cfg = *cfg;
	c.note = note;
	return kht_bench_run(b, &c);
}

/* Batches of n operations on a table of n keys, `writes` per cent of them writing. */
static int dac_mixed(kht_bench *b, unsigned writes, const kht_table_config *cfg, const char *name)
{
	kht_case c = unique_case(b, "dachash", name, 22);
	kht_times in = { 0 }, out = { 0 };
	kht_ops o = { b->op, b->queries, b->result, 0, 0 };
	kht_table_stats st = { 0 };
	kht_table *t = NULL;
	int rc = KH_OK;

	if (!kht_bench_wanted(b, "dachash"))
		return KH_OK;
	c.n = c.queries = c.values = o.n = (size_t)1 << kht_bench_log2n(b, 22);
	c.cfg = *cfg;
	c.cfg.capacity = c.n;
	c.note = "retrieve: operations";
	TRY(kht_bench_data(b, &c));
	CU(kht_bench_ops(o.n, writes, b->op, b->stream));
	for (int i = 0; !rc && i <= kht_bench_repeats(b); i++) {
		if ((rc = kht_bench_fill(b, &c, &t, &in)) || (rc = kht_bench_start(b)) ||
		    (rc = kht_table_mixed(t, &o, b->stream, b->err)) ||
		    (rc = kht_bench_stop(b, &out)) ||
		    (rc = kht_table_status(t, b->stream, &st, b->err)))
			break;
		if (i == 0)
			in.n = out.n = 0;
		kht_table_close(t);
		t = NULL;
	}
	kht_table_close(t);
	if (rc && rc != KH_ENOMEM)
		return rc;
	kht_bench_line(b, &c, &in, &out, &st,
		       rc                                 ? "full"
		       : st.pairs < c.n && st.failed == 0 ? "ok"
							  : "WRONG");
	return KH_OK;
}

/* DACHash Figs. 7.1 to 7.7. */
static int dachash(kht_bench *b)
{
	const kht_table_config plain = { .key_bits = 32, .value_bits = 32 };
	kht_table_config c = plain;

	for (c.node = 1; c.node <= 32; c.node *= 2)
		for (c.length = 0.5; c.length <= 1; c.length *= 2) {
			c.reorder = 1;
			TRY(dac_search(b, "node size", 22, &c,
				       c.node == 1    ? "1"
				       : c.node == 2  ? "2"
				       : c.node == 4  ? "4"
				       : c.node == 8  ? "8"
				       : c.node == 16 ? "16"
						      : "32"));
		}
	c = plain;
	c.reorder = 1;
	for (c.combined = 1; c.combined <= 4096; c.combined *= 4) {
		char note[16];

		snprintf(note, sizeof note, "%u", c.combined);
		TRY(dac_search(b, "combined buckets", 22, &c, note));
	}
	c = plain;
	for (int lg = 19; lg <= kht_bench_log2n(b, 28); lg++) {
		for (c.reorder = 0; c.reorder < 2; c.reorder++)
			TRY(dac_search(b, "search", lg, &c, c.reorder ? "reorder" : ""));
		c.reorder = 0;
		c.mapping = KHT_MAP_QUAD;
		TRY(dac_search(b, "search", lg, &c, "quad"));
		c.mapping = KHT_MAP_AUTO;
	}
	c = plain;
	for (c.length = 0.125; c.length <= 4; c.length *= 2)
		for (c.reorder = 0; c.reorder < 2; c.reorder++)
			for (int m = KHT_MAP_ONE; m <= KHT_MAP_MANY; m++) {
				c.mapping = (enum kht_mapping)m;
				TRY(dac_search(b, m == KHT_MAP_ONE ? "one-to-one" : "many-to-one",
					       22, &c, c.reorder ? "reorder" : ""));
				TRY(dac_mixed(b, 20, &c,
					      m == KHT_MAP_ONE ? "80/20 one-to-one"
							       : "80/20 many-to-one"));
				TRY(dac_mixed(b, 40, &c,
					      m == KHT_MAP_ONE ? "60/40 one-to-one"
							       : "60/40 many-to-one"));
			}
	return KH_OK;
}

static int cuckoo(kht_bench *b)
{
	for (unsigned tables = 2; tables <= 4; tables++)
		for (double load = 0.5; load < 0.95; load += 0.1) {
			kht_case c = unique_case(b, "cuckoo",
						 tables == 2   ? "2 tables"
						 : tables == 3 ? "3 tables"
							       : "4 tables",
						 26);
			if ((tables == 2 && load > 0.55) || (tables == 3 && load > 0.85))
				continue;
			c.cfg.load = load;
			c.cfg.subtables = tables;
			TRY(kht_bench_run(b, &c));
		}
	return KH_OK;
}

/* WarpCore's set, counter and filter. */
static int sets(kht_bench *b)
{
	static const char *const name[] = { "hashset", "counting", "bloom" };

	for (int k = 0; k < 3; k++) {
		kht_case c = unique_case(b, name[k], "unique", 28);
		c.look = LOOK_COUNT;
		TRY(kht_bench_run(b, &c));
		if (k == 1) {
			c = kht_bench_multi_case(b, name[k], 16);
			c.look = LOOK_COUNT;
			TRY(kht_bench_run(b, &c));
		}
	}
	return KH_OK;
}

/* The cases for which this library sets itself a rate to reach. */
static int targets(kht_bench *b)
{
	static const double load[] = { 0.8, 0.9 };
	static const char *const name[] = { "single", "bucket64", "bucket64" };
	const kht_table_config plain = { .key_bits = 32, .value_bits = 32 };
	const kht_table_config quad = { .key_bits = 32, .value_bits = 32, .mapping = KHT_MAP_QUAD };

	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 3; k++) {
			kht_case c = unique_case(b, name[k], "unique", 28);
			c.cfg.load = load[i];
			c.cfg.group = k == 2 ? 1 : 0;
			TRY(kht_bench_run(b, &c));
		}
	for (double r = 1; r <= 64; r *= 4) {
		kht_case c = kht_bench_multi_case(b, "csr", r);
		TRY(kht_bench_run(b, &c));
		c = kht_bench_multi_case(b, "hashgraph2", r);
		TRY(kht_bench_run(b, &c));
	}
	TRY(kht_bench_skewed_lists(b));
	for (double r = 1; r <= 1024; r *= 1024) {
		kht_case c = kht_bench_multi_case(b, "hashgraph2", r);
		c.look = LOOK_COUNT;
		c.name = "duplicates";
		TRY(kht_bench_run(b, &c));
	}
	TRY(dac_search(b, "search", 22, &plain, ""));
	TRY(dac_search(b, "search", 26, &plain, ""));
	TRY(dac_search(b, "search", 22, &quad, "quad"));
	TRY(dac_search(b, "search", 26, &quad, "quad"));
	return dac_mixed(b, 20, &plain, "80/20");
}

const kht_bench_experiment kht_bench_list[] = { { "limits", limits },
						{ "targets", targets },
						{ "unique", unique },
						{ "multi", kht_bench_multi },
						{ "skewed", kht_bench_skewed_lists },
						{ "zipf", kht_bench_zipf },
						{ "hashgraph", hashgraph },
						{ "dachash", dachash },
						{ "cuckoo", cuckoo },
						{ "sets", sets },
						{ "misses", kht_bench_misses },
						{ "ageing", kht_bench_ageing },
						{ "filter", kht_bench_filter },
						{ "gpus", kht_bench_gpus },
						{ "chunks", kht_bench_chunks },
						{ "modes", kht_bench_modes },
						{ NULL, NULL } };
