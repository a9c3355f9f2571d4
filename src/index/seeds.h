/*
 * seeds.h - the index: in which bins a seed may begin   [HD]
 *
 * A seed is a feature of the text that a database compares reads with.  A read with a seed is
 * compared with the text of each bin that the look-up gives, so the index may be wrong now and
 * then.  That is why a seed takes few bytes: a tag, which is 8 bits of its key, and its bin.
 *
 * A line has 64 bytes: `slots` tags of one byte, then as many values of bits + 1 bits, packed,
 * the lowest first, and zeros.  A value is 0: the slot is free, and so are all behind it; 1 to
 * 2^bits: the bin, plus 1; or more: 2^bits + 1 plus the place of a list, in words of 4 bytes
 * from that of the range.  A seed with up to KH_SEED_SLOTS bins has a slot for each of them, one
 * behind another; with more it has one for a list of up to KH_LIST_MAX bins, ascending, with
 * KH_SEED_MORE in all but the last.  The greatest value says that there are more bins than that.
 *
 * The 256 ranges by the top 8 bits of a key stand one behind another: lines, then lists.  The
 * lines of a range are levels.  Level 0 has as many as its slots would just fill.  With B lines in
 * a level, the 40 bits y of a seed give z = y * B: line z >> 40, and as tag the 8 bits below.  If
 * a line has too few slots for its seeds, those with the least y stay.  The others go to the next
 * level, with kh_seed_next(y) for y; levels from KH_SEED_ROOMY on have room for four times as many.
 * So one seed in nine is in a level behind the first.  A look-up goes on to the next level if the
 * line is full and the last tag in it is not above its own.  All follows from the order of keys:
 * there is nothing to be tried, and any thread makes the same bytes.
 *
 * 64 bytes have 16 slots up to 2^23 bins, 15 up to 2^25, 14 up to 2^27, 13 up to 2^30, and 12
 * beyond; nine tenths of them are in use.  Where there are KH_SEED_FEW or fewer, bins are so many
 * that a k-mer stands at several places by chance, whose slots are side by side: then lines fill
 * less evenly, and room is short.  So there a level has fewer lines, as if each had two slots more:
 * as much of them is in use then, and one seed in five is in a level behind the first.
 *
 * Example: the seed GATTACAGATTAACGTCC has the key 0x386cb3724e51, so its range is 0x38, and y is
 * 0x6cb3724e51.  In a level 0 of 1000 lines it belongs to line 424, with the tag 156.  If this line
 * is full, and its last tag is at most 156, the look-up goes on in level 1.  There its y is
 * 0x730b96632f, which of 120 lines is line 53, with the tag 237.
 */
#ifndef KH_INDEX_SEEDS_H
#define KH_INDEX_SEEDS_H

#include "index/index.h"
#include "index/shares.h"

#define KH_SEED_ROOMY 4
#define KH_SEED_FEW 13
#define KH_SEED_SLOTS 4
#define KH_SEED_BITS_MIN 23
#define KH_SEED_BITS_MAX 31
#define KH_SEED_MORE (UINT32_C(1) << 31)
#define KH_SEED_MANY (KH_SEED_MORE - 1) /* in place of bins: there are too many */
#define KH_SEED_MIX UINT64_C(0x9e3779b97f)

/* The index: `image` is its section, aligned to 64, if it lies in one memory. */
typedef struct kh_seed_index {
	const void *image;
	const kh_seed_range *dir;       /* KH_RANGES */
	uint32_t bits;                  /* that any bin can be written with */
	kh_shares shares;
} kh_seed_index;

/* For kernels: the index of one of several volumes that are searched as one (index/joint.h), and
 * the number of its bin 0 among the bins of all. */
typedef struct kh_seed_volume {
	kh_seed_index index;
	uint32_t first_bin;
} kh_seed_volume;

static_assert(4 * KH_LIST_MAX <= KH_SHARES_BESIDE, "a list lies in one memory");

/* Bits of a bin in a line: they number lists, too, so there are not very few. */
static KH_HD uint32_t kh_seed_bits(uint64_t n_bins)
{
	uint32_t bits = KH_SEED_BITS_MIN;

	while (bits < 32 && n_bins > UINT64_C(1) << bits)
		bits++;
	return bits;
}

static KH_HD uint32_t kh_seed_slots(uint32_t bits)
{
	return 512 / (bits + 9);
}

/* How many lines a level has for n slots. */
static KH_HD uint32_t kh_seed_lines(unsigned level, uint64_t n, uint32_t slots)
{
	const uint32_t each = slots > KH_SEED_FEW ? slots : slots + 2;

	if (level < KH_SEED_ROOMY)
		return (uint32_t)((n + each - 1) / each);
	return (uint32_t)((4 * n + slots - 1) / slots);
}

/* The low 40 bits of a key: y of level 0. */
static KH_HD uint64_t kh_seed_first(uint64_t key)
{
	return key & ((UINT64_C(1) << KH_RANGE_BIT) - 1);
}

/* y of the next level: another permutation of the numbers of 40 bits. */
static KH_HD uint64_t kh_seed_next(uint64_t y)
{
	return kh_seed_first(y * KH_SEED_MIX);
}

/* Line and tag of y in a level of B lines: (line << 8) | tag. */
static KH_HD uint64_t kh_seed_place(uint64_t y, uint32_t B)
{
	return y * B >> 32;
}

/* The value of a slot, of so many in a line. */
static KH_HD uint32_t kh_seed_value_of(const void *line, uint32_t slot, uint32_t slots,
				       uint32_t bits)
{
	return kh_word(line, 8 * slots + slot * (bits + 1), bits + 1);
}

static KH_HD uint32_t kh_seed_value(const void *line, uint32_t slot, uint32_t bits)
{
	return kh_seed_value_of(line, slot, kh_seed_slots(bits), bits);
}

/* Does a line send seeds with this tag on to the next level? */
static KH_HD int kh_seed_goes_on(const void *line, uint32_t tag, uint32_t bits)
{
	const uint32_t last = kh_seed_slots(bits) - 1;

	return ((const uint8_t *)line)[last] <= tag && kh_seed_value(line, last, bits) != 0;
}

/* Where a look-up is: a line that may have the seed. */
typedef struct kh_seed_search {
	const kh_seed_range *range;
	uint64_t y, first;              /* of the level: its first line */
	unsigned level;
	const uint8_t *line;            /* NULL: it has come to an end */
	uint32_t tag;
} kh_seed_search;

static KH_HD void kh_seed_set_line(kh_seed_search *s, const kh_seed_index *x)
{
	const uint32_t B = s->level < KH_SEED_LEVELS ? s->range->lines[s->level] : 0;
	const uint64_t place = kh_seed_place(s->y, B), at = 64 * (s->first + (place >> 8));

	s->line = B ? (const uint8_t *)kh_shares_near(&x->shares, x->image, at) + at
		    : (const uint8_t *)0;
	s->tag = (uint32_t)place & 255;
}

static KH_HD kh_seed_search kh_seed_begin(const kh_seed_index *x, uint64_t key)
{
	const kh_seed_range *r = x->dir + kh_key_range(key);
	kh_seed_search s = { r, kh_seed_first(key), r->first_line, 0, (const uint8_t *)0, 0 };

	kh_seed_set_line(&s, x);
	return s;
}

/* Goes on to the next level, or comes to an end. */
static KH_HD void kh_seed_go_on(const kh_seed_index *x, kh_seed_search *s)
{
	if (!kh_seed_goes_on(s->line, s->tag, x->bits)) {
		s->line = (const uint8_t *)0;
		return;
	}
	s->first += s->range->lines[s->level++];
	s->y = kh_seed_next(s->y);
	kh_seed_set_line(s, x);
}

/* The value of a seed that has too many bins. */
static KH_HD uint32_t kh_seed_over(uint32_t bits)
{
	return (uint32_t)((UINT64_C(2) << bits) - 1);
}

/* The words of a list, or of the one bin that stands in a slot whose value is not 0: words[0],
 * words[1] ..., up to the first one without KH_SEED_MORE.  *one: room for that bin; if there are
 * too many, it is KH_SEED_MANY. */
static KH_HD const uint32_t *kh_seed_bins(const kh_seed_index *x, const kh_seed_range *r,
					  uint32_t value, uint32_t *one)
{
	const uint32_t bins = UINT32_C(1) << x->bits;
	const uint64_t word = r->first_word + (value - bins - 1);

	*one = value <= bins ? value - 1 : KH_SEED_MANY;
	return value <= bins || value == kh_seed_over(x->bits)
		       ? one
		       : (const uint32_t *)kh_shares_near(&x->shares, x->image, 4 * word) + word;
}

#ifndef __CUDACC__
#include "index/bins.h"
#include "index/pairs.h"

/* The n bins of some seeds, as bin << 32 | number of the seed, which ascends; one of a seed is
 * KH_SEED_MANY if its bins are not all.  To be cleared; it may be used again. */
typedef struct kh_seeds_found {
	uint64_t *bin;
	size_t n, cap;
} kh_seeds_found;

int kh_seeds_find(const kh_seed_index *x, const uint64_t *key, size_t n, kh_seeds_found *to,
		  kh_err *err);
void kh_seeds_found_clear(kh_seeds_found *f);

/* Bytes of a range in the section, padded to 64; and those of its lines. */
uint64_t kh_seed_bytes(const kh_seed_range *r);
uint64_t kh_seed_line_bytes(const kh_seed_range *r);

/* What cuts lists by species: the first KH_SPECIES_PLACES bins in one stay. */
typedef struct kh_cut {
	uint32_t *in;           /* what each species has of the current list; zero between lists */
	uint32_t *species_no;   /* of each bin */
	size_t cap_species;
} kh_cut;

/* A range that was made: owned by the caller, cleared by kh_image_clear; may be used again. */
typedef struct kh_image {
	kh_seed_range range;            /* firsts are 0 */
	uint32_t (*line)[16];           /* of all levels */
	uint32_t *word;                 /* range.words of lists */
	uint64_t locations;             /* of seeds, without those that have too many */
	size_t cap_line, cap_word;
	kh_cut cut;                     /* scratch */
} kh_image;

void kh_image_clear(kh_image *im);
/* Makes a range of pairs, which lie in `scratch` and do not stay as they are. */
int kh_seeds_encode(kh_image *im, kh_pair_scratch *scratch, kh_pairs *p, const kh_bins *bins,
		    kh_err *err);

/* Checks all that a look-up relies on in a range that was read and lies in the section: its levels,
 * values and lists; bins are below n_bins. */
int kh_seeds_check(const kh_seed_index *x, unsigned range, uint32_t n_bins, kh_err *err);
#endif

#endif
