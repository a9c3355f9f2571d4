/* test_by_genus.c - which calls are those of translated seeds, which of them are dropped, and on
 * what a sample agrees */
#define TEST_MAIN
#include "test.h"
#include "made_tree.h"
#include "run/by_genus.h"

enum { THREADS = 2, GENUS = 1, SPECIES = 2, STRAIN = 3, OTHER_GENUS = 6, FAMILY = 6 };

static kh_by_genus opened(kh_db *db)
{
	static const kh_translated_head head;
	kh_by_genus g;

	*db = (kh_db) { .tax = tree, .translated = { .head = &head } };
	OK(kh_by_genus_init(&g, db, THREADS, err));
	return g;
}

static uint32_t none(const void *arg, unsigned worker, uint32_t class)
{
	(void)arg;
	(void)worker;
	(void)class;
	return KH_NO_TAXON;
}

static void add(kh_by_genus *g, unsigned worker, uint32_t taxon, uint32_t hits, size_t n)
{
	kh_call call[64];
	kh_class_of of[64];
	const kh_job job = { .n = n };

	for (size_t i = 0; i < n; i++) {
		call[i] = (kh_call) { .taxon = taxon, .features = 9, .hits = hits };
		of[i] = (kh_class_of) { KH_NO_CLASS, 0 };
	}
	OK(kh_by_genus_add(g, worker, &(kh_task) { .job = &job, .call = call }, of, err));
}

/* A call of a genus that no features agree with is one.  One of a species or a strain is not: where
 * a database has text, that agrees with it. */
TEST(test_which)
{
	kh_db db;
	kh_by_genus g = opened(&db);

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
	kh_moves moves = { .tally = &tally, .direct = direct };
	kh_by_genus g = opened(&db);

	add(&g, 0, GENUS, 0, 4);
	add(&g, 1, GENUS, 0, KH_BY_GENUS_LEAST - 5);
	add(&g, 1, GENUS, 7, 21);                       /* by features */
	add(&g, 0, SPECIES, 0, 3);
	add(&g, 0, OTHER_GENUS, 0, KH_BY_GENUS_LEAST);  /* enough */
	kh_by_genus_agree(&g);
	kh_by_genus_judge(&g, &m, none, NULL, &moves);
	assert_int_equal(moves.changed, dropped);
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

TEST(test_few)
{
	const uint64_t n = KH_BY_GENUS_LEAST - 1;

	judge(true, KH_RELATIVE, 0, n);
	judge(true, KH_TOO_FEW, 0, n);
	judge(true, KH_PRESENT, n, 0);
	judge(true, KH_DIVERGENT, n, 0);
	judge(false, KH_RELATIVE, n, 0);
}

/* So many fragments are firmly of the genus, and so many weakly, and lie in so many bases of the
 * 6400 that its species has; `classed` of them have a class that is called something in the end. */
static const struct sample {
	uint32_t firm, weak, bases, classed;
	bool agrees;
} samples[] = {
	{ 20, 13, 6400, 0, true },
	{ 20, 13, 6400, 3, true },
	{ 20, 14, 6400, 0, false },                     /* 58 of 100 are firm */
	{ 19, 0, 6400, 0, false },
	{ 20, 0, 100, 0, false },                       /* one gene */
	{ 20, 0, 800, 0, true },                        /* 8 windows, and 15 are expected */
	{ 20, 0, 700, 0, false },
};

static const kh_translated_genus genera[] = { { GENUS, { 0 }, 55, GENUS } };
static kh_translated_part parts[] = { { 0, 6400, 0, SPECIES } };

static uint32_t species(const void *arg, unsigned worker, uint32_t class)
{
	assert_null(arg);
	assert_int_equal(worker, 1);
	assert_int_equal(class, 7);
	return SPECIES;
}

static void add_said(kh_by_genus *g, const struct sample *x)
{
	const uint32_t n = x->firm + x->weak;
	const kh_job job = { .n = n };
	kh_call call[64];
	kh_likeness like[64];
	kh_class_of of[64];

	for (uint32_t i = 0; i < n; i++) {
		call[i] = (kh_call) { .taxon = KH_NO_TAXON };
		like[i] = (kh_likeness) { .at = (uint64_t)x->bases * i / n,
					  .said = kh_graded(0, i < x->firm ? KH_GRADE_FIRM
									    : KH_GRADE_WEAK, 0),
					  .codons = 10, .same = 8 };
		of[i] = (kh_class_of) { i < x->classed ? 7 : KH_NO_CLASS, 0 };
	}
	OK(kh_by_genus_add(g, 1, &(kh_task) { .job = &job, .call = call, .like = like }, of, err));
}

static void check_sample(const struct sample *x)
{
	static const kh_translated_head head = { .genera = 1 };
	const uint64_t n = x->firm + x->weak, moved = x->agrees ? n - x->classed : 0;
	uint64_t direct[N_TAXA] = { 0 }, sum[N_TAXA] = { 0 };
	kh_tally tally = { .n = N_TAXA, .direct = sum, .unclassified = n };
	const kh_model m = { .changes = true };
	const kh_db db = { .tax = tree,
			   .translated = { .head = &head, .genus = genera, .part = parts,
					   .parts = 1 } };
	kh_call call = { .taxon = KH_NO_TAXON, .features = 9, .hits = 3 };
	kh_moves moves = { .tally = &tally, .direct = direct };
	kh_by_genus g;
	kh_unknown u;

	OK(kh_by_genus_init(&g, &db, THREADS, err));
	add_said(&g, x);
	kh_by_genus_agree(&g);
	assert_int_equal(g.agrees[GENUS], x->agrees);
	kh_by_genus_judge(&g, &m, species, NULL, &moves);
	assert_int_equal(moves.changed, moved);
	assert_int_equal(sum[GENUS], moved);
	assert_int_equal(direct[GENUS], moved);
	assert_int_equal(tally.unclassified, n - moved);
	assert_int_equal(kh_by_genus_end(&g, kh_graded(0, KH_GRADE_WEAK, 0), &call), x->agrees);
	assert_int_equal(call.taxon, x->agrees ? GENUS : KH_NO_TAXON);
	assert_int_equal(kh_by_genus_unknown(&g, GENUS, 8 * (double)n, &u), x->agrees);
	assert_false(kh_by_genus_unknown(&g, GENUS, 8 * (double)n + 1, &u));
	if (x->agrees) {
		assert_int_equal(u.fragments, n);
		assert_int_equal(u.codons, 10 * n);
		assert_int_equal(u.same, 8 * n);
		assert_int_equal(u.nearest[0], SPECIES);
		assert_int_equal(u.nearest[1], KH_NO_TAXON);
	}
	kh_by_genus_clear(&g);
}

TEST(test_agree)
{
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
		check_sample(&samples[i]);
}

/* So many fragments are firmly of a family, and so many weakly, of which so many genera have seeds:
 * so many are called. */
static void check_family(uint32_t firm, uint32_t weak, uint32_t n, uint64_t called)
{
	static const kh_translated_genus of[] = {
		{ FAMILY + 1, { .family = FAMILY }, 55, FAMILY + 1 },
		{ FAMILY + 3, { .family = FAMILY }, 55, FAMILY + 3 },
	};
	const kh_translated_head head = { .genera = n };
	kh_translated_part part = { 0, 6400, 0, FAMILY + 1 };
	const kh_db db = { .tax = tree, .translated = { .head = &head, .genus = of, .part = &part,
							.parts = 1 } };
	const kh_model m = { .changes = true };
	const uint32_t all = firm + weak;
	const kh_job job = { .n = all };
	uint64_t direct[N_TAXA] = { 0 }, sum[N_TAXA] = { 0 };
	kh_tally tally = { .n = N_TAXA, .direct = sum, .unclassified = all };
	kh_moves moves = { .tally = &tally, .direct = direct };
	kh_call call[64];
	kh_likeness like[64];
	kh_class_of class[64];
	kh_by_genus g;
	kh_unknown u;
	kh_err err;

	for (uint32_t i = 0; i < all; i++) {
		const uint32_t grade = i < firm ? KH_GRADE_FIRM : KH_GRADE_WEAK;

		call[i] = (kh_call) { .taxon = KH_NO_TAXON };
		class[i] = (kh_class_of) { KH_NO_CLASS, 0 };
		like[i] = (kh_likeness) { .at = 6400 * i / all,
					  .part = i < firm ? 0 : KH_NO_PART_LIKE,
					  .said = kh_graded(0, KH_GRADE_NONE, grade) };
	}
	assert_int_equal(kh_by_genus_init(&g, &db, THREADS, &err), 0);
	assert_int_equal(kh_by_genus_add(&g, 1, &(kh_task) { .job = &job, .call = call,
							     .like = like }, class, &err), 0);
	kh_by_genus_agree(&g);
	kh_by_genus_judge(&g, &m, none, NULL, &moves);
	assert_int_equal(moves.changed, called);
	assert_int_equal(sum[FAMILY], called);
	for (uint32_t i = 0; i < all; i++) {
		kh_by_genus_end(&g, like[i].said, &call[i]);
		assert_int_equal(call[i].taxon, i < called ? FAMILY : KH_NO_TAXON);
	}
	assert_int_equal(kh_by_genus_unknown(&g, FAMILY, 0, &u), called > 0);
	if (called > 0)
		assert_int_equal(u.fragments, called);
	kh_by_genus_clear(&g);
}

TEST(test_family)
{
	check_family(41, 9, 2, 50);
	check_family(41, 10, 2, 41);    /* 80 of 100 are firm */
	check_family(41, 9, 1, 41);     /* no other genus */
	check_family(41, 18, 2, 0);     /* 69 of 100 */
}

TEST(test_no_section)
{
	uint64_t direct[N_TAXA] = { [GENUS] = 4 };
	kh_tally tally = { .n = N_TAXA, .direct = direct };
	const kh_model m = { .changes = true };
	const kh_db db = { .tax = tree };
	kh_moves moves = { .tally = &tally, .direct = direct };
	kh_by_genus g;

	OK(kh_by_genus_init(&g, &db, THREADS, err));
	add(&g, 0, GENUS, 0, 4);
	kh_by_genus_agree(&g);
	kh_by_genus_judge(&g, &m, none, NULL, &moves);
	assert_int_equal(moves.changed, 0);
	assert_int_equal(direct[GENUS], 4);
	kh_by_genus_clear(&g);
}

int main(void) { return test_run(make_tree, free_tree); }
