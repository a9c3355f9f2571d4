/* test_kmer.c - bases, reverse complements, canonical k-mers, packed sequences, the mix */
#include "test.h"

#include "packed.h"
#include "kmer/sampling.h"

static void test_base(void **state)
{
	static const char *const good[] = { "Aa", "Cc", "Gg", "TtUu" };
	unsigned char want[256];

	(void)state;
	memset(want, 4, sizeof want);
	for (unsigned b = 0; b < 4; b++)
		for (const char *p = good[b]; *p; p++)
			want[(unsigned char)*p] = (unsigned char)b;
	for (unsigned c = 0; c < 256; c++)
		assert_int_equal(kh_base((unsigned char)c), want[c]);
}

/* From the letters, one by one. */
static uint64_t slow_kmer(const char *s, unsigned k)
{
	uint64_t x = 0;

	for (unsigned i = 0; i < k; i++)
		x = x << 2 | kh_base((unsigned char)s[i]);
	return x;
}

static void test_reverse_complement(void **state)
{
	(void)state;
	for (unsigned k = 1; k <= KH_K_MAX; k++)
		for (int round = 0; round < 200; round++) {
			char *s = random_bases(k, 0), *r = reversed(s);
			uint64_t x = slow_kmer(s, k), rc = slow_kmer(r, k);

			assert_true(kh_kmer_rc(x, k) == rc);
			assert_true(kh_kmer_rc(rc, k) == x);
			assert_true(kh_kmer_reverse(kh_kmer_reverse(x, k), k) == x);
			assert_true(kh_kmer_canonical(x, k) == (x < rc ? x : rc));
			assert_true(kh_kmer_canonical(rc, k) == kh_kmer_canonical(x, k));
			free(s);
			free(r);
		}
}

static void test_extremes(void **state)
{
	(void)state;
	for (unsigned k = KH_K_MIN; k <= KH_K_MAX; k++) {
		uint64_t all = kh_kmer_mask(k);

		assert_true(all == (UINT64_C(1) << 2 * k) - 1);
		assert_true(kh_kmer_rc(0, k) == all);           /* A... and T... */
		assert_true(kh_kmer_canonical(all, k) == 0);
		assert_true(kh_bits_canonical(0, k) == 0);
		assert_true(kh_bits_canonical(all, k) == 0);
	}
}

static void check_packed(const char *s, const packed *p, size_t i, unsigned k)
{
	uint64_t bits = kh_packed_bits(p->bases, i, k), x = slow_kmer(s + i, k);
	int amb = 0;

	for (unsigned j = 0; j < k; j++)
		amb |= s[i + j] == 'N';
	assert_int_equal(kh_packed_ambiguous(p->amb, i, k), amb);
	if (amb)
		return;
	assert_true(kh_kmer_reverse(bits, k) == x);
	assert_true(kh_bits_canonical(bits, k) == kh_kmer_canonical(x, k));
}

static void test_packed(void **state)
{
	(void)state;
	char *s = random_bases(200, 20);
	packed p = pack(s, 200);

	for (unsigned k = 1; k <= KH_K_MAX; k++)
		for (size_t i = 0; i + k <= 200; i++)
			check_packed(s, &p, i, k);
	for (size_t i = 0; i < 200; i++) {
		assert_int_equal(kh_packed_amb(p.amb, i), s[i] == 'N');
		if (s[i] != 'N')
			assert_int_equal(kh_packed_base(p.bases, i), kh_base((unsigned char)s[i]));
	}
	unpack(&p);
	free(s);
}

/* The inverse of the finalizer, by the inverses of its factors: so it is a bijection. */
static uint64_t unmix(uint64_t x)
{
	x ^= x >> 33;
	x *= UINT64_C(0x9cb4b2f8129337db);
	x ^= x >> 33;
	x *= UINT64_C(0x4f74430c22a54005);
	return x ^ x >> 33;
}

static void test_mix(void **state)
{
	(void)state;
	assert_true(kh_fmix64(0) == 0);
	assert_true(kh_fmix64(1) == UINT64_C(0xb456bcfc34c2cb2c));      /* MurmurHash3's own */
	for (int i = 0; i < 100000; i++) {
		uint64_t x = test_rand();

		assert_true(unmix(kh_fmix64(x)) == x);
		assert_true(kh_key(x) >> KH_KEY_BITS == 0);
		assert_true(kh_key(x) == kh_fmix64(x ^ KH_INDEX_SEED) >> 16);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_base),
		cmocka_unit_test(test_reverse_complement),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_packed),
		cmocka_unit_test(test_mix),
	};

	test_seed();
	return cmocka_run_group_tests_name("kmer", tests, NULL, NULL);
}
