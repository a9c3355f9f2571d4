/*
 * test_backend.c - the CUDA backend against the CPU's: calls, byte for byte
 */
#define TEST_MAIN
#include "test_gpu.h"
#include "gpu_census.h"
#include "gpu_parsed.h"
#include "gpu_pass.h"
#include "gpu_queues.h"
#include "gpu_reads.h"
#include "gpu_references.h"
#include "gpu_text.h"

#include <sys/stat.h>
#include "build/build.h"
#include "classify/distinct.h"

static char *read_database(size_t *n)
{
	FILE *f = fopen(path[DB], "rb");
	struct stat st;
	char *p = NULL;

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	*n = (size_t)st.st_size;
	assert_int_equal(posix_memalign((void **)&p, 4096, *n + 1), 0);
	assert_int_equal(fread(p, 1, *n, f), *n);
	fclose(f);
	return p;
}

/* Device 1 stands for the second one; where there is none, one holds several shares. */
static struct way way[] = {
	{ "cpu", &kh_backend_cpu, 1, { 0 }, KH_PLACE_AUTO, false },
	{ "a device", &kh_backend_cuda, 1, { 0 }, KH_PLACE_AUTO, false },
	{ "replicated", &kh_backend_cuda, 2, { 0, 1 }, KH_PLACE_REPLICATE, false },
	{ "on the host", &kh_backend_cuda, 1, { 0 }, KH_PLACE_HOST, false },
	{ "text on the host", &kh_backend_cuda, 3, { 0, 1, 0 }, KH_PLACE_HOST_LISTS, false },
	{ "partly on the host", &kh_backend_cuda, 1, { 0 }, KH_PLACE_AUTO, true },
	{ "shards of peers", &kh_backend_cuda, 3, { 1, 0, 1 }, KH_PLACE_SHARD, false },
	{ "one shard", &kh_backend_cuda, 1, { 0 }, KH_PLACE_SHARD, false },
};

/* Wherever a database may lie. */
TEST(test_calls)
{
	for (size_t i = 1; i < sizeof way / sizeof *way; i++)
		check_text(&way[0], &way[i]);
}

/* Of fragments that lie on a device. */
TEST(test_parsed)
{
	for (size_t i = 1; i < sizeof way / sizeof *way; i++)
		check_there(&way[0], &way[i]);
	check_kraken_there(&way[0], &way[1]);
	check_kraken_there(&way[0], &way[2]);
	check_kraken_there(&way[0], &way[6]);
}

/* Samples counted by devices. */
TEST(test_census)
{
	check_census(&way[1], 2);
	check_census(&way[6], 1);
}

TEST(test_translated)
{
	check_translated(&way[1]);
	check_translated(&way[2]);
}

/* With translated seeds; of shards, these are with the host. */
TEST(test_pass)
{
	check_pass(&way[0], &way[1], 2);
	check_pass(&way[0], &way[6], 1);
}

/* What fits on no device is reported with figures before anything is loaded. */
TEST(test_too_large)
{
	const kh_build_options o = options_of(SYNCMERS(18, 12, 32), false);
	kh_rule rule;
	kh_engine_options eo = { .rule = &rule,
				 .on = { .placement = KH_PLACE_REPLICATE },
				 .queues = 1 << 20 };
	kh_db *const db = open_built(&o, false, &rule);

	for (eo.on.choice.n = 1; eo.on.choice.n <= 2; eo.on.choice.n++) {
		kh_engine *e = NULL;
		kh_err why = { 0, "" };

		assert_int_equal(
			kh_backend_cuda.engine_open(&e, db, &eo, &why),
			KH_ENOMEM);
		assert_non_null(strstr(why.msg, "the index does not fit: of "));
		assert_null(e);
	}
	kh_db_close(db);
}

/* Damage is found while index and text are loaded. */
TEST(test_damage)
{
	const kh_build_options o = options_of(SYNCMERS(18, 12, 32), false);
	kh_db_options later = { .threads = 2, .later = true };
	char *map;
	size_t bytes;

	build(&o);
	map = read_database(&bytes);
	for (int i = 0; i < 20; i++) {
		kh_engine *e = NULL;
		kh_db *db = NULL;
		kh_rule rule;
		const struct way *w = &way[1 + (size_t)i % (sizeof way / sizeof *way - 1)];
		const kh_engine_options eo = { .rule = &rule, .on = devices_of(w) };
		kh_err why = { 0, "" };
		size_t at;

		OK(kh_db_open_bytes(&db, map, bytes, &later, err));
		const kh_db_extent *x = &db->h->section[i % 2 ? KH_SEC_TEXT : KH_SEC_INDEX];

		at = x->at + test_rand() % x->bytes;
		kh_rule_init(&rule, db->h);
		map[at] ^= (char)(1 << i % 8);
		assert_int_equal(kh_backend_cuda.engine_open(&e, db, &eo, &why), KH_EFORMAT);
		map[at] ^= (char)(1 << i % 8);
		kh_db_close(db);
	}
	free(map);
}

int main(void)
{
	kh_err why;
	int status;

	if (!gpu_there(&status))
		return status;
	const int n = kh_backend_cuda.n_devices(&why);
	for (size_t i = 0; i < sizeof way / sizeof *way; i++)
		for (size_t j = 0; j < way[i].n_devices; j++)
			if (way[i].device[j] >= n)
				way[i].device[j] = 0;
	return run_in_folder();
}
