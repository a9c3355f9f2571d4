/* wave.c - what a wave of ranges has on its device, opened and given back (finish_in.h) */
#include <config.h>
#include "cuda/builder/finish_in.h"

#include <stdlib.h>
#include "base/mem.h"

/* --- buffers ------------------------------------------------------------------------ */
static void set_budgets(struct kh_wave *w)
{
	kh_gpu_budget *device = &w->owner->memory, *host = &w->b->pinned;

	KH_GPU_BUDGET(w->pairs.all, device);
	KH_GPU_BUDGET(w->tables.all, device);
	KH_GPU_BUDGET(w->images.all, device);
	KH_GPU_BUDGET(w->seeds.all, device);
	w->pairs.at.budget = w->images.range.budget = w->images.counts.budget = device;
	w->pairs.hat.budget = w->images.hrange.budget = w->images.hcounts.budget = host;
}

void kh_wave_reset(struct kh_wave *w, unsigned from, unsigned to)
{
	KH_GPU_DROP(w->pairs.all);
	KH_GPU_DROP(w->images.all);
	KH_GPU_DROP(w->seeds.all);
	w->pairs.sort.n = 0;
	w->from = w->images.first = w->images.next = from;
	w->to = to;
	w->lacks = false;
}

void kh_wave_close(struct kh_wave *w)
{
	if (!w->owner || cudaSetDevice(w->owner->device) != cudaSuccess)
		return;
	if (w->stream)
		cudaStreamSynchronize(w->stream);
	KH_GPU_DROP(w->pairs.all);
	KH_GPU_DROP(w->tables.all);
	KH_GPU_DROP(w->images.all);
	KH_GPU_DROP(w->seeds.all);
	kh_gpu_drop(&w->pairs.at);
	kh_gpu_drop(&w->pairs.hat);
	kh_gpu_drop(&w->images.range);
	kh_gpu_drop(&w->images.hrange);
	kh_gpu_drop(&w->images.counts);
	kh_gpu_drop(&w->images.hcounts);
	if (w->stream)
		cudaStreamDestroy(w->stream);
}

int kh_wave_room(struct kh_wave *w, uint64_t n, int side, kh_err *err)
{
	int rc;

	n = n ? n : 1;
	/* gives back first what is too small, as there may not be room for both */
	if (n * 8 > w->pairs.key[side].bytes || n * 4 > w->pairs.bin[side].bytes) {
		kh_gpu_drop(&w->pairs.key[side]);
		kh_gpu_drop(&w->pairs.bin[side]);
	}
	rc = kh_gpu_room_exact(&w->pairs.key[side], n * 8, err);
	return rc ? rc : kh_gpu_room_exact(&w->pairs.bin[side], n * 4, err);
}

void kh_wave_make_free(struct kh_wave *w, uint64_t bytes, enum kh_wave_state s)
{
	struct kh_wave_pairs *p = &w->pairs;

	if (kh_gpu_budget_left(&w->owner->memory) >= bytes)
		return;
	kh_cuda_drop_chunks(w->owner);
	if (s != KH_WAVE_SORTED)
		return;
	kh_gpu_drop(&p->key[p->sort.key == p->key[0].p]);
	kh_gpu_drop(&p->bin[p->sort.bin == p->bin[0].p]);
	kh_gpu_drop(&p->scratch);
}

bool kh_wave_has_side(const struct kh_wave *w)
{
	const struct kh_wave_pairs *p = &w->pairs;

	return p->key[p->sort.key == p->key[0].p].p && p->bin[p->sort.bin == p->bin[0].p].p;
}

/* --- copies ------------------------------------------------------------------------- */
int kh_wave_put(struct kh_wave *w, kh_gpu_buf *to, const void *p, size_t bytes, kh_err *err)
{
	int rc = kh_gpu_room_exact(to, bytes ? bytes : 1, err);

	return rc || !bytes ? rc
			    : KH_GPU(cudaMemcpyAsync(to->p, p, bytes,
						     cudaMemcpyHostToDevice, w->stream),
				     err);
}

int kh_wave_wait(struct kh_wave *w, kh_err *err)
{
	return KH_GPU(cudaStreamSynchronize(w->stream), err);
}

int kh_wave_get(struct kh_wave *w, void *to, const void *from, size_t bytes, kh_err *err)
{
	int rc = KH_GPU(
		cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, w->stream), err);

	return rc ? rc : kh_wave_wait(w, err);
}

int kh_wave_put_ranges(struct kh_wave *w, kh_err *err)
{
	return KH_GPU(cudaMemcpyAsync(w->images.range.p, w->images.hrange.p,
				      (KH_RANGES + 1) * sizeof(kh_gpu_range),
				      cudaMemcpyHostToDevice, w->stream),
		      err);
}

int kh_wave_get_ranges(struct kh_wave *w, kh_err *err)
{
	return kh_wave_get(w, w->images.hrange.p, w->images.range.p,
			   (KH_RANGES + 1) * sizeof(kh_gpu_range), err);
}

/* --- open ---------------------------------------------------------------------------- */
/* Numbers by range, on the device and on the host. */
static int open_counts(struct kh_wave *w, kh_err *err)
{
	struct kh_wave_images *im = &w->images;
	const size_t ranges = (KH_RANGES + 1) * sizeof(kh_gpu_range);
	int rc;

	if ((rc = kh_gpu_room(&w->pairs.at, (KH_RANGES + 1) * 8, err)) ||
	    (rc = kh_gpu_host_room(&w->pairs.hat, (KH_RANGES + 1) * 8, err)) ||
	    (rc = kh_gpu_room(&im->range, ranges, err)) ||
	    (rc = kh_gpu_host_room(&im->hrange, ranges, err)) ||
	    (rc = kh_gpu_room(&im->counts, 64, err)) ||
	    (rc = kh_gpu_host_room(&im->hcounts, 64, err)))
		return rc;
	w->pairs.bound = w->pairs.hat.p;
	im->e.range = im->range.p;
	return KH_OK;
}

static int open_tables(struct kh_wave *w, kh_err *err)
{
	const kh_bins *bins = w->f->bins;
	struct kh_wave_tables *t = &w->tables;
	int rc;

	const size_t first_bytes = ((size_t)bins->n_targets + 1) * 4;
	if ((rc = kh_wave_put(w, &t->bins_first, bins->first, first_bytes, err)) ||
	    (rc = kh_wave_put(w, &t->bins_species, bins->species,
			      (size_t)bins->n_targets * 4, err)))
		return rc;
	w->images.e.bins = *bins;
	w->images.e.bins.first = t->bins_first.p;
	w->images.e.bins.species = t->bins_species.p;
	return KH_OK;
}

int kh_wave_open(struct kh_wave *w, kh_err *err)
{
	int rc = kh_gpu_use(w->owner->device, err);

	set_budgets(w);
	if (!rc)
		rc = KH_GPU(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking), err);
	if (!rc)
		rc = open_counts(w, err);
	if (!rc)
		rc = open_tables(w, err);
	w->pairs.bits = KH_KEY_BITS;
	/* their memory is counted as used from now on */
	w->owner->plan.slots = 0;
	w->owner->plan.tables = atomic_load(&w->owner->memory.used) - w->owner->store_bytes;
	return rc;
}
