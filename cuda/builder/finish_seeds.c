/*
 * finish_seeds.c - the end of a build: sorted pairs of ranges to their lines and lists
 *
 * How many lines a level has is known when the slots that the levels before it have no room for
 * have been counted.  So first the slots of all levels are made, and then the image, in which the
 * levels of a range stand one behind another.
 */
#include <config.h>
#include "cuda/builder/finish_in.h"

#include <inttypes.h>
#include "index/seeds.h"

static kh_gpu_range *ranges(const struct kh_wave *w)
{
	return w->images.hrange.p;
}

static uint32_t bits_of(const struct kh_wave *w)
{
	return w->images.e.bins.bits;
}

/* --- lists --- */
static int make_lists(struct kh_wave *w, kh_err *err)
{
	struct kh_wave_images *im = &w->images;
	kh_gpu_encode *e = &im->e;
	int rc;

	if ((rc = kh_gpu_room_exact(&im->len, e->n_heads + 1, err)) ||
	    (rc = kh_gpu_room_exact(&im->lead, (e->n_heads + 1) * 8, err)) ||
	    (rc = kh_gpu_room_exact(&im->scan, kh_gpu_seeds_scratch(e->n), err)))
		return rc;
	e->len = im->len.p;
	e->lead = im->lead.p;
	e->scratch = im->scan.p;
	e->scratch_bytes = im->scan.bytes;
	rc = kh_gpu_check(kh_gpu_seed_lists(e, w->stream), "list kernels", err);
	return rc ? rc : kh_wave_get_ranges(w, err);
}

/* --- levels --- */
/* Where the slots of the first level are made: on the other side of the sorted pairs, if that is
 * still there. */
static int first_slots(struct kh_wave *w, kh_gpu_level *x, kh_err *err)
{
	struct kh_wave_pairs *p = &w->pairs;
	struct kh_wave_seeds *s = &w->seeds;
	const uint64_t at = w->images.e.key - p->sort.key;
	uint64_t *key = p->sort.key2 + at;
	uint32_t *value = p->sort.bin2 + at;
	int rc = KH_OK;

	if (!kh_wave_has_side(w)) {
		if ((rc = kh_gpu_room_exact(&s->key[0], x->n * 8 + 1, err)) ||
		    (rc = kh_gpu_room_exact(&s->value[0], x->n * 4 + 1, err)))
			return rc;
		key = s->key[0].p;
		value = s->value[0].p;
	}
	x->key = key;
	x->value = value;
	return kh_gpu_check(kh_gpu_seed_slots(&w->images.e, key, value, w->stream),
			    "slot kernel", err);
}

/* Sets how many lines each range has in level l, whose slots are known, and puts that on the
 * device. */
static int put_parts(struct kh_wave *w, unsigned l, kh_err *err)
{
	struct kh_wave_seeds *s = &w->seeds;
	kh_gpu_level_range *part = s->part[l];
	const uint32_t slots = kh_seed_slots(bits_of(w));

	for (unsigned p = 0; p < KH_RANGES; p++)
		part[p].lines = kh_seed_lines(l, part[p + 1].slot - part[p].slot, slots);
	s->level[l].part = (kh_gpu_level_range *)s->parts.p + l * (KH_RANGES + 1);
	s->level[l].bits = bits_of(w);
	return KH_GPU(cudaMemcpyAsync((void *)s->level[l].part, part, sizeof s->part[l],
				      cudaMemcpyHostToDevice, w->stream), err);
}

static int count_left(struct kh_wave *w, const kh_gpu_level *x, uint64_t *n, kh_err *err)
{
	uint64_t *out = (uint64_t *)w->images.counts.p + 1;
	int rc = KH_GPU(cudaMemsetAsync(out, 0, sizeof *out, w->stream), err);

	if (!rc)
		rc = kh_gpu_check(kh_gpu_seed_count_left(x, out, w->stream), "count of slots", err);
	if (!rc)
		rc = kh_wave_get(w, w->images.hcounts.p, out, sizeof *out, err);
	*n = rc ? 0 : *(uint64_t *)w->images.hcounts.p;
	return rc;
}

/* Room for n slots that level l leaves to the next. */
static int rooms(struct kh_wave_seeds *s, unsigned l, uint64_t n, kh_err *err)
{
	int rc;

	if ((rc = kh_gpu_room_exact(&s->left, n * 4, err)) ||
	    (rc = kh_gpu_room_exact(&s->key[l + 1], n * 8, err)) ||
	    (rc = kh_gpu_room_exact(&s->value[l + 1], n * 4, err)) ||
	    (rc = kh_gpu_room_exact(&s->key2, n * 8, err)))
		return rc;
	return kh_gpu_room_exact(&s->value2, n * 4, err);
}

static void swap(kh_gpu_buf *a, kh_gpu_buf *b)
{
	const kh_gpu_buf x = *a;

	*a = *b;
	*b = x;
}

/* Sorts what level l - 1 has left, and finds its ranges. */
static int sort_level(struct kh_wave *w, unsigned l, kh_err *err)
{
	struct kh_wave_seeds *s = &w->seeds;
	kh_gpu_level *x = &s->level[l];
	kh_gpu_sort sort = { .key = s->key[l].p, .key2 = s->key2.p, .bin = s->value[l].p,
			     .bin2 = s->value2.p, .n = x->n, .bits = KH_KEY_BITS };
	uint64_t at[KH_RANGES + 1];
	int rc = kh_gpu_check(kh_gpu_sort_run(&sort, w->stream), "sort", err);

	if (!rc)
		rc = kh_gpu_room_exact(&s->at, sizeof at, err);
	if (!rc)
		rc = kh_gpu_room_exact(&s->scratch, sort.scratch_bytes, err);
	sort.scratch = s->scratch.p;
	sort.scratch_bytes = s->scratch.bytes;
	if (rc || (rc = kh_gpu_check(kh_gpu_sort_run(&sort, w->stream), "sort", err)))
		return rc;
	if (sort.key != s->key[l].p)
		swap(&s->key[l], &s->key2);
	if (sort.bin != s->value[l].p)
		swap(&s->value[l], &s->value2);
	x->key = sort.key;
	x->value = sort.bin;
	rc = kh_gpu_check(kh_gpu_bounds(x->key, x->n, s->at.p, w->stream), "bounds kernel", err);
	if (!rc)
		rc = kh_wave_get(w, at, s->at.p, sizeof at, err);
	for (unsigned p = 0; p <= KH_RANGES && !rc; p++)
		s->part[l][p].slot = at[p];
	return rc;
}

/* The n slots that level l has no room for become level l + 1. */
static int next_level(struct kh_wave *w, unsigned l, uint64_t n, kh_err *err)
{
	struct kh_wave_seeds *s = &w->seeds;
	int rc = rooms(s, l, n, err);

	if (rc)
		return rc;
	const kh_gpu_left left = { .n = n, .key = s->key[l + 1].p, .value = s->value[l + 1].p,
				   .left = s->left.p,
				   .n_out = (uint64_t *)w->images.counts.p + 1,
				   .scratch = w->images.scan.p,
				   .scratch_bytes = w->images.scan.bytes };

	rc = kh_gpu_check(kh_gpu_seed_left(&s->level[l], &left, w->stream), "selection of slots",
			  err);
	s->level[l + 1] = (kh_gpu_level) { .n = n };
	return rc ? rc : sort_level(w, l + 1, err);
}

static int make_levels(struct kh_wave *w, kh_err *err)
{
	struct kh_wave_seeds *s = &w->seeds;
	uint64_t n;
	int rc = kh_gpu_room_exact(&s->parts, sizeof s->part, err);

	for (unsigned p = 0; p <= KH_RANGES; p++)
		s->part[0][p].slot = ranges(w)[p].entry;
	s->n = 0;
	s->level[0] = (kh_gpu_level) { .n = ranges(w)[KH_RANGES].entry };
	if (!rc)
		rc = first_slots(w, &s->level[0], err);
	while (!rc && s->level[s->n].n > 0) {
		const unsigned l = s->n++;

		if ((rc = put_parts(w, l, err)) ||
		    (rc = count_left(w, &s->level[l], &n, err)) || n == 0)
			break;
		if (s->n == KH_SEED_LEVELS)
			return kh_seeds_too_many(w->images.e.n_heads, err);
		rc = next_level(w, l, n, err);
	}
	return rc;
}

/* --- the image --- */
/* What range p, whose lines begin at byte `at` of the image, is for the file. */
static int range_made(struct kh_wave *w, unsigned p, uint64_t at, kh_err *err)
{
	struct kh_wave_made *m = &w->images.made[p];
	const kh_gpu_range *r = &ranges(w)[p];
	kh_seed_range *x = &m->seeds;
	const uint64_t words = r[1].word - r->word, most = (UINT64_C(1) << bits_of(w)) - 1;

	*m = (struct kh_wave_made) { .at = at };
	*x = (kh_seed_range) { .words = (uint32_t)words,
			       .lists = r->lists,
			       .seeds = (uint32_t)(r[1].head - r->head),
			       .over = r->over,
			       .slots = (uint32_t)(r[1].entry - r->entry) };
	for (unsigned l = 0; l < w->seeds.n; l++)
		x->lines[l] = w->seeds.part[l][p].lines;
	m->lists = kh_seed_line_bytes(x);
	m->bytes = kh_seed_bytes(x);
	m->locations = x->slots - x->lists - (uint64_t)x->over + words;
	return words < most ? KH_OK : kh_seeds_too_many_words(words, err);
}

/* Where everything lies in the image. */
static int lay_out(struct kh_wave *w, uint64_t *bytes, kh_err *err)
{
	struct kh_wave_seeds *s = &w->seeds;
	int rc = KH_OK;

	*bytes = 0;
	for (unsigned p = w->images.first; p < w->images.next && !rc; p++) {
		const struct kh_wave_made *m = &w->images.made[p];
		uint64_t line = *bytes / 64;

		rc = range_made(w, p, *bytes, err);
		for (unsigned l = 0; l < s->n; l++) {
			s->part[l][p].line = line;
			line += s->part[l][p].lines;
		}
		ranges(w)[p].loc = line * 16;
		*bytes += m->bytes;
	}
	for (unsigned l = 0; l < s->n && !rc; l++)
		rc = put_parts(w, l, err);
	return rc ? rc : kh_wave_put_ranges(w, err);
}

static int fill(struct kh_wave *w, uint64_t bytes, kh_err *err)
{
	struct kh_wave_images *im = &w->images;
	int rc = kh_gpu_room_exact(&im->image, bytes, err);

	im->e.image = im->image.p;
	if (!rc)
		rc = KH_GPU(cudaMemsetAsync(im->image.p, 0, bytes, w->stream), err);
	for (unsigned l = 0; l < w->seeds.n && !rc; l++)
		rc = kh_gpu_check(kh_gpu_seed_lines(&w->seeds.level[l], im->image.p, w->stream),
				  "line kernel", err);
	if (!rc)
		rc = kh_gpu_check(kh_gpu_seed_words(&im->e, w->stream), "word kernel", err);
	return rc ? rc : kh_wave_wait(w, err);
}

int kh_wave_encode_seeds(struct kh_wave *w, uint64_t *bytes, kh_err *err)
{
	int rc = make_lists(w, err);

	if (!rc)
		rc = make_levels(w, err);
	if (!rc)
		rc = lay_out(w, bytes, err);
	return rc ? rc : fill(w, *bytes, err);
}
