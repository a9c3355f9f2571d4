/* test_many.c - operations on many words, keys and places: plain C against models of what they
 * say, and AVX-512, where the machine has it, against plain C */
#include "test.h"

#include <string.h>
#include "index/keys.h"
#include "index/many.h"

enum { MOST = 300, GUARD = 16 };

static const kh_many *both[2];
static unsigned n_both = 1;

static size_t some_count(void)
{
	static const size_t edge[] = { 0, 1, 7, 8, 9, 15, 16, 17, 63, 64, 65 };
	const uint64_t x = test_rand();

	return x % 3 == 0 ? MOST - x / 3 % 20 : edge[x / 3 % (sizeof edge / sizeof *edge)];
}

/* Often 0, all ones or a power of two. */
static uint64_t extreme(unsigned bits)
{
	const uint64_t mask = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX, x = test_rand();

	switch (test_rand() % 5) {
	case 0: return 0;
	case 1: return mask;
	case 2: return UINT64_C(1) << x % bits;
	default: return x & mask;
	}
}

/* --- packing ------------------------------------------------------------------------- */
static bool bit_of(const unsigned char *p, uint64_t bit)
{
	return p[bit / 8] >> bit % 8 & 1;
}

static void test_words(void **state)
{
	(void)state;
	for (uint32_t bits = 1; bits <= 32; bits++)
		for (int round = 0; round < 40; round++) {
			const size_t n = some_count();
			const uint64_t padded = (n * bits + 31) / 32 * 4;
			uint32_t word[MOST + GUARD], packed[MOST + GUARD], out[MOST + GUARD];
			const unsigned char *bytes = (unsigned char *)packed;

			for (size_t i = 0; i < n + GUARD; i++)
				word[i] = (uint32_t)extreme(bits);
			for (unsigned k = 0; k < n_both; k++) {
				memcpy(packed, word, sizeof packed);
				both[k]->pack(packed, n, bits);
				assert_memory_equal(packed + n, word + n, GUARD * sizeof *word);
				for (uint64_t i = 0; i < padded * 8; i++)
					assert_int_equal(bit_of(bytes, i), i < n * bits &&
							 (word[i / bits] >> i % bits & 1));
			}
			for (unsigned k = 0; k < n_both; k++) {
				const size_t from = n ? test_rand() % n : 0;

				memset(out, 0xa5, sizeof out);
				both[k]->unpack(packed, from * bits, bits, out, n - from);
				assert_memory_equal(out, word + from, (n - from) * sizeof *out);
				assert_int_equal(out[n - from], 0xa5a5a5a5);
			}
		}
}

/* --- keys and places ------------------------------------------------------------------ */
static int by_key(const void *a, const void *b)
{
	return (*(const uint64_t *)a > *(const uint64_t *)b) -
	       (*(const uint64_t *)a < *(const uint64_t *)b);
}

/* Distinct ascending keys, some next to one another or at the end of what there is; often such as
 * lie next to the boundary of two places. */
static size_t make_keys(uint64_t *key, uint32_t B)
{
	const uint64_t all = UINT64_C(1) << 40;
	size_t n = some_count(), left = 0;

	for (size_t i = 0; i < n; i++) {
		key[i] = extreme(40);
		if (test_rand() % 2) {
			const uint64_t place = kh_key_place(key[i], B);

			key[i] = kh_key_least(place, B, kh_divisor_of(B)) - test_rand() % 2;
		}
		key[i] = (key[i] + test_rand() % 3 - 1) % all;
	}
	qsort(key, n, sizeof *key, by_key);
	for (size_t i = 0; i < n; i++)
		if (left == 0 || key[left - 1] != key[i])
			key[left++] = key[i];
	return left;
}

static uint32_t some_buckets(void)
{
	const uint64_t x = extreme(24);

	return x == 0 ? 1 : (uint32_t)x;
}

static void test_keys(void **state)
{
	(void)state;
	for (int round = 0; round < 3000; round++) {
		const uint32_t B = some_buckets();
		uint64_t key[MOST], place[MOST + 1], again[MOST + 1];
		uint32_t rest[MOST + 1];
		const size_t n = make_keys(key, B);

		for (unsigned k = 0; k < n_both; k++) {
			place[n] = rest[n] = 0xa5a5a5a5;
			both[k]->places(key, n, B, place, rest);
			assert_true(place[n] == 0xa5a5a5a5 && rest[n] == 0xa5a5a5a5);
			for (size_t i = 0; i < n; i++) {
				assert_true(place[i] == kh_key_place(key[i], B));
				assert_int_equal(rest[i], (key[i] * B & 0xffffff) / B);
			}
			memcpy(again, place, sizeof again);
			both[k]->places(key, n, B, again, NULL);
			assert_memory_equal(again, place, sizeof again);
			assert_true(both[k]->keys(again, rest, n, B, n ? key[0] : 0));
			assert_memory_equal(again, key, n * sizeof *key);
			assert_true(again[n] == 0xa5a5a5a5);
		}
	}
}

/* What does not fit is found, wherever it is. */
static void test_wrong_keys(void **state)
{
	(void)state;
	for (int round = 0; round < 3000; round++) {
		const uint32_t B = some_buckets();
		uint64_t key[MOST], place[MOST];
		uint32_t rest[MOST];
		const size_t n = make_keys(key, B);

		if (n == 0)
			continue;
		for (unsigned k = 0; k < n_both; k++) {
			const size_t i = test_rand() % n;

			both[k]->places(key, n, B, place, rest);
			assert_false(both[k]->keys(place, rest, n, B, key[0] + 1));
			both[k]->places(key, n, B, place, rest);
			rest[i] += ((UINT32_C(1) << 24) + B - 1) / B;
			assert_false(both[k]->keys(place, rest, n, B, 0));
			both[k]->places(key, n, B, place, rest);
			place[i] = (uint64_t)B << 16;   /* behind all */
			assert_false(both[k]->keys(place, rest, n, B, 0));
			if (i == 0)
				continue;
			both[k]->places(key, n, B, place, rest);
			place[i] = place[i - 1];
			rest[i] = rest[i - 1];
			assert_false(both[k]->keys(place, rest, n, B, 0));
		}
	}
}

/* --- buckets and steps ------------------------------------------------------------------ */
static void test_homes(void **state)
{
	(void)state;
	for (int round = 0; round < 300; round++) {
		const uint64_t number = extreme(24);
		uint64_t place[KH_BUCKET_SLOTS + 1];
		kh_bucket b;

		for (size_t i = 0; i < sizeof b; i++)
			((unsigned char *)&b)[i] = (unsigned char)test_rand();
		for (unsigned k = 0; k < n_both; k++) {
			place[KH_BUCKET_SLOTS] = 0xa5;
			both[k]->homes(&b, number, place);
			assert_true(place[KH_BUCKET_SLOTS] == 0xa5);
			for (int i = 0; i < KH_BUCKET_SLOTS; i++)
				assert_true(place[i] == (number << 16 | b.tag[i]));
		}
	}
}

static void test_steps(void **state)
{
	(void)state;
	for (int round = 0; round < 2000; round++) {
		const size_t n = some_count();
		kh_steps steps = { .n = (uint32_t)(test_rand() % (KH_STEPS_MAX + 1)) };
		uint32_t word[MOST], out[MOST + 1], end = 0;

		for (uint32_t s = 0; s < steps.n; s++) {
			steps.at[s] = (uint32_t)extreme(32);
			steps.by[s] = (uint32_t)extreme(32);
		}
		for (size_t i = 0; i < n; i++) {
			word[i] = (uint32_t)extreme(32) / 2;
			end = word[i] >= end ? word[i] + 1 : end;
		}
		for (unsigned k = 0; k < n_both; k++) {
			memcpy(out, word, n * sizeof *out);
			out[n] = 0xa5a5a5a5;
			assert_true(both[k]->move(out, n, &steps, end));
			assert_int_equal(out[n], 0xa5a5a5a5);
			for (size_t i = 0; i < n; i++) {
				uint32_t to = word[i];

				for (uint32_t s = 0; s < steps.n; s++)
					to += word[i] >= steps.at[s] ? steps.by[s] : 0;
				assert_int_equal(out[i], to);
			}
			memcpy(out, word, n * sizeof *out);
			assert_int_equal(both[k]->move(out, n, &steps, end - 1), n == 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_wrong_keys),
		cmocka_unit_test(test_homes),
		cmocka_unit_test(test_steps),
	};

	test_seed();
	both[0] = kh_many_plain();
	both[1] = kh_many_avx512();
	n_both += both[1] != NULL;
	fprintf(stderr, "# %s\n", both[1] ? both[1]->name : "no AVX-512 here");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
