/*
 * finish_sort.c - the end of a build: gathers the pairs of a wave in order, and sorts them
 */
#include <config.h>
#include "cuda/builder/finish_in.h"

#include <stdlib.h>
#include "base/mem.h"

/* --- from the device's own store ---------------------------------------------------- */
static int by_ticket(const void *a, const void *b)
{
	uint64_t x = ((const struct kh_cuda_stored *)a)->ticket,
		 y = ((const struct kh_cuda_stored *)b)->ticket;

	return (x > y) - (x < y);
}

/* Copies `total` pairs, from n places, to side 0, and waits. */
static int gather(struct kh_wave *w, const kh_gpu_pairs *from, size_t n, uint64_t total,
		  kh_err *err)
{
	struct kh_wave_pairs *p = &w->pairs;
	int rc = kh_wave_put(w, &p->sources, from, n * sizeof *from, err);
	const kh_gpu_gather g = { .part = p->sources.p,
				  .n = (uint32_t)n,
				  .total = total,
				  .key = p->key[0].p,
				  .bin = p->bin[0].p };

	if (!rc)
		rc = kh_gpu_check(kh_gpu_gather_run(&g, w->stream), "gather kernel", err);
	return rc ? rc : kh_wave_wait(w, err);
}

static int gather_device(struct kh_wave *w, kh_err *err)
{
	struct kh_cuda_owner *o = w->owner;
	kh_gpu_pairs *from = kh_array(o->n_stored, sizeof *from, err);
	uint64_t n = 0;
	int rc = from ? KH_OK : KH_ENOMEM;

	if (o->n_stored)
		qsort(o->stored, o->n_stored, sizeof *o->stored, by_ticket);
	for (size_t i = 0; i < o->n_stored && !rc; i++) {
		const struct kh_cuda_stored *p = &o->stored[i];
		const struct kh_cuda_chunk *c = &o->chunk[p->chunk];

		from[i] = (kh_gpu_pairs) { .key = (const uint64_t *)c->key.p + p->at,
					   .bin = (const uint32_t *)c->bin.p + p->at,
					   .n = p->n,
					   .to = n };
		n += p->n;
	}
	if (!rc && !(rc = kh_wave_room(w, n, 0, err)))
		rc = gather(w, from, o->n_stored, n, err);
	free(from);
	w->pairs.sort.n = n;
	return rc;
}

/* --- from the host's store ----------------------------------------------------------- */
enum { LOADERS = 8 };                   /* threads of a device: more do not copy faster */

/* Several threads load the ranges of a wave, as gathering the slices of a range takes most of the
 * time. */
struct loading {
	struct kh_wave *w;
	uint64_t at[KH_RANGES + 1];     /* where each range begins among the wave's pairs */
	uint64_t most;                  /* pairs of the largest range */
	_Atomic unsigned next;
};

/* Copies from pageable memory, which has been read when the call returns. */
static int load_range(const struct loading *x, unsigned r, uint64_t *key, uint32_t *bin,
		      cudaStream_t stream, kh_err *err)
{
	const struct kh_wave_pairs *p = &x->w->pairs;
	const uint64_t at = x->at[r], n = x->at[r + 1] - at;
	int rc = kh_store_gather(x->w->b->store, r, key, bin, err);

	if (rc || n == 0)
		return rc;
	for (uint64_t i = 0; i < n; i++)
		key[i] |= (uint64_t)r << 40;
	rc = KH_GPU(cudaMemcpyAsync((uint64_t *)p->key[0].p + at, key, n * 8,
				    cudaMemcpyHostToDevice, stream), err);
	if (!rc)
		rc = KH_GPU(cudaMemcpyAsync((uint32_t *)p->bin[0].p + at, bin, n * 4,
					    cudaMemcpyHostToDevice, stream), err);
	return rc ? rc : KH_GPU(cudaStreamSynchronize(stream), err);
}

static int load_worker(void *arg, unsigned i, kh_err *err)
{
	struct loading *x = arg;
	cudaStream_t stream = NULL;
	uint64_t *key = kh_array(x->most, sizeof *key, err);
	uint32_t *bin = kh_array(x->most, sizeof *bin, err);
	int rc = key && bin ? kh_gpu_use(x->w->owner->device, err) : KH_ENOMEM;

	(void)i;
	if (!rc)
		rc = KH_GPU(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), err);
	while (!rc) {
		const unsigned r = x->next++;

		if (r >= x->w->to)
			break;
		rc = load_range(x, r, key, bin, stream, err);
	}
	if (stream)
		cudaStreamDestroy(stream);
	free(key);
	free(bin);
	return rc;
}

/* To side 0. */
static int load_host(struct kh_wave *w, kh_err *err)
{
	struct loading x = { .w = w, .next = w->from };
	const unsigned ranges = w->to - w->from, threads = w->b->o.on.threads / w->b->n + 1;
	uint64_t n = 0;
	int rc;

	for (unsigned r = w->from; r < w->to; r++) {
		const uint64_t m = kh_store_count(w->b->store, r);

		x.at[r] = n;
		n += m;
		x.most = m > x.most ? m : x.most;
	}
	x.at[w->to] = n;
	w->pairs.sort.n = n;
	rc = kh_wave_room(w, n, 0, err);
	if (!rc)
		rc = kh_side_by_side(threads < ranges ? threads < LOADERS ? threads : LOADERS
							   : ranges, load_worker, &x, err);
	return rc;
}

/* Pairs that are not in the store of the device: they lie in order where they come. */
static int gather_wave(struct kh_wave *w, kh_err *err)
{
	int rc = w->b->again ? kh_wave_sample_again(w, err) : load_host(w, err);

	return rc ? rc : kh_gpu_use(w->owner->device, err);
}

int kh_wave_gather(struct kh_wave *w, kh_err *err)
{
	const double began = kh_seconds();
	int rc = w->b->spilling ? gather_wave(w, err) : gather_device(w, err);

	w->owner->times.gather += kh_seconds() - began;
	return rc;
}

/* --- sort --------------------------------------------------------------------------- */
static int run(struct kh_wave *w, kh_err *err)
{
	return kh_gpu_check(kh_gpu_sort_run(&w->pairs.sort, w->stream), "sort", err);
}

/* Makes the scratch that the sort needs, then sorts. */
static int sort(struct kh_wave *w, kh_err *err)
{
	struct kh_wave_pairs *p = &w->pairs;
	int rc = run(w, err);

	if (!rc)
		rc = kh_gpu_room_exact(&p->scratch, p->sort.scratch_bytes, err);
	p->sort.scratch = p->scratch.p;
	p->sort.scratch_bytes = p->scratch.bytes;
	return rc ? rc : run(w, err);
}

int kh_wave_sort(struct kh_wave *w, bool by_range, kh_err *err)
{
	const double began = kh_seconds();
	struct kh_wave_pairs *p = &w->pairs;
	const uint64_t n = p->sort.n;
	int rc;

	kh_wave_make_free(w, kh_plan_pairs(n) + kh_plan_round(w->owner->plan.sort_scratch(n)),
			  KH_WAVE_GATHERED);
	rc = kh_wave_room(w, n, 1, err);
	if (rc)
		return rc;
	p->sort = (kh_gpu_sort) { .key = p->key[0].p,
				  .key2 = p->key[1].p,
				  .bin = p->bin[0].p,
				  .bin2 = p->bin[1].p,
				  .n = n,
				  .from = by_range ? KH_RANGE_BIT : 0,
				  .bits = p->bits };
	rc = sort(w, err);
	if (!rc)
		rc = kh_gpu_check(kh_gpu_bounds(p->sort.key, n, p->at.p, w->stream),
				  "bounds kernel", err);
	if (!rc)
		rc = kh_wave_get(w, p->hat.p, p->at.p, (KH_RANGES + 1) * 8, err);
	*(by_range ? &w->owner->times.split : &w->owner->times.sort) +=
		kh_seconds() - began;
	return rc;
}
