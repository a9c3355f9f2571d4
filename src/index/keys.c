#include <config.h>
#include "index/keys.h"

#include <string.h>
#include "base/mem.h"

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
/* A key in full: its rest, how many words its list has, and these.  Returns where its pairs end. */
static size_t keep_key(kh_image *im, const kh_pairs *p, size_t from, size_t to)
{
	uint32_t *out = im->full + im->n_full, *list = out + 2;
	size_t i = from, n = 0;

	for (; i < to && p->key[i] == p->key[from]; i++)
		if (n == 0 || list[n - 1] != p->loc[i])
			list[n++] = p->loc[i];
	n = kh_cut_list(&im->cut, list, n);
	out[0] = kh_key_rest(p->key[from], im->range.buckets, kh_divisor_of(im->range.buckets));
	out[1] = (uint32_t)n;
	im->n_full += 2 + n;
	return i;
}

int kh_keys_add(kh_image *im, const kh_pairs *p, size_t from, size_t to, int over, kh_err *err)
{
	int rc;

	if (!over && p->key[from] == p->key[to - 1])
		return KH_OK;
	rc = kh_grow((void **)&im->full, &im->cap_full, im->n_full + 2 + 3 * (to - from),
		     sizeof *im->full, err);
	if (rc)
		return rc;
	const size_t head = im->n_full;
	uint32_t keys = 0;

	im->n_full += 2;
	while (from < to) {
		from = keep_key(im, p, from, to);
		keys++;
	}
	im->full[head] = im->range.entries;
	im->full[head + 1] = keys;
	return KH_OK;
}

int kh_keys_end(kh_image *im, kh_err *err)
{
	const size_t rests = (size_t)kh_rests_words(&im->range);
	int rc = kh_grow((void **)&im->rest, &im->cap_rest, rests + im->n_full, sizeof *im->rest,
			 err);

	if (rc)
		return rc;
	kh_pack_words(im->rest, im->range.entries, kh_rest_bits(im->range.buckets));
	if (im->n_full > 0)
		memcpy(im->rest + rests, im->full, im->n_full * sizeof *im->full);
	im->n_rest = rests + im->n_full;
	return KH_OK;
}
