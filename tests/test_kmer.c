/* test_kmer.c - bases, reverse complements, canonical k-mers, packed sequences, the mix, repeats */
#include "test.h"
#include "packed.h"
#include "kmer/sampling.h"
#include "kmer/syncmer.h"

TEST(test_base)
{
	static const char *const good[] = { "Aa", "Cc", "Gg", "TtUu" };
	unsigned char want[256];

	memset(want, 4, sizeof want);
	for (unsigned b = 0; b < 4; b++)
		for (const char *p = good[b]; *p; p++)
			want[(unsigned char)*p] = (unsigned char)b;
	for (unsigned c = 0; c < 256; c++)
		assert_int_equal(base_of((unsigned char)c), want[c]);
}

TEST(test_reverse_complement)
{
	for (unsigned k = 1; k <= KH_K_MAX; k++)
		for (int round = 0; round < 200; round++) {
			char *s = random_bases(k, 0), *r = reversed(s);
			uint64_t x = slow_kmer(s, k), rc = slow_kmer(r, k);

			assert_true(kh_kmer_rc(x, k) == rc);
			assert_true(kh_kmer_rc(rc, k) == x);
			assert_true(kh_kmer_reverse(kh_kmer_reverse(x, k), k) == x);
			assert_true(canonical_of(x, k) == (x < rc ? x : rc));
			assert_true(canonical_of(rc, k) == canonical_of(x, k));
			free(s);
			free(r);
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
	assert_true(kh_bits_canonical(bits, k) == canonical_of(x, k));
}

TEST(test_packed)
{
	char *s = random_bases(200, 20);
	packed p = pack(s, 200);

	for (unsigned k = 1; k <= KH_K_MAX; k++)
		for (size_t i = 0; i + k <= 200; i++)
			check_packed(s, &p, i, k);
	for (size_t i = 0; i < 200; i++) {
		assert_int_equal(kh_packed_amb(p.amb, i), s[i] == 'N');
		if (s[i] != 'N')
			assert_int_equal(kh_packed_base(p.bases, i), base_of((unsigned char)s[i]));
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

TEST(test_mix)
{
	assert_true(kh_fmix64(0) == 0);
	assert_true(kh_fmix64(1) == UINT64_C(0xb456bcfc34c2cb2c));      /* MurmurHash3's own */
	for (int i = 0; i < 100000; i++) {
		uint64_t x = test_rand();

		assert_true(unmix(kh_fmix64(x)) == x);
		assert_true(kh_key(x) >> KH_KEY_BITS == 0);
		assert_true(kh_key(x) == kh_fmix64(x ^ KH_INDEX_SEED) >> 16);
	}
}

/* Keys of any number of k-mers of any length. */
TEST(test_keys)
{
	kh_keys_fn *fast = kh_keys_avx2();
	uint64_t want[40], got[40];

	for (unsigned k = KH_K_MIN; fast && k <= KH_K_MAX; k++)
		for (size_t n = 0; n < 40; n++) {
			for (size_t i = 0; i < 40; i++)
				want[i] = got[i] = test_rand() & kh_kmer_mask(k);
			kh_keys_plain(want, n, k);
			fast(got, n, k);
			assert_memory_equal(got, want, sizeof got);
		}
}

/* A k-mer of random bases, of a repeat, or of a repeat of which some bases have changed. */
static uint64_t some_kmer(unsigned k)
{
	const unsigned p = 1 + (unsigned)(test_rand() % 8), worn = (unsigned)(test_rand() % 4);
	uint64_t x = test_rand() & kh_kmer_mask(k);

	for (unsigned i = p; i < k && worn > 0; i++)
		if (worn == 1 || test_rand() % (4 * worn) != 0) {
			x &= ~(UINT64_C(3) << 2 * i);
			x |= (x >> 2 * (i - p) & 3) << 2 * i;
		}
	return x;
}

static void check_repeats(kh_repeats_fn *find, unsigned k)
{
	uint64_t kmer[98];
	uint8_t is[13];
	unsigned found = 0;

	for (size_t i = 0; i < 98; i++)
		kmer[i] = some_kmer(k);
	for (size_t n = 0; find && n <= 97; n += 1 + test_rand() % 24) {
		find(k, kmer, n, is);
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(is[i / 8] >> i % 8 & 1, slow_repeat(kmer[i], k));
			assert_int_equal(slow_repeat(kh_kmer_rc(kmer[i], k), k),
					 slow_repeat(kmer[i], k));
			found += slow_repeat(kmer[i], k) != 0;
		}
		assert_true(n % 8 == 0 || is[n / 8] >> n % 8 == 0);
		assert_true(n < 90 || (found > 10 && found < 1000));
	}
}

/* Every k, in C and AVX2, as far as that is here. */
TEST(test_repeats)
{
	for (unsigned round = 0; round < 50; round++)
		for (unsigned k = KH_K_MIN; k <= KH_K_MAX; k++) {
			check_repeats(kh_repeats_plain, k);
			check_repeats(kh_repeats_avx2(), k);
		}
}
