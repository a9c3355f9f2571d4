/* test_tables.c - insert and look up in every GPU hash table: keys, sizes, parameters,
 * limits */
#define TEST_MAIN
#include "cuda/tables/tests/harness.h"

TEST(test_usage)
{
	kht_table_config c = { .capacity = 10, .key_bits = 32, .value_bits = 32 };
	kht_table *t = NULL;
	kh_err err;

	assert_int_equal(kht_table_open("nothing", &c, NULL, &t, &err), KH_EUSAGE);
	assert_string_equal(err.msg, "no table is called 'nothing'");
	c.key_bits = 16;
	assert_int_equal(kht_table_open("csr", &c, NULL, &t, &err), KH_EUSAGE);
	c.key_bits = 32;
	c.group = 3;
	assert_int_equal(kht_table_open("single", &c, NULL, &t, &err), KH_EUSAGE);
	c.group = 0;
	assert_int_equal(kht_table_open("csr", &c, NULL, &t, &err), KH_OK);
	assert_int_equal(kht_table_clean(t, NULL, &err), KH_EUSAGE);
	assert_string_equal(err.msg, "table csr has no clean");
	struct job j = { .sys = kht_table_system_find("csr"), .what = "no queries" };
	kht_keys none = { NULL, 0 };
	kht_lists out = { gpu_new(8), NULL, 0 };
	assert_int_equal(kht_table_retrieve(t, &none, &out, NULL, &err), KH_OK);
	uint64_t *first = gpu_take(&j, out.offsets, 8);
	assert_int_equal(*first, 0);
	free(first);
	kht_table_close(t);
	kht_table_close(NULL);
}

static void sizes(struct job *j)
{
	static const size_t n[] = { 0, 1, 31, 32, 33, 255, 256, 257, 5000 };

	for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
		run_made(j, n[i], n[i] * 4 + 1, "unique");
		run_made(j, n[i], n[i] / 8 + 1, "eight a key");
	}
}

TEST(test_sizes) { each_system(0, sizes); }

static void equal_keys(struct job *j)
{
	static const uint64_t key[] = { 0, ~UINT64_C(0), ~UINT64_C(1), 0x12345678 };

	for (size_t k = 0; k < 4; k++) {
		struct pair *p = make_pairs(j, 700, 700);
		for (size_t i = 0; i < 700; i++)
			p[i].k = cut(key[k], j->cfg.key_bits);
		run_pairs(j, p, 700, "one key");
		free(p);
	}
}

TEST(test_equal_keys) { each_system(0, equal_keys); }

/* Marks among other keys; each with a few values, those of all bits set among them. */
static void marks(struct job *j)
{
	struct pair *p = make_pairs(j, 900, 300);

	for (size_t i = 0; i < 60; i++) {
		p[i * 15].k = cut(i % 3 == 0   ? 0
				  : i % 3 == 1 ? ~UINT64_C(0)
					       : ~UINT64_C(1),
				  j->cfg.key_bits);
		p[i * 15].v = cut(i % 4 == 0 ? ~UINT64_C(0) : i, j->cfg.value_bits);
	}
	run_pairs(j, p, 900, "marks");
	free(p);
}

TEST(test_marks) { each_system(0, marks); }

static void groups(struct job *j)
{
	for (unsigned g = 1; g <= 32; g *= small() ? 8 : 2)
		for (int layout = KHT_LAYOUT_PACKED; layout <= KHT_LAYOUT_SOA; layout++) {
			bool open = strcmp(j->sys->name, "single") == 0 ||
				    strcmp(j->sys->name, "multi") == 0;

			if (layout == KHT_LAYOUT_PACKED &&
			    (j->cfg.key_bits != 32 || j->cfg.value_bits != 32))
				continue;
			if (!open && layout != KHT_LAYOUT_SOA)
				continue;
			j->cfg.group = g;
			j->cfg.load = 0.97;
			j->cfg.layout = (enum kht_layout)layout;
			run_made(j, 3000, 1500, "groups and layouts");
		}
}

TEST(test_groups) { each_system(KHT_TABLE_DYNAMIC, groups); }

/* The papers' parameters, away from their defaults. */
static void parameters(struct job *j)
{
	static const struct {
		const char *name;
		kht_table_config c;
	} with[] = {
		{ "hashgraph1", { .range = 0.25 } },
		{ "hashgraph1", { .range = 4 } },
		{ "hashgraph2", { .range = 0.25 } },
		{ "hashgraph2", { .range = 4, .bins = 512 } },
		{ "hashgraph2", { .range = 100, .group = 32 } },
		{ "bucketlist", { .growth = 1, .first = 5 } },
		{ "bucketlist", { .growth = 2 } },
		{ "bucketlist", { .growth = 1.5, .first = 3, .group = 16 } },
		{ "runlist", { .load = 0.97 } },
		{ "runlist", { .load = 1, .distinct = 4000 } },
		{ "cuckoo", { .subtables = 2, .load = 0.4 } },
		{ "cuckoo", { .subtables = 3, .load = 0.8 } },
		{ "cuckoo", { .subtables = 4, .load = 0.9 } },
		{ "csr", { .load = 0.97 } },
		{ "csr", { .load = 0.3 } },
		{ "bucket64", { .load = 0.97, .group = 1 } },
		{ "bucket64", { .load = 1 } },
		{ "window64", { .load = 0.97 } },
		{ "window64", { .load = 1 } },
		{ "single", { .window = 32, .group = 2 } },
		{ "multi", { .window = 64, .group = 4, .load = 1 } },
		{ "dachash", { .mapping = KHT_MAP_QUAD, .length = 1.5 } },
		{ "dachash", { .node = 16, .length = 0.7 } },
	};

	for (size_t i = 0; i < sizeof with / sizeof *with; i++) {
		unsigned kb = j->cfg.key_bits, vb = j->cfg.value_bits;

		if (strcmp(with[i].name, j->sys->name) != 0)
			continue;
		j->cfg = with[i].c;
		j->cfg.key_bits = kb;
		j->cfg.value_bits = vb;
		run_made(j, 5000, is_multi(j) ? 400 : 3000, "parameters");
	}
}

TEST(test_parameters) { each_system(0, parameters); }

/* Several inserts, the last of them with known keys. */
static void batches(struct job *j)
{
	struct pair *p = make_pairs(j, 4000, 9000);

	open_job(j, "batches", 4000);
	for (size_t from = 0, n = 1; from < 4000; from += n, n = n * 2 + 1)
		insert(j, p + from, from + n < 4000 ? n : 4000 - from);
	check_all(j, p, 4000);
	kht_table_close(j->t);
	free(p);
}

TEST(test_batches) { each_system(KHT_TABLE_DYNAMIC, batches); }

/* Twice as many keys as slots: those that fail are counted, the others are there. */
static void full(struct job *j)
{
	struct pair *p = make_pairs(j, 4000, UINT64_C(1) << 40), *s = p;
	kht_table_stats st;
	kh_err err;

	j->cfg.load = 0.9;
	j->cfg.pool = strcmp(j->sys->name, "dachash") == 0 ? 4 : 1500;
	open_job(j, "full", 1000);
	insert(j, p, 4000);
	CHECK(j, kht_table_status(j->t, NULL, &st, &err) == KH_ENOMEM);
	CHECK(j, st.failed > 0 && st.failed < 4000);
	if (strcmp(j->sys->name, "bucketlist") != 0) {
		size_t d = 0;
		qsort(s, 4000, sizeof *s, by_pair);
		for (size_t i = 0; i < 4000; i++)
			d += i == 0 || s[i].k != s[i - 1].k;
		CHECK(j, st.pairs + st.failed == (is_multi(j) ? 4000 : d));
	}
	kht_table_close(j->t);
	free(p);
}

TEST(test_full) { each_system(KHT_TABLE_DYNAMIC, full); }

/* Less room than values: reported, nothing written beyond. */
static void truncated(struct job *j)
{
	struct pair *p = make_pairs(j, 3000, 500);
	kht_keys q = gpu_keys(j, p, 3000);
	kht_lists out = { gpu_new(3001 * 8), gpu_new(100 * j->cfg.value_bits / 8), 100 };
	kh_err err;

	open_job(j, "truncated", 3000);
	insert(j, p, 3000);
	ok(j, kht_table_retrieve(j->t, &q, &out, NULL, &err), &err);
	CHECK(j, kht_table_status(j->t, NULL, NULL, &err) == KH_ENOMEM);
	free(gpu_take(j, out.offsets, 3001 * 8));
	free(gpu_take(j, out.values, 100 * j->cfg.value_bits / 8));
	gpu_free(q.keys);
	kht_table_close(j->t);
	free(p);
}

TEST(test_truncated) { each_system(KHT_TABLE_MULTI, truncated); }

int main(void) { return run_on_gpu(); }
