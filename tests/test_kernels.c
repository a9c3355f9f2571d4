/*
 * test_kernels.c - sampling, sorting, looking up and the check of an index: launchers against the
 * functions of src/ that they must equal
 *
 * Gathering and encoding: test_gpu_encode.c; pairs to their owners: test_gpu_shard.c; features and
 * their lists: test_exchange.c; queries: test_backend.c; what is counted of them: test_census.c.
 * Outputs are poisoned first and have a guard behind them.
 */
#include "test_gpu.h"

#include "cuda/gpu/gpu.h"
#include "gpu_area.h"
#include "tests/bench/program/gpu/kernels.h"
#include "cuda/kernels/builder.h"
#include "cuda/kernels/engine.h"
#include "made_index.h"

/* --- sampling ----------------------------------------------------------------------- */
enum { MAX_PIECES = 40 };

/* A block of references, as both sides get it. */
struct block {
	kh_piece piece[MAX_PIECES];
	kh_gpu_piece gp[MAX_PIECES];
	uint32_t n;
	uint64_t windows, summed, bound;
	size_t words;
	uint64_t *bases;
	uint32_t *amb;
};

static void make_pieces(struct block *b, const kh_sampling *sampling, bool extreme)
{
	static const uint64_t edge[] = { 0,  1,   16,  31,  32,  33,  63,  64,
					 65, 111, 112, 113, 255, 256, 257, 5000 };
	uint64_t at = test_rand() % 100;
	uint32_t bin = 0;

	b->n = 1 + (uint32_t)(test_rand() % MAX_PIECES);
	for (uint32_t i = 0; i < b->n; i++) {
		uint64_t starts = extreme ? edge[test_rand() % 16] : test_rand() % 20000;
		kh_piece *p = &b->piece[i];

		*p = (kh_piece) { .at = at, .starts = starts, .bin = bin };
		p->bases = test_rand() % 4 ? starts + sampling->k - 1 : starts;
		p->local = (uint32_t)(test_rand() % 1000);
		b->gp[i] = (kh_gpu_piece) { at,        starts, p->bases, b->windows,
					    b->summed, bin,    p->local };
		b->summed += (p->bases + sampling->stride - 1) / sampling->stride;
		b->windows += (starts + sampling->stride - 1) / sampling->stride;
		b->bound += kh_sampling_bound(sampling, starts);
		bin += (uint32_t)(starts / sampling->stride) + 3;
		at = (at + starts + sampling->k - 1 + 31) / 32 * 32 + 32 * (test_rand() % 3);
	}
	b->words = (size_t)at / 32 + 2;
}

static void make_words(struct block *b)
{
	b->bases = calloc(b->words + 1, 8);
	b->amb = calloc(b->words + 1, 4);
	for (size_t i = 0; i < b->words; i++) {
		b->bases[i] = test_rand() % 5	? test_rand()
			      : test_rand() % 2 ? 0
						: UINT64_C(0x1b1b1b1b1b1b1b1b);
		b->amb[i] = test_rand() % 6
				    ? 0
				    : (uint32_t)(test_rand() & test_rand() & test_rand());
	}
}

/* Pairs, their number and the digests of pieces are those of the functions of src/. */
static void check_sample(const struct block *b, const kh_sampling *sampling, const uint64_t *key,
			 const uint32_t *bin, uint32_t count, const uint64_t *digest)
{
	uint64_t *want = malloc((b->bound + 1) * 8);
	uint32_t *pos = malloc((b->bound + 1) * 4);
	const kh_block_pieces whole = { .bases = b->bases, .amb = b->amb };
	size_t m = 0;

	for (uint32_t i = 0; i < b->n; i++) {
		const kh_piece *p = &b->piece[i];
		kh_stretch st = { b->bases, b->amb, p->at, p->at + p->starts };
		size_t k = kh_sampling_run(sampling, &st, want + m, pos + m);

		for (size_t j = m; j < m + k; j++)
			pos[j] = p->bin + pos[j] / sampling->stride;
		m += k;
		assert_true(digest[i] == kh_digest(&whole, p, sampling->stride));
	}
	assert_int_equal(count, m);
	for (size_t i = 0; i < m; i++)
		if (want[i] != key[i] || pos[i] != bin[i])
			fail_msg("scheme %u k %u s %u: pair %zu of %zu: %llx in %u, not "
				 "%llx in %u",
				 sampling->scheme, sampling->k, sampling->s, i, m,
				 (unsigned long long)key[i], bin[i],
				 (unsigned long long)want[i], pos[i]);
	free(want);
	free(pos);
}

static void sample_once(const kh_sampling *sampling, bool extreme)
{
	static const uint64_t zero[MAX_PIECES];
	struct block b = { .n = 0 };

	make_pieces(&b, sampling, extreme);
	make_words(&b);
	area in[3] = { area_new(b.bases, (b.words + 1) * 8),
		       area_new(b.amb, (b.words + 1) * 4),
		       area_new(b.gp, b.n * sizeof *b.gp) };
	area out[4] = { area_new(NULL, b.bound * 8), area_new(NULL, b.bound * 4),
			area_new(NULL, 4), area_new(zero, b.n * 8) };
	kh_gpu_sample s = { .sampling = *sampling,
			    .bases = (uint64_t *)in[0].dev,
			    .amb = (uint32_t *)in[1].dev,
			    .piece = (kh_gpu_piece *)in[2].dev,
			    .n_pieces = b.n,
			    .n_words = (uint32_t)b.words,
			    .n_windows = b.windows,
			    .n_summed = b.summed,
			    .key = (uint64_t *)out[0].dev,
			    .bin = (uint32_t *)out[1].dev,
			    .count = (uint32_t *)out[2].dev,
			    .digest = (uint64_t *)out[3].dev };
	s.scratch_bytes = kh_gpu_sample_scratch(&s);
	area scratch = area_new(NULL, s.scratch_bytes);
	s.scratch = scratch.dev;
	cuda(kh_gpu_sample_run(&s, NULL));
	area_get(&scratch);
	check_sample(&b, sampling, area_get(&out[0]), area_get(&out[1]),
		     *(uint32_t *)area_get(&out[2]), area_get(&out[3]));
	for (int i = 0; i < 3; i++)
		area_free(&in[i]);
	for (int i = 0; i < 4; i++)
		area_free(&out[i]);
	area_free(&scratch);
	free(b.bases);
	free(b.amb);
}

/* All features, or those of some rank. */
static uint32_t some_rank(void)
{
	return test_rand() % 2 ? 0 : (uint32_t)test_rand();
}

static void test_sampling(void **state)
{
	(void)state;
	for (uint32_t k = 8; k <= 31; k++)
		for (uint32_t h = 1; h <= 8 && 2 * h + 2 <= k; h++) {
			kh_sampling sampling = { KH_SYNCMER, k, k - 2 * h,
					 16 + (uint32_t)(test_rand() % 200), some_rank(),
					 test_rand() % 2 };

			sample_once(&sampling, test_rand() % 2);
		}
	for (uint32_t k = 8; k <= 31; k += 3) {
		static const uint32_t stride[] = { 16, 112, 113, 255, 256, 257, 4096 };

		for (int i = 0; i < 7; i++) {
			kh_sampling sampling = { KH_MINHASH, k, 1 + (uint32_t)(test_rand() % 64),
					 stride[i], some_rank(), test_rand() % 2 };

			sample_once(&sampling, i % 2);
		}
	}
}

/* --- sorting ------------------------------------------------------------------------ */
struct item {
	uint64_t key;
	uint32_t bin, order;
};

static int by_key_order(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
				: (x->order > y->order) - (x->order < y->order);
}

static void test_sort(void **state)
{
	static const size_t size[] = { 1, 2, 255, 256, 257, 5000, (1 << 20) + 1 };

	(void)state;
	for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
		const size_t n = size[i];
		struct item *v = malloc(n * sizeof *v);
		uint64_t *k = malloc(n * 8), at[KH_RANGES + 1];
		uint32_t *b = malloc(n * 4);

		for (size_t j = 0; j < n; j++) {
			v[j] = (struct item) { test_rand() >> 16, (uint32_t)test_rand(),
					       (uint32_t)j };
			v[j].key &=
				test_rand() % 2 ? ~UINT64_C(0) : UINT64_C(0xff0000000003);
			k[j] = v[j].key;
			b[j] = v[j].bin;
		}
		area a[4] = { area_new(k, n * 8), area_new(NULL, n * 8),
			      area_new(b, n * 4), area_new(NULL, n * 4) };
		area bounds = area_new(NULL, sizeof at);
		kh_gpu_sort s = { (uint64_t *)a[0].dev,
				  (uint64_t *)a[1].dev,
				  (uint32_t *)a[2].dev,
				  (uint32_t *)a[3].dev,
				  n,
				  0,
				  KH_KEY_BITS,
				  NULL,
				  0 };
		cuda(kh_gpu_sort_run(&s, NULL));
		area scratch = area_new(NULL, s.scratch_bytes);
		s.scratch = scratch.dev;
		cuda(kh_gpu_sort_run(&s, NULL));
		cuda(kh_gpu_bounds(s.key, n, (uint64_t *)bounds.dev, NULL));
		for (int j = 0; j < 4; j++)
			area_get(&a[j]);
		qsort(v, n, sizeof *v, by_key_order);
		const uint64_t *gk = (uint64_t *)a[s.key != (uint64_t *)a[0].dev].host;
		const uint32_t *gb =
			(uint32_t *)a[2 + (s.bin != (uint32_t *)a[2].dev)].host;
		for (size_t j = 0; j < n; j++)
			assert_true(gk[j] == v[j].key && gb[j] == v[j].bin);
		memcpy(at, area_get(&bounds), sizeof at);
		for (uint32_t p = 0; p <= KH_RANGES; p++) {
			assert_true(at[p] == n || gk[at[p]] >> 40 >= p);
			assert_true(at[p] == 0 || gk[at[p] - 1] >> 40 < p);
		}
		for (int j = 0; j < 4; j++)
			area_free(&a[j]);
		area_free(&bounds);
		area_free(&scratch);
		free(v);
		free(k);
		free(b);
	}
}

/* --- looking up --------------------------------------------------------------------- */
/* n pairs of one range, some of them crowded into a few homes, sorted. */
static kh_pairs make_pairs(size_t n, bool crowded)
{
	struct item *v = malloc((n + 1) * sizeof *v);
	kh_pairs p = { malloc((n + 1) * 8), malloc((n + 1) * 4), n };

	for (size_t i = 0; i < n; i++) {
		v[i] = (struct item) { test_rand() >> 24, random_bin(), 0 };
		if (crowded && test_rand() % 2)
			v[i].key = (UINT64_C(0x55) << 32) +
				   (test_rand() % 30 << 22) % (UINT64_C(1) << 32);
		if (i > 0 && test_rand() % 3 == 0)
			v[i].key = v[i - 1].key;
		v[i].order = v[i].bin;
	}
	qsort(v, n, sizeof *v, by_key_order);
	for (size_t i = 0; i < n; i++) {
		p.key[i] = v[i].key;
		p.loc[i] = v[i].bin;
	}
	free(v);
	return p;
}

/* Looks m keys up in an index whose range 0 is the image. */
static void compare_look_ups(const char *image, size_t bytes, const kh_range *dir,
			     const uint64_t *key, size_t m)
{
	area di = area_new(image, bytes), dd = area_new(dir, KH_RANGES * sizeof *dir),
	     dk = area_new(key, m * 8), dl = area_new(NULL, m * sizeof(kh_list));
	kh_gpu_index ix = { .image = (kh_bucket *)di.dev, .dir = (kh_range *)dd.dev,
			    .bits = WORD_BITS };
	const kh_list *got;

	cuda(kh_gpu_bench_look_up(&ix, (uint64_t *)dk.dev, m, (kh_list *)dl.dev, NULL));
	got = area_get(&dl);
	for (size_t i = 0; i < m; i++) {
		kh_list l = kh_index_find((const kh_bucket *)image, dir, key[i], WORD_BITS);

		if (l.n != got[i].n || l.over != got[i].over ||
		    (l.n && l.bit != got[i].bit))
			fail_msg("key %llx: %u words at %llu, not %u at %llu",
				 (unsigned long long)key[i], got[i].n,
				 (unsigned long long)got[i].bit, l.n,
				 (unsigned long long)l.bit);
	}
	area_free(&di);
	area_free(&dd);
	area_free(&dk);
	area_free(&dl);
}

/* Is range 0 sound? */
static bool sound(const area *image, const area *dir, const kh_range *r)
{
	const kh_gpu_index ix = { .image = (kh_bucket *)image->dev, .dir = (kh_range *)dir->dev,
				  .tree = { .n = N_TAXA }, .bits = WORD_BITS };
	uint32_t begin[2] = { UINT32_MAX, 0 }, *got;
	area a = area_new(begin, sizeof begin);
	bool is;

	cuda(kh_gpu_index_check(&ix, N_BINS, 0, 1, (uint32_t *)a.dev, (uint32_t *)a.dev + 1, NULL));
	got = area_get(&a);
	is = got[0] == UINT32_MAX && got[1] == r->entries;
	area_free(&a);
	return is;
}

/* The range, and the same with a bit of it changed: as kh_index_check has it. */
static void compare_checks(char *image, size_t bytes, const kh_range *dir, int changes)
{
	area di = area_new(image, bytes), dd = area_new(dir, KH_RANGES * sizeof *dir);
	const size_t buckets = ((size_t)dir->buckets + 1) * 64;
	unsigned bad = 0;

	assert_true(sound(&di, &dd, dir));
	for (int i = 0; i < changes; i++) {
		const size_t at = test_rand() % (i % 4 ? buckets : bytes);
		const char was = image[at];
		kh_err why;

		image[at] = (char)(was ^ 1 << test_rand() % 8);
		cuda(cudaMemcpy(di.dev + at, image + at, 1, cudaMemcpyHostToDevice));
		const bool want = !kh_index_check(image, dir, N_BINS, N_TAXA, &why);
		if (sound(&di, &dd, dir) != want)
			fail_msg("byte %zu of %zu is 0x%02x, not 0x%02x: %s", at, bytes,
				 (unsigned char)image[at], (unsigned char)was,
				 want ? "sound" : why.msg);
		bad += !want;
		image[at] = was;
		cuda(cudaMemcpy(di.dev + at, image + at, 1, cudaMemcpyHostToDevice));
	}
	assert_true(changes == 0 || bad > 0);
	area_free(&di);
	area_free(&dd);
}

/* The keys of n pairs, those next to them, and others. */
static void look_up_once(size_t n, bool crowded)
{
	kh_taxonomy *tax = small_tree();
	kh_bins bins = small_bins();
	kh_pairs p = make_pairs(n, crowded);
	kh_image im = { .bucket = NULL };
	kh_range dir[KH_RANGES] = { { 0 } };
	const size_t m = 2 * n + 1000;
	uint64_t *key = malloc(m * 8);

	ok(kh_index_encode(&im, &p, &bins, tax, err));
	size_t bytes = (size_t)kh_range_bytes(&im.range, WORD_BITS),
	       buckets = ((size_t)im.range.buckets + 1) * 64;
	char *image = calloc(1, bytes);
	memcpy(image, im.bucket, buckets);
	memcpy(image + buckets, im.loc, kh_words_bytes(im.range.n_locs, WORD_BITS));
	dir[0] = im.range;
	dir[0].first_loc = buckets / 4;
	for (size_t i = 0; i < m; i++) {
		key[i] = i < n       ? p.key[i]
			 : i < 2 * n ? p.key[i - n] + 1
				     : test_rand() >> 24;
		key[i] &= (UINT64_C(1) << 40) - 1;
	}
	compare_look_ups(image, bytes, dir, key, m);
	compare_checks(image, bytes, dir, n <= 5000 ? 400 : 20);
	kh_image_clear(&im);
	kh_taxonomy_free(tax);
	free(image);
	free(key);
	free(p.key);
	free(p.loc);
}

static void test_look_up(void **state)
{
	static const size_t size[] = { 0, 1, 12, 13, 14, 100, 5000, 100000 };

	(void)state;
	for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
		look_up_once(size[i], false);
		look_up_once(size[i], true);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sampling),
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_look_up),
	};
	int status;

	test_seed();
	if (!gpu_there(&status))
		return status;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
