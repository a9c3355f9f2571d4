/*
 * build_store.c - the pairs of the CUDA builder: chunks of device memory
 *
 * Blocks lie in them as they come.  Beyond the limit of memory all that follows goes to the
 * host's store (pairs.h), and in the end all.
 */
#include <config.h>
#include "builder_in.h"

#include "mem.h"

void kh_cuda_drop_chunks(kh_builder *b)
{
	for (size_t i = 0; i < b->n_chunks; i++) {
		kh_gpu_drop(&b->chunk[i].key);
		kh_gpu_drop(&b->chunk[i].bin);
	}
	b->n_chunks = 0;
}

/* Under the lock: n places in a chunk. */
static int chunk_room(kh_builder *b, uint64_t n, kh_err *err)
{
	struct kh_cuda_chunk *c = b->n_chunks ? &b->chunk[b->n_chunks - 1] : NULL;
	uint64_t most = b->budget / (2 * PAIR) - b->n_pairs, cap = n > CHUNK ? n : CHUNK;
	int rc;

	if (c && n <= c->cap - c->used)
		return KH_OK;
	cap = cap > most ? most : cap;
	rc = kh_grow((void **)&b->chunk, &b->cap_chunks, b->n_chunks + 1,
		     sizeof *b->chunk, err);
	if (rc)
		return rc;
	c = &b->chunk[b->n_chunks];
	*c = (struct kh_cuda_chunk) { .cap = cap };
	rc = kh_gpu_room_exact(&c->key, cap * sizeof(uint64_t), err);
	if (!rc)
		rc = kh_gpu_room_exact(&c->bin, cap * sizeof(uint32_t), err);
	b->n_chunks++;
	return rc;
}

/* Under the lock. *p: where the pairs go, unless *spill. */
static int admit(kh_builder *b, uint64_t ticket, uint64_t n, struct kh_cuda_part *p,
		 bool *spill, kh_err *err)
{
	int rc = kh_grow((void **)&b->part, &b->cap_parts, b->n_parts + 1,
			 sizeof *b->part, err);
	struct kh_cuda_chunk *c;

	/* half of the memory is for the gathered copy, or the other half of a sort */
	b->spilling |= (b->n_pairs + n) * 2 * PAIR > b->budget;
	*spill = b->spilling;
	if (!rc && b->spilling)
		return b->store ? KH_OK
				: kh_store_new(&b->store, b->o.memory, b->o.tmp, err);
	if (!rc)
		rc = chunk_room(b, n, err);
	if (rc)
		return rc;
	c = &b->chunk[b->n_chunks - 1];
	*p = (struct kh_cuda_part) { ticket, c->used, n, b->n_chunks - 1 };
	c->used += n;
	b->n_pairs += n;
	b->part[b->n_parts++] = *p;
	return KH_OK;
}

/* Pairs in device memory to the host's store; waits. */
static int spill(kh_builder *b, cudaStream_t stream, kh_gpu_buf *back,
		 const struct kh_cuda_part *p, const uint64_t *key, const uint32_t *bin,
		 kh_err *err)
{
	int rc = kh_gpu_host_room(back, p->n * PAIR + 8, err);
	uint64_t *hkey = back->p;
	uint32_t *hbin;

	if (rc)
		return rc;
	hbin = (uint32_t *)(hkey + p->n);
	rc = KH_GPU(cudaMemcpyAsync(hkey, key, p->n * 8, cudaMemcpyDeviceToHost, stream),
		    err);
	if (!rc)
		rc = KH_GPU(cudaMemcpyAsync(hbin, bin, p->n * 4, cudaMemcpyDeviceToHost,
					    stream),
			    err);
	if (!rc)
		rc = KH_GPU(cudaStreamSynchronize(stream), err);
	return rc ? rc : kh_store_add(b->store, p->ticket, hkey, hbin, p->n, err);
}

static int note_digests(struct kh_cuda_worker *w, const struct kh_cuda_slot *s,
			kh_err *err)
{
	const uint64_t *sum = (const uint64_t *)s->sums.p + 1;
	int rc = kh_grow((void **)&w->digest, &w->cap_digests, w->n_digests + s->n_pieces,
			 sizeof *w->digest, err);

	for (size_t i = 0; i < s->n_pieces && !rc; i++)
		w->digest[w->n_digests++] = (struct kh_cuda_digest) { s->seq[i], sum[i] };
	return rc;
}

int kh_cuda_retire(kh_builder *b, struct kh_cuda_worker *w, struct kh_cuda_slot *s,
		   kh_err *err)
{
	struct kh_cuda_part p = { s->ticket, 0, 0, 0 };
	uint64_t *key = NULL;
	uint32_t *bin = NULL;
	bool spilled;
	int rc;

	if (!s->busy)
		return KH_OK;
	s->busy = false;
	rc = KH_GPU(cudaEventSynchronize(s->done), err);
	if (rc)
		return rc;
	rc = note_digests(w, s, err);
	p.n = *(const uint64_t *)s->sums.p;
	if (rc || p.n == 0)
		return rc;
	kh_monitor_lock(b->m);
	rc = admit(b, s->ticket, p.n, &p, &spilled, err);
	if (!rc && !spilled) {
		key = (uint64_t *)b->chunk[p.chunk].key.p + p.at;
		bin = (uint32_t *)b->chunk[p.chunk].bin.p + p.at;
	}
	kh_monitor_unlock(b->m);
	if (rc)
		return rc;
	if (spilled)
		return spill(b, w->stream, &s->back, &p, s->key.p, s->bin.p, err);
	rc = KH_GPU(cudaMemcpyAsync(key, s->key.p, p.n * 8, cudaMemcpyDeviceToDevice,
				    w->stream),
		    err);
	if (!rc)
		rc = KH_GPU(cudaMemcpyAsync(bin, s->bin.p, p.n * 4,
					    cudaMemcpyDeviceToDevice, w->stream),
			    err);
	return rc;
}

int kh_cuda_retire_all(kh_builder *b, kh_err *err)
{
	int rc = KH_OK;

	for (unsigned i = 0; i < b->o.threads && !rc; i++) {
		struct kh_cuda_worker *w = &b->worker[i];

		for (int j = 0; j < SLOTS && !rc; j++)
			rc = kh_cuda_retire(b, w, &w->slot[(w->next + (unsigned)j) % SLOTS], err);
	}
	for (unsigned i = 0; i < b->o.threads && !rc; i++)
		rc = KH_GPU(cudaStreamSynchronize(b->worker[i].stream), err);
	for (unsigned i = 0; i < b->o.threads; i++)
		for (int j = 0; j < SLOTS; j++) {
			struct kh_cuda_slot *s = &b->worker[i].slot[j];

			kh_gpu_drop(&s->din);
			kh_gpu_drop(&s->room);
			kh_gpu_drop(&s->key);
			kh_gpu_drop(&s->bin);
		}
	return rc;
}

int kh_cuda_spill_all(kh_builder *b, kh_err *err)
{
	kh_gpu_buf back = { .p = NULL };
	int rc = KH_OK;

	for (size_t i = 0; i < b->n_parts && !rc; i++) {
		const struct kh_cuda_part *p = &b->part[i];
		const struct kh_cuda_chunk *c = &b->chunk[p->chunk];

		rc = spill(b, b->worker[0].stream, &back, p,
			   (const uint64_t *)c->key.p + p->at,
			   (const uint32_t *)c->bin.p + p->at, err);
	}
	kh_gpu_drop(&back);
	kh_cuda_drop_chunks(b);
	b->n_parts = 0;
	return rc;
}
