/* lists.c - many values a key: as many for each, or by laws that make some frequent */
#include "cuda/tables/bench/bench_in.h"

#include <math.h>
#include <string.h>

/* n pairs over n / r keys, drawn at random. */
kht_case kht_bench_multi_case(kht_bench *b, const char *table, double r)
{
	size_t n = (size_t)1 << kht_bench_log2n(b, 28);

	return (kht_case) {
		.table = table,
		.name = "multi",
		.n = n,
		.values = n,
		.r = r,
		.queries = (size_t)((double)n / r),
		.distinct = (uint64_t)((double)n / r),
		.cfg = { .key_bits = 32, .value_bits = 32, .distinct = (uint64_t)((double)n / r) },
		.look = LOOK_LISTS
	};
}

/* WarpCore Fig. 7, uniform. */
int kht_bench_multi(kht_bench *b)
{
	static const char *const name[] = { "csr",        "sorted", "hashgraph1", "hashgraph2",
					    "bucketlist", "multi",  "cuco-multi", "warpcore-multi",
					    "warpcore-list" };

	for (double r = 1; r <= 256; r *= 4)
		for (int k = 0; k < 9; k++) {
			kht_case c = kht_bench_multi_case(b, name[k], r);

			TRY(kht_bench_run(b, &c));
			if (strcmp(name[k], "bucketlist") == 0) {
				c.cfg.growth = 1;
				c.cfg.first = (unsigned)r;
				c.note = "lambda 1 s0 r";
				TRY(kht_bench_run(b, &c));
			}
			for (unsigned g = 16; strcmp(name[k], "multi") == 0 && g <= 32; g *= 2) {
				c.cfg.group = g;
				TRY(kht_bench_run(b, &c));
			}
		}
	return KH_OK;
}

/* What is left of the pairs after c classes: keys with one value.  Keys in all. */
static uint64_t rest_skew(kht_bench_skew *k, unsigned c, uint64_t pairs, uint64_t keys)
{
	const uint64_t n = UINT64_C(1) << k->log2n;

	if (pairs < n) {
		k->times[c] = 1;
		k->key[c] = keys += n - pairs;
		k->pair[c++] = n;
	}
	k->classes = c;
	return keys;
}

/* A third of the keys with one value, the others exponential; mean 11, some hundreds. */
static uint64_t make_skew(kht_bench_skew *k, unsigned lg)
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
	return rest_skew(k, c, pairs, keys);
}

/* Zipf's law: the key of rank r has f / r values, down to one; the ranks of a class, three of
 * which make an octave, have the same number. */
static uint64_t make_zipf(kht_bench_skew *k, unsigned lg)
{
	const double n = ldexp(1, (int)lg);
	uint64_t pairs = 0, keys = 0;
	double f = n;
	unsigned c = 0;

	memset(k, 0, sizeof *k);
	k->log2n = lg;
	for (int i = 0; i < 40; i++)
		f = n / (log(f) + 0.577);
	for (double r = 1; c < KHT_BENCH_CLASSES - 1; c++) {
		double next = floor(fmax(r + 1, r * cbrt(2))), m = floor(f / sqrt(r * (next - 1)));

		if (m < 2 || (double)pairs + (next - r) * m > n)
			break;
		k->times[c] = (uint32_t)m;
		k->pair[c] = pairs += (uint64_t)((next - r) * m);
		k->key[c] = keys += (uint64_t)(next - r);
		r = next;
	}
	return rest_skew(k, c, pairs, keys);
}

/* Many values a key by Zipf's law, in one batch and, where a table takes several, in eight.  Tables
 * whose threads meet at the frequent keys get few pairs. */
int kht_bench_zipf(kht_bench *b)
{
	static const struct {
		const char *table;
		unsigned batches;
		int most;
	} with[] = { { "csr", 1, 30 },
		     { "runlist", 1, 30 },
		     { "runlist", 8, 30 },
		     { "runlist", 1, 20 },
		     { "bucketlist", 1, 20 },
		     { "bucketlist", 8, 20 },
		     { "multi", 1, 20 },
		     { "cuco-multi", 1, 20 },
		     { "warpcore-multi", 1, 20 },
		     { "warpcore-list", 1, 20 } };
	const int lg = kht_bench_log2n(b, 26);

	for (unsigned bits = 32; bits <= 64; bits += 32)
		for (size_t k = 0; k < sizeof with / sizeof *with; k++) {
			kht_case c = kht_bench_multi_case(b, with[k].table, 1);
			const int few = lg < with[k].most ? lg : with[k].most;
			kht_bench_skew skew;
			uint64_t keys = make_zipf(&skew, (unsigned)few);
			char note[32];

			c.batches = with[k].batches;
			snprintf(note, sizeof note, "%u batch%s", c.batches,
				 c.batches == 1 ? "" : "es");
			c.name = "zipf";
			c.note = note;
			c.skew = &skew;
			c.n = c.values = (size_t)1 << few;
			c.r = (double)c.n / (double)keys;
			c.queries = c.cfg.distinct = keys;
			c.cfg.key_bits = c.cfg.value_bits = bits;
			TRY(kht_bench_run(b, &c));
		}
	return KH_OK;
}

int kht_bench_skewed_lists(kht_bench *b)
{
	static const char *const name[] = { "csr",   "sorted",     "hashgraph2",     "bucketlist",
					    "multi", "cuco-multi", "warpcore-multi",
					    "warpcore-list" };
	kht_bench_skew skew;
	uint64_t keys = make_skew(&skew, (unsigned)kht_bench_log2n(b, 28));

	for (int k = 0; k < 8; k++) {
		kht_case c = kht_bench_multi_case(b, name[k], 11);
		c.name = "skewed";
		c.skew = &skew;
		c.queries = keys;
		c.cfg.distinct = keys;
		c.cfg.value_bits = 64;
		TRY(kht_bench_run(b, &c));
		for (unsigned g = 1; strcmp(name[k], "bucketlist") == 0 && g <= 8; g *= 2) {
			c.cfg.group = g;
			TRY(kht_bench_run(b, &c));
		}
	}
	return KH_OK;
}
