/*
 * store.c - the pairs of the CUDA builder: a store for each device, in chunks of device memory
 *
 * Blocks lie in a store in the order in which they come. When the memory planned for a device
 * (backend/plan.h) has no room for a block, that block and all that follow go to the store of the
 * host (pairs.h), and in the end all do.
 */
#include <config.h>
#include "cuda/builder/builder_in.h"

#include "base/mem.h"

void kh_cuda_drop_chunks(struct kh_cuda_owner *o)
{
	for (size_t i = 0; i < o->n_chunks; i++) {
		kh_gpu_drop(&o->chunk[i].key);
		kh_gpu_drop(&o->chunk[i].bin);
	}
	o->n_chunks = 0;
	o->store_bytes = 0;
}

/* Makes a chunk with room for n more pairs, if the plan and the device allow it. The caller holds
 * the lock. */
static bool chunk_new(struct kh_cuda_owner *o, uint64_t n)
{
	const uint64_t planned = o->plan.slots + o->store_bytes;
	const uint64_t used = atomic_load(&o->memory.used);
	const uint64_t cap = kh_plan_chunk(&o->plan, used > planned ? used : planned,
					   o->store_bytes, o->n_pairs, o->n_stored, n, CHUNK);
	struct kh_cuda_chunk *c;

	if (cap == 0 || kh_grow((void **)&o->chunk, &o->cap_chunks, o->n_chunks + 1,
				sizeof *o->chunk, NULL))
		return false;
	c = &o->chunk[o->n_chunks];
	*c = (struct kh_cuda_chunk) { .cap = cap };
	c->key.budget = c->bin.budget = &o->memory;
	if (kh_gpu_room_exact(&c->key, cap * sizeof(uint64_t), NULL) ||
	    kh_gpu_room_exact(&c->bin, cap * sizeof(uint32_t), NULL)) {
		kh_gpu_drop(&c->key);
		return false;
	}
	o->store_bytes += kh_plan_pairs(cap);
	o->n_chunks++;
	return true;
}

/* Finds a place for p->n pairs; false: they must go to the host. The caller holds the lock, and
 * the device of the owner is the current one. */
static bool admit(struct kh_cuda_owner *o, struct kh_cuda_stored *p)
{
	struct kh_cuda_chunk *c = o->n_chunks ? &o->chunk[o->n_chunks - 1] : NULL;
	bool room = c && p->n <= c->cap - c->used;

	if (room ? !kh_plan_stays(&o->plan, o->store_bytes, o->n_pairs, o->n_stored, p->n)
		 : !chunk_new(o, p->n))
		return false;
	if (kh_grow((void **)&o->stored, &o->cap_stored, o->n_stored + 1, sizeof *o->stored, NULL))
		return false;
	c = &o->chunk[o->n_chunks - 1];
	p->chunk = o->n_chunks - 1;
	p->at = c->used;
	c->used += p->n;
	o->n_pairs += p->n;
	o->stored[o->n_stored++] = *p;
	return true;
}

/* Moves pairs in device memory to the store of the host; waits. */
static int spill(kh_builder *b, cudaStream_t stream, kh_gpu_buf *back,
		 const kh_gpu_pairs *p, uint64_t ticket, kh_err *err)
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

/* Where the pairs of a block lie in the chunks. */
static kh_gpu_pairs pairs_of(const struct kh_cuda_owner *o, const struct kh_cuda_stored *p)
{
	const struct kh_cuda_chunk *c = &o->chunk[p->chunk];

	return (kh_gpu_pairs) { .key = (const uint64_t *)c->key.p + p->at,
			       .bin = (const uint32_t *)c->bin.p + p->at,
			       .n = p->n };
}

/* Can the pairs of `run` stay on the device of owner i? *to: their place. Once those of one block
 * cannot, those of no later block do. */
static int find_place(kh_builder *b, const kh_gpu_pairs *run, unsigned i, uint64_t ticket,
		      kh_gpu_pairs *to, bool *stay, kh_err *err)
{
	struct kh_cuda_owner *o = &b->owner[i];
	struct kh_cuda_stored p = { .ticket = ticket, .n = run->n };
	int rc;

	pthread_mutex_lock(&b->lock);
	rc = kh_gpu_use(o->device, err);
	b->spilling = b->spilling || (!rc && !admit(o, &p));
	*stay = !b->spilling;
	if (!rc && *stay)
		*to = pairs_of(o, &p);
	else if (!rc && !b->store)
		rc = kh_store_new(&b->store, b->host.memory, b->o.tmp, err);
	pthread_mutex_unlock(&b->lock);
	return rc;
}

/* Moves a run of a block's pairs to the store of owner i, or to that of the host. */
static int give(kh_builder *b, struct kh_cuda_worker *w, struct kh_cuda_slot *slot,
		const kh_gpu_pairs *run, unsigned i, kh_err *err)
{
	const int device = b->owner[i].device;
	kh_gpu_pairs to = { .n = 0 };
	bool stay = false;
	int rc = find_place(b, run, i, slot->ticket, &to, &stay, err);

	if (rc || (rc = kh_gpu_use(w->device, err)))
		return rc;
	if (!stay)
		return spill(b, w->stream, &slot->back, run, slot->ticket * b->n + i, err);
	rc = kh_gpu_copy((void *)to.key, device, run->key, w->device, run->n * 8, w->stream, err);
	return rc ? rc : kh_gpu_copy((void *)to.bin, device, run->bin, w->device, run->n * 4,
				     w->stream, err);
}

int kh_cuda_retire(kh_builder *b, struct kh_cuda_worker *w, struct kh_cuda_slot *s,
		   kh_err *err)
{
	const uint64_t *sum = s->sums.p;
	kh_gpu_pairs run = { .n = 0 };
	int rc;

	if (!s->busy)
		return KH_OK;
	s->busy = false;
	rc = KH_GPU(cudaEventSynchronize(s->done), err);
	if (!rc && s->kept) {
		for (unsigned p = 0; p < KH_RANGES; p++)
			s->kept->count[p] = (uint32_t)sum[1 + p];
		return KH_OK;
	}
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

static void drop_rooms(struct kh_cuda_worker *w)
{
	if (cudaSetDevice(w->device) != cudaSuccess)
		return;
	for (int j = 0; j < SLOTS; j++)
		KH_GPU_DROP(w->slot[j].on_device);
}

int kh_cuda_retire_all(kh_builder *b, kh_err *err)
{
	const double began = kh_seconds();
	int rc = KH_OK;

	for (unsigned i = 0; i < b->o.on.threads && !rc; i++) {
		struct kh_cuda_worker *w = &b->worker[i];

		rc = kh_gpu_use(w->device, err);
		for (int j = 0; j < SLOTS && !rc; j++)
			rc = kh_cuda_retire(b, w, &w->slot[(w->next + (unsigned)j) % SLOTS],
					    err);
	}
	for (unsigned i = 0; i < b->o.on.threads && !rc; i++)
		if (!(rc = kh_gpu_use(b->worker[i].device, err)))
			rc = KH_GPU(cudaStreamSynchronize(b->worker[i].stream), err);
	for (unsigned i = 0; i < b->o.on.threads; i++)
		drop_rooms(&b->worker[i]);
	for (unsigned i = 0; i < b->n; i++)
		if (cudaSetDevice(b->owner[i].device) == cudaSuccess)
			kh_gpu_drop(&b->owner[i].slab);
	for (unsigned i = 0; i < b->n; i++)
		b->owner[i].times.wait += kh_seconds() - began;
	return rc;
}

/* --- all to the host ----------------------------------------------------------------- */
enum { SPILLERS = 8 };                  /* threads of a device */

struct spilling {
	kh_builder *b;
	unsigned owner;
	_Atomic size_t next;            /* of the blocks that it has stored */
};

static int spill_worker(void *arg, unsigned worker, kh_err *err)
{
	struct spilling *x = arg;
	kh_builder *b = x->b;
	struct kh_cuda_owner *o = &b->owner[x->owner];
	kh_gpu_buf back = { .budget = &b->pinned };
	cudaStream_t stream = NULL;
	int rc = kh_gpu_use(o->device, err);

	(void)worker;
	if (!rc)
		rc = KH_GPU(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), err);
	while (!rc) {
		const size_t i = x->next++;

		if (i >= o->n_stored)
			break;
		const kh_gpu_pairs p = pairs_of(o, &o->stored[i]);

		rc = spill(b, stream, &back, &p, o->stored[i].ticket * b->n + x->owner, err);
	}
	kh_gpu_drop(&back);
	if (stream)
		cudaStreamDestroy(stream);
	return rc;
}

int kh_cuda_spill_all(kh_builder *b, kh_err *err)
{
	int rc = b->store ? KH_OK : kh_store_new(&b->store, b->host.memory, b->o.tmp, err);

	for (unsigned i = 0; i < b->n && !rc; i++) {
		struct kh_cuda_owner *o = &b->owner[i];
		struct spilling x = { .b = b, .owner = i };

		rc = kh_side_by_side(b->o.on.threads < SPILLERS ? b->o.on.threads : SPILLERS,
					  spill_worker, &x, err);
		if (!rc)
			rc = kh_gpu_use(o->device, err);
		if (rc)
			break;
		kh_cuda_drop_chunks(o);
		o->n_stored = 0;
	}
	return rc;
}
