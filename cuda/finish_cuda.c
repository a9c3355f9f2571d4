/*
 * finish_cuda.c - the end of a build: waves of ranges, whose images are handed over in order
 */
#include <config.h>
#include "finish_in.h"

#include <inttypes.h>

struct finisher {
	struct kh_wave w;
	kh_gpu_buf out[2];              /* pinned */
};

/* --- delivery ------------------------------------------------------------------------- */
static int fetch(struct finisher *x, unsigned p, int i, kh_err *err)
{
	struct kh_wave *w = &x->w;
	const kh_gpu_range *r = (const kh_gpu_range *)w->hrange.p + p;
	const kh_range range = kh_wave_range(w, p);
	int rc = kh_gpu_host_room(&x->out[i], kh_range_bytes(&range), err);

	if (!rc)
		rc = KH_GPU(cudaMemcpyAsync(x->out[i].p,
					    (const kh_bucket *)w->image.p + r->bucket,
					    kh_range_bytes(&range), cudaMemcpyDeviceToHost,
					    w->stream),
			    err);
	return rc ? rc : KH_GPU(cudaEventRecord(w->ready[i], w->stream), err);
}

/* While one range is written the next one is copied. */
static int deliver(struct finisher *x, kh_err *err)
{
	struct kh_wave *w = &x->w;
	int rc = w->first < w->next ? fetch(x, w->first, 0, err) : KH_OK;

	for (unsigned p = w->first; p < w->next && !rc; p++) {
		int i = (int)(p - w->first) % 2;
		kh_image im = { .range = kh_wave_range(w, p) };

		if (p + 1 < w->next)
			rc = fetch(x, p + 1, !i, err);
		if (!rc)
			rc = KH_GPU(cudaEventSynchronize(w->ready[i]), err);
		im.bucket = x->out[i].p;
		im.loc = (uint32_t *)(im.bucket + im.range.buckets + 1);
		im.locations = im.range.n_locs - im.range.over;
		if (!rc)
			rc = w->f->sink(w->f->arg, &im, err);
	}
	return rc;
}

/* The sorted ranges, as many at a time as there is room for. */
static int encode_all(struct finisher *x, kh_err *err)
{
	struct kh_wave *w = &x->w;
	int rc = KH_OK;

	for (w->next = w->from; w->next < w->to && !rc;) {
		rc = kh_wave_encode(w, err);
		if (!rc && w->first == 0 && w->next == KH_RANGES && w->f->ready)
			w->f->ready(w->f->arg);
		if (!rc)
			rc = deliver(x, err);
	}
	return rc;
}

/* --- finish ------------------------------------------------------------------------- */
static int run_wave(struct finisher *x, kh_err *err)
{
	struct kh_wave *w = &x->w;
	int rc = kh_wave_gather(w, err);

	if (!rc)
		rc = kh_wave_sort(w, err);
	w->b->times.pairs += w->sort.n;
	return rc ? rc : encode_all(x, err);
}

kh_cuda_times kh_cuda_builder_times(const kh_builder *b)
{
	return b->times;
}

/* Waves of ranges whose pairs can be sorted in the memory there is. */
static int run_waves(struct finisher *x, kh_err *err)
{
	struct kh_wave *w = &x->w;
	kh_builder *b = w->b;
	const uint64_t most = b->budget / (2 * PAIR);
	int rc = KH_OK;

	for (w->from = 0; w->from < KH_RANGES && !rc; w->from = w->to) {
		uint64_t n = kh_store_count(b->store, w->from);

		if (n > most)
			return kh_fail(err, KH_ENOMEM,
				       "one of 256 ranges has %" PRIu64
				       " pairs: --gpu-memory must "
				       "be %" PRIu64 " bytes at least",
				       n, n * 2 * PAIR);
		for (w->to = w->from + 1; w->to < KH_RANGES; w->to++) {
			n += kh_store_count(b->store, w->to);
			if (n > most)
				break;
		}
		rc = run_wave(x, err);
	}
	return rc;
}

int kh_cuda_builder_finish(kh_builder *b, const kh_finish *f, kh_err *err)
{
	struct finisher x = { .w = { .b = b, .f = f, .to = KH_RANGES } };
	int rc = kh_gpu_use(b->device, err);

	if (!rc)
		rc = kh_cuda_retire_all(b, err);
	if (!rc && b->spilling)
		rc = kh_cuda_spill_all(b, err);
	if (!rc)
		rc = kh_wave_open(&x.w, err);
	if (!rc)
		rc = b->spilling ? run_waves(&x, err) : run_wave(&x, err);
	kh_wave_close(&x.w);
	kh_gpu_drop(&x.out[0]);
	kh_gpu_drop(&x.out[1]);
	return rc;
}
