/*
 * test_slices.c - blocks read slice by slice beside blocks read as a whole: the same records, jobs
 * and messages
 */
#include "test.h"
#include "feed_inputs.h"
#include "seqio/feed_in.h"

enum { TEXT = 40000 };

struct reading {
	struct got g;
	bool always;            /* every block is tried in slices */
	size_t blocks, sliced;
};

static void count_block(struct got *g, const kh_block *b)
{
	struct reading *x = (struct reading *)g;

	x->blocks++;
	x->sliced += ((struct feed_block *)b->priv)->sliced;
	if (!x->always)
		return;
	/* Blocks may be under way in slices when another one turns out not to be fit for that. */
	pthread_mutex_lock(&g->f->lock);
	for (unsigned s = 0; s < g->f->n_streams; s++)
		g->f->st[s].whole = g->f->st[s].long_records = false;
	pthread_mutex_unlock(&g->f->lock);
}

static struct reading read_all(const kh_feed_options *o, unsigned threads, enum kh_feed_text text)
{
	struct reading x = { .always = test_rand() % 2 };
	kh_feed_options with = *o;

	with.text = text;
	assert_int_equal(got_open(&x.g, &with, threads), 0);
	x.g.seen = count_block;
	x.g.rc = kh_threads_run(x.g.m, threads, got_work, &x.g, &x.g.err);
	got_close(&x.g);
	assert_int_equal(x.g.n_bad, 0);
	return x;
}

/* --- texts ------------------------------------------------------------------------ */
struct style {
	unsigned odd;           /* one in so many records is; 0: none */
	unsigned longest;
	bool fasta, same_length;
	bool runs;              /* of short records that do not look like any at a boundary */
	bool nested;            /* odd ones have qualities that look like records */
};

static char *put_letters(char *s, const char *from, size_t n, const char *end)
{
	const size_t kinds = strlen(from), line = test_rand() % 4 ? n : n / 2 + 1;
	const bool several = !strcmp(end, "*");

	for (size_t i = 0; i < n; i++) {
		*s++ = from[test_rand() % kinds];
		if (several && i % line == line - 1 && i + 1 < n)
			*s++ = '\n';
	}
	return s + sprintf(s, "%s", several ? "\n" : end);
}

static char *put_nested(char *s, unsigned name, size_t n)
{
	s += sprintf(s, "@r%u\n", name);
	s = put_letters(s, "ACGT", 15 * n, "\n");       /* several lines of qualities go with */
	s = put_letters(s, "ACGT", n, "\n");            /* several of bases */
	s += sprintf(s, "+\n");
	while (n-- > 0)
		s += sprintf(s, "@qq\nACGTAC\n+\nIIIIII\n");
	return s;
}

static char *put_record(char *s, const struct style *y, unsigned name, size_t n)
{
	static const char qualities[] = "@>+!FFFFFFFF~";
	const bool is_odd = y->odd && test_rand() % y->odd == 0;
	const unsigned odd = is_odd ? (unsigned)test_rand() % 6 : 9;

	if (is_odd && y->nested && !y->fasta)
		return put_nested(s, name, test_rand() % 4 ? 6 : y->longest / 16);
	const char *end = odd == 0 ? "\r\n" : odd == 1 ? "*" : "\n", *const begin = s;

	if (odd == 2)
		s += sprintf(s, "%s", test_rand() % 2 ? "\n" : " \n\n");
	if (odd == 3)
		n = y->longest;
	s += sprintf(s, "%c%s%u%s\n", y->fasta ? '>' : '@', odd == 4 ? "a\tb " : "r", name,
		     test_rand() % 3 ? "" : " words");
	if (y->fasta)
		return put_letters(s, "ACGTNacgt", n, test_rand() % 2 ? "*" : end);
	s = put_letters(s, "ACGTACGTACGTN", n, end);
	s += sprintf(s, "+\n");
	s = put_letters(s, qualities, n, end);
	if (odd == 5 && test_rand() % 4 == 0) {
		const ptrdiff_t back = (ptrdiff_t)(test_rand() % 60) + 1;

		s[back <= s - begin ? -back : -1] = (char)test_rand();
	}
	return s;
}

/* Mates of the same seed have the same names. */
static size_t make_text(char *s, const struct style *y, uint64_t names, size_t records)
{
	char *p = s;

	for (size_t i = 0; i < records && p - s < TEXT; i++) {
		const unsigned name = (unsigned)(kh_fmix64(names + i) % 100000);

		if (y->runs && !y->fasta && i / 8 % 2)
			p += sprintf(p, "@r%u\nAC\nGT\n+\n@F+>\n", name);
		else
			p = put_record(p, y, name, y->same_length ? 75 : test_rand() % 150);
	}
	return (size_t)(p - s);
}

/* --- tests ------------------------------------------------------------------------ */
static size_t n_sliced, n_blocks, n_failed;

static void same_records(const struct got *whole, const struct got *x)
{
	assert_int_equal(whole->n_frag, x->n_frag);
	assert_int_equal(whole->n, x->n);
	for (size_t i = 0; i < x->n; i++) {
		const struct got_record *a = &whole->rec[i], *b = &x->rec[i];

		assert_string_equal(a->seq, b->seq);
		assert_int_equal(a->name_len, b->name_len);
		assert_int_equal(a->id_len, b->id_len);
		assert_int_equal(a->fastq, b->fastq);
		assert_int_equal(a->fastq ? a->text_len : 0, b->fastq ? b->text_len : 0);
		if (x->o.text == KH_FEED_NAMES)
			assert_memory_equal(a->name, b->name, a->name_len);
	}
}

static void same_outcome(const kh_feed_options *o)
{
	struct reading whole = read_all(o, 1, KH_FEED_ALL);

	for (unsigned i = 0; i < 4; i++) {
		struct reading x =
			read_all(o, 1 + i / 2 * 2, i % 2 ? KH_FEED_NAMES : KH_FEED_BASES);

		assert_int_equal(whole.g.rc, x.g.rc);
		assert_string_equal(whole.g.err.msg, x.g.err.msg);
		if (!x.g.rc)
			same_records(&whole.g, &x.g);
		n_sliced += x.sliced;
		n_blocks += x.blocks;
		n_failed += x.g.rc != 0;
		got_free(&x.g);
	}
	assert_int_equal(whole.sliced, 0);
	got_free(&whole.g);
}

static struct style random_style(void)
{
	static const unsigned odd[] = { 0, 0, 300, 40, 5 };

	return (struct style) { .odd = odd[test_rand() % 5], .fasta = test_rand() % 4 == 0,
				.longest = test_rand() % 2 ? 900 : 9000,
				.same_length = test_rand() % 2, .runs = test_rand() % 4 == 0,
				.nested = test_rand() % 4 == 0 };
}

static void one_text(char *s)
{
	const struct style y = random_style();
	const size_t cut = test_rand() % 8 ? 0 : test_rand() % 100;
	size_t n = make_text(s, &y, test_rand(), test_rand() % 400);

	n -= cut < n ? cut : 0;
	if (test_rand() % 8 == 0) {             /* mostly FASTA and FASTQ in one file */
		const struct style other = { .fasta = !y.fasta };

		n += make_text(s + n, &other, test_rand(), 100);
	}
	struct input in = make_input(RANGES, s, n);
	const char *path = in.path;
	const kh_feed_options o = { .path = { &path }, .n_path = { 1 },
				    .block_size = 2000 + test_rand() % 14000, .workers = 3 };
	same_outcome(&o);
	close(in.fd);
}

static void two_texts(char *s[2])
{
	struct style y = random_style();
	const uint64_t names = test_rand();
	const size_t records = test_rand() % 300;
	struct input in[2];
	const char *path[2];

	y.odd = y.odd == 5 ? 40 : y.odd;
	for (int k = 0; k < 2; k++) {
		const size_t fewer = records > 0 && test_rand() % 6 == 0;
		const uint64_t other = test_rand() % 10 == 0;   /* all names differ */

		in[k] = make_input(RANGES, s[k],
				   make_text(s[k], &y, names + other, records - fewer));
		path[k] = in[k].path;
	}
	const kh_feed_options o = { .path = { &path[0], &path[1] }, .n_path = { 1, 1 },
				    .block_size = 2000 + test_rand() % 10000, .workers = 4,
				    .no_mate_check = test_rand() % 8 == 0 };
	same_outcome(&o);
	close(in[0].fd);
	close(in[1].fd);
}

TEST(test_texts)
{
	static char text[2][4 * TEXT], *s[2] = { text[0], text[1] };

	for (int i = 0; i < 400; i++)
		one_text(s[0]);
	printf("# %zu of %zu blocks in slices, %zu failed\n", n_sliced, n_blocks, n_failed);
	assert_true(n_sliced > n_blocks / 4 && n_sliced < n_blocks && n_failed > 20);
	n_sliced = n_blocks = n_failed = 0;
	for (int i = 0; i < 400; i++)
		two_texts(s);
	printf("# %zu of %zu blocks in slices, %zu failed\n", n_sliced, n_blocks, n_failed);
	assert_true(n_sliced > n_blocks / 4 && n_sliced < n_blocks && n_failed > 20);
}

/* A file is cut off behind its first block, which was parsed.  Of mates a name of that block is
 * wanted then; else nothing of the next block, in which the file ends now, is taken. */
static void cut(size_t files, off_t left)
{
	const struct style y = { .same_length = true };
	static char s[2][2 * TEXT];
	struct input in[2];
	const char *path[2];
	kh_monitor *m = NULL;
	kh_block *b;
	kh_jobs jobs;
	kh_err err = { 0, "" };
	char want[200];

	for (size_t k = 0; k < files; k++) {
		in[k] = make_input(RANGES, s[k], make_text(s[k], &y, 1 + (uint64_t)k, 300));
		path[k] = in[k].path;
	}
	const kh_feed_options o = { .path = { &path[0], &path[1] }, .n_path = { 1, files - 1 },
				    .block_size = 8000, .workers = 2, .text = KH_FEED_BASES };
	kh_feed *f = open_feed(&o, &m);
	for (int k = 0; k < 2; k++) {
		if (k == 1)
			assert_int_equal(ftruncate(in[0].fd, left), 0);
		assert_int_equal(kh_feed_next(f, &b, &err), 1);
		assert_true(files == 1 || ((struct feed_block *)b->priv)->sliced);
		assert_int_equal(kh_feed_commit(f, b, &jobs, &err), k ? KH_EIO : 0);
		assert_true(k == 1 || ((struct feed_block *)b->priv)->sliced);
		if (k == 0 && files == 1)
			kh_feed_release_job(f, &jobs.job[0]);
		if (k == 1 && files == 1)
			assert_int_equal(b->n_rec, 0);
		kh_feed_release(f, b);
	}
	snprintf(want, sizeof want, "%s: became shorter while it was read: %d of", path[0],
		 (int)left);
	assert_non_null(strstr(err.msg, want));
	close_feed(f, m);
	for (size_t k = 0; k < files; k++)
		close(in[k].fd);
}

TEST(test_cut)
{
	cut(2, 5000);
	cut(1, 13000);
}
