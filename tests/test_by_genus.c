/* test_by_genus.c - on what genera and families a sample agrees by translated seeds;
 * run_translated.sh has which calls are dropped */
#define TEST_MAIN
#include "translated/score.h"
#include "test.h"
#include "made_tree.h"
#include "run/by_genus.h"

enum { THREADS = 2, GENUS = 1, SPECIES = 2, FAMILY = 6 };

/* So many fragments are firmly of a genus, or of a family of which so many genera have seeds, and
 * so many weakly, and lie in so many bases of the 6400 that a species has; `classed` of them have a
 * class that is called something in the end.  So many of the others are called. */
static const struct sample {
	uint32_t taxon, genera, firm, weak, bases, classed, called;
} samples[] = {
	{ GENUS, 1, 20, 16, 6400, 0, 36 },
	{ GENUS, 1, 20, 16, 6400, 3, 33 },
	{ GENUS, 1, 20, 17, 6400, 0, 0 },               /* 54 of 100 are firm */
	{ GENUS, 1, 19, 0, 6400, 0, 0 },
	{ GENUS, 1, 20, 0, 100, 0, 0 },                 /* one gene */
	{ GENUS, 1, 20, 0, 800, 0, 20 },                /* 8 windows, and 15 are expected */
	{ GENUS, 1, 20, 0, 700, 0, 0 },
	{ FAMILY, 2, 41, 10, 6400, 0, 51 },
	{ FAMILY, 2, 41, 11, 6400, 0, 41 },             /* 78 of 100 are firm */
	{ FAMILY, 1, 41, 9, 6400, 0, 41 },              /* no other genus */
	{ FAMILY, 2, 41, 19, 6400, 0, 41 },             /* 68 of 100 */
	{ FAMILY, 2, 41, 20, 6400, 0, 0 },              /* 67 of 100 */
};

static uint32_t species(const void *arg, unsigned worker, uint32_t class)
{
	assert_null(arg);
	assert_int_equal(worker, 1);
	assert_int_equal(class, 7);
	return SPECIES;
}

/* Its fragments lie at equal distances; firm ones come first. */
static void make_fragments(const struct sample *x, kh_call *call, kh_likeness *like,
			   kh_class_of *of)
{
	const bool genus = x->taxon == GENUS;
	const uint32_t n = x->firm + x->weak;

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t grade = i < x->firm ? KH_GRADE_FIRM : KH_GRADE_WEAK;

		call[i] = (kh_call) { .taxon = KH_NO_TAXON };
		like[i] = (kh_likeness) { .at = (uint64_t)x->bases * i / n, .codons = 10, .same = 8,
					  .stretch = i < x->firm ? 0 : KH_NO_STRETCH_LIKE,
					  .said = genus ? kh_graded(0, grade, KH_GRADE_WEAK)
							: kh_graded(0, KH_GRADE_WEAK, grade) };
		of[i] = (kh_class_of) { i < x->classed ? 7 : KH_NO_CLASS, 0 };
	}
}

static void check_sample(const struct sample *x)
{
	static const kh_translated_genus of_genus[] = { { GENUS, { 0 }, 55, GENUS } };
	static const kh_translated_genus of_family[] = {
		{ FAMILY + 1, { .family = FAMILY }, 55, FAMILY + 1 },
		{ FAMILY + 3, { .family = FAMILY }, 55, FAMILY + 3 },
	};
	const bool genus = x->taxon == GENUS;
	const kh_translated_head head = { .genera = x->genera };
	kh_translated_stretch stretch = { 0, 6400, 0, genus ? SPECIES : FAMILY + 1 };
	const kh_db db = { .tax = tree,
			   .translated = { .head = &head, .genus = genus ? of_genus : of_family,
					   .stretch = &stretch, .n_stretches = 1 } };
	const kh_model m = { .changes = true };
	const uint32_t n = x->firm + x->weak;
	const kh_job job = { .n = n };
	uint64_t direct[N_TAXA] = { 0 }, sum[N_TAXA] = { 0 };
	kh_tally tally = { .n = N_TAXA, .direct = sum, .unclassified = n };
	kh_moves moves = { .tally = &tally, .direct = direct };
	kh_call call[64];
	kh_likeness like[64];
	kh_class_of of[64];
	kh_by_genus g;
	kh_unknown u;

	make_fragments(x, call, like, of);
	OK(kh_by_genus_init(&g, &db, THREADS, err));
	OK(kh_by_genus_add(&g, 1, &(kh_task) { .job = &job, .call = call, .like = like }, of, err));
	kh_by_genus_agree(&g);
	assert_int_equal(g.agrees[x->taxon], x->called > 0);
	kh_by_genus_judge(&g, &m, species, NULL, &moves);
	assert_int_equal(moves.changed, x->called);
	assert_int_equal(sum[x->taxon], x->called);
	assert_int_equal(direct[x->taxon], x->called);
	assert_int_equal(tally.unclassified, n - x->called);
	for (uint32_t i = 0; i < n; i++) {
		const bool called = i < x->called + x->classed && x->called > 0;

		assert_int_equal(kh_by_genus_end(&g, like[i].said, &call[i]), called);
		assert_int_equal(call[i].taxon, called ? x->taxon : KH_NO_TAXON);
	}
	assert_int_equal(kh_by_genus_unknown(&g, x->taxon, 0, &u), x->called > 0);
	if (x->called > 0)
		assert_int_equal(u.fragments, genus ? n : x->called);
	if (genus) {
		assert_int_equal(kh_by_genus_unknown(&g, GENUS, 8 * (double)n, &u), x->called > 0);
		assert_false(kh_by_genus_unknown(&g, GENUS, 8 * (double)n + 1, &u));
	}
	if (genus && x->called > 0) {
		assert_int_equal(u.codons, 10 * x->firm);
		assert_int_equal(u.same, 8 * x->firm);
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

/* A mate fits the first genus in 110 columns, all of which match, and one of another family in 250,
 * 205 of which match: the first is ahead by 35, and the second is nearer by 10, with a kinship of
 * 115.  Neither genus is called. */
static uint32_t said_of_two(uint32_t kinship)
{
	static const kh_translated_genus genus[] = { { 1, { 8 }, 1000, 1 }, { 2, { 9 }, 1000, 2 } };
	static const kh_translated_claim claim[] = {
		{ 0, { { .to = 110, .matches = 110 } } },
		{ 1, { { .to = 250, .matches = 205 } } },
	};
	const kh_translated t = { .genus = genus, .level = { kinship, 100 } };
	const uint32_t len[2] = { 80, 0 };
	uint32_t second;
	const uint32_t best = kh_translated_best(claim, 2, &second);

	return kh_translated_call_of(&t, claim, 2, best, second, len);
}

TEST(test_genus_beside_family)
{
	/* the family is called, so the genus is its nearest one */
	assert_int_equal(said_of_two(115), kh_graded(1, KH_GRADE_WEAK, KH_GRADE_CALLED));
	assert_int_equal(said_of_two(116), kh_graded(0, KH_GRADE_FIRM, KH_GRADE_WEAK));
}

int main(void) { return test_run(make_tree, free_tree); }
