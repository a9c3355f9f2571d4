/*
 * classify.c - the reference classifier
 *
 *	prepare and hold scratch    kh_classifier_new, _free
 *	features of a segment       sample, distinct
 *	look up, count by bin       look_up, count_bins, sort_bins
 *	hits of windows, by taxon   windows, close_segment
 *	overpopulated features      add_over, over_only
 *	decide                      decide
 */
#include <config.h>
#include "classify.h"

#include <stdlib.h>
#include <string.h>
#include "mem.h"
#include "probe.h"

/* A bin and its matches: bin << 32 | count, so that order is by bin. */
typedef uint64_t bin_count;

struct kh_classifier {
	const kh_db *db;
	const kh_rule *rule;
	kh_tree tree;
	/* the segment: its distinct features and their lists */
	uint64_t *key;
	uint32_t *pos;
	kh_list *list;
	const kh_bucket **bucket;       /* their homes */
	size_t n, cap;
	uint64_t *seen;                 /* open addressing, ~0: free */
	size_t seen_mask;
	/* matches by bin */
	bin_count *table;               /* open addressing, 0: free */
	size_t cap_table;
	bin_count *bin, *bin2;          /* used slots, then sorted */
	uint32_t *hits;                 /* of the window that starts at bin[i] */
	size_t n_bins, cap_bin, cap_bin2, cap_hits;
	/* the fragment: taxa with h > 0 */
	uint32_t *h, *best;             /* by taxon; best: of this segment */
	uint32_t *touched;              /* taxa with h or best > 0 */
	size_t n_touched;
	bool only;                      /* it is one segment, the one in key, list, bin, hits */
	uint32_t window;                /* bins of its windows */
	uint32_t *over;                 /* LCAs of overpopulated features, with repeats */
	size_t n_over, cap_over;
	uint64_t *found;                /* keys that the index has, if they are wanted */
	size_t n_found, cap_found;
	kh_call call;
};

void kh_rule_init(kh_rule *r, const kh_db_header *h)
{
	*r = (kh_rule) { .sketch = h->sketch, .max_span = h->max_span };
	memcpy(r->minima, h->minima, sizeof r->minima);
}

kh_tree kh_tree_of(const kh_taxonomy *t)
{
	return (kh_tree) { t->n, t->parent, t->end, t->species, t->genus };
}

int kh_classifier_new(kh_classifier **out, const kh_db *db, const kh_rule *rule, kh_err *err)
{
	kh_classifier *c = kh_array(1, sizeof *c, err);
	size_t bound = (size_t)kh_sketch_bound(&rule->sketch, rule->max_span) + 2, size = 64;

	if (!c)
		return KH_ENOMEM;
	c->db = db;
	c->rule = rule;
	c->tree = kh_tree_of(db->tax);
	while (size < 4 * bound)
		size *= 2;
	c->seen_mask = size - 1;
	c->cap = 2 * bound;
	c->key = kh_array(c->cap, sizeof *c->key, err);
	c->pos = kh_array(c->cap, sizeof *c->pos, err);
	c->list = kh_array(c->cap, sizeof *c->list, err);
	c->bucket = kh_array(c->cap, sizeof *c->bucket, err);
	c->seen = kh_array(size, sizeof *c->seen, err);
	c->h = kh_array(c->tree.n, sizeof *c->h, err);
	c->best = kh_array(c->tree.n, sizeof *c->best, err);
	c->touched = kh_array(c->tree.n, sizeof *c->touched, err);
	if (!c->key || !c->pos || !c->list || !c->bucket || !c->seen || !c->h || !c->best || !c->touched) {
		kh_classifier_free(c);
		return KH_ENOMEM;
	}
	memset(c->seen, 0xff, size * sizeof *c->seen);
	*out = c;
	return KH_OK;
}

void kh_classifier_free(kh_classifier *c)
{
	if (!c)
		return;
	free(c->key);
	free(c->pos);
	free(c->list);
	free(c->bucket);
	free(c->seen);
	free(c->table);
	free(c->bin);
	free(c->bin2);
	free(c->hits);
	free(c->h);
	free(c->best);
	free(c->touched);
	free(c->over);
	free(c->found);
	free(c);
}

/* --- features -------------------------------------------------------------------------- */
/* Keeps the first of equal features. */
static void distinct(kh_classifier *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		size_t at = c->key[i] & c->seen_mask;

		while (c->seen[at] != UINT64_MAX && c->seen[at] != c->key[i])
			at = (at + 1) & c->seen_mask;
		if (c->seen[at] == c->key[i])
			continue;
		c->seen[at] = c->key[i];
		c->pos[n] = (uint32_t)at;       /* the positions are not needed */
		c->key[n++] = c->key[i];
	}
	c->n = n;
	for (size_t i = 0; i < n; i++)
		c->seen[c->pos[i]] = UINT64_MAX;
}

static void sample(kh_classifier *c, const kh_block *b, const kh_record *r, uint64_t from, uint64_t to)
{
	uint64_t starts = kh_sketch_starts(&c->rule->sketch, r->len);
	kh_stretch s = { b->bases, b->amb, r->seq + from, r->seq + (to < starts ? to : starts) };

	c->n += kh_sketch_run(&c->rule->sketch, &s, c->key + c->n, c->pos + c->n);
}

/* --- look up, count by bin ---------------------------------------------------------------- */
/* Lists of all features; the number of locations.  Memory is asked for ahead: buckets
 * of all features, then lists of all. */
static uint64_t look_up(kh_classifier *c)
{
	const uint32_t *word = c->db->image;
	uint64_t total = 0;

	for (size_t i = 0; i < c->n; i++) {
		const kh_range *r = &c->db->dir[kh_key_range(c->key[i])];
		uint64_t place = kh_key_place(c->key[i], r->buckets);

		c->bucket[i] = (const kh_bucket *)c->db->image + r->first_bucket + (place >> 16);
		c->pos[i] = (uint32_t)(place & 0xffff);         /* the tag */
		__builtin_prefetch(c->bucket[i]);
	}
	for (size_t i = 0; i < c->n; i++) {
		c->list[i] = kh_probe_find(&c->db->dir[kh_key_range(c->key[i])], c->bucket[i], c->pos[i]);
		__builtin_prefetch(word + c->list[i].loc);
		total += c->list[i].over ? 0 : c->list[i].n;
	}
	return total;
}

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

/* Matches by bin, unsorted, to c->bin. */
static int count_bins(kh_classifier *c, uint64_t total, kh_err *err)
{
	const uint32_t *word = c->db->image;
	size_t mask = 63, n = 0;
	int rc = count_room(c, total, err);

	if (rc)
		return rc;
	while (mask + 1 < 2 * total)
		mask = 2 * mask + 1;
	for (size_t i = 0; i < c->n; i++) {
		const uint32_t *loc = word + c->list[i].loc;

		for (uint32_t j = 0; j < c->list[i].n && !c->list[i].over; j++) {
			size_t at = loc[j] * UINT32_C(0x9e3779b1) >> 7 & mask;

			while (c->table[at] && c->table[at] >> 32 != loc[j])
				at = (at + 1) & mask;
			if (c->table[at] == 0) {
				c->table[at] = (uint64_t)loc[j] << 32;
				c->bin[n++] = at;
			}
			c->table[at]++;
		}
	}
	c->n_bins = n;
	for (size_t i = 0; i < n; i++) {
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

/* By bin: few by insertion, more by four radix passes over the bin's 32 bits. */
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

/* --- windows, targets, taxa ---------------------------------------------------------------- */
/* Hits of each window of r bins that starts at a bin with matches; the greatest. */
static uint32_t window_hits(kh_classifier *c, uint32_t r)
{
	uint64_t sum = 0;
	uint32_t max = 0;

	for (size_t i = 0, j = 0; i < c->n_bins; i++) {
		uint64_t end = (c->bin[i] >> 32) + r;

		for (; j < c->n_bins && c->bin[j] >> 32 < end; j++)
			sum += (uint32_t)c->bin[j];
		c->hits[i] = sum < c->n ? (uint32_t)sum : (uint32_t)c->n;
		max = c->hits[i] > max ? c->hits[i] : max;
		sum -= (uint32_t)c->bin[i];
	}
	return max;
}

/* The best window of each taxon; windows with fewer than `least` hits do not matter. */
static void best_of_taxa(kh_classifier *c, uint32_t least)
{
	const kh_bins *b = &c->db->bins;
	uint32_t target = 0;
	uint64_t next = 0;                      /* first bin of the target behind */

	for (size_t i = 0; i < c->n_bins; i++) {
		uint32_t bin = (uint32_t)(c->bin[i] >> 32), taxon;

		if (c->hits[i] < least)
			continue;
		if (bin >= next) {
			target = kh_bins_target(b, bin);
			next = target + 1 < b->n ? b->first[target + 1] : UINT64_MAX;
		}
		taxon = b->taxon[target];
		if (c->h[taxon] == 0 && c->best[taxon] == 0)
			c->touched[c->n_touched++] = taxon;
		if (c->hits[i] > c->best[taxon])
			c->best[taxon] = c->hits[i];
	}
}

static int note_lists(kh_classifier *c, bool want_keys, kh_err *err)
{
	const uint32_t *word = c->db->image;
	int rc = kh_grow((void **)&c->over, &c->cap_over, c->n_over + c->n, sizeof *c->over, err);

	if (!rc && want_keys)
		rc = kh_grow((void **)&c->found, &c->cap_found, c->n_found + c->n, sizeof *c->found, err);
	for (size_t i = 0; i < c->n && !rc; i++) {
		if (c->list[i].n == 0)
			continue;
		c->call.found++;
		if (want_keys)
			c->found[c->n_found++] = c->key[i];
		if (c->list[i].over)
			c->over[c->n_over++] = word[c->list[i].loc];
	}
	return rc;
}

/* One segment, whose features have been sampled: adds to n, h and the overpopulated.
 * Of a fragment that is one segment, windows that cannot come near h1 are left out. */
static int segment(kh_classifier *c, uint64_t span, bool want_keys, kh_err *err)
{
	uint64_t total;
	uint32_t max, least = 1;
	int rc;

	distinct(c);
	c->call.features += (uint32_t)c->n;
	total = look_up(c);
	rc = note_lists(c, want_keys, err);
	if (!rc)
		rc = count_bins(c, total, err);
	if (rc)
		return rc;
	sort_bins(c);
	max = window_hits(c, kh_rule_window(c->rule, span));
	if (c->only) {
		/* what counts has h >= near(h1) for some h1 >= max, and h <= hits + n_over */
		uint32_t near = kh_rule_near_species(c->rule, max, c->call.features);

		if (kh_rule_near_genus(max) < near)
			near = kh_rule_near_genus(max);
		least = near > c->n_over ? near - (uint32_t)c->n_over : 1;
	}
	best_of_taxa(c, least);
	for (size_t i = 0; i < c->n_touched; i++) {
		c->h[c->touched[i]] += c->best[c->touched[i]];
		c->best[c->touched[i]] = 0;
	}
	c->window = kh_rule_window(c->rule, span);
	return KH_OK;
}

/* --- overpopulated features ------------------------------------------------------------------ */
static void add_over(kh_classifier *c)
{
	for (size_t i = 0; i < c->n_touched; i++)
		for (size_t j = 0; j < c->n_over; j++)
			c->h[c->touched[i]] += (uint32_t)kh_tree_related(&c->tree, c->touched[i], c->over[j]);
}

/* No other matches: each LCA has the sum of those on its way from the root. */
static void over_only(kh_classifier *c)
{
	for (size_t i = 0; i < c->n_over; i++) {
		uint32_t x = c->over[i];

		if (c->h[x])
			continue;
		c->touched[c->n_touched++] = x;
		for (size_t j = 0; j < c->n_over; j++)
			c->h[x] += c->over[j] <= x && x < c->tree.end[c->over[j]];
	}
}

/* --- decide ------------------------------------------------------------------------------------ */
/* Taxa with h >= near; of those, unless `marked` is false, only the ones with h1 or a mark. */
static kh_extent near_taxa(const kh_classifier *c, uint32_t near, uint32_t h1, bool marked)
{
	kh_extent e = { UINT32_MAX, 0 };

	for (size_t i = 0; i < c->n_touched; i++) {
		uint32_t taxon = c->touched[i];

		if (c->h[taxon] >= near && (!marked || c->h[taxon] == h1 || c->best[taxon]))
			e = kh_extent_add(e, taxon);
	}
	return e;
}

static bool in_window(const uint32_t *loc, uint32_t n, uint32_t first, uint32_t bins)
{
	for (uint32_t i = 0; i < n; i++)
		if (loc[i] >= first && loc[i] - first < bins)
			return true;
	return false;
}

/* Marks, in c->best, the taxa that have a feature which the best window lacks. */
static void mark_rivals(kh_classifier *c)
{
	const uint32_t *word = c->db->image;
	uint32_t first = 0, max = 0;

	for (size_t i = 0; i < c->n_bins; i++)
		if (c->hits[i] > max) {
			max = c->hits[i];
			first = (uint32_t)(c->bin[i] >> 32);
		}
	for (size_t i = 0; i < c->n; i++) {
		const kh_list *l = &c->list[i];
		const uint32_t *loc = word + l->loc;

		if (l->over || in_window(loc, l->n, first, c->window))
			continue;
		for (uint32_t j = 0; j < l->n; j++)
			c->best[c->db->bins.taxon[kh_bins_target(&c->db->bins, loc[j])]] = 1;
	}
}

static void unmark_rivals(kh_classifier *c)
{
	const uint32_t *word = c->db->image;

	for (size_t i = 0; i < c->n; i++)
		for (uint32_t j = 0; j < c->list[i].n && !c->list[i].over; j++)
			c->best[c->db->bins.taxon[kh_bins_target(&c->db->bins, word[c->list[i].loc + j])]] = 0;
}

static uint32_t decide(kh_classifier *c)
{
	const uint32_t n = c->call.features;
	uint32_t h1 = 0, near, taxon;

	for (size_t i = 0; i < c->n_touched; i++)
		h1 = c->h[c->touched[i]] > h1 ? c->h[c->touched[i]] : h1;
	c->call.hits = h1 < n ? h1 : n;
	if (!kh_rule_enough(c->rule, h1, n))
		return KH_TAXON_NONE;
	if (h1 >= kh_rule_minimum(c->rule, n).species) {
		near = kh_rule_near_species(c->rule, h1, n);
		taxon = kh_rule_species(&c->tree, near_taxa(c, near, h1, false));
		if (taxon == KH_TAXON_NONE && c->only && c->n_bins > 0) {
			mark_rivals(c);
			taxon = kh_rule_species(&c->tree, near_taxa(c, near, h1, true));
			unmark_rivals(c);
		}
		if (taxon != KH_TAXON_NONE)
			return taxon;
	}
	return kh_rule_genus(&c->tree, near_taxa(c, kh_rule_near_genus(h1), h1, false));
}

static void finish(kh_classifier *c)
{
	bool over = c->n_touched == 0;
	uint32_t taxon;

	if (over)
		over_only(c);
	else
		add_over(c);
	taxon = decide(c);
	if (over && taxon != KH_TAXON_NONE && c->tree.species[taxon] != KH_TAXON_NONE)
		taxon = c->tree.species[taxon];
	c->call.taxon = taxon;
	for (size_t i = 0; i < c->n_touched; i++)
		c->h[c->touched[i]] = 0;
	c->n_touched = c->n_over = 0;
}

/* --- fragments ------------------------------------------------------------------------------------ */
/* A record that is not one segment with its mate. */
static int long_record(kh_classifier *c, const kh_block *b, const kh_record *r, bool want_keys,
		       kh_err *err)
{
	const uint64_t span = c->rule->max_span;
	int rc = KH_OK;

	for (uint64_t at = 0; at < r->len && !rc; at += span) {
		c->n = 0;
		sample(c, b, r, at, at + span);
		rc = segment(c, r->len < span ? r->len : span, want_keys, err);
	}
	return rc;
}

static int fragment(kh_classifier *c, const kh_block *const b[2], const kh_record *const r[2],
		    bool want_keys, kh_err *err)
{
	const uint64_t span = c->rule->max_span;
	int rc = KH_OK;

	c->call = (kh_call) { .taxon = KH_TAXON_NONE };
	c->n = c->n_found = 0;
	c->only = r[1] ? r[0]->len + r[1]->len <= span : r[0]->len <= span;
	if (c->only) {
		sample(c, b[0], r[0], 0, span);
		if (r[1])
			sample(c, b[1], r[1], 0, span);
		rc = segment(c, r[1] ? span : r[0]->len, want_keys, err);
	} else {
		for (int i = 0; i < 2 && r[i] && !rc; i++)
			rc = long_record(c, b[i], r[i], want_keys, err);
	}
	if (!rc)
		finish(c);
	return rc;
}

int kh_classify_job(kh_classifier *c, const kh_job *job, kh_call *call, kh_sketches *sk, kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = 0; i < job->n && !rc; i++) {
		const kh_block *b[2];
		const kh_record *r[2];

		kh_job_records(job, i, b, r);
		rc = fragment(c, b, r, sk != NULL, err);
		call[i] = c->call;
		if (!rc && sk && c->call.taxon != KH_TAXON_NONE)
			rc = kh_sketches_add(sk, c->call.taxon, c->found, c->n_found, err);
	}
	return rc;
}
