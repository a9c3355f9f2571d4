/* test_progress.c - the line that says how far a step is */
#include "test.h"
#include "base/progress.h"

static const struct {
	kh_step step;
	double seconds;
	const char *text;
} cases[] = {
	/* bytes, with a total and without */
	{ { "read", NULL, 0, 12300000, 45600000 }, 2, "read 12.3 of 45.6 MB, 6.1 MB/s, 5 s left" },
	{ { "read", NULL, 0, 5000000000, 20000000000 }, 10,
	  "read 5.0 of 20.0 GB, 500 MB/s, 30 s left" },
	{ { "read", NULL, 0, 30000000, 0 }, 1, "read 30.0 MB, 30 MB/s" },
	{ { "read", NULL, 0, 12000000000, 0 }, 100, "read 12.0 GB, 120 MB/s" },
	/* nothing is known of the rate yet */
	{ { "read", NULL, 0, 1000000, 2000000 }, 0.4, "read 1.0 of 2.0 MB" },
	{ { "read", NULL, 0, 0, 2000000 }, 7, "read 0.0 of 2.0 MB" },
	/* all is done, or more than was expected */
	{ { "read", NULL, 0, 2000000, 2000000 }, 1, "read 2.0 of 2.0 MB, 2.0 MB/s" },
	{ { "read", NULL, 0, 3000000, 2000000 }, 1, "read 3.0 of 2.0 MB, 3.0 MB/s" },
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
