/*
 * test_feed.c - the feed against the reference: every kind of input, cut anywhere, by
 * any number of threads; several files
 */
#include "test.h"
#include "feed_inputs.h"
#include "reader_compare.h"
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "seqio/feed_in.h"

static void assert_alike(const struct got *g, const struct ref *r, const char *path)
{
	const char *why = compare(g, r, path);

	if (why)
		fail_msg("block size %zu, %s: %s", g->o.block_size,
			 g->o.pieces ? "pieces" : "records", why);
}

/* --- the corpus ------------------------------------------------------------------ */
struct text {
	const char *name, *message;
	const char *s;
	size_t n;
	struct ref ref;
};

/* When all of it has been read: the digest of a file that is not plain is right. */
static void check_digest(const struct got *g, enum kind kind, int fd)
{
	struct stat st;
	uint64_t digest = 0;
	const bool known = kh_feed_digest(g->f, 0, 0, &digest);

	assert_int_equal(fstat(fd, &st), 0);
	if (kind != RANGES)
		assert_int_equal(known, kind != PIPE && st.st_size > 0);
	if (!known)
		return;
	char *p = malloc((size_t)st.st_size);
	assert_int_equal(pread(fd, p, (size_t)st.st_size, 0), st.st_size);
	assert_int_equal(digest, XXH3_64bits(p, (size_t)st.st_size));
	free(p);
}

static void run_text(const struct text *t, enum kind kind, kh_feed_options o, unsigned threads)
{
	struct input in = make_input(kind, t->s, t->n);
	const char *path = in.path;
	struct got g;
	char want[400];

	o.path[0] = &path;
	o.n_path[0] = 1;
	o.digests = true;
	if (!got_open(&g, &o, threads))
		g.rc = kh_threads_run(g.m, threads, got_work, &g, &g.err);
	if (!g.rc)
		check_digest(&g, kind, in.fd);
	got_close(&g);
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

static void one_case(const struct ref_case *c)
{
	struct text t = { .name = c->name, .message = c->message, .s = c->text, .n = c->n };

	ref_parse(&t.ref, t.s, t.n);
	one_text(&t);
	ref_free(&t.ref);
}

TEST(test_corpus) { assert_true(ref_corpus(test_srcdir(), one_case) > 70); }

/* --- made-up text ---------------------------------------------------------------- */
static size_t made_fasta(char *s, size_t room)
{
	size_t n = 0, width = test_rand() % 80 + 1;

	for (int i = 0; n + 9000 < room; i++) {
		n += (size_t)sprintf(s + n, ">seq%d %.*s\n", i, (int)(test_rand() % 20),
				     "a longer description");
		n += put_lines(s + n,
			       test_rand() % 3 ? test_rand() % 300 : test_rand() % 4000,
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

TEST(test_made)
{
	enum { ROOM = 60000 };
	static char s[ROOM];

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
}

/* One record of 3 MB in blocks of 1000 bytes: the cost must not be quadratic. */
TEST(test_long_record)
{
	enum { LEN = 3000000 };
	static char s[3 * LEN];

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
}

/* Records of FASTA of all lengths, whose texts nobody wants: of those that span blocks, the header
 * lines are there, and of all, names and bases. */
TEST(test_names_only)
{
	enum { BLOCK = 1 << 14 };
	static const size_t len[] = { 0, 1, 31, 32, 33, 63, 64, 65, 1000, 20000, 300000, 1500000 };
	enum { LENGTHS = sizeof len / sizeof *len };
	static char s[4000000];
	struct ref ref;
	size_t n = 0;

	for (size_t i = 0; i < 2 * LENGTHS; i++) {
		n += (size_t)sprintf(s + n, ">seq%zu a name\n", i);
		n += put_lines(s + n, len[i % LENGTHS], 61 + i, "ACGTN");
	}
	ref_parse(&ref, s, n);
	for (unsigned threads = 1; threads <= 4; threads++) {
		struct input in = make_input(threads % 2 ? RANGES : BGZF, s, n);
		const char *p = in.path;
		const kh_feed_options o = { .path = { &p, NULL }, .n_path = { 1, 0 },
					    .block_size = BLOCK + test_rand() % BLOCK,
					    .text = KH_FEED_NAMES };
		struct got g;

		got_run(&g, &o, threads);
		assert_int_equal(g.rc, 0);
		assert_int_equal(g.n_bad, 0);
		assert_int_equal(g.n, ref.n_rec);
		for (size_t i = 0; i < g.n; i++) {
			const struct got_record *a = &g.rec[i];
			const struct ref_record *b = &ref.rec[i];

			assert_int_equal(a->len, b->len);
			assert_memory_equal(a->seq, b->seq, b->len);
			assert_int_equal(a->name_len, b->name_len);
			assert_memory_equal(a->name, b->name, b->name_len);
			assert_true(a->text_len > b->name_len && a->text_len <= b->text_len);
			if (a->len > 2 * BLOCK)
				assert_int_equal(a->text_len, b->name_len + 1);
		}
		got_free(&g);
		close(in.fd);
	}
	ref_free(&ref);
}

/* A header line of 10 MB. */
TEST(test_long_header)
{
	enum { LEN = 10000000 };
	static char s[LEN + 100];
	struct text t = { .name = "", .message = "", .s = s };

	for (int pieces = 0; pieces < 2; pieces++) {
		kh_feed_options o = { .block_size = 5000, .pieces = pieces };

		t.n = (size_t)sprintf(s, ">a\nACGT\n>");
		memset(s + t.n, 'x', LEN);
		t.n += LEN;
		t.n += (size_t)sprintf(s + t.n, "\nACGT\n>c\nGG\n");
		ref_parse(&t.ref, t.s, t.n);
		run_text(&t, RANGES, o, 1);
		ref_free(&t.ref);
	}
}

/* --- several files --------------------------------------------------------------- */
TEST(test_files)
{
	static const char *const text[] = {
		"@a\nAC\n+\nII\n@b\nACG\n+\nIII",
		"",
		">c\nAC",
		"\n",
		">d\n>e\nA\n",
		"@f\nA\n+\nI\n",
	};
	enum { N = sizeof text / sizeof *text };
	struct input in[N];
	const char *path[N];

	for (size_t b = 1; b < 80; b++) {
		struct got g;

		for (size_t i = 0; i < N; i++) {
			in[i] = make_input(b % 2 ? GZ : test_rand() % N_KINDS, text[i],
					   strlen(text[i]));
			path[i] = in[i].path;
		}
		kh_feed_options o = {
			.path = { path, NULL }, .n_path = { N, 0 }, .block_size = b,
			.threads = b % 4 < 2 ? 0 : 1 + b % 3,
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

TEST(test_progress)
{
	struct input in = make_input(RANGES, R("a"), strlen(R("a")));
	const char *p[2] = { in.path, in.path };
	kh_feed_options o = { .path = { p, NULL }, .n_path = { 2, 0 } };
	kh_monitor *m = NULL;
	kh_err err;
	kh_block *b;
	uint64_t done, total;

	kh_feed *f = open_feed(&o, &m);
	assert_int_equal(kh_feed_next(f, &b, &err), 1);
	kh_feed_progress(f, &done, &total);
	assert_int_equal(done, strlen(R("a")));
	assert_int_equal(total, 2 * strlen(R("a")));
	close_feed(f, m);
	close(in.fd);
}

/* Enough threads for each stream of gzip inflate it together, from its first byte on. */
TEST(test_together)
{
	enum { N = 3000 };
	static char s[N * 60];
	size_t n = 0;

	for (int i = 0; i < N; i++) {
		n += (size_t)sprintf(s + n, "@r%d\n", i);
		for (int k = 0; k < 20; k++)
			s[n++] = "ACGT"[test_rand() % 4];
		n += (size_t)sprintf(s + n, "\n+\nFFFFFFFFFFFFFFFFFFFF\n");
	}
	unsetenv("KH_GZ_TOGETHER");
	struct input in[2] = { make_input(GZ, s, n), make_input(GZ, s, n) };
	const char *path[2] = { in[0].path, in[1].path };
	for (unsigned threads = 1; threads <= 6; threads++)
		for (unsigned streams = 1; streams <= 2; streams++) {
			const kh_feed_options o = { .path = { &path[0], &path[1] },
						    .n_path = { 1, streams - 1 },
						    .block_size = 4000,
						    .workers = 6,
						    .threads = threads };
			kh_monitor *m;
			kh_block *b;

			kh_feed *f = open_feed(&o, &m);
			assert_int_equal(kh_feed_next(f, &b, NULL), 1);
			const struct feed_input *file = f->st[0].read.in;
			const bool together = kh_source_kind(file->src) == KH_SOURCE_GZIP;
			assert_int_equal(together, threads / streams >= 3);
			assert_int_equal(file->whole.state, FEED_NOT_WHOLE);
			close_feed(f, m);
		}
	close(in[0].fd);
	close(in[1].fd);
}

/* A block can be handed in before the one in front of it; its jobs come when that one is, too. */
TEST(test_put)
{
	char s[64 * sizeof R("a")] = "";
	struct input in;
	const char *path = in.path;
	kh_block *b[4], *none;
	kh_jobs jobs;
	kh_monitor *m;
	kh_err err;

	for (int i = 0; i < 60; i++)
		strcat(s, R("a"));
	in = make_input(RANGES, s, strlen(s));
	const kh_feed_options o = { .path = { &path }, .n_path = { 1 }, .workers = 1,
				    .block_size = strlen(s) / 4 };
	kh_feed *f = open_feed(&o, &m);
	for (int i = 0; i < 3; i++)
		assert_int_equal(kh_feed_try(f, &b[i], &err), 1);
	assert_int_equal(kh_feed_try(f, &none, &err), 0);       /* all are in use */
	assert_int_equal(kh_feed_put(f, b[2], &err), 0);
	assert_int_equal(kh_feed_put(f, b[1], &err), 0);
	assert_int_equal(kh_feed_put(f, b[0], &err), 1);
	for (int i = 2; i >= 0; i--) {
		assert_int_equal(kh_feed_jobs(f, b[i], &jobs, &err), 0);
		assert_int_equal(jobs.n, 1);
		assert_int_equal(jobs.job[0].first, i * 15);
		assert_int_equal(jobs.job[0].n, 15);
		kh_feed_release_job(f, &jobs.job[0]);
		kh_feed_release(f, b[i]);
	}
	assert_int_equal(kh_feed_try(f, &b[3], &err), 1);
	assert_int_equal(kh_feed_put(f, b[3], &err), 1);
	close_feed(f, m);
	close(in.fd);
}
