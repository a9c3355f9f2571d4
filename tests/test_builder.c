/*
 * test_builder.c - the host side of the CUDA builder beside the CPU's, on made-up GPUs
 *
 * Both get the same blocks. The ranges must be the same bytes, however little memory the devices
 * have and whatever other programs take of it, and no device may be asked for more than was
 * planned.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "backend/backend.h"
#include "cuda/builder/builder_in.h"
#include "fake_gpu.h"
#include "index/seeds.h"
#include "packed.h"

#define MB (UINT64_C(1) << 20)
enum { BLOCKS = 80, TARGETS = BLOCKS, GAP = 10, THREADS = 3, MOST = 40000 };

static kh_sampling sampling = { KH_SYNCMER, 18, 12, 112, 0, 1 };

/* --- what is built -------------------------------------------------------------------- */
static struct {
	packed p;
	kh_piece piece;
} block[BLOCKS];
static uint32_t first[TARGETS], taxon[TARGETS], next_bin;
static uint64_t bases;
static kh_bin_map map;

/* Root, two genera with two species of two strains each. */
static uint32_t parent[] = { 0, 0, 1, 2, 2, 1, 5, 5, 0, 8, 9, 9, 8, 12, 12 },
		end[] = { 15, 8, 5, 4, 5, 8, 7, 8, 15, 12, 11, 12, 15, 14, 15 },
		species[] = { KH_NO_TAXON, KH_NO_TAXON, 2, 2, 2, 5, 5, 5, KH_NO_TAXON, 9, 9, 9, 12,
			      12, 12 },
		genus[] = { KH_NO_TAXON, 1, 1, 1, 1, 1, 1, 1, 8, 8, 8, 8, 8, 8, 8 };
static const uint32_t strain[] = { 3, 4, 6, 7, 10, 11, 13, 14 };

/* A block a target: strains of a few genomes, so that many keys are had by several targets. */
static void make_blocks(void)
{
	static char genome[4][MOST], text[MOST];

	for (int g = 0; g < 4; g++)
		for (int i = 0; i < MOST; i++)
			genome[g][i] = "ACGT"[test_rand() & 3];
	for (int i = 0; i < BLOCKS; i++) {
		const size_t n = i % 7 ? MOST - test_rand() % (MOST / 2) : test_rand() % 300;

		memcpy(text, genome[i % 4], n);
		for (size_t c = 0; c < n / 50; c++)
			text[test_rand() % n] = "ACGT"[test_rand() & 3];
		block[i].p = pack(text, n);
		block[i].piece = (kh_piece) { .starts = n < 18 ? 0 : n - 17, .bases = n,
					      .bin = next_bin, .seq = (uint64_t)i };
		first[i] = next_bin;
		taxon[i] = strain[i % 8];
		next_bin += (uint32_t)(n / 112 + 1 + GAP);
		bases += n;
	}
}

/* --- a build ---------------------------------------------------------------------------- */
struct index {
	char *range[KH_RANGES];
	size_t bytes[KH_RANGES];
	unsigned n, ready;
};

static int sink(void *arg, const kh_image *im, kh_err *err)
{
	struct index *x = arg;
	const size_t head = sizeof im->range + sizeof im->locations;
	const size_t lines = (size_t)kh_seed_line_bytes(&im->range);
	const size_t lists = im->range.words * sizeof *im->word;
	char *range = malloc(head + lines + lists);

	(void)err;
	x->bytes[x->n] = head + lines + lists;
	x->range[x->n++] = range;
	memcpy(range, &im->range, sizeof im->range);
	memcpy(range + sizeof im->range, &im->locations, sizeof im->locations);
	if (lines)
		memcpy(range + head, im->line, lines);
	if (lists)
		memcpy(range + head + lines, im->word, lists);
	return KH_OK;
}

static void ready(void *arg)
{
	((struct index *)arg)->ready++;
}

static void clear(struct index *x)
{
	for (unsigned i = 0; i < x->n; i++)
		free(x->range[i]);
	*x = (struct index) { .n = 0 };
}

/* One of the two builders. */
struct way {
	int (*open)(kh_builder **b, const kh_builder_options *o, kh_err *err);
	int (*plan)(kh_builder *b, uint64_t pairs, kh_plan *p, kh_err *err);
	int (*add)(kh_builder *b, unsigned worker, const kh_block_pieces *s, kh_err *err);
	int (*finish)(kh_builder *b, const kh_finish *f, kh_err *err);
	void (*close)(kh_builder *b);
};
static const struct way gpu = { kh_cuda_builder_open, kh_cuda_builder_plan, kh_cuda_builder_add,
				kh_cuda_builder_finish, kh_cuda_builder_close };

struct job {
	const struct way *way;
	kh_builder *b;
	_Atomic unsigned next;
};

static int add_worker(void *arg, unsigned worker, kh_err *err)
{
	struct job *j = arg;
	int rc = KH_OK;

	for (unsigned i; !rc && (i = j->next++) < BLOCKS;) {
		const kh_block_pieces s = { .ticket = i, .bases = block[i].p.bases,
					    .amb = block[i].p.amb,
					    .n_words = block[i].p.n / 32 + 1,
					    .piece = &block[i].piece, .n = 1 };

		rc = j->way->add(j->b, worker, &s, err);
	}
	return rc;
}

/* pairs: what is told to the plan; 0: it is not asked. */
static int build(const struct way *way, const kh_builder_options *o, uint64_t pairs,
		 const kh_bins *bins, struct index *x, kh_err *err)
{
	const kh_finish f = { .bins = bins, .sink = sink, .arg = x, .ready = ready };
	struct job j = { .way = way };
	kh_monitor *m = NULL;
	kh_plan p;
	int rc = way->open(&j.b, o, err);

	if (!rc && pairs)
		rc = way->plan(j.b, pairs, &p, err);
	if (!rc && !(rc = kh_monitor_new(&m, err)))
		rc = kh_threads_run(m, o->on.threads, add_worker, &j, err);
	kh_monitor_free(m);
	if (!rc)
		rc = way->finish(j.b, &f, err);
	way->close(j.b);
	return rc;
}

static void same(const struct index *a, const struct index *b, const char *what)
{
	if (a->n != b->n)
		fail_msg("%s: %u ranges, not %u", what, b->n, a->n);
	for (unsigned i = 0; i < a->n; i++)
		if (a->bytes[i] != b->bytes[i] || memcmp(a->range[i], b->range[i], a->bytes[i]))
			fail_msg("%s: range %u differs", what, i);
}

/* --- tests ------------------------------------------------------------------------------ */
static const kh_tree tree = { 15, parent, end, species, genus };
static struct index want;
static uint64_t host_memory;            /* of the options; 0: no limit */

static kh_builder_options options(size_t n, uint64_t gpu_memory)
{
	return (kh_builder_options) { .sampling = sampling, .block_size = MOST,
				      .memory = host_memory, .tmp = "x",
				      .on = { .choice = { .device = { 0, 1, 0, 2 }, .n = n },
					      .memory = gpu_memory, .threads = THREADS } };
}

/* What the CPU makes: it is what all others must make. */
static void make_want(const kh_bins *bins)
{
	const struct way cpu = { kh_backend_cpu.build.open, kh_backend_cpu.build.plan,
				 kh_backend_cpu.build.add, kh_backend_cpu.build.finish,
				 kh_backend_cpu.build.close };
	const kh_builder_options o = options(1, 0);
	kh_err why = { 0, "" };

	clear(&want);
	assert_int_equal(build(&cpu, &o, 0, bins, &want, &why), KH_OK);
}

/* The number behind a word of the message; 0: none. */
static uint64_t number_behind(const char *msg, const char *word)
{
	const char *p = strstr(msg, word);

	return p ? strtoull(p + strlen(word), NULL, 10) : 0;
}

/* The least memory of a device that a build says it can do with. */
static uint64_t least(size_t n, const kh_bins *bins)
{
	uint64_t m = 1;

	for (int tries = 0; tries < 8; tries++) {
		const kh_builder_options o = options(n, m);
		struct index x = { .n = 0 };
		kh_err why = { 0, "" };
		uint64_t now = 0;

		fake_reset(1000 * MB);
		if (build(&gpu, &o, bases / 7, bins, &x, &why) == KH_OK) {
			clear(&x);
			return m;
		}
		clear(&x);
		assert_int_equal(why.code, KH_ENOMEM);
		now = number_behind(why.msg, " need ");
		now = now ? now : number_behind(why.msg, " needs ");
		now = now ? now : number_behind(why.msg, " must be ");
		if (now <= m)
			fail_msg("not more than %llu: %s", (unsigned long long)m, why.msg);
		m = now;
	}
	fail_msg("no least memory");
	return 0;
}

/* With so much of each device: the same ranges, within the limit, and all is given back. */
static void within(size_t n, uint64_t limit, uint64_t pairs, const kh_bins *bins)
{
	const kh_builder_options o = options(n, limit);
	struct index x = { .n = 0 };
	kh_err why = { 0, "" };
	char what[80];

	snprintf(what, sizeof what, "%zu shares, %llu bytes, %llu pairs", n,
		 (unsigned long long)limit, (unsigned long long)pairs);
	fake_reset(1000 * MB);
	if (build(&gpu, &o, pairs, bins, &x, &why))
		fail_msg("%s: %s", what, why.msg);
	same(&want, &x, what);
	assert_int_equal(x.ready, 1);
	for (int d = 0; d < FAKE_DEVICES; d++) {
		const uint64_t shares = n >= 3 && d == 0 ? 2 : 1;

		if (fake.most[d] > shares * limit)
			fail_msg("%s: %llu bytes were taken of device %d", what,
				 (unsigned long long)fake.most[d], d);
		assert_int_equal(fake.taken[d], 0);
	}
	clear(&x);
}

static void limits(const kh_bins *bins)
{
	for (size_t n = 1; n <= 4; n++) {
		const uint64_t enough = least(n, bins);

		for (uint64_t more = 0; more <= 16 * MB; more = more ? 2 * more : MB / 2) {
			within(n, enough + more, bases / 7, bins);
			within(n, enough + more, 0, bins);
		}
		within(n, 300 * MB, bases / 7, bins);
		host_memory = 300000;   /* the rest goes to a file */
		within(n, enough, bases / 7, bins);
		within(n, enough, 0, bins);
		host_memory = 0;
	}
}

static void make_map(void)
{
	const kh_bins targets = { .first = first, .taxon = taxon, .n_targets = TARGETS };
	kh_err why = { 0, "" };

	assert_int_equal(kh_bin_map_init(&map, &targets, next_bin, &tree, &why), KH_OK);
	map.bins.bits = kh_seed_bits(map.end);
}

static void test_limits(void **state)
{
	(void)state;
	make_map();
	make_want(&map.bins);
	limits(&map.bins);
	kh_bin_map_clear(&map);
}

/* The test with some of the features: of a database of limited size. */
static void test_share(void **state)
{
	sampling.least = 0xb0000000;
	test_limits(state);
	sampling.least = 0;
}

/* Other programs take memory at any moment: the result is right, or the build fails for want of
 * memory. */
static void test_others(void **state)
{
	unsigned made = 0, failed = 0;
	kh_err why = { 0, "" };

	(void)state;
	make_map();
	make_want(&map.bins);
	for (size_t n = 1; n <= 2; n++) {
		const uint64_t enough = least(n, &map.bins);

		for (long at = 1; at < 70; at++) {
			const kh_builder_options o = options(n, 0);
			struct index x = { .n = 0 };

			fake_reset(2 * (enough + 12 * MB));
			fake.others_at = at;
			fake.others = enough + 20 * MB;
			if (build(&gpu, &o, at % 2 ? bases / 7 : 0, &map.bins, &x, &why)) {
				assert_int_equal(why.code, KH_ENOMEM);
				assert_non_null(strstr(why.msg, "memory"));
				failed++;
			} else {
				same(&want, &x, "memory that others took");
				made++;
			}
			for (int d = 0; d < FAKE_DEVICES; d++)
				assert_int_equal(fake.taken[d], 0);
			clear(&x);
		}
	}
	kh_bin_map_clear(&map);
	printf("# made %u times, said that memory lacks %u times\n", made, failed);
	assert_true(made > failed);
}

/* A build in waves, of which one call fails, or that and all behind it. */
static int build_failing(uint64_t memory, long at, bool lost, bool again, const kh_bins *bins,
			 struct index *x, kh_err *why)
{
	const kh_builder_options o = options(1, memory);

	clear(x);
	fake_reset(4 * memory);
	fake.fails_at = at;
	fake.lost = lost;
	return build(&gpu, &o, again ? bases / 7 : 0, bins, x, why);
}

/* Whatever call fails, the build ends, and says what failed, or has found another way to the same
 * ranges: no thread waits for another one that has given up. */
static void test_failures(void **state)
{
	struct index x = { .n = 0 };
	unsigned failed = 0;
	kh_err why = { 0, "" };

	(void)state;
	make_map();
	make_want(&map.bins);
	const uint64_t memory = least(1, &map.bins);

	for (int how = 0; how < 4; how++) {
		assert_int_equal(build_failing(memory, 0, false, how & 1, &map.bins, &x, &why),
				 KH_OK);
		same(&want, &x, "no failure");
		const long calls = fake_calls(), step = calls / 12;

		for (long at = calls - 5; at > 0; at -= at > calls - 100 ? 5 : step) {
			alarm(60);      /* ends the test if the build does not */
			if (build_failing(memory, at, how & 2, how & 1, &map.bins, &x, &why)) {
				assert_non_null(strstr(why.msg, "cuda:0: cuda"));
				failed++;
			} else {
				same(&want, &x, "a call failed");
			}
		}
		alarm(0);
	}
	assert_true(failed > 50);
	clear(&x);
	kh_bin_map_clear(&map);
}

/* Pairs that fit nowhere are reported before the first block. */
static void test_nowhere(void **state)
{
	kh_builder_options o = options(1, 3000 * MB);
	struct index x = { .n = 0 };
	kh_err why = { 0, "" };

	(void)state;
	fake_reset(8000 * MB);
	o.memory = 100 * MB;
	o.tmp = "no such folder/x";
	assert_int_equal(build(&gpu, &o, 1 << 30, NULL, &x, &why), KH_ENOMEM);
	if (!strstr(why.msg, "about 2818.6 MB of packed references have to be kept, but there are "
			       "104.9 MB of memory for them and 0.0 MB of disk"))
		fail_msg("%s", why.msg);
	o.on.memory = 12345;
	assert_int_equal(build(&gpu, &o, 1000, NULL, &x, &why), KH_ENOMEM);
	assert_non_null(strstr(why.msg, "of which 12345 may be used"));
	assert_int_equal(fake.taken[0], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_limits),
					    cmocka_unit_test(test_share),
					    cmocka_unit_test(test_others),
					    cmocka_unit_test(test_failures),
					    cmocka_unit_test(test_nowhere) };
	int rc;

	test_seed();
	make_blocks();
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	clear(&want);
	for (int i = 0; i < BLOCKS; i++)
		unpack(&block[i].p);
	return rc;
}
