/*
 * finish_encode.c - the end of a build: encodes sorted pairs of some ranges to their images
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
	    (rc = kh_gpu_room_exact(&w->images.scan, kh_gpu_encode_scratch(e->n), err)))
		return rc;
	e->head = w->images.head.p;
	e->scratch = w->images.scan.p;
	e->scratch_bytes = w->images.scan.bytes;
	e->n_out = (uint64_t *)w->images.counts.p + 1;
	e->counts = w->images.counts.p;
	if ((rc = KH_GPU(cudaMemsetAsync(w->images.counts.p, 0, 64, w->stream), err)) ||
	    (rc = kh_wave_put_ranges(w, err)) ||
	    (rc = kh_gpu_check(kh_gpu_heads(e, w->stream), "selection of keys", err)) ||
	    (rc = get_count(w, &e->n_heads, err)) ||
	    (rc = kh_gpu_check(kh_gpu_range_heads(e, w->stream), "heads kernel", err)))
		return rc;
	return kh_wave_get_ranges(w, err);
}

static int first_buckets(struct kh_wave *w, unsigned from, unsigned to, kh_err *err)
{
	kh_gpu_encode *e = &w->images.e;
	int rc;

	for (unsigned p = from; p < to; p++) {
		uint64_t keys = ranges(w)[p + 1].head - ranges(w)[p].head;

		ranges(w)[p].B =
			keys ? (uint32_t)((keys + KH_BUCKET_LOAD - 1) / KH_BUCKET_LOAD)
			     : 1;
	}
	if ((rc = kh_gpu_room_exact(&w->images.entry, (e->n_heads + 1) * 4, err)) ||
	    (rc = kh_gpu_room_exact(&w->images.lead, (e->n_heads + 2) * 8, err)) ||
	    (rc = kh_gpu_room_exact(&w->images.slot, (e->n_heads + 1) * 4, err)) ||
	    (rc = kh_gpu_room_exact(&w->images.len, e->n_heads + 1, err)) ||
	    (rc = kh_gpu_room_exact(&w->images.many, (e->n / KH_GPU_MANY + 1) * 4, err)) ||
	    (rc = kh_gpu_room_exact(&w->images.several, (e->n_heads / 256 + 4096) * 4, err)))
		return rc;
	e->entry = w->images.entry.p;
	e->lead = w->images.lead.p;
	e->slot = w->images.slot.p;
	e->len = w->images.len.p;
	e->many = w->images.many.p;
	return KH_OK;
}

/* Places all entries; again, with more buckets, for ranges where one lies too far from home. */
static int place(struct kh_wave *w, unsigned from, unsigned to, kh_err *err)
{
	kh_gpu_encode *e = &w->images.e;
	bool again = true;
	int rc = KH_OK;

	while (again && !rc) {
		again = false;
		for (unsigned p = from; p < to; p++) {
			if (ranges(w)[p].B >= KH_BUCKETS_MAX)
				return kh_index_too_large(ranges(w)[p + 1].head -
								  ranges(w)[p].head,
							  err);
			ranges(w)[p].failed = 0;
		}
		e->several = w->images.several.p;
		e->cap_several = (uint32_t)(w->images.several.bytes / 4);
		if ((rc = kh_wave_put_ranges(w, err)) ||
		    (rc = KH_GPU(cudaMemsetAsync(w->images.counts.p, 0, 64, w->stream), err)) ||
		    (rc = kh_gpu_check(kh_gpu_entries(e, w->stream),
				       "selection of entries", err)) ||
		    (rc = get_count(w, &e->n_entries, err)) ||
		    (rc = kh_gpu_check(kh_gpu_place(e, w->stream), "place kernels",
				       err)) ||
		    (rc = kh_wave_get(w, w->images.hcounts.p, w->images.counts.p, 64, err)) ||
		    (rc = kh_wave_get_ranges(w, err)))
			return rc;
		uint32_t several = *(uint32_t *)w->images.hcounts.p;
		if (several > e->cap_several) {
			rc = kh_gpu_room_exact(&w->images.several, (size_t)several * 4, err);
			again = true;
		}
		e->cap_several = several;
		for (unsigned p = from; p < to; p++)
			if (ranges(w)[p].failed) {
				ranges(w)[p].B += (ranges(w)[p].B + 15) / 16;
				again = true;
			}
	}
	return rc;
}

/* What range p, at byte `at` of the image, is for the file; how many bytes it has. */
static uint64_t range_made(struct kh_wave *w, unsigned p, uint64_t at)
{
	const kh_gpu_range *r = &ranges(w)[p];
	const kh_range x = { .n_locs = r[1].word - r->word,
			     .buckets = r->B,
			     .keys = (uint32_t)(r[1].head - r->head),
			     .entries = (uint32_t)(r[1].entry - r->entry),
			     .over = r->over };

	w->images.made[p] = (struct kh_wave_made) {
		.range = x, .locations = x.n_locs - x.over, .at = at,
		.bytes = kh_range_bytes(&x, w->images.e.bins.bits),
		.lists = ((uint64_t)x.buckets + 1) * sizeof(kh_bucket)
	};
	return w->images.made[p].bytes;
}

/* Finds the lengths of lists, then writes the images of the ranges. */
static int fill(struct kh_wave *w, unsigned from, unsigned to, uint64_t *bytes, kh_err *err)
{
	kh_gpu_encode *e = &w->images.e;
	uint64_t n_start = 0, at = 0;
	int rc;

	if ((rc = kh_gpu_check(kh_gpu_lists(e, w->stream), "list kernels", err)) ||
	    (rc = kh_wave_get_ranges(w, err)))
		return rc;
	for (unsigned p = 0; p <= KH_RANGES; p++) {
		kh_gpu_range *r = &ranges(w)[p];
		bool in = p >= from && p < to;

		r->start = (uint32_t)n_start;
		r->bucket = at / 64;
		r->loc = at / 4 + ((uint64_t)r->B + 1) * 16;
		n_start += in ? (uint64_t)r->B + 2 : 0;
		if (in)
			at += range_made(w, p, at);
	}
	*bytes = at;
	if (n_start > UINT32_MAX)
		return kh_fail(err, KH_EUSAGE, "%" PRIu64 " buckets are too many",
			       n_start);
	if ((rc = kh_gpu_room_exact(&w->images.start, n_start * 4, err)) ||
	    (rc = kh_gpu_room_exact(&w->images.image, at, err)) ||
	    (rc = kh_wave_put_ranges(w, err)) ||
	    (rc = KH_GPU(cudaMemsetAsync(w->images.image.p, 0, at, w->stream), err)))
		return rc;
	e->start = w->images.start.p;
	e->image = w->images.image.p;
	rc = kh_gpu_check(kh_gpu_fill(e, n_start, w->stream), "fill kernels", err);
	return rc ? rc : kh_wave_wait(w, err);
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

/* With text, slots are made on the other side of the pairs, if it is there. */
static uint64_t needed(const struct kh_wave *w, unsigned from, unsigned to, uint64_t keys)
{
	const uint64_t pairs = pairs_of(w, from, to);
	const bool side = w->owner->plan.text && kh_wave_has_side(w);

	return kh_plan_encoding(&w->owner->plan, pairs, keys, to - from) -
	       (side ? kh_plan_pairs(pairs) : 0);
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
	if (!rc && w->f->bins->places)
		return kh_wave_encode_seeds(w, bytes, err);
	if (rc || (rc = first_buckets(w, im->first, *to, err)) ||
	    (rc = place(w, im->first, *to, err)))
		return rc;
	return fill(w, im->first, *to, bytes, err);
}

/* How many slots are left to later levels is not known before, so there may be less room for all
 * ranges than was thought; lists that were made stay the same when they are made again. */
static bool take_fewer(struct kh_wave *w, unsigned *to)
{
	const unsigned n = *to - w->images.first;

	if (!w->f->bins->places || n < 2)
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
