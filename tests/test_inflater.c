/* test_inflater.c - the inflater's host side, and the functions of its kernels, on GPUs that are
 * made up */
#define TEST_MAIN
#include "test.h"
#include "fake_gpu.h"
#include "parsed_files.h"

FIXTURE(set_up)
{
	/* where a match copies from before its member, ISA-L gives any text before it says so */
	setenv("KH_GZ", "zlib", 1);
	fake_reset(UINT64_C(8) << 30);
	return 0;
}

/* An inflater of which the n-th call to the device fails, or that and all behind it. */
static void open_failing(long n, bool lost)
{
	fake_reset(UINT64_C(8) << 30);
	fake.fails_at = n;
	fake.lost = lost;
	open_inflater(9000);
}

/* What came, when that was closed: all, or as far as the device was there.  Was it gone? */
static bool check_failing(int rc, struct bytes got, const struct bytes *want)
{
	assert_true(rc == 0 || rc == KH_EDEVICE);
	if (!rc)
		assert_int_equal(got.n, want->n);
	assert_true(got.n <= want->n);
	assert_memory_equal(got.p, want->p, got.n);
	for (int i = 0; i < FAKE_DEVICES; i++)
		assert_int_equal(fake.taken[i], 0);
	free(got.p);
	return rc != 0;
}

/* Each call of the device fails once, or it and all behind it: the host goes on.  Text that was
 * proven, but cannot be had any more, is an error. */
TEST(faults)
{
	struct bytes text = reads(TEXT / 8), file = { NULL, 0 };
	const kh_together alone = { .part = PART };
	char path[32];

	add_pieces(&file, &text, 30000);
	const int fd = bytes_file(path, file.p, file.n);
	struct together_text want = read_together(path, &alone, NULL);
	long calls = 1, gone = 0;
	for (long n = 0; n <= calls; n++)
		for (int lost = 0; lost < 2; lost++) {
			open_failing(n, lost);
			const kh_together with = by_device(2);
			struct together_text got = read_together(path, &with, NULL);
			kh_cuda_inflater_close(inflater);
			calls = n ? calls : fake_calls();
			gone += check_failing(got.rc, got.text, &want.text);
		}
	assert_true(calls > 40 && gone > 0 && gone < calls);
	fake_reset(UINT64_C(8) << 30);
	free(want.text.p);
	close(fd);
	free(file.p);
	free(text.p);
}

/* The same where it parses, too. */
TEST(parsed_faults)
{
	struct bytes text[2] = { mates(1, 700, NULL, 0), mates(2, 700, NULL, 0) };
	struct bytes file[2] = { { NULL, 0 }, { NULL, 0 } };
	long calls = 1, gone = 0, there = 0;

	add_pieces(&file[0], &text[0], 50000);
	bytes_add(&file[1], text[1].p, text[1].n);
	names_wanted = true;
	struct parsed_got want = parsed_by(file, 1, false);
	for (long n = 0; n <= calls; n++) {
		two_devices = n / 2 % 2;
		open_failing(n, n % 2);
		struct parsed_got got = parsed_by(file, 1, true);
		kh_cuda_inflater_close(inflater);
		calls = n ? calls : fake_calls();
		there += got.n_there > 0 && got.n_there < 700;
		gone += check_failing(got.rc, got.text, &want.text);
	}
	two_devices = names_wanted = false;
	assert_true(calls > 100 && gone > 0 && there > 0);
	fake_reset(UINT64_C(8) << 30);
	free(want.text.p);
	for (int i = 0; i < 2; i++) {
		free(text[i].p);
		free(file[i].p);
	}
}

/* One sample after the other is parsed in the same memory. */
TEST(parsed_again)
{
	struct bytes text[2] = { mates(1, 700, NULL, 0), mates(2, 700, NULL, 0) };
	struct bytes file[2] = { { NULL, 0 }, { NULL, 0 } };
	uint64_t taken = 0;

	for (int i = 0; i < 2; i++)
		add_pieces(&file[i], &text[i], 50000);
	fake_reset(UINT64_C(8) << 30);
	two_devices = true;
	open_inflater(9000);
	for (int i = 0; i < 3; i++) {
		struct parsed_got got = parsed_by(file, 2, true);

		assert_int_equal(got.n_there, 700);
		assert_true(i == 0 || fake.taken[0] == taken);
		taken = fake.taken[0];
		assert_int_equal(fake.most[0], taken);
		free(got.text.p);
	}
	kh_cuda_inflater_close(inflater);
	two_devices = false;
	assert_int_equal(fake.taken[0] + fake.taken[1], 0);
	for (int i = 0; i < 2; i++) {
		free(text[i].p);
		free(file[i].p);
	}
}

/* Without room, the host does it. */
TEST(room)
{
	const uint64_t spare = UINT64_C(2) << 30, enough = UINT64_C(200) << 20;
	struct bytes text = reads(TEXT), file = { NULL, 0 };

	add_gz(&file, text.p, text.n);
	for (uint64_t memory = spare; memory <= spare + enough; memory += enough / 8) {
		fake_reset(memory);
		open_inflater(9000);
		const bool some = compare(&file, 1) > 0;
		kh_cuda_inflater_close(inflater);
		assert_true(memory > spare || !some);
		assert_true(memory < spare + enough || some);
		assert_true(fake.most[0] <= memory - spare);
		assert_true(some || fake.most[0] == 0);
	}
	fake_reset(UINT64_C(8) << 30);
	free(file.p);
	free(text.p);
}

/* Mates, one file plain gzip, the other BGZF, both large enough for a device, by a feed. */
TEST(feed)
{
	struct bytes text = reads(44 << 20), file[2] = { { NULL, 0 }, { NULL, 0 } };
	char path[2][32];
	int fd[2];

	do              /* whole records */
		text.n--;
	while (memcmp(text.p + text.n - 1, "\n@A00123", 8) != 0);
	add_member(&file[0], text.p, text.n, &(struct how) { 1, 0, .memory = 8 });
	for (size_t i = 0; i + 4 <= text.n; i++)        /* the second mates */
		if (!memcmp(text.p + i, " 1:N", 4))
			text.p[i + 1] = '2';
	add_bgzf(&file[1], text.p, text.n, 65280);
	add_bgzf_eof(&file[1]);
	for (int i = 0; i < 2; i++) {
		assert_true(file[i].n > 9 << 20);
		fd[i] = bytes_file(path[i], file[i].p, file[i].n);
	}
	open_inflater(1 << 20);
	kh_feed_options o = { .path = { (const char *[]) { path[0] },
					(const char *[]) { path[1] } },
			      .n_path = { 1, 1 } };
	struct got a, b;
	got_run(&b, &o, 2);
	o.inflate = (kh_inflate_by) { &kh_cuda_inflater, inflater };
	got_run(&a, &o, 4);
	assert_true(fake.most[0] > 0);
	assert_string_equal(a.err.msg, b.err.msg);
	assert_int_equal(a.rc, 0);
	assert_int_equal(a.n_bad, 0);
	assert_int_equal(a.n, b.n);
	for (size_t i = 0; i < a.n; i++) {
		assert_int_equal(a.rec[i].text_len, b.rec[i].text_len);
		assert_memory_equal(a.rec[i].text, b.rec[i].text, a.rec[i].text_len);
		assert_int_equal(a.rec[i].len, b.rec[i].len);
		assert_memory_equal(a.rec[i].seq, b.rec[i].seq, a.rec[i].len);
	}
	kh_cuda_inflater_close(inflater);
	got_free(&a);
	got_free(&b);
	for (int i = 0; i < 2; i++) {
		close(fd[i]);
		free(file[i].p);
	}
	free(text.p);
}

int main(void) { return test_run(set_up, NULL); }
