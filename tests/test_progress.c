/* test_progress.c - the line that says how far a step is; sizes as messages have them */
#include "test.h"
#include "base/progress.h"
#include "base/size.h"

static const struct {
	kh_step step;
	double seconds;
	const char *text;
} cases[] = {
	/* bytes, with a total and without */
	{ { "read", NULL, 0, 12300000, 45600000 }, 2, "read 12.3 of 45.6 MB, 6.2 MB/s, 5 s left" },
	{ { "read", NULL, 0, 5000000000, 20000000000 }, 10,
	  "read 5.0 of 20.0 GB, 500 MB/s, 30 s left" },
	{ { "read", NULL, 0, 30000000, 0 }, 1, "read 30.0 MB, 30.0 MB/s" },
	{ { "read", NULL, 0, 12000000000, 0 }, 100, "read 12.0 GB, 120 MB/s" },
	/* small ones */
	{ { "wrote", NULL, 0, 12345, 200712 }, 1, "wrote 12.3 of 200.7 kB, 12.3 kB/s, 15 s left" },
	{ { "read", NULL, 0, 999, 0 }, 1, "read 999 bytes, 999 bytes/s" },
	/* nothing is known of the rate yet */
	{ { "read", NULL, 0, 1000000, 2000000 }, 0.4, "read 1.00 of 2.00 MB" },
	{ { "read", NULL, 0, 0, 2000000 }, 7, "read 0.00 of 2.00 MB" },
	/* all is done, or more than was expected */
	{ { "read", NULL, 0, 2000000, 2000000 }, 1, "read 2.00 of 2.00 MB, 2.0 MB/s" },
	{ { "read", NULL, 0, 3000000, 2000000 }, 1, "read 3.00 of 2.00 MB, 3.0 MB/s" },
	/* things */
	{ { "wrote", "ranges", 0, 64, 256 }, 4, "wrote 64 of 256 ranges, 16 a second, 12 s left" },
	{ { "read", "reports", 0, 1, 100 }, 4, "read 1 of 100 reports, 0.2 a second, 7 min left" },
	{ { "read", "reports", 0, 1, 2 }, 36000, "read 1 of 2 reports, 0.0 a second, 10.0 h left" },
	{ { "wrote", "ranges", 0, 64, 0 }, 4, "wrote 64 ranges, 16 a second" },
};

TEST(test_lines)
{
	char text[200];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		kh_step_text(&cases[i].step, cases[i].seconds, text, sizeof text);
		assert_string_equal(text, cases[i].text);
	}
}

/* A line that does not fit is cut off, with a NUL, and nothing behind it is touched. */
TEST(test_short)
{
	char want[200], text[200];

	kh_step_text(&cases[0].step, cases[0].seconds, want, sizeof want);
	for (size_t size = 1; size <= strlen(want) + 2; size++) {
		memset(text, '#', sizeof text);
		kh_step_text(&cases[0].step, cases[0].seconds, text, size);
		assert_int_equal(text[size], '#');
		assert_true(strlen(text) < size);
		assert_memory_equal(text, want, strlen(text));
	}
}

TEST(test_sizes)
{
	static const struct {
		uint64_t bytes;
		const char *shown, *option;
	} of[] = {
		{ 0, "0 bytes", "0" },
		{ 999, "999 bytes", "999" },
		{ 1000, "1.0 kB", "1000" },
		{ 1024, "1.0 kB", "1K" },
		{ 99949, "99.9 kB", "99949" },
		{ 99950, "100 kB", "99950" },
		{ 150000, "150 kB", "150000" },
		{ 999499, "999 kB", "999499" },
		{ 999500, "1.0 MB", "999500" },
		{ 5 << 20, "5.2 MB", "5M" },
		{ UINT64_C(13) << 30, "14.0 GB", "13G" },
		{ UINT64_C(1536) << 30, "1.6 TB", "1536G" },
		{ UINT64_C(1) << 40, "1.1 TB", "1T" },
		{ UINT64_C(1) << 50, "1126 TB", "1024T" },
	};

	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		assert_string_equal(kh_size_show(of[i].bytes).s, of[i].shown);
		assert_string_equal(kh_size_as_option(of[i].bytes).s, of[i].option);
	}
}

/* Never less than it is, and no more than a hundredth above, or what one of the unit is. */
TEST(test_size_beside_option)
{
	static const struct {
		uint64_t bytes, value;
		const char *text;
	} of[] = {
		{ 150184, 150000, "151000" },
		{ 151000, 150000, "151000" },
		{ 59784, 40 << 10, "59K" },
		{ 59 << 10, 40 << 10, "59K" },
		{ 7654321, 5 << 20, "7480K" },
		{ 10 << 20, 5 << 20, "10M" },
		{ (10 << 20) + 1, 5 << 20, "11M" },
		{ UINT64_C(1127428915), UINT64_C(1) << 30, "1080M" },
		{ UINT64_C(45) << 30, UINT64_C(1) << 30, "45G" },
		{ 0, 1 << 20, "0" },
	};

	for (size_t i = 0; i < sizeof of / sizeof *of; i++)
		assert_string_equal(kh_size_beside_option(of[i].bytes, of[i].value).s, of[i].text);
}
