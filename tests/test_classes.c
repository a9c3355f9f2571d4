/* test_classes.c - counts by class, joined; oracle_sample.py has what is counted */
#include "test.h"
#include "sample/classes.h"

static void assert_same_classes(const kh_classes *a, const kh_classes *b)
{
	assert_int_equal(a->n, b->n);
	assert_memory_equal(a->at, b->at, a->n * sizeof *a->at);
	assert_memory_equal(a->many, b->many, sizeof a->many);
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
