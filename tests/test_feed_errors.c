/*
 * test_feed_errors.c - what a feed refuses at once, and what fails while it is read
 */
#include "test.h"
#include "feed_inputs.h"
#include "feed_harness.h"
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "seqio/feed_in.h"

/* --- what fails at once ---------------------------------------------------------- */
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

TEST(test_refused)
{
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

TEST(test_foreign)
{
	static const struct {
		const char *magic;
		size_t n;
		const char *what, *hint;
	} t[] = {
		{ "\x28\xb5\x2f\xfd....", 8, "zstd-compressed", "zstd -dc" },
		{ "BZh91AY", 7, "bzip2-compressed", "bzip2 -dc" },
		{ "\xfd"
		  "7zXZ\0\0",
		  7, "xz-compressed", "xz -dc" },
		{ "PK\3\4", 4, "a zip archive", "unzip -p" },
		{ "CRAM\3", 5, "a CRAM file", "samtools fastq" },
	};

	for (size_t i = 0; i < sizeof t / sizeof *t; i++)
		for (int kind = RANGES; kind <= PIPE; kind++) {
			struct input in = make_input(kind, t[i].magic, t[i].n);
			const char *p = in.path;
			kh_feed_options o = { .path = { &p, NULL }, .n_path = { 1, 0 } };
			struct got g;
			char want[400];

			got_run(&g, &o, 1);
			snprintf(want, sizeof want,
				 "%s: %s; only plain text and gzip are read: "
				 "convert it, or pipe the output of '%s' into standard "
				 "input, '-'",
				 p, t[i].what, t[i].hint);
			assert_string_equal(g.err.msg, want);
			got_free(&g);
			close(in.fd);
		}
}

/* --- what fails on the way ------------------------------------------------------- */
TEST(test_shrinking)
{
	for (unsigned threads = 1; threads < 4; threads++) {
		enum { LEN = 100000 };
		static char s[LEN];
		char want[200];
		struct got g;

		memset(s, 'A', LEN);
		memcpy(s, ">a\n", 3);
		struct input in = make_input(RANGES, s, LEN);
		const char *p = in.path;
		const kh_feed_options o = {
			.path = { &p, NULL }, .n_path = { 1, 0 }, .block_size = 1000,
			.workers = 4, .pieces = true,
		};
		assert_int_equal(got_open(&g, &o, threads), 0);
		struct got_block x;
		kh_block *b;
		assert_int_equal(kh_feed_next(g.f, &b, &g.err), 1);
		assert_int_equal(kh_feed_commit(g.f, b, &x.jobs, &g.err), 0);
		x.b = b;
		assert_int_equal(kh_order_put(g.order, b->ticket, &x, got_block, &g), 0);
		kh_feed_release(g.f, b);
		assert_int_equal(ftruncate(in.fd, 50500), 0);
		assert_int_equal(kh_threads_run(g.m, threads, got_work, &g, &g.err), KH_EIO);
		snprintf(want, sizeof want,
			 "%s: became shorter while it was read: 50500 of %d bytes", p,
			 LEN);
		assert_string_equal(g.err.msg, want);
		got_close(&g);
		got_free(&g);
		close(in.fd);
	}
}

/* Damage behind good records: the parser's error comes first if it is first. */
TEST(test_damage_in_order)
{
	const char good[] = R("a") R("b"), bad[] = R("a") "@b\nAC\n+\nI\n" R("c");

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
				.path = { &p, NULL },
				.n_path = { 1, 0 },
				.block_size = step,
			};
			got_run(&g, &o, 1 + step % 4);
			if (first)
				snprintf(want, sizeof want,
					 "%s:8: record 2: quality has 1 "
					 "characters, sequence 2",
					 p);
			else
				snprintf(want, sizeof want,
					 "%s: damaged: gzip member at byte %zu: "
					 "CRC-32 differs",
					 p, at);
			assert_string_equal(g.err.msg, want);
			got_free(&g);
			close(in.fd);
			free(b.p);
		}
}

/* --- small gzip files, of which threads inflate each by one --------------------------- */
enum { N_SMALL = 40, BAD = 29, LONG = 11 };

struct small {
	char path[32];
	int fd;
	uint64_t digest, bases;
};

/* A genome of one letter; the text of one is more than a thread holds. */
static void make_small(struct small *f, int i, bool damage)
{
	static char text[KH_FEED_AHEAD + 200];
	struct bytes b = { NULL, 0 };
	size_t n = (size_t)sprintf(text, ">%d\n", i);

	f->bases = i == LONG ? KH_FEED_AHEAD + 100 : test_rand() % 3000;
	memset(text + n, "ACGT"[i % 4], f->bases);
	n += f->bases;
	text[n++] = '\n';
	add_gz(&b, text, n);
	if (i == BAD && damage)
		b.p[b.n - 8] ^= 1;
	f->digest = XXH3_64bits(b.p, b.n);
	f->fd = bytes_file(f->path, b.p, b.n);
	free(b.p);
}

/* In order, each file with its digest, and the damage of one behind what is in front of it. */
static void check_small(unsigned threads, bool damage)
{
	const size_t whole = damage ? BAD : N_SMALL;
	struct small f[N_SMALL];
	const char *p[N_SMALL];
	struct got g;
	char want[200];

	for (int i = 0; i < N_SMALL; i++) {
		make_small(&f[i], i, damage);
		p[i] = f[i].path;
	}
	const kh_feed_options o = { .path = { p }, .n_path = { N_SMALL }, .pieces = true,
				    .block_size = 10000, .workers = threads, .threads = threads,
				    .digests = true };
	snprintf(want, sizeof want, "%s: damaged: gzip member at byte 0: CRC-32 differs", p[BAD]);
	if (!got_open(&g, &o, threads))
		g.rc = kh_threads_run(g.m, threads, got_work, &g, &g.err);
	assert_string_equal(g.rc ? g.err.msg : "", damage ? want : "");
	assert_in_range(g.n, damage ? 1 : N_SMALL, damage ? BAD + 1 : N_SMALL);
	for (size_t i = 0; i < g.n; i++) {
		assert_int_equal(atoi(g.rec[i].name), i);
		assert_true(g.rec[i].len == f[i].bases || (damage && i + 1 == g.n));
	}
	for (size_t i = 0; i < whole; i++) {
		uint64_t digest = 0;

		assert_true(kh_feed_digest(g.f, 0, i, &digest));
		assert_int_equal(digest, f[i].digest);
	}
	got_close(&g);
	got_free(&g);
	for (int i = 0; i < N_SMALL; i++)
		close(f[i].fd);
}

/* One of two files is inflated as a whole where there are threads for both. */
static void check_ahead(unsigned threads, int state)
{
	struct small f[2];
	const char *p[2] = { f[0].path, f[1].path };
	const kh_feed_options o = { .path = { p }, .n_path = { 2 }, .pieces = true,
				    .block_size = 2, .workers = threads, .threads = threads };
	kh_monitor *m;
	kh_block *b;

	for (int i = 0; i < 2; i++)
		make_small(&f[i], i, false);
	kh_feed *feed = open_feed(&o, &m);
	assert_int_equal(kh_feed_next(feed, &b, NULL), 1);
	assert_int_equal(feed->st[0].read.in->whole.state, state);
	close_feed(feed, m);
	close(f[0].fd);
	close(f[1].fd);
}

TEST(test_ahead)
{
	static const unsigned threads[] = { 1, 2, 5, 5 };

	check_ahead(1, FEED_NOT_WHOLE);
	check_ahead(2, FEED_THERE);
	for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
		check_small(threads[i], false);
		check_small(threads[i], true);
	}
}
