/* host.c - limits of the host, and files in and out: stages of every device */
#include <config.h>
#include "tests/bench/program/bench_in.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"

static const kh_bench_limit none;

/* --- files ------------------------------------------------------------------------ */
int kh_bench_files_open(kh_bench_files *f, kh_err *err)
{
	f->fd = kh_array(f->n, sizeof *f->fd, err);
	f->size = kh_array(f->n, sizeof *f->size, err);
	if (!f->fd || !f->size)
		return KH_ENOMEM;
	for (size_t i = 0; i < f->n; i++)
		f->fd[i] = -1;
	for (size_t i = 0; i < f->n; i++) {
		struct stat st;

		f->fd[i] = open(f->path[i], O_RDONLY | O_CLOEXEC);
		if (f->fd[i] < 0 || fstat(f->fd[i], &st) != 0)
			return kh_fail_errno(err, f->path[i]);
		if (!S_ISREG(st.st_mode))
			return kh_fail(err, KH_EUSAGE,
				       "%s: what is read often must be an ordinary file",
				       f->path[i]);
		f->size[i] = (uint64_t)st.st_size;
		f->steps += (f->size[i] + KH_BENCH_STEP - 1) / KH_BENCH_STEP;
		f->bytes += (double)st.st_size;
	}
	return KH_OK;
}

void kh_bench_files_close(kh_bench_files *f)
{
	for (size_t i = 0; f->fd && i < f->n; i++)
		if (f->fd[i] >= 0)
			close(f->fd[i]);
	free(f->fd);
	free(f->size);
}

int kh_bench_file(const kh_bench *b, kh_err *err)
{
	char *name = NULL;
	int fd;

	if (asprintf(&name, "%s/file", b->folder) < 0)
		return kh_fail_nomem(err);
	fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		kh_fail_errno(err, name);
	else
		unlink(name);
	free(name);
	return fd < 0 ? KH_EIO : fd;
}

/* --- memory ----------------------------------------------------------------------- */
static int copy_worker(void *arg, unsigned worker, kh_err *err)
{
	kh_bench *b = arg;
	char *to = kh_array(1, KH_BENCH_STEP, err);
	volatile char *keep = to;

	(void)worker;
	if (!to)
		return KH_ENOMEM;
	for (uint64_t i; kh_bench_take(b, &i);) {
		memcpy(to, b->room + i % (KH_BENCH_ROOM / KH_BENCH_STEP) * KH_BENCH_STEP,
		       KH_BENCH_STEP);
		keep[0]++;
	}
	free(to);
	return KH_OK;
}

static int copy(void *arg, kh_bench_pass *p, kh_err *err)
{
	return kh_bench_threads(arg, p, KH_BENCH_ROOM / KH_BENCH_STEP, copy_worker, arg, err);
}

int kh_bench_memory(kh_bench *b, kh_err *err)
{
	const kh_bench_stage s = {
		"limit: memcpy", &kh_unit_gb, (double)KH_BENCH_ROOM, none, copy, b, false
	};

	b->memory.of = "memcpy";
	return kh_bench_measure(b, &s, &b->memory.rate, err);
}

/* Reads blocks of 64 bytes as a look-up reads buckets: with prefetches ahead. */
struct random {
	kh_bench *b;
	const char *p;
	uint64_t blocks;
	_Atomic uint64_t sum;
};
enum { AHEAD = 32, RANDOM_ITEM = 1 << 14, RANDOM_ITEMS = 64 };

static int random_worker(void *arg, unsigned worker, kh_err *err)
{
	struct random *r = arg;
	uint64_t sum = 0;

	(void)worker, (void)err;
	for (uint64_t i; kh_bench_take(r->b, &i);)
		for (uint64_t j = 0; j < RANDOM_ITEM; j += AHEAD) {
			const char *at[AHEAD];

			for (uint64_t x = 0; x < AHEAD; x++) {
				uint64_t h = kh_fmix64(i * RANDOM_ITEM + j + x + 1) >> 32;

				at[x] = r->p + (h * r->blocks >> 32) * 64;
				__builtin_prefetch(at[x]);
			}
			for (uint64_t x = 0; x < AHEAD; x++)
				sum += *(const uint64_t *)(const void *)at[x];
		}
	r->sum += sum;
	return KH_OK;
}

static int random_reads(void *arg, kh_bench_pass *p, kh_err *err)
{
	struct random *r = arg;

	return kh_bench_threads(r->b, p, RANDOM_ITEMS, random_worker, r, err);
}

int kh_bench_random(kh_bench *b, const void *p, uint64_t bytes, kh_err *err)
{
	struct random r = { b, p, bytes / 64, 0 };
	const kh_bench_unit unit = { "G/s", 1e-9 };
	const kh_bench_stage s = { "limit: random 64 bytes",
				   &unit,
				   (double)RANDOM_ITEM * RANDOM_ITEMS,
				   none,
				   random_reads,
				   &r,
				   false };

	b->random.of = "random 64 bytes";
	return kh_bench_measure(b, &s, &b->random.rate, err);
}

/* --- reading ---------------------------------------------------------------------- */
struct reading {
	kh_bench *b;
	const kh_bench_files *f;
	kh_feed *feed;
	size_t block_size;
};

static int read_worker(void *arg, unsigned worker, kh_err *err)
{
	const struct reading *x = arg;
	char *to = kh_array(1, KH_BENCH_STEP, err);
	int rc = to ? KH_OK : KH_ENOMEM;

	(void)worker;
	for (uint64_t i; !rc && kh_bench_take(x->b, &i);) {
		size_t f = 0;

		i %= x->f->steps;
		for (; i >= (x->f->size[f] + KH_BENCH_STEP - 1) / KH_BENCH_STEP; f++)
			i -= (x->f->size[f] + KH_BENCH_STEP - 1) / KH_BENCH_STEP;
		if (pread(x->f->fd[f], to, KH_BENCH_STEP, (off_t)(i * KH_BENCH_STEP)) < 0)
			rc = kh_fail_errno(err, x->f->path[f]);
	}
	free(to);
	return rc;
}

static int read_files(void *arg, kh_bench_pass *p, kh_err *err)
{
	const struct reading *x = arg;

	return kh_bench_threads(x->b, p, x->f->steps, read_worker, arg, err);
}

int kh_bench_read(kh_bench *b, kh_bench_files *f, kh_err *err)
{
	struct reading x = { b, f, NULL, 0 };
	const kh_bench_stage s = { f->reads ? "classify: read" : "build: read",
				   &kh_unit_gb,
				   f->bytes,
				   b->memory,
				   read_files,
				   &x,
				   false };

	f->read.of = "read";
	return kh_bench_measure(b, &s, &f->read.rate, err);
}

static int parse_worker(void *arg, unsigned worker, kh_err *err)
{
	struct reading *x = arg;
	kh_block *blk;
	kh_jobs jobs;
	int rc;

	(void)worker;
	while ((rc = kh_feed_next(x->feed, &blk, err)) == 1) {
		rc = kh_feed_commit(x->feed, blk, &jobs, err);
		for (size_t i = 0; i < jobs.n; i++)
			kh_feed_release_job(x->feed, &jobs.job[i]);
		kh_feed_release(x->feed, blk);
		if (rc)
			break;
	}
	return rc;
}

/* Parses all files, p->loops times, as one input. */
static int parse(void *arg, kh_bench_pass *p, kh_err *err)
{
	struct reading *x = arg;
	const size_t n = x->f->n * p->loops;
	const char **path = kh_array(n, sizeof *path, err);
	kh_feed_options fo = { .path = { path }, .n_path = { n }, .pieces = !x->f->reads,
			       .block_size = x->block_size, .workers = p->threads,
			       .threads = p->threads,
			       .text = KH_FEED_BASES,   /* as for a report */
			       .front = x->f->reads ? 0 : 4128 };
	kh_monitor *m = NULL;
	int rc = path ? kh_monitor_new(&m, err) : KH_ENOMEM;
	double t;

	for (size_t i = 0; i < n && !rc; i++)
		path[i] = x->f->path[i % x->f->n];
	if (!rc)
		rc = kh_feed_open(&x->feed, &fo, m, err);
	t = kh_seconds();
	if (!rc)
		rc = kh_threads_run(m, p->threads, parse_worker, x, err);
	p->seconds = kh_seconds() - t;
	kh_feed_close(x->feed);
	x->feed = NULL;
	kh_monitor_free(m);
	free(path);
	return rc;
}

int kh_bench_parse(kh_bench *b, const kh_bench_files *f, size_t block_size, kh_err *err)
{
	struct reading x = { b, f, NULL, block_size };
	const kh_bench_stage s = { f->reads ? "classify: read, parse, pack"
					    : "build: read, parse, pack",
				   &kh_unit_gb,
				   f->bytes,
				   f->read,
				   parse,
				   &x,
				   false };

	return kh_bench_measure(b, &s, NULL, err);
}

/* --- writing ---------------------------------------------------------------------- */
/* The limit of the machine: one new file by plain writes, with fsync. */
static int write_file(void *arg, kh_bench_pass *p, kh_err *err)
{
	const kh_bench *b = arg;
	int fd = kh_bench_file(b, err), rc = fd < 0 ? fd : KH_OK;
	double t = kh_seconds();

	for (uint64_t at = 0; at < KH_BENCH_FILE && !rc;) {
		ssize_t n = write(fd, b->room + at, KH_BENCH_STEP);

		if (n < 0 && errno != EINTR)
			rc = kh_fail_errno(err, b->o->dir);
		at += n > 0 ? (uint64_t)n : 0;
	}
	if (!rc && fsync(fd) != 0)
		rc = kh_fail_errno(err, b->o->dir);
	p->seconds = kh_seconds() - t;
	if (fd >= 0)
		close(fd);
	return rc;
}

int kh_bench_one_file(kh_bench *b, kh_err *err)
{
	const kh_bench_stage s = { "limit: one file, durable",
				   &kh_unit_gb,
				   (double)KH_BENCH_FILE,
				   none,
				   write_file,
				   b,
				   true };

	b->write.of = "one file";
	return kh_bench_measure(b, &s, &b->write.rate, err);
}

struct index_file {
	kh_bench *b;
	const char *p;
	size_t bytes, times;
	kh_db_writer *w;
};

static int append(void *arg, kh_err *err)
{
	struct index_file *x = arg;
	int rc = KH_OK;

	for (size_t i = 0; i < x->times && !rc; i++)
		rc = kh_db_append(x->w, x->p, x->bytes, err);
	return rc;
}

static int write_index(void *arg, kh_bench_pass *p, kh_err *err)
{
	struct index_file *x = arg;
	kh_db_header *h = kh_array(1, sizeof *h, err);
	char *path = NULL;
	double t = kh_seconds();
	int rc = h ? KH_OK : KH_ENOMEM;

	if (!rc && asprintf(&path, "%s/khdb", x->b->folder) < 0) {
		path = NULL;
		rc = kh_fail_nomem(err);
	}
	if (!rc && !(rc = kh_db_create(&x->w, path, err)) &&
	    !(rc = kh_db_begin(x->w, KH_SEC_INDEX, err)) &&
	    !(rc = kh_db_with_helper(x->w, append, x, err)))
		rc = kh_db_commit(x->w, h, err);
	p->seconds = kh_seconds() - t;
	kh_db_abandon(x->w);
	x->w = NULL;
	if (!rc)
		unlink(path);
	free(path);
	free(h);
	return rc;
}

int kh_bench_write_index(kh_bench *b, const void *p, size_t bytes, kh_err *err)
{
	struct index_file x = { b, p, bytes, (size_t)(KH_BENCH_FILE / bytes) + 1, NULL };
	const kh_bench_stage s = { "build: write", &kh_unit_gb, (double)x.times * (double)bytes,
				   b->write, write_index, &x, true };

	return kh_bench_measure(b, &s, NULL, err);
}
