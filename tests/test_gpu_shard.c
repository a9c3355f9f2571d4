/*
 * test_gpu_shard.c - pairs to their owners: the kernels against plain loops
 */
#include "test_gpu.h"

#include "cuda/gpu/gpu.h"
#include "cuda/kernels/builder.h"
#include "index/shard.h"

enum { MOST = 300000 };

static uint64_t key[MOST], out_key[MOST];
static uint32_t bin[MOST], out_bin[MOST];

/* Random keys; half of the time a few of them are had by most pairs. */
static void make_pairs(size_t n)
{
	const bool crowded = test_rand() % 2;

	for (size_t i = 0; i < n; i++) {
		uint64_t x = test_rand();

		if (crowded && x % 4)
			x = kh_fmix64(x % 3);
		key[i] = kh_fmix64(x) >> 16;
		bin[i] = (uint32_t)i;
	}
}

static void put(kh_gpu_buf *b, const void *p, size_t bytes)
{
	ok(kh_gpu_room(b, bytes, err));
	if (p)
		ok(KH_GPU(cudaMemcpy(b->p, p, bytes, cudaMemcpyHostToDevice), err));
	else
		ok(KH_GPU(cudaMemset(b->p, 0xa5, bytes), err));
}

static void get(void *p, const void *from, size_t bytes)
{
	ok(KH_GPU(cudaMemcpy(p, from, bytes, cudaMemcpyDeviceToHost), err));
}

static void one_split(size_t n, size_t bound, unsigned owners)
{
	static kh_gpu_buf b[7];
	const uint32_t count = (uint32_t)n;
	uint64_t size[KH_GPU_OWNERS];
	kh_gpu_split s = { .bound = bound, .n = owners };
	kh_shards even;
	size_t at = 0;

	make_pairs(n);
	put(&b[0], key, bound * 8);
	put(&b[1], bin, bound * 4);
	put(&b[2], &count, sizeof count);
	put(&b[3], NULL, bound * 8);
	put(&b[4], NULL, bound * 4);
	put(&b[5], NULL, sizeof size);
	put(&b[6], NULL, kh_gpu_split_scratch(bound, owners));
	s.key = b[0].p;
	s.bin = b[1].p;
	s.count = b[2].p;
	s.key2 = b[3].p;
	s.bin2 = b[4].p;
	s.size = b[5].p;
	s.scratch = b[6].p;
	ok(kh_gpu_check(kh_gpu_split_run(&s, NULL), "split kernels", err));
	get(out_key, b[3].p, n * 8);
	get(out_bin, b[4].p, n * 4);
	get(size, b[5].p, sizeof size);
	kh_shards_even(&even, owners);
	for (unsigned o = 0; o < owners; o++) {
		const size_t from = at;

		for (size_t i = 0; i < n; i++)
			if (kh_shards_owner(&even, kh_key_range(key[i])) == o) {
				if (out_key[at] != key[i] || out_bin[at] != bin[i])
					fail_msg("%zu pairs, %u owners: pair %zu of owner %u", n,
						 owners, at - from, o);
				at++;
			}
		assert_int_equal(size[o], at - from);
	}
	assert_int_equal(at, n);
	if (n == MOST)                  /* the last */
		for (int i = 0; i < 7; i++)
			kh_gpu_drop(&b[i]);
}

static void test_split(void **state)
{
	static const size_t edge[] = { 0,    1,    31,   32,    33,    511,	  512, 513,
				       4095, 4096, 4097, 65536, 65537, 262145 };
	static const unsigned owners[] = { 1, 2, 3, 4, 5, 7, 8, 16, 63, 64 };

	(void)state;
	for (size_t i = 0; i < sizeof edge / sizeof *edge; i++)
		one_split(edge[i], edge[i] + 1 + test_rand() % 9000, owners[i % 10]);
	for (size_t i = 0; i < 10; i++)
		one_split(test_rand() % 200000, 200000, owners[i]);
	one_split(MOST, MOST, 4);
}

/* The pairs of some ranges, stably, and nothing is written behind them; the counts of a block. */
static void one_selection(size_t n, size_t bound, uint32_t from, uint32_t to)
{
	kh_gpu_buf b[7] = { { .p = NULL } };
	const uint32_t count = (uint32_t)n;
	uint64_t weight[KH_RANGES] = { 0 }, want[KH_RANGES] = { 0 };
	kh_gpu_split s = { .bound = bound, .n = 1, .from = from, .to = to };
	size_t at = 0;

	make_pairs(n);
	put(&b[0], key, bound * 8);
	put(&b[1], bin, bound * 4);
	put(&b[2], &count, sizeof count);
	put(&b[3], NULL, MOST * 8);
	put(&b[4], NULL, MOST * 4);
	put(&b[5], weight, sizeof weight);
	put(&b[6], NULL, kh_gpu_split_scratch(bound, 1));
	s.key = b[0].p;
	s.bin = b[1].p;
	s.count = b[2].p;
	s.key2 = b[3].p;
	s.bin2 = b[4].p;
	s.scratch = b[6].p;
	ok(kh_gpu_check(kh_gpu_split_run(&s, NULL), "split kernels", err));
	ok(kh_gpu_check(kh_gpu_weigh(s.key, s.count, bound, b[5].p, NULL), "weighing kernel",
			err));
	get(out_key, b[3].p, MOST * 8);
	get(out_bin, b[4].p, MOST * 4);
	get(weight, b[5].p, sizeof weight);
	for (size_t i = 0; i < n; i++) {
		const uint32_t range = kh_key_range(key[i]);

		want[range]++;
		if (range < from || range >= to)
			continue;
		if (out_key[at] != key[i] || out_bin[at] != bin[i])
			fail_msg("%zu pairs, ranges %u to %u: pair %zu", n, from, to, at);
		at++;
	}
	for (; at < MOST; at++)
		assert_int_equal(out_bin[at], 0xa5a5a5a5);
	assert_memory_equal(weight, want, sizeof want);
	for (int i = 0; i < 7; i++)
		kh_gpu_drop(&b[i]);
}

static void test_selection(void **state)
{
	(void)state;
	for (int i = 0; i < 30; i++) {
		const size_t bound = 1 + test_rand() % (i % 2 ? MOST : 9000);
		const uint32_t from = (uint32_t)(test_rand() % KH_RANGES);

		one_selection(test_rand() % (bound + 1), bound, from,
			      from + 1 + (uint32_t)(test_rand() % (KH_RANGES - from)));
	}
	one_selection(MOST, MOST, 0, KH_RANGES);
}

static void test_weigh(void **state)
{
	static kh_gpu_buf k, w;
	uint64_t weight[KH_RANGES], want[KH_RANGES] = { 0 };

	(void)state;
	make_pairs(MOST);
	for (size_t i = 0; i < MOST; i++)
		want[kh_key_range(key[i])]++;
	put(&k, key, sizeof key);
	memset(weight, 0, sizeof weight);
	put(&w, weight, sizeof weight);
	ok(kh_gpu_check(kh_gpu_weigh(k.p, NULL, MOST, w.p, NULL), "weighing kernel", err));
	get(weight, w.p, sizeof weight);
	assert_memory_equal(weight, want, sizeof want);
	kh_gpu_drop(&k);
	kh_gpu_drop(&w);
}

/* Equal ranges keep their order. */
static void test_by_range(void **state)
{
	static kh_gpu_buf k[2], b[2], scratch;
	kh_gpu_sort s = { .n = MOST, .from = KH_RANGE_BIT, .bits = KH_KEY_BITS };

	(void)state;
	make_pairs(MOST);
	put(&k[0], key, sizeof key);
	put(&b[0], bin, sizeof bin);
	put(&k[1], NULL, sizeof key);
	put(&b[1], NULL, sizeof bin);
	s.key = k[0].p;
	s.key2 = k[1].p;
	s.bin = b[0].p;
	s.bin2 = b[1].p;
	ok(kh_gpu_check(kh_gpu_sort_run(&s, NULL), "sort", err));
	ok(kh_gpu_room(&scratch, s.scratch_bytes, err));
	s.scratch = scratch.p;
	ok(kh_gpu_check(kh_gpu_sort_run(&s, NULL), "sort", err));
	get(out_key, s.key, sizeof key);
	get(out_bin, s.bin, sizeof bin);
	for (size_t i = 0; i < MOST; i++) {
		assert_int_equal(out_key[i], key[out_bin[i]]);
		if (i == 0)
			continue;
		assert_true(out_key[i] >> 40 >= out_key[i - 1] >> 40);
		if (out_key[i] >> 40 == out_key[i - 1] >> 40)
			assert_true(out_bin[i] > out_bin[i - 1]);
	}
	for (int i = 0; i < 2; i++) {
		kh_gpu_drop(&k[i]);
		kh_gpu_drop(&b[i]);
	}
	kh_gpu_drop(&scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split), cmocka_unit_test(test_selection),
		cmocka_unit_test(test_weigh),
		cmocka_unit_test(test_by_range),
	};
	int status;

	test_seed();
	if (!gpu_there(&status))
		return status;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
