/*
 * test_pgzip.c - gzip streams inflated by several threads: the bytes and the errors of the
 * sequential reader, whatever the data, the compression, the threads and the places of the cuts
 */
#include "test.h"
#include "gz_together.h"

/* --- data ------------------------------------------------------------------------- */
enum data { FASTQ, RANDOM, ZEROS, MIXED, N_DATA };

/* A record at p, of at most 400 bytes. */
static size_t put_record(char *p)
{
	const int len = 50 + (int)(test_rand() % 100);
	int k = sprintf(p, "@A00123:45:HXXXXX:1:%u:%u 1:N:0:ACGT\n", (unsigned)(test_rand() % 3000),
			(unsigned)(test_rand() % 30000));

	for (int i = 0; i < len; i++)
		p[k++] = "ACGT"[test_rand() % 4];
	k += sprintf(p + k, "\n+\n");
	for (int i = 0; i < len; i++)
		p[k++] = "FFFFFFFF:,#5"[test_rand() % 12];
	p[k++] = '\n';
	return (size_t)k;
}

static struct bytes make_data(enum data kind, size_t n)
{
	struct bytes b = { calloc(n + 400, 1), n };

	for (size_t i = 0; i < n && kind == FASTQ;)
		i += put_record((char *)b.p + i);
	for (size_t i = 0; i < n && (kind == RANDOM || kind == MIXED); i++) {
		size_t stretch = i / 3000 % 3;

		b.p[i] = kind == RANDOM || stretch == 0 ? (unsigned char)test_rand()
			 : stretch == 1			? (unsigned char)(i / 7)
							: "ab"[test_rand() % 2];
	}
	return b;
}

/* --- compression ------------------------------------------------------------------ */
static struct how random_how(void)
{
	static const int level[] = { 0, 1, 6, 9 };
	static const int strategy[] = { Z_DEFAULT_STRATEGY, Z_DEFAULT_STRATEGY, Z_DEFAULT_STRATEGY,
					Z_FIXED, Z_HUFFMAN_ONLY, Z_RLE };
	static const int flush[] = { Z_NO_FLUSH, Z_SYNC_FLUSH, Z_FULL_FLUSH, Z_BLOCK };

	return (struct how) {
		.level = level[test_rand() % 4], .strategy = strategy[test_rand() % 6],
		.window = test_rand() % 2 ? 15 : 9 + (int)(test_rand() % 7),
		.memory = test_rand() % 2 ? 8 : 1 + (int)(test_rand() % 9),
		.flush = flush[test_rand() % 4],
		.flush_every = test_rand() % 3 ? 0 : 100 + test_rand() % 20000,
		.dressed = test_rand() % 2,
	};
}

/* --- reading ------------------------------------------------------------------------- */
static size_t pick(const size_t *v, size_t n) { return v[test_rand() % n]; }

/* For a file of n bytes: not more than some hundred chunks. */
static kh_together random_together(size_t n)
{
	static const size_t chunk[] = { 1, 7, 100, 1000, 4096, 30000 },
			    ahead[] = { 1, 50, 1000, 20000 },
			    text[] = { 400, 1000, 10000, 1000000 },
			    part[] = { 1000, 5000, 100000 };

	return (kh_together) { .threads = 1 + (unsigned)(test_rand() % 8),
			       .part = pick(part, 3), .chunk = pick(chunk, 6) + n / 300,
			       .ahead = pick(ahead, 4), .text = pick(text, 4) };
}

/* A damaged stream gives the same error, but in front of it ISA-L may give bytes that nobody has
 * compressed: copied from before the first one.  zlib does not. */
static void assert_same(const struct together_text *a, const struct together_text *b,
			const kh_together *w, bool exact)
{
	exact |= b->rc == 0;
	if (a->rc != b->rc || strcmp(a->err.msg, b->err.msg) || (exact && a->text.n != b->text.n))
		fail_msg("%zu bytes, %d %s\nsequentially %zu bytes, %d %s\n"
			 "%u threads, part %zu, chunk %zu, ahead %zu, text %zu",
			 a->text.n, a->rc, a->err.msg, b->text.n, b->rc, b->err.msg, w->threads,
			 w->part, w->chunk, w->ahead, w->text);
	if (a->text.n && exact)
		assert_memory_equal(a->text.p, b->text.p, a->text.n);
}

/* --- every kind ------------------------------------------------------------------- */
TEST(test_kinds)
{
	size_t all_parts = 0;

	for (int i = 0; i < 300; i++) {
		struct bytes gz = { NULL, 0 }, text = { NULL, 0 };
		size_t members = test_rand() % 3 ? 1 : 1 + test_rand() % 8, parts = 0;
		char path[32];

		for (size_t m = 0; m < members; m++) {
			const struct how h = random_how();
			struct bytes d = make_data((enum data)(test_rand() % N_DATA),
						   test_rand() % (test_rand() % 2 ? 200000 : 3000));

			add_member(&gz, d.p, d.n, &h);
			bytes_add(&text, d.p, d.n);
			free(d.p);
		}
		int fd = bytes_file(path, gz.p, gz.n);
		const kh_together w = random_together(gz.n);
		struct together_text o = read_together(path, &w, &parts);
		const struct together_text want = { text, 0, { 0, "" } };
		if (!o.rc)
			o.err.msg[0] = 0;
		assert_same(&o, &want, &w, true);
		all_parts += parts;
		free(o.text.p);
		free(text.p);
		free(gz.p);
		close(fd);
	}
	assert_true(all_parts > 2500);
}

/* Large enough for the sizes of chunks that are used in earnest. */
TEST(test_large)
{
	struct bytes gz = { NULL, 0 }, d = make_data(FASTQ, 12000000);
		size_t parts;
	char path[32];

	add_gz(&gz, d.p, d.n);
	int fd = bytes_file(path, gz.p, gz.n);
	for (unsigned threads = 1; threads <= 8; threads *= 2) {
		const kh_together w = { .threads = threads, .part = 1 << 20 };
		struct together_text o = read_together(path, &w, &parts);

		assert_int_equal(o.rc, 0);
		assert_int_equal(o.text.n, d.n);
		assert_memory_equal(o.text.p, d.p, d.n);
		assert_true(parts >= 12);
		free(o.text.p);
	}
	close(fd);
	free(gz.p);
	free(d.p);
}

/* --- damage ------------------------------------------------------------------------ */
/* Two members of many small blocks, and a third that is small. */
static struct bytes make_small(void)
{
	struct bytes gz = { NULL, 0 }, d = make_data(FASTQ, 5000);
	const struct how h = { 6, 0, 1, .window = 10 }, full = { 9, 0, 2, .dressed = true };

	add_member(&gz, d.p, 2500, &h);
	add_member(&gz, d.p + 2500, 2400, &full);
	add_member(&gz, d.p + 4900, 100, &h);
	free(d.p);
	return gz;
}

static void compare(const struct bytes *b, size_t n)
{
	const kh_together alone = { .part = 1 << 16 };
	char path[32];
	int fd = bytes_file(path, b->p, n);
	for (int i = 0; i < 2; i++) {
		static const size_t chunk[] = { 50, 200, 700 }, ahead[] = { 300, 1000 };
		const kh_together w = { .threads = 1 + (unsigned)(test_rand() % 8),
					.part = 500, .chunk = pick(chunk, 3),
					.ahead = pick(ahead, 2), .text = 4000 };
		const bool zlib = i % 2;

		setenv("KH_GZ", zlib ? "zlib" : "", 1);
		struct together_text want = read_together(path, &alone, NULL);
		struct together_text o = read_together(path, &w, NULL);
		assert_same(&o, &want, &w, zlib);
		free(want.text.p);
		free(o.text.p);
	}
	close(fd);
}

TEST(test_every_cut)
{
	struct bytes b = make_small();

	for (size_t n = 0; n < b.n; n++)
		compare(&b, n);
	free(b.p);
}

TEST(test_every_byte)
{
	struct bytes b = make_small();

	for (size_t i = 0; i < b.n; i++) {
		const unsigned char was = b.p[i];

		b.p[i] ^= (unsigned char)(1u << test_rand() % 8);
		compare(&b, b.n);
		b.p[i] = was ^ 0xff;
		compare(&b, b.n);
		b.p[i] = was;
	}
	free(b.p);
}

TEST(test_what_follows)
{
	static const struct { const char *p; size_t n; } tail[] = {
		{ "\0\0\0\0", 4 }, { "\0\0x", 3 }, { "garbage", 7 }, { "\x1f", 1 },
		{ "\x1f\x8b", 2 }, { "\x1f\x8b\x08\0\0", 5 },
		{ "\x1f\x8b\x09\0\0\0\0\0\0\0\0\0\0", 13 },
		{ "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10 },
	};

	for (size_t i = 0; i < sizeof tail / sizeof *tail; i++) {
		struct bytes b = make_small();

		bytes_add(&b, tail[i].p, tail[i].n);
		for (int k = 0; k < 10; k++)
			compare(&b, b.n);
		free(b.p);
	}
}

/* A BGZF block among plain members: only the sequential reader knows its rules. */
TEST(test_bgzf_follows)
{
	struct bytes b = make_small();

	add_bgzf(&b, "some text", 9, 9);
	for (int k = 0; k < 10; k++)
		compare(&b, b.n);
	add_bgzf_eof(&b);
	add_gz(&b, "more", 4);
	for (int k = 0; k < 10; k++)
		compare(&b, b.n);
	free(b.p);
}

/* --- a pipe --------------------------------------------------------------------------- */
struct writer {
	int fd;
	const struct bytes *b;
};

static void *write_slowly(void *arg)
{
	const struct writer *w = arg;

	for (size_t i = 0, n; i < w->b->n; i += n) {
		n = 1 + test_rand() % 3000;
		n = n < w->b->n - i ? n : w->b->n - i;
		if (write(w->fd, w->b->p + i, n) != (ssize_t)n)
			break;
	}
	close(w->fd);
	return NULL;
}

TEST(test_pipe)
{
	struct bytes gz = { NULL, 0 }, d = make_data(FASTQ, 500000);
	const struct how h = { 6, 0, .memory = 5 };
	size_t parts;

	add_member(&gz, d.p, d.n / 2, &h);
	add_member(&gz, d.p + d.n / 2, d.n - d.n / 2, &h);
	for (int i = 0; i < 10; i++) {
		char path[32];
		int fd[2];
		pthread_t t;

		assert_int_equal(pipe(fd), 0);
		struct writer w = { fd[1], &gz };
		pthread_create(&t, NULL, write_slowly, &w);
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd[0]);
		const kh_together with = { .threads = 4, .part = 10000, .chunk = 5000,
					   .ahead = 5000 };
		struct together_text o = read_together(path, &with, &parts);
		assert_int_equal(o.rc, 0);
		assert_int_equal(o.text.n, d.n);
		assert_memory_equal(o.text.p, d.p, d.n);
		assert_true(parts >= 50);
		pthread_join(t, NULL);
		close(fd[0]);
		free(o.text.p);
	}
	free(gz.p);
	free(d.p);
}
