/*
 * finish_encode.c - the end of a build: sorted pairs of some ranges to their images
 */
#include <config.h>
#include "finish_in.h"

#include <inttypes.h>

/* --- encode some of the sorted ranges --- */
static kh_gpu_range *ranges(const struct kh_wave *w)
{
	return w->hrange.p;
}

static int put_ranges(struct kh_wave *w, kh_err *err)
{
	return KH_GPU(cudaMemcpyAsync(w->range.p, w->hrange.p,
				      (KH_RANGES + 1) * sizeof(kh_gpu_range),
				      cudaMemcpyHostToDevice, w->stream),
		      err);
}

static int get_ranges(struct kh_wave *w, kh_err *err)
{
	return kh_wave_get(w, w->hrange.p, w->range.p, (KH_RANGES + 1) * sizeof(kh_gpu_range),
		   err);
}

static int get_count(struct kh_wave *w, uint64_t *n, kh_err *err)
{
	int rc = kh_wave_get(w, w->hcounts.p, w->counts.p, 64, err);

	*n = ((uint64_t *)w->hcounts.p)[1];
	return rc;
}

/* Distinct keys, by range. */
static int find_heads(struct kh_wave *w, unsigned from, unsigned to, kh_err *err)
{
	kh_gpu_encode *e = &w->e;
	int rc;

	for (unsigned p = 0; p <= KH_RANGES; p++) {
		unsigned q = p < from ? from : p > to ? to : p;

		ranges(w)[p] = (kh_gpu_range) { .pair = w->bound[q] - w->bound[from] };
	}
	e->key = w->sort.key + w->bound[from];
	e->bin = w->sort.bin + w->bound[from];
	e->n = w->bound[to] - w->bound[from];
	if ((rc = kh_gpu_room(&w->head, (e->n + 1) * 4, err)) ||
	    (rc = kh_gpu_room(&w->scan, kh_gpu_encode_room(e->n), err)))
		return rc;
	e->head = w->head.p;
	e->room = w->scan.p;
	e->room_bytes = w->scan.bytes;
	e->n_out = (uint64_t *)w->counts.p + 1;
	e->counts = w->counts.p;
	if ((rc = KH_GPU(cudaMemsetAsync(w->counts.p, 0, 64, w->stream), err)) ||
	    (rc = put_ranges(w, err)) ||
	    (rc = kh_gpu_check(kh_gpu_heads(e, w->stream), "selection of keys", err)) ||
	    (rc = get_count(w, &e->n_heads, err)) ||
	    (rc = kh_gpu_check(kh_gpu_range_heads(e, w->stream), "heads kernel", err)))
		return rc;
	return get_ranges(w, err);
}

static int first_buckets(struct kh_wave *w, unsigned from, unsigned to, kh_err *err)
{
	kh_gpu_encode *e = &w->e;
	int rc;

	for (unsigned p = from; p < to; p++) {
		uint64_t keys = ranges(w)[p + 1].head - ranges(w)[p].head;

		ranges(w)[p].B =
			keys ? (uint32_t)((keys + KH_BUCKET_LOAD - 1) / KH_BUCKET_LOAD)
			     : 1;
	}
	if ((rc = kh_gpu_room(&w->entry, (e->n_heads + 1) * 4, err)) ||
	    (rc = kh_gpu_room(&w->lead, (e->n_heads + 2) * 8, err)) ||
	    (rc = kh_gpu_room(&w->slot, (e->n_heads + 1) * 4, err)) ||
	    (rc = kh_gpu_room(&w->len, e->n_heads + 1, err)) ||
	    (rc = kh_gpu_room(&w->many, (e->n / KH_GPU_MANY + 1) * 4, err)) ||
	    (rc = kh_gpu_room(&w->several, (e->n_heads / 256 + 4096) * 4, err)))
		return rc;
	e->entry = w->entry.p;
	e->lead = w->lead.p;
	e->slot = w->slot.p;
	e->len = w->len.p;
	e->many = w->many.p;
	return KH_OK;
}

/* Places for all entries; again, with more buckets, for ranges where one lies too far
 * off. */
static int place(struct kh_wave *w, unsigned from, unsigned to, kh_err *err)
{
	kh_gpu_encode *e = &w->e;
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
		e->several = w->several.p;
		e->cap_several = (uint32_t)(w->several.bytes / 4);
		if ((rc = put_ranges(w, err)) ||
		    (rc = KH_GPU(cudaMemsetAsync(w->counts.p, 0, 64, w->stream), err)) ||
		    (rc = kh_gpu_check(kh_gpu_entries(e, w->stream),
				       "selection of entries", err)) ||
		    (rc = get_count(w, &e->n_entries, err)) ||
		    (rc = kh_gpu_check(kh_gpu_place(e, w->stream), "place kernels",
				       err)) ||
		    (rc = kh_wave_get(w, w->hcounts.p, w->counts.p, 64, err)) ||
		    (rc = get_ranges(w, err)))
			return rc;
		uint32_t several = *(uint32_t *)w->hcounts.p;
		if (several > e->cap_several) {
			rc = kh_gpu_room(&w->several, (size_t)several * 4, err);
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

/* Lengths of lists, then the image of the ranges; its bytes. */
static int fill(struct kh_wave *w, unsigned from, unsigned to, uint64_t *bytes, kh_err *err)
{
	kh_gpu_encode *e = &w->e;
	uint64_t n_start = 0, at = 0;
	int rc;

	if ((rc = kh_gpu_check(kh_gpu_lists(e, w->stream), "list kernels", err)) ||
	    (rc = get_ranges(w, err)))
		return rc;
	for (unsigned p = 0; p <= KH_RANGES; p++) {
		kh_gpu_range *r = &ranges(w)[p];
		bool in = p >= from && p < to;
		kh_range x = { .buckets = r->B, .n_locs = in ? r[1].word - r->word : 0 };

		r->start = (uint32_t)n_start;
		r->bucket = at / 64;
		r->loc = at / 4 + ((uint64_t)r->B + 1) * 16;
		n_start += in ? (uint64_t)r->B + 2 : 0;
		at += in ? kh_range_bytes(&x) : 0;
	}
	*bytes = at;
	if (n_start > UINT32_MAX)
		return kh_fail(err, KH_EUSAGE, "%" PRIu64 " buckets are too many",
			       n_start);
	if ((rc = kh_gpu_room(&w->start, n_start * 4, err)) ||
	    (rc = kh_gpu_room(&w->image, at, err)) || (rc = put_ranges(w, err)) ||
	    (rc = KH_GPU(cudaMemsetAsync(w->image.p, 0, at, w->stream), err)))
		return rc;
	e->start = w->start.p;
	e->image = w->image.p;
	rc = kh_gpu_check(kh_gpu_fill(e, n_start, w->stream), "fill kernels", err);
	return rc ? rc : kh_wave_wait(w, err);
}

/* --- delivery --- */
kh_range kh_wave_range(const struct kh_wave *w, unsigned p)
{
	const kh_gpu_range *r = &ranges(w)[p];

	return (kh_range) { .n_locs = r[1].word - r->word,
			    .buckets = r->B,
			    .keys = (uint32_t)(r[1].head - r->head),
			    .entries = (uint32_t)(r[1].entry - r->entry),
			    .over = r->over };
}

/* Bytes that it takes to encode ranges whose keys are counted, beside their pairs. */
static uint64_t encode_bytes(const struct kh_wave *w, unsigned from, unsigned to)
{
	const uint64_t keys = ranges(w)[to].head - ranges(w)[from].head;
	const uint64_t pairs = w->bound[to] - w->bound[from];
	const uint64_t buckets = keys / KH_BUCKET_LOAD + keys / 128 + 4 * KH_RANGES;

	return keys * 18 + buckets * (sizeof(kh_bucket) + 4) + pairs * 4 + pairs / 64 +
	       65536;
}

static uint64_t encode_held(const struct kh_wave *w)
{
	return w->entry.bytes + w->lead.bytes + w->slot.bytes + w->len.bytes +
	       w->image.bytes + w->start.bytes + w->many.bytes;
}

/* Keys of the ranges from `from` on, and *to: of how many there is room for at a time,
 * usually all. */
static int choose_ranges(struct kh_wave *w, unsigned from, unsigned *to, kh_err *err)
{
	uint64_t room = 0;
	int rc = KH_OK;

	for (*to = w->to; *to > from + 1 && w->bound[*to] - w->bound[from] >= UINT32_MAX;)
		--*to;
	if (w->bound[*to] - w->bound[from] >= UINT32_MAX)
		return kh_fail(err, KH_EUSAGE,
			       "%" PRIu64 " pairs in one of 256 ranges are too many",
			       w->bound[*to] - w->bound[from]);
	if ((rc = kh_wave_make_free(w, 5 * (w->bound[*to] - w->bound[from]), true, err)) ||
	    (rc = find_heads(w, from, *to, err)) ||
	    (rc = kh_wave_make_free(w, encode_bytes(w, from, *to), true, err)) ||
	    (rc = kh_gpu_free(&room, err)))
		return rc;
	room += encode_held(w);
	if (w->b->o.gpu_memory && w->b->o.gpu_memory < room)
		room = w->b->o.gpu_memory;
	if (encode_bytes(w, from, *to) <= room)
		return rc;
	while (*to > from + 1 && encode_bytes(w, from, *to) > room)
		--*to;
	return find_heads(w, from, *to, err);
}

int kh_wave_encode(struct kh_wave *w, kh_err *err)
{
	const double began = kh_seconds();
	uint64_t bytes = 0;
	unsigned to = w->to;
	int rc = KH_OK;

	w->first = w->next;
	if (w->first < w->to && !(rc = choose_ranges(w, w->first, &to, err)) &&
	    !(rc = first_buckets(w, w->first, to, err)) &&
	    !(rc = place(w, w->first, to, err)))
		rc = fill(w, w->first, to, &bytes, err);
	w->next = to;
	w->share->times.encode += kh_seconds() - began;
	w->share->times.bytes += bytes;
	return rc;
}
