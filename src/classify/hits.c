/*
 * hits.c - the features of a segment, their matches by bin, the best windows by taxon
 *
 *	sample, distinct             features
 *	count_bins, sort_bins        matches by bin
 *	window_hits, best_of_taxa    hits of windows, the best of each taxon
 */
#include <config.h>
#include "classify/classify_in.h"

#include <stdlib.h>
#include "base/mem.h"

/* --- features --------------------------------------------------------------------- */
void kh_hits_distinct(kh_classifier *c)
{
	size_t n = 0, mask = 63;

	while (mask + 1 < 4 * c->n_key && mask < c->seen_mask) /* a small one stays in the cache */
		mask = 2 * mask + 1;
	for (size_t i = 0; i < c->n_key; i++) {
		size_t at = c->key[i] & mask;

		while (c->seen[at] != UINT64_MAX && c->seen[at] != c->key[i])
			at = (at + 1) & mask;
		if (c->seen[at] == c->key[i])
			continue;
		c->seen[at] = c->key[i];
		c->pos[n] = (uint32_t)at;       /* the positions are not needed any more */
		c->key[n++] = c->key[i];
	}
	c->n_key = n;
	for (size_t i = 0; i < n; i++)
		c->seen[c->pos[i]] = UINT64_MAX;
}

void kh_hits_sample(kh_classifier *c, const kh_block *b, const kh_record *r, uint64_t from,
		    uint64_t to)
{
	uint64_t starts = kh_sampling_starts(&c->rule->sampling, r->len);
	kh_stretch s = { b->bases, b->amb, r->seq + from, r->seq + (to < starts ? to : starts) };

	c->n_key += kh_sampling_run(&c->rule->sampling, &s, c->key + c->n_key, c->pos + c->n_key);
}

/* --- count by bin ----------------------------------------------------------------- */
static int count_room(kh_classifier *c, uint64_t total, kh_err *err)
{
	size_t size = 64;
	int rc;

	while (size < 2 * total)
		size *= 2;
	if (size > c->cap_table) {
		free(c->table);
		c->cap_table = 0;
		c->table = kh_array(size, sizeof *c->table, err);
		if (!c->table)
			return KH_ENOMEM;
		c->cap_table = size;
	}
	if ((rc = kh_grow((void **)&c->bin, &c->cap_bin, total, sizeof *c->bin, err)) ||
	    (rc = kh_grow((void **)&c->bin2, &c->cap_bin2, total, sizeof *c->bin2, err)))
		return rc;
	return kh_grow((void **)&c->hits, &c->cap_hits, total, sizeof *c->hits, err);
}

static void count_words(kh_classifier *c, const uint32_t *bin, size_t n, size_t mask)
{
	bin_count *table = c->table, *used = c->bin;    /* NULL, where n is 0 */
	size_t n_bins = c->n_bins;

	for (size_t i = 0; i < n; i++) {
		size_t at = bin[i] * UINT32_C(0x9e3779b1) >> 7 & mask;

		while (table[at] && table[at] >> 32 != bin[i])
			at = (at + 1) & mask;
		if (table[at] == 0) {
			table[at] = (uint64_t)bin[i] << 32;
			used[n_bins++] = at;
		}
		table[at]++;
	}
	c->n_bins = n_bins;
}

/* Counts matches by bin, unsorted, into c->bin. */
static int count_bins(kh_classifier *c, size_t n_over, kh_err *err)
{
	const uint32_t *word = c->word;
	size_t mask = 63;
	int rc = count_room(c, c->n_words, err);

	if (rc)
		return rc;
	while (mask + 1 < 2 * c->n_words)
		mask = 2 * mask + 1;
	c->n_bins = 0;
	if (n_over == 0)
		count_words(c, word, c->n_words, mask);
	for (size_t i = 0; i < c->n && n_over > 0; i++) {
		if (c->len[i] != KH_LIST_OVER)
			count_words(c, word, c->len[i], mask);
		word += kh_list_words(c->len[i]);
	}
	for (size_t i = 0; i < c->n_bins; i++) {
		size_t at = c->bin[i];

		c->bin[i] = c->table[at];
		c->table[at] = 0;
	}
	return KH_OK;
}

static void insertion_sort(bin_count *a, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		bin_count x = a[i];
		size_t j = i;

		for (; j > 0 && a[j - 1] > x; j--)
			a[j] = a[j - 1];
		a[j] = x;
	}
}

/* Sorts by bin: a few by insertion, more by four radix passes over the 32 bits of a bin. */
static void sort_bins(kh_classifier *c)
{
	if (c->n_bins <= 64) {
		insertion_sort(c->bin, c->n_bins);
		return;
	}
	for (unsigned shift = 32; shift < 64; shift += 8) {
		bin_count *swap = c->bin;
		uint32_t next[256] = { 0 }, sum = 0;

		for (size_t i = 0; i < c->n_bins; i++)
			next[c->bin[i] >> shift & 255]++;
		for (int d = 0; d < 256; d++) {
			uint32_t n = next[d];

			next[d] = sum;
			sum += n;
		}
		for (size_t i = 0; i < c->n_bins; i++)
			c->bin2[next[c->bin[i] >> shift & 255]++] = c->bin[i];
		c->bin = c->bin2;
		c->bin2 = swap;
	}
}

/* --- windows, targets, taxa ------------------------------------------------------- */
/* Counts the hits of each window of r bins that starts at a bin of a target with matches; returns
 * the greatest number, and sets *first to the lowest bin that has it. */
static uint32_t window_hits(kh_classifier *c, size_t n_bins, uint32_t r, uint32_t *first)
{
	uint64_t sum = 0;
	uint32_t max = 0;

	*first = KH_NO_BIN;
	for (size_t i = 0, j = 0; i < n_bins; i++) {
		uint64_t end = (c->bin[i] >> 32) + r;

		for (; j < n_bins && c->bin[j] >> 32 < end; j++)
			sum += (uint32_t)c->bin[j];
		c->hits[i] = sum < c->n ? (uint32_t)sum : (uint32_t)c->n;
		if (c->hits[i] > max) {
			max = c->hits[i];
			*first = (uint32_t)(c->bin[i] >> 32);
		}
		sum -= (uint32_t)c->bin[i];
	}
	return max;
}

/* Adds the votes of the segment, which are the last of its bins, from number `from` on. Returns
 * the greatest number of votes; c->top gets the best of these bins. */
static uint32_t count_votes(kh_classifier *c, size_t from)
{
	const kh_bins *b = &c->db->bins;

	c->top = (kh_best) { .first = KH_NO_BIN, .vote = KH_NO_BIN };
	for (size_t i = from; i < c->n_bins; i++) {
		const uint32_t bin = (uint32_t)(c->bin[i] >> 32), votes = (uint32_t)c->bin[i];
		const uint32_t species = b->taxon[kh_bins_target(b, bin)];

		if (c->votes[species] == 0)
			c->voted[c->n_voted++] = species;
		c->votes[species] += votes;
		if (kh_best_below(&c->top, votes, bin))
			c->top = (kh_best) { votes, bin, 1, bin };
	}
	return c->top.score;
}

/* Finds the best window of each taxon; windows with fewer than `least` hits do not matter. */
static void best_of_taxa(kh_classifier *c, size_t n_bins, uint32_t least, uint32_t r)
{
	const kh_bins *b = &c->db->bins;
	uint32_t target = 0, votes = 0;
	uint64_t next = 0;                      /* first bin of the target behind */

	for (size_t i = 0; i < n_bins; i++) {
		uint32_t bin = (uint32_t)(c->bin[i] >> 32), taxon;

		if (c->hits[i] < least)
			continue;
		if (bin >= next) {
			target = kh_bins_target(b, bin);
			next = target + 1 < b->n ? b->first[target + 1] : UINT64_MAX;
			votes = c->votes[b->taxon[b->species[target]]];
		}
		taxon = b->taxon[target];
		if (c->h[taxon] == 0 && c->best[taxon] == 0)
			c->touched[c->n_touched++] = taxon;
		if (c->hits[i] > c->best[taxon])
			c->best[taxon] = c->hits[i];
		if (kh_best_below(&c->top, c->hits[i] + votes, bin))
			c->top = (kh_best) { c->hits[i] + votes, bin, r, kh_bins_vote(b, target) };
	}
}

/* The number of the sorted bins that are bins of targets: all, if nothing votes. */
static size_t targets_bins(const kh_classifier *c)
{
	size_t n = c->n_bins;

	while (n > 0 && c->bin[n - 1] >> 32 >= c->db->bins.votes)
		n--;
	return n;
}

/* Notes the keys that the index has. */
static int note_keys(kh_classifier *c, kh_err *err)
{
	int rc = kh_grow((void **)&c->found, &c->cap_found, c->n_found + c->n, sizeof *c->found,
			 err);

	for (size_t i = 0; i < c->n && !rc; i++)
		if (c->len[i] > 0)
			c->found[c->n_found++] = c->feature[i];
	return rc;
}

/* Notes the taxa of those that are overpopulated. */
static int note_over(kh_classifier *c, size_t n_over, kh_err *err)
{
	const uint32_t *word = c->word;
	int rc = kh_grow((void **)&c->over, &c->cap_over, c->n_over + n_over, sizeof *c->over, err);

	for (size_t i = 0; i < c->n && !rc; i++) {
		if (c->len[i] == KH_LIST_OVER)
			c->over[c->n_over++] = *word;
		word += kh_list_words(c->len[i]);
	}
	return rc;
}

/* Notes what is found and what is overpopulated, which are *n_over features. */
static int note_lists(kh_classifier *c, bool want_keys, size_t *n_over, kh_err *err)
{
	uint32_t found = 0, over = 0, words = 0;
	int rc = want_keys ? note_keys(c, err) : KH_OK;

	for (size_t i = 0; i < c->n; i++) {
		found += c->len[i] > 0;
		over += c->len[i] == KH_LIST_OVER;
		words += kh_list_words(c->len[i]);
	}
	c->call.found += found;
	c->n_words = words;
	*n_over = over;
	return rc || over == 0 ? rc : note_over(c, over, err);
}

static int note_place(kh_classifier *c, uint32_t bin, kh_err *err)
{
	kh_places *p = c->places;
	int rc = kh_grow((void **)&p->at, &p->cap, p->n + 1, sizeof *p->at, err);

	if (!rc)
		p->at[p->n++] = (kh_located) { c->number, bin };
	return rc;
}

int kh_hits_segment(kh_classifier *c, uint64_t span, bool want_keys, kh_err *err)
{
	const uint32_t r = kh_rule_window(c->rule, span);
	uint32_t least = 1, first;
	kh_hits_most most;
	size_t n_bins, n_over;
	int rc;

	c->call.features += (uint32_t)c->n;
	rc = note_lists(c, want_keys, &n_over, err);
	if (!rc)
		rc = count_bins(c, n_over, err);
	if (rc)
		return rc;
	sort_bins(c);
	n_bins = targets_bins(c);
	most.hits = window_hits(c, n_bins, r, &first);
	most.votes = count_votes(c, n_bins);
	most.over = (uint32_t)c->n_over;
	if (c->only)
		least = kh_rule_least(c->rule, most, c->call.features);
	best_of_taxa(c, n_bins, least, r);
	for (size_t i = 0; i < c->n_touched; i++) {
		c->h[c->touched[i]] += c->best[c->touched[i]];
		c->best[c->touched[i]] = 0;
	}
	return c->places && !c->only ? note_place(c, first, err) : KH_OK;
}
