#include <config.h>
#include "index/index.h"

#include <stdbool.h>
#include <stdlib.h>

void kh_image_clear(kh_image *im)
{
	free(im->bucket);
	free(im->loc);
	free(im->rest);
	free(im->full);
	kh_cut_clear(&im->cut);
	kh_lists_clear(&im->lists);
	*im = (kh_image) { .bucket = NULL };
}

uint64_t kh_range_bytes(const kh_range *r, uint32_t bits)
{
	const uint64_t buckets = (uint64_t)(r->buckets + 1) * sizeof(kh_bucket);

	return (buckets + kh_words_bytes(r->n_locs, bits) + 63) & ~UINT64_C(63);
}

/* --- checking ----------------------------------------------------------------------- */

struct check {
	const kh_range *r;
	const void *image;
	uint32_t n_bins, n_taxa, bits;
	uint64_t words, entries, over;  /* so far */
	bool goes_on;                   /* the bucket before */
	int32_t last;                   /* the last tag of the same home; else -1 */
};

static const char *check_list(struct check *c, uint8_t len)
{
	const uint32_t n = kh_list_words(len), limit = len == KH_LIST_OVER ? c->n_taxa : c->n_bins;
	uint32_t last = 0;

	if (n > c->r->n_locs - c->words)
		return "lists run over the locations";
	for (uint32_t i = 0; i < n; i++) {
		uint32_t x = kh_word(c->image, kh_range_word(c->r, c->words + i, c->bits), c->bits);

		if (len == KH_LIST_OVER && x >= limit)
			return "a taxon is out of range";
		if (x >= limit || (i > 0 && x <= last))
			return "locations are not ascending bins";
		last = x;
	}
	c->words += n;
	c->entries++;
	c->over += len == KH_LIST_OVER;
	return NULL;
}

static const char *check_bucket(struct check *c, const kh_bucket *b)
{
	unsigned carried = b->flags & KH_BUCKET_CARRIED, i = 0;
	const char *why;

	if (kh_bucket_base(b) != c->words)
		return "a bucket's base is wrong";
	if (b->flags > (KH_BUCKET_CARRIED | KH_BUCKET_GOES_ON) || carried > KH_BUCKET_SLOTS ||
	    (carried > 0) != c->goes_on)
		return "a bucket's flags are wrong";
	for (; i < KH_BUCKET_SLOTS && b->len[i]; i++) {
		int32_t before = i == 0 ? c->last : b->tag[i - 1];

		if (i == carried)
			before = -1;
		if (b->tag[i] <= before)
			return "tags are not ascending";
		why = check_list(c, b->len[i]);
		if (why)
			return why;
	}
	c->goes_on = (b->flags & KH_BUCKET_GOES_ON) != 0;
	if (i < carried || (c->goes_on && i < KH_BUCKET_SLOTS))
		return "a bucket's flags and entries disagree";
	for (; i < KH_BUCKET_SLOTS; i++)
		if (b->len[i] || b->tag[i])
			return "an unused position is not zero";
	c->last = carried < KH_BUCKET_SLOTS ? b->tag[KH_BUCKET_SLOTS - 1] : -1;
	return NULL;
}

int kh_index_check(const void *image, const kh_range *r, uint32_t n_bins, uint32_t n_taxa,
		   kh_err *err)
{
	const kh_bucket *b = (const kh_bucket *)image + r->first_bucket;
	struct check c = { .r = r, .image = image, .n_bins = n_bins, .n_taxa = n_taxa,
			   .bits = kh_word_bits(n_bins, n_taxa), .last = -1 };
	const char *why = NULL;
	uint32_t i = 0;

	for (; i <= r->buckets && !why; i++)
		why = check_bucket(&c, b + i);
	unsigned carried = b[r->buckets].flags & KH_BUCKET_CARRIED;
	if (!why && (c.goes_on || (carried < KH_BUCKET_SLOTS && b[r->buckets].len[carried])))
		why = "the last bucket has entries of its own";
	if (!why && (c.words != r->n_locs || c.entries != r->entries || c.over != r->over))
		why = "totals disagree with the directory";
	if (why)
		return kh_fail(err, KH_EFORMAT, "bucket %u: %s", i ? i - 1 : 0, why);
	return KH_OK;
}
