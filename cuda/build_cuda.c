/*
 * build_cuda.c - the builder on one GPU, host side
 *
 *	add      a block's packed bases go to the GPU, its pairs come into being there, in
 *	         order; when the slot is needed again they move to the store (build_store.c)
 *	finish   waves of ranges, all 256 at once if they fit: gather in order of tickets,
 *	         sort, encode, hand the images over (finish_cuda.c)
 *
 * A sort that is stable by key leaves equal keys in the order of tickets, so their bins
 * ascend.
 */
#include <config.h>
#include "backend_in.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "builder_in.h"
#include "mem.h"

/* --- open, close -------------------------------------------------------------------- */
static void slot_close(struct kh_cuda_slot *s)
{
	kh_gpu_drop(&s->in);
	kh_gpu_drop(&s->din);
	kh_gpu_drop(&s->room);
	kh_gpu_drop(&s->key);
	kh_gpu_drop(&s->bin);
	kh_gpu_drop(&s->back);
	kh_gpu_drop(&s->sums);
	kh_gpu_drop(&s->dsums);
	free(s->seq);
	if (s->done)
		cudaEventDestroy(s->done);
}

void kh_cuda_builder_close(kh_builder *b)
{
	if (!b)
		return;
	cudaSetDevice(b->device);
	for (unsigned i = 0; b->worker && i < b->o.threads; i++) {
		struct kh_cuda_worker *w = &b->worker[i];

		if (w->stream)
			cudaStreamSynchronize(w->stream);
		for (int j = 0; j < SLOTS; j++)
			slot_close(&w->slot[j]);
		free(w->digest);
		if (w->stream)
			cudaStreamDestroy(w->stream);
	}
	kh_cuda_drop_chunks(b);
	kh_store_free(b->store);
	kh_monitor_free(b->m);
	free(b->worker);
	free(b->chunk);
	free(b->part);
	free(b);
}

/* Buffers for blocks of the usual size. */
static int slot_open(struct kh_cuda_slot *s, size_t block, kh_err *err)
{
	int rc = kh_gpu_host_room(&s->in, block / 32 * 13 + 65536, err);

	if (!rc)
		rc = kh_gpu_room_exact(&s->din, block / 32 * 13 + 65536, err);
	if (!rc)
		rc = kh_gpu_host_room(&s->sums, 4096, err);
	if (!rc)
		rc = kh_gpu_room_exact(&s->dsums, 4096, err);
	if (!rc)
		rc = KH_GPU(cudaEventCreateWithFlags(&s->done, cudaEventDisableTiming),
			    err);
	return rc;
}

static int worker_open(struct kh_cuda_worker *w, size_t block, kh_err *err)
{
	int rc =
		KH_GPU(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking), err);

	for (int i = 0; i < SLOTS && !rc; i++)
		rc = slot_open(&w->slot[i], block, err);
	return rc;
}

int kh_cuda_builder_open(kh_builder **out, const kh_builder_options *o, kh_err *err)
{
	kh_builder *b = kh_array(1, sizeof *b, err);
	uint64_t free_bytes = 0;
	int rc;

	if (!b)
		return KH_ENOMEM;
	if (o->comm) {
		free(b);
		return kh_fail(err, KH_EUSAGE, "a build over several ranks is by the CPU: --device cpu");
	}
	b->o = *o;
	b->device = o->n_devices ? o->device[0] : 0;
	b->worker = kh_array(o->threads, sizeof *b->worker, err);
	rc = b->worker ? kh_gpu_use(b->device, err) : KH_ENOMEM;
	if (!rc)
		rc = kh_monitor_new(&b->m, err);
	for (unsigned i = 0; i < o->threads && !rc; i++)
		rc = worker_open(&b->worker[i], o->block_size, err);
	if (!rc)
		rc = kh_gpu_free(&free_bytes, err);
	if (rc) {
		kh_cuda_builder_close(b);
		return rc;
	}
	b->budget = free_bytes > 2 * SPARE ? free_bytes - SPARE : free_bytes / 2;
	if (o->gpu_memory && o->gpu_memory < b->budget)
		b->budget = o->gpu_memory;
	*out = b;
	return KH_OK;
}

/* Pairs are gathered and sorted from one place into another. */
kh_plan kh_cuda_builder_plan(const kh_builder *b, uint64_t pairs)
{
	return (kh_plan) { 2 * PAIR * pairs, b->budget };
}

/* --- add ---------------------------------------------------------------------------- */
static size_t up(size_t n)
{
	return (n + 255) & ~(size_t)255;
}

/* Pieces as the kernels want them; the bound of their features. */
static uint64_t put_pieces(const kh_sample *s, kh_gpu_piece *out, kh_gpu_sample *g)
{
	const uint64_t stride = g->sketch.stride;
	uint64_t bound = 0;

	for (size_t i = 0; i < s->n; i++) {
		const kh_piece *p = &s->piece[i];

		out[i] = (kh_gpu_piece) { p->at,       p->starts, p->bases, g->n_windows,
					  g->n_summed, p->bin,    p->local };
		g->n_windows += (p->starts + stride - 1) / stride;
		g->n_summed += (p->bases + stride - 1) / stride;
		bound += kh_sketch_bound(&g->sketch, p->starts);
	}
	return bound;
}

/* The numbers of the pieces' sequences, and room for their digests. */
static int note_pieces(struct kh_cuda_slot *s, const kh_sample *in, kh_err *err)
{
	const size_t bytes = (in->n + 1) * sizeof(uint64_t);
	int rc = kh_grow((void **)&s->seq, &s->cap_seq, in->n, sizeof *s->seq, err);

	if (!rc)
		rc = kh_gpu_host_room(&s->sums, bytes, err);
	if (!rc)
		rc = kh_gpu_room(&s->dsums, bytes, err);
	for (size_t i = 0; i < in->n && !rc; i++)
		s->seq[i] = in->piece[i].seq;
	s->n_pieces = in->n;
	return rc;
}

/* Copies the input into the slot's pinned memory and fills g but for what is made. */
static int stage(struct kh_cuda_slot *s, const kh_sketch *sk, const kh_sample *in,
		 kh_gpu_sample *g, uint64_t *bound, size_t *bytes, kh_err *err)
{
	const size_t words = in->n_words, bases = up((words + 1) * 8),
		     amb = up((words + 1) * 4);
	int rc;
	char *h;

	*bytes = bases + amb + in->n * sizeof(kh_gpu_piece);
	rc = kh_gpu_host_room(&s->in, *bytes, err);
	if (!rc)
		rc = kh_gpu_room(&s->din, *bytes, err);
	if (!rc)
		rc = note_pieces(s, in, err);
	if (rc)
		return rc;
	h = s->in.p;
	/* the room in front of the first piece need not have been written */
	size_t first = (size_t)(in->piece[0].at / 32);
	memset(h, 0, first * 8);
	memcpy(h + first * 8, in->bases + first, (words - first) * 8);
	memset(h + words * 8, 0, bases - words * 8);
	memset(h + bases, 0xff, first * 4);
	memcpy(h + bases + first * 4, in->amb + first, (words - first) * 4);
	memset(h + bases + words * 4, 0xff, amb - words * 4);
	g->sketch = *sk;
	*bound = put_pieces(in, (kh_gpu_piece *)(h + bases + amb), g);
	g->bases = s->din.p;
	g->amb = (const uint32_t *)((const char *)s->din.p + bases);
	g->piece = (const kh_gpu_piece *)((const char *)s->din.p + bases + amb);
	g->n_pieces = (uint32_t)in->n;
	g->n_words = (uint32_t)words;
	g->count = s->dsums.p;
	g->digest = (uint64_t *)s->dsums.p + 1;
	return KH_OK;
}

int kh_cuda_builder_add(kh_builder *b, unsigned worker, const kh_sample *in, kh_err *err)
{
	struct kh_cuda_worker *w = &b->worker[worker];
	struct kh_cuda_slot *s = &w->slot[w->next];
	kh_gpu_sample g = { .n_words = 0 };
	uint64_t bound;
	size_t bytes;
	int rc = kh_gpu_use(b->device, err);

	if (rc || in->n == 0)
		return rc;
	if (in->n_words >= UINT32_MAX || in->n >= UINT32_MAX)
		return kh_fail(err, KH_EUSAGE,
			       "a block of %zu words is too large for the GPU",
			       in->n_words);
	w->next = (w->next + 1) % SLOTS;
	if ((rc = kh_cuda_retire(b, w, s, err)) ||
	    (rc = stage(s, &b->o.sketch, in, &g, &bound, &bytes, err)))
		return rc;
	g.room_bytes = kh_gpu_sample_room(&g);
	if (bound >= UINT32_MAX)
		return kh_fail(err, KH_EUSAGE,
			       "a block of %zu words is too large for the GPU",
			       in->n_words);
	/* buffers that grow may still be read by the copy to the store */
	if (g.room_bytes > s->room.bytes || bound * 8 > s->key.bytes ||
	    bound * 4 > s->bin.bytes)
		rc = KH_GPU(cudaStreamSynchronize(w->stream), err);
	if (rc || (rc = kh_gpu_room(&s->room, g.room_bytes, err)) ||
	    (rc = kh_gpu_room(&s->key, bound * 8, err)) ||
	    (rc = kh_gpu_room(&s->bin, bound * 4, err)))
		return rc;
	g.room = s->room.p;
	g.key = s->key.p;
	g.bin = s->bin.p;
	rc = KH_GPU(cudaMemcpyAsync(s->din.p, s->in.p, bytes, cudaMemcpyHostToDevice,
				    w->stream),
		    err);
	if (!rc)
		rc = KH_GPU(cudaMemsetAsync(s->dsums.p, 0, (in->n + 1) * 8, w->stream),
			    err);
	if (!rc)
		rc = kh_gpu_check(kh_gpu_sample_run(&g, w->stream), "sampling kernels",
				  err);
	if (!rc)
		rc = KH_GPU(cudaMemcpyAsync(s->sums.p, s->dsums.p, (in->n + 1) * 8,
					    cudaMemcpyDeviceToHost, w->stream),
			    err);
	if (!rc)
		rc = KH_GPU(cudaEventRecord(s->done, w->stream), err);
	s->ticket = in->ticket;
	s->busy = rc == KH_OK;
	return rc;
}

int kh_cuda_builder_digests(kh_builder *b, uint64_t *digest, kh_err *err)
{
	int rc = kh_gpu_use(b->device, err);

	if (!rc)
		rc = kh_cuda_retire_all(b, err);
	for (unsigned i = 0; i < b->o.threads && !rc; i++)
		for (size_t j = 0; j < b->worker[i].n_digests; j++)
			digest[b->worker[i].digest[j].seq] += b->worker[i].digest[j].sum;
	return rc;
}
