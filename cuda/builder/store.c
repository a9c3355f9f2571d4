/*
 * build_store.c - the pairs of the CUDA builder: chunks of device memory, a store a device
 *
 * Blocks lie in them as they come.  Beyond the limit of memory of any device all that
 * follows goes to the host's store (pairs.h), and in the end all.
 */
#include <config.h>
#include "builder_in.h"

#include "mem.h"

void kh_cuda_drop_chunks(struct kh_cuda_share *s)
{
	for (size_t i = 0; i < s->n_chunks; i++) {
		kh_gpu_drop(&s->chunk[i].key);
		kh_gpu_drop(&s->chunk[i].bin);
	}
	s->n_chunks = 0;
}

/* Under the lock: n places in a chunk. */
static int chunk_room(struct kh_cuda_share *s, uint64_t n, kh_err *err)
{
	struct kh_cuda_chunk *c = s->n_chunks ? &s->chunk[s->n_chunks - 1] : NULL;
	uint64_t most = s->budget / (2 * PAIR) - s->n_pairs, cap = n > CHUNK ? n : CHUNK;
	int rc;

	if (c && n <= c->cap - c->used)
		return KH_OK;
	cap = cap > most ? most : cap;
	rc = kh_grow((void **)&s->chunk, &s->cap_chunks, s->n_chunks + 1,
		     sizeof *s->chunk, err);
	if (rc || (rc = kh_gpu_use(s->device, err)))
		return rc;
	c = &s->chunk[s->n_chunks];
	*c = (struct kh_cuda_chunk) { .cap = cap };
	rc = kh_gpu_room_exact(&c->key, cap * sizeof(uint64_t), err);
	if (!rc)
		rc = kh_gpu_room_exact(&c->bin, cap * sizeof(uint32_t), err);
	s->n_chunks++;
	return rc;
}

/* Under the lock, if pairs do not spill: a place for p->n of them. */
static int admit(struct kh_cuda_share *s, struct kh_cuda_part *p, kh_err *err)
{
	int rc = kh_grow((void **)&s->part, &s->cap_parts, s->n_parts + 1, sizeof *s->part,
			 err);
	struct kh_cuda_chunk *c;

	if (!rc)
		rc = chunk_room(s, p->n, err);
	if (rc)
		return rc;
	c = &s->chunk[s->n_chunks - 1];
	p->chunk = s->n_chunks - 1;
	p->at = c->used;
	c->used += p->n;
	s->n_pairs += p->n;
	s->part[s->n_parts++] = *p;
	return KH_OK;
}

/* Pairs in device memory to the host's store; waits. */
static int spill(kh_builder *b, cudaStream_t stream, kh_gpu_buf *back,
		 const kh_gpu_part *p, uint64_t ticket, kh_err *err)
{
	int rc = kh_gpu_host_room(back, p->n * PAIR + 8, err);
	uint64_t *key = back->p;

	if (!rc)
		rc = KH_GPU(cudaMemcpyAsync(key, p->key, p->n * 8, cudaMemcpyDeviceToHost,
					    stream), err);
	if (!rc)
		rc = KH_GPU(cudaMemcpyAsync(key + p->n, p->bin, p->n * 4,
					    cudaMemcpyDeviceToHost, stream), err);
	if (!rc)
		rc = KH_GPU(cudaStreamSynchronize(stream), err);
	return rc ? rc : kh_store_add(b->store, ticket, key, (uint32_t *)(key + p->n), p->n,
				      err);
}

/* Where the chunks have a part. */
static kh_gpu_part part_of(const struct kh_cuda_share *s, const struct kh_cuda_part *p)
{
	const struct kh_cuda_chunk *c = &s->chunk[p->chunk];

	return (kh_gpu_part) { (const uint64_t *)c->key.p + p->at,
			       (const uint32_t *)c->bin.p + p->at, p->n, 0 };
}

/* A run of a block's pairs to the store of share i. */
static int give(kh_builder *b, struct kh_cuda_worker *w, struct kh_cuda_slot *slot,
		const kh_gpu_part *run, unsigned i, kh_err *err)
{
	struct kh_cuda_share *s = &b->share[i];
	struct kh_cuda_part p = { slot->ticket, 0, run->n, 0 };
	kh_gpu_part to = { NULL, NULL, 0, 0 };
	bool spilled;
	int rc = KH_OK;

	kh_monitor_lock(b->m);
	/* half of the memory is for the gathered copy, or the other half of a sort */
	b->spilling |= (s->n_pairs + p.n) * 2 * PAIR > s->budget;
	spilled = b->spilling;
	if (!spilled)
		rc = admit(s, &p, err);
	else if (!b->store)
		rc = kh_store_new(&b->store, b->o.memory, b->o.tmp, err);
	if (!rc && !spilled)
		to = part_of(s, &p);
	kh_monitor_unlock(b->m);
	if (rc || (rc = kh_gpu_use(w->device, err)))
		return rc;
	if (spilled)
		return spill(b, w->stream, &slot->back, run, p.ticket * b->n + i, err);
	rc = kh_gpu_copy((void *)to.key, s->device, run->key, w->device, p.n * 8, w->stream, err);
	return rc ? rc : kh_gpu_copy((void *)to.bin, s->device, run->bin, w->device, p.n * 4,
				     w->stream, err);
}

static int note_digests(struct kh_cuda_worker *w, const struct kh_cuda_slot *s,
			const uint64_t *sum, kh_err *err)
{
	int rc = kh_grow((void **)&w->digest, &w->cap_digests, w->n_digests + s->n_pieces,
			 sizeof *w->digest, err);

	for (size_t i = 0; i < s->n_pieces && !rc; i++)
		w->digest[w->n_digests++] = (struct kh_cuda_digest) { s->seq[i], sum[i] };
	return rc;
}

int kh_cuda_retire(kh_builder *b, struct kh_cuda_worker *w, struct kh_cuda_slot *s,
		   kh_err *err)
{
	const uint64_t *sum = s->sums.p;
	kh_gpu_part run = { NULL, NULL, 0, 0 };
	int rc;

	if (!s->busy)
		return KH_OK;
	s->busy = false;
	rc = KH_GPU(cudaEventSynchronize(s->done), err);
	if (!rc)
		rc = note_digests(w, s, sum + 1 + b->n, err);
	for (unsigned i = 0; i < b->n && !rc; i++) {
		run.to += run.n;
		run.key = (uint64_t *)(b->n > 1 ? s->key2.p : s->key.p) + run.to;
		run.bin = (uint32_t *)(b->n > 1 ? s->bin2.p : s->bin.p) + run.to;
		run.n = b->n > 1 ? sum[1 + i] : sum[0];
		if (run.n > 0)
			rc = give(b, w, s, &run, i, err);
	}
	return rc;
}

void kh_cuda_slot_drop(struct kh_cuda_slot *s)
{
	kh_gpu_drop(&s->din);
	kh_gpu_drop(&s->dsums);
	kh_gpu_drop(&s->room);
	kh_gpu_drop(&s->key);
	kh_gpu_drop(&s->bin);
	kh_gpu_drop(&s->key2);
	kh_gpu_drop(&s->bin2);
	kh_gpu_drop(&s->split);
}

static void drop_rooms(struct kh_cuda_worker *w)
{
	if (cudaSetDevice(w->device) != cudaSuccess)
		return;
	for (int j = 0; j < SLOTS; j++)
		kh_cuda_slot_drop(&w->slot[j]);
}

int kh_cuda_retire_all(kh_builder *b, kh_err *err)
{
	const double began = kh_seconds();
	int rc = KH_OK;

	for (unsigned i = 0; i < b->o.threads && !rc; i++) {
		struct kh_cuda_worker *w = &b->worker[i];

		rc = kh_gpu_use(w->device, err);
		for (int j = 0; j < SLOTS && !rc; j++)
			rc = kh_cuda_retire(b, w, &w->slot[(w->next + (unsigned)j) % SLOTS],
					    err);
	}
	for (unsigned i = 0; i < b->o.threads && !rc; i++)
		if (!(rc = kh_gpu_use(b->worker[i].device, err)))
			rc = KH_GPU(cudaStreamSynchronize(b->worker[i].stream), err);
	for (unsigned i = 0; i < b->o.threads; i++)
		drop_rooms(&b->worker[i]);
	for (unsigned i = 0; i < b->n; i++)
		if (cudaSetDevice(b->share[i].device) == cudaSuccess)
			kh_gpu_drop(&b->share[i].slab);
	for (unsigned i = 0; i < b->n; i++)
		b->share[i].times.wait += kh_seconds() - began;
	return rc;
}

/* Of the share's device, which is the current one. */
static int spill_share(kh_builder *b, unsigned i, kh_err *err)
{
	struct kh_cuda_share *s = &b->share[i];
	kh_gpu_buf back = { .p = NULL };
	int rc = KH_OK;

	for (size_t j = 0; j < s->n_parts && !rc; j++) {
		const kh_gpu_part p = part_of(s, &s->part[j]);

		rc = spill(b, NULL, &back, &p, s->part[j].ticket * b->n + i, err);
	}
	kh_gpu_drop(&back);
	kh_cuda_drop_chunks(s);
	s->n_parts = 0;
	return rc;
}

int kh_cuda_spill_all(kh_builder *b, kh_err *err)
{
	int rc = b->store ? KH_OK : kh_store_new(&b->store, b->o.memory, b->o.tmp, err);

	for (unsigned i = 0; i < b->n && !rc; i++)
		if (!(rc = kh_gpu_use(b->share[i].device, err)))
			rc = spill_share(b, i, err);
	return rc;
}
