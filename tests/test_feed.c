/*
 * test_feed.c - the feed against the reference: every kind of input, cut anywhere, by
 * any number of threads; mates; several files; what must fail
 */
#include "test.h"
#include <fcntl.h>
#include <sys/stat.h>
#include "feed_harness.h"
#include "gz_make.h"
#include "reader_compare.h"
#include "scan.h"

enum kind { RANGES, PIPE, GZ, BGZF, BGZF_GZ, N_KINDS };

struct input {
	int fd;
	char path[32];
};

static struct input make_input(enum kind kind, const char *s, size_t n)
{
	struct input in;
	struct bytes b = { NULL, 0 };
	int p[2];

	switch (kind) {
	case RANGES:
		bytes_add(&b, s, n);
		break;
	case PIPE:
		assert_int_equal(pipe(p), 0);
		fcntl(p[1], F_SETPIPE_SZ, 1 << 20);
		assert_int_equal(write(p[1], s, n), n);
		close(p[1]);
		in.fd = p[0];
		snprintf(in.path, sizeof in.path, "/proc/self/fd/%d", in.fd);
		return in;
	case GZ:
		add_gz(&b, s, n / 3);
		add_gz(&b, s + n / 3, n - n / 3);
		break;
	case BGZF:
		add_bgzf(&b, s, n, test_rand() % (n < 60000 ? n + 1 : 60000) + 1);
		add_bgzf_eof(&b);
		break;
	case BGZF_GZ:                           /* goes on as plain gzip */
		add_bgzf(&b, s, n / 2, n < 100000 ? n / 4 + 1 : 60000);
		if (test_rand() % 2)
			add_bgzf_eof(&b);
		add_gz(&b, s + n / 2, n - n / 2);
		break;
	case N_KINDS:
		break;
	}
	in.fd = bytes_file(in.path, b.p, b.n);
	free(b.p);
	return in;
}

static void assert_alike(const struct got *g, const struct ref *r, const char *path)
{
	const char *why = compare(g, r, path);

	if (why)
		fail_msg("block size %zu, %s: %s", g->o.block_size,
			 g->o.pieces ? "pieces" : "records", why);
}

/* --- the corpus ---------------------------------------------------------------------- */
struct text {
	const char *name, *message;
	char *s;
	size_t n;
	struct ref ref;
};

static void run_text(const struct text *t, enum kind kind, kh_feed_options o, unsigned threads)
{
	struct input in = make_input(kind, t->s, t->n);
	const char *path = in.path;
	struct got g;
	char want[400];

	o.path[0] = &path;
	o.n_path[0] = 1;
	got_run(&g, &o, threads);
	assert_alike(&g, &t->ref, path);
	snprintf(want, sizeof want, "%s%s", path, t->message);
	if (t->message[0] && !(o.pieces && strstr(want, "'>' or '@'")))
		assert_string_equal(g.err.msg, want);
	if (!g.rc)
		assert_int_equal(g.n_ends, 1);
	got_free(&g);
	close(in.fd);
}

static void one_text(const struct text *t)
{
	bool fastq = strstr(t->name, ".fq") != NULL;

	for (int pieces = 0; pieces < (fastq ? 1 : 2); pieces++)
		for (int kind = 0; kind < N_KINDS; kind++) {
			kh_feed_options o = { .pieces = pieces };

			for (size_t b = 1; b <= t->n + 1; b += 1 + b / (kind ? 3 : 30)) {
				o.block_size = b;
				o.front = 32 * (b % 3);
				run_text(t, kind, o, 1);
			}
			for (unsigned threads = 2; threads <= 4; threads += 2) {
				o.block_size = test_rand() % (t->n + 1) + 1;
				run_text(t, kind, o, threads);
			}
		}
}

static void test_corpus(void **state)
{
	const char *src = getenv("KH_SRCDIR");
	char dir[2048], path[4096], line[500];
	int n = 0;

	(void)state;
	snprintf(dir, sizeof dir, "%s/tests/corpus/reader", src ? src : ".");
	snprintf(path, sizeof path, "%s/EXPECT", dir);
	FILE *list = fopen(path, "r");
	assert_non_null(list);
	for (; fgets(line, sizeof line, list); n++) {
		char name[80], message[300] = "", s[4096];
		unsigned n_rec;

		assert_true(sscanf(line, "%79[^\t]\t%u\t%299[^\n]", name, &n_rec, message) >= 2);
		snprintf(path, sizeof path, "%s/%s", dir, name);
		FILE *f = fopen(path, "rb");
		assert_non_null(f);
		struct text t = { .name = name, .message = message, .s = s };
		t.n = fread(s, 1, sizeof s, f);
		fclose(f);
		ref_parse(&t.ref, s, t.n);
		one_text(&t);
		ref_free(&t.ref);
	}
	fclose(list);
	assert_true(n > 70);
}

/* --- made-up text ------------------------------------------------------------------------ */
static size_t put_lines(char *s, size_t len, size_t width, const char *letters)
{
	size_t n = 0, k = strlen(letters);

	for (size_t i = 0; i < len; i++) {
		if (i > 0 && i % width == 0)
			s[n++] = '\n';
		s[n++] = letters[test_rand() % k];
	}
	s[n++] = '\n';
	return n;
}

static size_t made_fasta(char *s, size_t room)
{
	size_t n = 0, width = test_rand() % 80 + 1;

	for (int i = 0; n + 9000 < room; i++) {
		n += (size_t)sprintf(s + n, ">seq%d %.*s\n", i, (int)(test_rand() % 20),
				     "a longer description");
		n += put_lines(s + n, test_rand() % 3 ? test_rand() % 300 : test_rand() % 4000,
			       width, "ACGTACGTACGTNacgtR");
	}
	return n;
}

static size_t made_fastq(char *s, size_t room, bool wrapped)
{
	size_t n = 0, width = wrapped ? 50 : 1 << 20;

	for (int i = 0; n + 2000 < room; i++) {
		size_t len = test_rand() % 20 ? test_rand() % 160 : 0;

		n += (size_t)sprintf(s + n, "@read%d/1 x\n", i);
		n += put_lines(s + n, len, width, "ACGTACGTACGTN");
		n += (size_t)sprintf(s + n, "+\n");
		n += put_lines(s + n, len, width, "@+>IIFF:,#!~");
	}
	return n;
}

static void test_made(void **state)
{
	enum { ROOM = 60000 };
	char *s = malloc(ROOM);

	(void)state;
	for (int i = 0; i < 150; i++) {
		struct text t = { .name = "", .message = "", .s = s };
		bool fastq = i % 3;

		t.n = fastq ? made_fastq(s, ROOM, i % 3 == 2) : made_fasta(s, ROOM);
		if (test_rand() % 4 == 0)               /* some damage */
			s[test_rand() % t.n] = (char)test_rand();
		if (t.n > 0 && (s[0] == '>' || s[0] == '@')) {
			ref_parse(&t.ref, s, t.n);
			for (unsigned threads = 1; threads <= 4; threads *= 2) {
				kh_feed_options o = { .block_size = test_rand() % 8000 + 1 };

				o.pieces = !fastq && test_rand() % 2;
				run_text(&t, test_rand() % N_KINDS, o, threads);
			}
			ref_free(&t.ref);
		}
	}
	free(s);
}

/* One record of 3 MB in blocks of 1000 bytes: the cost must not be quadratic. */
static void test_long_record(void **state)
{
	enum { LEN = 3000000 };
	char *s = malloc(3 * LEN);

	(void)state;
	for (int fastq = 0; fastq < 2; fastq++)
		for (int pieces = 0; pieces < 2 - fastq; pieces++) {
			struct text t = { .name = "", .message = "", .s = s };
			kh_feed_options o = { .block_size = 1000, .pieces = pieces };

			t.n = (size_t)sprintf(s, "%clong\n", fastq ? '@' : '>');
			t.n += put_lines(s + t.n, LEN, fastq ? 1 << 30 : 61, "ACGTN");
			if (fastq) {
				t.n += (size_t)sprintf(s + t.n, "+\n");
				t.n += put_lines(s + t.n, LEN, 1 << 30, "@+I");
			}
			t.n += (size_t)sprintf(s + t.n, fastq ? "@b\nAC\n+\nII\n" : ">b\nAC\n");
			ref_parse(&t.ref, s, t.n);
			run_text(&t, RANGES, o, 2);
			run_text(&t, BGZF, o, 1);
			ref_free(&t.ref);
		}
	free(s);
}

/* A header line of 10 MB. */
static void test_long_header(void **state)
{
	enum { LEN = 10000000 };
	struct text t = { .name = "", .message = "" };

	(void)state;
	t.s = malloc(LEN + 100);
	for (int pieces = 0; pieces < 2; pieces++) {
		kh_feed_options o = { .block_size = 5000, .pieces = pieces };

		t.n = (size_t)sprintf(t.s, ">a\nACGT\n>");
		memset(t.s + t.n, 'x', LEN);
		t.n += LEN;
		t.n += (size_t)sprintf(t.s + t.n, "\nACGT\n>c\nGG\n");
		ref_parse(&t.ref, t.s, t.n);
		run_text(&t, RANGES, o, 1);
		ref_free(&t.ref);
	}
	free(t.s);
}

/* --- several files ------------------------------------------------------------------------- */
static void test_files(void **state)
{
	static const char *const text[] = {
		"@a\nAC\n+\nII\n@b\nACG\n+\nIII", "", ">c\nAC", "\n", ">d\n>e\nA\n", "@f\nA\n+\nI\n",
	};
	enum { N = sizeof text / sizeof *text };
	struct input in[N];
	const char *path[N];

	(void)state;
	for (size_t b = 1; b < 40; b++) {
		struct got g;

		for (size_t i = 0; i < N; i++) {
			in[i] = make_input(test_rand() % N_KINDS, text[i], strlen(text[i]));
			path[i] = in[i].path;
		}
		kh_feed_options o = {
			.path = { path, NULL }, .n_path = { N, 0 }, .block_size = b,
		};
		got_run(&g, &o, 1 + b % 3);
		assert_int_equal(g.rc, 0);
		assert_int_equal(g.n, 6);
		assert_int_equal(g.n_ends, N);
		for (size_t i = 0; i < g.n; i++)
			assert_int_equal(g.rec[i].name[0], "abcdef"[i]);
		got_free(&g);
		for (size_t i = 0; i < N; i++)
			close(in[i].fd);
	}
}

/* --- mates ---------------------------------------------------------------------------------- */
struct pair_case {
	const char *file[2][2];                 /* mates 1, mates 2: two files at most */
	size_t n;                               /* records, both mates */
	const char *message;                    /* with 1a, 1b, 2a, 2b for the paths */
};

#define R(name) "@" name "\nACGT\n+\nIIII\n"

static const struct pair_case pair_cases[] = {
	{ { { R("a") R("b") }, { R("a") R("b") } }, 4, NULL },
	{ { { "" }, { "" } }, 0, NULL },
	{ { { R("a/1") R("b/1 x") R("c.1") R("d_1") R("e 1:N:0") R("/1") },
	    { R("a/2") R("b/2\ty") R("c.2") R("d_2") R("e 2:N:0") R("/2") } }, 12, NULL },
	{ { { R("a/1") R("b"), R("c") }, { R("a/2") R("b"), R("c") } }, 6, NULL },
	{ { { R("a"), "" }, { R("a"), "" } }, 2, NULL },
	{ { { R("a") R("b") R("c") }, { R("a") } }, 2,
	  "1a has 3 records, 2a has 1: 'b', record 2, is the first without a mate" },
	{ { { R("a") }, { R("a") R("b") R("c") R("d") } }, 2,
	  "2a has 4 records, 1a has 1: 'b', record 2, is the first without a mate" },
	{ { { "" }, { R("a") } }, 0,
	  "2a has 1 records, 1a has 0: 'a', record 1, is the first without a mate" },
	{ { { R("a") R("b"), R("c") }, { R("a"), R("b") R("c") } }, 2,
	  "1a has 2 records, 2a has 1: 'b', record 2, is the first without a mate" },
	{ { { R("a") R("b"), R("c") }, { R("a") R("b"), R("c") R("d") } }, 6,
	  "2b has 2 records, 1b has 1: 'd', record 2, is the first without a mate" },
	{ { { R("a") R("b") R("c") }, { R("a") R("x") R("c") } }, 2,
	  "1a, 2a: pair 2: the mates have different names, 'b' and 'x' (--no-mate-check takes "
	  "them as they are)" },
	{ { { R("a/1") R("b/1") }, { R("a/3") R("b/2") } }, 0,
	  "1a, 2a: pair 1: the mates have different names, 'a/1' and 'a/3' (--no-mate-check takes "
	  "them as they are)" },
	{ { { R("a") "@b\nAC\n+\nI\n" R("c") }, { R("a") R("b") "@c\n!\n+\nI\n" } }, 2,
	  "1a:8: record 2: quality has 1 characters, sequence 2" },
	{ { { R("a") R("b") "@c\n!\n+\nI\n" }, { R("a") "@b\nAC\n+\nI\n" R("c") } }, 2,
	  "2a:8: record 2: quality has 1 characters, sequence 2" },
	{ { { R("a") "@b\n!\n+\nI\n" }, { R("a") "@b\n?\n+\nI\n" } }, 2,
	  "1a:6: record 2: expected a nucleotide, found '!', column 1" },
	{ { { R("a") R("b") "@c\n!\n+\nI\n" }, { R("a") R("x") } }, 2,
	  "1a, 2a: pair 2: the mates have different names, 'b' and 'x' (--no-mate-check takes "
	  "them as they are)" },
	{ { { R("a") R("b") "@c\n!\n+\nI\n" }, { R("a") } }, 2,
	  "1a:10: record 3: expected a nucleotide, found '!', column 1" },
	{ { { R("a") }, { R("a") "@c\n!\n+\nI\n" } }, 2,
	  "2a:6: record 2: expected a nucleotide, found '!', column 1" },
	{ { { R("a"), R("b") }, { R("a") "@c\n!\n+\nI\n", R("b") } }, 2,
	  "2a:6: record 2: expected a nucleotide, found '!', column 1" },
};

/* The message with the paths put in. */
static void expand(char *out, const char *message, struct input in[2][2])
{
	for (; *message; message++) {
		bool path = (message[0] == '1' || message[0] == '2')
			    && (message[1] == 'a' || message[1] == 'b');

		if (path) {
			out += sprintf(out, "%s", in[message[0] - '1'][message[1] - 'a'].path);
			message++;
		} else {
			*out++ = *message;
		}
	}
	*out = 0;
}

static void one_pair(const struct pair_case *c, size_t block_size, unsigned threads)
{
	struct input in[2][2];
	const char *path[2][2];
	size_t n = c->file[0][1] ? 2 : 1;
	char want[600];
	struct got g;

	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < n; i++) {
			const char *t = c->file[s][i];

			in[s][i] = make_input(test_rand() % N_KINDS, t, strlen(t));
			path[s][i] = in[s][i].path;
		}
	kh_feed_options o = {
		.path = { path[0], path[1] }, .n_path = { n, n }, .block_size = block_size,
		.n_blocks = threads + test_rand() % 3,
	};
	got_run(&g, &o, threads);
	if (c->message)
		expand(want, c->message, in);
	assert_string_equal(g.rc ? g.err.msg : "", c->message ? want : "");
	if (!c->message) {
		assert_int_equal(g.n, c->n);
		assert_int_equal(g.n_frag, c->n / 2);
	}
	assert_int_equal(g.n_bad, 0);
	got_free(&g);
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < n; i++)
			close(in[s][i].fd);
}

static void test_pairs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof pair_cases / sizeof *pair_cases; i++)
		for (size_t b = 1; b < 70; b += 1 + b / 5)
			for (unsigned threads = 1; threads <= 4; threads++)
				one_pair(&pair_cases[i], b, threads);
}

/* Mates of different lengths, many blocks, few of them in circulation. */
static void test_many_pairs(void **state)
{
	enum { PAIRS = 3000 };
	char *s[2] = { malloc(PAIRS * 400), malloc(PAIRS * 400) };
	size_t n[2] = { 0, 0 };

	(void)state;
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < PAIRS; i++) {
			size_t len = k ? 150 : test_rand() % 30 + 1;

			n[k] += (size_t)sprintf(s[k] + n[k], "@p%d/%d\n", i, k + 1);
			n[k] += put_lines(s[k] + n[k], len, 1000, "ACGT");
			n[k] += (size_t)sprintf(s[k] + n[k], "+\n");
			n[k] += put_lines(s[k] + n[k], len, 1000, "FI#");
		}
	for (int i = 0; i < 60; i++) {
		int kind = i % 2 ? RANGES : BGZF;
		struct input in[2] = { make_input(kind, s[0], n[0]), make_input(GZ, s[1], n[1]) };
		const char *p = in[0].path, *q = in[1].path;
		kh_feed_options o = {
			.path = { &p, &q }, .n_path = { 1, 1 }, .n_blocks = 2 + i % 5,
			.block_size = 200 + test_rand() % 20000,
		};
		struct got g;

		got_run(&g, &o, 1 + i % 4);
		assert_int_equal(g.rc, 0);
		assert_int_equal(g.n_frag, PAIRS);
		assert_int_equal(g.n_bad, 0);
		got_free(&g);
		close(in[0].fd);
		close(in[1].fd);
	}
	free(s[0]);
	free(s[1]);
}

static void interleaved(const char *s, bool check, const char *message)
{
	for (size_t b = 1; b < 100; b++) {
		struct input in = make_input(test_rand() % N_KINDS, s, strlen(s));
		const char *p = in.path;
		kh_feed_options o = {
			.path = { &p, NULL }, .n_path = { 1, 0 }, .interleaved = true,
			.block_size = b, .no_mate_check = !check,
		};
		struct got g;
		char want[600] = "";

		got_run(&g, &o, 1 + b % 3);
		if (message)
			snprintf(want, sizeof want, "%s%s", p, message);
		assert_string_equal(g.rc ? g.err.msg : "", want);
		if (!message)
			assert_int_equal(g.n_frag, g.n / 2);
		assert_int_equal(g.n_bad, 0);
		got_free(&g);
		close(in.fd);
	}
}

static void test_interleaved(void **state)
{
	(void)state;
	interleaved(R("a/1") R("a/2") R("b") R("b"), true, NULL);
	interleaved("", true, NULL);
	interleaved("\n\n" R("a/1") "\n" R("a/2") "\n\n" R("b") "\n" R("b") "\n", true, NULL);
	interleaved(R("a/1") R("a/2") R("b"), true,
		    ": 3 records: interleaved mates, but the number is odd");
	interleaved(R("a/1") R("c/2") R("b") R("b"), true,
		    ": pair 1: the mates have different names, 'a/1' and 'c/2' (--no-mate-check "
		    "takes them as they are)");
	interleaved(R("a/1") R("c/2") R("b") R("b"), false, NULL);
	interleaved(R("a/1") R("a/2") R("b") "@b\nA\n+\n!!\n", true,
		    ":16: record 4: quality has 2 characters, sequence 1");
}

/* --- what fails at once ------------------------------------------------------------------------ */
static void refuse(kh_feed_options o, const char *a, const char *b, const char *message)
{
	kh_feed *f = NULL;
	kh_monitor *m = NULL;
	kh_err err = { 0, "" };

	o.path[0] = &a;
	o.n_path[0] = a != NULL;
	o.path[1] = &b;
	o.n_path[1] = b != NULL;
	assert_int_equal(kh_monitor_new(&m, &err), 0);
	assert_true(kh_feed_open(&f, &o, m, &err) < 0);
	assert_string_equal(err.msg, message);
	kh_monitor_free(m);
}

static void test_refused(void **state)
{
	(void)state;
	refuse((kh_feed_options) { 0 }, NULL, NULL, "no input file");
	refuse((kh_feed_options) { .interleaved = true }, "a", "b",
	       "interleaved mates are in one file, not in two");
	refuse((kh_feed_options) { .pieces = true }, "a", "b", "references have no mates");
	refuse((kh_feed_options) { 0 }, "-", "-", "standard input is given 2 times");
	refuse((kh_feed_options) { .front = 7 }, "a", NULL, "front: 7 is no multiple of 32");
	refuse((kh_feed_options) { 0 }, "/nonexistent/x.fq", NULL,
	       "/nonexistent/x.fq: No such file or directory");
	refuse((kh_feed_options) { 0 }, "/proc/self", NULL, "/proc/self: is a directory");
	kh_feed_close(NULL);
}

static void test_foreign(void **state)
{
	static const struct { const char *magic; size_t n; const char *what, *hint; } t[] = {
		{ "\x28\xb5\x2f\xfd....", 8, "zstd-compressed", "zstd -dc" },
		{ "BZh91AY", 7, "bzip2-compressed", "bzip2 -dc" },
		{ "\xfd" "7zXZ\0\0", 7, "xz-compressed", "xz -dc" },
		{ "PK\3\4", 4, "a zip archive", "unzip -p" },
		{ "CRAM\3", 5, "a CRAM file", "samtools fastq" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++)
		for (int kind = RANGES; kind <= PIPE; kind++) {
			struct input in = make_input(kind, t[i].magic, t[i].n);
			const char *p = in.path;
			kh_feed_options o = { .path = { &p, NULL }, .n_path = { 1, 0 } };
			struct got g;
			char want[400];

			got_run(&g, &o, 1);
			snprintf(want, sizeof want, "%s: %s; only plain text and gzip are read: "
				 "convert it, or pipe the output of '%s' into standard input, '-'",
				 p, t[i].what, t[i].hint);
			assert_string_equal(g.err.msg, want);
			got_free(&g);
			close(in.fd);
		}
}

/* --- what fails on the way --------------------------------------------------------------------- */
static void test_shrinking(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads < 4; threads++) {
		enum { LEN = 100000 };
		char *s = malloc(LEN), want[200];
		struct got g = { .n = 0 };
		kh_monitor *m = NULL;

		memset(s, 'A', LEN);
		memcpy(s, ">a\n", 3);
		struct input in = make_input(RANGES, s, LEN);
		const char *p = in.path;
		g.o = (kh_feed_options) {
			.path = { &p, NULL }, .n_path = { 1, 0 }, .block_size = 1000,
			.n_blocks = 6, .pieces = true,
		};
		assert_int_equal(kh_monitor_new(&m, &g.err), 0);
		assert_int_equal(kh_feed_open(&g.f, &g.o, m, &g.err), 0);
		kh_block *b;
		assert_int_equal(kh_feed_next(g.f, &b, &g.err), 1);     /* has seen its size */
		assert_int_equal(kh_feed_settle(g.f, b, &g.err), 0);
		kh_feed_pass(g.f, b);
		kh_feed_release(g.f, b);
		assert_int_equal(ftruncate(in.fd, 50500), 0);
		got_add(&g, b, &b->rec[0]);
		assert_int_equal(kh_crew_run(m, threads, got_work, &g, &g.err), KH_EIO);
		snprintf(want, sizeof want, "%s: became shorter while it was read: 50500 of %d bytes",
			 p, LEN);
		assert_string_equal(g.err.msg, want);
		kh_feed_close(g.f);
		kh_monitor_free(m);
		got_free(&g);
		close(in.fd);
		free(s);
	}
}

/* Damage behind good records: the parser's error comes first if it is first. */
static void test_damage_in_order(void **state)
{
	const char good[] = R("a") R("b"), bad[] = R("a") "@b\nAC\n+\nI\n" R("c");

	(void)state;
	for (int first = 0; first < 2; first++)
		for (size_t step = 1; step < 60; step++) {
			struct bytes b = { NULL, 0 };
			struct input in;
			struct got g;
			char want[300];
			const char *p = in.path;

			if (first)
				add_bgzf(&b, bad, sizeof bad - 1, step);
			else
				add_bgzf(&b, good, sizeof good - 1, step);
			size_t at = b.n;
			add_bgzf_block(&b, good, sizeof good - 1);
			b.p[b.n - 8] ^= 1;
			add_bgzf_eof(&b);
			in.fd = bytes_file(in.path, b.p, b.n);
			kh_feed_options o = {
				.path = { &p, NULL }, .n_path = { 1, 0 }, .block_size = step,
			};
			got_run(&g, &o, 1 + step % 4);
			if (first)
				snprintf(want, sizeof want, "%s:8: record 2: quality has 1 "
					 "characters, sequence 2", p);
			else
				snprintf(want, sizeof want, "%s: damaged: gzip member at byte %zu: "
					 "CRC-32 differs", p, at);
			assert_string_equal(g.err.msg, want);
			got_free(&g);
			close(in.fd);
			free(b.p);
		}
}

static void test_progress(void **state)
{
	struct input in = make_input(RANGES, R("a"), strlen(R("a")));
	const char *p[2] = { in.path, in.path };
	kh_feed_options o = { .path = { p, NULL }, .n_path = { 2, 0 } };
	kh_feed *f = NULL;
	kh_monitor *m = NULL;
	kh_err err;
	kh_block *b;
	uint64_t done, total;

	(void)state;
	assert_int_equal(kh_monitor_new(&m, &err), 0);
	assert_int_equal(kh_feed_open(&f, &o, m, &err), 0);
	assert_int_equal(kh_feed_next(f, &b, &err), 1);
	kh_feed_progress(f, &done, &total);
	assert_int_equal(done, strlen(R("a")));
	assert_int_equal(total, 2 * strlen(R("a")));
	kh_feed_close(f);
	kh_monitor_free(m);
	close(in.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_corpus),
		cmocka_unit_test(test_made),
		cmocka_unit_test(test_long_record),
		cmocka_unit_test(test_long_header),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_many_pairs),
		cmocka_unit_test(test_interleaved),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_shrinking),
		cmocka_unit_test(test_damage_in_order),
		cmocka_unit_test(test_progress),
	};

	test_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
