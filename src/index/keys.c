#include <config.h>
#include "index/keys.h"

#include <string.h>
#include "base/mem.h"
#include "index/many.h"

int kh_keys_find(kh_keys *k, const void *section, uint64_t bytes, const kh_range *dir,
		 uint64_t n_unmapped)
{
	const uint64_t *full = section;
	const uint64_t words = bytes / 4, front = 2 * (uint64_t)KH_RANGES;
	uint64_t at = front + n_unmapped;

	*k = (kh_keys) { .word = NULL };
	if (bytes % 4 != 0 || words < front || n_unmapped > words - front)
		return 0;
	for (int r = 0; r < KH_RANGES; r++) {
		const uint64_t rests = kh_rests_words(&dir[r]);

		k->at[r] = at;
		if (rests > words - at || full[r] > words - at - rests)
			return 0;
		at += rests + full[r];
	}
	k->at[KH_RANGES] = at;
	k->word = section;
	k->unmapped = k->word + front;
	return at == words;
}

/* --- making it ---------------------------------------------------------------------- */
int kh_keys_add(kh_image *im, const kh_lists *l, const kh_entry *e, kh_err *err)
{
	const uint32_t B = im->range.buckets, *word = e->word, *longer = e->longer;
	const kh_divisor by_b = kh_divisor_of(B);
	const size_t keys = e->to - e->from;
	int rc = KH_GROW(im->full, im->cap_full, im->n_full + 2 + 2 * keys + e->n_words, err);
	uint32_t *out = im->full + im->n_full;

	if (rc)
		return rc;
	*out++ = im->range.entries;
	*out++ = (uint32_t)keys;
	for (size_t i = e->from; i < e->to; i++) {
		const size_t n = kh_lists_words(l, i, &longer);

		*out++ = kh_key_rest(l->key[i], B, by_b);
		*out++ = (uint32_t)n;
		memcpy(out, word, n * sizeof *out);
		out += n;
		word += n;
	}
	im->n_full = (size_t)(out - im->full);
	return KH_OK;
}

int kh_keys_end(kh_image *im, kh_err *err)
{
	const size_t rests = (size_t)kh_rests_words(&im->range);
	int rc = KH_GROW(im->rest, im->cap_rest, rests + im->n_full, err);

	if (rc)
		return rc;
	kh_many_get()->pack(im->rest, im->range.entries, kh_rest_bits(im->range.buckets));
	if (im->n_full > 0)
		memcpy(im->rest + rests, im->full, im->n_full * sizeof *im->full);
	im->n_rest = rests + im->n_full;
	return KH_OK;
}
