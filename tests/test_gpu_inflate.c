/* test_gpu_inflate.c - gzip files of all kinds, inflated by a GPU that is there, and by the host */
#define TEST_MAIN
#include "parsed_files.h"

#include "cuda/kernels/gpu.h"

FIXTURE(set_up)
{
	/* where a match copies from before its member, ISA-L gives any text before it says so */
	setenv("KH_GZ", "zlib", 1);
	return 0;
}

/* Many batches of the size that suits the device, of one stream and of blocks. */
TEST(large)
{
	struct bytes text = reads((size_t)1 << 28), file = { NULL, 0 };

	open_inflater(0);
	add_member(&file, text.p, text.n, &(struct how) { 1, 0, .memory = 8 });
	assert_true(compare(&file, 4) > 0);
	file.n = 0;
	add_bgzf(&file, text.p, text.n, 65280);
	add_bgzf_eof(&file);
	assert_true(compare(&file, 4) > 0);
	kh_cuda_inflater_close(inflater);
	free(file.p);
	free(text.p);
}

int main(void)
{
	kh_err why = { 0, "" };

	if (kh_gpu_count(&why) == 0)
		return test_no_gpu(why.msg);
	return test_run(set_up, NULL);
}
