/*
 * test_kernels.c - each launcher against the function of src/ that it must equal
 *
 * Outputs are poisoned first and have a guard behind them.
 */
#include "test_gpu.h"

#include "gpu.h"
#include "kernels.h"
#include "made_index.h"

enum { GUARD = 256, POISON = 0xa5 };

/* Device memory that is compared on the host. */
typedef struct area {
	char *dev, *host;
	size_t n;
} area;

static void cuda(int e)
{
	if (e)
		fail_msg("CUDA: %s", cudaGetErrorString((cudaError_t)e));
}

static area area_new(const void *from, size_t n)
{
	area a = { NULL, malloc(n + GUARD), n };

	memset(a.host, POISON, n + GUARD);
	if (from && n)
		memcpy(a.host, from, n);
	cuda(cudaMalloc((void **)&a.dev, n + GUARD));
	cuda(cudaMemcpy(a.dev, a.host, n + GUARD, cudaMemcpyHostToDevice));
	return a;
}

/* Contents to the host; the guard must be whole. */
static void *area_get(area *a)
{
	cuda(cudaDeviceSynchronize());
	cuda(cudaMemcpy(a->host, a->dev, a->n + GUARD, cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < GUARD; i++)
		if ((unsigned char)a->host[a->n + i] != POISON)
			fail_msg("byte %zu behind an output is %02x", i,
				 (unsigned char)a->host[a->n + i]);
	return a->host;
}

static void area_free(area *a)
{
	cudaFree(a->dev);
	free(a->host);
}

/* --- sampling ----------------------------------------------------------------------- */
enum { MAX_PIECES = 40 };

static void sample_once(const kh_sketch *sk, bool extreme)
{
	static const uint64_t edge[] = { 0,  1,   16,  31,  32,  33,  63,  64,
					 65, 111, 112, 113, 255, 256, 257, 5000 };
	kh_piece piece[MAX_PIECES];
	kh_gpu_piece gp[MAX_PIECES];
	uint64_t at = test_rand() % 100, windows = 0, summed = 0, bound = 0;
	uint32_t n = 1 + (uint32_t)(test_rand() % MAX_PIECES), bin = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t starts = extreme ? edge[test_rand() % 16] : test_rand() % 20000;

		piece[i] = (kh_piece) { .at = at, .starts = starts, .bin = bin };
		piece[i].bases = test_rand() % 4 ? starts + sk->k - 1 : starts;
		piece[i].local = (uint32_t)(test_rand() % 1000);
		gp[i] = (kh_gpu_piece) { at,     starts, piece[i].bases, windows,
					 summed, bin,    piece[i].local };
		summed += (piece[i].bases + sk->stride - 1) / sk->stride;
		windows += (starts + sk->stride - 1) / sk->stride;
		bound += kh_sketch_bound(sk, starts);
		bin += (uint32_t)(starts / sk->stride) + 3;
		at = (at + starts + sk->k - 1 + 31) / 32 * 32 + 32 * (test_rand() % 3);
	}
	size_t words = (size_t)at / 32 + 2;
	uint64_t *bases = calloc(words + 1, 8);
	uint32_t *amb = calloc(words + 1, 4);

	for (size_t i = 0; i < words; i++) {
		bases[i] = test_rand() % 5   ? test_rand()
			   : test_rand() % 2 ? 0
					     : UINT64_C(0x1b1b1b1b1b1b1b1b);
		amb[i] = test_rand() % 6
				 ? 0
				 : (uint32_t)(test_rand() & test_rand() & test_rand());
	}
	area db = area_new(bases, (words + 1) * 8), da = area_new(amb, (words + 1) * 4);
	area dp = area_new(gp, n * sizeof *gp), count = area_new(NULL, 4);
	uint64_t zero[MAX_PIECES] = { 0 };
	area digest = area_new(zero, n * 8);
	area key = area_new(NULL, bound * 8), out = area_new(NULL, bound * 4);
	kh_gpu_sample s = { .sketch = *sk,
			    .bases = (uint64_t *)db.dev,
			    .amb = (uint32_t *)da.dev,
			    .piece = (kh_gpu_piece *)dp.dev,
			    .n_pieces = n,
			    .n_words = (uint32_t)words,
			    .n_windows = windows,
			    .n_summed = summed,
			    .digest = (uint64_t *)digest.dev,
			    .key = (uint64_t *)key.dev,
			    .bin = (uint32_t *)out.dev,
			    .count = (uint32_t *)count.dev };
	s.room_bytes = kh_gpu_sample_room(&s);
	area room = area_new(NULL, s.room_bytes);
	s.room = room.dev;
	cuda(kh_gpu_sample_run(&s, NULL));

	uint64_t *want = malloc((bound + 1) * 8), *got = area_get(&key);
	uint32_t *pos = malloc((bound + 1) * 4), *got_bin = area_get(&out);
	size_t m = 0;

	area_get(&room);
	for (uint32_t i = 0; i < n; i++) {
		kh_stretch st = { bases, amb, piece[i].at,
				  piece[i].at + piece[i].starts };
		size_t k = kh_sketch_run(sk, &st, want + m, pos + m);

		for (size_t j = m; j < m + k; j++)
			pos[j] = piece[i].bin + pos[j] / sk->stride;
		m += k;
	}
	const uint64_t *got_digest = area_get(&digest);
	for (uint32_t i = 0; i < n; i++) {
		kh_sample whole = { .bases = bases, .amb = amb };

		assert_true(got_digest[i] == kh_digest(&whole, &piece[i], sk->stride));
	}
	assert_int_equal(*(uint32_t *)area_get(&count), m);
	for (size_t i = 0; i < m; i++)
		if (want[i] != got[i] || pos[i] != got_bin[i])
			fail_msg("scheme %u k %u s %u: pair %zu of %zu: %llx in %u, not "
				 "%llx in %u",
				 sk->scheme, sk->k, sk->s, i, m,
				 (unsigned long long)got[i], got_bin[i],
				 (unsigned long long)want[i], pos[i]);
	free(bases);
	free(amb);
	free(want);
	free(pos);
	area_free(&db);
	area_free(&da);
	area_free(&dp);
	area_free(&count);
	area_free(&digest);
	area_free(&key);
	area_free(&out);
	area_free(&room);
}

static void test_sampling(void **state)
{
	(void)state;
	for (uint32_t k = 8; k <= 31; k++)
		for (uint32_t h = 1; h <= 8 && 2 * h + 2 <= k; h++) {
			kh_sketch sk = { KH_SYNCMER, k, k - 2 * h,
					 16 + (uint32_t)(test_rand() % 200) };

			sample_once(&sk, test_rand() % 2);
		}
	for (uint32_t k = 8; k <= 31; k += 3) {
		static const uint32_t stride[] = { 16, 112, 113, 255, 256, 257, 4096 };

		for (int i = 0; i < 7; i++) {
			kh_sketch sk = { KH_MINHASH, k, 1 + (uint32_t)(test_rand() % 64),
					 stride[i] };

			sample_once(&sk, i % 2);
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
				  KH_KEY_BITS,
				  NULL,
				  0 };
		cuda(kh_gpu_sort_run(&s, NULL));
		area room = area_new(NULL, s.room_bytes);
		s.room = room.dev;
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
		area_free(&room);
		free(v);
		free(k);
		free(b);
	}
}

/* --- looking up --------------------------------------------------------------------- */
/* One range, number 0, of n keys, some of them crowded into a few homes. */
static void look_up_once(size_t n, bool crowded)
{
	kh_taxonomy *tax = small_tree();
	kh_bins bins = small_bins();
	struct item *v = malloc((n + 1) * sizeof *v);
	kh_pairs p = { malloc((n + 1) * 8), malloc((n + 1) * 4), n };
	kh_image im = { .bucket = NULL };
	kh_range dir[KH_RANGES] = { { 0 } };

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
	ok(kh_index_encode(&im, &p, &bins, tax, err));
	size_t bytes = (size_t)kh_range_bytes(&im.range),
	       buckets = ((size_t)im.range.buckets + 1) * 64;
	char *image = calloc(1, bytes);
	memcpy(image, im.bucket, buckets);
	memcpy(image + buckets, im.loc, im.range.n_locs * 4);
	dir[0] = im.range;
	dir[0].first_loc = buckets / 4;

	size_t m = 2 * n + 1000;
	uint64_t *key = malloc(m * 8);
	for (size_t i = 0; i < m; i++)
		key[i] = i < n       ? p.key[i]
			 : i < 2 * n ? p.key[i - n] + 1
				     : test_rand() >> 24;
	for (size_t i = 0; i < m; i++)
		key[i] &= (UINT64_C(1) << 40) - 1;
	area di = area_new(image, bytes), dd = area_new(dir, sizeof dir),
	     dk = area_new(key, m * 8);
	area dl = area_new(NULL, m * sizeof(kh_list));
	kh_gpu_index ix = { .image = (kh_bucket *)di.dev, .dir = (kh_range *)dd.dev };
	cuda(kh_gpu_look_up(&ix, (uint64_t *)dk.dev, m, (kh_list *)dl.dev, NULL));
	const kh_list *got = area_get(&dl);
	for (size_t i = 0; i < m; i++) {
		kh_list l = kh_index_find((const kh_bucket *)image, dir, key[i]);

		if (l.n != got[i].n || l.over != got[i].over ||
		    (l.n && l.loc != got[i].loc))
			fail_msg("key %llx: %u words at %llu, not %u at %llu",
				 (unsigned long long)key[i], got[i].n,
				 (unsigned long long)got[i].loc, l.n,
				 (unsigned long long)l.loc);
	}
	area_free(&di);
	area_free(&dd);
	area_free(&dk);
	area_free(&dl);
	kh_image_clear(&im);
	kh_taxonomy_free(tax);
	free(image);
	free(key);
	free(v);
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
