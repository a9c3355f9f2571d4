/*
 * test_kernels.c - sampling, sorting and gathering of pairs: launchers against the functions of
 * src/ that they must equal
 *
 * Pairs to lines and lists: test_gpu_seeds.c; pairs to their owners: test_gpu_shard.c; queries, and
 * what is counted of them: test_backend.c.  Outputs are poisoned first and have a guard behind
 * them.
 */
#include "test_gpu.h"

#include "gpu_area.h"
#include "cuda/kernels/builder.h"
#include "index/pairs.h"

/* --- sampling ----------------------------------------------------------------------- */
enum { MAX_PIECES = 40 };

/* A block of references, as both sides get it. */
struct block {
	kh_piece piece[MAX_PIECES];
	kh_gpu_piece gp[MAX_PIECES];
	uint32_t n;
	uint64_t windows, bound;
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
		b->gp[i] = (kh_gpu_piece) { at, starts, b->windows, bin };
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

/* Pairs and their number are those of the functions of src/. */
static void check_sample(const struct block *b, const kh_sampling *sampling, const uint64_t *key,
			 const uint32_t *bin, uint32_t count)
{
	uint64_t *want = malloc((b->bound + 1) * 8);
	uint32_t *pos = malloc((b->bound + 1) * 4);
	size_t m = 0;

	for (uint32_t i = 0; i < b->n; i++) {
		const kh_piece *p = &b->piece[i];
		kh_stretch st = { b->bases, b->amb, p->at, p->at + p->starts };
		size_t k = kh_sampling_run(sampling, &st, want + m, pos + m);

		for (size_t j = m; j < m + k; j++)
			pos[j] = p->bin + pos[j] / sampling->stride;
		m += k;
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
	struct block b = { .n = 0 };

	make_pieces(&b, sampling, extreme);
	make_words(&b);
	area in[3] = { area_new(b.bases, (b.words + 1) * 8),
		       area_new(b.amb, (b.words + 1) * 4),
		       area_new(b.gp, b.n * sizeof *b.gp) };
	area out[3] = { area_new(NULL, b.bound * 8), area_new(NULL, b.bound * 4),
			area_new(NULL, 4) };
	kh_gpu_sample s = { .sampling = *sampling,
			    .bases = (uint64_t *)in[0].dev,
			    .amb = (uint32_t *)in[1].dev,
			    .piece = (kh_gpu_piece *)in[2].dev,
			    .n_pieces = b.n,
			    .n_words = (uint32_t)b.words,
			    .n_windows = b.windows,
			    .key = (uint64_t *)out[0].dev,
			    .bin = (uint32_t *)out[1].dev,
			    .count = (uint32_t *)out[2].dev };
	s.scratch_bytes = kh_gpu_sample_scratch(&s);
	area scratch = area_new(NULL, s.scratch_bytes);
	s.scratch = scratch.dev;
	cuda(kh_gpu_sample_run(&s, NULL));
	area_get(&scratch);
	check_sample(&b, sampling, area_get(&out[0]), area_get(&out[1]),
		     *(uint32_t *)area_get(&out[2]));
	for (int i = 0; i < 3; i++) {
		area_free(&in[i]);
		area_free(&out[i]);
	}
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

/* --- gathering ---------------------------------------------------------------------- */
struct gathering {
	size_t n, total;                /* parts; pairs */
	uint64_t *key;
	uint32_t *bin;
};

static void make_gathering(struct gathering *x, size_t total)
{
	x->total = total;
	x->key = calloc(total + 1, sizeof *x->key);
	x->bin = calloc(total + 1, sizeof *x->bin);
	for (size_t i = 0; i < total; i++) {
		x->key[i] = test_rand() >> 16;
		x->bin[i] = (uint32_t)test_rand();
	}
}

static void check_gathered(const struct gathering *x, const uint64_t *key, const uint32_t *bin)
{
	for (size_t i = 0; i < x->total; i++)
		if (key[i] != x->key[i] || bin[i] != x->bin[i])
			fail_msg("pair %zu of %zu in %zu parts", i, x->total, x->n);
}

/* The parts lie in `many` pieces of all sizes, some of them empty, in the reverse order. */
static void gather_once(size_t total, size_t many)
{
	struct gathering x = { .n = many };
	kh_gpu_pairs *part = calloc(many, sizeof *part);
	size_t at = 0, back = total;

	make_gathering(&x, total);
	area from[2] = { area_new(NULL, total * 8), area_new(NULL, total * 4) },
	     to[2] = { area_new(NULL, total * 8), area_new(NULL, total * 4) };
	for (size_t i = 0; i < many; i++) {
		const size_t rest = total - at, n = i + 1 == many ? rest
					: test_rand() % 4 == 0 ? 0
					: test_rand() % (2 * rest / (many - i) + 1);

		back -= n;
		part[i] = (kh_gpu_pairs) { (uint64_t *)from[0].dev + back,
					   (uint32_t *)from[1].dev + back, n, at };
		cuda(cudaMemcpy(from[0].dev + back * 8, x.key + at, n * 8, cudaMemcpyHostToDevice));
		cuda(cudaMemcpy(from[1].dev + back * 4, x.bin + at, n * 4, cudaMemcpyHostToDevice));
		at += n;
	}
	area parts = area_new(part, many * sizeof *part);
	const kh_gpu_gather g = { .part = (kh_gpu_pairs *)parts.dev, .n = (uint32_t)many,
				  .total = total, .key = (uint64_t *)to[0].dev,
				  .bin = (uint32_t *)to[1].dev };
	cuda(kh_gpu_gather_run(&g, NULL));
	check_gathered(&x, area_get(&to[0]), area_get(&to[1]));
	for (int i = 0; i < 2; i++) {
		area_free(&from[i]);
		area_free(&to[i]);
	}
	area_free(&parts);
	free(part);
	free(x.key);
	free(x.bin);
}

/* One part that lies where it goes. */
static void gather_in_place(size_t total)
{
	struct gathering x = { .n = 1 };

	make_gathering(&x, total);
	area key = area_new(x.key, total * 8), bin = area_new(x.bin, total * 4);
	const kh_gpu_pairs all = { (uint64_t *)key.dev, (uint32_t *)bin.dev, total, 0 };
	area part = area_new(&all, sizeof all);
	const kh_gpu_gather g = { .part = (kh_gpu_pairs *)part.dev, .n = 1, .total = total,
				  .key = (uint64_t *)key.dev, .bin = (uint32_t *)bin.dev };

	cuda(kh_gpu_gather_run(&g, NULL));
	check_gathered(&x, area_get(&key), area_get(&bin));
	area_free(&key);
	area_free(&bin);
	area_free(&part);
	free(x.key);
	free(x.bin);
}

static void test_gather(void **state)
{
	static const size_t total[] = { 0, 1, 255, 256, 4095, 4096, 4097, 100000, 1 << 20 };

	(void)state;
	for (size_t i = 0; i < sizeof total / sizeof *total; i++) {
		for (size_t many = 1; many <= 1000; many *= 10)
			gather_once(total[i], many);
		gather_once(total[i], 3);
		gather_in_place(total[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sampling),
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_gather),
	};
	int status;

	test_seed();
	if (!gpu_there(&status))
		return status;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
