/*
 * gpu_build.c - `kmerhash-bench pipeline` on a GPU: the stages of a build
 *
 * First kernels by themselves on made-up data; then a whole build of the references, whose
 * builder says how long its steps took.
 */
#include <config.h>
#include "tests/bench/program/gpu/gpu_in.h"

#include <stdlib.h>
#include <string.h>
#include "cuda/builder/builder.h"
#include "cuda/kernels/builder.h"
#include "base/mem.h"
#include "build/refs.h"
#include "index/seeds.h"

/* --- kernels ------------------------------------------------------------------------ */
struct sampling {
	kh_gpu_bench *g;
	kh_gpu_sample s;
};

static int sample(void *arg, kh_bench_pass *p, kh_err *err)
{
	struct sampling *x = arg;
	int rc = kh_gpu_bench_start(x->g, err);

	if (!rc)
		rc = kh_gpu_check(kh_gpu_sample_run(&x->s, x->g->stream), "sampling kernels",
				  err);
	return rc ? rc : kh_gpu_bench_stop(x->g, p, err);
}

static int sample_stage(kh_gpu_bench *g, const char *name, const kh_sampling *rule, kh_err *err)
{
	const uint32_t words = 1 << 23;
	const size_t bytes = (size_t)words << 2;
	const uint64_t bases = 32 * (uint64_t)words;
	kh_gpu_piece p = { 0, bases - rule->k + 1, 0, 0 };
	char *in = g->x.p, *out = g->y.p;
	struct sampling x = {
		g,
		{ .sampling = *rule,
		  .bases = (const uint64_t *)in,
		  .amb = (const uint32_t *)in + 4 * words,
		  .piece = (const kh_gpu_piece *)(in + 6 * bytes),
		  .n_pieces = 1,
		  .n_words = words,
		  .n_windows = (p.starts + rule->stride - 1) / rule->stride,
		  .scratch = g->z.p,
		  .scratch_bytes = g->z.bytes,
		  .key = (uint64_t *)out,
		  .bin = (uint32_t *)(out + 4 * KH_BENCH_ROOM),
		  .count = (uint32_t *)(out + 6 * KH_BENCH_ROOM) }
	};
	const kh_bench_stage s = { name,
				   &kh_unit_bases,
				   (double)bases,
				   { g->memory.rate / (0.375 * 3 + 12.0 / 7), g->memory.of },
				   sample,
				   &x,
				   true };
	uint64_t *r = g->host.p;
	int rc;

	for (uint32_t i = 0; i <= words; i++)
		r[i] = kh_fmix64(i + 1);
	memset(r + 2 * words, 0, 4 * (words + 1));
	memcpy((char *)g->host.p + 6 * bytes, &p, sizeof p);
	rc = KH_GPU(cudaMemcpyAsync(in, r, 7 * bytes, cudaMemcpyHostToDevice, g->stream),
		    err);
	return rc ? rc : kh_bench_measure(g->b, &s, NULL, err);
}

#define SORTED (KH_BENCH_ROOM / 2)      /* pairs */

static int sort(void *arg, kh_bench_pass *p, kh_err *err)
{
	kh_gpu_bench *g = arg;
	char *y = g->y.p;
	uint32_t *z = g->z.p;
	kh_gpu_sort s = { (uint64_t *)y, (uint64_t *)(y + 8 * SORTED),
			  z,             z + SORTED,
			  SORTED,        0,          KH_KEY_BITS,
			  NULL,          0 };
	int rc = KH_OK;

	/* the mixed words of sample_stage(), as often as needed */
	for (uint64_t at = 0; at < 8 * SORTED && !rc; at += KH_BENCH_ROOM / 4)
		rc = KH_GPU(cudaMemcpyAsync(y + at, g->x.p, KH_BENCH_ROOM / 4,
					    cudaMemcpyDeviceToDevice, g->stream),
			    err);
	if (!rc)
		rc = kh_gpu_check(kh_gpu_sort_run(&s, g->stream), "sort", err);
	s.scratch = (char *)z + 8 * SORTED;
	s.scratch_bytes = g->z.bytes - 8 * SORTED;
	if (!rc)
		rc = kh_gpu_bench_start(g, err);
	if (!rc)
		rc = kh_gpu_check(kh_gpu_sort_run(&s, g->stream), "sort", err);
	return rc ? rc : kh_gpu_bench_stop(g, p, err);
}

/* The limit of sorting by 48 bits: six digits, for each of which all pairs are read and written,
 * and all keys are read once before, to be counted. */
static kh_bench_limit sorting(const kh_gpu_bench *g)
{
	return (kh_bench_limit) { g->memory.rate / (6 * 24 + 8), g->memory.of };
}

int kh_gpu_bench_kernels(kh_gpu_bench *g, kh_err *err)
{
	static const kh_sampling syncmer = { KH_SYNCMER, 22, 12, 32, 0, 1 },
			       minhash = { KH_MINHASH, 16, 16, 112, 0, 1 };
	const kh_bench_stage s = { "build: sort by 48 bits", &kh_unit_pairs, (double)SORTED,
				   sorting(g),               sort,            g,
				   true };
	int rc = sample_stage(g, "build: sample, syncmers", &syncmer, err);

	if (!rc)
		rc = sample_stage(g, "build: sample, minhash", &minhash, err);
	return rc ? rc : kh_bench_measure(g->b, &s, NULL, err);
}

/* --- a whole build ------------------------------------------------------------------ */
struct worker {
	kh_pieces pieces;
};

struct build {
	kh_gpu_bench *g;
	kh_monitor *m;
	kh_feed *feed;
	kh_refs refs;
	kh_builder *builder;
	struct worker *worker;              /* a worker each */
	double is_ready;                /* 0: the index was made in waves, never as a whole */
	double bytes;
	size_t kept;                    /* bytes of images in the host's room */
	/* what came out: seconds, bytes a second */
	double read, ready, out;
	kh_cuda_times t;
};

static int number_records(void *arg, kh_block *blk, kh_err *err)
{
	struct build *u = arg;
	const kh_bench_pipeline_options *o = u->g->b->o;

	return kh_refs_add(&u->refs, blk, kh_refs_path(o->refs, o->n_refs, blk->file), blk->user,
			   err);
}

static int build_worker(void *arg, unsigned worker, kh_err *err)
{
	struct build *u = arg;
	struct worker *h = &u->worker[worker];
	const kh_pieces *p = &h->pieces;
	kh_block *blk;
	kh_jobs none;
	int rc;

	while ((rc = kh_feed_next(u->feed, &blk, err)) == 1) {
		blk->user = &h->pieces;
		rc = kh_feed_commit(u->feed, blk, &none, err);
		if (!rc) {
			kh_block_pieces s = { .ticket = blk->ticket,
					.bases = blk->bases,
					.amb = blk->amb,
					.n_words = blk->n_words,
					.piece = p->v,
					.n = p->n };

			rc = kh_cuda_builder_add(u->builder, worker, &s, err);
		}
		kh_feed_release(u->feed, blk);
		if (rc)
			break;
	}
	return rc;
}

static void is_ready(void *arg)
{
	struct build *u = arg;

	u->is_ready = kh_seconds();
}

/* Keeps as many images as there is room for, for the stage that writes them. */
static int take_image(void *arg, const kh_image *im, kh_err *err)
{
	struct build *u = arg;
	const size_t bytes = (size_t)kh_seed_bytes(&im->range),
		     lines = (size_t)kh_seed_line_bytes(&im->range),
		     lists = (size_t)im->range.words * sizeof *im->word;
	char *to = u->g->b->room + u->kept;

	(void)err;
	u->bytes += (double)bytes;
	if (u->kept + bytes > KH_BENCH_ROOM)
		return KH_OK;
	memcpy(to, im->line, lines);
	memcpy(to + lines, im->word, lists);
	memset(to + lines + lists, 0, bytes - lines - lists);
	u->kept += bytes;
	return KH_OK;
}

static int make_index(kh_builder *b, const kh_refs *r, const kh_finish *how, kh_err *err)
{
	const size_t n = r->n;
	uint32_t *first = kh_array(n + 1, 4, err), *taxon = kh_array(n + 1, 4, err),
		 *species = kh_array(n, 4, err);
	const kh_bins bins = { .first = first, .taxon = taxon, .species = species,
			       .n_targets = (uint32_t)n, .n_species = 1,
			       .bits = kh_seed_bits((uint32_t)r->next_bin) };
	kh_finish f = *how;
	int rc = first && taxon && species ? KH_OK : KH_ENOMEM;

	for (size_t i = 0; i < n && !rc; i++) {
		first[i] = r->ref[i].first_bin;
		species[i] = (uint32_t)n;
	}
	if (!rc) {
		first[n] = (uint32_t)r->next_bin;
		f.bins = &bins;
		rc = kh_cuda_builder_finish(b, &f, err);
	}
	free(first);
	free(taxon);
	free(species);
	return rc;
}

static int open_build(struct build *u, kh_err *err)
{
	const kh_bench_pipeline_options *o = u->g->b->o;
	const kh_sampling rule = { KH_SYNCMER, 22, 12, 32, 0, 1 };
	const kh_feed_options fo = { .path = { o->refs },
				     .n_path = { o->n_refs },
				     .pieces = true,
				     .block_size = kh_backend_cuda.block_size,
				     .workers = o->threads,
				     .front = kh_refs_front(&rule),
				     .committed = number_records,
				     .arg = u };
	const kh_builder_options bo = { .sampling = rule,
					.on = { .choice = { .device = { u->g->device }, .n = 1 },
						.threads = o->threads },
					.block_size = kh_backend_cuda.block_size,
					.tmp = u->g->b->folder };
	int rc;

	u->worker = kh_array(o->threads, sizeof *u->worker, err);
	rc = u->worker ? kh_refs_init(&u->refs, &rule, 10, err) : KH_ENOMEM;
	u->refs.allow_duplicates = true;
	if (rc || (rc = kh_monitor_new(&u->m, err)) ||
	    (rc = kh_feed_open(&u->feed, &fo, u->m, err)))
		return rc;
	return kh_cuda_builder_open(&u->builder, &bo, err);
}

static void close_build(struct build *u)
{
	kh_cuda_builder_close(u->builder);
	kh_feed_close(u->feed);
	kh_refs_clear(&u->refs);
	kh_monitor_free(u->m);
	for (unsigned i = 0; u->worker && i < u->g->b->o->threads; i++)
		free(u->worker[i].pieces.v);
	free(u->worker);
}

static int build(struct build *u, kh_err *err)
{
	int rc = open_build(u, err);
	double from = kh_seconds();

	if (!rc)
		rc = kh_threads_run(u->m, u->g->b->o->threads, build_worker, u, err);
	u->read = kh_seconds() - from;
	if (!rc)
		rc = make_index(u->builder, &u->refs,
				&(kh_finish) { .sink = take_image, .arg = u,
					       .ready = is_ready }, err);
	if (!rc) {
		u->ready = u->is_ready - from;
		u->out = u->bytes / (kh_seconds() - u->is_ready);
		u->t = kh_cuda_builder_times(u->builder, 0);
	}
	close_build(u);
	return rc;
}

static void lines(kh_gpu_bench *g, const struct build *u, int n)
{
	kh_bench *b = g->b;
	const double bytes = b->refs->bytes;
	const kh_bench_limit moved = { g->memory.rate / 24, g->memory.of },
			     made = { g->memory.rate / (3 * 12 + 5), g->memory.of };

	for (int i = 0; i < n; i++)
		kh_bench_note(b, bytes, u[i].read);
	kh_bench_print(b, "build: read to pairs", &kh_unit_gb, b->refs->read);
	for (int i = 0; i < n; i++)
		kh_bench_note(b, (double)u[i].t.pairs, u[i].t.gather);
	kh_bench_print(b, "build: partition, by blocks", &kh_unit_pairs, moved);
	for (int i = 0; i < n; i++)
		kh_bench_note(b, (double)u[i].t.pairs, u[i].t.sort);
	kh_bench_print(b, "build: sort", &kh_unit_pairs, sorting(g));
	for (int i = 0; i < n; i++)
		kh_bench_note(b, (double)u[i].t.pairs, u[i].t.encode);
	kh_bench_print(b, "build: encode", &kh_unit_pairs, made);
	if (u->is_ready <= 0)
		return;
	for (int i = 0; i < n; i++)
		kh_bench_note(b, bytes, u[i].ready);
	kh_bench_print(b, "build: first byte to ready", &kh_unit_gb, b->refs->read);
	for (int i = 0; i < n; i++)
		kh_bench_note(b, u[i].out, 1);
	kh_bench_print(b, "build: index to the host", &kh_unit_gb, g->copy);
}

int kh_gpu_bench_build(kh_gpu_bench *g, kh_err *err)
{
	struct build u[KH_BENCH_RUNS];
	int n = 0, rc = KH_OK;

	for (; n < g->b->o->repeat && !rc; n++) {
		u[n] = (struct build) { .g = g };
		rc = build(&u[n], err);
	}
	if (rc)
		return rc;
	lines(g, u, n);
	return kh_bench_write_index(g->b, g->b->room, u[n - 1].kept, err);
}
