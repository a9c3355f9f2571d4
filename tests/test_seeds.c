/* test_seeds.c - a range of the index beside a model of it: every seed is found with its bins */
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
static void make_index(struct index *d, pairs *p)
{
	const kh_bins bins = small_bins();
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
	OK(kh_seeds_check(&d->x, RANGE, N_BINS, err));
}

static void drop_index(struct index *d)
{
	kh_image_clear(&d->im);
	kh_pair_scratch_clear(&d->scratch);
	free(d->image);
}

/* What should be left of sorted pairs of one key: the first two bins of each species. */
static size_t model_of(const pair *p, size_t n, uint32_t *bin)
{
	unsigned has[N_SPECIES] = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		const uint32_t s = target_species[p[i].bin / (TARGET_BINS + GAP)];

		if ((i > 0 && p[i].bin == p[i - 1].bin) || has[s]++ >= KH_SPECIES_PLACES)
			continue;
		bin[kept++] = p[i].bin;
	}
	return kept;
}

/* Is each of these bins among those that the look-up of a key gives? */
static void is_found(const struct index *d, uint64_t key, const uint32_t *bin, size_t n)
{
	kh_seeds_found found = { .bin = NULL };

	OK(kh_seeds_find(&d->x, &key, 1, &found, err));
	for (size_t i = 0, j = 0; i < n; i++) {
		for (j = 0; j < found.n && found.bin[j] >> 32 != bin[i]; j++)
			;
		if (j == found.n)
			fail_msg("key %llx has no bin %u", (unsigned long long)key, bin[i]);
	}
	kh_seeds_found_clear(&found);
}

/* Looks up all, and counts what is left of lists. */
static void check_all(const struct index *d, const pairs *p)
{
	uint32_t bin[2 * N_SPECIES];
	uint64_t seeds = 0, locations = 0;

	for (size_t i = 0, n = 1; i < p->n; i += n, n = 1) {
		while (i + n < p->n && p->v[i + n].key == p->v[i].key)
			n++;
		const size_t left = model_of(p->v + i, n, bin);

		is_found(d, p->v[i].key, bin, left);
		seeds++;
		locations += left;
	}
	assert_int_equal(d->im.range.seeds, seeds);
	assert_int_equal(d->im.locations, locations);
	assert_int_equal(d->im.range.over, 0);
}

/* A key of the range, of a few homes if `near`. */
static uint64_t some_key(bool near)
{
	const uint64_t low = test_rand() & ((UINT64_C(1) << KH_RANGE_BIT) - 1);

	return (uint64_t)RANGE << KH_RANGE_BIT | (near ? low >> 12 : low);
}

TEST(test_random)
{
	for (unsigned round = 0; round < 20; round++) {
		const unsigned n = 1u << test_rand() % 14;
		struct index d;
		pairs p = { .v = NULL };

		for (unsigned i = 0; i < n; i++)
			add_list(&p, some_key(round % 5 == 4),
				 1 + (unsigned)(test_rand() % (round % 3 ? 3 : 40)));
		make_index(&d, &p);
		check_all(&d, &p);
		drop_index(&d);
		free(p.v);
	}
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
		add_list(&p, some_key(false), 1);
	make_index(&d, &p);
	for (unsigned i = 0; i < ASKED; i++)
		key[i] = some_key(false);
	OK(kh_seeds_find(&d.x, key, ASKED, &found, err));
	assert_in_range(found.n, 1, 2 * ASKED * kh_seed_slots(d.x.bits) / 256);
	kh_seeds_found_clear(&found);
	drop_index(&d);
	free(key);
	free(p.v);
}

/* One bit of a range is another one: it is refused, or look-ups stay within the text. */
TEST(test_damaged)
{
	struct index d;
	pairs p = { .v = NULL };
	unsigned refused = 0;

	for (unsigned i = 0; i < 300; i++)
		add_list(&p, some_key(false), 1 + test_rand() % 20);
	make_index(&d, &p);
	for (unsigned i = 0; i < 3000; i++) {
		uint8_t *byte = (uint8_t *)d.image + test_rand() % kh_seed_bytes(&d.im.range);
		const uint8_t bit = (uint8_t)(1u << test_rand() % 8);
		const uint64_t key = p.v[test_rand() % p.n].key;
		kh_seeds_found found = { .bin = NULL };
		kh_err err = { 0, "" };

		*byte ^= bit;
		if (kh_seeds_check(&d.x, RANGE, N_BINS, &err)) {
			refused++;
		} else {
			assert_int_equal(kh_seeds_find(&d.x, &key, 1, &found, &err), 0);
			for (size_t j = 0; j < found.n; j++)
				assert_true(found.bin[j] >> 32 < N_BINS ||
					    found.bin[j] >> 32 == KH_SEED_MANY);
		}
		kh_seeds_found_clear(&found);
		*byte ^= bit;
	}
	assert_true(refused > 300);
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
		key[k] = some_key(false);
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
