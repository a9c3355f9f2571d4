/* test_tsv.c - rows of text, numbers in them, and how they are shown */
#include "test.h"
#include "given.h"
#include "taxonomy/tsv.h"

static void check_rows(const char *text, size_t n, const char *const *want)
{
	for (size_t step = 1; step < 9; step++) {
		given r = { text, n, step, 0, 0 };
		kh_tsv tsv;
		kh_span row;
		kh_err err;
		kh_tsv_init(&tsv, "rows", give, &r);
		tsv.any_end = true;
		for (size_t i = 0; want[i]; i++) {
			assert_int_equal(kh_tsv_next(&tsv, &row, &err), 1);
			assert_int_equal(tsv.line, i + 1);
			assert_true(kh_span_is(row, want[i]));
		}
		assert_int_equal(kh_tsv_next(&tsv, &row, &err), 0);
		assert_int_equal(kh_tsv_next(&tsv, &row, &err), 0);
		kh_tsv_clear(&tsv);
	}
}

TEST(test_rows)
{
	check_rows("", 0, (const char *[]) { NULL });
	check_rows("\n", 1, (const char *[]) { "", NULL });
	check_rows("a", 1, (const char *[]) { "a", NULL });
	check_rows("a\nbc\n", 5, (const char *[]) { "a", "bc", NULL });
	check_rows("a\r\n\r\nb\r", 7, (const char *[]) { "a", "", "b", NULL });
	check_rows("\n\na\rb\n\n", 7, (const char *[]) { "", "", "a\rb", "", NULL });
}

/* Rows around the size of the buffer and over it, up to the longest allowed. */
TEST(test_long_rows)
{
	static const size_t sizes[] = { 1, 262142, 262143, 262144, 262145, 524287, 524288,
					1000000, KH_LINE_MAX - 1, 5 };
	enum { N = sizeof sizes / sizeof *sizes };
	char *text = malloc(2 * KH_LINE_MAX), *p = text;
	kh_tsv tsv;
	kh_span row;
	kh_err err;

	for (size_t i = 0; i < N; i++) {
		memset(p, 'a' + (int)i, sizes[i]);
		p += sizes[i];
		*p++ = '\n';
	}
	given r = { text, (size_t)(p - text), 0, 0, 0 };
	kh_tsv_init(&tsv, "rows", give, &r);
	for (size_t i = 0; i < N; i++) {
		assert_int_equal(kh_tsv_next(&tsv, &row, &err), 1);
		assert_int_equal(row.n, sizes[i]);
		assert_int_equal(row.p[0], 'a' + (int)i);
		assert_int_equal(row.p[row.n - 1], 'a' + (int)i);
	}
	assert_int_equal(kh_tsv_next(&tsv, &row, &err), 0);
	kh_tsv_clear(&tsv);

	memset(text, 'x', 2 * KH_LINE_MAX);
	text[3] = '\n';
	r = (given) { text, 2 * KH_LINE_MAX, 0, 0, 0 };
	kh_tsv_init(&tsv, "rows", give, &r);
	assert_int_equal(kh_tsv_next(&tsv, &row, &err), 1);
	assert_int_equal(kh_tsv_next(&tsv, &row, &err), KH_EFORMAT);
	assert_string_equal(err.msg, "rows:2: row longer than 16777216 bytes");
	kh_tsv_clear(&tsv);
	free(text);
}

TEST(test_numbers)
{
	static const struct { const char *text; bool ok; uint32_t x; } want[] = {
		{ "0", true, 0 }, { "9", true, 9 }, { "007", true, 7 },
		{ "4294967295", true, UINT32_MAX }, { "4294967296", false, 0 },
		{ "99999999999999999999999", false, 0 }, { "", false, 0 },
		{ "-1", false, 0 }, { "+1", false, 0 }, { " 1", false, 0 },
		{ "1 ", false, 0 }, { "1.0", false, 0 }, { "0x1", false, 0 },
		{ "/", false, 0 }, { ":", false, 0 }, { "\2601", false, 0 },
	};

	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		uint32_t x = 0;
		kh_span s = { want[i].text, strlen(want[i].text) };
		assert_int_equal(kh_span_u32(s, &x), want[i].ok);
		assert_int_equal(x, want[i].x);
	}
	assert_string_equal(kh_span_show((kh_span) { "a\tb\0\377", 5 }).s, "a?b??");
	kh_span s = { "0123456789012345678901234567890123456789012345678", 49 };
	assert_string_equal(kh_span_show(s).s, "01234567890123456789012345678901234567890123...");
	s.n = 47;
	assert_string_equal(kh_span_show(s).s, "01234567890123456789012345678901234567890123456");
}
