/*
 * finish_sort.c - the end of a build: a wave's pairs are gathered in order, and sorted
 */
#include <config.h>
#include "finish_in.h"

#include <stdlib.h>
#include "mem.h"

/* --- a wave --------------------------------------------------------------------------- */
void kh_wave_close(struct kh_wave *w)
{
	kh_gpu_buf *all[] = { &w->key[0],     &w->key[1],      &w->bin[0],
			      &w->bin[1],     &w->room,        &w->at,
			      &w->hat,        &w->range,       &w->head,
			      &w->entry,      &w->lead,        &w->slot,
			      &w->len,        &w->several,     &w->many,
			      &w->counts,     &w->start,       &w->scan,
			      &w->image,      &w->hrange,      &w->hcounts,
			      &w->bins_first, &w->bins_taxon,  &w->tree_parent,
			      &w->tree_end,   &w->remap_first, &w->remap_to,
			      &w->parts };

	if (!w->share || cudaSetDevice(w->share->device) != cudaSuccess)
		return;
	if (w->stream)
		cudaStreamSynchronize(w->stream);
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		kh_gpu_drop(all[i]);
	for (int i = 0; i < 2; i++)
		if (w->ready[i])
			cudaEventDestroy(w->ready[i]);
	if (w->stream)
		cudaStreamDestroy(w->stream);
}

int kh_wave_put(struct kh_wave *w, kh_gpu_buf *to, const void *p, size_t bytes, kh_err *err)
{
	int rc = kh_gpu_room_exact(to, bytes ? bytes : 1, err);

	return rc || !bytes ? rc
			    : KH_GPU(cudaMemcpyAsync(to->p, p, bytes,
						     cudaMemcpyHostToDevice, w->stream),
				     err);
}

int kh_wave_open(struct kh_wave *w, kh_err *err)
{
	const kh_finish *f = w->f;
	int rc = kh_gpu_use(w->share->device, err);

	if (!rc)
		rc = KH_GPU(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking),
			    err);
	for (int i = 0; i < 2 && !rc; i++)
		rc = KH_GPU(
			cudaEventCreateWithFlags(&w->ready[i], cudaEventDisableTiming),
			err);
	if (rc ||
	    (rc = kh_wave_put(w, &w->bins_first, f->bins->first, (size_t)f->bins->n * 4, err)) ||
	    (rc = kh_wave_put(w, &w->bins_taxon, f->bins->taxon, (size_t)f->bins->n * 4, err)) ||
	    (rc = kh_wave_put(w, &w->tree_parent, f->tax->parent, (size_t)f->tax->n * 4, err)) ||
	    (rc = kh_wave_put(w, &w->tree_end, f->tax->end, (size_t)f->tax->n * 4, err)) ||
	    (rc = kh_gpu_room(&w->at, (KH_RANGES + 1) * 8, err)) ||
	    (rc = kh_gpu_host_room(&w->hat, (KH_RANGES + 1) * 8, err)) ||
	    (rc = kh_gpu_room(&w->range, (KH_RANGES + 1) * sizeof(kh_gpu_range), err)) ||
	    (rc = kh_gpu_host_room(&w->hrange, (KH_RANGES + 1) * sizeof(kh_gpu_range),
				   err)) ||
	    (rc = kh_gpu_room(&w->counts, 64, err)) ||
	    (rc = kh_gpu_host_room(&w->hcounts, 64, err)))
		return rc;
	/* what has come from other ranks by way of the host is mapped */
	if (f->remap && !(w->b->o.comm && w->b->spilling)) {
		size_t n = f->remap->old.n;

		if ((rc = kh_wave_put(w, &w->remap_first, f->remap->old.first, n * 4, err)) ||
		    (rc = kh_wave_put(w, &w->remap_to, f->remap->to, n * 4, err)))
			return rc;
		w->remap = (kh_gpu_remap) { w->remap_first.p, w->remap_to.p,
					    (uint32_t)n };
	}
	w->bound = w->hat.p;
	w->bits = KH_KEY_BITS + (w->remap.n > 0);
	w->e.bins = (kh_bins) { f->bins->n, w->bins_first.p, w->bins_taxon.p };
	w->e.tree = (kh_tree) { f->tax->n, w->tree_parent.p, w->tree_end.p, NULL, NULL };
	w->e.range = w->range.p;
	return KH_OK;
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

/* --- gather ------------------------------------------------------------------------- */
/* --- gather and sort --- */
static int by_ticket(const void *a, const void *b)
{
	uint64_t x = ((const struct kh_cuda_part *)a)->ticket,
		 y = ((const struct kh_cuda_part *)b)->ticket;

	return (x > y) - (x < y);
}

int kh_wave_room(struct kh_wave *w, uint64_t n, int i, kh_err *err)
{
	int rc = kh_gpu_room_exact(&w->key[i], n * 8, err);

	return rc ? rc : kh_gpu_room_exact(&w->bin[i], n * 4, err);
}

/* All pairs of the device store, in the order of tickets; the store is given back. */
static int gather_device(struct kh_wave *w, kh_err *err)
{
	struct kh_cuda_share *s = w->share;
	kh_gpu_part *part = kh_array(s->n_parts, sizeof *part, err);
	uint64_t n = 0;
	int rc = part ? KH_OK : KH_ENOMEM;

	if (s->n_parts)
		qsort(s->part, s->n_parts, sizeof *s->part, by_ticket);
	for (size_t i = 0; i < s->n_parts && !rc; i++) {
		const struct kh_cuda_part *p = &s->part[i];
		const struct kh_cuda_chunk *c = &s->chunk[p->chunk];

		part[i] = (kh_gpu_part) { (const uint64_t *)c->key.p + p->at,
					  (const uint32_t *)c->bin.p + p->at, p->n, n };
		n += p->n;
	}
	if (!rc && !(rc = kh_wave_room(w, n ? n : 1, 0, err)) &&
	    !(rc = kh_wave_put(w, &w->parts, part, s->n_parts * sizeof *part, err)))
		rc = kh_gpu_check(kh_gpu_gather(w->parts.p, (uint32_t)s->n_parts,
						&w->remap, w->key[0].p, w->bin[0].p,
						w->stream),
				  "gather kernel", err);
	if (!rc)
		rc = kh_wave_wait(w, err);
	free(part);
	w->sort.n = n;
	return rc;
}

/* The pairs of the wave's ranges from the host's store. */
static int gather_host(struct kh_wave *w, kh_err *err)
{
	kh_store *st = w->b->store;
	uint64_t n = 0, most = 0;
	uint64_t *key = NULL;
	uint32_t *bin = NULL;
	kh_gpu_part *part = kh_array(1, sizeof *part, err);
	int rc = part ? KH_OK : KH_ENOMEM;

	for (unsigned p = w->from; p < w->to; p++) {
		uint64_t m = kh_store_count(st, p);

		n += m;
		most = m > most ? m : most;
	}
	if (!rc && (!(key = kh_array(most, sizeof *key, err)) ||
		    !(bin = kh_array(most, sizeof *bin, err))))
		rc = KH_ENOMEM;
	if (!rc && !(rc = kh_wave_room(w, n ? n : 1, 0, err)))
		rc = kh_wave_room(w, n ? n : 1, 1, err);
	w->sort.n = n;
	n = 0;
	for (unsigned p = w->from; p < w->to && !rc; p++) {
		uint64_t m = kh_store_count(st, p);

		if ((rc = kh_store_gather(st, p, key, bin, err)))
			break;
		for (uint64_t i = 0; i < m; i++)
			key[i] |= (uint64_t)p << 40;
		rc = KH_GPU(cudaMemcpyAsync((uint64_t *)w->key[1].p + n, key, m * 8,
					    cudaMemcpyHostToDevice, w->stream), err);
		if (!rc)
			rc = KH_GPU(cudaMemcpyAsync((uint32_t *)w->bin[1].p + n, bin,
						    m * 4, cudaMemcpyHostToDevice,
						    w->stream),
				    err);
		if (!rc)
			rc = kh_wave_wait(w, err);
		n += m;
	}
	if (!rc) {
		*part = (kh_gpu_part) { w->key[1].p, w->bin[1].p, n, 0 };
		rc = kh_wave_put(w, &w->parts, part, sizeof *part, err);
	}
	if (!rc)
		rc = kh_gpu_check(kh_gpu_gather(w->parts.p, 1, &w->remap, w->key[0].p,
						w->bin[0].p, w->stream),
				  "gather kernel", err);
	if (!rc)
		rc = kh_wave_wait(w, err);
	free(key);
	free(bin);
	free(part);
	return rc;
}

int kh_wave_gather(struct kh_wave *w, kh_err *err)
{
	const double began = kh_seconds();
	int rc = w->b->spilling ? gather_host(w, err) : gather_device(w, err);

	w->share->times.gather += kh_seconds() - began;
	return rc;
}

/* --- sort --------------------------------------------------------------------------- */
int kh_wave_make_free(struct kh_wave *w, uint64_t bytes, bool sorted, kh_err *err)
{
	uint64_t room;
	int rc = kh_gpu_free(&room, err);

	if (w->b->o.gpu_memory)
		room = 0;
	if (rc || room > bytes + SPARE)
		return rc;
	kh_cuda_drop_chunks(w->share);
	if (!sorted)
		return rc;
	kh_gpu_drop(&w->key[w->sort.key == w->key[0].p]);
	kh_gpu_drop(&w->bin[w->sort.bin == w->bin[0].p]);
	kh_gpu_drop(&w->room);
	return rc;
}

static int run(struct kh_wave *w, bool by_range, kh_err *err)
{
	return kh_gpu_check(by_range ? kh_gpu_by_range(&w->sort, w->stream)
				     : kh_gpu_sort_run(&w->sort, w->stream),
			    "sort", err);
}

int kh_wave_sort(struct kh_wave *w, bool by_range, kh_err *err)
{
	const double began = kh_seconds();
	kh_gpu_sort *s = &w->sort;
	int rc = kh_wave_make_free(w, s->n * PAIR, false, err);

	if (!rc)
		rc = kh_wave_room(w, s->n ? s->n : 1, 1, err);
	if (rc)
		return rc;
	*s = (kh_gpu_sort) { w->key[0].p, w->key[1].p, w->bin[0].p, w->bin[1].p, s->n,
			     w->bits, NULL, 0 };
	rc = run(w, by_range, err);
	if (!rc)
		rc = kh_gpu_room(&w->room, s->room_bytes, err);
	s->room = w->room.p;
	s->room_bytes = w->room.bytes;
	if (!rc)
		rc = run(w, by_range, err);
	if (!rc)
		rc = kh_gpu_check(kh_gpu_bounds(s->key, s->n, w->at.p, w->stream),
				  "bounds kernel", err);
	if (!rc)
		rc = kh_wave_get(w, w->bound, w->at.p, (KH_RANGES + 1) * 8, err);
	*(by_range ? &w->share->times.split : &w->share->times.sort) +=
		kh_seconds() - began;
	return rc;
}
