#include <config.h>
#include "index/index.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

typedef struct kh_entry {
	uint64_t place;                 /* home << 16 | tag */
	uint64_t slot;
	size_t from;                    /* first pair; the next entry's is the end */
} kh_entry;

void kh_image_clear(kh_image *im)
{
	free(im->bucket);
	free(im->loc);
	free(im->entry);
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

/* Makes the entries of the range for B buckets, with a sentinel. Returns their number, or -1 if
 * one lies further than a bucket behind its home. */
static int64_t place(kh_entry *e, const kh_pairs *p, uint32_t B)
{
	int64_t n = 0, lead = 0;        /* lead: max of 19 * home_j - j */
	uint64_t last = UINT64_MAX;

	for (size_t i = 0; i < p->n; i++) {
		uint64_t at;

		if (i > 0 && p->key[i] == p->key[i - 1])
			continue;
		at = kh_key_place(p->key[i], B);
		if (at == last)
			continue;
		last = at;
		int64_t home = (int64_t)(at >> 16);
		if (KH_BUCKET_SLOTS * home - n > lead)
			lead = KH_BUCKET_SLOTS * home - n;
		e[n] = (kh_entry) { .place = at, .slot = (uint64_t)(n + lead), .from = i };
		if (e[n].slot / KH_BUCKET_SLOTS > (uint64_t)home + 1)
			return -1;
		n++;
	}
	e[n].from = p->n;
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
	for (int i = 0; i < 6; i++, x >>= 8)
		b->base[i] = (uint8_t)x;
}

/* Flags and tags; where no entry starts, the base is the running offset. */
static void set_bucket(kh_bucket *bucket, const kh_entry *e)
{
	uint64_t b = e->slot / KH_BUCKET_SLOTS, home = e->place >> 16;

	bucket[b].tag[e->slot % KH_BUCKET_SLOTS] = (uint16_t)e->place;
	if (b > home) {
		bucket[b].flags++;              /* one more carried in */
		bucket[home].flags |= KH_BUCKET_GOES_ON;
	}
}

static void fill(kh_image *im, const kh_pairs *p, const kh_bins *bins, const kh_taxonomy *tax)
{
	uint64_t at = 0, next = 0;              /* words so far; first bucket without a base */

	for (uint32_t i = 0; i < im->range.entries; i++) {
		const kh_entry *e = im->entry + i;
		kh_bucket *b = im->bucket + e->slot / KH_BUCKET_SLOTS;
		size_t n = gather(p, e->from, e[1].from, im->loc + at);

		n = kh_cut_list(&im->cut, im->loc + at, n);
		for (; next <= e->slot / KH_BUCKET_SLOTS; next++)
			set_base(im->bucket + next, at);
		set_bucket(im->bucket, e);
		if (n > KH_LIST_MAX) {
			im->loc[at] = list_lca(im->loc + at, n, bins, tax);
			im->range.over++;
			n = KH_LIST_OVER;
		} else {
			im->locations += n;
		}
		b->len[e->slot % KH_BUCKET_SLOTS] = (uint8_t)n;
		at += kh_list_words((uint32_t)n);
	}
	for (; next <= im->range.buckets; next++)
		set_base(im->bucket + next, at);
	im->range.n_locs = at;
}

/* Packs n words to `bits` bits each, in place: no word moves further back than it was. */
static void pack(uint32_t *word, uint64_t n, uint32_t bits)
{
	uint64_t held = 0, out = 0;             /* bits that are not written yet, lowest first */
	uint32_t n_held = 0;

	for (uint64_t i = 0; i < n && bits < 32; i++) {
		held |= (uint64_t)word[i] << n_held;
		n_held += bits;
		if (n_held >= 32) {
			word[out++] = (uint32_t)held;
			held >>= 32;
			n_held -= 32;
		}
	}
	if (n_held > 0)
		word[out] = (uint32_t)held;
}

/* The number of pairs of the entry that has most. */
static size_t longest(const kh_entry *e, size_t n)
{
	size_t most = 0;

	for (size_t i = 0; i < n; i++)
		most = e[i + 1].from - e[i].from > most ? e[i + 1].from - e[i].from : most;
	return most;
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

int kh_index_encode(kh_image *im, const kh_pairs *p, const kh_bins *bins, const kh_taxonomy *tax,
		    kh_err *err)
{
	uint32_t keys = count_keys(p);
	uint64_t B = keys > 0 ? (keys + KH_BUCKET_LOAD - 1) / KH_BUCKET_LOAD : 1;
	int64_t entries;
	int rc;

	rc = kh_grow((void **)&im->entry, &im->cap_entry, (size_t)keys + 1, sizeof *im->entry, err);
	if (!rc)
		rc = kh_grow((void **)&im->loc, &im->cap_loc, p->n, sizeof *im->loc, err);
	if (rc)
		return rc;
	while (B < KH_BUCKETS_MAX && (entries = place(im->entry, p, (uint32_t)B)) < 0)
		B += (B + 15) / 16;
	if (B >= KH_BUCKETS_MAX)
		return kh_index_too_large(keys, err);
	rc = kh_grow((void **)&im->bucket, &im->cap_bucket, B + 1, sizeof *im->bucket, err);
	if (!rc)
		rc = kh_cut_room(&im->cut, bins, longest(im->entry, (size_t)entries), err);
	if (rc)
		return rc;
	memset(im->bucket, 0, (B + 1) * sizeof *im->bucket);
	im->range =
		(kh_range) { .buckets = (uint32_t)B, .keys = keys, .entries = (uint32_t)entries };
	im->locations = 0;
	fill(im, p, bins, tax);
	pack(im->loc, im->range.n_locs, kh_bins_bits(bins));
	return KH_OK;
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
