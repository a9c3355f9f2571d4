/* test_by_genus.c - on what genera and families a sample agrees by translated seeds;
 * run_translated.sh has which calls are dropped */
#define TEST_MAIN
#include "test.h"
#include "made_tree.h"
#include "run/by_genus.h"

enum { THREADS = 2, GENUS = 1, SPECIES = 2, FAMILY = 6 };

static uint32_t none(const void *arg, unsigned worker, uint32_t class)
{
	(void)arg;
	(void)worker;
	(void)class;
	return KH_NO_TAXON;
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

int main(void) { return test_run(make_tree, free_tree); }
