/*
 * test_source.c - bytes from plain, gzip and BGZF files: the corpus with every library,
 * every cut, every flipped bit
 */
#include "test.h"
#include "gz_together.h"

static const char *const library[] = { "zlib", "" };
enum { N_LIBRARIES = sizeof library / sizeof *library };

/* --- corpus ---------------------------------------------------------------------- */
struct expected {
	char path[4096];
	unsigned long n, crc;
	char message[300];
};

static void one_file(const struct expected *e, bool runs, size_t step)
{
	struct together_text o = read_source(e->path, runs, step, SIZE_MAX);
	size_t n = strlen(e->path);

	if (e->message[0]) {
		assert_true(o.rc < 0);
		if (strncmp(o.err.msg, e->path, n)
		    || strncmp(o.err.msg + n, e->message, strlen(e->message)))
			fail_msg("%s\nexpected: %s", o.err.msg, e->message);
	} else {
		if (o.rc)
			fail_msg("%s", o.err.msg);
		assert_int_equal(o.text.n, e->n);
		assert_int_equal(
			crc32(0, o.text.n ? o.text.p : (void *)"", (unsigned)o.text.n),
			e->crc);
	}
	free(o.text.p);
}

TEST(test_corpus)
{
	char dir[2048], line[500], name[80];
	struct expected e;
	int n = 0;

	snprintf(dir, sizeof dir, "%s/tests/corpus/source", test_srcdir());
	snprintf(e.path, sizeof e.path, "%s/EXPECT", dir);
	FILE *list = fopen(e.path, "r");
	assert_non_null(list);
	for (; fgets(line, sizeof line, list); n++) {
		e.message[0] = 0;
		assert_true(sscanf(line, "%79[^\t]\t%lu\t%lx\t%299[^\n]", name, &e.n,
				   &e.crc, e.message)
			    >= 3);
		snprintf(e.path, sizeof e.path, "%s/%s", dir, name);
		for (int l = 0; l < N_LIBRARIES; l++) {
			setenv("KH_GZ", library[l], 1);
			for (size_t step = 1; step < 5000; step = step * 3 + 1) {
				one_file(&e, false, step);
				one_file(&e, true, step);
			}
		}
	}
	fclose(list);
	assert_true(n > 60);
}

/* --- every cut, every bit -------------------------------------------------------- */
static const char text[] = "@r1 some words\nACGTTGCATTGAC\n+\nIIIIFFFF#,:II\n"
			   "@r2 some words\nACGTAGCATTGAC\n+\nIIIIFFFF#::II\n";

static struct bytes make(int kind)
{
	struct bytes b = { NULL, 0 };

	if (kind == 0) {
		add_gz(&b, text, sizeof text - 1);
	} else if (kind == 1) {
		add_gz(&b, text, 40);
		add_gz(&b, text + 40, sizeof text - 1 - 40);
	} else {
		add_bgzf(&b, text, sizeof text - 1, kind == 2 ? 1000 : 50);
		add_bgzf_eof(&b);
	}
	return b;
}

TEST(test_every_cut)
{
	for (int kind = 0; kind < 4; kind++) {
		struct bytes b = make(kind);

		for (size_t n = 1; n < b.n; n++)
			for (int how = 0; how < 2 * N_LIBRARIES; how++) {
				char path[32];
				int fd = bytes_file(path, b.p, n);

				setenv("KH_GZ", library[how / 2], 1);
				struct together_text o = read_source(path, how % 2, 1000, SIZE_MAX);
				size_t gz1 = 0;
				if (kind == 1) {        /* whole after its first member */
					struct bytes one = { NULL, 0 };

					add_gz(&one, text, 40);
					gz1 = one.n;
					free(one.p);
				}
				assert_int_equal(o.rc, n == gz1 ? KH_OK : KH_EFORMAT);
				assert_true(o.text.n < sizeof text);
				if (o.text.n > 0)
					assert_memory_equal(o.text.p, text, o.text.n);
				free(o.text.p);
				close(fd);
			}
		free(b.p);
	}
}

/* A flipped bit is found, or in a place that does not matter (time, system, level). */
TEST(test_every_bit)
{
	for (int kind = 0; kind < 4; kind++) {
		struct bytes b = make(kind);

		for (size_t bit = 0; bit < 8 * b.n; bit++) {
			int verdict[2 * N_LIBRARIES];
			char path[32];

			b.p[bit / 8] ^= 1u << bit % 8;
			int fd = bytes_file(path, b.p, b.n);
			for (int how = 0; how < 2 * N_LIBRARIES; how++) {
				setenv("KH_GZ", library[how / 2], 1);
				struct together_text o = read_source(path, how % 2, 1000, SIZE_MAX);

				verdict[how] = o.rc;
				if (!o.rc && bit >= 16) {       /* else plain text now */
					assert_int_equal(o.text.n, sizeof text - 1);
					assert_memory_equal(o.text.p, text, o.text.n);
				}
				free(o.text.p);
				assert_int_equal(verdict[how], verdict[0]);
			}
			close(fd);
			b.p[bit / 8] ^= 1u << bit % 8;
		}
		free(b.p);
	}
}

/* --- the rest -------------------------------------------------------------------- */
TEST(test_large)
{
	enum { N = 3000000 };
	struct bytes b = { NULL, 0 };
	static char s[N];
	char path[32];

	for (size_t i = 0; i < N; i++)
		s[i] = "ACGT\nIF#"[test_rand() % 8];
	for (int kind = 0; kind < 2; kind++) {
		b.n = 0;
		if (kind) {
			add_bgzf(&b, s, N, 65280);
			add_bgzf_eof(&b);
		} else {
			add_gz(&b, s, N / 2);
			add_gz(&b, s + N / 2, N - N / 2);
		}
		int fd = bytes_file(path, b.p, b.n);
		for (int how = 0; how < 2 * N_LIBRARIES; how++) {
			setenv("KH_GZ", library[how / 2], 1);
			const size_t step = how % 3 ? 100000 : 1 << 20;
			struct together_text o = read_source(path, how % 2, step, SIZE_MAX);

			assert_int_equal(o.rc, 0);
			assert_int_equal(o.text.n, N);
			assert_memory_equal(o.text.p, s, N);
			free(o.text.p);
		}
		close(fd);
	}
	free(b.p);
}

TEST(test_no_eof)
{
	struct bytes b = { NULL, 0 };
	kh_source *s = NULL;
	kh_err err;
	char path[32], buf[200];

	add_bgzf(&b, text, sizeof text - 1, 1000);
	int fd = bytes_file(path, b.p, b.n);
	assert_int_equal(kh_source_open(&s, path, &err), 0);
	assert_int_equal(kh_source_kind(s), KH_SOURCE_BGZF);
	kh_source_allow_no_eof(s);
	assert_int_equal(kh_source_read(s, buf, sizeof buf, &err), sizeof text - 1);
	assert_int_equal(kh_source_read(s, buf, sizeof buf, &err), 0);
	assert_int_equal(kh_source_taken(s), b.n);
	kh_source_close(s);
	close(fd);
	free(b.p);
}
