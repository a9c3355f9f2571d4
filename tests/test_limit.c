/* test_limit.c - the share of a database of limited size: found in few builds, for any content */
#define TEST_MAIN
#include "test.h"

#include <math.h>
#include "build/build.h"
#include "build/limit.h"
#include "index/index.h"
#include "index/seeds.h"

/* References as far as their index has a size. */
struct world {
	uint64_t features;
	uint64_t rest;                  /* bytes of the file beside the index */
	unsigned words;                 /* bits of the lists of a feature */
};

/* What a share of them takes: every range its lines and lists, some with more lines.  The
 * same whenever it is asked for. */
static kh_limit_size build(const struct world *w, uint64_t share)
{
	const uint64_t n = (uint64_t)((unsigned __int128)w->features * share >> 32);
	const uint64_t state = test_state;
	kh_limit_size x = { .features = 0 };

	test_state += w->features ^ share << 7;
	for (unsigned i = 0; i < KH_RANGES; i++) {
		uint64_t here = n / KH_RANGES, vary = 1, lines;

		while (vary * vary < here)
			vary++;
		here += test_rand() % (2 * vary + 1);
		here -= here < vary ? here : vary;
		lines = here / 14 + 1;
		if (test_rand() % 20 == 0)
			lines += lines / 16;
		x.features += here;
		x.index += (lines * 64 + here * w->words / 8 + 63) / 64 * 64;
	}
	x.file = x.index + w->rest;
	test_state = state;
	return x;
}

static uint64_t some(uint64_t least, unsigned bits)
{
	const uint64_t x = test_rand();         /* in this order, whatever the compiler */

	return least + (x & ((UINT64_C(1) << test_rand() % bits) - 1));
}

/* The size that it comes to, and in how many builds. */
static unsigned fit(const struct world *w, uint64_t limit, uint64_t estimate, uint64_t *share,
		    kh_limit_size *size)
{
	kh_limit f;
	bool keep = false;
	unsigned builds = 0;
	kh_err err;

	f = (kh_limit) { .bytes = limit, .most = KH_LIMIT_ALL };
	kh_limit_start(&f, estimate);
	while (!keep) {
		*share = f.share;
		*size = build(w, f.share);
		builds++;
		assert_int_equal(kh_limit_next(&f, size, &keep, &err), 0);
		assert_true(f.share > 0 && f.share <= KH_LIMIT_ALL);
	}
	return builds;
}

/* From 1 MB on it fits, and takes nearly all that it may, by fewer than three builds on average. */
TEST(test_limits)
{
	unsigned many = 0;

	for (int i = 0; i < 300; i++) {
		struct world w;

		w.features = some(1 << 20, 26);
		w.rest = some(50000, 18);
		w.words = 16 + (unsigned)(test_rand() % 100);
		const uint64_t whole = build(&w, KH_LIMIT_ALL).file;
		const uint64_t limit = (1 << 20) + test_rand() % whole;
		kh_limit_size size;
		uint64_t share;
		const unsigned builds = fit(&w, limit, 0, &share, &size);

		assert_true(size.file <= limit);
		assert_true(share == KH_LIMIT_ALL || size.file >= limit - limit / 32);
		assert_in_range(builds, 1, 9);
		many += builds;
	}
	assert_true(many < 300 * 3);
}

/* What has room for all gets all; an estimate saves a build, and changes nothing else. */
TEST(test_estimates)
{
	const struct world w = { .features = 1 << 22, .rest = 100000, .words = 24 };
	const uint64_t whole = build(&w, KH_LIMIT_ALL).file;
	static const double wrong[] = { 0.01, 0.2, 1, 30 };
	kh_limit_size size;
	uint64_t share;

	assert_int_equal(fit(&w, 0, 0, &share, &size), 1);
	assert_true(share == KH_LIMIT_ALL);
	assert_int_equal(fit(&w, 8 * whole, whole, &share, &size), 1);
	assert_true(share == KH_LIMIT_ALL);
	assert_int_equal(fit(&w, 2 * whole, whole, &share, &size), 2);
	assert_true(share == KH_LIMIT_ALL);
	for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		const struct world even = { .features = 0, .rest = whole / 3, .words = 24 };
		kh_limit f, g;
		bool keep;
		kh_err err;
		/* sizes that do not vary, so that both go the same way */
		kh_limit_size a = { whole, whole - even.rest, 1 << 22 }, few = a;

		f = g = (kh_limit) { .bytes = whole / 2, .most = KH_LIMIT_ALL };
		kh_limit_start(&f, 0);
		kh_limit_start(&g, (uint64_t)((double)whole * wrong[i]));
		few.index = (a.index - KH_RANGES * 64) / 64 + KH_RANGES * 64;
		few.file = even.rest + few.index;
		few.features /= 64;
		if (g.share == KH_LIMIT_ALL) {
			assert_int_equal(kh_limit_next(&g, &a, &keep, &err), 0);
			assert_false(keep);
		}
		assert_true(f.share == KH_LIMIT_FIRST && g.share == KH_LIMIT_FIRST);
		assert_int_equal(kh_limit_next(&f, &few, &keep, &err), 0);
		assert_int_equal(kh_limit_next(&g, &few, &keep, &err), 0);
		assert_true(f.share == g.share && f.share > KH_LIMIT_FIRST);
	}
}

/* No room for anything: told at once. */
TEST(test_too_small)
{
	const struct world w = { .features = 1 << 22, .rest = 100000, .words = 24 };
	kh_limit_size size = build(&w, KH_LIMIT_FIRST);
	kh_limit f = { .bytes = 50000, .most = KH_LIMIT_ALL };
	bool keep;
	kh_err err;

	kh_limit_start(&f, 0);
	assert_int_equal(kh_limit_next(&f, &size, &keep, &err), KH_EUSAGE);
	assert_non_null(strstr(err.msg, "need 117000"));
}

/* --- seeds --------------------------------------------------------------------------- */
/* How often an event occurs that does so `mean` times. */
static uint32_t poisson(double mean)
{
	const double least = exp(-mean);
	double p = 1;
	uint32_t n = 0;

	while ((p *= (double)(test_rand() % (UINT64_C(1) << 53)) / 0x1p53) > least)
		n++;
	return n;
}

/* Bytes of the lines of so many slots that n seeds need; left[i]: slots of seed i. */
static double bytes_of_lines(uint32_t slots, uint32_t *left, uint32_t n)
{
	double bytes = 0;

	for (unsigned level = 0; n > 0; level++) {
		uint64_t all = 0;
		uint32_t lines, more = 0, *used;

		if (level == KH_SEED_LEVELS)
			fail_msg("%u seeds are in no level of lines of %u slots", n, slots);
		for (uint32_t i = 0; i < n; i++)
			all += left[i];
		lines = kh_seed_lines(level, all, slots);
		used = calloc(lines, sizeof *used);
		bytes += 64.0 * lines;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t *u = &used[test_rand() % lines];
			const uint32_t fit = slots - *u < left[i] ? slots - *u : left[i];

			*u += fit;
			if (left[i] > fit)
				left[more++] = left[i] - fit;
		}
		free(used);
		n = more;
	}
	return bytes;
}

/* Lines fill least evenly where each seed has four slots: no seed may be left then, either.  A
 * range of some 60 Gbp has as many. */
TEST(test_levels)
{
	enum { SEEDS = 5000000 };
	uint32_t *left = malloc(SEEDS * sizeof *left);

	for (uint32_t slots = 12; slots <= 16; slots++) {
		for (uint32_t i = 0; i < SEEDS; i++)
			left[i] = KH_SEED_SLOTS;
		bytes_of_lines(slots, left, SEEDS);
	}
	free(left);
}

/* Bytes for each place of a seed, in lines of so many slots and in lists, where a k-mer stands at
 * `mean` places by chance. */
static double bytes_of_place(uint32_t slots, double mean)
{
	enum { SEEDS = 200000 };
	uint32_t *left = malloc(SEEDS * sizeof *left), n = 0;
	double places = 0, bytes = 0;

	while (n < SEEDS) {
		const uint32_t at = poisson(mean);

		if (at == 0)
			continue;
		places += at;
		bytes += at > KH_SEED_SLOTS ? 4 * at : 0;
		left[n++] = at > KH_SEED_SLOTS ? 1 : at;
	}
	bytes += bytes_of_lines(slots, left, n);
	free(left);
	return bytes / places;
}

/* A database of one genome a species has .75 bytes a base at most, however many bases.
 * Here no seed is left out as a repeat: this is .002 more than was measured at 8 Gbp. */
TEST(test_bytes)
{
	static const double gbp[] = { 0.02, 0.1, 1, 4, 8, 12, 20, 40, 60, 99, 101, 200, 400, 480 };

	for (size_t i = 0; i < sizeof gbp / sizeof *gbp; i++) {
		const uint64_t bases = (uint64_t)(gbp[i] * 1e9);
		const uint32_t k = kh_default_k(bases), stride = kh_default_stride(bases);
		const kh_sampling s = { KH_SYNCMER, k, kh_default_s(bases, k, stride), stride,
					0, 1 };
		const double share = (double)kh_default_share(bases, &s) / KH_LIMIT_ALL;
		const double mean = 2.0 * (double)bases / pow(4, k);
		const uint32_t slots = kh_seed_slots(kh_seed_bits(bases / stride));
		const double each = share / (k - s.s + 1) * bytes_of_place(slots, mean) + .25;

		if (each > .7525 || each < .715)
			fail_msg("%g Gbp: %.4f bytes a base", gbp[i], each);
	}
}

/* A limit leaves room for so many tenths of the features: for less than a quarter, or for more. */
TEST(test_tight)
{
	const struct world w = { .features = 10000000, .rest = 20000000, .words = 0 };
	const kh_limit_size all = build(&w, KH_LIMIT_ALL);
	const uint64_t tenth = all.index / 10;

	for (uint64_t part = 0; part < 12; part++) {
		kh_limit l = { .bytes = w.rest + part * tenth, .most = KH_LIMIT_ALL };

		kh_limit_start(&l, 0);
		const kh_limit_size first = build(&w, l.share);

		assert_int_equal(kh_limit_is_tight(&l, &first), part < 3);
		l.bytes = 0;
		assert_false(kh_limit_is_tight(&l, &first));
	}
}

int main(void)
{
	kh_log_level(KH_ERROR);
	return test_run(NULL, NULL);
}
