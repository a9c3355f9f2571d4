/* test_shard.c - runs of ranges with near-equal weights */
#include "test.h"
#include <string.h>
#include "index/shard.h"

static uint64_t weight[KH_RANGES];

static uint64_t sum(unsigned from, unsigned to)
{
	uint64_t x = 0;

	for (unsigned p = from; p < to; p++)
		x += weight[p];
	return x;
}

/* What is true of any cut: runs in order that cover all, each cut nearest to its goal. */
static void check(unsigned n)
{
	const uint64_t all = sum(0, KH_RANGES);
	kh_shards s;

	kh_shards_cut(&s, weight, n);
	assert_int_equal(s.n, n);
	assert_int_equal(s.first[0], 0);
	assert_int_equal(s.first[n], KH_RANGES);
	for (unsigned i = 1; i <= n; i++)
		assert_true(s.first[i - 1] <= s.first[i]);
	for (unsigned i = 1; i < n; i++) {
		const uint64_t goal = (uint64_t)((unsigned __int128)all * i / n);
		const uint64_t at = sum(0, s.first[i]);
		const uint64_t off = at > goal ? at - goal : goal - at;

		for (unsigned p = s.first[i - 1]; p <= KH_RANGES; p++) {
			uint64_t other = sum(0, p);

			assert_true((other > goal ? other - goal : goal - other) >= off);
		}
	}
	for (unsigned p = 0; p < KH_RANGES; p++) {
		unsigned m = kh_shards_owner(&s, p);

		assert_true(m < n && s.first[m] <= p && p < s.first[m + 1]);
	}
}

static void check_all(void)
{
	for (unsigned n = 1; n < 20; n++)
		check(n);
	check(64);
	check(KH_MEMBERS_MAX);
}

/* Range p is of p * n / 256: what the kernels of cuda/kernels/split.cu go by. */
static void test_even(void **state)
{
	kh_shards s;

	(void)state;
	for (unsigned n = 1; n <= KH_MEMBERS_MAX; n++) {
		kh_shards_even(&s, n);
		assert_int_equal(s.n, n);
		assert_int_equal(s.first[n], KH_RANGES);
		for (unsigned p = 0; p < KH_RANGES; p++)
			assert_int_equal(kh_shards_owner(&s, p), p * n / KH_RANGES);
	}
}

/* One range that holds nearly all, at any place; none holds anything; only the ends do. */
static void test_skewed(void **state)
{
	(void)state;
	for (unsigned heavy = 0; heavy < KH_RANGES; heavy += 51) {
		memset(weight, 0, sizeof weight);
		check_all();
		weight[heavy] = UINT64_C(1) << 50;
		check_all();
		weight[0] += 3;
		weight[KH_RANGES - 1] += 5;
		check_all();
	}
}

static void test_random(void **state)
{
	(void)state;
	for (int round = 0; round < 50; round++) {
		unsigned most = (unsigned)(test_rand() % 60);

		for (unsigned p = 0; p < KH_RANGES; p++)
			weight[p] = test_rand() % 3
					    ? (test_rand() >> 8) >> (test_rand() % (most + 1)) >> 4
					    : 0;
		check_all();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_even),
		cmocka_unit_test(test_skewed),
		cmocka_unit_test(test_random),
	};

	test_seed();
	return cmocka_run_group_tests_name("shard", tests, NULL, NULL);
}
