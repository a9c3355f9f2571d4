/*
 * test_classify.c - the rule on hand-made cases
 *
 * Thresholds come from rule.h, so that its constants can be tuned; the tests fix what the rule
 * does on both sides of each.
 */
#include "test.h"

#include "made_reads.h"

/* taxa of the small tree by number */
enum { ROOT, GENUS_A, SPECIES_A1, STRAIN_A1A, STRAIN_A1B, SPECIES_A2,
       GENUS_B, SPECIES_B1, STRAIN_B1, SPECIES_B2, SPECIES_C };
/* targets: taxa of made_index.h */
enum { T_A1A, T_A1B, T_A2, T_B1, T_B2, T_C, T_A1A_AGAIN, T_A1, T_B1_AGAIN };

static world w;
static fragment *f;             /* 400 random bases */

static int setup(void **state)
{
	(void)state;
	world_init(&w);
	char *s = random_bases(400, 0);
	f = make_fragment(&w, s, NULL);
	free(s);
	return f->n < 30;
}

static int teardown(void **state)
{
	(void)state;
	world_clear(&w);
	kh_taxonomy_free(w.tax);
	drop_fragment(f);
	return 0;
}

static void again(void)
{
	world_clear(&w);
}

/* First `n` features at the target, all in one bin. */
static void give(uint32_t target, uint32_t n)
{
	occur(&w, f, 0, n, bin_of(target, 50));
}

static void is_called(const fragment *q, uint32_t taxon, uint32_t hits)
{
	kh_call c = classify(&w, q);

	assert_int_equal(c.taxon, taxon);
	assert_int_equal(c.hits, hits);
}

/* --- no features, and all features -------------------------------------------- */
static void test_nothing(void **state)
{
	static const char *const none[] = { "", "ACGT", "ACGTACGTACGTACGTA",
					    "NNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNN",
					    "AAAAAAAAAAAAAAAAAAAAAAAAAAAA" };

	(void)state;
	give(T_A1A, 20);
	for (int i = 0; i < 5; i++) {
		fragment *q = make_fragment(&w, none[i], NULL);
		kh_call c = classify(&w, q);

		assert_true(c.taxon == KH_NO_TAXON && c.features == 0 && c.hits == 0 &&
			    c.found == 0);
		drop_fragment(q);
	}
	char *s = random_bases(400, 0);
	fragment *q = make_fragment(&w, s, NULL);
	is_called(q, KH_NO_TAXON, 0);
	drop_fragment(q);
	free(s);
}

static void test_all(void **state)
{
	uint32_t n = (uint32_t)f->n;

	(void)state;
	give(T_A1A, n);
	kh_call c = classify(&w, f);
	assert_true(c.taxon == STRAIN_A1A && c.features == n && c.hits == n && c.found == n);
}

/* --- ties and near ties ----------------------------------------------------------- */
static void two(uint32_t a, uint32_t na, uint32_t b, uint32_t nb, uint32_t want)
{
	again();
	give(a, na);
	give(b, nb);
	is_called(f, want, na > nb ? na : nb);
}

static void test_ties(void **state)
{
	(void)state;
	two(T_A1A, 20, T_A1B, 20, SPECIES_A1);          /* strains: their species */
	two(T_A1A, 20, T_A1, 20, SPECIES_A1);
	two(T_A1A, 20, T_A2, 20, GENUS_A);              /* species: their genus */
	two(T_A1A, 20, T_B1, 20, KH_NO_TAXON);        /* genera: the root is no call */
	two(T_A1A, 20, T_A1A_AGAIN, 20, STRAIN_A1A);    /* two genomes of one taxon */
	two(T_A2, 20, T_C, 20, KH_NO_TAXON);
	again();                                        /* many: no cut */
	for (uint32_t t = 0; t < N_TARGETS; t++)
		give(t, 20);
	is_called(f, KH_NO_TAXON, 20);
}

/* The same, but the second has a feature that the first lacks: it is not outdone. */
static void rivals(uint32_t a, uint32_t na, uint32_t b, uint32_t nb, uint32_t want)
{
	again();
	give(a, na);
	occur(&w, f, na - nb + 1, na + 1, bin_of(b, 50));
	is_called(f, want, na);
}

static void near(uint32_t h)
{
	uint32_t s = kh_rule_near_species(h, (uint32_t)f->n), g = kh_rule_near_genus(h);

	assert_true(s <= h && g <= h && s > 1 && g > 1);
	two(T_A1A, h, T_A1B, s, SPECIES_A1);
	two(T_A1A, h, T_A1B, s - 1, STRAIN_A1A);
	rivals(T_A1A, h, T_A2, s, GENUS_A);
	rivals(T_A1A, h, T_A2, s - 1, STRAIN_A1A);
	two(T_A1A, h, T_A2, s, s < h ? STRAIN_A1A : GENUS_A);   /* outdone, unless it has as many */
	two(T_A1A, h, T_B1, s, s < h ? STRAIN_A1A : KH_NO_TAXON);
	rivals(T_A1A, h, T_B1, s - 1, STRAIN_A1A);
	for (uint32_t x = s; x <= h; x++)       /* not for a species; for a genus? */
		rivals(T_A1A, h, T_B1, x, x >= g ? KH_NO_TAXON : GENUS_A);
}

static void test_tolerance(void **state)
{
	(void)state;
	for (uint32_t h = 14; h < f->n; h++)
		near(h);
}

/* --- minima ----------------------------------------------------------------------- */
static void hits_needed(void)
{
	kh_minimum m = kh_rule_minimum(&w.rule, (uint32_t)f->n);

	assert_true(m.genus >= 2 && m.genus <= m.species && m.species < f->n);
	for (uint32_t h = 1; h <= f->n; h++) {
		again();
		give(T_A1A, h);
		is_called(f, h < m.genus ? KH_NO_TAXON : h < m.species ? GENUS_A : STRAIN_A1A, h);
		again();
		give(T_C, h);   /* a species without a genus, below the root */
		is_called(f, h < m.species ? KH_NO_TAXON : SPECIES_C, h);
	}
}

static void test_minima(void **state)
{
	uint32_t i = kh_log2((uint32_t)f->n);

	(void)state;
	hits_needed();
	w.rule.minima[i] = 9;
	hits_needed();
	w.rule.minima[i + 1] = w.rule.minima[i - 1] = 40;       /* of other numbers of features */
	hits_needed();
	w.rule.minima[i] = 2;
	hits_needed();
}

static void test_log2(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 32; i++) {
		assert_int_equal(kh_log2(UINT32_C(1) << i), i);
		assert_int_equal(kh_log2((UINT32_C(2) << i) - 1), i);
	}
}

static void test_confidence(void **state)
{
	const uint32_t n = (uint32_t)f->n;

	(void)state;
	for (uint32_t h = 10; h <= n; h += 7) {
		again();
		give(T_A2, h);
		w.rule.confidence = 1000 * h / n;
		is_called(f, SPECIES_A2, h);
		w.rule.confidence = 1000 * h / n + 1;
		is_called(f, KH_NO_TAXON, h);
		w.rule.confidence = 1000;
		is_called(f, h == n ? SPECIES_A2 : KH_NO_TAXON, h);
	}
}

/* --- windows of bins -------------------------------------------------------------- */
static void test_windows(void **state)
{
	uint32_t r = kh_rule_window(&w.rule, 400), n = (uint32_t)f->n;

	(void)state;
	assert_int_equal(r, 5);
	occur(&w, f, 0, 10, bin_of(T_A1A, 20));
	occur(&w, f, 10, 20, bin_of(T_A1A, 20 + r - 1));
	is_called(f, STRAIN_A1A, 20);
	again();
	occur(&w, f, 0, 10, bin_of(T_A1A, 20));         /* just too far apart */
	occur(&w, f, 10, 20, bin_of(T_A1A, 20 + r));
	is_called(f, STRAIN_A1A, 10);
	again();                                        /* the best of overlapping windows */
	occur(&w, f, 0, 5, bin_of(T_A2, 20));
	occur(&w, f, 5, 15, bin_of(T_A2, 23));
	occur(&w, f, 15, 25, bin_of(T_A2, 26));
	is_called(f, SPECIES_A2, 20);
	again();                                        /* two genomes of a taxon do not add up */
	occur(&w, f, 0, 10, bin_of(T_A1A, 20));
	occur(&w, f, 10, 20, bin_of(T_A1A_AGAIN, 20));
	is_called(f, STRAIN_A1A, 10);
	again(); /* repeats: never more than there are features */
	for (uint32_t bin = 20; bin < 25; bin++)
		occur(&w, f, 0, n, bin_of(T_B1, bin));
	is_called(f, STRAIN_B1, n);
	again(); /* the ends of targets: gaps keep them apart */
	occur(&w, f, 0, 10, bin_of(T_A1A, TARGET_BINS - 1));
	occur(&w, f, 10, 21, bin_of(T_A1B, 0));
	kh_call c = classify(&w, f);
	assert_int_equal(c.hits, 11);
}

/* --- overpopulated features ------------------------------------------------------- */
static void test_over_only(void **state)
{
	static const uint32_t strains[2] = { T_A1A, T_A1B }, species[2] = { T_A1A, T_A2 },
			      roots[2] = { T_A1A, T_B1 }, same[2] = { T_A1A, T_A1A_AGAIN };

	(void)state;
	overflow(&w, f, 0, 10, strains);
	is_called(f, SPECIES_A1, 10);
	again();                                        /* one strain alone: never below species */
	overflow(&w, f, 0, 10, same);
	is_called(f, SPECIES_A1, 10);
	again();                                        /* those above a taxon count for it */
	overflow(&w, f, 0, 9, species);
	overflow(&w, f, 9, 21, strains);
	is_called(f, SPECIES_A1, 21);
	again();
	overflow(&w, f, 0, 20, species);
	is_called(f, GENUS_A, 20);
	again();                                        /* the root says nothing */
	overflow(&w, f, 0, 20, roots);
	is_called(f, KH_NO_TAXON, 20);
}

/* They count for taxa on their line, if these have matches of their own. */
static void test_over_adds(void **state)
{
	static const uint32_t species[2] = { T_A1A, T_A2 };

	(void)state;
	overflow(&w, f, 0, 8, species);
	occur(&w, f, 8, 20, bin_of(T_A1B, 7));
	occur(&w, f, 8, 21, bin_of(T_B1, 7));           /* one more, but no help */
	is_called(f, STRAIN_A1B, 20);
	assert_int_equal(classify(&w, f).found, 21);
}

/* --- long reads and pairs --------------------------------------------------------- */
static void test_long(void **state)
{
	char *s = random_bases(2500, 0);
	fragment *q = make_fragment(&w, s, NULL);
	uint32_t first = 0, second = 0, n = (uint32_t)q->n;

	(void)state;
	while (q->pos[first] < 1008)
		first++;
	while (q->pos[second] < 2016)
		second++;
	occur(&w, q, 0, first, bin_of(T_A1A, 0));               /* the three segments lie */
	occur(&w, q, first, second, bin_of(T_A1A, 60));         /* anywhere in the target */
	occur(&w, q, second, n, bin_of(T_A1A_AGAIN, 30));
	is_called(q, STRAIN_A1A, n);
	again();
	occur(&w, q, 0, first, bin_of(T_A1A, 0));               /* a chimera: the greater part */
	occur(&w, q, first, (first + second) / 2, bin_of(T_B1, 0));
	is_called(q, STRAIN_A1A, first);
	drop_fragment(q);
	free(s);
}

static void test_pairs(void **state)
{
	char *a = random_bases(150, 0), *b = random_bases(150, 0);
	fragment *q = make_fragment(&w, a, b), *overlap = make_fragment(&w, a, a);
	uint32_t n = (uint32_t)q->n, first = (uint32_t)q->n_first;

	(void)state;
	occur(&w, q, 0, first, bin_of(T_A1A, 10));      /* mates as far apart as max_span */
	occur(&w, q, first, n, bin_of(T_A1A, 19));
	is_called(q, STRAIN_A1A, n);
	again();
	occur(&w, q, 0, first, bin_of(T_A1A, 10));
	occur(&w, q, first, n, bin_of(T_A1A, 20));
	is_called(q, STRAIN_A1A, first > n - first ? first : n - first);
	again();                                        /* equal mates: each feature once */
	occur(&w, q, 0, first, bin_of(T_A1A, 10));
	assert_int_equal(classify(&w, overlap).features, first);
	is_called(overlap, STRAIN_A1A, first);
	drop_fragment(q);
	drop_fragment(overlap);
	free(a);
	free(b);
}

/* --- votes ------------------------------------------------------------------------ */
/* Features from .. to-1 at five places of the species of two targets, far apart. */
static void vote(size_t from, size_t to, uint32_t a, uint32_t b)
{
	occur(&w, f, from, to, bin_of(a, 10));
	occur(&w, f, from, to, bin_of(a, 50));
	occur(&w, f, from, to, bin_of(a, 90));
	occur(&w, f, from, to, bin_of(b, 30));
	occur(&w, f, from, to, bin_of(b, 70));
}

/* Votes count wherever the features lie, places where the most of them are together. */
static void test_many_targets(void **state)
{
	const uint32_t n = (uint32_t)f->n;

	(void)state;
	w.where.most = 2;
	again();                        /* four places in two targets stay places */
	occur(&w, f, 0, n / 2, bin_of(T_A1A, 10));
	occur(&w, f, 0, n / 2, bin_of(T_A1A, 50));
	occur(&w, f, 0, n / 2, bin_of(T_A1B, 30));
	occur(&w, f, 0, n / 2, bin_of(T_A1B, 70));
	occur(&w, f, n / 2, n, bin_of(T_A1A, 90));
	occur(&w, f, n / 2, n, bin_of(T_A1B, 110));
	is_called(f, SPECIES_A1, n - n / 2);
	again();                        /* three in three do not */
	occur(&w, f, 0, n / 2, bin_of(T_A1A, 10));
	occur(&w, f, 0, n / 2, bin_of(T_A1B, 30));
	occur(&w, f, 0, n / 2, bin_of(T_A1A_AGAIN, 50));
	occur(&w, f, n / 2, n, bin_of(T_A1A, 90));
	occur(&w, f, n / 2, n, bin_of(T_A1B, 110));
	occur(&w, f, n / 2, n, bin_of(T_A1A_AGAIN, 70));
	is_called(f, SPECIES_A1, n);
	w.where.most = 0;
	again();
}

static void test_votes(void **state)
{
	uint32_t n = (uint32_t)f->n;

	(void)state;
	w.where.most = 2;
	again();                        /* nothing but votes: the species */
	vote(0, n, T_A1A, T_A1B);
	is_called(f, SPECIES_A1, n);
	again();                        /* two places are kept: its strain, by the best of them */
	occur(&w, f, 0, n, bin_of(T_A1A, 10));
	occur(&w, f, 0, n, bin_of(T_A1A, 90));
	is_called(f, STRAIN_A1A, n);
	again();                        /* votes and places of a strain add up */
	vote(0, n - 6, T_A1A, T_A1B);
	occur(&w, f, n - 6, n, bin_of(T_A1A, 10));
	is_called(f, STRAIN_A1A, n);
	again();                        /* as many places of two strains: their species */
	vote(0, n - 6, T_A1A, T_A1B);
	occur(&w, f, n - 6, n, bin_of(T_A1A, 10));
	occur(&w, f, n - 6, n, bin_of(T_A1B, 10));
	is_called(f, SPECIES_A1, n);
	again();                        /* species with equal votes: their genus */
	vote(0, n, T_A1A, T_A1B);
	vote(0, n, T_A2, T_A2);
	is_called(f, GENUS_A, n);
	again();                        /* places in a species that votes for none */
	vote(0, 12, T_A1A, T_A1B);
	give(T_A2, n);
	is_called(f, SPECIES_A2, n);
	w.where.most = 0;
	again();
}

/* A species that has votes but for a feature of the best window; and one that has another. */
static void test_votes_of_rivals(void **state)
{
	const uint32_t n = (uint32_t)f->n, h = n / 2 - 2;
	const uint32_t near = kh_rule_near_species(h, n);

	(void)state;
	assert_true(near < h);
	w.where.most = 2;
	again();
	give(T_A2, h);
	vote(0, near, T_A1A, T_A1B);            /* outdone */
	is_called(f, SPECIES_A2, h);
	again();
	give(T_A2, h);
	vote(h - near + 1, h + 1, T_A1A, T_A1B); /* a rival by its vote */
	is_called(f, GENUS_A, h);
	again();
	vote(0, h, T_A2, T_A2);                 /* the best window is a species' bin */
	vote(0, near, T_A1A, T_A1B);
	is_called(f, SPECIES_A2, h);
	again();
	vote(0, h, T_A2, T_A2);
	vote(h - near + 1, h, T_A1A, T_A1B);    /* a rival by a place of a strain */
	occur(&w, f, h, h + 1, bin_of(T_A1B, 20));
	is_called(f, GENUS_A, h);
	w.where.most = 0;
	again();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nothing), TEST(test_all), TEST(test_ties), TEST(test_tolerance),
		TEST(test_minima), TEST(test_log2), TEST(test_confidence), TEST(test_windows),
		TEST(test_over_only), TEST(test_over_adds), TEST(test_long), TEST(test_pairs),
		TEST(test_votes), TEST(test_many_targets), TEST(test_votes_of_rivals),
	};

	test_seed();
	return cmocka_run_group_tests_name("classify", tests, NULL, NULL);
}
