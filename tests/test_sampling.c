/* test_sampling.c - what both sampling schemes promise; oracle_sampling.py has their definitions */
#include "test.h"
#include "index/index.h"
#include "packed.h"
#include "kmer/sampling.h"
#include "kmer/syncmer.h"

static const kh_sampling schemes[] = {
	{ KH_SYNCMER, 18, 12, 112, 0, 0 }, { KH_SYNCMER, 8, 2, 112, 0, 0 },
	{ KH_SYNCMER, 31, 15, 112, 0, 0 }, { KH_SYNCMER, 16, 14, 16, 0, 0 },
	{ KH_SYNCMER, 22, 16, 4096, 0, 0 }, { KH_SYNCMER, 31, 29, 100, 0, 0 },
	{ KH_MINHASH, 16, 16, 112, 0, 0 }, { KH_MINHASH, 18, 1, 16, 0, 0 },
	{ KH_MINHASH, 31, 64, 112, 0, 0 }, { KH_MINHASH, 8, 64, 17, 0, 0 },
	{ KH_MINHASH, 22, 16, 4096, 0, 0 }, { KH_MINHASH, 12, 64, 64, 0, 0 },
	/* a half of the features, a few, nearly all, one of all */
	{ KH_SYNCMER, 18, 14, 112, UINT32_C(1) << 31, 0 },
	{ KH_SYNCMER, 22, 16, 50, 0xf0000000, 0 },
	{ KH_MINHASH, 16, 16, 112, 0xc0000000, 0 }, { KH_MINHASH, 9, 64, 30, 1000000, 0 },
	{ KH_SYNCMER, 8, 2, 112, UINT32_MAX, 0 },
	/* without repeats: 1, 2, 2 and 3 periods */
	{ KH_SYNCMER, 8, 6, 112, 0, 1 }, { KH_SYNCMER, 11, 9, 16, 0, 1 },
	{ KH_SYNCMER, 14, 10, 112, 0, 1 }, { KH_SYNCMER, 18, 14, 112, 0, 1 },
	{ KH_SYNCMER, 31, 27, 50, 0xa0000000, 1 }, { KH_MINHASH, 8, 64, 17, 0, 1 },
	{ KH_MINHASH, 16, 16, 112, 0, 1 }, { KH_MINHASH, 22, 5, 30, 0x40000000, 1 },
};
enum { N_SCHEMES = sizeof schemes / sizeof schemes[0] };

typedef struct feature {
	uint64_t key;
	uint32_t pos;
} feature;

static int by_order(const void *a, const void *b)
{
	const feature *x = a, *y = b;

	if (x->pos != y->pos)
		return x->pos < y->pos ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

/* --- the real thing, within its bound, sorted ------------------------------------- */
static size_t run(const kh_sampling *rule, const packed *p, uint64_t from, uint64_t to, feature *f)
{
	uint64_t bound = kh_sampling_bound(rule, to > from ? to - from : 0);
	uint64_t *key = malloc((bound + 1) * sizeof *key);
	uint32_t *pos = malloc((bound + 1) * sizeof *pos);
	kh_sampling_span st = { p->bases, p->amb, from, to };

	key[bound] = UINT64_C(0xdeadbeef);
	pos[bound] = 0xdeadbeef;
	size_t n = kh_sampling_run(rule, &st, key, pos);
	assert_true(n <= bound);
	assert_true(key[bound] == UINT64_C(0xdeadbeef) && pos[bound] == 0xdeadbeef);
	for (size_t i = 0; i < n; i++) {
		assert_true(i == 0 || pos[i] >= pos[i - 1]);
		assert_true(pos[i] < to - from);
		f[i] = (feature) { key[i], pos[i] };
	}
	qsort(f, n, sizeof *f, by_order);
	free(key);
	free(pos);
	return n;
}

static void same(const feature *a, size_t na, const feature *b, size_t nb)
{
	assert_int_equal(na, nb);
	for (size_t i = 0; i < na; i++)
		assert_true(a[i].key == b[i].key && a[i].pos == b[i].pos);
}

/* --- sequences that are hard ------------------------------------------------------ */
static char *hard_bases(unsigned kind, size_t n)
{
	char *s = random_bases(n, kind == 1 ? 7 : kind == 2 ? 60 : 0);
	const size_t period = kind >= 3 ? kind - 2 : n + 1;

	for (size_t i = period; i < n; i++)     /* kinds 3 ...: a repeat of period 1 ... */
		s[i] = s[i - period];
	return s;
}

/* A sequence in pieces gives what it gives in one; minhash if cut at windows. */
TEST(test_pieces)
{
	feature *whole = malloc(16384 * sizeof *whole), *part = malloc(16384 * sizeof *part);

	for (unsigned i = 0; i < N_SCHEMES; i++)
		for (unsigned kind = 0; kind < 6; kind++) {
			const kh_sampling *rule = &schemes[i];
			uint64_t n = 9000, starts = kh_sampling_starts(rule, n), at = 0;
			char *s = hard_bases(kind, n);
			packed p = pack(s, n);
			size_t nw = run(rule, &p, 0, starts, whole), got = 0;

			while (at < starts) {
				uint64_t to = at + test_rand() % 1100;

				if (rule->scheme == KH_MINHASH)
					to = at +
					     (to - at + rule->stride - 1) / rule->stride *
						     rule->stride;
				to = to < starts ? to : starts;
				size_t m = run(rule, &p, at, to, part);
				for (size_t j = 0; j < m; j++)
					part[j].pos += (uint32_t)at;
				same(part, m, whole + got, m);
				got += m;
				at = to;
			}
			assert_int_equal(got, nw);
			unpack(&p);
			free(s);
		}
	free(whole);
	free(part);
}

TEST(test_parameters)
{
	static const struct { kh_sampling rule; const char *want;
	} bad[] = {
		{ { 2, 18, 12, 112, 0, 0 }, "scheme 2" },
		{ { KH_SYNCMER, 7, 3, 112, 0, 0 }, "k is 7" },
		{ { KH_SYNCMER, 32, 26, 112, 0, 0 }, "k is 32" },
		{ { KH_SYNCMER, 18, 12, 15, 0, 0 }, "stride is 15" },
		{ { KH_MINHASH, 18, 16, 4097, 0, 0 }, "stride is 4097" },
		{ { KH_MINHASH, 18, 0, 112, 0, 0 }, "are 0" },
		{ { KH_MINHASH, 18, 65, 112, 0, 0 }, "are 65" },
		{ { KH_SYNCMER, 18, 11, 112, 0, 0 }, "even" },
		{ { KH_SYNCMER, 18, 18, 112, 0, 0 }, "even" },
		{ { KH_SYNCMER, 18, 20, 112, 0, 0 }, "even" },
		{ { KH_SYNCMER, 31, 13, 112, 0, 0 }, "even" },
		{ { KH_SYNCMER, 8, 0, 112, 0, 0 }, "even" },
		{ { KH_SYNCMER, 18, 14, 112, 0, 2 }, "repeats" },
		{ { UINT32_MAX, 18, 12, 112, 0, 0 }, "scheme" },
		{ { KH_SYNCMER, UINT32_MAX, 1, 112, 0, 0 }, "k is" },
	};
	kh_err err;

	for (unsigned i = 0; i < N_SCHEMES; i++)
		assert_int_equal(kh_sampling_check(&schemes[i], &err), 0);
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(kh_sampling_check(&bad[i].rule, &err), KH_EUSAGE);
		assert_non_null(strstr(err.msg, bad[i].want));
	}
}

/* Features spread evenly over the 256 ranges, whatever the sampling prefers. */
static void spread(const kh_sampling *rule, size_t want)
{
	enum { LEN = 1 << 20 };
	uint64_t count[KH_RANGES] = { 0 }, total = 0, max = 0;
	size_t bound = (size_t)kh_sampling_bound(rule, LEN);
	uint64_t *key = malloc(bound * sizeof *key),
		 *bases = malloc((LEN / 32 + 2) * sizeof *bases);
	uint32_t *pos = malloc(bound * sizeof *pos), *amb = calloc(LEN / 32 + 2, sizeof *amb);

	while (total < want) {
		kh_sampling_span st = { bases, amb, 0, LEN };

		for (size_t i = 0; i < LEN / 32 + 2; i++)
			bases[i] = test_rand();
		size_t n = kh_sampling_run(rule, &st, key, pos);
		for (size_t i = 0; i < n; i++)
			count[kh_key_range(key[i])]++;
		total += n;
	}
	for (int i = 0; i < KH_RANGES; i++)
		max = count[i] > max ? count[i] : max;
	double ratio = (double)max * KH_RANGES / (double)total;
	printf("# scheme %u k %u: max/mean %.4f over %llu features\n", rule->scheme, rule->k, ratio,
	       (unsigned long long)total);
	assert_true(ratio < 1.05);
	free(key);
	free(pos);
	free(bases);
	free(amb);
}

TEST(test_spread)
{
	spread(&schemes[0], 10000000);
	spread(&schemes[6], 10000000);
}

/* Every start of every s-mer length, odd places and ends: AVX2 as plain C. */
TEST(test_simd)
{
	uint32_t want[KH_SYNCMER_TILE + 16], got[KH_SYNCMER_TILE + 16];

	for (uint32_t s = 2; s <= 16; s++)
		for (uint32_t more = 2; more <= 16; more += 2) {
			kh_sampling rule = { KH_SYNCMER, s + more < 8 ? 8 : s + more, s, 112, 0,
					     0 };
			kh_syncmer_fn *const fast = kh_syncmer_avx2(&rule);
			size_t at = test_rand() % 70, n = 1 + test_rand() % KH_SYNCMER_TILE;
			char *text = random_bases(at + n + rule.k - 1, 0);
			packed p = pack(text, at + n + rule.k - 1);
			size_t m = kh_syncmer_plain(&rule, p.bases, at, n, want);

			if (fast && rule.k <= KH_K_MAX && (rule.k - s) % 2 == 0) {
				assert_int_equal(fast(&rule, p.bases, at, n, got), m);
				assert_memory_equal(got, want, m * sizeof *got);
			}
			unpack(&p);
			free(text);
		}
}
