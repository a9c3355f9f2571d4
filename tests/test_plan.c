/* test_plan.c - the memory of a GPU build: plans never exceed the limit, and everything fits */
#include "test.h"

#include "backend/plan.h"
#include "index/index.h"

#define MB (UINT64_C(1) << 20)
#define GB (UINT64_C(1) << 30)

/* As CUB has it, more or less: counters, and a table for each tile of a part of the input. */
static uint64_t sort_scratch(uint64_t pairs)
{
	return 50000 + (pairs < 1 << 28 ? pairs : 1 << 28) / 6;
}

static uint64_t scan_scratch(uint64_t pairs)
{
	return 1024 + pairs / 96;
}

static kh_gpu_plan plan_of(uint64_t limit)
{
	return (kh_gpu_plan) { .limit = limit,
			       .slots = limit / 10,
			       .tables = limit / 100,
			       .sort_scratch = sort_scratch,
			       .scan_scratch = scan_scratch };
}

/* Limits from 4 MB to 200 GB. */
static uint64_t some_limit(void)
{
	const unsigned bits = 22 + (unsigned)(test_rand() % 16);

	return (UINT64_C(1) << bits) + test_rand() % (UINT64_C(1) << bits);
}

static void test_round(void **state)
{
	(void)state;
	assert_int_equal(kh_plan_round(1), 512);
	assert_int_equal(kh_plan_round(257), 768);
	assert_int_equal(kh_plan_round(MB - 512), MB - 256);
	assert_int_equal(kh_plan_round(MB - 255), 2 * MB);
	assert_int_equal(kh_plan_round(2 * MB - 256), 2 * MB);
	assert_int_equal(kh_plan_round(2 * MB + 1), 4 * MB);
	assert_int_equal(kh_plan_pairs(UINT64_C(3) << 30), 36 * GB + 4 * MB);
}

/* As much as fits, and not a pair more. */
static void test_most(void **state)
{
	(void)state;
	for (int i = 0; i < 1000; i++) {
		const kh_gpu_plan p = plan_of(some_limit());
		const uint64_t n = kh_plan_most(&p);

		assert_true(p.limit < 64 * MB || n > p.limit / 32);
		assert_true(kh_plan_sorting(&p, n) <= p.limit);
		assert_true(kh_plan_sorting(&p, n + 1) > p.limit);
	}
}

/* Blocks come and stay while they may, as in the CUDA builder's store.  No step goes beyond the
 * limit with what has stayed; the pairs that stayed, before the first that could not. */
static uint64_t fill(const kh_gpu_plan *p, uint64_t usual, uint64_t block)
{
	uint64_t store = 0, pairs = 0, blocks = 0, cap = 0, at = 0;

	for (;;) {
		const uint64_t n = 1 + test_rand() % block;

		if (at + n <= cap) {
			if (!kh_plan_stays(p, store, pairs, blocks, n))
				break;
		} else {
			cap = kh_plan_chunk(p, p->slots + store, store, pairs, blocks, n, usual);
			if (cap == 0)
				break;
			assert_true(cap >= n && (cap <= usual || cap == n));
			store += kh_plan_pairs(cap);
			at = 0;
		}
		at += n;
		pairs += n;
		blocks++;
		if (p->slots + store > p->limit || kh_plan_sorting(p, pairs) > p->limit ||
		    kh_plan_gathering(p, store, pairs, blocks) > p->limit)
			fail_msg("limit %llu, block %llu: %llu pairs of %llu blocks do not fit",
				 (unsigned long long)p->limit, (unsigned long long)block,
				 (unsigned long long)pairs, (unsigned long long)blocks);
	}
	return pairs;
}

static void test_store(void **state)
{
	(void)state;
	for (int i = 0; i < 300; i++) {
		kh_gpu_plan p = plan_of(some_limit());
		const uint64_t most = kh_plan_most(&p), block = 1 + most / (1 + test_rand() % 300);
		uint64_t got;

		p.most = i % 4 ? most : 0;
		got = fill(&p, 1 + most / (1 + test_rand() % 40), block);
		assert_true(got <= most);
		/* what is left unused: a block, the rest of each chunk, the slots */
		if (block < most / 100)
			assert_true(got > most / 2);
	}
	/* the chunks of the builder, and its usual blocks, on 24 and 140 GB: nine tenths stay */
	for (uint64_t limit = 24 * GB; limit <= 140 * GB; limit += 29 * GB) {
		kh_gpu_plan p = plan_of(limit);

		p.slots = p.tables = GB / 2;
		assert_true(fill(&p, UINT64_C(1) << 26, 1 << 19) > kh_plan_most(&p) / 10 * 9);
	}
}

/* Spilled pairs come back in waves, each below the limit, and all of them. */
static void test_waves(void **state)
{
	(void)state;
	for (int i = 0; i < 300; i++) {
		kh_gpu_plan p = plan_of(some_limit());
		uint64_t count[KH_RANGES], largest = 0;
		const uint64_t mean = 1 + test_rand() % (p.limit / 50);
		unsigned from = 0, waves = 0;

		for (int r = 0; r < KH_RANGES; r++) {
			count[r] = test_rand() % 9 ? mean + test_rand() % (mean / 8 + 1)
						   : test_rand() % (2 * mean);
			largest = count[r] > largest ? count[r] : largest;
		}
		if (kh_plan_least(&p, largest) > p.limit) {
			for (; from < KH_RANGES && count[from] < largest; from++)
				;
			assert_int_equal(kh_plan_wave(&p, count, from, KH_RANGES), from);
			continue;
		}
		for (; from < KH_RANGES; waves++) {
			const unsigned to = kh_plan_wave(&p, count, from, KH_RANGES);
			uint64_t n = 0;

			assert_true(to > from && to <= KH_RANGES);
			for (unsigned r = from; r < to; r++)
				n += count[r];
			assert_true(kh_plan_sorting(&p, n) <= p.limit);
			for (unsigned r = from; r < to; r++)
				assert_true(kh_plan_pairs(n) + p.tables +
					    kh_plan_encoding(&p, count[r], count[r], 1) <=
					    p.limit);
			from = to;
		}
		assert_true(waves <= KH_RANGES);
	}
}

/* The limit that is said to be the least is enough, and no smaller one is. */
static void test_least(void **state)
{
	(void)state;
	for (int i = 0; i < 1000; i++) {
		const uint64_t n = test_rand() % (UINT64_C(1) << (10 + test_rand() % 20));
		kh_gpu_plan p = plan_of(some_limit());
		uint64_t count[KH_RANGES] = { n };

		p.slots = 0;
		p.limit = kh_plan_least(&p, n);
		assert_int_equal(kh_plan_wave(&p, count, 0, 1), 1);
		p.limit--;
		assert_int_equal(kh_plan_wave(&p, count, 0, 1), 0);
	}
}

/* As many pairs come from other devices as are given, or more. */
static void test_exchange(void **state)
{
	(void)state;
	for (int i = 0; i < 1000; i++) {
		const kh_gpu_plan p = plan_of(some_limit());
		const uint64_t n = test_rand() % kh_plan_most(&p);
		const uint64_t come = 3 * (test_rand() % (n + 1)) / 2;
		const uint64_t all = kh_plan_exchange(&p, n, come);

		assert_true(all >= kh_plan_pairs(n) + kh_plan_pairs(come) + p.tables);
		assert_true(all >= kh_plan_sorting(&p, n) && all >= kh_plan_sorting(&p, come));
		if (come <= n)
			assert_int_equal(all, kh_plan_sorting(&p, n));
	}
}

/* --- the host ----------------------------------------------------------------------- */
static void test_host_plan(void **state)
{
	const kh_host_plan here = kh_host_plan_of(12345, "x"),
			   nowhere = kh_host_plan_of(1, "no such folder/x");
	const kh_host_plan h = { 10 * GB, 5 * GB, "some.khdb" }, unlimited = { 0, 0, "x" };
	kh_err why = { 0, "" };

	(void)state;
	assert_int_equal(here.memory, 12345);
	assert_true(here.disk > 0);
	assert_int_equal(nowhere.disk, 0);
	assert_int_equal(kh_host_plan_check(&h, 20 * GB, "features", &why), KH_OK);
	assert_int_equal(kh_host_plan_check(&unlimited, 900 * GB, "features", &why), KH_OK);
	assert_int_equal(kh_host_plan_check(&h, 21 * GB, "features", &why), KH_ENOMEM);
	assert_string_equal(why.msg, "about 22548.6 MB of features have to be kept, but there are "
			    "10737.4 MB of memory for them and 5368.7 MB of disk beside some.khdb");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round),    cmocka_unit_test(test_most),
		cmocka_unit_test(test_store),    cmocka_unit_test(test_waves),
		cmocka_unit_test(test_least),    cmocka_unit_test(test_exchange),
		cmocka_unit_test(test_host_plan)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
