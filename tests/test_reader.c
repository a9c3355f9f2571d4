/* test_reader.c - the inner loops against their plain versions; records of four lines; test_feed.c
 * has the grammar, on the corpus */
#include "test.h"
#include "four_lines.h"
#include "seqio/reader.h"
#include "seqio/scan.h"

enum { N = 300, ROOM = N / 32 + 4 };

/* --- inner loops ----------------------------------------------------------------- */
static const char *const alphabet[] = {
	"ACGT",
	"ACGTacgtUuN",
	"ACGTRYSWKMBDHVNXacgturyswkmbdhvnx-*.",
	"ACGT\n",
	"A\n",
	"N\n-",
	"ACGTACGTACGTACGTACGTACGTACGTACGTACGT>",
	"ACGTACGTACGTACGTACGTACGTACGTACGT\n\r",
};

static void random_text(char *s, size_t n)
{
	size_t which = test_rand() % (sizeof alphabet / sizeof *alphabet + 2);

	for (size_t i = 0; i < n; i++)
		if (which < sizeof alphabet / sizeof *alphabet)
			s[i] = alphabet[which][test_rand() % strlen(alphabet[which])];
		else
			s[i] = (char)test_rand();
	if (test_rand() % 2)                    /* one byte of any kind */
		s[test_rand() % n] = (char)test_rand();
}

struct packed {
	uint64_t bases[ROOM];
	uint32_t amb[ROOM];
};

static void assert_same(const struct packed *a, const struct packed *b, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		assert_int_equal(a->bases[i >> 5] >> 2 * (i & 31) & 3,
				 b->bases[i >> 5] >> 2 * (i & 31) & 3);
		assert_int_equal(a->amb[i >> 5] >> (i & 31) & 1, b->amb[i >> 5] >> (i & 31) & 1);
	}
}

static void one_pack(const kh_scan *x, const kh_scan *y, const char *s, size_t n)
{
	static struct packed a, b;
	const kh_packed ta = { a.bases, a.amb }, tb = { b.bases, b.amb };
	uint64_t at = test_rand() % 40;

	for (size_t i = 0; i < ROOM; i++) {
		a.bases[i] = b.bases[i] = test_rand();
		a.amb[i] = b.amb[i] = (uint32_t)test_rand();
	}
	size_t good = x->pack(&ta, at, s, n);
	assert_int_equal(good, y->pack(&tb, at, s, n));
	if (good == n)
		assert_same(&a, &b, at + n);
	else
		assert_same(&a, &b, at);
	kh_seq_lines la = { at, 9, 9 }, lb = { at, 8, 8 };
	good = x->lines(&ta, &la, s, n);
	assert_int_equal(good, y->lines(&tb, &lb, s, n));
	assert_int_equal(la.at, lb.at);
	assert_int_equal(la.n, lb.n);
	assert_int_equal(la.last, lb.last);
	assert_same(&a, &b, la.at);
	assert_int_equal(x->quality(s, n), y->quality(s, n));
}

/* Every class of byte, by the plain version, against the letters themselves. */
TEST(test_classes)
{
	for (int c = 0; c < 256; c++) {
		char s[1 + KH_SCAN_PAD] = { (char)c };
		struct packed p;
		const kh_packed to = { p.bases, p.amb };
		bool base = c && strchr("ACGTUacgtu", c);
		bool good = c && strchr("ACGTURYSWKMBDHVNXacgturyswkmbdhvnx-*.", c);

		assert_int_equal(kh_scan_plain()->pack(&to, 0, s, 1), good);
		if (good)
			assert_int_equal(p.amb[0] & 1, !base);
		assert_int_equal(kh_scan_plain()->quality(s, 1), c >= '!' && c <= '~');
	}
}

TEST(test_pack)
{
	const kh_scan *x = kh_scan_plain(), *y = kh_scan_avx2();
	char s[N + KH_SCAN_PAD];

	if (!y)
		return;
	for (int c = 0; c < 256; c++) {         /* each byte in each place */
		memset(s, 'A', sizeof s);
		for (size_t i = 0; i < 70; i++) {
			s[i] = (char)c;
			one_pack(x, y, s, 70);
			s[i] = 'A';
		}
	}
	for (int i = 0; i < 200000; i++) {
		size_t n = test_rand() % N + 1;

		random_text(s, sizeof s);
		one_pack(x, y, s, n);
	}
}

static kh_parsed room_for(const char *text, size_t n_rec, size_t n_words)
{
	kh_parsed h = { .text = text, .cap_rec = n_rec, .cap_words = n_words };

	h.rec = calloc(n_rec, sizeof *h.rec);
	h.bases = calloc(n_words, sizeof *h.bases);
	h.amb = calloc(n_words, sizeof *h.amb);
	return h;
}

static size_t random_fastq(char *s, size_t n)
{
	size_t i = 0, len = 0, bound = test_rand() % 2 ? 80 : 180;

	while (i + 2 * bound + 60 < n) {
		if (test_rand() % 2)            /* else as long as the one before */
			len = test_rand() % bound;
		const char *end = test_rand() % 8 ? "\n" : "\r\n";

		i += (size_t)sprintf(s + i, "@%.*s%s", (int)(test_rand() % 40),
				     "name with words\tand more of them, many more", end);
		for (size_t k = 0; k < len; k++)
			s[i++] = "ACGTN"[test_rand() % 5];
		i += (size_t)sprintf(s + i, "%s+%s\n", end, test_rand() % 4 ? "" : "name");
		for (size_t k = 0; k < len; k++)
			s[i++] = (char)(33 + test_rand() % 94);
		s[i++] = '\n';
		if (test_rand() % 4 == 0)
			s[test_rand() % i] = (char)test_rand();
	}
	return i;
}

TEST(test_fastq)
{
	const kh_scan *x = kh_scan_plain(), *y = kh_scan_avx2();
	static char s[1000 + KH_SCAN_PAD];

	for (int i = 0; y && i < 100000; i++) {
		kh_char_range r = { 0, random_fastq(s, 1000), false };

		r.to -= test_rand() % 2 * (test_rand() % r.to);
		size_t n = test_rand() % 10 + 1, words = r.to / 32 + test_rand() % 20;
		kh_parsed a = room_for(s, n, words), b = room_for(s, n, words);
		assert_int_equal(x->fastq(&a, &r), y->fastq(&b, &r));
		assert_int_equal(a.n_rec, b.n_rec);
		assert_int_equal(a.n_words, b.n_words);
		for (size_t k = 0; k < a.n_rec; k++)
			assert_memory_equal(&a.rec[k], &b.rec[k], sizeof a.rec[k]);
		assert_memory_equal(a.bases, b.bases, a.n_words * sizeof *a.bases);
		assert_memory_equal(a.amb, b.amb, a.n_words * sizeof *a.amb);
		kh_parsed_free(&a);
		kh_parsed_free(&b);
	}
}

/* --- records --------------------------------------------------------------------- */
/* The rule for boundaries is never wrong in plain FASTQ, whatever the qualities. */
TEST(test_boundary)
{
	for (int i = 0; i < 20000; i++) {
		char s[600];
		bool start[600] = { false };
		size_t n = 0;

		while (n < 400) {
			size_t len = test_rand() % 4;

			start[n] = true;
			n += (size_t)sprintf(s + n, "@%s\n%.*s\n+%s\n",
					     test_rand() % 2 ? "+" : "@", (int)len, "ACG",
					     test_rand() % 2 ? "@" : "");
			for (size_t k = 0; k < len; k++)
				s[n++] = "@+>A"[test_rand() % 4];
			s[n++] = '\n';
		}
		kh_char_range r = { test_rand() % n, n, true };
		size_t b = kh_reader_boundary(s, &r, '@');
		assert_true(b == n || start[b]);
		assert_true(b > r.from);
	}
}

TEST(test_long_header)
{
	size_t n = (size_t)KH_HEADER_MAX + 6;
	char *s = malloc(n + 8 + KH_SCAN_PAD);
	kh_err err = { 0, "" };

	assert_non_null(s);
	memset(s, 'x', n);
	memcpy(s, ">a\nA\n>", 6);
	memcpy(s + n, "\nACGT\n", 7);
	for (int shorter = 0; shorter < 2; shorter++) {
		kh_position at = { .name = "f", .line = 1 };
		kh_parsed h = { .text = s };
		kh_char_range r = { 0, n + 6, true };
		size_t stop;

		if (shorter) {                  /* exactly at the limit */
			memmove(s + 6, s + 7, n - 1);
			r.to--;
		}
		int rc = kh_reader_walk(&at, &h, &r, &stop, &err);
		assert_int_equal(rc, shorter ? KH_OK : KH_EFORMAT);
		assert_int_equal(h.n_rec, shorter ? 2 : 1);
		if (!shorter)
			assert_string_equal(err.msg,
					    "f:3: record 2: a header line of more than "
					    "64 MiB");
		kh_parsed_free(&h);
	}
	free(s);
}

/* What a record of `len` bases tells of its errors; qualities: `a`, and `b` for each 16th base. */
static uint32_t errors_told(size_t len, char a, char b, const char *end)
{
	static char s[3000 + KH_SCAN_PAD];
	const size_t line = len + strlen(end);
	kh_position at = { .name = "f", .line = 1 };
	kh_parsed h = { .text = s };
	kh_char_range r = { .final = true };
	size_t stop, n = 3;
	uint32_t told;

	memcpy(s, "@r\n", n);
	for (int part = 0; part < 2; part++) {
		memset(s + n, part ? a : 'A', len);
		for (size_t i = 0; part && i < len; i += 16)
			s[n + i] = b;
		memcpy(s + n + len, end, strlen(end));
		n += line;
		if (!part)
			n += (size_t)snprintf(s + n, 4, "+%s", end);
	}
	r.to = n;
	OK(kh_reader_walk(&at, &h, &r, &stop, err));
	assert_int_equal(h.n_rec, 1);
	told = h.rec[0].errors;
	kh_parsed_free(&h);
	return told;
}

/* The qualities of long records tell errors: of every 16th base, 2^24 10^(-q / 10). */
TEST(test_errors)
{
	assert_int_equal(errors_told(KH_LONG_READ, 'I', '+', "\n"), 1 + 1677721);
	assert_int_equal(errors_told(KH_LONG_READ, '+', 'I', "\r\n"), 1 + 1677);
	assert_int_equal(errors_told(KH_LONG_READ, '+', '!', "\n"), 1 + (1 << 24));
	assert_int_equal(errors_told(KH_LONG_READ + 7, '+', '$', "\n"), 1 + 8408526);
	assert_int_equal(errors_told(KH_LONG_READ - 1, 'I', '+', "\n"), 0);
}

/* --- four lines -------------------------------------------------------------------- */
/* Puts one odd thing into a text, or takes one out; returns how long it is then. */
static size_t damage(char *s, size_t n)
{
	static const char any[] = "\r\n\n\n@+>UuNnX-*. \t\0\x7f\x80~!;aRj";
	const size_t at = test_rand() % n;

	switch (test_rand() % 4) {
	case 0:
		memmove(s + at, s + at + 1, n - at);
		return n - 1;
	case 1:
		memmove(s + at + 1, s + at, n - at);
		n++;
		break;
	case 2:
		return at;
	}
	s[at] = test_rand() % 8 ? any[test_rand() % (sizeof any - 1)] : (char)test_rand();
	return n;
}

/* Records of four lines, most of them plain, and cut anywhere. */
static size_t four_line_text(char *s)
{
	size_t n = 0;

	for (size_t k = test_rand() % 5 + 1; k > 0; k--) {
		const size_t len = test_rand() % 70;

		n += (size_t)sprintf(s + n, "@r%u%s\n", (unsigned)test_rand() % 99,
				     test_rand() % 2 ? "/1 x" : "");
		for (size_t i = 0; i < len; i++)
			s[n++] = alphabet[2][test_rand() % (test_rand() % 4 ? 4 : 35)];
		n += (size_t)sprintf(s + n, "\n+%s\n", test_rand() % 4 ? "" : "r \t\1");
		for (size_t i = 0; i < len; i++)
			s[n++] = (char)('!' + test_rand() % 94);
		s[n++] = '\n';
	}
	return n;
}

TEST(test_four_lines)
{
	static char s[4096];
	size_t plain = 0, n_plain, odd = 0;

	for (int i = 0; i < 200000; i++) {
		size_t n = four_line_text(s);

		for (size_t k = test_rand() % 3; k > 0 && n > 0; k--)
			n = damage(s, n);
		const char *why = four_lines_differ(s, n, &n_plain);

		if (why)
			fail_msg("%s in '%.*s'", why, (int)n, s);
		plain += n_plain;
		odd += n_plain == 0;
	}
	assert_true(plain > 100000 && odd > 10000);
}

/* Four characters at a time, beside one: each one at each place, among others. */
TEST(test_four_characters)
{
	static const char others[] = "AacgTN*~U \x80";

	for (uint32_t c = 0; c < 256 * 4 * (sizeof others - 1); c++) {
		const uint32_t place = c / 256 % 4;
		uint32_t x = kh_chars_of(others[c / 1024]), zeros = 0, codes = 0, amb = 0, is_amb;
		bool known = true, qualities = true;

		x = (x & ~(255u << 8 * place)) | (c & 255) << 8 * place;
		for (int i = 0; i < 4; i++) {
			const uint32_t one = x >> 8 * i & 255, code = kh_char_code((char)one);

			known = known && code != KH_CODE_BAD;
			qualities = qualities && one >= '!' && one <= '~';
			zeros |= one == 0 ? 0x80u << 8 * i : 0;
			codes |= (code & 3) << 2 * i;
			amb |= (code >> 2 & 1) << i;
		}
		assert_int_equal(kh_chars_are_codes(x), known);
		assert_int_equal(kh_chars_are_qualities(x), qualities);
		assert_int_equal(kh_chars_zeros(x), zeros);
		assert_int_equal(kh_chars_codes(x, &is_amb), codes);
		assert_int_equal(is_amb, amb);
	}
}

/* Names as mates have them, or not; also longer ones. */
TEST(test_mates)
{
	static const struct {
		const char *a, *b;
		bool are;
	} v[] = { { "x/1", "x/2", true }, { "x/2", "x/1", false }, { "x/1", "x/1", false },
		  { "x", "x", true }, { "x", "y", false }, { "x.1", "x.2", true },
		  { "x 1:N:0", "x 2:N:0", true }, { "x 2:N:0", "x 1:N:0", false },
		  { "x 1:N:0", "x 1:Y:0", false }, { "x/1 a", "x/2\tb", true },
		  { "xy/1", "x/2", false }, { "x_1", "x_3", false }, { "x", "x/2", true },
		  { "read12/1 a", "read12/2", true }, { "read12", "read13", false },
		  { "read1234", "read1234 b", true }, { "read1234", "read12345", false } };

	for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
		char a[64], b[64];
		kh_four_lines x, y;
		const size_t na = (size_t)sprintf(a, "@%s\nA\n+\nI\n", v[i].a);
		const size_t nb = (size_t)sprintf(b, "@%s\nA\n+\nI\n", v[i].b);

		assert_true(four_lines_at(a, na, 0, &x) && four_lines_at(b, nb, 0, &y));
		assert_int_equal(kh_four_lines_are_mates(a, &x, b, &y), v[i].are);
	}
}
