/*
 * finish_cuda.c - the end of a build: every device makes the index of its ranges
 *
 * One thread a device, between the steps that all take together: order, exchange,
 * sort and encode, then the images are handed over in the order of ranges.  Spilled pairs
 * come from the host in rounds of a wave a device.
 */
#include <config.h>
#include "finish_in.h"

#include <inttypes.h>
#include <stdlib.h>
#include "mem.h"

struct finisher {
	kh_builder *b;
	const kh_finish *f;
	struct kh_wave *wave;           /* one a share */
	kh_gpu_buf out[2];              /* pinned: of all devices */
};

static int crew(struct finisher *x, kh_worker_fn *fn, kh_err *err)
{
	return kh_crew_run(x->b->m, x->b->n, fn, x, err);
}

/* --- delivery ------------------------------------------------------------------------- */
static int fetch(struct finisher *x, struct kh_wave *w, unsigned p, int i, kh_err *err)
{
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
static int deliver(struct finisher *x, struct kh_wave *w, kh_err *err)
{
	int rc = w->first < w->next ? fetch(x, w, w->first, 0, err) : KH_OK;

	for (unsigned p = w->first; p < w->next && !rc; p++) {
		int i = (int)(p - w->first) % 2;
		kh_image im = { .range = kh_wave_range(w, p) };

		rc = kh_comm_check(x->b->o.comm, err);
		if (!rc && p + 1 < w->next)
			rc = fetch(x, w, p + 1, !i, err);
		if (!rc)
			rc = KH_GPU(cudaEventSynchronize(w->ready[i]), err);
		im.bucket = x->out[i].p;
		im.loc = (uint32_t *)(im.bucket + im.range.buckets + 1);
		im.locations = im.range.n_locs - im.range.over;
		if (!rc)
			rc = x->f->sink(x->f->arg, &im, err);
	}
	return rc;
}

/* The images of all waves; and what of their ranges there was no room for at first. */
static int hand_over(struct finisher *x, kh_err *err)
{
	int rc = KH_OK;

	for (unsigned i = 0; i < x->b->n && !rc; i++) {
		struct kh_wave *w = &x->wave[i];

		rc = kh_gpu_use(w->share->device, err);
		if (!rc)
			rc = deliver(x, w, err);
		while (!rc && w->next < w->to)
			if (!(rc = kh_wave_encode(w, err)))
				rc = deliver(x, w, err);
	}
	return rc;
}

/* --- steps, by a thread a device -------------------------------------------------------- */
static int open_worker(void *arg, unsigned i, kh_err *err)
{
	struct finisher *x = arg;

	return kh_wave_open(&x->wave[i], err);
}

static int gather_worker(void *arg, unsigned i, kh_err *err)
{
	struct finisher *x = arg;
	struct kh_wave *w = &x->wave[i];
	int rc = kh_gpu_use(w->share->device, err);

	return rc || w->from == w->to ? rc : kh_wave_gather(w, err);
}

static int index_worker(void *arg, unsigned i, kh_err *err)
{
	struct finisher *x = arg;
	struct kh_wave *w = &x->wave[i];
	int rc = kh_gpu_use(w->share->device, err);

	w->first = w->next = w->from;
	if (rc || w->from == w->to)
		return rc;
	w->share->times.pairs += w->sort.n;
	rc = kh_wave_sort(w, false, err);
	return rc ? rc : kh_wave_encode(w, err);
}

/* --- finish --------------------------------------------------------------------------- */
/* All pairs are in device memory. */
static int run_once(struct finisher *x, kh_err *err)
{
	kh_builder *b = x->b;
	bool whole = true;
	kh_shards own;
	int rc;

	kh_shards_even(&own, b->n);
	for (unsigned i = 0; i < b->n; i++) {
		x->wave[i].from = own.first[i];
		x->wave[i].to = own.first[i + 1];
	}
	if ((rc = crew(x, gather_worker, err)) ||
	    (rc = kh_waves_exchange(x->wave, b->n, err)) ||
	    (rc = crew(x, index_worker, err)))
		return rc;
	if (b->o.comm && (rc = kh_comm_barrier(b->o.comm, err)))
		return rc;
	for (unsigned i = 0; i < b->n; i++)
		whole &= x->wave[i].next == x->wave[i].to;
	if (whole && x->f->ready)
		x->f->ready(x->f->arg);
	return hand_over(x, err);
}

/* *to: behind the last range of those from `from` on whose pairs can be sorted in the memory
 * that the share has. */
static int next_wave(const kh_builder *b, const struct kh_cuda_share *s, unsigned from,
		     unsigned *to, kh_err *err)
{
	const uint64_t most = s->budget / (2 * PAIR);
	const unsigned end = *to;
	uint64_t n = from < end ? kh_store_count(b->store, from) : 0;

	if (n > most)
		return kh_fail(err, KH_ENOMEM,
			       "one of 256 ranges has %" PRIu64
			       " pairs: --gpu-memory must be %" PRIu64 " bytes at least",
			       n, n * 2 * PAIR);
	for (*to = from; *to < end; ++*to) {
		n += *to > from ? kh_store_count(b->store, *to) : 0;
		if (n > most)
			break;
	}
	return KH_OK;
}

/* Pairs are in the host's store. */
static int run_rounds(struct finisher *x, kh_err *err)
{
	kh_builder *b = x->b;
	unsigned from = 0, to = KH_RANGES;
	int rc = b->o.comm ? kh_store_exchange(b, x->f->remap, &from, &to, err) : KH_OK;

	while (from < to && !rc) {
		for (unsigned i = 0; i < b->n && !rc; i++) {
			struct kh_wave *w = &x->wave[i];

			w->from = from;
			w->to = to;
			rc = next_wave(b, w->share, from, &w->to, err);
			from = w->to;
		}
		if (!rc && !(rc = crew(x, gather_worker, err)) &&
		    !(rc = crew(x, index_worker, err)))
			rc = hand_over(x, err);
	}
	return rc;
}

/* Pairs spill if those of any rank do. */
static int agree(kh_builder *b, kh_err *err)
{
	uint64_t spilling = b->spilling;
	int rc = b->o.comm ? kh_comm_sum(b->o.comm, &spilling, 1, err) : KH_OK;

	b->spilling = spilling > 0;
	return !rc && b->spilling ? kh_cuda_spill_all(b, err) : rc;
}

static void tell(const kh_builder *b)
{
	uint64_t sum = 0, most = 0;

	for (unsigned i = 0; i < b->n; i++) {
		const kh_cuda_times *t = &b->share[i].times;

		kh_log(KH_DEBUG, "cuda:%d: seconds: %.3f last samples, %.3f order, %.3f by "
		       "range, %.3f exchange, %.3f sort, %.3f encode; %" PRIu64 " pairs, %"
		       PRIu64 " bytes", b->share[i].device, t->wait, t->gather, t->split,
		       t->exchange, t->sort, t->encode, t->pairs, t->bytes);
		sum += t->pairs;
		most = t->pairs > most ? t->pairs : most;
	}
	if (b->n > 1 && sum > 0)
		kh_log(KH_DEBUG, "the largest share of %u is %.3f of the mean", b->n,
		       (double)most * b->n / (double)sum);
}

kh_cuda_times kh_cuda_builder_times(const kh_builder *b, unsigned i)
{
	return b->share[i].times;
}

int kh_cuda_builder_finish(kh_builder *b, const kh_finish *f, kh_err *err)
{
	struct finisher x = { .b = b, .f = f };
	int rc = kh_cuda_retire_all(b, err);

	if (!rc)
		rc = agree(b, err);
	x.wave = rc ? NULL : kh_array(b->n, sizeof *x.wave, err);
	if (!rc && !x.wave)
		rc = KH_ENOMEM;
	for (unsigned i = 0; i < b->n && !rc; i++) {
		x.wave[i].b = b;
		x.wave[i].share = &b->share[i];
		x.wave[i].f = f;
	}
	if (!rc && !(rc = crew(&x, open_worker, err)))
		rc = b->spilling ? run_rounds(&x, err) : run_once(&x, err);
	if (rc) {                       /* waves' streams may wait for other ranks, which may wait for us */
		kh_comm_fail(b->o.comm, err);
		kh_gpu_comm_abort(b->comm);
	}
	for (unsigned i = 0; x.wave && i < b->n; i++)
		kh_wave_close(&x.wave[i]);
	kh_gpu_drop(&x.out[0]);
	kh_gpu_drop(&x.out[1]);
	free(x.wave);
	if (!rc)
		tell(b);
	b->finished = rc == KH_OK;
	return rc;
}
