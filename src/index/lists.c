#include <config.h>
#include "index/lists.h"

#include <stdlib.h>
#include "base/mem.h"

int kh_lists_start(kh_lists *l, size_t keys, size_t words, kh_err *err)
{
	int rc = KH_GROW(l->key, l->cap[0], keys, err);

	if (!rc)
		rc = KH_GROW(l->len, l->cap[1], keys, err);
	if (!rc)
		rc = KH_GROW(l->word, l->cap[2], words, err);
	l->n = l->n_words = l->n_longer = 0;
	return rc;
}

int kh_lists_add(kh_lists *l, uint64_t key, size_t n, kh_err *err)
{
	int rc;

	if (n > KH_LIST_MAX) {
		rc = KH_GROW(l->longer, l->cap[3], l->n_longer + 1, err);
		if (rc)
			return rc;
		l->longer[l->n_longer++] = (uint32_t)n;
	}
	l->key[l->n] = key;
	l->len[l->n++] = n > KH_LIST_MAX ? KH_LIST_OVER : (uint8_t)n;
	l->n_words += n;
	return KH_OK;
}

void kh_lists_clear(kh_lists *l)
{
	free(l->key);
	free(l->len);
	free(l->word);
	free(l->longer);
	*l = (kh_lists) { .n = 0 };
}

static size_t count_keys(const kh_pairs *p)
{
	size_t n = p->n > 0;

	for (size_t i = 1; i < p->n; i++)
		n += p->key[i] != p->key[i - 1];
	return n;
}

int kh_pairs_list(const kh_pairs *p, size_t from, size_t to, kh_cut *cut, const kh_bins *bins,
		  uint32_t *list, size_t *n, kh_err *err)
{
	int rc = kh_cut_grow(cut, bins, to - from, err);

	*n = 0;
	for (size_t i = from; i < to && !rc; i++)
		if (*n == 0 || list[*n - 1] != p->loc[i])
			list[(*n)++] = p->loc[i];
	*n = rc ? 0 : kh_cut_list(cut, list, *n);
	return rc;
}

int kh_lists_of_pairs(kh_lists *l, const kh_pairs *p, kh_cut *cut, const kh_bins *bins,
		      kh_err *err)
{
	int rc = kh_lists_start(l, count_keys(p), p->n, err);

	for (size_t from = 0, to; from < p->n && !rc; from = to) {
		const uint64_t key = p->key[from];
		size_t n;

		for (to = from + 1; to < p->n && p->key[to] == key;)
			to++;
		if (to - from > 1) {
			rc = kh_pairs_list(p, from, to, cut, bins, l->word + l->n_words, &n, err);
			if (!rc)
				rc = kh_lists_add(l, key, n, err);
			continue;
		}
		l->key[l->n] = key;     /* most keys have one pair */
		l->len[l->n++] = 1;
		l->word[l->n_words++] = p->loc[from];
	}
	return rc;
}
