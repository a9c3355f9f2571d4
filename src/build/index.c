/*
 * index.c - the index of a build: features with their bins, by range, which all workers sort and
 * encode
 */
#include <config.h>
#include "build/build_in.h"

#include <stdlib.h>
#include "base/mem.h"
#include "base/order.h"
#include "base/progress.h"

int kh_build_index_add(struct build *b, unsigned worker, const kh_block_pieces *s, kh_err *err)
{
	kh_features *f = &b->in.worker[worker].features;
	int rc = kh_pieces_features(f, s, &b->sampling, err);

	return rc ? rc : kh_store_add(b->in.store, s->ticket, f->key, f->bin, f->n, err);
}

/* Images circulate: a worker takes a range only when it has an image, so the lowest range that is
 * not written always has one. */
struct indexing {
	struct build *b;
	kh_monitor *m;
	kh_queue *images;
	kh_order *order;
	_Atomic unsigned next;
	unsigned written;
	double started;
};

/* Writes a range behind those before it. */
static int write_range(struct indexing *x, const kh_image *im, kh_err *err)
{
	static const char zero[64];     /* a range ends at a multiple of 64 */
	struct build *b = x->b;
	kh_seed_range *r = &b->out.dir[x->written++];
	const size_t lines = (size_t)kh_seed_line_bytes(&im->range);
	const size_t lists = (size_t)im->range.words * sizeof *im->word;
	int rc = kh_db_append(b->out.w, im->line, lines, err);

	if (!rc)
		rc = kh_db_append(b->out.w, im->word, lists, err);
	if (!rc)
		rc = kh_db_append(b->out.w, zero, (size_t)kh_seed_bytes(&im->range) - lines - lists,
				  err);
	*r = im->range;
	r->first_line = b->out.image_bytes / 64;
	r->first_word = (b->out.image_bytes + lines) / 4;
	b->out.image_bytes += kh_seed_bytes(r);
	b->sum->header.locations += im->locations;
	kh_progress(&(kh_step) { .doing = "wrote",
				 .things = "ranges of the index",
				 .started = x->started,
				 .done = x->written,
				 .total = KH_RANGES });
	return rc;
}

static int deliver(void *arg, void *image, kh_err *err)
{
	struct indexing *x = arg;
	const int rc = write_range(x, image, err);

	kh_queue_push(x->images, image);
	return rc;
}

static int make_range(struct indexing *x, unsigned range, kh_pair_scratch *scratch, kh_image *image,
		      kh_err *err)
{
	kh_pairs pairs;
	int rc = kh_store_range(x->b->in.store, range, scratch, &pairs, err);

	if (!rc)
		rc = kh_seeds_encode(image, scratch, &pairs, &x->b->taxa.bins.bins, err);
	return rc ? rc : kh_order_put(x->order, range, image, deliver, x);
}

static int make_ranges(void *arg, unsigned worker, kh_err *err)
{
	struct indexing *x = arg;
	kh_pair_scratch scratch = { .key = NULL };
	int rc = KH_OK;

	(void)worker;
	while (!rc) {
		kh_image *image = kh_queue_pop(x->images);

		if (!image) {
			rc = KH_ECANCEL;
			break;
		}
		const unsigned range = x->next++;

		if (range >= KH_RANGES) {
			kh_queue_push(x->images, image);
			break;
		}
		rc = make_range(x, range, &scratch, image, err);
	}
	kh_pair_scratch_clear(&scratch);
	return rc;
}

static int make_index(void *arg, kh_err *err)
{
	struct build *b = arg;
	struct indexing x = { .b = b, .started = kh_seconds() };
	const size_t n = b->o->threads + (size_t)1;
	kh_image *image = kh_array(n, sizeof *image, err);
	int rc = image ? kh_monitor_new(&x.m, err) : KH_ENOMEM;

	if (!rc)
		rc = kh_queue_new(&x.images, x.m, n, err);
	if (!rc)
		rc = kh_order_new(&x.order, x.m, n, err);
	for (size_t i = 0; i < n && !rc; i++)
		kh_queue_push(x.images, &image[i]);
	if (!rc)
		rc = kh_threads_run(x.m, b->o->threads, make_ranges, &x, err);
	for (size_t i = 0; image && i < n; i++)
		kh_image_clear(&image[i]);
	kh_order_free(x.order);
	kh_queue_free(x.images);
	kh_monitor_free(x.m);
	free(image);
	return rc;
}

int kh_build_index_write(struct build *b, kh_err *err)
{
	struct file *out = &b->out;
	int rc;

	out->dir = kh_array(KH_RANGES, sizeof *out->dir, err);
	rc = out->dir ? kh_db_begin(out->w, KH_SEC_INDEX, err) : KH_ENOMEM;
	if (!rc)        /* a second thread makes the checksums meanwhile */
		rc = kh_db_with_helper(out->w, make_index, b, err);
	return rc;
}
