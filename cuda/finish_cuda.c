/*
 * finish_cuda.c - the end of a build: pairs gathered, sorted, encoded, handed over
 */
#include <config.h>
#include "backend_in.h"

#include <inttypes.h>
#include <stdlib.h>
#include "builder_in.h"
#include "mem.h"

/* --- finish: a wave of ranges ------------------------------------------------------- */
struct wave {
	kh_builder *b;
	const kh_finish *f;
	cudaStream_t stream;
	unsigned from, to;              /* ranges */
	kh_gpu_sort sort;
	kh_gpu_buf key[2], bin[2], room;
	kh_gpu_buf at, hat;             /* bounds: device, host */
	uint64_t *bound;
	/* encoding */
	kh_gpu_encode e;
	kh_gpu_buf range, head, entry, lead, slot, len, several, many, counts, start,
		scan, image;
	kh_gpu_buf hrange, hcounts;     /* pinned */
	kh_gpu_buf bins_first, bins_taxon, tree_parent, tree_end;
	kh_gpu_buf remap_first, remap_to, parts;
	kh_gpu_remap remap;
	/* delivery */
	kh_gpu_buf out[2];              /* pinned */
	cudaEvent_t ready[2];
};

static void wave_close(struct wave *w)
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
			      &w->parts,      &w->out[0],      &w->out[1] };

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

/* An array to the device; waits for nothing, p must stay. */
static int put(struct wave *w, kh_gpu_buf *to, const void *p, size_t bytes, kh_err *err)
{
	int rc = kh_gpu_room_exact(to, bytes ? bytes : 1, err);

	return rc || !bytes ? rc
			    : KH_GPU(cudaMemcpyAsync(to->p, p, bytes,
						     cudaMemcpyHostToDevice, w->stream),
				     err);
}

static int wave_open(struct wave *w, kh_err *err)
{
	const kh_finish *f = w->f;
	int rc =
		KH_GPU(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking), err);

	for (int i = 0; i < 2 && !rc; i++)
		rc = KH_GPU(
			cudaEventCreateWithFlags(&w->ready[i], cudaEventDisableTiming),
			err);
	if (rc ||
	    (rc = put(w, &w->bins_first, f->bins->first, (size_t)f->bins->n * 4, err)) ||
	    (rc = put(w, &w->bins_taxon, f->bins->taxon, (size_t)f->bins->n * 4, err)) ||
	    (rc = put(w, &w->tree_parent, f->tax->parent, (size_t)f->tax->n * 4, err)) ||
	    (rc = put(w, &w->tree_end, f->tax->end, (size_t)f->tax->n * 4, err)) ||
	    (rc = kh_gpu_room(&w->at, (KH_RANGES + 1) * 8, err)) ||
	    (rc = kh_gpu_host_room(&w->hat, (KH_RANGES + 1) * 8, err)) ||
	    (rc = kh_gpu_room(&w->range, (KH_RANGES + 1) * sizeof(kh_gpu_range), err)) ||
	    (rc = kh_gpu_host_room(&w->hrange, (KH_RANGES + 1) * sizeof(kh_gpu_range),
				   err)) ||
	    (rc = kh_gpu_room(&w->counts, 64, err)) ||
	    (rc = kh_gpu_host_room(&w->hcounts, 64, err)))
		return rc;
	if (f->remap) {
		size_t n = f->remap->old.n;

		if ((rc = put(w, &w->remap_first, f->remap->old.first, n * 4, err)) ||
		    (rc = put(w, &w->remap_to, f->remap->to, n * 4, err)))
			return rc;
		w->remap = (kh_gpu_remap) { w->remap_first.p, w->remap_to.p,
					    (uint32_t)n };
	}
	w->bound = w->hat.p;
	w->e.bins = (kh_bins) { f->bins->n, w->bins_first.p, w->bins_taxon.p };
	w->e.tree = (kh_tree) { f->tax->n, w->tree_parent.p, w->tree_end.p, NULL, NULL };
	w->e.range = w->range.p;
	return KH_OK;
}

static int wait(struct wave *w, kh_err *err)
{
	return KH_GPU(cudaStreamSynchronize(w->stream), err);
}

/* Device to pinned host memory, and waits. */
static int get(struct wave *w, void *to, const void *from, size_t bytes, kh_err *err)
{
	int rc = KH_GPU(
		cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, w->stream), err);

	return rc ? rc : wait(w, err);
}

/* --- gather and sort --- */
static int by_ticket(const void *a, const void *b)
{
	uint64_t x = ((const struct kh_cuda_part *)a)->ticket,
		 y = ((const struct kh_cuda_part *)b)->ticket;

	return (x > y) - (x < y);
}

static int sort_room(struct wave *w, uint64_t n, int i, kh_err *err)
{
	int rc = kh_gpu_room_exact(&w->key[i], n * 8, err);

	return rc ? rc : kh_gpu_room_exact(&w->bin[i], n * 4, err);
}

/* All pairs of the device store, in the order of tickets; the store is given back. */
static int gather_device(struct wave *w, kh_err *err)
{
	kh_builder *b = w->b;
	kh_gpu_part *part = kh_array(b->n_parts, sizeof *part, err);
	uint64_t n = 0;
	int rc = part ? KH_OK : KH_ENOMEM;

	if (b->n_parts)
		qsort(b->part, b->n_parts, sizeof *b->part, by_ticket);
	for (size_t i = 0; i < b->n_parts && !rc; i++) {
		const struct kh_cuda_part *p = &b->part[i];
		const struct kh_cuda_chunk *c = &b->chunk[p->chunk];

		part[i] = (kh_gpu_part) { (const uint64_t *)c->key.p + p->at,
					  (const uint32_t *)c->bin.p + p->at, p->n, n };
		n += p->n;
	}
	if (!rc && !(rc = sort_room(w, n ? n : 1, 0, err)) &&
	    !(rc = put(w, &w->parts, part, b->n_parts * sizeof *part, err)))
		rc = kh_gpu_check(kh_gpu_gather(w->parts.p, (uint32_t)b->n_parts,
						&w->remap, w->key[0].p, w->bin[0].p,
						w->stream),
				  "gather kernel", err);
	if (!rc)
		rc = wait(w, err);
	free(part);
	w->sort.n = n;
	return rc;
}

/* The pairs of the wave's ranges from the host's store. */
static int gather_host(struct wave *w, kh_err *err)
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
	if (!rc && !(rc = sort_room(w, n ? n : 1, 0, err)))
		rc = sort_room(w, n ? n : 1, 1, err);
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
			rc = wait(w, err);
		n += m;
	}
	if (!rc) {
		*part = (kh_gpu_part) { w->key[1].p, w->bin[1].p, n, 0 };
		rc = put(w, &w->parts, part, sizeof *part, err);
	}
	if (!rc)
		rc = kh_gpu_check(kh_gpu_gather(w->parts.p, 1, &w->remap, w->key[0].p,
						w->bin[0].p, w->stream),
				  "gather kernel", err);
	if (!rc)
		rc = wait(w, err);
	free(key);
	free(bin);
	free(part);
	return rc;
}

/* Frees what is not the sorted pairs, unless that much memory is free anyway: to give
 * back tens of gigabytes takes tens of milliseconds. */
static int make_free(struct wave *w, uint64_t bytes, bool sorted, kh_err *err)
{
	uint64_t room;
	int rc = kh_gpu_free(&room, err);

	if (w->b->o.gpu_memory)
		room = 0;
	if (rc || room > bytes + SPARE)
		return rc;
	kh_cuda_drop_chunks(w->b);
	if (!sorted)
		return rc;
	kh_gpu_drop(&w->key[w->sort.key == w->key[0].p]);
	kh_gpu_drop(&w->bin[w->sort.bin == w->bin[0].p]);
	kh_gpu_drop(&w->room);
	return rc;
}

static int sort_pairs(struct wave *w, kh_err *err)
{
	kh_gpu_sort *s = &w->sort;
	int rc = make_free(w, s->n * PAIR, false, err);

	if (!rc)
		rc = sort_room(w, s->n ? s->n : 1, 1, err);
	if (rc)
		return rc;
	*s = (kh_gpu_sort) { w->key[0].p, w->key[1].p, w->bin[0].p, w->bin[1].p, s->n,
			     KH_KEY_BITS + (w->remap.n > 0), NULL, 0 };
	rc = kh_gpu_check(kh_gpu_sort_run(s, w->stream), "sort", err);
	if (!rc)
		rc = kh_gpu_room(&w->room, s->room_bytes, err);
	s->room = w->room.p;
	s->room_bytes = w->room.bytes;
	if (!rc)
		rc = kh_gpu_check(kh_gpu_sort_run(s, w->stream), "sort", err);
	if (!rc)
		rc = kh_gpu_check(kh_gpu_bounds(s->key, s->n, w->at.p, w->stream),
				  "bounds kernel", err);
	if (!rc)
		rc = get(w, w->bound, w->at.p, (KH_RANGES + 1) * 8, err);
	return rc;
}

/* --- encode some of the sorted ranges --- */
static kh_gpu_range *ranges(struct wave *w)
{
	return w->hrange.p;
}

static int put_ranges(struct wave *w, kh_err *err)
{
	return KH_GPU(cudaMemcpyAsync(w->range.p, w->hrange.p,
				      (KH_RANGES + 1) * sizeof(kh_gpu_range),
				      cudaMemcpyHostToDevice, w->stream),
		      err);
}

static int get_ranges(struct wave *w, kh_err *err)
{
	return get(w, w->hrange.p, w->range.p, (KH_RANGES + 1) * sizeof(kh_gpu_range),
		   err);
}

static int get_count(struct wave *w, uint64_t *n, kh_err *err)
{
	int rc = get(w, w->hcounts.p, w->counts.p, 64, err);

	*n = ((uint64_t *)w->hcounts.p)[1];
	return rc;
}

/* Distinct keys, by range. */
static int find_heads(struct wave *w, unsigned from, unsigned to, kh_err *err)
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

static int first_buckets(struct wave *w, unsigned from, unsigned to, kh_err *err)
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
static int place(struct wave *w, unsigned from, unsigned to, kh_err *err)
{
	kh_gpu_encode *e = &w->e;
	bool again = true;
	int rc = KH_OK;

	while (again && !rc) {
		again = false;
		for (unsigned p = from; p < to; p++) {
			if (ranges(w)[p].B >= KH_BUCKETS_MAX)
				return kh_fail(err, KH_EUSAGE,
					       "%" PRIu64
					       " features in one of 256 ranges of "
					       "the index are too many",
					       ranges(w)[p + 1].head - ranges(w)[p].head);
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
		    (rc = get(w, w->hcounts.p, w->counts.p, 64, err)) ||
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
static int fill(struct wave *w, unsigned from, unsigned to, uint64_t *bytes, kh_err *err)
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
	return rc ? rc : wait(w, err);
}

/* --- delivery --- */
static kh_range range_of(struct wave *w, unsigned p)
{
	const kh_gpu_range *r = &ranges(w)[p];

	return (kh_range) { .n_locs = r[1].word - r->word,
			    .buckets = r->B,
			    .keys = (uint32_t)(r[1].head - r->head),
			    .entries = (uint32_t)(r[1].entry - r->entry),
			    .over = r->over };
}

static int fetch(struct wave *w, unsigned p, int i, kh_err *err)
{
	kh_range r = range_of(w, p);
	int rc = kh_gpu_host_room(&w->out[i], kh_range_bytes(&r), err);

	if (!rc)
		rc = KH_GPU(cudaMemcpyAsync(w->out[i].p,
					    (const kh_bucket *)w->image.p +
						    ranges(w)[p].bucket,
					    kh_range_bytes(&r), cudaMemcpyDeviceToHost,
					    w->stream),
			    err);
	return rc ? rc : KH_GPU(cudaEventRecord(w->ready[i], w->stream), err);
}

/* While one range is written the next one is copied. */
static int deliver(struct wave *w, unsigned from, unsigned to, kh_err *err)
{
	int rc = from < to ? fetch(w, from, 0, err) : KH_OK;

	for (unsigned p = from; p < to && !rc; p++) {
		int i = (int)(p - from) % 2;
		kh_image im = { .range = range_of(w, p) };

		if (p + 1 < to)
			rc = fetch(w, p + 1, !i, err);
		if (!rc)
			rc = KH_GPU(cudaEventSynchronize(w->ready[i]), err);
		im.bucket = w->out[i].p;
		im.loc = (uint32_t *)(im.bucket + im.range.buckets + 1);
		im.locations = im.range.n_locs - im.range.over;
		if (!rc)
			rc = w->f->sink(w->f->arg, &im, err);
	}
	return rc;
}

/* Bytes that it takes to encode ranges whose keys are counted, beside their pairs. */
static uint64_t encode_bytes(struct wave *w, unsigned from, unsigned to)
{
	const uint64_t keys = ranges(w)[to].head - ranges(w)[from].head;
	const uint64_t pairs = w->bound[to] - w->bound[from];
	const uint64_t buckets = keys / KH_BUCKET_LOAD + keys / 128 + 4 * KH_RANGES;

	return keys * 18 + buckets * (sizeof(kh_bucket) + 4) + pairs * 4 + pairs / 64 +
	       65536;
}

static uint64_t encode_held(const struct wave *w)
{
	return w->entry.bytes + w->lead.bytes + w->slot.bytes + w->len.bytes +
	       w->image.bytes + w->start.bytes + w->many.bytes;
}

/* Keys of the ranges from `from` on, and *to: of how many there is room for at a time,
 * usually all. */
static int choose_ranges(struct wave *w, unsigned from, unsigned *to, kh_err *err)
{
	uint64_t room = 0;
	int rc = KH_OK;

	for (*to = w->to; *to > from + 1 && w->bound[*to] - w->bound[from] >= UINT32_MAX;)
		--*to;
	if (w->bound[*to] - w->bound[from] >= UINT32_MAX)
		return kh_fail(err, KH_EUSAGE,
			       "%" PRIu64 " pairs in one of 256 ranges are too many",
			       w->bound[*to] - w->bound[from]);
	if ((rc = make_free(w, 5 * (w->bound[*to] - w->bound[from]), true, err)) ||
	    (rc = find_heads(w, from, *to, err)) ||
	    (rc = make_free(w, encode_bytes(w, from, *to), true, err)) ||
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

/* The sorted ranges, as many at a time as there is room for. */
static int encode_all(struct wave *w, kh_err *err)
{
	unsigned from = w->from, to;
	int rc = KH_OK;

	while (from < w->to && !rc) {
		const double began = kh_seconds();
		uint64_t bytes;

		if ((rc = choose_ranges(w, from, &to, err)) ||
		    (rc = first_buckets(w, from, to, err)) ||
		    (rc = place(w, from, to, err)) ||
		    (rc = fill(w, from, to, &bytes, err)))
			break;
		w->b->times.encode += kh_seconds() - began;
		w->b->times.bytes += bytes;
		if (from == 0 && to == KH_RANGES && w->f->ready)
			w->f->ready(w->f->arg);
		rc = deliver(w, from, to, err);
		from = to;
	}
	return rc;
}

/* --- finish ------------------------------------------------------------------------- */
/* All pairs to the host's store: what is there must be in one order. */
static int spill_all(kh_builder *b, kh_err *err)
{
	kh_gpu_buf back = { .p = NULL };
	int rc = KH_OK;

	for (size_t i = 0; i < b->n_parts && !rc; i++) {
		const struct kh_cuda_part *p = &b->part[i];
		const struct kh_cuda_chunk *c = &b->chunk[p->chunk];

		rc = kh_cuda_spill(b, b->worker[0].stream, &back, p,
			   (const uint64_t *)c->key.p + p->at,
			   (const uint32_t *)c->bin.p + p->at, err);
	}
	kh_gpu_drop(&back);
	kh_cuda_drop_chunks(b);
	b->n_parts = 0;
	return rc;
}

static int run_wave(struct wave *w, kh_err *err)
{
	kh_cuda_times *t = &w->b->times;
	double from = kh_seconds(), now;
	int rc = w->b->spilling ? gather_host(w, err) : gather_device(w, err);

	t->gather += (now = kh_seconds()) - from;
	from = now;
	if (!rc)
		rc = sort_pairs(w, err);
	t->sort += kh_seconds() - from;
	t->pairs += w->sort.n;
	return rc ? rc : encode_all(w, err);
}

kh_cuda_times kh_cuda_builder_times(const kh_builder *b)
{
	return b->times;
}

/* Waves of ranges whose pairs can be sorted in the memory there is. */
static int run_waves(struct wave *w, kh_err *err)
{
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
		rc = run_wave(w, err);
	}
	return rc;
}

int kh_cuda_builder_finish(kh_builder *b, const kh_finish *f, kh_err *err)
{
	struct wave w = { .b = b, .f = f, .to = KH_RANGES };
	int rc = kh_gpu_use(b->device, err);

	if (!rc)
		rc = kh_cuda_retire_all(b, err);
	if (!rc && b->spilling)
		rc = spill_all(b, err);
	if (!rc)
		rc = wave_open(&w, err);
	if (!rc)
		rc = b->spilling ? run_waves(&w, err) : run_wave(&w, err);
	wave_close(&w);
	return rc;
}
