/*
 * test_kraken2.c - the k-mers of made-up bases by random rules: without an ambiguous one, which has
 * a loop of its own, as with one behind the end, which has another
 */
#include "test.h"
#include <string.h>
#include "kraken2/scan.h"
#include "packed.h"

static kh_k2_rule random_rule(void)
{
	kh_k2_rule r = { .l = 1 + (uint32_t)(test_rand() % 31) };

	r.k = r.l + (uint32_t)(test_rand() % (test_rand() % 4 ? 8 : 60));
	r.mask = (UINT64_C(1) << 2 * r.l) - 1;
	r.seed = test_rand() % 2 ? r.mask : test_rand() & r.mask;
	r.toggle = test_rand() % 2 ? 0 : test_rand() & r.mask;
	r.old_complement = test_rand() % 4 == 0;
	return r;
}

/* Of few letters, so that minimizers come twice. */
static void random_text(char *s, size_t n)
{
	const unsigned letters = 1 + (unsigned)(test_rand() % 4);

	for (size_t i = 0; i < n; i++)
		s[i] = "ACGT"[test_rand() % letters];
	s[n] = 'N';
}

static kh_k2_asked scan(const kh_k2_rule *r, const char *s, size_t n)
{
	packed p = pack(s, n);
	const kh_k2_bases b = { p.bases, p.amb, 0, n };
	kh_k2_scanner scanner = { .cap_ring = 0 };
	kh_k2_asked a = { .n = 0 };
	kh_err err;

	/* behind what another fragment has asked */
	assert_int_equal(kh_k2_border(&a, KH_K2_MATES, &err), 0);
	assert_int_equal(kh_k2_scan(&scanner, r, &b, &a, &err), 0);
	kh_k2_scanner_clear(&scanner);
	unpack(&p);
	return a;
}

static void test_scan(void **state)
{
	(void)state;
	for (int round = 0; round < 20000; round++) {
		const kh_k2_rule r = random_rule();
		const size_t n = r.k + test_rand() % 200;
		char s[400];

		random_text(s, n);
		kh_k2_asked plain = scan(&r, s, n), more = scan(&r, s, n + 1);
		assert_int_equal(plain.n, more.n);
		assert_memory_equal(plain.key, more.key, plain.n * sizeof *plain.key);
		assert_int_equal(plain.n_runs + 1, more.n_runs);
		assert_memory_equal(plain.run, more.run, plain.n_runs * sizeof *plain.run);
		assert_int_equal(more.run[plain.n_runs].what, KH_K2_AMBIGUOUS);
		kh_k2_asked_clear(&plain);
		kh_k2_asked_clear(&more);
		if (r.k > 1) {
			kh_k2_asked none = scan(&r, s, r.k - 1);

			assert_int_equal(none.n, 0);
			assert_int_equal(none.n_runs, 1);
			kh_k2_asked_clear(&none);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_scan) };

	test_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
