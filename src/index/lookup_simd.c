/*
 * lookup_simd.c - checks ranges quickly: with hardly a branch that depends on their contents
 *
 * A word that is not above the one before it, a fall, must be the first of a list.  Falls
 * are counted among the first words of lists and among all: the two are equal if, and only
 * if, every list ascends.  Words are unpacked for that, those of some buckets at a time.
 */
#include <config.h>
#include "index/lookup_simd.h"

#ifdef KH_PROBE_SIMD
struct walk {
	const void *image;
	const kh_range *r;
	uint32_t n_bins, n_taxa, bits;
	uint64_t words, entries, over;  /* so far */
	/* the words of the current bucket, unpacked, behind the last one of the bucket before */
	uint32_t word[1 + KH_BUCKET_SLOTS * KH_LIST_MAX];
};

/* Do the flags fit what is used, and the bucket before?  n: positions in use. */
static bool flags_sound(const kh_bucket *before, const kh_bucket *b, uint32_t n)
{
	const uint32_t carried = b->flags & KH_BUCKET_CARRIED;
	const bool known = b->flags <= (KH_BUCKET_CARRIED | KH_BUCKET_GOES_ON);
	const bool carries_what_went_on = (carried > 0) == (before->flags >= KH_BUCKET_GOES_ON);
	const bool full_if_it_goes_on = b->flags < KH_BUCKET_GOES_ON || n == KH_BUCKET_SLOTS;

	return known && carried <= n && carries_what_went_on && full_if_it_goes_on;
}

/* Do the tags of each home ascend, from the bucket before on? */
static bool tags_sound(const kh_bucket *before, const kh_bucket *b, uint32_t used)
{
	const uint32_t carried = b->flags & KH_BUCKET_CARRIED;
	const bool falls = kh_probe_falls(b) & used & ~(1u << carried);
	/* all 19 of the bucket before were carried, too: its last tag is of another home */
	const bool other_home = before->flags == (KH_BUCKET_GOES_ON | KH_BUCKET_SLOTS);
	const bool ascends_from_before = carried == 0 || other_home ||
					 b->tag[0] > before->tag[KH_BUCKET_SLOTS - 1];

	return !falls && ascends_from_before;
}

/* Unpacks n words, the next ones of the range. */
static void unpack(struct walk *w, uint32_t n)
{
	uint64_t bit = kh_range_word(w->r, w->words, w->bits);

	for (uint32_t i = 1; i <= n; i++, bit += w->bits)
		w->word[i] = kh_word(w->image, bit, w->bits);
}

/* Falls among the first words of the bucket's n lists; UINT32_MAX: one is no taxon. */
static uint32_t first_falls(struct walk *w, const kh_bucket *b, uint32_t n)
{
	const uint32_t *l = w->word + 1;
	uint32_t falls = 0;

	if (!kh_probe_lens(b, KH_LIST_OVER)) {
		for (uint32_t i = 0; i < n; l += b->len[i++])
			falls += l[0] <= l[-1];
		return falls;
	}
	for (uint32_t i = 0; i < n; l += kh_list_words(b->len[i++])) {
		if (b->len[i] == KH_LIST_OVER && l[0] >= w->n_taxa)
			return UINT32_MAX;
		w->over += b->len[i] == KH_LIST_OVER;
		falls += l[0] <= l[-1];
	}
	return falls;
}

/* Falls among n words; UINT32_MAX: one is no bin.  The loop is one for the compiler's vectors. */
static uint32_t all_falls(const struct walk *w, uint32_t n)
{
	const uint32_t n_bins = w->n_bins;
	uint32_t falls = 0, high = 0;

	for (uint32_t i = 1; i <= n; i++) {
		falls += w->word[i] <= w->word[i - 1];
		high |= w->word[i] >= n_bins;
	}
	return high ? UINT32_MAX : falls;
}

static bool lists_sound(struct walk *w, const kh_bucket *b, uint32_t n, uint32_t words)
{
	uint32_t first;

	unpack(w, words);
	first = first_falls(w, b, n);
	if (first == UINT32_MAX || first != all_falls(w, words))
		return false;
	w->word[0] = w->word[words];
	return true;
}

static bool bucket_sound(struct walk *w, const kh_bucket *before, const kh_bucket *b)
{
	const uint32_t used = kh_probe_used(b), n = (uint32_t)__builtin_ctz(~used);
	const uint32_t words = kh_probe_words(b, KH_BUCKET_SLOTS);
	const bool base_fits = kh_bucket_base(b) == w->words &&
			       words <= w->r->n_locs - w->words;
	const bool no_holes = (used & (used + 1)) == 0;
	const bool rest_is_zero = (used | kh_probe_tags(b, 0)) == 0x7ffffu;

	if (!base_fits || !no_holes || !rest_is_zero || !flags_sound(before, b, n) ||
	    !tags_sound(before, b, used) || !lists_sound(w, b, n, words))
		return false;
	w->words += words;
	w->entries += n;
	return true;
}

bool kh_probe_sound(const void *image, const kh_range *r, uint32_t n_bins, uint32_t n_taxa)
{
	static const kh_bucket none = { .flags = 0 };
	const kh_bucket *b = (const kh_bucket *)image + r->first_bucket, *end = b + r->buckets;
	struct walk w;

	w.image = image;                /* set by assignment, as its words need no initialiser */
	w.r = r;
	w.n_bins = n_bins;
	w.n_taxa = n_taxa;
	w.bits = kh_word_bits(n_bins, n_taxa);
	w.words = w.entries = w.over = 0;
	w.word[0] = 0;
	for (uint32_t i = 0; i <= r->buckets; i++)
		if (!bucket_sound(&w, i ? b + i - 1 : &none, b + i))
			return false;
	return w.words == r->n_locs && w.entries == r->entries && w.over == r->over &&
	       end->flags <= KH_BUCKET_SLOTS && kh_probe_used(end) == (1u << end->flags) - 1;
}
#else
bool kh_probe_sound(const void *image, const kh_range *r, uint32_t n_bins, uint32_t n_taxa)
{
	kh_err why = { 0, "" };

	return !kh_index_check(image, r, n_bins, n_taxa, &why);
}
#endif
