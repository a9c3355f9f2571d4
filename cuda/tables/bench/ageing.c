/* ageing.c - look-ups of keys that are not there, at high load; what erasing costs later */
#include "cuda/tables/bench/bench_in.h"

#include <stdio.h>

#define TURNS 20
#define PARTS 8 /* of a turn: what is erased and inserted at a time */

/* Hits, misses and both in equal parts. */
int kht_bench_misses(kht_bench *b)
{
	static const char *const table[] = { "bucket64", "window64", "single",    "cuco",
					     "bght4",    "bght16",   "slabhash",  "warpcore",
					     "hkv",      "hkv2",     "warpspeed", NULL };
	static const double load[] = { 0.8, 0.9, 0.95, 0.97 };
	static const char *const name[] = { "hits", "half hits", "misses" };
	const size_t n = (size_t)1 << kht_bench_log2n(b, 26);

	for (unsigned bits = 32; bits <= 64; bits *= 2)
		for (int l = 0; l < 4; l++)
			for (int k = 0; table[k]; k++)
				for (size_t part = 0; part < 3; part++) {
					kht_case c = { .table = table[k],
						       .name = name[part],
						       .cfg = { .key_bits = bits,
								.value_bits = bits,
								.load = load[l] },
						       .n = n,
						       .queries = n,
						       .absent = n / 2 * part,
						       .values = n - n / 2 * part,
						       .r = 1,
						       .look = LOOK_FIND };
					TRY(kht_bench_run(b, &c));
				}
	return KH_OK;
}

/* Erases part `p` of the keys of turn `turn` and stores that of the next. */
static int renew(kht_bench *b, kht_table *t, const kht_case *c, uint64_t turn, size_t p,
		 kht_times *in, kht_times *gone)
{
	const size_t n = c->n / PARTS, w = c->cfg.key_bits / 8;
	kht_bench_gen g = { .n = n,
			    .key_bits = c->cfg.key_bits,
			    .first = turn * c->n + p * n };
	kht_kv kv = { b->keys, (char *)b->values + p * n * w, n };
	kht_keys q = { b->queries, n };

	CU(kht_bench_keys(&g, b->queries, b->stream));
	g.first += c->n;
	CU(kht_bench_keys(&g, b->keys, b->stream));
	TRY(kht_bench_start(b));
	TRY(kht_table_erase(t, &q, b->stream, b->err));
	TRY(kht_bench_stop(b, gone));
	TRY(kht_bench_start(b));
	TRY(kht_table_insert(t, &kv, b->stream, b->err));
	return kht_bench_stop(b, in);
}

/* Looks for the latter half of turn `turn` and for as many keys of the next. */
static int half(kht_bench *b, kht_table *t, const kht_case *c, uint64_t turn, kht_times *out,
		bool *good)
{
	kht_bench_gen g = { .n = c->n,
			    .key_bits = c->cfg.key_bits,
			    .first = turn * c->n + c->n / 2 };
	kht_keys q = { b->queries, c->n };
	kht_found f = { b->result, NULL, 0 };
	uint64_t got, want;

	CU(kht_bench_keys(&g, b->queries, b->stream));
	for (int i = 0; i < 2; i++) {
		out->n = 0;
		if (i == 0)
			TRY(kht_bench_watch(b, true));
		TRY(kht_bench_start(b));
		TRY(kht_table_find(t, &q, &f, b->stream, b->err));
		TRY(kht_bench_stop(b, out));
		if (i == 0)
			TRY(kht_bench_watch(b, false));
	}
	TRY(kht_bench_total(b, b->result, c->n, c->cfg.value_bits, &got));
	TRY(kht_bench_total(b, (char *)b->values + c->n / 2 * (c->cfg.value_bits / 8), c->n / 2,
			    c->cfg.value_bits, &want));
	*good = got == want;
	return KH_OK;
}

static int age(kht_bench *b, kht_case *c)
{
	kht_bench_gen g = { .n = c->n, .value_bits = c->cfg.value_bits };
	kht_table *t = NULL;
	int rc = KH_OK;

	if (!kht_bench_wanted(b, c->table) || c->n > b->room)
		return KH_OK;
	c->cfg.capacity = c->n;
	TRY(kht_bench_data(b, c));
	CU(kht_bench_values(&g, b->values, b->stream));
	rc = kht_bench_fill(b, c, &t, &(kht_times) { 0 });
	for (uint64_t turn = 0; !rc && turn < TURNS; turn++) {
		kht_times in = { 0 }, out = { 0 }, gone = { 0 };
		kht_table_stats st = { 0 };
		char note[64], name[32];
		bool good = false;

		for (size_t p = 0; !rc && p < PARTS; p++)
			rc = renew(b, t, c, turn, p, &in, &gone);
		if (rc || (turn != 0 && turn != 1 && turn != TURNS / 2 && turn != TURNS - 1))
			continue;
		rc = half(b, t, c, turn + 1, &out, &good);
		if (!rc)
			rc = kht_table_status(t, b->stream, &st, b->err);
		snprintf(name, sizeof name, "ageing turn %d", (int)turn + 1);
		snprintf(note, sizeof note, "%d parts; erased %.2f G/s; %llu stored", PARTS,
			 kht_bench_rate((double)c->n / PARTS, kht_bench_median(&gone)),
			 (unsigned long long)st.pairs);
		c->name = name;
		c->note = note;
		kht_times all = in;
		for (int i = 0; i < all.n; i++) /* as if the turn were one batch */
			all.ms[i] *= PARTS;
		kht_bench_line(b, c, &all, &out, &st,
			       rc == KH_ENOMEM                ? "full"
			       : good && st.pairs == c->n ? "ok"
							  : "WRONG");
	}
	kht_table_close(t);
	/* Full, or not for these widths. */
	return rc == KH_ENOMEM || rc == KH_EUSAGE ? KH_OK : rc;
}

/* All keys erased and others inserted, again and again, at a load of .85. */
int kht_bench_ageing(kht_bench *b)
{
	static const struct {
		const char *table;
		int most; /* full scans of a table that is worn out take their time */
	} with[] = { { "window64", 30 },  { "dachash", 30 }, { "single", 18 },
		     { "slabhash", 30 },  { "hkv", 30 },     { "cuco", 20 },
		     { "warpcore", 20 }, { "warpspeed", 30 } };
	const int lg = kht_bench_log2n(b, 26);

	for (size_t k = 0; k < sizeof with / sizeof *with; k++)
		for (unsigned bits = 32; bits <= 64; bits *= 2) {
			const size_t n = (size_t)1 << (lg < with[k].most ? lg : with[k].most);
			kht_case c = { .table = with[k].table,
				       .cfg = { .key_bits = bits,
						.value_bits = bits,
						.load = 0.85 },
				       .n = n,
				       .queries = n,
				       .values = n,
				       .r = 1,
				       .look = LOOK_FIND };
			TRY(age(b, &c));
		}
	return KH_OK;
}
