/*
 * finish.c - the end of a build: every device makes the index of its ranges
 *
 * Each device has a thread. All take the same steps together: order, exchange, sort and encode;
 * then the images are delivered in the order of ranges. Spilled pairs come from the host wave
 * by wave, each device its own. If there is less memory than when the plan was made, pairs
 * that are still in the store are spilled, and waves are made smaller.
 */
#include <config.h>
#include "cuda/builder/finish_in.h"

#include <inttypes.h>
#include <stdlib.h>
#include "base/mem.h"

enum { OUTS = 2 };

struct finisher {
	kh_builder *b;
	const kh_finish *f;
	struct kh_wave *wave;           /* one an owner */
	struct kh_wave_out *out;        /* OUTS an owner: images that are delivered */
	kh_gpu_buf pinned[2];           /* of all devices */
	/* in waves: outs to deliver, and those that are */
	kh_queue *todo, *done;
	unsigned busy;                  /* outs that have not come back */
	/* and what these are made of */
	unsigned from, to;
	uint64_t count[KH_RANGES];
	bool told;                      /* that all is ready */
};

/* --- delivery ----------------------------------------------------------------------- */
/* An out has been delivered. */
static int take_back(struct finisher *x)
{
	struct kh_wave_out *o = kh_queue_pop(x->done);

	if (!o)
		return KH_ECANCEL;
	o->busy = false;
	x->busy--;
	x->wave[(o - x->out) / OUTS].held -= o->held;
	return KH_OK;
}

/* Until all that was given has been delivered. */
static int drain(struct finisher *x)
{
	int rc = KH_OK;

	while (x->busy > 0 && !rc)
		rc = take_back(x);
	return rc;
}

/* The images of a wave are delivered, at once or by the thread that does that. */
static int give(struct finisher *x, unsigned i, kh_err *err)
{
	struct kh_wave_out *o = &x->out[i * OUTS];
	int rc = KH_OK;

	while (o->busy && !rc) {
		for (int k = 0; k < OUTS && o->busy; k++)
			o = &x->out[i * OUTS + (unsigned)k];
		if (o->busy)
			rc = take_back(x);
	}
	if (rc)
		return rc;
	kh_wave_take(o, &x->wave[i]);
	if (!x->todo)
		return kh_wave_deliver(o, x->f, x->pinned, err);
	x->wave[i].held += o->held;
	o->busy = true;
	x->busy++;
	kh_queue_push(x->todo, o);
	return KH_OK;
}

/* The ranges that there was no room for at first; more, when images have been delivered. */
static int encode_more(struct finisher *x, struct kh_wave *w, kh_err *err)
{
	const unsigned next = w->images.next;
	int rc = kh_gpu_use(w->owner->device, err);

	if (!rc)
		rc = kh_wave_encode(w, err);
	if (rc != KH_ENOMEM || x->busy == 0)
		return rc;
	w->images.next = next;
	rc = drain(x);
	return rc ? rc : kh_wave_encode(w, err);
}

/* Says so when the last range has been made. */
static void tell_ready(struct finisher *x)
{
	bool whole = x->from == x->to && x->f->ready && !x->told;

	for (unsigned i = 0; i < x->b->n; i++)
		whole &= x->wave[i].images.next == x->wave[i].to;
	if (whole)
		x->f->ready(x->f->arg);
	x->told |= whole;
}

/* The images of all waves. */
static int give_all(struct finisher *x, kh_err *err)
{
	int rc = KH_OK;

	for (unsigned i = 0; i < x->b->n && !rc; i++) {
		struct kh_wave *w = &x->wave[i];

		tell_ready(x);
		rc = give(x, i, err);
		while (!rc && w->images.next < w->to) {
			if ((rc = encode_more(x, w, err)))
				break;
			tell_ready(x);
			rc = give(x, i, err);
		}
	}
	return rc;
}

/* --- steps, by a thread a device -------------------------------------------------- */
static int open_worker(void *arg, unsigned i, kh_err *err)
{
	struct finisher *x = arg;
	int rc = kh_wave_open(&x->wave[i], err);

	for (unsigned k = 0; k < OUTS && !rc; k++)
		rc = kh_wave_out_open(&x->out[i * OUTS + k], &x->b->owner[i], err);
	return rc;
}

/* Tries a step. If it lacks memory, that does not end the build, as there may be another way. */
static int try(struct kh_wave *w, int (*step)(struct kh_wave *, kh_err *), kh_err *err)
{
	int rc = kh_gpu_use(w->owner->device, err);

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
		x->wave[i].owner->times.pairs += x->wave[i].pairs.sort.n;
}

/* --- all at once -------------------------------------------------------------------- */
static int make_index(struct finisher *x, kh_err *err)
{
	kh_builder *b = x->b;
	int rc = kh_side_by_side(b->n, index_worker, x, err);

	if (rc)
		return rc;
	if (lacking(x)) {               /* there is no other copy of the pairs any more */
		*err = lacking(x)->why;
		return err->code;
	}
	count_pairs(x);
	return give_all(x, err);
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
	rc = kh_side_by_side(b->n, gather_worker, x, err);
	*fits = lacking(x) == NULL;
	if (!rc && *fits)
		rc = kh_waves_exchange(x->wave, b->n, fits, err);
	return rc || !*fits ? rc : make_index(x, err);
}

/* --- in waves ----------------------------------------------------------------------- */
/* Says what the largest of the ranges from `from` on needs, so that no other one is too large for
 * that. */
static int too_large_range(const struct finisher *x, unsigned from, kh_err *err)
{
	uint64_t most = 0;

	for (unsigned r = from; r < x->to; r++)
		most = x->count[r] > most ? x->count[r] : most;
	return kh_fail(err, KH_ENOMEM, "one of 256 ranges has %" PRIu64 " pairs: --set "
		       "gpu-memory must be %" PRIu64 " bytes at least", most,
		       kh_plan_least(&x->wave->owner->plan, most));
}

/* The next wave of each device, of the ranges from *from on, which moves up.  Images of the ones
 * before may still be there. */
static int next_waves(struct finisher *x, unsigned *from, kh_err *err)
{
	const unsigned began = *from;

	for (unsigned i = 0; i < x->b->n; i++) {
		struct kh_wave *w = &x->wave[i];
		kh_gpu_plan plan = w->owner->plan;
		int rc = kh_gpu_use(w->owner->device, err);

		if (rc)
			return rc;
		plan.tables += w->held;
		const unsigned to = kh_plan_wave(&plan, x->count, *from, x->to);
		kh_wave_reset(w, *from, to);
		w->owner->waves += to > *from;
		*from = to;
	}
	if (*from > began)
		return KH_OK;
	return too_large_range(x, began, err);
}

/* Plans with less memory from now on, as other programs have taken some since the plan was made. */
static void plan_for_less(struct finisher *x)
{
	for (unsigned i = 0; i < x->b->n; i++) {
		struct kh_wave *w = &x->wave[i];
		kh_gpu_plan *p = &w->owner->plan;

		if (!w->lacks)
			continue;
		p->limit -= p->limit / 4;
		kh_log(KH_DEBUG, "%s: trying again with %.1f MB", w->why.msg,
		       (double)p->limit * 1e-6);
	}
}

/* A wave a device; x->from moves up, unless there was no memory for one of them. */
static int run_waves(struct finisher *x, kh_err *err)
{
	kh_builder *b = x->b;
	unsigned to = x->from;
	int rc = next_waves(x, &to, err);

	if (rc == KH_ENOMEM && x->busy > 0) {        /* of images before them */
		to = x->from;
		rc = drain(x) ? KH_ECANCEL : next_waves(x, &to, err);
	}
	if (rc || (rc = kh_side_by_side(b->n, gather_worker, x, err)) ||
	    (!lacking(x) && (rc = kh_side_by_side(b->n, index_worker, x, err))))
		return rc;
	if (lacking(x)) {
		plan_for_less(x);
		return drain(x);
	}
	count_pairs(x);
	x->from = to;
	return give_all(x, err);
}

/* Thread 0 makes waves, thread 1 delivers what they have become. */
static int round_worker(void *arg, unsigned thread, kh_err *err)
{
	static struct kh_wave_out end;
	struct finisher *x = arg;
	struct kh_wave_out *o;
	int rc = KH_OK;

	if (thread == 0) {
		while (x->from < x->to && !rc)
			rc = run_waves(x, err);
		if (!rc)
			rc = drain(x);
		if (!rc)
			kh_queue_push(x->todo, &end);
		return rc;
	}
	while ((o = kh_queue_pop(x->todo)) && o != &end) {
		if ((rc = kh_wave_deliver(o, x->f, x->pinned, err)))
			return rc;
		kh_queue_push(x->done, o);
	}
	return o ? KH_OK : KH_ECANCEL;
}

/* How many pairs ranges have. */
static int count_ranges(struct finisher *x, kh_err *err)
{
	kh_builder *b = x->b;

	x->to = KH_RANGES;
	if (b->again) {
		kh_cuda_count_again(b, x->count);
		return kh_cuda_plan_again(b, err);
	}
	for (unsigned p = 0; p < KH_RANGES; p++)
		x->count[p] = kh_store_count(b->store, p);
	return KH_OK;
}

/* Pairs are in the host's store, or are sampled again. */
static int run_rounds(struct finisher *x, kh_err *err)
{
	kh_monitor *m = NULL;
	int rc = count_ranges(x, err);

	if (!rc)
		rc = kh_monitor_new(&m, err);
	if (!rc)
		rc = kh_queue_new(&x->todo, m, OUTS * x->b->n + 1, err);
	if (!rc)
		rc = kh_queue_new(&x->done, m, OUTS * x->b->n + 1, err);
	if (!rc)
		rc = kh_threads_run(m, 2, round_worker, x, err);
	kh_queue_free(x->todo);
	kh_queue_free(x->done);
	kh_monitor_free(m);
	return rc;
}

/* --- finish ----------------------------------------------------------------------- */
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
			if (!(rc = kh_gpu_use(x->b->owner[i].device, err)))
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
		const kh_cuda_times *t = &b->owner[i].times;

		kh_log(KH_DEBUG,
		       "cuda:%d: %.1f MB of memory planned, %.1f MB taken at most; %u waves",
		       b->owner[i].device, (double)b->owner[i].memory.limit * 1e-6,
		       (double)b->owner[i].memory.most * 1e-6,
		       b->spilling ? b->owner[i].waves : 1);
		kh_log(KH_DEBUG, "cuda:%d: seconds: %.3f last samples, %.3f order, %.3f by "
		       "range, %.3f exchange, %.3f sort, %.3f encode; %" PRIu64 " pairs, %"
		       PRIu64 " bytes", b->owner[i].device, t->wait, t->gather, t->split,
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
	return b->owner[i].times;
}

int kh_cuda_builder_finish(kh_builder *b, const kh_finish *f, kh_err *err)
{
	struct finisher x = { .b = b, .f = f };
	int rc = kh_cuda_retire_all(b, err);

	if (!rc && b->spilling && !b->again)
		rc = kh_cuda_spill_all(b, err);
	x.wave = kh_array(b->n, sizeof *x.wave, rc ? NULL : err);
	x.out = kh_array(OUTS * b->n, sizeof *x.out, rc ? NULL : err);
	if (!rc && (!x.wave || !x.out))
		rc = KH_ENOMEM;
	for (unsigned i = 0; i < b->n && !rc; i++) {
		x.wave[i].b = b;
		x.wave[i].owner = &b->owner[i];
		x.wave[i].f = f;
	}
	x.pinned[0].budget = x.pinned[1].budget = &b->pinned;
	if (!rc && !(rc = kh_side_by_side(b->n, open_worker, &x, err)))
		rc = run(&x, err);
	for (unsigned i = 0; x.out && i < OUTS * b->n; i++)
		kh_wave_out_close(&x.out[i]);
	for (unsigned i = 0; x.wave && i < b->n; i++)
		kh_wave_close(&x.wave[i]);
	kh_gpu_drop(&x.pinned[0]);
	kh_gpu_drop(&x.pinned[1]);
	free(x.out);
	free(x.wave);
	if (!rc)
		tell(b);
	return rc;
}
