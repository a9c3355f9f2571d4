/*
 * finish.c - the end of a build: every device makes the index of its ranges
 *
 * Each device has a thread. All take the same steps together: order, exchange, sort and encode;
 * then the images are delivered in the order of ranges. Spilled pairs come from the host in
 * rounds, each with one wave a device. If there is less memory than when the plan was made, pairs
 * that are still in the store are spilled, and waves are made smaller.
 */
#include <config.h>
#include "cuda/builder/finish_in.h"

#include <inttypes.h>
#include <stdlib.h>
#include "base/mem.h"

struct finisher {
	kh_builder *b;
	const kh_finish *f;
	struct kh_wave *wave;           /* one a share */
	kh_gpu_buf out[2];              /* pinned: of all devices */
};

/* --- delivery --------------------------------------------------------------------- */
static int fetch(struct finisher *x, struct kh_wave *w, unsigned p, int i, kh_err *err)
{
	const kh_gpu_range *r = (const kh_gpu_range *)w->images.hrange.p + p;
	const kh_range range = kh_wave_range(w, p);
	int rc = kh_gpu_host_room(&x->out[i], kh_range_bytes(&range, w->images.e.bins.bits), err);

	if (!rc)
		rc = KH_GPU(cudaMemcpyAsync(x->out[i].p,
					    (const kh_bucket *)w->images.image.p + r->bucket,
					    kh_range_bytes(&range, w->images.e.bins.bits),
					    cudaMemcpyDeviceToHost, w->stream),
			    err);
	return rc ? rc : KH_GPU(cudaEventRecord(w->images.ready[i], w->stream), err);
}

/* Delivers the images of a wave; while one range is written, the next one is copied. */
static int deliver(struct finisher *x, struct kh_wave *w, kh_err *err)
{
	const struct kh_wave_images *images = &w->images;
	int rc = images->first < images->next ? fetch(x, w, images->first, 0, err) : KH_OK;

	for (unsigned p = images->first; p < images->next && !rc; p++) {
		int i = (int)(p - images->first) % 2;
		kh_image im = { .range = kh_wave_range(w, p) };

		rc = kh_comm_check(x->b->o.comm, err);
		if (!rc && p + 1 < images->next)
			rc = fetch(x, w, p + 1, !i, err);
		if (!rc)
			rc = KH_GPU(cudaEventSynchronize(images->ready[i]), err);
		im.bucket = x->out[i].p;
		im.loc = (uint32_t *)(im.bucket + im.range.buckets + 1);
		im.locations = im.range.n_locs - im.range.over;
		if (!rc)
			rc = x->f->sink(x->f->arg, &im, err);
	}
	return rc;
}

/* Delivers the images of all waves, and then those of ranges that there was no room for at
 * first. */
static int deliver_all(struct finisher *x, kh_err *err)
{
	int rc = KH_OK;

	for (unsigned i = 0; i < x->b->n && !rc; i++) {
		struct kh_wave *w = &x->wave[i];

		rc = kh_gpu_use(w->share->device, err);
		if (!rc)
			rc = deliver(x, w, err);
		while (!rc && w->images.next < w->to)
			if (!(rc = kh_wave_encode(w, err)))
				rc = deliver(x, w, err);
	}
	return rc;
}

/* --- steps, by a thread a device -------------------------------------------------- */
static int open_worker(void *arg, unsigned i, kh_err *err)
{
	struct finisher *x = arg;

	return kh_wave_open(&x->wave[i], err);
}

/* Tries a step. If it lacks memory, that does not end the build, as there may be another way. */
static int try(struct kh_wave *w, int (*step)(struct kh_wave *, kh_err *), kh_err *err)
{
	int rc = kh_gpu_use(w->share->device, err);

	if (rc || w->from == w->to || w->lacks)
		return rc;
	rc = step(w, &w->why);
	w->lacks = rc == KH_ENOMEM;
	if (rc && !w->lacks)
		*err = w->why;
	return w->lacks ? KH_OK : rc;
}

static int gather_worker(void *arg, unsigned i, kh_err *err)
{
	struct finisher *x = arg;

	return try(&x->wave[i], kh_wave_gather, err);
}

static int sort_and_encode(struct kh_wave *w, kh_err *err)
{
	int rc = kh_wave_sort(w, false, err);

	return rc ? rc : kh_wave_encode(w, err);
}

static int index_worker(void *arg, unsigned i, kh_err *err)
{
	struct finisher *x = arg;
	struct kh_wave *w = &x->wave[i];

	w->images.first = w->images.next = w->from;
	return try(w, sort_and_encode, err);
}

static const struct kh_wave *lacking(const struct finisher *x)
{
	for (unsigned i = 0; i < x->b->n; i++)
		if (x->wave[i].lacks)
			return &x->wave[i];
	return NULL;
}

static void count_pairs(const struct finisher *x)
{
	for (unsigned i = 0; i < x->b->n; i++)
		x->wave[i].share->times.pairs += x->wave[i].pairs.sort.n;
}

/* --- all at once -------------------------------------------------------------------- */
/* Whether all devices, of all processes, had memory for the last step. */
static int all_had_memory(const struct finisher *x, bool *had, kh_err *err)
{
	uint64_t lack = lacking(x) != NULL;
	int rc = x->b->o.comm ? kh_comm_sum(x->b->o.comm, &lack, 1, err) : KH_OK;

	*had = lack == 0;
	return rc;
}

static int make_index(struct finisher *x, kh_err *err)
{
	kh_builder *b = x->b;
	bool whole = true;
	int rc = kh_cuda_side_by_side(b->n, index_worker, x, err);

	if (rc)
		return rc;
	if (lacking(x)) {               /* there is no other copy of the pairs any more */
		*err = lacking(x)->why;
		return err->code;
	}
	count_pairs(x);
	if (b->o.comm && (rc = kh_comm_barrier(b->o.comm, err)))
		return rc;
	for (unsigned i = 0; i < b->n; i++)
		whole &= x->wave[i].images.next == x->wave[i].to;
	if (whole && x->f->ready)
		x->f->ready(x->f->arg);
	return deliver_all(x, err);
}

/* Makes the index if all pairs are in device memory. *fits: false if there is no room to put them
 * into order, or to send them to their owners; then they are as they were. */
static int run_once(struct finisher *x, bool *fits, kh_err *err)
{
	kh_builder *b = x->b;
	kh_shards own;
	int rc;

	kh_shards_even(&own, b->n);
	for (unsigned i = 0; i < b->n; i++) {
		x->wave[i].from = own.first[i];
		x->wave[i].to = own.first[i + 1];
	}
	rc = kh_cuda_side_by_side(b->n, gather_worker, x, err);
	if (!rc)
		rc = all_had_memory(x, fits, err);
	if (!rc && *fits)
		rc = kh_waves_exchange(x->wave, b->n, fits, err);
	return rc || !*fits ? rc : make_index(x, err);
}

/* --- in waves ----------------------------------------------------------------------- */
/* Chooses the next wave of each device from the ranges from *from on, which moves up. */
static int next_waves(struct finisher *x, const uint64_t *count, unsigned *from, unsigned end,
		      kh_err *err)
{
	const unsigned began = *from;

	for (unsigned i = 0; i < x->b->n; i++) {
		struct kh_wave *w = &x->wave[i];
		unsigned to = kh_plan_wave(&w->share->plan, count, *from, end);
		int rc = kh_gpu_use(w->share->device, err);

		if (rc)
			return rc;
		kh_wave_reset(w, *from, to);
		w->share->waves += to > *from;
		*from = to;
	}
	if (*from > began)
		return KH_OK;
	return kh_fail(err, KH_ENOMEM, "one of 256 ranges has %" PRIu64 " pairs: --gpu-memory must "
		       "be %" PRIu64 " bytes at least", count[began],
		       kh_plan_least(&x->wave->share->plan, count[began]));
}

/* Plans with less memory from now on, as other programs have taken some since the plan was made. */
static void plan_for_less(struct finisher *x)
{
	for (unsigned i = 0; i < x->b->n; i++) {
		struct kh_wave *w = &x->wave[i];
		kh_gpu_plan *p = &w->share->plan;

		if (!w->lacks)
			continue;
		p->limit -= p->limit / 4;
		kh_log(KH_DEBUG, "%s: trying again with %.1f MB", w->why.msg,
		       (double)p->limit * 1e-6);
	}
}

/* Runs one wave on each device; *from moves up, unless there was no memory for one of them. */
static int run_waves(struct finisher *x, const uint64_t *count, unsigned *from, unsigned end,
		     kh_err *err)
{
	kh_builder *b = x->b;
	unsigned to = *from;
	int rc;

	if ((rc = next_waves(x, count, &to, end, err)) ||
	    (rc = kh_cuda_side_by_side(b->n, gather_worker, x, err)) ||
	    (!lacking(x) && (rc = kh_cuda_side_by_side(b->n, index_worker, x, err))))
		return rc;
	if (lacking(x)) {
		plan_for_less(x);
		return KH_OK;
	}
	count_pairs(x);
	*from = to;
	if (to == end && x->f->ready)
		x->f->ready(x->f->arg);
	return deliver_all(x, err);
}

/* Makes the index if pairs are in the store of the host. */
static int run_rounds(struct finisher *x, kh_err *err)
{
	kh_builder *b = x->b;
	uint64_t count[KH_RANGES];
	unsigned from = 0, to = KH_RANGES;
	int rc = KH_OK;

	if (b->o.comm) {                /* pairs from other processes have their final bins */
		rc = kh_store_exchange(b, x->f->remap, &from, &to, err);
		for (unsigned i = 0; i < b->n; i++) {
			x->wave[i].tables.remap.n = 0;
			x->wave[i].pairs.bits = KH_KEY_BITS;
		}
	}
	for (unsigned p = 0; p < KH_RANGES; p++)
		count[p] = kh_store_count(b->store, p);
	while (from < to && !rc)
		rc = run_waves(x, count, &from, to, err);
	return rc;
}

/* --- finish ----------------------------------------------------------------------- */
/* Spills if any process does. */
static int agree(kh_builder *b, kh_err *err)
{
	uint64_t spilling = b->spilling;
	int rc = b->o.comm ? kh_comm_sum(b->o.comm, &spilling, 1, err) : KH_OK;

	b->spilling = spilling > 0;
	return !rc && b->spilling ? kh_cuda_spill_all(b, err) : rc;
}

static int run(struct finisher *x, kh_err *err)
{
	bool fits = false;
	int rc = KH_OK;

	if (!x->b->spilling)
		rc = run_once(x, &fits, err);
	if (rc || fits)
		return rc;
	if (!x->b->spilling) {
		for (unsigned i = 0; i < x->b->n && !rc; i++)
			if (!(rc = kh_gpu_use(x->b->share[i].device, err)))
				kh_wave_reset(&x->wave[i], 0, 0);
		x->b->spilling = true;
		if (!rc)
			rc = kh_cuda_spill_all(x->b, err);
	}
	return rc ? rc : run_rounds(x, err);
}

static void tell(const kh_builder *b)
{
	uint64_t sum = 0, most = 0;

	for (unsigned i = 0; i < b->n; i++) {
		const kh_cuda_times *t = &b->share[i].times;

		kh_log(KH_DEBUG,
		       "cuda:%d: %.1f MB of memory planned, %.1f MB taken at most; %u waves",
		       b->share[i].device, (double)b->share[i].memory.limit * 1e-6,
		       (double)b->share[i].memory.most * 1e-6,
		       b->spilling ? b->share[i].waves : 1);
		kh_log(KH_DEBUG, "cuda:%d: seconds: %.3f last samples, %.3f order, %.3f by "
		       "range, %.3f exchange, %.3f sort, %.3f encode; %" PRIu64 " pairs, %"
		       PRIu64 " bytes", b->share[i].device, t->wait, t->gather, t->split,
		       t->exchange, t->sort, t->encode, t->pairs, t->bytes);
		sum += t->pairs;
		most = t->pairs > most ? t->pairs : most;
	}
	kh_log(KH_DEBUG, "%.1f MB of host memory pinned at most", (double)b->pinned.most * 1e-6);
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
	x.out[0].budget = x.out[1].budget = &b->pinned;
	if (!rc && !(rc = kh_cuda_side_by_side(b->n, open_worker, &x, err)))
		rc = run(&x, err);
	if (rc) { /* streams of waves may wait for other processes, which may wait for this one */
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
