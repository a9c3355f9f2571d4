/* test_gpu_inflate.c - gzip files of all kinds, inflated by a GPU that is there, and by the host */
#include "parsed_files.h"

#include "cuda/kernels/gpu.h"

static int set_up(void **state)
{
	(void)state;
	/* where a match copies from before its member, ISA-L gives any text before it says so */
	setenv("KH_GZ", "zlib", 1);
	return 0;
}

/* Many batches of the size that suits the device, of one stream and of blocks. */
static void large(void **state)
{
	struct bytes text = reads((size_t)1 << 28), file = { NULL, 0 };

	(void)state;
	open_inflater(0);
	add_member(&file, text.p, text.n, &(struct how) { 1, 0, 8 });
	assert_true(compare(&file, 4) > 0);
	file.n = 0;
	add_bgzf(&file, text.p, text.n, 65280);
	add_bgzf_eof(&file);
	assert_true(compare(&file, 4) > 0);
	kh_cuda_inflater_close(inflater);
	free(file.p);
	free(text.p);
}

/* An argument: the tests whose names are like it. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { INFLATE_FILES, PARSED_FILES, cmocka_unit_test(large) };
	const char *wish = getenv("KH_REQUIRE");
	kh_err why = { 0, "" };

	if (kh_gpu_count(&why) == 0) {
		const bool must = wish && strstr(wish, "cuda");

		printf(must ? "Bail out! no CUDA device can be used here: %s\n"
			    : "1..0 # SKIP no CUDA device can be used here: %s\n", why.msg);
		return must;
	}
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, set_up, NULL);
}
