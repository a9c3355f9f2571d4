/* test_by_genus.c - which calls are those of translated seeds, and which of them are dropped */
#include "test.h"

#include "made_tree.h"
#include "run/by_genus.h"

enum { THREADS = 2, GENUS = 1, SPECIES = 2, STRAIN = 3, OTHER_GENUS = 6 };

static kh_by_genus opened(kh_db *db)
{
	static const kh_translated_head head;
	kh_by_genus g;
	kh_err err;

	*db = (kh_db) { .tax = tree, .translated = { .head = &head } };
	assert_int_equal(kh_by_genus_init(&g, db, THREADS, &err), 0);
	return g;
}

static void add(kh_by_genus *g, unsigned worker, uint32_t taxon, uint32_t hits, size_t n)
{
	kh_call call[64];
	const kh_job job = { .n = n };

	for (size_t i = 0; i < n; i++)
		call[i] = (kh_call) { .taxon = taxon, .features = 9, .hits = hits };
	kh_by_genus_add(g, worker, &(kh_task) { .job = &job, .call = call });
}

/* A call of a genus that no features agree with is one.  One of a species or a strain is not: where
 * a database has text, that agrees with it. */
static void test_which(void **state)
{
	kh_db db;
	kh_by_genus g = opened(&db);

	(void)state;
	assert_true(kh_by_genus_is(&g, &(kh_call) { .taxon = GENUS }));
	assert_false(kh_by_genus_is(&g, &(kh_call) { .taxon = GENUS, .hits = 1 }));
	assert_false(kh_by_genus_is(&g, &(kh_call) { .taxon = SPECIES }));
	assert_false(kh_by_genus_is(&g, &(kh_call) { .taxon = STRAIN }));
	assert_false(kh_by_genus_is(&g, &(kh_call) { .taxon = KH_NO_TAXON }));
	kh_by_genus_clear(&g);
	assert_false(kh_by_genus_is(&g, &(kh_call) { .taxon = GENUS }));
}

/* Fewer than KH_BY_GENUS_LEAST are dropped, unless a species of the genus is there, and calls of
 * species stay, however few. */
static void judge(bool changes, enum kh_verdict verdict, uint64_t many, uint64_t dropped)
{
	uint64_t direct[N_TAXA] = { [GENUS] = 30, [SPECIES] = 3, [OTHER_GENUS] = 12 };
	uint64_t sum[N_TAXA] = { [GENUS] = 30, [SPECIES] = 3, [OTHER_GENUS] = 12 };
	kh_tally tally = { .n = N_TAXA, .direct = sum, .unclassified = 5 };
	kh_presence at = { .taxon = SPECIES, .verdict = verdict };
	const kh_model m = { .at = &at, .n = 1, .changes = changes };
	kh_db db;
	kh_by_genus g = opened(&db);

	add(&g, 0, GENUS, 0, 4);
	add(&g, 1, GENUS, 0, KH_BY_GENUS_LEAST - 5);
	add(&g, 1, GENUS, 7, 21);                       /* by features */
	add(&g, 0, SPECIES, 0, 3);
	add(&g, 0, OTHER_GENUS, 0, KH_BY_GENUS_LEAST);  /* enough */
	assert_int_equal(kh_by_genus_judge(&g, &db, &m, direct, &tally), dropped);
	assert_int_equal(g.many[GENUS], many);
	assert_int_equal(g.many[SPECIES], 0);
	assert_int_equal(g.many[OTHER_GENUS], KH_BY_GENUS_LEAST);
	assert_int_equal(g.dropped[GENUS], dropped > 0);
	assert_false(g.dropped[SPECIES] || g.dropped[OTHER_GENUS]);
	assert_int_equal(direct[GENUS], 30 - dropped);
	assert_int_equal(sum[GENUS], 30 - dropped);
	assert_int_equal(direct[SPECIES], 3);
	assert_int_equal(tally.unclassified, 5 + dropped);
	kh_by_genus_clear(&g);
}

static void test_few(void **state)
{
	const uint64_t n = KH_BY_GENUS_LEAST - 1;

	(void)state;
	judge(true, KH_RELATIVE, 0, n);
	judge(true, KH_TOO_FEW, 0, n);
	judge(true, KH_PRESENT, n, 0);
	judge(true, KH_DIVERGENT, n, 0);
	judge(false, KH_RELATIVE, n, 0);
}

static void test_no_section(void **state)
{
	uint64_t direct[N_TAXA] = { [GENUS] = 4 };
	kh_tally tally = { .n = N_TAXA, .direct = direct };
	const kh_model m = { .changes = true };
	const kh_db db = { .tax = tree };
	kh_by_genus g;
	kh_err err;

	(void)state;
	assert_int_equal(kh_by_genus_init(&g, &db, THREADS, &err), 0);
	add(&g, 0, GENUS, 0, 4);
	assert_int_equal(kh_by_genus_judge(&g, &db, &m, direct, &tally), 0);
	assert_int_equal(direct[GENUS], 4);
	kh_by_genus_clear(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_which),
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_no_section),
	};

	test_seed();
	return cmocka_run_group_tests_name("by_genus", tests, make_tree, free_tree);
}
