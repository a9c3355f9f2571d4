/*
 * test_kraken2.c - the k-mers of made-up bases by random rules: without an ambiguous one, which has
 * a loop of its own, as with one behind the end, which has another; many keys at once in tables as
 * full as can be, as one after the other; the first cell with a value beyond the taxonomy
 */
#include "test.h"
#include "kraken2/format.h"
#include "kraken2/lookup.h"
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

static kh_k2_queries scan(const kh_k2_rule *r, const char *s, size_t n)
{
	packed p = pack(s, n);
	const kh_k2_bases b = { p.bases, p.amb, 0, n };
	kh_k2_scanner scanner = { .cap_ring = 0 };
	kh_k2_queries a = { .n = 0 };

	/* behind the queries of another fragment */
	OK(kh_k2_border(&a, KH_K2_MATES, err));
	OK(kh_k2_scan(&scanner, r, &b, &a, err));
	kh_k2_scanner_clear(&scanner);
	unpack(&p);
	return a;
}

TEST(test_scan)
{
	for (int round = 0; round < 20000; round++) {
		const kh_k2_rule r = random_rule();
		const size_t n = r.k + test_rand() % 200;
		char s[400];

		random_text(s, n);
		kh_k2_queries plain = scan(&r, s, n), more = scan(&r, s, n + 1);
		assert_int_equal(plain.n, more.n);
		assert_memory_equal(plain.key, more.key, plain.n * sizeof *plain.key);
		assert_int_equal(plain.n_runs + 1, more.n_runs);
		assert_memory_equal(plain.run, more.run, plain.n_runs * sizeof *plain.run);
		assert_int_equal(more.run[plain.n_runs].what, KH_K2_AMBIGUOUS);
		kh_k2_queries_clear(&plain);
		kh_k2_queries_clear(&more);
		if (r.k > 1) {
			kh_k2_queries none = scan(&r, s, r.k - 1);

			assert_int_equal(none.n, 0);
			assert_int_equal(none.n_runs, 1);
			kh_k2_queries_clear(&none);
		}
	}
}

/* --- look-ups --------------------------------------------------------------------- */
enum { CELLS = 700, KEYS = 1000, NODES = 60 };

/* A table of which so many cells are taken; their values can be beyond the taxonomy. */
static kh_k2_rule random_table(unsigned char *cells, uint64_t *key)
{
	kh_k2_rule r = { .capacity = 1 + test_rand() % CELLS, .n_nodes = NODES };
	const uint64_t full = test_rand() % 3 ? r.capacity - r.capacity / 16 : r.capacity;

	r.cell_bytes = 4 + (uint32_t)(test_rand() % 2);
	r.value_bits = 6 + (uint32_t)(test_rand() % 4);
	r.key_bits = 8 * r.cell_bytes - r.value_bits;
	r.inverse = UINT64_MAX / r.capacity;
	r.least_hash = test_rand() % 2 ? 0 : UINT64_MAX / 8;
	memset(cells, 0, CELLS * 5);
	for (uint64_t i = 0; i < KEYS; i++)
		key[i] = test_rand();
	for (uint64_t i = 0; i < full; i++) {
		const uint64_t hash = kh_fmix64(key[i]), part = hash >> (64 - r.key_bits);
		const uint64_t value = 1 + test_rand() % (NODES + 3);
		uint64_t at = kh_k2_cell(&r, hash);

		while (kh_k2_read(&r, cells, at).value != 0)
			at = (at + 1) % r.capacity;
		const uint64_t cell = part << r.value_bits | value;
		memcpy(cells + at * r.cell_bytes, &cell, r.cell_bytes);
	}
	return r;
}

TEST(test_lookup)
{
	static unsigned char room[64 + CELLS * 5];
	uint64_t key[KEYS];
	uint32_t taxon[KEYS], taxa[NODES];
	size_t found = 0;

	for (uint32_t i = 0; i < NODES; i++)
		taxa[i] = 1000 + i;
	for (int round = 0; round < 500; round++) {
		unsigned char *cells = room + 4 * (test_rand() % 16);
		const kh_k2_rule r = random_table(cells, key);
		const kh_k2_table t = { &r, cells, taxa };

		kh_k2_lookup(&t, key, KEYS, taxon);
		for (size_t i = 0; i < KEYS; i++) {
			const uint64_t hash = kh_fmix64(key[i]);
			const uint32_t value = hash < r.least_hash ? 0
					       : kh_k2_find(&r, cells, hash, kh_k2_cell(&r, hash));

			found += value > 0;
			assert_int_equal(taxon[i], value > 0 && value < NODES ? taxa[value]
						   : value > 0 ? KH_NO_TAXON : taxa[0]);
		}
	}
	assert_true(found > 500 * CELLS / 8);
}

TEST(test_bad_cell)
{
	enum { MOST = 20000 };
	static unsigned char cells[5 * MOST + 8];

	for (int round = 0; round < 400; round++) {
		kh_k2_rule r = { .capacity = MOST, .cell_bytes = 4 + (uint32_t)(test_rand() % 2) };
		const uint64_t from = test_rand() % 300, bad = from + test_rand() % (MOST - from);
		const uint64_t to = bad + 1 + test_rand() % (MOST - bad);

		r.value_bits = 2 + (uint32_t)(test_rand() % 30);
		r.n_nodes = 2 + (uint32_t)(test_rand() % ((1u << r.value_bits) - 2));
		for (uint64_t i = 0; i < MOST; i++) {
			const bool is_bad = i == bad || i < from || i >= to;
			const uint64_t value = is_bad ? r.n_nodes : test_rand() % r.n_nodes;
			const uint64_t cell = test_rand() << r.value_bits | value;

			memcpy(cells + i * r.cell_bytes, &cell, r.cell_bytes);
		}
		assert_int_equal(kh_k2_bad_cell(&r, cells, from, to), bad);
		assert_int_equal(kh_k2_bad_cell(&r, cells, from, bad), bad);
	}
}
