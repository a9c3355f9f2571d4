/*
 * finish_exchange.c - the end of a build: sends pairs to the owners of their ranges
 *
 * The devices got their pairs while blocks were sampled, by a guess that is good unless some keys
 * have very many pairs.  If it was bad, ranges are cut anew, by equal weights.  The pairs of a
 * device are put into the order of ranges, stably, so that what it gives to another one is one
 * stretch.  Each range comes from one device, so its pairs stay in the order of tickets.
 */
#include <config.h>
#include "cuda/builder/finish_in.h"


struct exchange {
	struct kh_wave *wave;
	unsigned n;                     /* waves */
	kh_shards cut;
};

/* --- weights ---------------------------------------------------------------------- */
/* Counts the pairs of the wave by range; the numbers are on their way to pairs.bound. */
static int weigh(struct kh_wave *w, kh_err *err)
{
	struct kh_wave_pairs *p = &w->pairs;
	int rc = kh_gpu_use(w->owner->device, err);

	if (!rc)
		rc = KH_GPU(cudaMemsetAsync(p->at.p, 0, KH_RANGES * 8, w->stream), err);
	if (!rc)
		rc = kh_gpu_check(kh_gpu_weigh(p->key[0].p, NULL, p->sort.n, p->at.p, w->stream),
				  "weighing kernel", err);
	return rc ? rc : KH_GPU(cudaMemcpyAsync(p->hat.p, p->at.p, KH_RANGES * 8,
						cudaMemcpyDeviceToHost, w->stream),
				err);
}

/* Pairs that device m gets by the cut. */
static uint64_t weight_of(const struct exchange *x, unsigned m, const uint64_t *weight)
{
	uint64_t sum = 0;

	for (unsigned p = x->cut.first[m]; p < x->cut.first[m + 1]; p++)
		sum += weight[p];
	return sum;
}

/* Have all devices room for what they get? */
static bool fits_all(const struct exchange *x, const uint64_t *weight)
{
	bool fits = true;

	for (unsigned i = 0; i < x->n; i++) {
		const struct kh_wave *w = &x->wave[i];

		fits &= kh_plan_exchange(&w->owner->plan, w->pairs.sort.n,
					 weight_of(x, i, weight)) <= w->owner->plan.limit;
	}
	return fits;
}

/* Makes the cut; *far: it is much better than the one that the waves have; then *fits is set. */
static int choose(struct exchange *x, bool *far, bool *fits, kh_err *err)
{
	uint64_t weight[KH_RANGES] = { 0 }, have = 0, would = 0;
	int rc = KH_OK;

	for (unsigned i = 0; i < x->n && !rc; i++)
		rc = weigh(&x->wave[i], err);
	for (unsigned i = 0; i < x->n && !rc; i++) {
		uint64_t sum = 0;

		if ((rc = kh_gpu_use(x->wave[i].owner->device, err)) ||
		    (rc = kh_wave_wait(&x->wave[i], err)))
			break;
		for (unsigned p = 0; p < KH_RANGES; p++) {
			weight[p] += x->wave[i].pairs.bound[p];
			sum += x->wave[i].pairs.bound[p];
		}
		have = sum > have ? sum : have;
	}
	if (rc)
		return rc;
	kh_shards_cut(&x->cut, weight, x->n);
	for (unsigned m = 0; m < x->n; m++) {
		const uint64_t sum = weight_of(x, m, weight);

		would = sum > would ? sum : would;
	}
	*far = would + would / 20 < have;
	if (*far)
		*fits = fits_all(x, weight);
	return KH_OK;
}

/* --- pairs ------------------------------------------------------------------------ */
static int range_worker(void *arg, unsigned i, kh_err *err)
{
	struct kh_wave *w = &((struct exchange *)arg)->wave[i];
	int rc = kh_gpu_use(w->owner->device, err);

	return rc ? rc : kh_wave_sort(w, true, err);
}

/* Pairs that wave `from` gives to wave `to`. */
static uint64_t given(const struct exchange *x, unsigned from, unsigned to)
{
	const uint64_t *bound = x->wave[from].pairs.bound;

	return bound[x->cut.first[to + 1]] - bound[x->cut.first[to]];
}

/* What wave i gets of those before `end`. */
static uint64_t taken(const struct exchange *x, unsigned i, unsigned end)
{
	uint64_t n = 0;

	for (unsigned m = 0; m < end; m++)
		n += given(x, m, i);
	return n;
}

/* The side of the buffers that the pairs by range are in; the other side is for what comes. */
static int sorted_in(const struct kh_wave *w)
{
	return w->pairs.sort.key != w->pairs.key[0].p;
}

/* Makes room for what comes, which is in key[0] and bin[0] in the end. */
static int take_room(struct exchange *x, unsigned i, kh_err *err)
{
	struct kh_wave *w = &x->wave[i];
	const uint64_t n = taken(x, i, x->n);
	int rc = kh_gpu_use(w->owner->device, err);

	if (rc)
		return rc;
	kh_wave_make_free(w, kh_plan_pairs(n), KH_WAVE_GATHERED);
	return kh_wave_room(w, n, !sorted_in(w), err);
}

/* Sends what wave `from` has of the ranges of wave `to`. */
static int send(struct exchange *x, unsigned from, unsigned to, kh_err *err)
{
	struct kh_wave *a = &x->wave[from], *b = &x->wave[to];
	const uint64_t n = given(x, from, to), at = taken(x, to, from);
	const uint64_t first = a->pairs.bound[x->cut.first[to]];
	uint64_t *key = (uint64_t *)b->pairs.key[!sorted_in(b)].p + at;
	uint32_t *bin = (uint32_t *)b->pairs.bin[!sorted_in(b)].p + at;
	int rc;

	if (n == 0)
		return KH_OK;
	rc = kh_gpu_copy(key, b->owner->device, a->pairs.sort.key + first, a->owner->device,
			 n * sizeof *key, a->stream, err);
	return rc ? rc : kh_gpu_copy(bin, b->owner->device, a->pairs.sort.bin + first,
				     a->owner->device, n * sizeof *bin, a->stream, err);
}

static int send_all(struct exchange *x, kh_err *err)
{
	int rc = KH_OK;

	for (unsigned i = 0; i < x->n && !rc; i++) {
		rc = kh_gpu_use(x->wave[i].owner->device, err);
		for (unsigned m = 0; m < x->n && !rc; m++)
			rc = send(x, i, m, err);
	}
	for (unsigned i = 0; i < x->n && !rc; i++)
		if (!(rc = kh_gpu_use(x->wave[i].owner->device, err)))
			rc = kh_wave_wait(&x->wave[i], err);
	return rc;
}

static void take(struct exchange *x, unsigned i, uint64_t n)
{
	struct kh_wave *w = &x->wave[i];

	if (!sorted_in(w)) {
		const kh_gpu_buf key = w->pairs.key[0], bin = w->pairs.bin[0];

		w->pairs.key[0] = w->pairs.key[1];
		w->pairs.bin[0] = w->pairs.bin[1];
		w->pairs.key[1] = key;
		w->pairs.bin[1] = bin;
	}
	w->pairs.sort.n = n;
	w->pairs.bits = KH_KEY_BITS;          /* dropped pairs are not sent */
	w->from = x->cut.first[i];
	w->to = x->cut.first[i + 1];
}

static int trade(struct exchange *x, kh_err *err)
{
	const double began = kh_seconds();
	int rc = KH_OK;

	for (unsigned i = 0; i < x->n && !rc; i++)
		rc = take_room(x, i, err);
	if (!rc)
		rc = send_all(x, err);
	for (unsigned i = 0; i < x->n && !rc; i++) {
		take(x, i, taken(x, i, x->n));
		x->wave[i].owner->times.exchange += kh_seconds() - began;
	}
	return rc;
}

int kh_waves_exchange(struct kh_wave *wave, unsigned n, bool *fits, kh_err *err)
{
	struct exchange x = { .wave = wave, .n = n };
	bool far = false;
	int rc = KH_OK;

	*fits = true;
	if (n > 1)
		rc = choose(&x, &far, fits, err);
	if (rc || !*fits || !far)
		return rc;
	rc = kh_side_by_side(n, range_worker, &x, err);
	return rc ? rc : trade(&x, err);
}
