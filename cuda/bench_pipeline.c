/*
 * bench_pipeline.c - kmerhash bench pipeline: each stage by itself
 *
 *	limits      memory, file, copies, random reads: what the machine does at best
 *	of a build  read, parse and pack, sample, sort, encode, write
 *	classify    load, look up, candidates and decision (both kernels), format
 */
#include <config.h>
#include "bench_in.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "backend_in.h"
#include "feed.h"
#include "format.h"
#include "gpu.h"
#include "kernels.h"
#include "mem.h"
#include "pipeline.h"
#include "refs.h"

enum { STEP = 1 << 20, MAX_REPEAT = 31 };
#define BIG ((size_t)1 << 28)

struct bench {
	const kh_bench_pipeline_options *o;
	FILE *out;
	cudaStream_t stream;
	cudaEvent_t from, to;
	kh_gpu_buf host, a, c, d;
	double rate[MAX_REPEAT];
	int n;
	double memory, file, copy, device, random;      /* limits, units a second */
	/* what host stages share */
	kh_monitor *m;
	kh_feed *feed;
	int *fd;
	uint64_t *size, total;
	uint64_t next;
	double lines;
	const kh_db *db;
	const kh_job *job;
	const kh_call *call;
};

/* --- the table ---------------------------------------------------------------------- */
static int by_rate(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

static void note(struct bench *b, double amount, double seconds)
{
	b->rate[b->n++] = amount / (seconds > 0 ? seconds : 1e-9);
}

/* The rates noted so far as one line; their median. */
static double line(struct bench *b, const char *stage, const char *unit, double scale,
		   double limit, const char *of)
{
	double median;

	qsort(b->rate, (size_t)b->n, sizeof *b->rate, by_rate);
	median = b->rate[b->n / 2];
	fprintf(b->out, "%-28s %9.2f %9.2f %9.2f  %-10s", stage, b->rate[0] * scale,
		median * scale, b->rate[b->n - 1] * scale, unit);
	if (limit > 0)
		fprintf(b->out, " %9.2f  %5.2f  %s", limit * scale, median / limit, of);
	fputc('\n', b->out);
	fflush(b->out);
	b->n = 0;
	return median;
}

static int start(struct bench *b, kh_err *err)
{
	return KH_GPU(cudaEventRecord(b->from, b->stream), err);
}

static int stop(struct bench *b, double amount, kh_err *err)
{
	float ms = 0;
	int rc = KH_GPU(cudaEventRecord(b->to, b->stream), err);

	if (!rc)
		rc = KH_GPU(cudaEventSynchronize(b->to), err);
	if (!rc)
		rc = KH_GPU(cudaEventElapsedTime(&ms, b->from, b->to), err);
	if (!rc)
		note(b, amount, ms * 1e-3);
	return rc;
}

/* --- host stages: all threads ------------------------------------------------------- */
static int crew(struct bench *b, kh_worker_fn *fn, double amount, kh_err *err)
{
	double t;
	int rc = kh_monitor_new(&b->m, err);

	b->next = 0;
	t = kh_seconds();
	if (!rc)
		rc = kh_crew_run(b->m, b->o->threads, fn, b, err);
	note(b, amount, kh_seconds() - t);
	kh_monitor_free(b->m);
	b->m = NULL;
	return rc;
}

static uint64_t take(struct bench *b)
{
	kh_monitor_lock(b->m);
	uint64_t i = b->next++;
	kh_monitor_unlock(b->m);
	return i;
}

static int copy_worker(void *arg, unsigned worker, kh_err *err)
{
	struct bench *b = arg;
	char *to = kh_array(1, STEP, err);
	volatile char *keep = to;

	(void)worker;
	if (!to)
		return KH_ENOMEM;
	for (uint64_t i; (i = take(b)) < 16 * BIG / STEP;) {
		memcpy(to, (char *)b->host.p + i % (BIG / STEP) * STEP, STEP);
		keep[0]++;
	}
	free(to);
	return KH_OK;
}

static int read_worker(void *arg, unsigned worker, kh_err *err)
{
	struct bench *b = arg;
	char *to = kh_array(1, STEP, err);
	int rc = to ? KH_OK : KH_ENOMEM;

	(void)worker;
	for (uint64_t i; !rc && (i = take(b)) < b->total;) {
		size_t f = 0;

		for (; i >= (b->size[f] + STEP - 1) / STEP; f++)
			i -= (b->size[f] + STEP - 1) / STEP;
		if (pread(b->fd[f], to, STEP, (off_t)(i * STEP)) < 0)
			rc = kh_fail_errno(err, b->o->refs[f]);
	}
	free(to);
	return rc;
}

static int parse_worker(void *arg, unsigned worker, kh_err *err)
{
	struct bench *b = arg;
	kh_block *blk;
	int rc;

	(void)worker;
	while ((rc = kh_feed_next(b->feed, &blk, err)) == 1) {
		rc = kh_feed_settle(b->feed, blk, err);
		if (!rc)
			kh_feed_pass(b->feed, blk);
		kh_feed_release(b->feed, blk);
		if (rc)
			break;
	}
	return rc;
}

static int parse(struct bench *b, double bytes, kh_err *err)
{
	kh_feed_options fo = { .path = { b->o->refs },
			       .n_path = { b->o->n_refs },
			       .pieces = true,
			       .block_size = kh_backend_cuda.block_size,
			       .n_blocks = b->o->threads + 2,
			       .front = 4128 };
	int rc = kh_monitor_new(&b->m, err);
	double t;

	if (!rc)
		rc = kh_feed_open(&b->feed, &fo, b->m, err);
	t = kh_seconds();
	if (!rc)
		rc = kh_crew_run(b->m, b->o->threads, parse_worker, b, err);
	note(b, bytes, kh_seconds() - t);
	kh_feed_close(b->feed);
	kh_monitor_free(b->m);
	b->feed = NULL;
	b->m = NULL;
	return rc;
}

static int open_files(struct bench *b, double *bytes, kh_err *err)
{
	b->fd = kh_array(b->o->n_refs, sizeof *b->fd, err);
	b->size = kh_array(b->o->n_refs, sizeof *b->size, err);
	if (!b->fd || !b->size)
		return KH_ENOMEM;
	for (size_t i = 0; i < b->o->n_refs; i++)
		b->fd[i] = -1;
	for (size_t i = 0; i < b->o->n_refs; i++) {
		struct stat st;

		b->fd[i] = open(b->o->refs[i], O_RDONLY | O_CLOEXEC);
		if (b->fd[i] < 0 || fstat(b->fd[i], &st) != 0)
			return kh_fail_errno(err, b->o->refs[i]);
		b->size[i] = (uint64_t)st.st_size;
		b->total += (b->size[i] + STEP - 1) / STEP;
		*bytes += (double)st.st_size;
	}
	return KH_OK;
}

static int host_stages(struct bench *b, kh_err *err)
{
	double bytes = 0;
	int rc = open_files(b, &bytes, err);

	for (int i = 0; i < b->o->repeat && !rc; i++)
		rc = crew(b, copy_worker, 16.0 * (double)BIG, err);
	if (rc)
		return rc;
	b->memory = line(b, "limit: memcpy", "GB/s", 1e-9, 0, NULL);
	for (int i = 0; i < b->o->repeat && !rc; i++)
		rc = crew(b, read_worker, bytes, err);
	if (rc)
		return rc;
	b->file = line(b, "read", "GB/s", 1e-9, b->memory, "memcpy");
	for (int i = 0; i < b->o->repeat && !rc; i++)
		rc = parse(b, bytes, err);
	if (!rc)
		line(b, "read, parse, pack", "GB/s", 1e-9, b->file, "read");
	return rc;
}

/* --- device stages ------------------------------------------------------------------ */
static int copies(struct bench *b, kh_err *err)
{
	const size_t piece = 3 << 19;           /* a block's packed bases */
	int rc = KH_OK;

	for (int i = 0; i < b->o->repeat && !rc; i++)
		if (!(rc = start(b, err)) &&
		    !(rc = KH_GPU(cudaMemcpyAsync(b->a.p, b->host.p, BIG,
						  cudaMemcpyHostToDevice, b->stream),
				  err)))
			rc = stop(b, (double)BIG, err);
	if (rc)
		return rc;
	b->copy = line(b, "limit: copy to the GPU", "GB/s", 1e-9, 0, NULL);
	for (int i = 0; i < b->o->repeat && !rc; i++) {
		rc = start(b, err);
		for (size_t at = 0; at + piece <= BIG && !rc; at += piece)
			rc = KH_GPU(cudaMemcpyAsync((char *)b->a.p + at,
						    (char *)b->host.p + at, piece,
						    cudaMemcpyHostToDevice, b->stream),
				    err);
		if (!rc)
			rc = stop(b, (double)(BIG / piece * piece), err);
	}
	if (rc)
		return rc;
	line(b, "copy, by blocks", "GB/s", 1e-9, b->copy, "copy to the GPU");
	for (int i = 0; i < b->o->repeat && !rc; i++)
		if (!(rc = start(b, err)) &&
		    !(rc = KH_GPU(cudaMemcpyAsync(b->c.p, b->a.p, 8 * BIG,
						  cudaMemcpyDeviceToDevice, b->stream),
				  err)))
			rc = stop(b, 16.0 * (double)BIG, err);
	if (!rc)
		b->device =
			line(b, "limit: GPU memory, both ways", "GB/s", 1e-9, 0, NULL);
	return rc;
}

static int sample(struct bench *b, const char *name, const kh_sketch *sk, kh_err *err)
{
	const uint32_t words = 1 << 23;
	const double bases = 32.0 * words;
	kh_gpu_piece p = {
		0, (uint64_t)words * 32 - sk->k + 1, (uint64_t)words * 32, 0, 0, 0, 0
	};
	kh_gpu_sample s = { .sketch = *sk,
			    .bases = b->a.p,
			    .amb = (const uint32_t *)b->a.p + 4 * words,
			    .n_pieces = 1,
			    .n_words = words,
			    .n_windows = (p.starts + sk->stride - 1) / sk->stride,
			    .n_summed = (p.bases + sk->stride - 1) / sk->stride };
	char *out = b->c.p;
	uint64_t *r = b->host.p;
	int rc;

	for (uint32_t i = 0; i <= words; i++)
		r[i] = kh_fmix64(i + 1);
	memset(r + 2 * words, 0, 4 * (words + 1));
	memcpy((char *)b->host.p + 6 * ((size_t)words << 2), &p, sizeof p);
	s.piece = (const kh_gpu_piece *)((const char *)b->a.p + 6 * ((size_t)words << 2));
	s.key = (uint64_t *)out;
	s.bin = (uint32_t *)(out + 4 * BIG);
	s.count = (uint32_t *)(out + 6 * BIG);
	s.digest = (uint64_t *)(out + 6 * BIG) + 1;
	s.room = b->d.p;
	s.room_bytes = b->d.bytes;
	rc = KH_GPU(cudaMemcpyAsync(b->a.p, r, 7 * ((size_t)words << 2),
				    cudaMemcpyHostToDevice, b->stream),
		    err);
	for (int i = 0; i <= b->o->repeat && !rc; i++) {
		rc = start(b, err);
		if (!rc)
			rc = kh_gpu_check(kh_gpu_sample_run(&s, b->stream),
					  "sampling kernels", err);
		if (!rc)
			rc = stop(b, bases, err);
		if (i == 0)
			b->n = 0;       /* the first one loads the kernels */
	}
	if (!rc)
		line(b, name, "G bases/s", 1e-9, b->device / (0.375 * 3 + 12.0 / 7),
		     "GPU memory");
	return rc;
}

static int sort(struct bench *b, kh_err *err)
{
	const uint64_t n = BIG / 2;
	char *c = b->c.p;
	int rc = KH_OK;

	for (int i = 0; i <= b->o->repeat && !rc; i++) {
		kh_gpu_sort s = { (uint64_t *)c,
				  (uint64_t *)(c + 8 * n),
				  (uint32_t *)b->d.p,
				  (uint32_t *)b->d.p + n,
				  n,
				  KH_KEY_BITS,
				  NULL,
				  0 };

		/* the mixed words of sample(), as often as needed */
		for (uint64_t at = 0; at < 8 * n && !rc; at += BIG / 4)
			rc = KH_GPU(cudaMemcpyAsync(c + at, b->a.p, BIG / 4,
						    cudaMemcpyDeviceToDevice, b->stream),
				    err);
		if (!rc)
			rc = kh_gpu_check(kh_gpu_sort_run(&s, b->stream), "sort", err);
		s.room = (char *)b->d.p + 8 * n;
		s.room_bytes = b->d.bytes - 8 * n;
		if (!rc)
			rc = start(b, err);
		if (!rc)
			rc = kh_gpu_check(kh_gpu_sort_run(&s, b->stream), "sort", err);
		if (!rc)
			rc = stop(b, (double)n, err);
		if (i == 0)
			b->n = 0;
	}
	if (!rc)
		line(b, "sort by 48 bits", "G pairs/s", 1e-9, b->device / (6 * 24 + 8),
		     "GPU memory");
	return rc;
}

static int device_stages(struct bench *b, kh_err *err)
{
	static const kh_sketch syncmer = { KH_SYNCMER, 22, 16, 112 },
			       minhash = { KH_MINHASH, 16, 16, 112 };
	int rc = copies(b, err);

	if (!rc)
		rc = sample(b, "sample, syncmers", &syncmer, err);
	if (!rc)
		rc = sample(b, "sample, minhash", &minhash, err);
	return rc ? rc : sort(b, err);
}

/* --- a whole build, nothing written ------------------------------------------------- */
struct build_run {
	struct bench *b;
	kh_refs refs;
	kh_builder *builder;
	kh_pieces *pieces;
	double ready, bytes;
};

static int build_worker(void *arg, unsigned worker, kh_err *err)
{
	struct build_run *r = arg;
	kh_pieces *p = &r->pieces[worker];
	kh_block *blk;
	int rc;

	while ((rc = kh_feed_next(r->b->feed, &blk, err)) == 1) {
		rc = kh_feed_settle(r->b->feed, blk, err);
		if (!rc)
			rc = kh_refs_settle(&r->refs, blk, r->b->o->refs[blk->file], p,
					    err);
		if (!rc) {
			kh_sample s = { blk->ticket,  blk->bases, blk->amb,
					blk->n_words, p->v,       p->n };

			kh_feed_pass(r->b->feed, blk);
			rc = kh_cuda_builder_add(r->builder, worker, &s, err);
		}
		kh_feed_release(r->b->feed, blk);
		if (rc)
			break;
	}
	return rc;
}

static void is_ready(void *arg)
{
	struct build_run *r = arg;

	r->ready = kh_seconds();
}

static int take_image(void *arg, const kh_image *im, kh_err *err)
{
	struct build_run *r = arg;

	(void)err;
	r->bytes += (double)kh_range_bytes(&im->range);
	return KH_OK;
}

/* All references as targets of the root. */
static int finish(struct build_run *r, kh_err *err)
{
	const size_t n = r->refs.n;
	uint32_t *first = kh_array(n, 4, err), *taxon = kh_array(n, 4, err);
	uint32_t zero = 0, one = 1;
	kh_bins bins = { (uint32_t)n, first, taxon };
	kh_taxonomy tax = { .n = 1, .taxid = &one, .parent = &zero, .end = &one };
	kh_finish f = { &bins, &tax, NULL, take_image, r, is_ready };
	int rc = first && taxon ? KH_OK : KH_ENOMEM;

	for (size_t i = 0; i < n && !rc; i++)
		first[i] = r->refs.ref[i].first_bin;
	if (!rc)
		rc = kh_cuda_builder_finish(r->builder, &f, err);
	free(first);
	free(taxon);
	return rc;
}

static int build_once(struct bench *b, double *read, double *ready, double *out,
		      kh_cuda_times *t, kh_err *err)
{
	static const int device;
	struct build_run r = { .b = b };
	const kh_sketch sk = { KH_SYNCMER, 22, 16, 112 };
	kh_feed_options fo = { .path = { b->o->refs },
			       .n_path = { b->o->n_refs },
			       .pieces = true,
			       .block_size = kh_backend_cuda.block_size,
			       .n_blocks = b->o->threads + 2,
			       .front = kh_refs_front(&sk) };
	kh_builder_options bo = { .sketch = sk,
				  .threads = b->o->threads,
				  .block_size = kh_backend_cuda.block_size,
				  .tmp = "bench",
				  .device = &device,
				  .n_devices = 1 };
	double from, end = 0;
	int rc;

	r.pieces = kh_array(b->o->threads, sizeof *r.pieces, err);
	rc = r.pieces ? kh_refs_init(&r.refs, &sk, 10, err) : KH_ENOMEM;
	r.refs.allow_duplicates = true;
	if (!rc && !(rc = kh_monitor_new(&b->m, err)) &&
	    !(rc = kh_feed_open(&b->feed, &fo, b->m, err)))
		rc = kh_cuda_builder_open(&r.builder, &bo, err);
	from = kh_seconds();
	if (!rc)
		rc = kh_crew_run(b->m, b->o->threads, build_worker, &r, err);
	*read = kh_seconds() - from;
	if (!rc)
		rc = finish(&r, err);
	end = kh_seconds();
	*ready = r.ready - from;
	*out = r.bytes / (end - r.ready);
	if (!rc)
		*t = kh_cuda_builder_times(r.builder);
	kh_cuda_builder_close(r.builder);
	kh_feed_close(b->feed);
	kh_monitor_free(b->m);
	b->feed = NULL;
	b->m = NULL;
	kh_refs_clear(&r.refs);
	for (unsigned i = 0; r.pieces && i < b->o->threads; i++)
		free(r.pieces[i].v);
	free(r.pieces);
	return rc;
}

static int build_stages(struct bench *b, kh_err *err)
{
	double read[MAX_REPEAT], ready[MAX_REPEAT], out[MAX_REPEAT], bytes = 0;
	kh_cuda_times t[MAX_REPEAT];
	const int n = b->o->repeat;
	int rc = KH_OK;

	for (size_t i = 0; i < b->o->n_refs; i++)
		bytes += (double)b->size[i];
	for (int i = 0; i < n && !rc; i++)
		rc = build_once(b, &read[i], &ready[i], &out[i], &t[i], err);
	if (rc)
		return rc;
	for (int i = 0; i < n; i++)
		note(b, bytes, read[i]);
	line(b, "build: read to pairs", "GB/s", 1e-9, b->file, "read");
	for (int i = 0; i < n; i++)
		note(b, (double)t[i].pairs, t[i].gather);
	line(b, "build: gather by blocks", "G pairs/s", 1e-9, b->device / 24,
	     "GPU memory");
	for (int i = 0; i < n; i++)
		note(b, (double)t[i].pairs, t[i].sort);
	line(b, "build: sort", "G pairs/s", 1e-9, b->device / (6 * 24 + 8), "GPU memory");
	for (int i = 0; i < n; i++)
		note(b, (double)t[i].pairs, t[i].encode);
	line(b, "build: encode", "G pairs/s", 1e-9, b->device / (3 * 12 + 5),
	     "GPU memory");
	for (int i = 0; i < n; i++)
		note(b, bytes, ready[i]);
	line(b, "build: first byte to ready", "GB/s", 1e-9, b->file, "read");
	for (int i = 0; i < n; i++)
		note(b, out[i], 1);
	line(b, "build: index to the host", "GB/s", 1e-9, b->copy, "copy to the GPU");
	return rc;
}

/* --- classify ----------------------------------------------------------------------- */
static int format_worker(void *arg, unsigned worker, kh_err *err)
{
	struct bench *b = arg;
	kh_style style = { .tax = b->db->tax, .k = b->db->h->sketch.k };
	kh_buf buf = { NULL, 0, 0 };
	int rc = KH_OK;

	(void)worker;
	while (!rc && take(b) < 256) {
		buf.n = 0;
		for (size_t i = 0; i < b->job->n && !rc; i++)
			rc = kh_format_line(&buf, &style, b->job, i, &b->call[i], err);
	}
	b->lines = (double)buf.n;
	free(buf.p);
	return rc;
}

/* Reads of 150 bases, cut from the first references at multiples of 32. */
static int cut_reads(const kh_block *blk, kh_record **rec, size_t *n, kh_err *err)
{
	size_t cap = 0;
	int rc = KH_OK;

	*n = 0;
	for (size_t i = 0; i < blk->n_rec && !rc; i++)
		for (uint64_t at = 0; at + 150 <= blk->rec[i].len && !rc && *n < 200000;
		     at += 32) {
			rc = kh_grow((void **)rec, &cap, *n + 1, sizeof **rec, err);
			if (rc)
				break;
			(*rec)[*n] = blk->rec[i];
			(*rec)[*n].seq += at;
			(*rec)[(*n)++].len = 150;
		}
	if (!rc && *n == 0)
		rc = kh_fail(err, KH_EUSAGE,
			     "the references are too short to cut reads from");
	return rc;
}

static int look_ups(struct bench *b, const kh_gpu_index *ix, kh_err *err)
{
	const uint64_t n = BIG / 8, blocks = b->db->h->section[KH_SEC_INDEX].bytes / 64;
	uint64_t *key = b->host.p;
	int rc;

	for (uint64_t i = 0; i < n; i++)
		key[i] = kh_fmix64(i + 77) >> 16;
	rc = KH_GPU(
		cudaMemcpyAsync(b->a.p, key, n * 8, cudaMemcpyHostToDevice, b->stream),
		err);
	for (int i = 0; i <= b->o->repeat && !rc; i++) {
		rc = start(b, err);
		if (!rc)
			rc = kh_gpu_check(kh_gpu_random_reads(ix->image, blocks, n,
							      b->d.p, b->stream),
					  "reads", err);
		if (!rc)
			rc = stop(b, (double)n, err);
		if (i == 0)
			b->n = 0;
	}
	if (rc)
		return rc;
	b->random = line(b, "limit: random 64 bytes", "G/s", 1e-9, 0, NULL);
	for (int i = 0; i <= b->o->repeat && !rc; i++) {
		rc = start(b, err);
		if (!rc)
			rc = kh_gpu_check(kh_gpu_look_up(ix, b->a.p, n, NULL, b->stream),
					  "look-up kernel", err);
		if (!rc)
			rc = stop(b, (double)n, err);
		if (i == 0)
			b->n = 0;
	}
	if (!rc)
		line(b, "look up", "G keys/s", 1e-9, b->random, "random 64 bytes");
	return rc;
}

static int queries(struct bench *b, kh_lane *l, kh_task *t, kh_err *err)
{
	double s, features = 0;
	int rc = KH_OK;

	for (size_t i = 0; i < t->job->n; i++)
		features += t->call[i].features;
	features /= (double)t->job->n;
	for (int way = 0; way < 2 && !rc; way++) {
		for (int i = 0; i < b->o->repeat && !rc; i++) {
			rc = kh_cuda_query_time(l, t, way, &s, err);
			note(b, (double)t->job->n, s);
		}
		if (!rc)
			line(b,
			     way ? "the same, blocks, GPU memory"
				 : "sample to decision, warps",
			     "M reads/s", 1e-6, b->random / features, "random 64 bytes");
	}
	for (int i = 0; i < b->o->repeat && !rc; i++)
		rc = crew(b, format_worker, 256.0 * (double)t->job->n, err);
	if (!rc)
		line(b, "format", "M lines/s", 1e-6, 0, NULL);
	return rc;
}

static int with_lane(struct bench *b, kh_engine *e, const kh_block *blk, kh_err *err)
{
	kh_record *rec = NULL;
	kh_block view = *blk;
	kh_job job = { .block = { &view } };
	kh_task task = { .job = &job }, *t;
	kh_lane *l = NULL;
	int rc = cut_reads(blk, &rec, &job.n, err);

	view.rec = rec;
	task.call = rc ? NULL : kh_array(job.n, sizeof *task.call, err);
	if (!rc && !task.call)
		rc = KH_ENOMEM;
	if (!rc && !(rc = kh_cuda_lane_open(&l, e, 0, 0, err)) &&
	    !(rc = kh_cuda_submit(l, &task, err)) &&
	    !(rc = kh_cuda_collect(l, &t, err)) &&
	    !(rc = look_ups(b, kh_cuda_lane_index(l), err))) {
		b->job = &job;
		b->call = task.call;
		rc = queries(b, l, &task, err);
	}
	kh_cuda_lane_close(l);
	free(task.call);
	free(rec);
	return rc;
}

static int load(struct bench *b, kh_db **db, kh_engine **e, kh_err *err)
{
	static const int device;
	kh_db_options o = { .later = true, .threads = b->o->threads };
	kh_rule rule;
	double t = kh_seconds();
	int rc = kh_db_open(db, b->o->db, &o, err);

	if (rc)
		return rc;
	kh_rule_init(&rule, (*db)->h);
	rc = kh_cuda_engine_open(e, *db,
				 &(kh_engine_options) { .rule = &rule, .device = &device,
							.n_devices = 1, .lanes = 1 },
				 err);
	note(b, (double)(*db)->h->section[KH_SEC_INDEX].bytes, kh_seconds() - t);
	return rc;
}

static int query_stages(struct bench *b, kh_err *err)
{
	kh_feed_options fo = { .path = { b->o->refs }, .n_path = { 1 }, .n_blocks = 4 };
	kh_engine *e = NULL;
	kh_db *db = NULL;
	kh_block *blk;
	int rc = KH_OK;

	for (int i = 0; i < b->o->repeat && !rc; i++) {
		kh_cuda_engine_close(e);
		kh_db_close(db);
		e = NULL;
		db = NULL;
		rc = load(b, &db, &e, err);
	}
	if (!rc)
		line(b, "load, checked", "GB/s", 1e-9, b->copy, "copy to the GPU");
	b->db = db;
	if (!rc && !(rc = kh_monitor_new(&b->m, err)))
		rc = kh_feed_open(&b->feed, &fo, b->m, err);
	/* the first block that has a record: settled, and kept */
	while (!rc && (rc = kh_feed_next(b->feed, &blk, err)) == 1) {
		rc = kh_feed_settle(b->feed, blk, err);
		if (!rc && blk->n_rec > 0) {
			kh_monitor *m = b->m;

			rc = with_lane(b, e, blk, err);
			b->m = m;
			break;
		}
		if (!rc)
			kh_feed_pass(b->feed, blk);
	}
	kh_feed_close(b->feed);
	b->feed = NULL;
	kh_monitor_free(b->m);
	b->m = NULL;
	kh_cuda_engine_close(e);
	kh_db_close(db);
	return rc;
}

/* --- all ---------------------------------------------------------------------------- */
static int rooms(struct bench *b, kh_err *err)
{
	int rc = kh_gpu_use(0, err);

	if (rc ||
	    (rc = KH_GPU(cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking),
			 err)) ||
	    (rc = KH_GPU(cudaEventCreate(&b->from), err)) ||
	    (rc = KH_GPU(cudaEventCreate(&b->to), err)) ||
	    (rc = kh_gpu_host_room(&b->host, BIG + 4096, err)))
		return rc;
	memset(b->host.p, 1, BIG);
	return rc;
}

static int device_rooms(struct bench *b, kh_err *err)
{
	int rc;

	if ((rc = kh_gpu_room_exact(&b->a, 8 * BIG, err)) ||
	    (rc = kh_gpu_room_exact(&b->c, 8 * BIG, err)) ||
	    (rc = kh_gpu_room_exact(&b->d, 8 * BIG, err)))
		return rc;
	return KH_GPU(cudaMemset(b->a.p, 1, 8 * BIG), err);
}

/* A build wants the memory for itself. */
static void drop_device_rooms(struct bench *b)
{
	kh_gpu_drop(&b->a);
	kh_gpu_drop(&b->c);
	kh_gpu_drop(&b->d);
}

int kh_bench_cuda(kh_bench *of, kh_err *err)
{
	const kh_bench_pipeline_options *o = of->o;
	FILE *out = of->out;
	struct bench b = { .o = o, .out = out };
	int rc = rooms(&b, err);

	fprintf(out, "%-28s %9s %9s %9s  %-10s %9s  %5s\n", "stage", "least", "median",
		"most", "", "limit", "share");
	if (!rc && !(rc = host_stages(&b, err)) && !(rc = device_rooms(&b, err)))
		rc = device_stages(&b, err);
	drop_device_rooms(&b);
	if (!rc)
		rc = build_stages(&b, err);
	if (!rc && o->db && !(rc = device_rooms(&b, err)))
		rc = query_stages(&b, err);
	drop_device_rooms(&b);
	kh_gpu_drop(&b.host);
	if (b.from)
		cudaEventDestroy(b.from);
	if (b.to)
		cudaEventDestroy(b.to);
	if (b.stream)
		cudaStreamDestroy(b.stream);
	for (size_t i = 0; b.fd && i < o->n_refs; i++)
		if (b.fd[i] >= 0)
			close(b.fd[i]);
	free(b.fd);
	free(b.size);
	return rc;
}
