/*
 * index.h - the index: buckets of tags, and location lists   [HD]
 *
 * 256 ranges by the top 8 bits of the 48-bit key.  In a range of B buckets the low 40
 * bits y of a key give z = y * B: home bucket z >> 40, tag the 16 bits below.  The map is
 * monotone, so keys in order are entries in order, and "sort, then place" builds the
 * table.  Keys with equal home and tag share one entry, whose list is their union.
 *
 * Entry i of a range goes to slot i + max over j <= i of (19 * home_j - j): its home
 * bucket, or, where that is full, the next one, never further (if one would be, the range
 * is made again with more buckets).  So a look-up reads one bucket, seldom two.
 * Lists lie in the order of entries; a bucket has the offset of its first and the
 * lengths, a byte each.  More than KH_LIST_MAX locations are kept as one word, the LCA.
 *
 * The image of all ranges is the same bytes in the file, in host and in GPU memory:
 * each range's buckets, then its locations, padded with zeros to 64 bytes.
 * The contract is kmerhash-db(5).
 */
#ifndef KH_INDEX_H
#define KH_INDEX_H

#include "kmer.h"

#define KH_RANGES 256
#define KH_BUCKET_SLOTS 19
#define KH_BUCKET_LOAD 13               /* keys a bucket that B is chosen for */
#define KH_BUCKETS_MAX (UINT32_C(1) << 24)
#define KH_LIST_MAX 254
#define KH_LIST_OVER 255

enum { KH_BUCKET_CARRIED = 0x1f, KH_BUCKET_GOES_ON = 0x20 };

typedef struct kh_bucket {
	uint8_t base[6];                /* words of the range before position 0, little endian */
	uint8_t flags;                  /* entries carried in (first), and whether home goes on */
	uint8_t len[KH_BUCKET_SLOTS];   /* 0: unused; 1 to 254; KH_LIST_OVER */
	uint16_t tag[KH_BUCKET_SLOTS];  /* ascending within a home */
} kh_bucket;

static_assert(sizeof(kh_bucket) == 64, "a bucket is 64 bytes");
static_assert(offsetof(kh_bucket, tag) == 26, "tags from byte 26");

typedef struct kh_range {
	uint64_t first_bucket;          /* in units of 64 bytes from the image's start */
	uint64_t first_loc;             /* in words of 4 bytes from the image's start */
	uint64_t n_locs;                /* words of location lists */
	uint32_t buckets;               /* B; the range has B + 1 */
	uint32_t keys;                  /* distinct keys */
	uint32_t entries;
	uint32_t over;                  /* entries that are overpopulated */
} kh_range;

static_assert(sizeof(kh_range) == 40, "kh_range is part of the file format");

static KH_HD uint32_t kh_key_range(uint64_t key)
{
	return (uint32_t)(key >> (KH_KEY_BITS - 8));
}

/* Home bucket and tag of a key in a range of B buckets: (home << 16) | tag. */
static KH_HD uint64_t kh_key_place(uint64_t key, uint32_t B)
{
	return (key & ((UINT64_C(1) << 40) - 1)) * B >> 24;
}

static KH_HD uint64_t kh_bucket_base(const kh_bucket *b)
{
	uint64_t x = 0;

	for (int i = 5; i >= 0; i--)
		x = x << 8 | b->base[i];
	return x;
}

static KH_HD uint32_t kh_list_words(uint32_t len)
{
	return len == KH_LIST_OVER ? 1 : len;
}

/* A location list: words loc .. loc + n - 1 of the image; n = 0: absent.  `over`: the one
 * word is the number of a taxon. */
typedef struct kh_list {
	uint64_t loc;
	uint32_t n;
	uint32_t over;
} kh_list;

/* The list of position i of a bucket. */
static KH_HD kh_list kh_bucket_list(const kh_range *r, const kh_bucket *b, int i)
{
	kh_list l;
	uint64_t at = r->first_loc + kh_bucket_base(b);

	for (int j = 0; j < i; j++)
		at += kh_list_words(b->len[j]);
	l.loc = at;
	l.n = kh_list_words(b->len[i]);
	l.over = b->len[i] == KH_LIST_OVER;
	return l;
}

/* Position of `tag` among positions [from, to), or -1.  *last gets the last tag there. */
static KH_HD int kh_bucket_match(const kh_bucket *b, int from, int to, uint32_t tag)
{
	for (int i = from; i < to && b->len[i] != 0; i++)
		if (b->tag[i] == tag)
			return i;
	return -1;
}

/* Must a look-up that did not find `tag` among the own entries of `b` go on? */
static KH_HD int kh_bucket_goes_on(const kh_bucket *b, uint32_t tag)
{
	int carried = b->flags & KH_BUCKET_CARRIED;

	if (!(b->flags & KH_BUCKET_GOES_ON))
		return 0;
	/* A home that goes on fills its bucket to the last position. */
	return carried == KH_BUCKET_SLOTS || tag > b->tag[KH_BUCKET_SLOTS - 1];
}

/* The list of `tag` whose home is bucket b, of range r. */
static KH_HD kh_list kh_bucket_find(const kh_range *r, const kh_bucket *b, uint32_t tag)
{
	int i = kh_bucket_match(b, b->flags & KH_BUCKET_CARRIED, KH_BUCKET_SLOTS, tag);
	kh_list none = { 0, 0, 0 };

	if (i >= 0)
		return kh_bucket_list(r, b, i);
	if (!kh_bucket_goes_on(b, tag))
		return none;
	b++;
	i = kh_bucket_match(b, 0, b->flags & KH_BUCKET_CARRIED, tag);
	return i >= 0 ? kh_bucket_list(r, b, i) : none;
}

/* The reference look-up. `bucket` is the image's start. */
static KH_HD kh_list kh_index_find(const kh_bucket *bucket, const kh_range *dir, uint64_t key)
{
	const kh_range *r = dir + kh_key_range(key);
	uint64_t place = kh_key_place(key, r->buckets);

	return kh_bucket_find(r, bucket + r->first_bucket + (place >> 16), (uint32_t)(place & 0xffff));
}

/* --- bins ----------------------------------------------------------------------- */

/* Targets in order of bins: target t has bins first[t] up to its last, then a gap. */
typedef struct kh_bins {
	uint32_t n;
	const uint32_t *first;          /* n, ascending */
	const uint32_t *taxon;          /* n, preorder numbers */
} kh_bins;

/* The target of a bin that is one: the last with first <= bin. */
static KH_HD uint32_t kh_bins_target(const kh_bins *b, uint32_t bin)
{
	uint32_t lo = 0, hi = b->n;

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (b->first[mid] <= bin)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

#ifndef __CUDACC__
#include "msg.h"
#include "taxonomy.h"

/* --- making a range ----------------------------------------------------------------- */

/* Pairs of one range, sorted by key, equal keys by location. */
typedef struct kh_pairs {
	uint64_t *key;                  /* the low 40 bits */
	uint32_t *loc;
	size_t n;
} kh_pairs;

/* An encoded range: owned by the caller, cleared by kh_image_clear; may be used again. */
typedef struct kh_image {
	kh_range range;                 /* firsts are 0 */
	kh_bucket *bucket;              /* range.buckets + 1 */
	uint32_t *loc;                  /* range.n_locs */
	uint64_t locations;             /* in lists, without the overpopulated */
	size_t cap_bucket, cap_loc, cap_entry;
	struct kh_entry *entry;         /* scratch */
} kh_image;

void kh_image_clear(kh_image *im);
/* The error of a range whose `keys` distinct keys no number of buckets below KH_BUCKETS_MAX
 * can hold. */
int kh_index_too_large(uint64_t keys, kh_err *err);
int kh_index_encode(kh_image *im, const kh_pairs *p, const kh_bins *bins, const kh_taxonomy *tax,
		    kh_err *err);

/* Bytes of the range in the image, padded to 64. */
uint64_t kh_range_bytes(const kh_range *r);

/* --- checking one that was read ----------------------------------------------------- */

/* Everything a look-up relies on: bases, carries, flags, tags, locations below n_bins,
 * taxa below n_taxa.  The range must lie inside the image (the caller has checked). */
int kh_index_check(const void *image, const kh_range *r, uint32_t n_bins, uint32_t n_taxa,
		   kh_err *err);
#endif

#endif
