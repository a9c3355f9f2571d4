/*
 * probe.c - a sound range is seen to be one with hardly a branch on what is in it
 *
 * A word that is not above the one before it, a fall, must be the first of a list.  Falls
 * are counted among the first words of lists and among all: the two are equal if, and only
 * if, every list ascends.
 */
#include <config.h>
#include "probe.h"

#ifdef __SSE2__
enum { STEP = 32 };                     /* buckets whose words are gone through together */

struct walk {
	const kh_range *r;
	const uint32_t *loc;            /* of the range */
	uint32_t n_bins, n_taxa;
	uint64_t words, entries, over;  /* so far */
	uint64_t falls;                 /* of first words, less those of all that were gone through */
};

/* A bit for each position, but the first, whose tag is not above the one before it. */
static uint32_t tag_falls(const kh_bucket *b)
{
	static const int from[3] = { 0, 8, KH_BUCKET_SLOTS - 9 };
	const __m128i zero = _mm_setzero_si128();
	__m128i f[3];

	for (int i = 0; i < 3; i++) {
		__m128i before = _mm_loadu_si128((const __m128i *)(b->tag + from[i]));
		__m128i tag = _mm_loadu_si128((const __m128i *)(b->tag + from[i] + 1));

		f[i] = _mm_cmpeq_epi16(_mm_subs_epu16(tag, before), zero);
	}
	return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(f[0], f[1])) << 1 |
	       (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(f[2], zero)) << (KH_BUCKET_SLOTS - 8);
}

static bool bucket_sound(struct walk *w, const kh_bucket *before, const kh_bucket *b)
{
	uint32_t used = kh_probe_used(b), n = (uint32_t)__builtin_ctz(~used), falls = 0;
	uint32_t words = kh_probe_words(b, KH_BUCKET_SLOTS), carried = b->flags & KH_BUCKET_CARRIED;
	const uint32_t *l = w->loc + w->words;

	if (kh_bucket_base(b) != w->words || words > w->r->n_locs - w->words ||
	    b->flags > (KH_BUCKET_CARRIED | KH_BUCKET_GOES_ON) || carried > n ||
	    (carried > 0) != (before->flags >= KH_BUCKET_GOES_ON) ||
	    (b->flags >= KH_BUCKET_GOES_ON && n < KH_BUCKET_SLOTS) ||
	    used & (used + 1) || (used | kh_probe_tags(b, 0)) != 0x7ffffu ||
	    tag_falls(b) & used & ~(1u << carried) ||
	    (carried > 0 && before->flags != (KH_BUCKET_GOES_ON | KH_BUCKET_SLOTS) &&
	     b->tag[0] <= before->tag[KH_BUCKET_SLOTS - 1]))
		return false;
	w->words += words;
	w->entries += n;
	if (kh_probe_lens(b, KH_LIST_OVER)) {
		for (uint32_t i = 0; i < n; l += kh_list_words(b->len[i++])) {
			if (b->len[i] == KH_LIST_OVER && l[0] >= w->n_taxa)
				return false;
			w->over += b->len[i] == KH_LIST_OVER;
			falls += l[0] <= l[-1];
		}
	} else {
		for (uint32_t i = 0; i < n; l += b->len[i++])
			falls += l[0] <= l[-1];
	}
	w->falls += falls;
	return true;
}

/* Are the words from `at` on numbers of bins?  The inner loop is one for the compiler's vectors. */
static bool words_sound(struct walk *w, uint64_t at)
{
	const uint32_t *l = w->loc + at, *end = w->loc + w->words, n_bins = w->n_bins;
	uint32_t falls = 0, high = 0;

	for (; end - l >= 16; l += 16)
		for (int i = 0; i < 16; i++) {
			falls += l[i] <= l[i - 1];
			high |= l[i] >= n_bins;
		}
	for (; l < end; l++) {
		falls += l[0] <= l[-1];
		high |= l[0] >= n_bins;
	}
	w->falls -= falls;
	return !high;
}

bool kh_probe_sound(const void *image, const kh_range *r, uint32_t n_bins, uint32_t n_taxa)
{
	static const kh_bucket none = { .flags = 0 };
	const kh_bucket *b = (const kh_bucket *)image + r->first_bucket, *end = b + r->buckets;
	struct walk w = { .r = r, .loc = (const uint32_t *)image + r->first_loc,
			  .n_bins = n_bins, .n_taxa = n_taxa };

	for (uint32_t i = 0; i <= r->buckets; ) {
		uint64_t at = w.words;

		for (uint32_t j = 0; j < STEP && i <= r->buckets; j++, i++)
			if (!bucket_sound(&w, i ? b + i - 1 : &none, b + i))
				return false;
		if (!words_sound(&w, at))
			return false;
	}
	return w.falls == 0 && w.words == r->n_locs && w.entries == r->entries && w.over == r->over &&
	       end->flags <= KH_BUCKET_SLOTS && kh_probe_used(end) == (1u << end->flags) - 1;
}
#else
bool kh_probe_sound(const void *image, const kh_range *r, uint32_t n_bins, uint32_t n_taxa)
{
	kh_err why = { 0, "" };

	return !kh_index_check(image, r, n_bins, n_taxa, &why);
}
#endif
