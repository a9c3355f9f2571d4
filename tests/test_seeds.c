/*
 * test_seeds.c - look-ups in a range of the index: of keys that are not there, and in several
 * indices; oracle_db.py has what one has, fuzz_db.c damaged ones
 */
#include "test.h"
#include "index/joint.h"
#include "made_index.h"

enum { RANGE = 77, MOST_KEYS = 20000 };

/* A range by itself: all others are empty. */
struct index {
	kh_seed_range dir[KH_RANGES];
	kh_seed_index x;
	void *image;
	kh_image im;
	kh_pair_scratch scratch;
};

/* Encodes pairs, which are sorted here. */
static void make_index_of(struct index *d, pairs *p, kh_bins bins, uint64_t n_bins)
{
	kh_pairs in = { .n = p->n };

	memset(d, 0, sizeof *d);
	OK(kh_pair_scratch_grow(&d->scratch, p->n, err));
	in.key = d->scratch.key;
	in.loc = d->scratch.loc;
	if (p->n > 0)
		qsort(p->v, p->n, sizeof *p->v, by_key);
	for (size_t i = 0; i < p->n; i++) {
		in.key[i] = kh_seed_first(p->v[i].key);
		in.loc[i] = p->v[i].bin;
	}
	OK(kh_seeds_encode(&d->im, &d->scratch, &in, &bins, err));
	const size_t lines = (size_t)kh_seed_line_bytes(&d->im.range);

	d->image = aligned_alloc(64, kh_seed_bytes(&d->im.range) + 64);
	memset(d->image, 0, kh_seed_bytes(&d->im.range) + 64);
	if (lines > 0)
		memcpy(d->image, d->im.line, lines);
	if (d->im.range.words > 0)
		memcpy((char *)d->image + lines, d->im.word, 4 * (size_t)d->im.range.words);
	d->dir[RANGE] = d->im.range;
	d->dir[RANGE].first_word = lines / 4;
	d->x = (kh_seed_index) { .image = d->image, .dir = d->dir, .bits = bins.bits };
	OK(kh_seeds_check(&d->x, RANGE, n_bins, err));
}

static void make_index(struct index *d, pairs *p)
{
	make_index_of(d, p, small_bins(), N_BINS);
}

static void drop_index(struct index *d)
{
	kh_image_clear(&d->im);
	kh_pair_scratch_clear(&d->scratch);
	free(d->image);
}

/* A key of the range. */
static uint64_t some_key(void)
{
	return (uint64_t)RANGE << KH_RANGE_BIT |
	       (test_rand() & ((UINT64_C(1) << KH_RANGE_BIT) - 1));
}

/* Of keys that are not there, about as many are found as tags of 8 bits and lines let through. */
TEST(test_others)
{
	enum { ASKED = 20000 };
	struct index d;
	pairs p = { .v = NULL };
	kh_seeds_found found = { .bin = NULL };
	uint64_t *key = malloc(ASKED * sizeof *key);

	for (unsigned i = 0; i < MOST_KEYS; i++)
		add_list(&p, some_key(), 1);
	make_index(&d, &p);
	for (unsigned i = 0; i < ASKED; i++)
		key[i] = some_key();
	OK(kh_seeds_find(&d.x, key, ASKED, &found, err));
	assert_in_range(found.n, 1, 2 * ASKED * kh_seed_slots(d.x.bits) / 256);
	kh_seeds_found_clear(&found);
	drop_index(&d);
	free(key);
	free(p.v);
}

/* --- lists ---------------------------------------------------------------------------- */
enum { LISTS = KH_LIST_MAX + 1, LIST_TARGETS = 300 };

/* Targets of a bin each, all of different species. */
static kh_bins many_species(void)
{
	static uint32_t first[LIST_TARGETS + 1], taxon[2 * LIST_TARGETS];
	static uint32_t species_row[LIST_TARGETS];

	for (uint32_t i = 0; i <= LIST_TARGETS; i++)
		first[i] = i;
	for (uint32_t i = 0; i < LIST_TARGETS; i++) {
		taxon[i] = taxon[LIST_TARGETS + i] = i + 1;
		species_row[i] = LIST_TARGETS + i;
	}
	return (kh_bins) { .first = first, .taxon = taxon, .species_row = species_row,
			   .n_targets = LIST_TARGETS, .n_species = LIST_TARGETS,
			   .bits = kh_seed_bits(LIST_TARGETS) };
}

/* Bin i of the list of a seed that has n. */
static uint32_t bin_of_list(uint32_t n, uint32_t i)
{
	return n % 2 ? i + (i >= n / 2) : LIST_TARGETS - n + i;
}

/* Lists of all lengths, of which eight words are read at a time, are whole. */
TEST(test_lists)
{
	struct index d;
	pairs p = { .v = NULL };
	kh_seeds_found found = { .bin = NULL };
	uint64_t key[LISTS];

	for (uint32_t n = 1; n < LISTS; n++) {
		key[n] = some_key();
		for (uint32_t i = 0; i < n; i++)
			add_pair(&p, key[n], bin_of_list(n, i));
	}
	make_index_of(&d, &p, many_species(), LIST_TARGETS);
	OK(kh_seeds_find(&d.x, key + 1, LISTS - 1, &found, err));
	for (uint32_t n = 1, at = 0; n < LISTS; n++) {
		uint32_t same = 0;

		/* a few seeds with an equal tag may stand beside it */
		for (; at < found.n && (uint32_t)found.bin[at] == n - 1; at++)
			same += same < n && found.bin[at] >> 32 == bin_of_list(n, same);
		assert_int_equal(same, n);
	}
	assert_in_range(found.n, LISTS * (LISTS - 1) / 2, LISTS * (LISTS - 1) / 2 * 11 / 10);
	kh_seeds_found_clear(&found);
	drop_index(&d);
	free(p.v);
}

/* --- several indices ------------------------------------------------------------------ */
enum { INDICES = 40, KEYS = 300 };       /* each gives ten bins at most */

/* What several indices have of a key, by look-ups of its own in each. */
static size_t model_of_joint(const struct index *d, const uint32_t *first, uint64_t key,
			     uint32_t seed, uint64_t *to)
{
	kh_seeds_found found = { .bin = NULL };
	size_t n = 0;

	for (int i = 0; i < INDICES; i++) {
		OK(kh_seeds_find(&d[i].x, &key, 1, &found, err));
		for (size_t k = 0; k < found.n; k++)
			to[n++] = ((found.bin[k] >> 32) + first[i]) << 32 | seed;
	}
	kh_seeds_found_clear(&found);
	if (n > KH_LIST_MAX) {
		to[0] = (uint64_t)KH_SEED_MANY << 32 | seed;
		n = 1;
	}
	return n;
}

/* All keys looked up together in all indices; some have long lists in all. */
TEST(test_joint)
{
	static uint64_t want[KEYS * INDICES * 32];
	static struct index d[INDICES];
	uint32_t first[INDICES];
	uint64_t key[KEYS];
	kh_seed_index index[INDICES];
	kh_joint_found scratch = { .of = NULL };
	kh_seeds_found found = { .bin = NULL };
	size_t n = 0, many = 0;

	for (int k = 0; k < KEYS; k++)
		key[k] = some_key();
	for (int i = 0; i < INDICES; i++) {
		pairs p = { .v = NULL };

		for (int k = 0; k < KEYS; k++)
			if (k % 10 == 0 || test_rand() % 2)
				add_list(&p, key[k], k % 10 ? 1 + (k + i) % 5u : 600);
		first[i] = (uint32_t)i * (N_BINS + 7);
		make_index(&d[i], &p);
		index[i] = d[i].x;
		free(p.v);
	}
	for (uint32_t k = 0; k < KEYS; k++) {
		const size_t more = model_of_joint(d, first, key[k], k, want + n);

		many += more == 1 && want[n] >> 32 == KH_SEED_MANY;
		n += more;
	}
	const kh_seed_joint all = { index, first, INDICES };

	OK(kh_joint_find(&all, key, KEYS, &scratch, &found, err));
	assert_int_equal(found.n, n);
	assert_memory_equal(found.bin, want, n * sizeof *want);
	assert_true(many >= KEYS / 10 && many < KEYS / 5);   /* a few by equal tags */
	OK(kh_joint_find(&all, key, 0, &scratch, &found, err));
	assert_int_equal(found.n, 0);
	kh_joint_found_clear(&scratch);
	kh_seeds_found_clear(&found);
	for (int i = 0; i < INDICES; i++)
		drop_index(&d[i]);
}
