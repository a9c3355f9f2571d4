/*
 * builder.c - the builder on GPUs, host side
 *
 *	add      a block's packed bases go to the worker's GPU, its pairs are made there, in
 *	         order, and split by owner; when the slot is needed again they are copied to
 *	         the owners' stores (store.c)
 *	finish   each owner's pairs are gathered in the order of tickets, sorted and encoded,
 *	         all ranges at once if they fit, and the images delivered (finish.c)
 *
 * A sort that is stable by key leaves equal keys in the order of tickets, so their bins
 * ascend.
 */
#include <config.h>
#include "cuda/builder/builder.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "cuda/builder/builder_in.h"
#include "base/mem.h"

/* --- open, close -------------------------------------------------------------------- */
static void slot_close(struct kh_cuda_slot *s)
{
	KH_GPU_DROP(s->on_device);
	KH_GPU_DROP(s->pinned);
	if (s->done)
		cudaEventDestroy(s->done);
}

static void worker_close(struct kh_cuda_worker *w)
{
	cudaSetDevice(w->device);
	if (w->stream)
		cudaStreamSynchronize(w->stream);
	for (int j = 0; j < SLOTS; j++)
		slot_close(&w->slot[j]);
	if (w->stream)
		cudaStreamDestroy(w->stream);
}

void kh_cuda_builder_close(kh_builder *b)
{
	if (!b)
		return;
	for (unsigned i = 0; b->worker && i < b->o.on.threads; i++)
		worker_close(&b->worker[i]);
	for (unsigned i = 0; b->owner && i < b->n; i++) {
		cudaSetDevice(b->owner[i].device);
		kh_cuda_drop_chunks(&b->owner[i]);
		kh_gpu_drop(&b->owner[i].slab);
		kh_gpu_drop(&b->owner[i].pinned);
		free(b->owner[i].chunk);
		free(b->owner[i].stored);
	}
	kh_store_free(b->store);
	kh_cuda_kept_close(&b->kept);
	pthread_mutex_destroy(&b->lock);
	free(b->worker);
	free(b->owner);
	free(b);
}

static int slab_open(const kh_builder *b, struct kh_cuda_owner *o, unsigned workers, kh_err *err)
{
	const struct kh_cuda_sizes z = kh_cuda_usual_sizes(b);
	int rc = kh_gpu_use(o->device, err);

	if (!rc)
		rc = kh_gpu_room_exact(&o->slab, kh_cuda_slab_bytes(b, workers), err);
	return rc ? rc : kh_gpu_host_room(&o->pinned, workers * SLOTS * (kh_gpu_up(z.in) +
							kh_gpu_up(z.sums)) + 1, err);
}

static int slot_open(kh_builder *b, struct kh_cuda_slot *s, struct kh_cuda_owner *of,
		     kh_err *err)
{
	const struct kh_cuda_sizes z = kh_cuda_usual_sizes(b);

	KH_GPU_BUDGET(s->on_device, &of->memory);
	KH_GPU_BUDGET(s->pinned, &b->pinned);
	kh_gpu_lend(&s->in, &of->pinned, &of->pinned_at, z.in);
	kh_gpu_lend(&s->sums, &of->pinned, &of->pinned_at, z.sums);
	kh_gpu_lend(&s->din, &of->slab, &of->slab_at, z.in);
	kh_gpu_lend(&s->dsums, &of->slab, &of->slab_at, z.sums);
	kh_gpu_lend(&s->scratch, &of->slab, &of->slab_at, z.scratch);
	kh_gpu_lend(&s->key, &of->slab, &of->slab_at, z.pairs * 8);
	kh_gpu_lend(&s->bin, &of->slab, &of->slab_at, z.pairs * 4);
	if (b->n > 1) {
		kh_gpu_lend(&s->key2, &of->slab, &of->slab_at, z.pairs * 8);
		kh_gpu_lend(&s->bin2, &of->slab, &of->slab_at, z.pairs * 4);
		kh_gpu_lend(&s->split, &of->slab, &of->slab_at, z.split);
	}
	return KH_GPU(cudaEventCreateWithFlags(&s->done, cudaEventDisableTiming), err);
}

static int worker_open(kh_builder *b, unsigned i, kh_err *err)
{
	struct kh_cuda_worker *w = &b->worker[i];
	int rc = kh_gpu_use(w->device, err);

	if (!rc)
		rc = KH_GPU(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking),
			    err);
	for (int j = 0; j < SLOTS && !rc; j++)
		rc = slot_open(b, &w->slot[j], &b->owner[i % b->n], err);
	return rc;
}

static int devices_open(kh_builder *b, kh_err *err)
{
	const kh_builder_options *o = &b->o;
	bool all;
	int rc;

	b->n = o->on.choice.n ? (unsigned)o->on.choice.n : 1;
	b->worker = kh_array(o->on.threads, sizeof *b->worker, err);
	b->owner = kh_array(b->n, sizeof *b->owner, err);
	if (!b->worker || !b->owner)
		return KH_ENOMEM;
	for (unsigned i = 0; i < b->n; i++)
		b->owner[i].device = o->on.choice.n ? o->on.choice.device[i] : 0;
	for (unsigned i = 0; i < o->on.threads; i++)
		b->worker[i].device = b->owner[i % b->n].device;
	rc = b->n > 1 ? kh_gpu_peers(o->on.choice.device, b->n, &all, err) : KH_OK;
	for (unsigned i = 0; i < b->n && !rc; i++)
		rc = kh_cuda_owner_plan(b, &b->owner[i],
					(o->on.threads + b->n - 1 - i) / b->n, err);
	for (unsigned i = 0; i < b->n && !rc; i++)
		rc = slab_open(b, &b->owner[i], (o->on.threads + b->n - 1 - i) / b->n, err);
	for (unsigned i = 0; i < o->on.threads && !rc; i++)
		rc = worker_open(b, i, err);
	return rc;
}

int kh_cuda_builder_open(kh_builder **out, const kh_builder_options *o, kh_err *err)
{
	kh_builder *b = kh_array(1, sizeof *b, err);
	int rc = b ? KH_OK : KH_ENOMEM;

	if (rc)
		return rc;
	b->o = *o;
	b->kept.file = (kh_spill) { .fd = -1, .what = "the build" };
	pthread_mutex_init(&b->lock, NULL);
	b->host = kh_host_plan_of(o->memory, o->tmp);
	rc = devices_open(b, err);
	if (rc)
		kh_cuda_builder_close(b);
	else
		*out = b;
	return rc;
}

/* --- add ---------------------------------------------------------------------------- */
/* Writes pieces as the kernels need them; returns the bound of their features. */
static uint64_t put_pieces(const kh_block_pieces *s, kh_gpu_piece *out, kh_gpu_sample *g)
{
	const uint64_t stride = g->sampling.stride;
	uint64_t bound = 0;

	for (size_t i = 0; i < s->n; i++) {
		const kh_piece *p = &s->piece[i];

		out[i] = (kh_gpu_piece) { .at = p->at,
					  .starts = p->starts,
					  .window = g->n_windows,
					  .bin = p->bin };
		g->n_windows += (p->starts + stride - 1) / stride;
		bound += kh_sampling_bound(&g->sampling, p->starts);
	}
	return bound;
}

/* Bytes of the numbers that come back of a block: of pairs, and of each owner's, or, if it will be
 * sampled again, of each range's. */
static size_t sums_bytes(const kh_builder *b)
{
	return (1 + (b->again ? KH_RANGES : b->n)) * sizeof(uint64_t);
}

/* What add knows of its block. */
struct block {
	kh_gpu_sample g;
	kh_gpu_split split;
	uint64_t bound;                 /* of pairs */
	size_t bytes, sums;             /* of input; of numbers that come back */
};

/* Copies the input into the pinned memory of the slot, and sets the inputs of g. */
static int stage(kh_builder *b, struct kh_cuda_slot *s, const kh_block_pieces *in,
		 struct block *blk, kh_err *err)
{
	const size_t words = in->n_words, amb = kh_cuda_amb_at(words),
		     pieces = kh_cuda_pieces_at(words);
	kh_gpu_sample *g = &blk->g;
	int rc;
	char *h;

	blk->bytes = pieces + in->n * sizeof(kh_gpu_piece);
	blk->sums = sums_bytes(b);
	rc = kh_gpu_host_room(&s->in, blk->bytes, err);
	if (!rc)
		rc = kh_gpu_room(&s->din, blk->bytes, err);
	if (!rc)
		rc = kh_gpu_host_room(&s->sums, blk->sums, err);
	if (!rc)
		rc = kh_gpu_room(&s->dsums, blk->sums, err);
	if (rc)
		return rc;
	h = s->in.p;
	/* the room in front of the first piece need not have been written */
	size_t first = (size_t)(in->piece[0].at / 32);
	memset(h, 0, first * 8);
	memcpy(h + first * 8, in->bases + first, (words - first) * 8);
	memset(h + words * 8, 0, amb - words * 8);
	memset(h + amb, 0xff, first * 4);
	memcpy(h + amb + first * 4, in->amb + first, (words - first) * 4);
	memset(h + amb + words * 4, 0xff, pieces - amb - words * 4);
	g->sampling = b->o.sampling;
	blk->bound = put_pieces(in, (kh_gpu_piece *)(h + pieces), g);
	g->n_pieces = (uint32_t)in->n;
	g->n_words = (uint32_t)words;
	return KH_OK;
}

void kh_cuda_slot_sample(const struct kh_cuda_slot *s, kh_gpu_sample *g)
{
	const char *in = s->din.p;

	g->bases = s->din.p;
	g->amb = (const uint32_t *)(in + kh_cuda_amb_at(g->n_words));
	g->piece = (const kh_gpu_piece *)(in + kh_cuda_pieces_at(g->n_words));
	g->count = s->dsums.p;
	g->scratch = s->scratch.p;
	g->scratch_bytes = s->scratch.bytes;
	g->key = s->key.p;
	g->bin = s->bin.p;
}

/* Makes room for the outputs. */
static int rooms(kh_builder *b, struct kh_cuda_worker *w, struct kh_cuda_slot *s,
		 struct block *blk, kh_err *err)
{
	const uint64_t bound = blk->bound;
	const size_t split = b->n > 1 && !b->again ? kh_gpu_split_scratch(bound, b->n) : 0;
	const size_t room = kh_gpu_sample_scratch(&blk->g);
	int rc = KH_OK;

	/* buffers that grow may still be read by the copy to the store */
	if (room > s->scratch.bytes || bound * 8 > s->key.bytes ||
	    bound * 4 > s->bin.bytes || split > s->split.bytes)
		rc = KH_GPU(cudaStreamSynchronize(w->stream), err);
	if (rc || (rc = kh_gpu_room(&s->scratch, room, err)) ||
	    (rc = kh_gpu_room(&s->key, bound * 8, err)) ||
	    (rc = kh_gpu_room(&s->bin, bound * 4, err)))
		return rc;
	kh_cuda_slot_sample(s, &blk->g);
	if (b->n == 1 || b->again || (rc = kh_gpu_room(&s->key2, bound * 8, err)) ||
	    (rc = kh_gpu_room(&s->bin2, bound * 4, err)) ||
	    (rc = kh_gpu_room(&s->split, split, err)))
		return rc;
	blk->split = (kh_gpu_split) { .key = s->key.p,
				      .bin = s->bin.p,
				      .count = blk->g.count,
				      .bound = bound,
				      .n = b->n,
				      .key2 = s->key2.p,
				      .bin2 = s->bin2.p,
				      .size = (uint64_t *)s->dsums.p + 1,
				      .scratch = s->split.p };
	return KH_OK;
}

static int launch(kh_builder *b, struct kh_cuda_worker *w, struct kh_cuda_slot *s,
		  const struct block *blk, kh_err *err)
{
	int rc = KH_GPU(cudaMemcpyAsync(s->din.p, s->in.p, blk->bytes,
					cudaMemcpyHostToDevice, w->stream), err);

	if (!rc)
		rc = KH_GPU(cudaMemsetAsync(s->dsums.p, 0, blk->sums, w->stream), err);
	if (!rc)
		rc = kh_gpu_check(kh_gpu_sample_run(&blk->g, w->stream),
				  "sampling kernels", err);
	if (!rc && b->again)
		rc = kh_gpu_check(kh_gpu_weigh(blk->g.key, blk->g.count, blk->bound,
					       (uint64_t *)s->dsums.p + 1, w->stream),
				  "range counts", err);
	else if (!rc && b->n > 1)
		rc = kh_gpu_check(kh_gpu_split_run(&blk->split, w->stream), "split kernels",
				  err);
	if (!rc)
		rc = KH_GPU(cudaMemcpyAsync(s->sums.p, s->dsums.p, blk->sums,
					    cudaMemcpyDeviceToHost, w->stream), err);
	return rc ? rc : KH_GPU(cudaEventRecord(s->done, w->stream), err);
}

int kh_cuda_builder_add(kh_builder *b, unsigned worker, const kh_block_pieces *in, kh_err *err)
{
	struct kh_cuda_worker *w = &b->worker[worker];
	struct kh_cuda_slot *s = &w->slot[w->next];
	struct block blk = { .bound = 0 };
	int rc = kh_gpu_use(w->device, err);

	if (rc || in->n == 0)
		return rc;
	if (in->n_words < UINT32_MAX && in->n < UINT32_MAX) {
		w->next = (w->next + 1) % SLOTS;
		if ((rc = kh_cuda_retire(b, w, s, err)) || (rc = stage(b, s, in, &blk, err)))
			return rc;
	}
	if (in->n_words >= UINT32_MAX || in->n >= UINT32_MAX || blk.bound >= UINT32_MAX)
		return kh_fail(err, KH_EUSAGE,
			       "a block of %zu words is too large for the GPU",
			       in->n_words);
	s->kept = NULL;
	if (b->again)
		rc = kh_cuda_keep(b, s, &blk.g, blk.bound, in->ticket, err);
	if (!rc && !(rc = rooms(b, w, s, &blk, err)))
		rc = launch(b, w, s, &blk, err);
	s->ticket = in->ticket;
	s->busy = rc == KH_OK;
	return rc;
}
