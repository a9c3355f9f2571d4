/*
 * test_match.c - fragments compared with text by a device, on made-up GPUs, beside the CPU:
 * loading, queues, rooms that are too small, what is left to the host
 */
#include "fake_gpu.h"
#include "gpu_text.h"
#include "gpu_translated.h"


static struct way cpu = { "cpu", &kh_backend_cpu, 1, { 0 }, KH_PLACE_AUTO, false };
static struct way way[] = {
	{ "a device", &kh_backend_cuda, 1, { 0 }, KH_PLACE_AUTO, false },
	{ "replicated", &kh_backend_cuda, 3, { 0, 1, 3 }, KH_PLACE_REPLICATE, false },
	{ "sharded", &kh_backend_cuda, 3, { 0, 1, 3 }, KH_PLACE_SHARD, false },
	{ "sharded, on one device", &kh_backend_cuda, 2, { 0, 0 }, KH_PLACE_SHARD_PEER, false },
	{ "on the host", &kh_backend_cuda, 2, { 0, 1 }, KH_PLACE_HOST, false },
	{ "text on the host", &kh_backend_cuda, 1, { 2 }, KH_PLACE_HOST_LISTS, false },
	{ "part of it on the host", &kh_backend_cuda, 1, { 0 }, KH_PLACE_AUTO, true },
};

static void test_calls(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof way / sizeof *way; i++)
		check_text(&cpu, &way[i]);
}

/* They are on a device only beside a whole database. */
static void test_translated(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof way / sizeof *way; i++)
		if (way[i].placement == KH_PLACE_AUTO ? !way[i].tight
						      : way[i].placement == KH_PLACE_REPLICATE)
			check_translated(&way[i]);
}

/* Where there is no room for it, a database is refused if it is to lie so, and else the host does
 * all of it. */
static void test_no_room(void **state)
{
	const kh_build_options o = { .sampling = { KH_SYNCMER, 18, 14, 16, 0, 1 },
				     .text = true,
				     .max_span = KH_TEXT_SPAN,
				     .max_locations = 2,
				     .threads = 2,
				     .block_size = 1 << 16 };
	const kh_db_options no = { .threads = 2 };
	char *refs = malloc(MAX_TEXT);
	kh_rule rule;
	kh_engine_options eo = { .rule = &rule, .queues = 1 };
	kh_engine *e = NULL;
	kh_db *db = NULL;
	kh_err why = { 0, "" };

	(void)state;
	make_references(refs);
	build(DB_CPU, "cpu", &o);
	ok(kh_db_open(&db, path[DB_CPU], &no, err));
	kh_rule_init(&rule, db->h);
	eo.on = devices_of(&way[0]);
	eo.on.placement = KH_PLACE_SHARD_EXCHANGE;
	assert_int_equal(kh_backend_cuda.engine_open(&kh_backend_cuda, &e, db, &eo, &why),
			 KH_EUSAGE);
	assert_non_null(strstr(why.msg, "a database with text cannot be exchanged"));
	eo.on.placement = KH_PLACE_REPLICATE;
	fake_reset(UINT64_C(512) << 20);
	assert_int_equal(kh_backend_cuda.engine_open(&kh_backend_cuda, &e, db, &eo, &why),
			 KH_ENOMEM);
	assert_non_null(strstr(why.msg, "the index does not fit: of "));
	assert_null(e);
	same_calls_by_text(&cpu, &way[0], db, &rule, "by the host");
	fake_reset(UINT64_C(4) << 30);
	kh_db_close(db);
	free(refs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_translated),
		cmocka_unit_test(test_no_room),
	};
	int status;

	test_seed();
	if (!open_folder())
		return 1;
	kh_log_level(KH_ERROR);
	fake_reset(UINT64_C(4) << 30);
	make_taxonomy();
	status = cmocka_run_group_tests(tests, NULL, NULL);
	remove_folder();
	return status;
}
