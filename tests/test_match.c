/*
 * test_match.c - fragments compared by a device, on made-up GPUs, beside the CPU:
 * loading, queues, rooms that are too small, what is left to the host
 */
#define TEST_MAIN
#include "cuda/engine/batch.h"
#include "db/join.h"
#include "fake_gpu.h"
#include "gpu_census.h"
#include "gpu_parsed.h"
#include "gpu_pass.h"
#include "gpu_text.h"

static struct way cpu = { "cpu", &kh_backend_cpu, 1, { 0 }, KH_PLACE_AUTO, false };
static struct way way[] = {
	{ "a device", &kh_backend_cuda, 1, { 0 }, KH_PLACE_AUTO, false },
	{ "replicated", &kh_backend_cuda, 3, { 0, 1, 3 }, KH_PLACE_REPLICATE, false },
	{ "sharded", &kh_backend_cuda, 3, { 0, 1, 3 }, KH_PLACE_SHARD, false },
	{ "sharded, on one device", &kh_backend_cuda, 2, { 0, 0 }, KH_PLACE_SHARD, false },
	{ "on the host", &kh_backend_cuda, 2, { 0, 1 }, KH_PLACE_HOST, false },
	{ "text on the host", &kh_backend_cuda, 1, { 2 }, KH_PLACE_HOST_LISTS, false },
	{ "part of it on the host", &kh_backend_cuda, 1, { 0 }, KH_PLACE_AUTO, true },
};

TEST(test_calls)
{
	for (size_t i = 0; i < sizeof way / sizeof *way; i++)
		check_text(&cpu, &way[i]);
}

/* Of fragments that lie on a device. */
TEST(test_parsed)
{
	for (size_t i = 0; i < sizeof way / sizeof *way; i++)
		check_there(&cpu, &way[i]);
	for (int i = 0; i < 3; i++)
		check_kraken_there(&cpu, &way[i]);
}

/* Adds a stretch of the genome 130 times, in which seeds of many reads lie. */
static void put_copies(size_t n)
{
	enum { UNIT = 60, EACH = 160 };
	static char copies[130 * EACH];

	random_bases(copies, sizeof copies);
	for (size_t i = 0; i < sizeof copies; i += EACH)
		memcpy(copies + i, genome + 1000, UNIT);
	put_file(REFS, refs, put_sequence(n, 22, copies, sizeof copies));
}

/* Opens two databases of the references, with copies apart from each other, as one. */
static kh_db *open_two(const kh_build_options *o, kh_rule *rule)
{
	static const int file[] = { DB, SECOND };
	const size_t n = make_references();
	kh_db *part[2], *db = NULL;

	for (int i = 0; i < 2; i++) {
		const kh_db_options how = { .threads = 2, .later = i };

		put_copies(n);
		build_as(file[i], o);
		OK(kh_db_open(&part[i], path[file[i]], &how, err));
	}
	OK(kh_db_join(&db, part, 2, false, err));
	kh_rule_init(rule, db->h);
	return db;
}

/* Seeds are in both databases, and lists that are whole in each are too long together. */
TEST(test_several)
{
	static const kh_sampling sampling[] = { { KH_SYNCMER, 18, 14, 16, 0, 1 },
						{ KH_SYNCMER, 9, 5, 16, 0, 1 },
						{ KH_MINHASH, 18, 7, 64, 0, 1 } };

	for (size_t i = 0; i < 3; i++) {
		const kh_build_options o = options_of(sampling[i], i != 1);
		kh_rule rule;
		kh_db *db = open_two(&o, &rule);

		for (size_t k = 0; k < sizeof way / sizeof *way; k++) {
			rule.want = k % 2 ? KH_WANT_CANDIDATES : KH_WANT_NONE;
			same_calls_by_text(&cpu, &way[k], db, &rule, way[k].name);
		}
		kh_db_close(db);
	}
}

/* They are on a device only beside a whole database. */
TEST(test_translated)
{
	for (size_t i = 0; i < sizeof way / sizeof *way; i++)
		if (way[i].placement == KH_PLACE_AUTO ? !way[i].tight
						      : way[i].placement == KH_PLACE_REPLICATE)
			check_translated(&way[i]);
}

/* Samples counted by one device, and by several. */
TEST(test_census) { check_census(way, 3); }

/* With translated seeds; when sharded, these are with the host. */
TEST(test_pass) { check_pass(&cpu, way, 4); }

/* --- crowds ------------------------------------------------------------------------- */
enum { CROWD_READS = 6000, CROWD_LEN = 120, CROWD_INSERT = 400 };

static char random_text[3 << 18];

/* Adds a read, with changes, of what begins at `from`, or ends there, in reverse; without a number,
 * at every 11th base, so that hardly a seed is left of a read that fits well. */
static void add_changed(struct made_block *m, const char *from, size_t len, bool back,
			unsigned percent)
{
	char read[CROWD_LEN];

	for (size_t i = 0; i < len; i++) {
		const unsigned base = base_of((unsigned char)from[back ? -1 - (long)i : (long)i]);

		read[i] = (back ? "TGCA" : "ACGT")[base];
		if (test_rand() % 100 < percent)
			read[i] = "ACGT"[test_rand() & 3];
		else if (percent == 0 && i % 11 == 10)
			read[i] = (back ? "ACGT" : "TGCA")[base];
	}
	add_record(m, read, len);
}

/* Pairs of mates that lie beside each other; some of the mates are random. */
static void make_pairs(struct made_block mate[2])
{
	static const unsigned percent[] = { 0, 0, 1, 8, 100 };

	for (int i = 0; i < 2; i++)
		new_block(&mate[i], CROWD_READS, CROWD_LEN);
	for (int i = 0; i < CROWD_READS; i++) {
		const char *at = random_text + test_rand() % (sizeof random_text - CROWD_INSERT);
		const bool back = test_rand() % 2;

		for (int k = 0; k < 2; k++) {
			const bool end = back == (k == 0);

			add_changed(&mate[k], end ? at + CROWD_INSERT : at,
				    CROWD_LEN - test_rand() % 60, end,
				    percent[test_rand() % 5]);
		}
	}
}

/* What was made is built and opened, and pairs of reads of it are compared by the CPU and a
 * device, by the first mates alone, and by both. */
struct compared {
	kh_db *db;
	kh_rule rule;
	struct answer cpu[2], device[2];
};

static void compare(struct compared *x, const kh_build_options *o, uint32_t want)
{
	struct made_block mate[2];

	x->db = open_built(o, false, &x->rule);
	x->rule.want = want;
	make_pairs(mate);
	for (int mates = 0; mates < 2; mates++) {
		const kh_job job = { .n = CROWD_READS,
				     .block = { &mate[0].b, mates ? &mate[1].b : NULL } };
		struct answer *const a[2] = { &x->cpu[mates], &x->device[mates] };

		for (int i = 0; i < 2; i++) {
			*a[i] = answer_new(CROWD_READS, want);
			run_jobs(i ? &way[0] : &cpu, x->db, &x->rule, &job, 1, a[i]);
		}
		same_answers(a[0], a[1], CROWD_READS, x->db->tax->n,
			     mates ? "pairs" : "single reads");
	}
	free_block(&mate[0]);
	free_block(&mate[1]);
}

static void clear_compared(struct compared *x)
{
	for (int i = 0; i < 2; i++) {
		answer_clear(&x->cpu[i]);
		answer_clear(&x->device[i]);
	}
	kh_db_close(x->db);
}

static const unsigned four_species[] = { 11, 12, 21, 31 };

static void make_random_references(void)
{
	const size_t each = sizeof random_text / 32;
	size_t n = 0;

	random_bases(random_text, sizeof random_text);
	for (size_t i = 0; i < 32; i++)
		n = put_sequence(n, four_species[i % 4], random_text + i * each, each);
	put_file(REFS, refs, n);
}

/* Each seed stands in several places by chance, as in a very large database: many regions that
 * could be best, more than are compared, and places that are equal. */
TEST(test_crowds)
{
	const kh_build_options o = options_of(SYNCMERS(10, 6, 16), true);
	struct compared x;

	make_random_references();
	compare(&x, &o, KH_WANT_NONE);
	clear_compared(&x);
}

/* Draws about one base in `each` anew. */
static void change(char *text, size_t len, size_t each)
{
	for (size_t k = 0; k < len / each; k++)
		text[test_rand() % len] = "ACGT"[test_rand() & 3];
}

/* Of four species that differ from one another at about one base in 44: which others are nearly as
 * good, and which one is the second best. */
TEST(test_close)
{
	const kh_build_options o = options_of(SYNCMERS(18, 10, 32), true);
	const size_t each = sizeof random_text;
	struct compared x;
	size_t n = 0, several = 0, second = 0;

	random_bases(random_text, each);
	for (size_t i = 0; i < 4; i++) {
		n = put_sequence(n, four_species[i], random_text, each);
		change(refs + n - 1 - each, each, 66);
	}
	put_file(REFS, refs, n);
	compare(&x, &o, KH_WANT_CANDIDATES);
	for (size_t i = 0; i < CROWD_READS; i++)
		several += x.cpu[1].candidates[i].species[1] != KH_NO_TAXON;
	assert_true(several > CROWD_READS / 10);
	clear_compared(&x);
	compare(&x, &o, KH_WANT_SECOND);
	for (size_t i = 0; i < CROWD_READS; i++)
		second += x.cpu[1].second[i].taxon != KH_NO_TAXON;
	assert_true(second > CROWD_READS / 10);
	clear_compared(&x);
}

/* Of pairs of strains of a species, of which the second one differs at about one base in 200: which
 * strain it is that a read is of, where it has alleles, and where it has none. */
TEST(test_strains)
{
	static const unsigned taxon[] = { 13, 14, 22, 23, 24, 12 };
	const kh_build_options o = options_of(SYNCMERS(18, 10, 32), false);
	const size_t each = sizeof random_text / 6;
	struct compared x;
	size_t n = 0, below = 0;

	random_bases(random_text, sizeof random_text);
	for (size_t i = 0; i < 6; i++) {
		char *text = random_text + i * each;

		if (i % 2) {
			memcpy(text, text - each, each);
			change(text, each, 150);
		}
		n = put_sequence(n, taxon[i], text, each);
	}
	put_file(REFS, refs, n);
	compare(&x, &o, KH_WANT_NONE);
	for (int mates = 0; mates < 2; mates++)
		for (size_t i = 0; i < CROWD_READS; i++) {
			const uint32_t is = x.cpu[mates].call[i].taxon;

			below += is != KH_NO_TAXON && x.db->tax->species[is] != is;
		}
	assert_true(below > CROWD_READS / 10);
	clear_compared(&x);
}

/* --- room --------------------------------------------------------------------------- */
/* Where there is no room for it, a database is refused if it is to lie so, and else the host does
 * all of it. */
TEST(test_no_room)
{
	const kh_build_options o = options_of(SYNCMERS(18, 14, 16), false);
	kh_rule rule;
	kh_engine_options eo = { .rule = &rule, .queues = 1 };
	kh_engine *e = NULL;
	kh_db *db;
	kh_err why = { 0, "" };

	make_references();
	db = open_built(&o, false, &rule);
	eo.on = devices_of(&way[0]);
	eo.on.placement = KH_PLACE_REPLICATE;
	fake_reset(UINT64_C(512) << 20);
	assert_int_equal(kh_backend_cuda.engine_open(&e, db, &eo, &why), KH_ENOMEM);
	assert_non_null(strstr(why.msg, "the index does not fit: of "));
	assert_null(e);
	same_calls_by_text(&cpu, &way[0], db, &rule, "by the host");
	fake_reset(UINT64_C(4) << 30);
	kh_db_close(db);
}

/* --- a queue that fails -------------------------------------------------------------- */
/* A task that waits for a launch when its queue fails is in none of the later ones. */
TEST(test_failing_queue)
{
	enum { QUEUES = KH_BATCHES + 2, LAST = QUEUES - 1 };
	const kh_build_options o = options_of(SYNCMERS(10, 6, 16), false);
	static struct made_block reads;
	static kh_call call[QUEUES][1];
	kh_rule rule;
	kh_engine_options eo = { .rule = &rule, .on = devices_of(&way[0]), .queues = QUEUES };
	kh_engine *e = NULL;
	kh_task_queue *queue[QUEUES] = { NULL };
	kh_task task[QUEUES], *t;
	kh_db *db;
	kh_err why = { 0, "" };

	make_random_references();
	db = open_built(&o, false, &rule);
	new_block(&reads, 1, CROWD_LEN);
	add_record(&reads, random_text, CROWD_LEN);
	const kh_job job = { .n = 1, .block = { &reads.b } };

	OK(kh_backend_cuda.engine_open(&e, db, &eo, err));
	for (unsigned i = 0; i < QUEUES; i++) {
		OK(kh_backend_cuda.queue_open(&queue[i], e, i, 0, err));
		task[i] = (kh_task) { .job = &job, .call = call[i] };
	}
	fake.busy = true;
	for (unsigned i = 0; i < QUEUES; i++)
		OK(kh_backend_cuda.submit(queue[i], &task[i], err));
	fake.fails_at = fake_calls() + 1;
	assert_int_equal(kh_backend_cuda.collect(queue[LAST], &t, &why), KH_EDEVICE);
	assert_ptr_equal(t, &task[LAST]);
	kh_backend_cuda.queue_close(queue[LAST]);
	for (unsigned i = 0; i < LAST; i++) {
		OK(kh_backend_cuda.collect(queue[i], &t, err));
		assert_ptr_equal(t, &task[i]);
		assert_int_equal(db->tax->taxid[call[i]->taxon], 11);
		kh_backend_cuda.queue_close(queue[i]);
	}
	assert_int_equal(fake.together, 1);
	kh_backend_cuda.engine_close(e);
	kh_db_close(db);
	free_block(&reads);
	fake_reset(UINT64_C(4) << 30);
}

int main(void)
{
	fake_reset(UINT64_C(4) << 30);
	return run_in_folder();
}
