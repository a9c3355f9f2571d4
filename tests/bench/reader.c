/*
 * reader.c - how fast sequences are read, beside the usual way
 *
 * The usual way: one thread, a buffer of 16 KiB, memchr for the ends of lines, and name,
 * sequence and quality of each record copied into strings; over read(2) or zlib.
 * The feed does more: it checks every byte and packs the bases into 2 bits and a mask.
 *
 *	reader [-n million bases] [-t threads] [-d folder for the files]
 *
 * CPU seconds of the whole process; best of five; the files lie in memory if the folder
 * does.
 */
#include <config.h>
#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>
#include "../gz_make.h"
#include "seqio/feed.h"

enum { RUNS = 5, BUF = 1 << 14 };

/* --- the usual way --------------------------------------------------------------- */
struct text {
	char *s;
	size_t n, cap;
};

struct usual {
	int fd;
	gzFile gz;
	char buf[BUF];
	size_t pos, end;
	struct text name, comment, seq, qual;
	int last;               /* the mark of the record that follows, or 0 */
};

static int fill(struct usual *u)
{
	ssize_t n = u->gz ? gzread(u->gz, u->buf, BUF) : read(u->fd, u->buf, BUF);

	u->pos = 0;
	u->end = n > 0 ? (size_t)n : 0;
	return n > 0;
}

static int byte(struct usual *u)
{
	return u->pos < u->end || fill(u) ? u->buf[u->pos++] : -1;
}

/* Appends up to the end of the line. */
static int line(struct usual *u, struct text *t)
{
	for (;;) {
		if (u->pos == u->end && !fill(u))
			return -1;
		char *p = u->buf + u->pos, *nl = memchr(p, '\n', u->end - u->pos);
		size_t n = nl ? (size_t)(nl - p) : u->end - u->pos;
		if (t->n + n + 1 > t->cap) {
			t->cap = 2 * (t->n + n + 1);
			t->s = realloc(t->s, t->cap);
		}
		memcpy(t->s + t->n, p, n);
		t->n += n;
		t->s[t->n] = 0;
		u->pos += n + (nl != NULL);
		if (nl)
			return 0;
	}
}

static void put(struct text *t, int c)
{
	if (t->n + 2 > t->cap) {
		t->cap = 2 * (t->n + 2);
		t->s = realloc(t->s, t->cap);
	}
	t->s[t->n++] = (char)c;
	t->s[t->n] = 0;
}

static int record(struct usual *u)
{
	int c = u->last;

	while (!c && (c = byte(u)) != '>' && c != '@')
		if (c < 0)
			return 0;
	u->last = 0;
	u->name.n = u->comment.n = u->seq.n = u->qual.n = 0;
	while ((c = byte(u)) >= 0 && !isspace(c))
		put(&u->name, c);
	if (c >= 0 && c != '\n')
		line(u, &u->comment);
	while ((c = byte(u)) >= 0 && c != '>' && c != '@' && c != '+') {
		if (c == '\n')
			continue;
		put(&u->seq, c);
		line(u, &u->seq);
	}
	if (c == '>' || c == '@')
		u->last = c;
	if (c != '+')
		return 1;
	while ((c = byte(u)) >= 0 && c != '\n')
		;
	while (u->qual.n < u->seq.n && line(u, &u->qual) == 0)
		;
	return 1;
}

static size_t run_usual(const char *path, bool gz)
{
	struct usual *u = calloc(1, sizeof *u);
	size_t n = 0;

	u->fd = gz ? -1 : open(path, O_RDONLY);
	u->gz = gz ? gzopen(path, "rb") : NULL;
	if (u->gz)
		gzbuffer(u->gz, 1 << 17);
	while (record(u))
		n += u->seq.n;
	if (u->gz)
		gzclose(u->gz);
	else
		close(u->fd);
	free(u->name.s);
	free(u->comment.s);
	free(u->seq.s);
	free(u->qual.s);
	free(u);
	return n;
}

/* --- the feed -------------------------------------------------------------------- */
struct run {
	kh_feed *f;
	_Atomic size_t n_bases;
};

static int work(void *arg, unsigned worker, kh_err *err)
{
	struct run *r = arg;
	kh_block *b;
	kh_jobs jobs;
	size_t n = 0;
	int rc;

	(void)worker;
	while ((rc = kh_feed_next(r->f, &b, err)) > 0) {
		rc = kh_feed_commit(r->f, b, &jobs, err);
		if (rc)
			return rc;
		for (size_t i = 0; i < b->n_rec; i++)
			n += b->rec[i].len;
		for (size_t i = 0; i < jobs.n; i++)
			kh_feed_release_job(r->f, &jobs.job[i]);
		kh_feed_release(r->f, b);
	}
	r->n_bases += n;
	return rc;
}

static size_t run_feed(const char *path, bool pieces, unsigned threads)
{
	kh_feed_options o = {
		.path = { &path, NULL }, .n_path = { 1, 0 }, .pieces = pieces,
		.workers = threads, .threads = threads,
	};
	struct run r = { NULL, 0 };
	kh_monitor *m = NULL;
	kh_err err = { 0, "" };

	if (kh_monitor_new(&m, &err) || kh_feed_open(&r.f, &o, m, &err)
	    || kh_threads_run(m, threads, work, &r, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		exit(1);
	}
	kh_feed_close(r.f);
	kh_monitor_free(m);
	return r.n_bases;
}

/* --- files ----------------------------------------------------------------------- */
static uint64_t state = 1;

static unsigned random_bits(void)
{
	uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	return (unsigned)(z >> 32);
}

static size_t make_reads(char *s, size_t n_bases)
{
	size_t n = 0;

	for (size_t i = 0; i * 150 < n_bases; i++) {
		n += (size_t)sprintf(s + n,
				     "@A00123:45:HXXXXX:1:%u:%u:%zu 1:N:0:ACGTACGT\n",
				     random_bits() % 3000, random_bits() % 30000, i);
		for (int k = 0; k < 150; k++)
			s[n++] = random_bits() % 2000 ? "ACGT"[random_bits() % 4] : 'N';
		n += (size_t)sprintf(s + n, "\n+\n");
		for (int k = 0; k < 150; k++)
			s[n++] = "FFFFFFFFFFFF:::,#F"[random_bits() % 18];
		s[n++] = '\n';
	}
	return n;
}

static size_t make_genomes(char *s, size_t n_bases)
{
	size_t n = 0;

	for (size_t i = 0; i < n_bases; i++) {
		if (i % 6000000 == 0)
			n += (size_t)sprintf(s + n, ">contig%zu made up\n", i / 6000000);
		s[n++] = "ACGT"[random_bits() % 4];
		if (i % 60 == 59)
			s[n++] = '\n';
	}
	s[n++] = '\n';
	return n;
}

static void save(const char *path, const void *p, size_t n)
{
	FILE *f = fopen(path, "wb");

	if (!f || fwrite(p, 1, n, f) != n || fclose(f)) {
		perror(path);
		exit(1);
	}
}

/* --- timing ---------------------------------------------------------------------- */
static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum how { USUAL, USUAL_GZ, FEED, PIECES };

struct row {
	const char *what, *path, *library;
	enum how how;
	unsigned threads;
};

/* GB of text a CPU second; the best of some runs. */
static double measure(const struct row *r, size_t bytes, double *wall)
{
	double best = 1e9;

	*wall = 1e9;
	setenv("KH_GZ", r->library, 1);
	for (int i = 0; i < RUNS; i++) {
		double cpu = now(CLOCK_PROCESS_CPUTIME_ID), t = now(CLOCK_MONOTONIC);
		size_t n = r->how == USUAL || r->how == USUAL_GZ
				   ? run_usual(r->path, r->how == USUAL_GZ)
				   : run_feed(r->path, r->how == PIECES, r->threads);

		cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
		t = now(CLOCK_MONOTONIC) - t;
		if (n == 0)
			exit(1);
		best = cpu < best ? cpu : best;
		*wall = t < *wall ? t : *wall;
	}
	*wall = (double)bytes / 1e9 / *wall;
	return (double)bytes / 1e9 / best;
}

static void table(const struct row *r, size_t n, size_t bytes)
{
	double first = 0;

	for (size_t i = 0; i < n; i++) {
		double wall, rate = measure(&r[i], bytes, &wall);

		if (i == 0)
			first = rate;
		printf("%-34s %8u %10.2f %10.2f %8.2f\n", r[i].what, r[i].threads, rate,
		       wall, rate / first);
		fflush(stdout);
	}
	puts("");
}

enum { FQ, FA, GZ, BGZF, N_FILES };
static char path[N_FILES][200];

static void name_files(const char *dir)
{
	static const char *const name[N_FILES] = { "fq", "fa", "fq.gz", "bgzf.gz" };

	for (int i = 0; i < N_FILES; i++)
		snprintf(path[i], sizeof path[i], "%s/kh_bench.%s", dir, name[i]);
}

/* One stream of n bytes of text.  From three threads on it is inflated by all. */
static void bench_gzip(size_t n, unsigned threads)
{
	struct row row[16] = { { "gzip, usual over zlib", path[GZ], "", USUAL_GZ, 1 },
			       { "gzip, feed, zlib", path[GZ], "zlib", FEED, 1 },
			       { "gzip, feed, best library", path[GZ], "", FEED, 1 } };
	size_t n_rows = 3;

	for (unsigned t = 2; t < threads && n_rows < 15; t *= 2)
		row[n_rows++] = (struct row) { "gzip, feed", path[GZ], "", FEED, t };
	row[n_rows++] = (struct row) { "gzip, feed", path[GZ], "", FEED, threads };
	table(row, n_rows, n);
}

/* room: for the text of n_bases, in both formats. */
static void bench_fasta(char *room, size_t n_bases, unsigned threads)
{
	size_t n = make_genomes(room, n_bases);

	save(path[FA], room, n);
	table((struct row[]) { { "FASTA, usual", path[FA], "", USUAL, 1 },
			       { "FASTA, feed, pieces packed", path[FA], "", PIECES, 1 },
			       { "FASTA, feed, pieces packed", path[FA], "", PIECES,
				 threads } },
	      3, n);
}

static void bench_fastq(char *room, size_t n_bases, unsigned threads)
{
	size_t n = make_reads(room, n_bases);
	struct bytes b = { NULL, 0 };

	save(path[FQ], room, n);
	add_gz(&b, room, n);
	save(path[GZ], b.p, b.n);
	b.n = 0;
	add_bgzf(&b, room, n, 65280);
	add_bgzf_eof(&b);
	save(path[BGZF], b.p, b.n);
	free(b.p);
	table((struct row[]) { { "FASTQ, usual", path[FQ], "", USUAL, 1 },
			       { "FASTQ, feed, checked, packed", path[FQ], "", FEED, 1 },
			       { "FASTQ, feed, checked, packed", path[FQ], "", FEED,
				 threads } },
	      3, n);
	table((struct row[]) { { "BGZF, usual over zlib", path[BGZF], "", USUAL_GZ, 1 },
			       { "BGZF, feed, zlib", path[BGZF], "zlib", FEED, 1 },
			       { "BGZF, feed, best library", path[BGZF], "", FEED, 1 },
			       { "BGZF, feed, best library", path[BGZF], "", FEED,
				 threads } },
	      4, n);
	bench_gzip(n, threads);
}

int main(int argc, char **argv)
{
	size_t n_bases = 160000000;
	const char *dir = "/dev/shm";
	unsigned threads = 2;

	for (int c; (c = getopt(argc, argv, "n:t:d:")) != -1;)
		if (c == 'n')
			n_bases = 1000000 * strtoull(optarg, NULL, 10);
		else if (c == 't')
			threads = (unsigned)strtoul(optarg, NULL, 10);
		else if (c == 'd')
			dir = optarg;
		else
			return 2;
	char *room = malloc(3 * n_bases + 1000000);

	name_files(dir);
	printf("%-34s %8s %10s %10s %8s\n", "GB of text", "threads", "a CPU s",
	       "a wall s", "ratio");
	bench_fasta(room, n_bases, threads);
	bench_fastq(room, n_bases, threads);
	free(room);
	for (int i = 0; i < N_FILES; i++)
		remove(path[i]);
	return 0;
}
