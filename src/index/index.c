#include <config.h>
#include "index/index.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "index/keys.h"

void kh_image_clear(kh_image *im)
{
	free(im->bucket);
	free(im->loc);
	free(im->rest);
	free(im->full);
	kh_cut_clear(&im->cut);
	*im = (kh_image) { .bucket = NULL };
}

uint64_t kh_range_bytes(const kh_range *r, uint32_t bits)
{
	const uint64_t buckets = (uint64_t)(r->buckets + 1) * sizeof(kh_bucket);

	return (buckets + kh_words_bytes(r->n_locs, bits) + 63) & ~UINT64_C(63);
}

static uint32_t count_keys(const kh_pairs *p)
{
	uint32_t n = p->n > 0;

	for (size_t i = 1; i < p->n; i++)
		n += p->key[i] != p->key[i - 1];
	return n;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Writes the distinct locations of an entry to out, ascending; returns their number. */
static size_t gather(const kh_pairs *p, size_t from, size_t to, uint32_t *out)
{
	size_t n = 0;

	if (p->key[from] != p->key[to - 1]) {   /* several keys: a union */
		memcpy(out, p->loc + from, (to - from) * sizeof *out);
		qsort(out, to - from, sizeof *out, by_value);
		for (size_t i = 0; i < to - from; i++)
			if (n == 0 || out[n - 1] != out[i])
				out[n++] = out[i];
		return n;
	}
	for (size_t i = from; i < to; i++)
		if (n == 0 || out[n - 1] != p->loc[i])
			out[n++] = p->loc[i];
	return n;
}

static uint32_t list_lca(const uint32_t *loc, size_t n, const kh_bins *bins,
			 const kh_taxonomy *tax)
{
	const kh_tree tree = kh_taxonomy_tree(tax);
	kh_extent e = kh_extent_empty();

	for (size_t i = 0; i < n; i++)
		e = kh_extent_add(e, bins->taxon[kh_bins_target(bins, loc[i])]);
	return kh_tree_lca(&tree, e.lo, e.hi);
}

static void set_base(kh_bucket *b, uint64_t x)
{
	memcpy(b->base, &x, sizeof b->base);    /* of a number whose lowest byte is the first */
}

/* The list of an entry, pairs from .. to - 1, to out: *len becomes its length as the bucket has
 * it. */
static int make_list(kh_image *im, const kh_pairs *p, size_t from, size_t to, uint32_t *out,
		     uint8_t *len, const kh_bins *bins, const kh_taxonomy *tax, kh_err *err)
{
	size_t n;
	int rc = kh_cut_room(&im->cut, bins, to - from, err);

	if (rc)
		return rc;
	n = kh_cut_list(&im->cut, out, gather(p, from, to, out));
	*len = n > KH_LIST_MAX ? KH_LIST_OVER : (uint8_t)n;
	if (n > KH_LIST_MAX)
		*out = list_lca(out, n, bins, tax);
	im->range.over += n > KH_LIST_MAX;
	return im->keep_keys ? kh_keys_add(im, p, from, to, *len == KH_LIST_OVER, err) : KH_OK;
}

/* Of the key of pair i: home and tag in the upper 40 bits, and what there is behind the tag below;
 * behind the last pair, what no key has. */
static inline uint64_t scaled(const kh_pairs *p, size_t i, uint32_t B)
{
	return i < p->n ? (p->key[i] & ((UINT64_C(1) << 40) - 1)) * B : UINT64_MAX;
}

/* All entries, into B buckets.  1: done; 0: one lies further than a bucket behind its home.
 * An entry is the pairs whose keys have the same home and tag.  Its slot is the one behind that of
 * the entry before, or, if its home is further, the home's first: i + max over j <= i of
 * (19 * home_j - j), without multiplying.  What changes in the loop is in variables of its own,
 * which stay in registers. */
static int fill(kh_image *im, const kh_pairs *pairs, const kh_bins *bins, const kh_taxonomy *tax,
		kh_err *err)
{
	const kh_pairs p = *pairs;
	const uint32_t B = im->range.buckets;
	const kh_divisor by_b = kh_divisor_of(B);
	kh_bucket *b = im->bucket;
	uint32_t *const loc = im->loc, *rest = im->keep_keys ? im->rest : NULL;
	uint64_t at = 0, number = 0;            /* words so far; of bucket b */
	uint64_t z = scaled(&p, 0, B), next;
	int position = -1, rc;

	for (size_t from = 0, to; from < p.n; from = to, z = next) {
		const uint64_t home = z >> 40;
		uint8_t len = 1;

		if (home > number || ++position == KH_BUCKET_SLOTS) {
			if (number > home)
				return 0;
			do
				set_base(++b, at);
			while (++number < home);
			position = 0;
		}
		if (rest)
			*rest++ = kh_divided((uint32_t)(z & 0xffffff), by_b);
		loc[at] = p.loc[from];  /* most entries have one pair */
		for (to = from + 1; (next = scaled(&p, to, B)) >> 24 == z >> 24;)
			to++;
		if (to - from > 1) {
			rc = make_list(im, &p, from, to, loc + at, &len, bins, tax, err);
			if (rc)
				return rc;
		}
		b->tag[position] = (uint16_t)(z >> 24);
		b->len[position] = len;
		if (number > home) {
			b->flags++;     /* one more carried in */
			b[-1].flags |= KH_BUCKET_GOES_ON;
		}
		at += kh_list_words(len);
		im->range.entries++;
	}
	for (; number < B; number++)
		set_base(++b, at);
	im->range.n_locs = at;
	im->locations = at - im->range.over;
	return 1;
}

void kh_pack_words(uint32_t *word, uint64_t n, uint32_t bits)
{
	uint64_t held = 0, out = 0;             /* bits that are not written yet, lowest first */
	uint32_t n_held = 0;

	if (bits == 32)
		return;
	for (uint64_t i = 0; i < n; i++) {      /* without branches that nobody can predict */
		held |= (uint64_t)word[i] << n_held;
		n_held += bits;
		word[out] = (uint32_t)held;
		out += n_held >> 5;
		held >>= n_held & 32;
		n_held &= 31;
	}
	if (n_held > 0)
		word[out] = (uint32_t)held;
}

int kh_index_too_large(uint64_t keys, kh_err *err)
{
	if (keys > (KH_BUCKETS_MAX - 1) * (uint64_t)KH_BUCKET_LOAD)
		return kh_fail(err, KH_EUSAGE,
			       "%" PRIu64 " features in one of 256 ranges of the index "
			       "are too many",
			       keys);
	return kh_fail(err, KH_EFORMAT,
		       "%" PRIu64 " features in one of 256 ranges of the index have keys "
		       "too close together for its buckets: those of genomes are spread evenly",
		       keys);
}

static int make_room(kh_image *im, const kh_pairs *p, uint32_t keys, const kh_bins *bins,
		     kh_err *err)
{
	int rc = kh_grow((void **)&im->loc, &im->cap_loc, p->n, sizeof *im->loc, err);

	if (!rc && im->keep_keys)
		rc = kh_grow((void **)&im->rest, &im->cap_rest, keys, sizeof *im->rest, err);
	return rc ? rc : kh_cut_room(&im->cut, bins, 1, err);
}

int kh_index_encode(kh_image *im, const kh_pairs *p, const kh_bins *bins, const kh_taxonomy *tax,
		    kh_err *err)
{
	const uint32_t keys = count_keys(p);
	uint64_t B = keys > 0 ? (keys + KH_BUCKET_LOAD - 1) / KH_BUCKET_LOAD : 1;
	int rc = make_room(im, p, keys, bins, err);

	if (rc)
		return rc;
	for (; B < KH_BUCKETS_MAX; B += (B + 15) / 16) {
		rc = kh_grow((void **)&im->bucket, &im->cap_bucket, B + 1, sizeof *im->bucket, err);
		if (rc)
			return rc;
		memset(im->bucket, 0, (B + 1) * sizeof *im->bucket);
		im->range = (kh_range) { .buckets = (uint32_t)B, .keys = keys };
		im->n_full = 0;
		rc = fill(im, p, bins, tax, err);
		if (rc != 0)
			break;
	}
	if (B >= KH_BUCKETS_MAX)
		return kh_index_too_large(keys, err);
	if (rc < 0)
		return rc;
	kh_pack_words(im->loc, im->range.n_locs, kh_bins_bits(bins));
	return im->keep_keys ? kh_keys_end(im, err) : KH_OK;
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
