/*
 * test_gpu_encode.c - pairs gathered, and sorted pairs to images of ranges: the launchers against
 * kh_index_encode
 *
 * Outputs are poisoned first and have a guard behind them.
 */
#include "test_gpu.h"

#include "cuda/kernels/builder.h"
#include "gpu_area.h"
#include "made_index.h"

/* --- gathering ---------------------------------------------------------------------- */
enum { SEQUENCES = 50, SEQUENCE_BINS = 1000 };

struct gathering {
	size_t n, total;                /* parts; pairs */
	uint64_t *key;
	uint32_t *bin;
	uint32_t first[SEQUENCES], to[SEQUENCES];
};

/* Every third sequence is dropped, and the others move. */
static void make_gathering(struct gathering *x, size_t total)
{
	x->total = total;
	x->key = calloc(total + 1, sizeof *x->key);
	x->bin = calloc(total + 1, sizeof *x->bin);
	for (size_t i = 0; i < total; i++) {
		x->key[i] = test_rand() >> 16;
		x->bin[i] = (uint32_t)(test_rand() % (SEQUENCES * SEQUENCE_BINS));
	}
	for (uint32_t i = 0; i < SEQUENCES; i++) {
		x->first[i] = i * SEQUENCE_BINS;
		x->to[i] = i % 3 ? (SEQUENCES - i) * SEQUENCE_BINS + 7 : KH_DROP;
	}
}

/* Are the gathered pairs those of the parts, with their final bins if `moved`? */
static void check_gathered(const struct gathering *x, const uint64_t *key, const uint32_t *bin,
			   bool moved)
{
	for (size_t i = 0; i < x->total; i++) {
		const uint32_t seq = x->bin[i] / SEQUENCE_BINS;
		const bool dropped = moved && x->to[seq] == KH_DROP;
		const uint32_t shift = moved && !dropped ? x->to[seq] - x->first[seq] : 0;

		if (key[i] != (dropped ? KH_GPU_DROPPED : x->key[i]) || bin[i] != x->bin[i] + shift)
			fail_msg("pair %zu of %zu in %zu parts", i, x->total, x->n);
	}
}

/* The parts lie in `many` pieces of all sizes, some of them empty, in the reverse order. */
static void gather_once(size_t total, size_t many, bool moved)
{
	struct gathering x = { .n = many };
	kh_gpu_pairs *part = calloc(many, sizeof *part);
	size_t at = 0, back = total;

	make_gathering(&x, total);
	area from[2] = { area_new(NULL, total * 8), area_new(NULL, total * 4) },
	     to[2] = { area_new(NULL, total * 8), area_new(NULL, total * 4) },
	     map[2] = { area_new(x.first, sizeof x.first), area_new(x.to, sizeof x.to) };
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
	kh_gpu_gather g = { .part = (kh_gpu_pairs *)parts.dev, .n = (uint32_t)many, .total = total,
			    .key = (uint64_t *)to[0].dev, .bin = (uint32_t *)to[1].dev };
	if (moved)
		g.remap = (kh_gpu_remap) { (uint32_t *)map[0].dev, (uint32_t *)map[1].dev,
					   SEQUENCES };
	cuda(kh_gpu_gather_run(&g, NULL));
	check_gathered(&x, area_get(&to[0]), area_get(&to[1]), moved);
	for (int i = 0; i < 2; i++) {
		area_free(&from[i]);
		area_free(&to[i]);
		area_free(&map[i]);
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
	area key = area_new(x.key, total * 8), bin = area_new(x.bin, total * 4),
	     map[2] = { area_new(x.first, sizeof x.first), area_new(x.to, sizeof x.to) };
	const kh_gpu_pairs all = { (uint64_t *)key.dev, (uint32_t *)bin.dev, total, 0 };
	area part = area_new(&all, sizeof all);
	const kh_gpu_gather g = { .part = (kh_gpu_pairs *)part.dev, .n = 1, .total = total,
				  .remap = { (uint32_t *)map[0].dev, (uint32_t *)map[1].dev,
					     SEQUENCES },
				  .key = (uint64_t *)key.dev, .bin = (uint32_t *)bin.dev };

	cuda(kh_gpu_gather_run(&g, NULL));
	check_gathered(&x, area_get(&key), area_get(&bin), true);
	area_free(&key);
	area_free(&bin);
	area_free(&map[0]);
	area_free(&map[1]);
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
			gather_once(total[i], many, many % 3 == i % 3);
		gather_once(total[i], 3, true);
		gather_in_place(total[i]);
	}
}

/* --- encoding ----------------------------------------------------------------------- */
enum { KEY, BIN, RANGE, FIRST, TAXON, SPECIES, ROW_END, PARENT, END, HEAD, ENTRY, LEAD, SLOT, LEN,
       SEVERAL, MANY, COUNTS, START, IMAGE, ROOM, AREAS };

struct encoding {
	pairs p;
	kh_gpu_encode e;
	kh_gpu_range range[KH_RANGES + 1];
	uint64_t n_start, bytes;        /* of the image */
	area a[AREAS];
};

/* Memory for the device; with its address. */
static void *give(struct encoding *x, int which, const void *from, size_t bytes)
{
	if (x->a[which].host)
		area_free(&x->a[which]);
	x->a[which] = area_new(from, bytes);
	return x->a[which].dev;
}

static void give_zeros(struct encoding *x, int which, size_t bytes)
{
	void *zero = calloc(bytes + 1, 1);

	give(x, which, zero, bytes);
	free(zero);
}

static void put_ranges(struct encoding *x)
{
	x->e.range = give(x, RANGE, x->range, sizeof x->range);
}

static void get_ranges(struct encoding *x)
{
	memcpy(x->range, area_get(&x->a[RANGE]), sizeof x->range);
}

static void clear_counts(struct encoding *x)
{
	give_zeros(x, COUNTS, 64);
	x->e.counts = (uint32_t *)x->a[COUNTS].dev;
	x->e.n_out = (uint64_t *)x->a[COUNTS].dev + 1;
}

static uint64_t number_out(struct encoding *x)
{
	return ((uint64_t *)area_get(&x->a[COUNTS]))[1];
}

/* Lists of all kinds: keys that share an entry, or a home with many others; one bin or hundreds,
 * some of them twice; of one species, and of all. */
static void make_lists(pairs *p, unsigned from, unsigned to, size_t n)
{
	uint64_t key = 0;

	for (size_t i = 0; i < n; i++) {
		const unsigned kind = (unsigned)(test_rand() % 64), near = i % 5;
		const uint64_t range = from + test_rand() % (to - from);

		if (near == 0 || i == 0)
			key = range << 40 | test_rand() >> 24;
		else if (near == 1)
			key = range << 40 | UINT64_C(0x55) << 32 | test_rand() % 40 << 22;
		else if ((key & 0xff) < 0xf0)
			key += 1 + test_rand() % 3;
		if (kind < 3)
			add_list(p, key, 250 + (unsigned)(test_rand() % 600));
		else if (kind < 20)
			add_list(p, key, 2 + (unsigned)(test_rand() % 20));
		else if (kind < 24)
			for (uint32_t b = (uint32_t)(test_rand() % 60); b < 250; b += 1 + kind % 4)
				add_pair(p, key, b % TARGET_BINS + b / TARGET_BINS % 2 *
						 (TARGET_BINS + GAP));
		else
			add_pair(p, key, random_bin());
		if (kind % 7 == 0)
			add_pair(p, key, p->v[p->n - 1].bin);
	}
	if (p->n)
		qsort(p->v, p->n, sizeof *p->v, by_key);
}

/* Where each row of targets of one species ends. */
static void row_ends(const kh_bins *bins, uint32_t end[N_TARGETS])
{
	for (uint32_t t = 0; t < N_TARGETS; t++) {
		uint32_t u = t;

		while (u + 1 < N_TARGETS && bins->species[u + 1] == bins->species[t])
			u++;
		end[t] = bins->first[u + 1];
	}
}

static void begin(struct encoding *x, const kh_bins *bins)
{
	const size_t n = x->p.n;
	uint64_t *key = calloc(n + 1, sizeof *key);
	uint32_t *bin = calloc(n + 1, sizeof *bin), end[N_TARGETS];
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
	row_ends(bins, end);
	x->e = (kh_gpu_encode) { .key = give(x, KEY, key, n * 8), .bin = give(x, BIN, bin, n * 4),
				 .n = n, .bins = *bins };
	x->e.bins.first = give(x, FIRST, bins->first, bins->n * 4);
	x->e.bins.taxon = give(x, TAXON, bins->taxon, bins->n * 4);
	x->e.bins.species = give(x, SPECIES, bins->species, N_TARGETS * 4);
	x->e.row_end = give(x, ROW_END, end, sizeof end);
	x->e.tree = (kh_tree) { .n = N_TAXA, .parent = give(x, PARENT, tree_parent, N_TAXA * 4),
				.end = give(x, END, tree_end, N_TAXA * 4) };
	x->e.scratch_bytes = kh_gpu_encode_scratch(n);
	x->e.scratch = give(x, ROOM, NULL, x->e.scratch_bytes);
	free(key);
	free(bin);
}

/* The distinct keys, and how many there are below each range. */
static void find_keys(struct encoding *x)
{
	const uint32_t *head;
	uint64_t n = 0;

	x->e.head = give(x, HEAD, NULL, (x->p.n + 1) * 4);
	clear_counts(x);
	put_ranges(x);
	cuda(kh_gpu_heads(&x->e, NULL));
	x->e.n_heads = number_out(x);
	cuda(kh_gpu_range_heads(&x->e, NULL));
	get_ranges(x);
	head = area_get(&x->a[HEAD]);
	for (size_t i = 0; i < x->p.n; i++) {
		if (i > 0 && x->p.v[i].key == x->p.v[i - 1].key)
			continue;
		assert_true(n < x->e.n_heads && head[n] == i);
		n++;
	}
	assert_true(n == x->e.n_heads);
}

/* Entries and their places, with as many buckets as that takes. */
static void find_places(struct encoding *x, uint32_t cap_several)
{
	const size_t n = x->e.n_heads;
	bool again = true;

	for (unsigned p = 0; p < KH_RANGES; p++)
		x->range[p].B = (uint32_t)((x->range[p + 1].head - x->range[p].head +
					    KH_BUCKET_LOAD - 1) / KH_BUCKET_LOAD);
	for (unsigned p = 0; p < KH_RANGES; p++)
		x->range[p].B += x->range[p].B == 0;
	while (again) {
		again = false;
		for (unsigned p = 0; p < KH_RANGES; p++)
			x->range[p].failed = 0;
		put_ranges(x);
		clear_counts(x);
		x->e.entry = give(x, ENTRY, NULL, (n + 1) * 4);
		x->e.lead = give(x, LEAD, NULL, (n + 1) * 8);
		x->e.slot = give(x, SLOT, NULL, n * 4);
		x->e.several = give(x, SEVERAL, NULL, cap_several * 4);
		x->e.cap_several = cap_several;
		cuda(kh_gpu_entries(&x->e, NULL));
		x->e.n_entries = number_out(x);
		cuda(kh_gpu_place(&x->e, NULL));
		x->e.cap_several = *(uint32_t *)area_get(&x->a[COUNTS]);
		again = x->e.cap_several > cap_several;
		cap_several = again ? x->e.cap_several : cap_several;
		get_ranges(x);
		for (unsigned p = 0; p < KH_RANGES; p++)
			if (x->range[p].failed) {
				x->range[p].B += (x->range[p].B + 15) / 16;
				again = true;
			}
	}
}

static void make_image(struct encoding *x)
{
	x->e.len = give(x, LEN, NULL, x->e.n_entries + 1);
	x->e.many = give(x, MANY, NULL, (x->p.n / KH_GPU_MANY + 1) * 4);
	cuda(kh_gpu_lists(&x->e, NULL));
	get_ranges(x);
	for (unsigned p = 0; p <= KH_RANGES; p++) {
		kh_gpu_range *r = &x->range[p];
		const kh_range size = { .buckets = r->B,
					.n_locs = p < KH_RANGES ? r[1].word - r->word : 0 };

		r->start = (uint32_t)x->n_start;
		r->bucket = x->bytes / 64;
		r->loc = x->bytes / 4 + ((uint64_t)r->B + 1) * 16;
		x->n_start += p < KH_RANGES ? (uint64_t)r->B + 2 : 0;
		x->bytes += p < KH_RANGES ? kh_range_bytes(&size, x->e.bins.bits) : 0;
	}
	put_ranges(x);
	x->e.start = give(x, START, NULL, x->n_start * 4);
	give_zeros(x, IMAGE, x->bytes);
	x->e.image = (kh_bucket *)x->a[IMAGE].dev;
	cuda(kh_gpu_fill(&x->e, x->n_start, NULL));
}

/* Is range p what the CPU makes of its pairs? */
static void compare_range(struct encoding *x, unsigned p, const kh_bins *bins,
			  const kh_taxonomy *tax)
{
	const kh_gpu_range *r = &x->range[p];
	const size_t n = r[1].pair - r->pair;
	const char *image = x->a[IMAGE].host + r->bucket * 64;
	kh_pairs in = { calloc(n + 1, 8), calloc(n + 1, 4), n };
	kh_image im = { .bucket = NULL };

	for (size_t i = 0; i < n; i++) {
		in.key[i] = x->p.v[r->pair + i].key & ((UINT64_C(1) << 40) - 1);
		in.loc[i] = x->p.v[r->pair + i].bin;
	}
	ok(kh_index_encode(&im, &in, bins, tax, err));
	const size_t buckets = (im.range.buckets + (size_t)1) * 64;
	assert_int_equal(r->B, im.range.buckets);
	assert_int_equal(r[1].head - r->head, im.range.keys);
	assert_int_equal(r[1].entry - r->entry, im.range.entries);
	assert_int_equal(r[1].word - r->word, im.range.n_locs);
	assert_int_equal(r->over, im.range.over);
	for (size_t i = 0; i < buckets; i++)
		if (image[i] != ((char *)im.bucket)[i])
			fail_msg("range %u: byte %zu of bucket %zu", p, i % 64, i / 64);
	if (im.range.n_locs)
		assert_memory_equal(image + buckets, im.loc,
				    kh_words_bytes(im.range.n_locs, WORD_BITS));
	kh_image_clear(&im);
	free(in.key);
	free(in.loc);
}

/* n keys of the ranges from .. to - 1. */
static void encode_once(unsigned from, unsigned to, size_t n, uint32_t most, uint32_t cap_several)
{
	kh_taxonomy *tax = small_tree();
	kh_bins bins = small_bins();
	struct encoding *x = calloc(1, sizeof *x);

	bins.most = most;
	make_lists(&x->p, from, to, n);
	begin(x, &bins);
	find_keys(x);
	find_places(x, cap_several);
	make_image(x);
	for (int i = 0; i < AREAS; i++)
		area_get(&x->a[i]);
	for (unsigned p = 0; p < KH_RANGES; p++)
		compare_range(x, p, &bins, tax);
	for (int i = 0; i < AREAS; i++)
		area_free(&x->a[i]);
	free(x->p.v);
	free(x);
	kh_taxonomy_free(tax);
}

static void test_encode(void **state)
{
	static const uint32_t most[] = { 0, 1, 2, 3, 254 };

	(void)state;
	for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
		encode_once(0, KH_RANGES, 5000, most[i], 100000);
		encode_once(100, 103, 3000, most[i], 1);
		encode_once(255, 256, 800, most[i], 100000);
		encode_once(7, 8, 1 + i, most[i], 1);
	}
	encode_once(0, KH_RANGES, 0, 2, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gather),
		cmocka_unit_test(test_encode),
	};
	int status;

	test_seed();
	if (!gpu_there(&status))
		return status;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
