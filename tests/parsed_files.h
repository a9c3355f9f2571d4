/* parsed_files.h - four-line FASTQ that the device parses which inflates it: the same reads, in
 * the same order, and the same errors as without; for GPUs that are made up, and for one that is
 * there */
#ifndef KH_TEST_PARSED_FILES_H
#define KH_TEST_PARSED_FILES_H

#include "inflate_files.h"

#include "cuda/kernels/gpu.h"
#include "cuda/kernels/engine.h"
#include "feed_harness.h"

static bool names_wanted;

/* What a feed gives: the bases of each job, a line a record; mates behind one another, and then, if
 * that is wanted, the name of the fragment, its lengths, and its ambiguous k-mers. */
struct parsed_run {
	pthread_mutex_t lock;
	kh_feed *f;
	struct bytes *job;
	size_t n, n_there;              /* jobs; fragments that a device has parsed */
	kh_monitor *m;
};

static void add_words(struct bytes *to, const uint64_t *bases, const uint32_t *amb, uint64_t at,
		      uint64_t n)
{
	char *s = malloc(n + 1);

	for (uint64_t i = 0; i < n; i++)
		s[i] = kh_packed_amb(amb, at + i) ? 'N' : "ACGT"[kh_packed_base(bases, at + i)];
	s[n] = '\n';
	bytes_add(to, s, n + 1);
	free(s);
}

#ifdef KH_TEST_FAKE_GPU_H
#define COPY_BACK(to, p, n) memcpy(to, p, n)    /* a call that never fails */
#else
#define COPY_BACK(to, p, n) \
	assert_int_equal(cudaMemcpy(to, p, n, cudaMemcpyDeviceToHost), cudaSuccess)
#endif

static void *from_device(const void *p, size_t n)
{
	void *to = malloc(n + 1);

	COPY_BACK(to, p, n);
	return to;
}

enum { NAMES_K = 5 };

static void add_name(struct bytes *to, const char *id, size_t n, const uint64_t len[2],
		     uint32_t ambiguous)
{
	char s[100];
	const int more = snprintf(s, sizeof s, "\t%u|%u\t%u\n", (unsigned)len[0],
				  (unsigned)len[1], ambiguous);

	bytes_add(to, id, n);
	bytes_add(to, s, (size_t)more);
}

static void add_name_there(struct bytes *to, const kh_parsed_there *t, uint32_t i)
{
	const kh_parsed_fragment *f = &t->fragment[i];

	add_name(to, t->names + f->name, f->n_name, (uint64_t[]) { f->len[0], f->len[1] },
		 f->ambiguous);
}

static void add_name_here(struct bytes *to, const kh_block *b[2], const kh_record *r[2])
{
	uint64_t len[2] = { 0, 0 };
	uint32_t ambiguous = 0;

	for (int k = 0; k < 2 && r[k]; k++) {
		len[k] = r[k]->len;
		ambiguous += kh_ambiguous_kmers(b[k]->amb + r[k]->seq / 32, len[k], NAMES_K);
	}
	add_name(to, b[0]->text + r[0]->name, r[0]->id_len, len, ambiguous);
}

static void add_there(struct bytes *to, const kh_parsed_there *t)
{
	const uint32_t each = t->mates ? 2 : 1;
	uint64_t *bases = from_device(t->bases, (t->n_words + 1) * 8ul);
	uint32_t *amb = from_device(t->amb, (t->n_words + 1) * 4ul), words = 0;
	kh_gpu_record *r = from_device(t->record, each * t->n * sizeof *r);

	for (uint32_t i = 0; i < each * t->n; i++) {
		const uint32_t last = r[i].word + (r[i].len + 31) / 32 - 1;

		assert_int_equal(r[i].word, words);
		add_words(to, bases, amb, r[i].word * 32ull, r[i].len);
		words += (r[i].len + 31) / 32;
		if (r[i].len % 32)
			assert_true(amb[last] >> r[i].len % 32 == UINT32_MAX >> r[i].len % 32);
		if (i % each == 0)
			assert_int_equal(t->len[i / each],
					 r[i].len + (each > 1 ? r[i + 1].len : 0));
		if (names_wanted && i % each == each - 1)
			add_name_there(to, t, i / each);
	}
	assert_int_equal(words, t->n_words);
	free(bases);
	free(amb);
	free(r);
}

static void add_job(struct parsed_run *x, const kh_job *j)
{
	struct bytes b = { NULL, 0 };

	if (j->there)
		add_there(&b, j->there);
	for (size_t i = 0; i < j->n && !j->there; i++) {
		const kh_block *bl[2];
		const kh_record *r[2];

		kh_job_records(j, i, bl, r);
		for (int k = 0; k < 2 && r[k]; k++)
			add_words(&b, bl[k]->bases, bl[k]->amb, r[k]->seq, r[k]->len);
		if (names_wanted)
			add_name_here(&b, bl, r);
	}
	pthread_mutex_lock(&x->lock);
	if (j->ticket >= x->n) {
		x->job = realloc(x->job, (j->ticket + 1) * sizeof *x->job);
		memset(x->job + x->n, 0, (j->ticket + 1 - x->n) * sizeof *x->job);
		x->n = j->ticket + 1;
	}
	assert_null(x->job[j->ticket].p);
	x->job[j->ticket] = b;
	x->n_there += j->there ? j->n : 0;
	pthread_mutex_unlock(&x->lock);
	kh_feed_release_job(x->f, j);
}

static int parsed_worker(void *arg, unsigned worker, kh_err *err)
{
	struct parsed_run *x = arg;
	kh_block *b;
	kh_jobs jobs;
	kh_job j;
	int rc;

	while ((rc = kh_feed_parsed(x->f, NAMES_K, worker > 0, &j, err)) > 0)
		if (rc == 1)
			add_job(x, &j);
	while (!rc && (rc = kh_feed_next(x->f, &b, err)) > 0) {
		rc = kh_feed_commit(x->f, b, &jobs, err);
		for (size_t i = 0; i < jobs.n; i++)
			add_job(x, &jobs.job[i]);
		if (!rc)
			kh_feed_release(x->f, b);
	}
	return rc;
}

struct parsed_got {
	struct bytes text;
	size_t n_there;
	int rc;
	kh_err err;
};

static struct parsed_got parsed_text(const kh_feed_options *o)
{
	struct parsed_run x = { .n = 0 };
	struct parsed_got g = { .rc = 0, .err = { 0, "" } };

	/* small files, too */
	setenv("KH_GZ_TOGETHER", "1", 1);
	pthread_mutex_init(&x.lock, NULL);
	assert_int_equal(kh_monitor_new(&x.m, &g.err), 0);
	g.rc = kh_feed_open(&x.f, o, x.m, &g.err);
	if (!g.rc)
		g.rc = kh_threads_run(x.m, o->workers, parsed_worker, &x, &g.err);
	if (x.f)
		kh_feed_close(x.f);
	for (size_t i = 0; i < x.n; i++) {
		if (x.job[i].p)
			bytes_add(&g.text, x.job[i].p, x.job[i].n);
		free(x.job[i].p);
	}
	free(x.job);
	kh_monitor_free(x.m);
	g.n_there = x.n_there;
	return g;
}

static bool ambiguous_u;                /* as for a database of Kraken 2 */

/* Of a file, or two with mates. */
static struct parsed_got parsed_by(const struct bytes file[2], unsigned threads, bool device)
{
	char path[2][32];
	const char *name[2] = { path[0], path[1] };
	const int n = 1 + (file[1].n > 0);
	int fd[2];
	kh_feed_options o = { .path = { &name[0], &name[1] }, .n_path = { 1, file[1].n > 0 },
			      .text = names_wanted ? KH_FEED_NAMES : KH_FEED_BASES,
			      .workers = threads, .block_size = 9000, .mask.u = ambiguous_u,
			      .parse = true, .parse_plain = true };

	for (int i = 0; i < n; i++)
		fd[i] = bytes_file(path[i], file[i].p, file[i].n);
	if (device)
		o.inflate = (kh_inflate_by) { &kh_cuda_inflater, inflater };
	struct parsed_got g = parsed_text(&o);
	for (int i = 0; i < n; i++)
		close(fd[i]);
	return g;
}

/* Compares what a device parses, and the host without one; returns how many fragments were parsed
 * there.  Of what fails, only the error must be the same: how much of the rest was taken up before
 * depends on blocks. */
static size_t compare_parsed(const struct bytes file[2], unsigned threads)
{
	struct parsed_got a = parsed_by(file, 1, false), b = parsed_by(file, threads, true);

	assert_int_equal(a.rc, b.rc);
	assert_string_equal(a.err.msg, b.err.msg);
	if (!a.rc) {
		assert_int_equal(a.text.n, b.text.n);
		assert_memory_equal(a.text.p, b.text.p, a.text.n);
	}
	free(a.text.p);
	free(b.text.p);
	return b.n_there;
}

/* --- tests ------------------------------------------------------------------------------- */
enum { PARSED_READS = 4000 };

/* Reads, of lengths that differ between mates; `odd` stands in place of record number `at`. */
static struct bytes mates(int mate, unsigned n, const char *odd, unsigned at)
{
	struct bytes b = { NULL, 0 };
	char line[400];

	seed = (uint64_t)mate;
	for (unsigned i = 0; i < n; i++) {
		const int len = mate == 1 ? 100 : 40 + (int)dice(100);
		int k = snprintf(line, sizeof line, "@A00123:%u %d:N:0\n", i, mate);

		for (int c = 0; c < len; c++)
			line[k++] = "ACGTACGTACGTACGTNacgt"[dice(21)];
		k += snprintf(line + k, 4, "\n+\n");
		for (int c = 0; c < len; c++)
			line[k++] = mate == 1 ? 'F' : "F:,#FFFFFFFFF"[dice(13)];
		line[k++] = '\n';
		if (odd && i == at)
			bytes_add(&b, odd, strlen(odd));
		else
			bytes_add(&b, line, (size_t)k);
	}
	return b;
}

static const struct {
	const char *text;
	bool plain;
} odd_record[] = {
	{ "@A00123:700 1:N:0\nACGT\n+\nIIII\n", true },
	{ "@A00123:700 1:N:0\n\n+\n\n", true },
	{ "@A00123:700\nRYSWKMBDHVNX-*.ryswkn\n+\nIIIIIIIIIIIIIIIIIIIII\n", true },
	{ "@A00123:700 1:N:0\nACGT\n+A00123:700\nIIII\n", true },
	{ "@A00123:700 1:N:0\r\nACGT\r\n+\r\nIIII\r\n", false },
	{ "@A00123:700 1:N:0\nACGU\n+\nIIII\n", false },
	{ "\n@A00123:700 1:N:0\nACGT\n+\nIIII\n", false },
	{ "@A00123:700 1:N:0\nAC\nGT\n+\nII\nII\n", false },
	{ "@A00123:700 1:N:0\n+\n", false },
	{ "@A00123:700 2:N:0\nACGT\n+\nIIII\n", false },
	{ "@A00123:7x0 1:N:0\nACGT\n+\nIIII\n", false },
	{ "@A00123:700 1:N:0\nACGT\n+\nIII\n", false },
	{ "@A00123:700 1:N:0\nAC!T\n+\nIIII\n", false },
	{ ">A00123:700 1:N:0\nACGT\n", false },
	{ "\xef\xbb\xbf@A00123:700 1:N:0\nACGT\n+\nIIII\n", false },
	{ "", false },
};

static void add_text(struct bytes *to, const struct bytes *text, bool plain)
{
	if (plain)
		bytes_add(to, text->p, text->n);
	else
		add_gz(to, text->p, text->n);
}

/* Pairs, and single reads, with an odd record in the first file; some files are not compressed. */
TEST(odd_records)
{
	for (size_t i = 0; i < sizeof odd_record / sizeof *odd_record; i++)
		for (int which = 0; which < 3; which++) {
			const unsigned at = which ? 700 : 0;
			struct bytes text[2] = { mates(1, PARSED_READS, odd_record[i].text, at),
						 mates(2, PARSED_READS, NULL, 0) };
			struct bytes file[2] = { { NULL, 0 }, { NULL, 0 } };

			ambiguous_u = which == (int)(i % 2);
			two_devices = i / 2 % 2 && kh_gpu_count(NULL) > 1;
			names_wanted = (i + (size_t)which) % 3 > 0;
			add_text(&file[0], &text[0], (i + (size_t)which) % 4 == 3);
			if (which < 2)
				add_text(&file[1], &text[1], i % 4 == 2);
			open_inflater(i % 2 ? 40000 : 70000);
			const size_t n = compare_parsed(file, 1 + i % 3);
			kh_cuda_inflater_close(inflater);
			/* single, names may be any */
			ambiguous_u = two_devices = names_wanted = false;
			const bool name = strncmp(odd_record[i].text, "@A00123:700 1", 13) != 0;
			if (which == 1 || (which == 2 && !name))
				assert_int_equal(n, odd_record[i].plain ? PARSED_READS : 700);
			for (int k = 0; k < 2; k++) {
				free(text[k].p);
				free(file[k].p);
			}
		}
}

/* Members, BGZF, files that end too soon, or in a record, or have no end; one mate's file shorter;
 * records that are longer than what is carried over. */
TEST(parsed_ends)
{
	struct bytes text[2] = { mates(1, PARSED_READS, NULL, 0), mates(2, PARSED_READS, NULL, 0) };
	char *large = malloc(200000);

	for (int kind = 0; kind < 16; kind++) {
		struct bytes file[2] = { { NULL, 0 }, { NULL, 0 } };
		const int how = kind % 8;
		const size_t n = how == 2 ? text[0].n - 1 : how == 3 ? text[0].n - 120 : text[0].n;

		if (how == 1)
			add_pieces(&file[0], &text[0], 30000);
		else if (kind > 8 && (how == 2 || how == 3))
			bytes_add(&file[0], text[0].p, n);
		else
			add_gz(&file[0], text[0].p, how == 4 ? text[0].n / 2 : n);
		if (how == 5)
			file[0].n -= 6;
		if (how == 6)
			file[0].p[file[0].n / 2] ^= 16;
		add_bgzf(&file[1], text[1].p, text[1].n, 20000);
		if (how != 7)
			add_bgzf_eof(&file[1]);
		two_devices = kind >= 8 && kh_gpu_count(NULL) > 1;
		names_wanted = kind % 3 == 1;
		open_inflater(30000);
		assert_true(compare_parsed(file, 3) > PARSED_READS / 4);
		kh_cuda_inflater_close(inflater);
		free(file[0].p);
		free(file[1].p);
	}
	two_devices = names_wanted = false;
	memset(large, 'x', 200000);
	memcpy(large, "@A00123:700 ", 12);
	strcpy(large + 199980, "\nACGT\n+\nIIII\n");
	for (int i = 0; i < 2; i++)
		free(text[i].p);
	text[0] = mates(1, PARSED_READS, large, 700);
	struct bytes file[2] = { { NULL, 0 }, { NULL, 0 } };
	add_gz(&file[0], text[0].p, text[0].n);
	open_inflater(30000);
	assert_true(compare_parsed(file, 2) > 0);
	kh_cuda_inflater_close(inflater);
	free(file[0].p);
	free(text[0].p);
	free(large);
}

/* More than a buffer's, a task's and a window's. */
TEST(parsed_many)
{
	struct bytes once = mates(1, 20000, NULL, 0), text = { NULL, 0 };
	struct bytes file[2] = { { NULL, 0 }, { NULL, 0 } };

	while (text.n <= KH_PARSER_WINDOW)
		bytes_add(&text, once.p, once.n);
	add_member(&file[0], text.p, text.n, &(struct how) { 1, 0, .memory = 8 });
	for (int plain = 0; plain < 2; plain++) {
		open_inflater(16 << 20);
		assert_int_equal(compare_parsed(file, 2), 20000 * (text.n / once.n));
		kh_cuda_inflater_close(inflater);
		free(file[0].p);
		file[0] = text;
	}
	free(once.p);
}

/* Names that a buffer has no room for, and one that is too long. */
TEST(parsed_names)
{
	enum { SHORT_READS = 200000 };
	struct bytes text = { NULL, 0 }, file[2] = { { NULL, 0 }, { NULL, 0 } };
	char line[2 * KH_PARSER_NAME];

	names_wanted = true;
	for (unsigned i = 0; i < SHORT_READS; i++) {
		const int n = snprintf(line, sizeof line, "@%0*u/1 x\nACGNACG\n+\nIIIIIII\n",
				       i == SHORT_READS - 5 ? KH_PARSER_NAME : 90, i);

		bytes_add(&text, line, (size_t)n);
	}
	add_gz(&file[0], text.p, text.n);
	open_inflater(16 << 20);
	assert_int_equal(compare_parsed(file, 2), SHORT_READS - 5);
	kh_cuda_inflater_close(inflater);
	names_wanted = false;
	free(file[0].p);
	free(text.p);
}

#endif
