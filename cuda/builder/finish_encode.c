/*
 * finish_encode.c - the end of a build: sorted pairs of some ranges to their images, of as many
 * ranges at a time as there is room for
 */
#include <config.h>
#include "cuda/builder/finish_in.h"

#include <inttypes.h>

/* --- encode some of the sorted ranges --- */
static kh_gpu_range *ranges(const struct kh_wave *w)
{
	return w->images.hrange.p;
}

static int get_count(struct kh_wave *w, uint64_t *n, kh_err *err)
{
	int rc = kh_wave_get(w, w->images.hcounts.p, w->images.counts.p, 64, err);

	*n = ((uint64_t *)w->images.hcounts.p)[1];
	return rc;
}

/* Finds the distinct keys of each range. */
static int find_heads(struct kh_wave *w, unsigned from, unsigned to, kh_err *err)
{
	kh_gpu_encode *e = &w->images.e;
	int rc;

	for (unsigned p = 0; p <= KH_RANGES; p++) {
		unsigned q = p < from ? from : p > to ? to : p;

		ranges(w)[p] = (kh_gpu_range) { .pair = w->pairs.bound[q] - w->pairs.bound[from] };
	}
	e->key = w->pairs.sort.key + w->pairs.bound[from];
	e->bin = w->pairs.sort.bin + w->pairs.bound[from];
	e->n = w->pairs.bound[to] - w->pairs.bound[from];
	if ((rc = kh_gpu_room_exact(&w->images.head, (e->n + 1) * 4, err)) ||
	    (rc = kh_gpu_room_exact(&w->images.scan, kh_gpu_heads_scratch(e->n), err)))
		return rc;
	e->head = w->images.head.p;
	e->scratch = w->images.scan.p;
	e->scratch_bytes = w->images.scan.bytes;
	e->n_out = (uint64_t *)w->images.counts.p + 1;
	if ((rc = KH_GPU(cudaMemsetAsync(w->images.counts.p, 0, 64, w->stream), err)) ||
	    (rc = kh_wave_put_ranges(w, err)) ||
	    (rc = kh_gpu_check(kh_gpu_heads(e, w->stream), "selection of keys", err)) ||
	    (rc = get_count(w, &e->n_heads, err)) ||
	    (rc = kh_gpu_check(kh_gpu_range_heads(e, w->stream), "heads kernel", err)))
		return rc;
	return kh_wave_get_ranges(w, err);
}

/* --- how many at a time --- */
static uint64_t pairs_of(const struct kh_wave *w, unsigned from, unsigned to)
{
	return w->pairs.bound[to] - w->pairs.bound[from];
}

static uint64_t keys_of(const struct kh_wave *w, unsigned from, unsigned to)
{
	return ranges(w)[to].head - ranges(w)[from].head;
}

/* Slots are made on the other side of the pairs, if it is there. */
static uint64_t needed(const struct kh_wave *w, unsigned from, unsigned to, uint64_t keys)
{
	const uint64_t pairs = pairs_of(w, from, to);

	return kh_plan_encoding(&w->owner->plan, pairs, keys, to - from) -
	       (kh_wave_has_side(w) ? kh_plan_pairs(pairs) : 0);
}

static uint64_t left(const struct kh_wave *w)
{
	return kh_gpu_budget_left(&w->owner->memory);
}

/* The keys of the ranges from `from` on, and *to: behind the last of them, as there is not room
 * enough for all if each pair had a key of its own.  Most of what is left goes to the search for
 * keys, and is given back; how many ranges can be encoded follows from what has been found. */
static int some_ranges(struct kh_wave *w, unsigned from, unsigned *to, kh_err *err)
{
	const uint64_t search = left(w) / 4 * 3;
	unsigned end = *to;
	int rc;

	while (end > from + 1 && 5 * pairs_of(w, from, end) > search)
		end--;
	if ((rc = find_heads(w, from, end, err)))
		return rc;
	kh_gpu_drop(&w->images.head);   /* will be made again for the ranges that are chosen */
	kh_gpu_drop(&w->images.scan);
	while (end > from + 1 && needed(w, from, end, keys_of(w, from, end)) > left(w))
		end--;
	*to = end;
	return find_heads(w, from, end, err);
}

/* Finds the keys of ranges, if there is room for that, and sets *fits if there is also room to
 * encode them: then what the sort has left need not be given back now, which would take tens of
 * milliseconds. */
static int fits_beside(struct kh_wave *w, unsigned from, unsigned to, bool *fits, kh_err *err)
{
	const uint64_t pairs = pairs_of(w, from, to);
	const uint64_t head = kh_plan_round((pairs + 1) * 4);
	const uint64_t scan = kh_plan_round(w->owner->plan.scan_scratch(pairs));
	int rc;

	if (head + scan > left(w))
		return KH_OK;
	if ((rc = find_heads(w, from, to, err)))
		return rc;
	*fits = needed(w, from, to, keys_of(w, from, to)) <= left(w) + head + scan;
	if (!*fits) {
		kh_gpu_drop(&w->images.head);
		kh_gpu_drop(&w->images.scan);
	}
	return KH_OK;
}

/* Chooses how many ranges from `from` on are encoded at a time, usually all, and finds their
 * keys; *to is behind the last of them. */
static int choose_ranges(struct kh_wave *w, unsigned from, unsigned *to, kh_err *err)
{
	uint64_t most;
	bool fits = false;
	int rc;

	while (*to > from + 1 && pairs_of(w, from, *to) >= UINT32_MAX)
		--*to;
	if (pairs_of(w, from, *to) >= UINT32_MAX)
		return kh_fail(err, KH_EUSAGE,
			       "%" PRIu64 " pairs in one of 256 ranges are too many",
			       pairs_of(w, from, *to));
	most = needed(w, from, *to, pairs_of(w, from, *to));
	if (left(w) < most) {           /* what earlier ranges were encoded with */
		KH_GPU_DROP(w->images.all);
		KH_GPU_DROP(w->seeds.all);
	}
	if (left(w) < most && ((rc = fits_beside(w, from, *to, &fits, err)) || fits))
		return rc;
	kh_wave_make_free(w, most, KH_WAVE_SORTED);
	most = needed(w, from, *to, pairs_of(w, from, *to));
	return left(w) < most ? some_ranges(w, from, to, err) : find_heads(w, from, *to, err);
}

/* Makes the images of the ranges up to *to, or of as many as have been chosen. */
static int encode_up_to(struct kh_wave *w, unsigned *to, uint64_t *bytes, kh_err *err)
{
	struct kh_wave_images *im = &w->images;
	int rc = choose_ranges(w, im->first, to, err);

	im->next = *to;
	return rc ? rc : kh_wave_encode_seeds(w, bytes, err);
}

/* How many slots are left to later levels is not known before, so there may be less room for all
 * ranges than was thought; lists that were made stay the same when they are made again. */
static bool take_fewer(struct kh_wave *w, unsigned *to)
{
	const unsigned n = *to - w->images.first;

	if (n < 2)
		return false;
	KH_GPU_DROP(w->images.all);
	KH_GPU_DROP(w->seeds.all);
	kh_wave_make_free(w, UINT64_MAX, KH_WAVE_SORTED);
	*to = w->images.first + n / 2;
	return true;
}

int kh_wave_encode(struct kh_wave *w, kh_err *err)
{
	const double began = kh_seconds();
	struct kh_wave_images *im = &w->images;
	uint64_t bytes = 0;
	unsigned to = w->to;
	int rc = KH_OK;

	im->first = im->next;
	while (im->first < w->to) {
		rc = encode_up_to(w, &to, &bytes, err);
		if (rc != KH_ENOMEM || !take_fewer(w, &to))
			break;
	}
	im->next = to;
	w->owner->times.encode += kh_seconds() - began;
	w->owner->times.bytes += bytes;
	return rc;
}
