/*
 * classify.c - the reference classifier: fragments, segments, the decision
 *
 * What is matched where is found in hits.c.
 */
#include <config.h>
#include "classify_in.h"

#include <stdlib.h>
#include <string.h>
#include "mem.h"

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
	c->seen = kh_array(size, sizeof *c->seen, err);
	c->h = kh_array(c->tree.n, sizeof *c->h, err);
	c->best = kh_array(c->tree.n, sizeof *c->best, err);
	c->touched = kh_array(c->tree.n, sizeof *c->touched, err);
	if (!c->key || !c->pos || !c->list || !c->seen || !c->h || !c->best || !c->touched) {
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

/* --- overpopulated features ------------------------------------------------------------------ */
/* Each LCA once, and in c->best how often: a long fragment has very many of a few. */
static void count_over(kh_classifier *c)
{
	size_t n = 0;

	for (size_t j = 0; j < c->n_over; j++)
		if (c->best[c->over[j]]++ == 0)
			c->over[n++] = c->over[j];
	c->n_over = n;
}

static void forget_over(kh_classifier *c)
{
	for (size_t j = 0; j < c->n_over; j++)
		c->best[c->over[j]] = 0;
	c->n_over = 0;
}

static void add_over(kh_classifier *c)
{
	for (size_t i = 0; i < c->n_touched; i++)
		for (size_t j = 0; j < c->n_over; j++)
			if (kh_tree_related(&c->tree, c->touched[i], c->over[j]))
				c->h[c->touched[i]] += c->best[c->over[j]];
}

/* No other matches: each LCA has the sum of those on its way from the root. */
static void over_only(kh_classifier *c)
{
	for (size_t i = 0; i < c->n_over; i++) {
		uint32_t x = c->over[i];

		c->touched[c->n_touched++] = x;
		for (size_t j = 0; j < c->n_over; j++)
			if (c->over[j] <= x && x < c->tree.end[c->over[j]])
				c->h[x] += c->best[c->over[j]];
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
	uint32_t first = 0, max = 0;

	for (size_t i = 0; i < c->n_bins; i++)
		if (c->hits[i] > max) {
			max = c->hits[i];
			first = (uint32_t)(c->bin[i] >> 32);
		}
	for (size_t i = 0; i < c->n; i++) {
		const kh_hit_list *l = &c->list[i];

		if (l->over || in_window(l->at, l->n, first, c->window))
			continue;
		for (uint32_t j = 0; j < l->n; j++)
			c->best[c->db->bins.taxon[kh_bins_target(&c->db->bins, l->at[j])]] = 1;
	}
}

static void unmark_rivals(kh_classifier *c)
{
	for (size_t i = 0; i < c->n; i++)
		for (uint32_t j = 0; j < c->list[i].n && !c->list[i].over; j++)
			c->best[c->db->bins.taxon[kh_bins_target(&c->db->bins, c->list[i].at[j])]] = 0;
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

	count_over(c);
	if (over)
		over_only(c);
	else
		add_over(c);
	forget_over(c);
	taxon = decide(c);
	if (over && taxon != KH_TAXON_NONE && c->tree.species[taxon] != KH_TAXON_NONE)
		taxon = c->tree.species[taxon];
	c->call.taxon = taxon;
	for (size_t i = 0; i < c->n_touched; i++)
		c->h[c->touched[i]] = 0;
	c->n_touched = 0;
}

/* --- fragments ------------------------------------------------------------------------------------ */
static void begin(kh_classifier *c, bool only)
{
	c->call = (kh_call) { .taxon = KH_TAXON_NONE };
	c->n_found = 0;
	c->only = only;
}

static int end(kh_classifier *c, kh_call *call, kh_sketches *sk, kh_err *err)
{
	finish(c);
	*call = c->call;
	if (!sk || c->call.taxon == KH_TAXON_NONE)
		return KH_OK;
	return kh_sketches_add(sk, c->call.taxon, c->found, c->n_found, err);
}

/* The features of a segment have been sampled. */
static int segment(kh_classifier *c, uint64_t span, bool want_keys, kh_err *err)
{
	kh_hits_distinct(c);
	if (c->asked)
		return kh_asked_add(c->asked, c->key,
				    (kh_segment) { (uint32_t)c->n, (uint32_t)span, c->only, false }, err);
	return kh_hits_segment(c, span, want_keys, err);
}

/* A record that is not one segment with its mate. */
static int long_record(kh_classifier *c, const kh_block *b, const kh_record *r, bool want_keys,
		       kh_err *err)
{
	const uint64_t span = c->rule->max_span;
	int rc = KH_OK;

	for (uint64_t at = 0; at < r->len && !rc; at += span) {
		c->n = 0;
		kh_hits_sample(c, b, r, at, at + span);
		rc = segment(c, r->len < span ? r->len : span, want_keys, err);
	}
	return rc;
}

static int fragment(kh_classifier *c, const kh_block *const b[2], const kh_record *const r[2],
		    bool want_keys, kh_err *err)
{
	const uint64_t span = c->rule->max_span;
	int rc = KH_OK;

	begin(c, r[1] ? r[0]->len + r[1]->len <= span : r[0]->len <= span);
	if (!c->only) {
		for (int i = 0; i < 2 && r[i] && !rc; i++)
			rc = long_record(c, b[i], r[i], want_keys, err);
		return rc;
	}
	c->n = 0;
	kh_hits_sample(c, b[0], r[0], 0, span);
	if (r[1])
		kh_hits_sample(c, b[1], r[1], 0, span);
	return segment(c, r[1] ? span : r[0]->len, want_keys, err);
}

int kh_classify_job(kh_classifier *c, const kh_job *job, kh_call *call, kh_sketches *sk, kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = 0; i < job->n && !rc; i++) {
		const kh_block *b[2];
		const kh_record *r[2];

		kh_job_records(job, i, b, r);
		rc = fragment(c, b, r, sk != NULL, err);
		if (!rc)
			rc = end(c, &call[i], sk, err);
	}
	return rc;
}

/* --- in two steps ----------------------------------------------------------------------------------- */
int kh_classify_ask(kh_classifier *c, const kh_job *job, kh_asked *a, kh_err *err)
{
	int rc = KH_OK;

	a->n = a->n_segments = 0;
	c->asked = a;
	for (size_t i = 0; i < job->n && !rc; i++) {
		const kh_block *b[2];
		const kh_record *r[2];

		kh_job_records(job, i, b, r);
		rc = fragment(c, b, r, false, err);
		if (!rc)
			a->segment[a->n_segments - 1].last = true;
	}
	c->asked = NULL;
	return rc;
}

int kh_classify_answer(kh_classifier *c, const kh_asked *a, kh_answers *answers, kh_call *call,
		       kh_sketches *sk, kh_err *err)
{
	const uint64_t *key = a->key;
	bool first = true;
	int rc = KH_OK;

	c->answers = answers;
	for (size_t i = 0; i < a->n_segments && !rc; i++) {
		const kh_segment *s = &a->segment[i];

		if (first)
			begin(c, s->only);
		c->n = s->n;
		if (s->n > 0)           /* key may be NULL if there is none at all */
			memcpy(c->key, key, s->n * sizeof *key);
		key += s->n;
		rc = kh_hits_segment(c, s->span, sk != NULL, err);
		if (!rc && s->last)
			rc = end(c, call++, sk, err);
		first = s->last;
	}
	c->answers = NULL;
	return rc;
}
