/*
 * test_gpu_seeds.c - sorted pairs to the lines and lists of the index: the launchers
 * against kh_seeds_encode
 *
 * Outputs are poisoned first and have a guard behind them.
 */
#include "test_gpu.h"

#include "base/mem.h"
#include "cuda/kernels/builder.h"
#include "gpu_area.h"
#include "index/seeds.h"
#include "made_index.h"

enum { KEY, BIN, RANGE, FIRST, SPECIES, HEAD, LEAD, LEN, COUNTS, ROOM, LEFT, IMAGE, PARTS,
       SLOT_KEY, SLOT_VALUE = SLOT_KEY + KH_SEED_LEVELS, AREAS = SLOT_VALUE + KH_SEED_LEVELS };

struct seeding {
	pairs p;
	uint32_t bits;
	kh_gpu_encode e;
	kh_gpu_range range[KH_RANGES + 1];
	unsigned n;                     /* levels */
	kh_gpu_level level[KH_SEED_LEVELS];
	kh_gpu_level_range part[KH_SEED_LEVELS][KH_RANGES + 1];
	area a[AREAS];
};

/* Memory for the device; with its address. */
static void *give(struct seeding *x, int which, const void *from, size_t bytes)
{
	if (x->a[which].host)
		area_free(&x->a[which]);
	x->a[which] = area_new(from, bytes);
	return x->a[which].dev;
}

static void *give_zeros(struct seeding *x, int which, size_t bytes)
{
	void *zero = calloc(bytes + 1, 1), *dev = give(x, which, zero, bytes);

	free(zero);
	return dev;
}

static void clear_counts(struct seeding *x)
{
	x->e.n_out = (uint64_t *)give_zeros(x, COUNTS, 64) + 1;
}

static uint64_t number_out(struct seeding *x)
{
	return ((uint64_t *)area_get(&x->a[COUNTS]))[1];
}

static void get_ranges(struct seeding *x)
{
	memcpy(x->range, area_get(&x->a[RANGE]), sizeof x->range);
}

/* Lists of all kinds; keys that share a line, or a home, with many others. */
static void make_pairs(pairs *p, unsigned from, unsigned to, size_t n)
{
	uint64_t key = 0;

	for (size_t i = 0; i < n; i++) {
		const unsigned kind = (unsigned)(test_rand() % 64), near = i % 5;
		const uint64_t range = from + test_rand() % (to - from);

		if (near == 0 || i == 0)
			key = range << 40 | test_rand() >> 24;
		else if (near == 1)
			key = range << 40 | UINT64_C(0x55) << 32 | test_rand() % 4000;
		else if ((key & 0xff) < 0xf0)
			key += 1 + test_rand() % 3;
		if (kind < 3)
			add_list(p, key, 250 + (unsigned)(test_rand() % 600));
		else if (kind < 6)
			add_list(p, key, 253 + kind % 3);
		else if (kind < 30)
			add_list(p, key, 2 + (unsigned)(test_rand() % (kind < 20 ? 20 : 9)));
		else
			add_pair(p, key, random_bin());
		for (unsigned again = kind % 7 == 0 ? kind % 11 : 0; again > 0; again--)
			add_pair(p, key, p->v[p->n - 1].bin);
	}
	if (p->n)
		qsort(p->v, p->n, sizeof *p->v, by_key);
}

static void begin(struct seeding *x, const kh_bins *bins)
{
	const size_t n = x->p.n;
	uint64_t *key = calloc(n + 1, sizeof *key);
	uint32_t *bin = calloc(n + 1, sizeof *bin);
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		key[i] = x->p.v[i].key;
		bin[i] = x->p.v[i].bin;
	}
	for (unsigned p = 0; p <= KH_RANGES; p++) {
		while (at < n && key[at] >> 40 < p)
			at++;
		x->range[p] = (kh_gpu_range) { .pair = at };
	}
	x->e = (kh_gpu_encode) { .key = give(x, KEY, key, n * 8), .bin = give(x, BIN, bin, n * 4),
				 .n = n, .bins = *bins };
	x->e.bins.first = give(x, FIRST, bins->first, (N_TARGETS + 1) * 4);
	x->e.bins.species = give(x, SPECIES, bins->species, N_TARGETS * 4);
	x->e.scratch_bytes = kh_gpu_heads_scratch(n);
	if (x->e.scratch_bytes < kh_gpu_seeds_scratch(n))
		x->e.scratch_bytes = kh_gpu_seeds_scratch(n);
	x->e.scratch = give(x, ROOM, NULL, x->e.scratch_bytes);
	x->e.head = give(x, HEAD, NULL, (n + 1) * 4);
	clear_counts(x);
	x->e.range = give(x, RANGE, x->range, sizeof x->range);
	cuda(kh_gpu_heads(&x->e, NULL));
	x->e.n_heads = number_out(x);
	cuda(kh_gpu_range_heads(&x->e, NULL));
	free(key);
	free(bin);
}

/* Made twice, lists are the same. */
static void find_lists(struct seeding *x)
{
	const size_t n = x->e.n_heads;

	get_ranges(x);
	for (int i = 0; i < 2; i++) {
		x->e.range = give(x, RANGE, x->range, sizeof x->range);
		x->e.len = give(x, LEN, NULL, n + 1);
		x->e.lead = give(x, LEAD, NULL, (n + 1) * 8);
		cuda(kh_gpu_seed_lists(&x->e, NULL));
	}
	get_ranges(x);
}

static void put_part(struct seeding *x, unsigned l)
{
	kh_gpu_level_range *part = x->part[l];

	for (unsigned p = 0; p < KH_RANGES; p++)
		part[p].lines = kh_seed_lines(l, part[p + 1].slot - part[p].slot,
					      kh_seed_slots(x->bits));
	x->level[l].part = (kh_gpu_level_range *)x->a[PARTS].dev + l * (KH_RANGES + 1);
	x->level[l].bits = x->bits;
	cuda(cudaMemcpy((void *)x->level[l].part, part, sizeof x->part[l],
			cudaMemcpyHostToDevice));
}

/* Level l from what the one before it has left: n slots, which are sorted here. */
static void next_level(struct seeding *x, unsigned l, uint64_t n)
{
	struct slot { uint64_t key; uint32_t value, i; } *slot = calloc(n + 1, sizeof *slot);
	kh_gpu_left left = { .n = n, .n_out = x->e.n_out, .scratch = x->e.scratch,
			     .scratch_bytes = x->e.scratch_bytes };
	uint64_t *key, at = 0;
	uint32_t *value;

	left.key = give(x, SLOT_KEY + (int)l, NULL, n * 8);
	left.value = give(x, SLOT_VALUE + (int)l, NULL, n * 4);
	left.left = give(x, LEFT, NULL, n * 4);
	cuda(kh_gpu_seed_left(&x->level[l - 1], &left, NULL));
	assert_int_equal(number_out(x), n);
	area_get(&x->a[LEFT]);
	key = area_get(&x->a[SLOT_KEY + l]);
	value = area_get(&x->a[SLOT_VALUE + l]);
	for (uint64_t i = 0; i < n; i++)
		slot[i] = (struct slot) { key[i], value[i], (uint32_t)i };
	/* few are left, and by insertion they stay in order */
	for (uint64_t i = 1; i < n; i++)
		for (uint64_t j = i; j > 0 && slot[j].key < slot[j - 1].key; j--) {
			const struct slot s = slot[j];

			slot[j] = slot[j - 1];
			slot[j - 1] = s;
		}
	for (uint64_t i = 0; i < n; i++) {
		key[i] = slot[i].key;
		value[i] = slot[i].value;
	}
	cuda(cudaMemcpy(left.key, key, n * 8, cudaMemcpyHostToDevice));
	cuda(cudaMemcpy(left.value, value, n * 4, cudaMemcpyHostToDevice));
	x->level[l] = (kh_gpu_level) { .key = left.key, .value = left.value, .n = n };
	for (unsigned p = 0; p <= KH_RANGES; p++) {
		while (at < n && slot[at].key >> 40 < p)
			at++;
		x->part[l][p].slot = at;
	}
	free(slot);
}

static void make_levels(struct seeding *x)
{
	uint64_t n = x->range[KH_RANGES].entry;
	uint64_t *key = give(x, SLOT_KEY, NULL, n * 8);
	uint32_t *value = give(x, SLOT_VALUE, NULL, n * 4);

	give_zeros(x, PARTS, sizeof x->part);
	for (unsigned p = 0; p <= KH_RANGES; p++)
		x->part[0][p].slot = x->range[p].entry;
	cuda(kh_gpu_seed_slots(&x->e, key, value, NULL));
	x->level[0] = (kh_gpu_level) { .key = key, .value = value, .n = n };
	for (unsigned l = 0; n > 0; l++) {
		assert_true(l < KH_SEED_LEVELS);
		if (l > 0)
			next_level(x, l, n);
		put_part(x, l);
		x->n = l + 1;
		clear_counts(x);
		cuda(kh_gpu_seed_count_left(&x->level[l], x->e.n_out, NULL));
		n = number_out(x);
	}
}

static kh_seed_range range_of(const struct seeding *x, unsigned p)
{
	const kh_gpu_range *r = &x->range[p];
	kh_seed_range s = { .words = (uint32_t)(r[1].word - r->word),
			    .lists = r->lists,
			    .seeds = (uint32_t)(r[1].head - r->head),
			    .over = r->over,
			    .slots = (uint32_t)(r[1].entry - r->entry) };

	for (unsigned l = 0; l < x->n; l++)
		s.lines[l] = x->part[l][p].lines;
	return s;
}

static void make_image(struct seeding *x)
{
	uint64_t bytes = 0;

	for (unsigned p = 0; p < KH_RANGES; p++) {
		const kh_seed_range s = range_of(x, p);
		uint64_t line = bytes / 64;

		for (unsigned l = 0; l < x->n; l++) {
			x->part[l][p].line = line;
			line += x->part[l][p].lines;
		}
		x->range[p].loc = line * 16;
		bytes += kh_seed_bytes(&s);
	}
	x->e.range = give(x, RANGE, x->range, sizeof x->range);
	x->e.image = give_zeros(x, IMAGE, bytes);
	for (unsigned l = 0; l < x->n; l++) {
		put_part(x, l);
		cuda(kh_gpu_seed_lines(&x->level[l], x->e.image, NULL));
	}
	cuda(kh_gpu_seed_words(&x->e, NULL));
}

/* Is range p what the CPU makes of its pairs?  Returns how many levels it has. */
static unsigned compare_range(struct seeding *x, unsigned p, const kh_bins *bins)
{
	const kh_gpu_range *r = &x->range[p];
	const size_t n = r[1].pair - r->pair;
	kh_pair_scratch scratch = { .key = NULL };
	const kh_seed_range s = range_of(x, p);
	const size_t lines = (size_t)kh_seed_line_bytes(&s);
	const char *image = x->a[IMAGE].host + r->loc * 4 - lines;
	kh_image im = { .line = NULL };
	kh_pairs in;
	unsigned levels = 0;

	ok(kh_pair_scratch_grow(&scratch, n + 1, err));
	for (size_t i = 0; i < n; i++) {
		scratch.key[i] = kh_seed_first(x->p.v[r->pair + i].key);
		scratch.loc[i] = x->p.v[r->pair + i].bin;
	}
	in = (kh_pairs) { scratch.key, scratch.loc, n };
	ok(kh_seeds_encode(&im, &scratch, &in, bins, err));
	assert_memory_equal(&im.range, &s, sizeof s);
	for (size_t i = 0; i < lines; i++)
		if (image[i] != ((char *)im.line)[i])
			fail_msg("range %u: byte %zu of line %zu", p, i % 64, i / 64);
	if (s.words)
		assert_memory_equal(image + lines, im.word, s.words * 4);
	assert_true(kh_all_zero(image + lines + s.words * 4,
				(size_t)kh_seed_bytes(&s) - lines - s.words * 4));
	while (levels < KH_SEED_LEVELS && s.lines[levels])
		levels++;
	kh_image_clear(&im);
	kh_pair_scratch_clear(&scratch);
	return levels;
}

/* n keys of the ranges from .. to - 1; how many levels they have. */
static unsigned seeds_once(unsigned from, unsigned to, size_t n, uint32_t bits)
{
	kh_bins bins = small_bins();
	struct seeding *x = calloc(1, sizeof *x);
	unsigned levels = 0;

	bins.bits = x->bits = bits;
	make_pairs(&x->p, from, to, n);
	begin(x, &bins);
	find_lists(x);
	make_levels(x);
	make_image(x);
	for (int i = 0; i < AREAS; i++)
		if (x->a[i].host)
			area_get(&x->a[i]);
	for (unsigned p = 0; p < KH_RANGES; p++) {
		const unsigned its = compare_range(x, p, &bins);

		levels = its > levels ? its : levels;
	}
	for (int i = 0; i < AREAS; i++)
		if (x->a[i].host)
			area_free(&x->a[i]);
	free(x->p.v);
	free(x);
	return levels;
}

static void test_seeds(void **state)
{
	static const uint32_t bits[] = { 23, 25, 26, 29, 31 };

	(void)state;
	for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
		assert_true(seeds_once(0, KH_RANGES, 5000, bits[i]) > 1);
		assert_true(seeds_once(100, 103, 3000, bits[4 - i]) > 2);
		seeds_once(255, 256, 800, bits[i]);
		seeds_once(7, 8, 1 + i, bits[i]);
	}
	seeds_once(0, KH_RANGES, 0, 23);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seeds),
	};
	int status;

	test_seed();
	if (!gpu_there(&status))
		return status;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
