#include <config.h>
#include "index/join.h"

#include <string.h>

/* Behind the pairs with the key of the next one. */
static size_t same_key(const kh_join *j)
{
	size_t i = j->next + 1;

	while (i < j->p->n && j->p->key[i] == j->p->key[j->next])
		i++;
	return i;
}

/* Adds a key: the n words at `list`, joined by the locations of the pairs from j->next up to
 * `to`. */
static int add_joined(kh_join *j, uint64_t key, const uint32_t *list, size_t n, size_t to,
		      bool cut, kh_err *err)
{
	const uint32_t *const loc = j->p->loc;
	uint32_t *const out = j->out->word + j->out->n_words;
	size_t i = 0, left = 0, q = j->next;
	int rc = kh_cut_grow(j->cut, j->bins, n + to - q, err);

	if (rc)
		return rc;
	while (i < n || q < to) {
		const uint32_t x = q == to || (i < n && list[i] <= loc[q]) ? list[i++] : loc[q++];

		if (left == 0 || out[left - 1] != x)
			out[left++] = x;
	}
	if (cut || to > j->next)
		left = kh_cut_list(j->cut, out, left);
	j->next = to;
	return left > 0 ? kh_lists_add(j->out, key, left, err) : KH_OK;
}

int kh_join_below(kh_join *j, uint64_t key, kh_err *err)
{
	int rc = KH_OK;

	while (!rc && j->next < j->p->n && j->p->key[j->next] < key)
		rc = add_joined(j, j->p->key[j->next], NULL, 0, same_key(j), true, err);
	return rc;
}

int kh_join_list(kh_join *j, uint64_t key, const uint32_t *list, size_t n, bool cut, kh_err *err)
{
	const bool has_new = j->next < j->p->n && j->p->key[j->next] == key;

	return add_joined(j, key, list, n, has_new ? same_key(j) : j->next, cut, err);
}

/* The bin in which a location of a pair votes. */
static uint32_t vote_of(const kh_join *j, uint32_t loc)
{
	const uint32_t *const first = j->bins->first;
	uint32_t lo = j->first_target;

	for (uint32_t n = j->bins->n_targets - lo, half; n > 1; n -= half) {
		half = n / 2;
		lo = first[lo + half] <= loc ? lo + half : lo;
	}
	return kh_bins_vote(j->bins, lo);
}

/* Does the list have votes for all that the pairs up to `to` say of its key? */
static bool says_all(const kh_join *j, const uint32_t *list, size_t n, size_t to)
{
	for (size_t q = j->next; q < to; q++) {
		const uint32_t vote = vote_of(j, j->p->loc[q]);
		size_t i = n;

		while (i > 0 && list[i - 1] > vote)
			i--;
		if (i == 0 || list[i - 1] != vote)
			return false;
	}
	return true;
}

static void copy(kh_lists *out, const uint64_t *key, const uint8_t *len, size_t n,
		 const uint32_t *word, size_t words)
{
	if (n == 0)                     /* there may be no arrays */
		return;
	memcpy(out->key + out->n, key, n * sizeof *key);
	memcpy(out->len + out->n, len, n);
	memcpy(out->word + out->n_words, word, words * sizeof *word);
	out->n += n;
	out->n_words += words;
}

int kh_join_lists(kh_join *j, const uint64_t *key, const uint8_t *len, const uint32_t *word,
		  size_t n, kh_err *err)
{
	const kh_pairs *const p = j->p;
	size_t i = 0, at = 0;           /* of the lists, and of the words: looked at */
	size_t copied = 0, copied_to = 0;
	int rc = KH_OK;

	while (!rc) {
		const uint64_t next = j->next < p->n ? p->key[j->next] : UINT64_MAX;

		while (i < n && key[i] < next)
			at += len[i++];
		if (i == n)
			break;
		const size_t to = same_key(j);

		if (key[i] == next && says_all(j, word + at, len[i], to)) {
			j->next = to;
			continue;
		}
		copy(j->out, key + copied, len + copied, i - copied, word + copied_to,
		     at - copied_to);
		if (key[i] == next) {
			rc = add_joined(j, next, word + at, len[i], to, true, err);
			at += len[i++];
		} else {
			rc = add_joined(j, next, NULL, 0, to, true, err);
		}
		copied = i;
		copied_to = at;
	}
	if (!rc)
		copy(j->out, key + copied, len + copied, n - copied, word + copied_to,
		     at - copied_to);
	return rc;
}
