/* test_classes.c - fragments counted by class, by several workers, and their counts joined */
#include "test.h"
#include "sample/classes.h"

enum { N_TAXA = 8, N_WORKERS = 3, N_FRAGMENTS = 6000 };
/* root, genus 1 with species 2 and 4 (strain 5 below), genus 6 with species 7 */
static const uint32_t species[N_TAXA] = { KH_NO_TAXON, KH_NO_TAXON, 2, 2, 4, 4, KH_NO_TAXON, 7 };

static void made_fragment(kh_call *call, kh_candidates *cand)
{
	static const uint32_t sets[][KH_CANDIDATES] = {
		{ 2, KH_NO_TAXON, KH_NO_TAXON, KH_NO_TAXON },
		{ 2, 4, KH_NO_TAXON, KH_NO_TAXON },
		{ 2, 4, 7, KH_NO_TAXON },
		{ KH_NO_TAXON, KH_NO_TAXON, KH_NO_TAXON, KH_NO_TAXON },
	};
	const uint32_t set = (uint32_t)(test_rand() % 4);

	*call = (kh_call) { .taxon = test_rand() % 3 ? 5 : KH_NO_TAXON,
			    .features = (uint32_t)(test_rand() % 140) };
	call->hits = (uint32_t)(test_rand() % (call->features + 1));
	*cand = (kh_candidates) { .bin = test_rand() % 2 ? 10 : KH_NO_BIN };
	memcpy(cand->species, sets[set], sizeof sets[set]);
	if (set == 1)
		cand->drop[test_rand() % 2] = (uint8_t)(test_rand() % 4);
}

static void assert_same_classes(const kh_classes *a, const kh_classes *b)
{
	assert_int_equal(a->n, b->n);
	assert_memory_equal(a->at, b->at, a->n * sizeof *a->at);
	assert_memory_equal(a->many, b->many, sizeof a->many);
}

/* So many fragments have a class. */
static void assert_counts(const kh_classes *c, uint64_t with)
{
	uint64_t in_classes = 0, by_features = 0;

	for (size_t i = 0; i < c->n; i++)
		in_classes += c->at[i].many;
	for (uint32_t f = 0; f <= KH_N_MOST; f++)
		by_features += c->many[f];
	assert_int_equal(in_classes, with);
	assert_int_equal(by_features, with);
	assert_true(with > 1000 && with < N_FRAGMENTS);
}

/* Is the place of a fragment's class right: none for few features, for few hits, and
 * without a candidate? */
static void assert_place(const kh_class_of *of, const kh_call *call, const kh_candidates *cand)
{
	assert_int_equal(of->index == KH_NO_CLASS,
			 call->features < 8 || call->hits < 2 ||
			 cand->species[0] == KH_NO_TAXON);
}

/* --- a sample counted by one, and by several ------------------------------------------ */
struct counted {
	kh_call call[N_FRAGMENTS];
	kh_candidates cand[N_FRAGMENTS];
	kh_class_of of[N_FRAGMENTS];            /* in `one` */
	kh_classes one, some[N_WORKERS];
	uint64_t with;                          /* fragments that have a class */
};

/* Counts all fragments at a time, and one by one. */
static void count(struct counted *s)
{
	static const uint32_t first[] = { 0, 100, 200 }, taxon[] = { 3, 7 };
	const kh_bins bins = { .n_targets = 2, .first = first, .taxon = taxon };
	const kh_tree tree = { .n = N_TAXA, .species = species };
	const kh_rule rule = { .confidence = 0 };
	const kh_match_db text = { .bins = bins, .tree = tree };
	const kh_class_rule r = { &rule, &text };
	kh_class_of at;

	for (int i = 0; i < N_FRAGMENTS; i++)
		made_fragment(&s->call[i], &s->cand[i]);
	OK(kh_classes_init(&s->one, err));
	for (int i = 0; i < N_WORKERS; i++)
		OK(kh_classes_init(&s->some[i], err));
	OK(kh_classes_add(&s->one, &r, s->call, s->cand, N_FRAGMENTS, s->of, err));
	for (int i = 0; i < N_FRAGMENTS; i++) {
		kh_classes *c = &s->some[i % N_WORKERS];

		OK(kh_classes_add(c, &r, &s->call[i], &s->cand[i], 1, &at, err));
		assert_int_equal(at.index == KH_NO_CLASS, s->of[i].index == KH_NO_CLASS);
		assert_place(&at, &s->call[i], &s->cand[i]);
		if (at.index == KH_NO_CLASS)
			continue;
		assert_memory_equal(&c->at[at.index], &s->one.at[s->of[i].index], KH_CLASS_KEY);
		s->with++;
	}
}

static void clear(struct counted *s)
{
	for (int i = 0; i < N_WORKERS; i++)
		kh_classes_clear(&s->some[i]);
	kh_classes_clear(&s->one);
	free(s);
}

/* Joins n counts by so many threads, and checks where each class has gone. */
static kh_classes joined(const kh_classes *c, unsigned n, unsigned threads)
{
	uint32_t **to = calloc(n, sizeof *to);
	kh_team *team = NULL;
	kh_monitor *m;
	kh_classes sum;

	OK(kh_classes_init(&sum, err));
	OK(kh_monitor_new(&m, err));
	if (threads > 1)
		OK(kh_team_new(&team, m, threads, err));
	OK(kh_classes_join(&sum, c, n, to, team, err));
	kh_team_free(team);
	kh_monitor_free(m);
	for (unsigned i = 0; i < n; i++) {
		for (size_t j = 0; j < c[i].n; j++)
			assert_memory_equal(&c[i].at[j], &sum.at[to[i][j]], KH_CLASS_KEY);
		free(to[i]);
	}
	free(to);
	return sum;
}

TEST(test_classes)
{
	static const unsigned threads[] = { 1, 2, N_WORKERS, 16 };
	struct counted *s = calloc(1, sizeof *s);

	count(s);
	kh_classes all = joined(&s->one, 1, 1);

	assert_true(all.n > 100);
	assert_counts(&all, s->with);
	for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
		kh_classes sum = joined(s->some, N_WORKERS, threads[i]);

		assert_same_classes(&sum, &all);
		kh_classes_clear(&sum);
	}
	kh_classes_clear(&all);
	clear(s);
}

/* The same classes over and over, of which there are few, and none at all. */
TEST(test_few_classes)
{
	const kh_class k = { .species = { 2, 4, KH_NO_TAXON, KH_NO_TAXON }, .many = 3 },
		       other = { .species = { 2, 4, KH_NO_TAXON, KH_NO_TAXON }, .call = 1,
				 .many = 2 };
	kh_class at[] = { k, other, k };
	const kh_classes c[] = { { .at = at, .n = 2 }, { .n = 0 }, { .at = at, .n = 3 } };

	for (unsigned threads = 1; threads < 9; threads++) {
		kh_classes sum = joined(c, 3, threads), none = joined(c + 1, 1, threads);
		const int first = sum.at[0].call == 0 ? 0 : 1;

		assert_int_equal(none.n, 0);
		assert_int_equal(sum.n, 2);
		assert_int_equal(sum.at[first].many, 9);
		assert_int_equal(sum.at[1 - first].many, 4);
		kh_classes_clear(&sum);
		kh_classes_clear(&none);
	}
}

/* So many classes of one species that some have the same number in the order. */
TEST(test_ties)
{
	enum { MANY = 300000 };
	kh_class *at = calloc(MANY, sizeof *at);
	kh_classes c[2] = { { .at = at, .n = MANY } }, one, four;
	size_t ties = 0;

	for (uint32_t i = 0; i < MANY; i++)
		at[i] = (kh_class) { .species = { 2, KH_NO_TAXON, KH_NO_TAXON, KH_NO_TAXON },
				     .call = i, .many = 1 };
	one = joined(c, 1, 1);
	for (size_t i = 1; i < one.n; i++)
		ties += kh_class_mix(&one.at[i]) >> 32 == kh_class_mix(&one.at[i - 1]) >> 32;
	assert_true(ties > 0);
	for (uint32_t i = 0; i < MANY; i++)
		at[i].call = MANY - 1 - i;
	c[0].n = MANY / 3;
	c[1] = (kh_classes) { .at = at + MANY / 3, .n = MANY - MANY / 3 };
	four = joined(c, 2, 4);
	assert_same_classes(&one, &four);
	kh_classes_clear(&one);
	kh_classes_clear(&four);
	free(at);
}
