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
 * lengths, a byte each.  Lists are cut by species first (bins.h); of more than KH_LIST_MAX words
 * one is kept, the LCA.  Words are packed: each takes as many bits as the greatest one needs.
 *
 * The image of all ranges is the same bytes in the file, in host and in GPU memory:
 * each range's buckets, then its lists, padded with zeros to 64 bytes.
 * The contract is kmerhash-db(5).
 */
#ifndef KH_INDEX_H
#define KH_INDEX_H

#include "index/bins.h"
#include "kmer/kmer.h"

#define KH_RANGES 256
#define KH_RANGE_BIT (KH_KEY_BITS - 8)  /* the first bit of a key's range */
#define KH_BUCKET_SLOTS 19
#define KH_BUCKET_LOAD 15               /* keys in a bucket on average, from which B is chosen */
#define KH_BUCKETS_MAX (UINT32_C(1) << 24)

enum { KH_BUCKET_CARRIED = 0x1f, KH_BUCKET_GOES_ON = 0x20 };

typedef struct kh_bucket {
	uint8_t base[6];                /* words of the range before position 0, little endian */
	/* number of entries carried in, which come first; whether the home goes on */
	uint8_t flags;
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

/* The same for the index of a database with text: seeds.h. */
#define KH_SEED_LEVELS 7

typedef struct kh_seed_range {
	uint64_t first_line;            /* in units of 64 bytes from the section's start */
	uint64_t first_word;            /* of the lists, in units of 4 bytes from there */
	uint32_t words, lists;          /* of and number of these */
	uint32_t seeds;
	uint32_t over;                  /* of these, that have too many bins */
	uint32_t slots;                 /* in use */
	uint32_t lines[KH_SEED_LEVELS];
} kh_seed_range;

static_assert(sizeof(kh_seed_range) == 64, "kh_seed_range is part of the file format");

static KH_HD uint32_t kh_key_range(uint64_t key)
{
	return (uint32_t)(key >> KH_RANGE_BIT);
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

/* A word of `bits` bits, which starts at bit `bit` of p, the lowest first. */
static KH_HD uint32_t kh_word(const void *p, uint64_t bit, uint32_t bits)
{
	const uint32_t *w = (const uint32_t *)p;
	/* the 32-bit words with its first and its last bit, which may be the same */
	const uint64_t two = w[bit >> 5] | (uint64_t)w[(bit + bits - 1) >> 5] << 32;

	return (uint32_t)(two >> (bit & 31)) & (uint32_t)(((uint64_t)1 << bits) - 1);
}

/* The bit of the image at which word i of a range's lists starts. */
static KH_HD uint64_t kh_range_word(const kh_range *r, uint64_t i, uint32_t bits)
{
	return r->first_loc * 32 + i * bits;
}

/* Bytes of n words, to a multiple of 4. */
static KH_HD uint64_t kh_words_bytes(uint64_t n, uint32_t bits)
{
	return (n * bits + 31) / 32 * 4;
}

/* A location list: n words from `bit` of the image on; n = 0: absent.  `over`: the one word
 * is the number of a taxon. */
typedef struct kh_list {
	uint64_t bit;
	uint32_t n;
	uint32_t over;
} kh_list;

/* The list of position i of a bucket. */
static KH_HD kh_list kh_bucket_list(const kh_range *r, const kh_bucket *b, int i, uint32_t bits)
{
	kh_list l;
	uint64_t at = kh_bucket_base(b);

	for (int j = 0; j < i; j++)
		at += kh_list_words(b->len[j]);
	l.bit = kh_range_word(r, at, bits);
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
static KH_HD kh_list kh_bucket_find(const kh_range *r, const kh_bucket *b, uint32_t tag,
				    uint32_t bits)
{
	int i = kh_bucket_match(b, b->flags & KH_BUCKET_CARRIED, KH_BUCKET_SLOTS, tag);
	kh_list none = { 0, 0, 0 };

	if (i >= 0)
		return kh_bucket_list(r, b, i, bits);
	if (!kh_bucket_goes_on(b, tag))
		return none;
	b++;
	i = kh_bucket_match(b, 0, b->flags & KH_BUCKET_CARRIED, tag);
	return i >= 0 ? kh_bucket_list(r, b, i, bits) : none;
}

/* The reference look-up. `bucket` is the image's start, whose words have `bits` bits. */
static KH_HD kh_list kh_index_find(const kh_bucket *bucket, const kh_range *dir, uint64_t key,
				   uint32_t bits)
{
	const kh_range *r = dir + kh_key_range(key);
	uint64_t place = kh_key_place(key, r->buckets);

	return kh_bucket_find(r, bucket + r->first_bucket + (place >> 16),
			      (uint32_t)(place & 0xffff), bits);
}

#ifndef __CUDACC__
#include <stdbool.h>
#include "base/msg.h"
#include "index/lists.h"
#include "taxonomy/taxonomy.h"

/* --- making a range ----------------------------------------------------------------- */

/* An encoded range: owned by the caller, cleared by kh_image_clear; may be used again. */
typedef struct kh_image {
	kh_range range;                 /* firsts are 0 */
	kh_seed_range seeds;            /* in place of it, with text; then lines are buckets */
	kh_bucket *bucket;              /* range.buckets + 1 */
	uint32_t *loc;                  /* range.n_locs words, packed */
	uint64_t locations;             /* in lists, without the overpopulated */
	size_t cap_bucket, cap_loc;
	kh_cut cut;                     /* scratch */
	kh_lists lists;                 /* scratch */
	/* what the range forgets of its keys (keys.h), n_rest words, n_full of them full keys */
	bool keep_keys;                 /* set by the caller, if it is wanted */
	uint32_t *rest, *full;
	size_t n_rest, n_full, cap_rest, cap_full;
} kh_image;

void kh_image_clear(kh_image *im);
/* Fails with the error of a range whose `keys` distinct keys do not fit any number of buckets
 * below KH_BUCKETS_MAX. */
int kh_index_too_large(uint64_t keys, kh_err *err);
int kh_index_encode(kh_image *im, const kh_pairs *p, const kh_bins *bins, const kh_taxonomy *tax,
		    kh_err *err);
/* The same from lists, which are those of the pairs. */
int kh_index_encode_lists(kh_image *im, const kh_lists *l, const kh_bins *bins,
			  const kh_taxonomy *tax, kh_err *err);

/* Bytes of the range in the image, padded to 64. */
uint64_t kh_range_bytes(const kh_range *r, uint32_t bits);

/* --- checking one that was read ----------------------------------------------------- */

/* Checks everything that a look-up relies on: bases, carries, flags, tags, locations below
 * n_bins, taxa below n_taxa; words have the bits that these two need. The caller has checked that
 * the range lies inside the image. */
int kh_index_check(const void *image, const kh_range *r, uint32_t n_bins, uint32_t n_taxa,
		   kh_err *err);
#endif

#endif
