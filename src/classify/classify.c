/*
 * classify.c - the reference classifier: fragments, segments, the decision
 *
 * What is matched where is found in hits.c.
 */
#include <config.h>
#include "classify/classify_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

void kh_rule_init(kh_rule *r, const kh_db_header *h)
{
	*r = (kh_rule) { .sampling = kh_db_sampling(h), .max_span = h->max_span };
	r->text = h->text.at != 0;
	if (!r->text)                   /* chance is not what counts, but text */
		memcpy(r->minima, h->minima, sizeof r->minima);
}

int kh_classifier_new(kh_classifier **out, const kh_db *db, const kh_rule *rule, kh_err *err)
{
	kh_classifier *c = kh_array(1, sizeof *c, err);
	size_t bound = (size_t)kh_sampling_bound(&rule->sampling, rule->max_span) + 2, size = 64;

	if (!c)
		return KH_ENOMEM;
	c->db = db;
	c->rule = rule;
	c->tree = kh_taxonomy_tree(db->tax);
	while (size < 4 * bound)
		size *= 2;
	c->seen_mask = size - 1;
	c->key = kh_array(2 * bound, sizeof *c->key, err);
	c->pos = kh_array(2 * bound, sizeof *c->pos, err);
	c->seen = kh_array(size, sizeof *c->seen, err);
	c->h = kh_array(c->tree.n, sizeof *c->h, err);
	c->best = kh_array(c->tree.n, sizeof *c->best, err);
	c->votes = kh_array(c->tree.n, sizeof *c->votes, err);
	c->touched = kh_array(2 * (size_t)c->tree.n, sizeof *c->touched, err);
	if (!c->key || !c->pos || !c->seen || !c->h || !c->best || !c->votes ||
	    !c->touched) {
		kh_classifier_free(c);
		return KH_ENOMEM;
	}
	c->voted = c->touched + c->tree.n;
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
	kh_asked_clear(&c->ahead);
	kh_hit_lists_clear(&c->lists);
	free(c->seen);
	free(c->table);
	free(c->bin);
	free(c->bin2);
	free(c->hits);
	free(c->h);
	free(c->best);
	free(c->votes);
	free(c->touched);
	free(c->over);
	free(c->found);
	free(c);
}

/* --- votes ------------------------------------------------------------------------ */
/* Votes count for each taxon of their species, and for the species itself. */
static void add_votes(kh_classifier *c)
{
	for (size_t i = 0; i < c->n_touched; i++)
		c->h[c->touched[i]] += c->votes[kh_tree_own_species(&c->tree, c->touched[i])];
	for (size_t i = 0; i < c->n_voted; i++) {
		uint32_t s = c->voted[i];

		if (c->h[s] == 0) {
			c->h[s] = c->votes[s];
			c->touched[c->n_touched++] = s;
		}
		c->votes[s] = 0;
	}
	c->n_voted = 0;
}

/* --- overpopulated features ------------------------------------------------------- */
/* Keeps each LCA once, with its number in c->best: a long fragment has a few of them very often. */
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

/* There are no other matches: each LCA gets the sum of those between it and the root. */
static void over_only(kh_classifier *c)
{
	for (size_t i = 0; i < c->n_over; i++) {
		uint32_t x = c->over[i];

		c->touched[c->n_touched++] = x;
		for (size_t j = 0; j < c->n_over; j++)
			if (kh_tree_within(&c->tree, c->over[j], x))
				c->h[x] += c->best[c->over[j]];
	}
}

/* --- decide ----------------------------------------------------------------------- */
static bool best_has_any(const kh_best *w, const uint32_t *bin, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (kh_best_has(w, bin[i]))
			return true;
	return false;
}

static void mark_list(kh_classifier *c, const uint32_t *bin, uint32_t n)
{
	const kh_bins *b = &c->db->bins;

	for (uint32_t j = 0; j < n; j++)
		c->best[b->taxon[kh_bins_target(b, bin[j])]] |=
			bin[j] < b->votes ? KH_RIVAL_PLACE : KH_RIVAL_VOTE;
}

/* Marks in c->best the taxa that have a feature which the best window lacks. */
static void mark_rivals(kh_classifier *c)
{
	const uint32_t *bin = c->word;

	for (size_t i = 0; i < c->n; i++) {
		const uint32_t n = kh_list_words(c->len[i]);

		if (c->len[i] != KH_LIST_OVER && !best_has_any(&c->top, bin, n))
			mark_list(c, bin, n);
		bin += n;
	}
}

static void unmark_rivals(kh_classifier *c)
{
	const kh_bins *b = &c->db->bins;
	const uint32_t *bin = c->word;

	for (size_t i = 0; i < c->n; i++) {
		const uint32_t n = kh_list_words(c->len[i]);

		for (uint32_t j = 0; j < n && c->len[i] != KH_LIST_OVER; j++)
			c->best[b->taxon[kh_bins_target(b, bin[j])]] = 0;
		bin += n;
	}
}

static bool is_rival(const kh_classifier *c, uint32_t taxon)
{
	return kh_rival(c->best[taxon], c->best[kh_tree_own_species(&c->tree, taxon)]);
}

/* The taxa that the decision asks for. */
static kh_extent taxa_asked_for(const kh_classifier *c, const kh_decision *d)
{
	kh_extent e = kh_extent_empty();

	for (size_t i = 0; i < c->n_touched; i++) {
		uint32_t taxon = c->touched[i];

		if (kh_decision_takes(d, c->h[taxon], is_rival(c, taxon)))
			e = kh_extent_add(e, taxon);
	}
	return e;
}

/* `windows`: h comes from windows, not from overpopulated features alone. */
static void decide(kh_classifier *c, bool windows)
{
	const uint32_t n = c->call.features;
	uint32_t h1 = 0;
	kh_decision d;

	for (size_t i = 0; i < c->n_touched; i++)
		h1 = c->h[c->touched[i]] > h1 ? c->h[c->touched[i]] : h1;
	d = kh_decision_begin(c->rule, h1, n, windows, c->only);
	while (d.ask != KH_ASK_NOTHING) {
		const bool rivals = d.ask == KH_ASK_RIVALS;

		if (rivals)
			mark_rivals(c);
		kh_decision_go_on(&d, &c->tree, taxa_asked_for(c, &d));
		if (rivals)
			unmark_rivals(c);
	}
	c->call.hits = h1 < n ? h1 : n;
	c->call.taxon = d.taxon;
}

/* --- candidates ------------------------------------------------------------------- */
static void note_candidates(kh_classifier *c, bool windows)
{
	kh_candidates *out = c->wanted++;
	uint32_t h1 = 0, h[KH_CANDIDATES];
	int n = 0;

	*out = kh_candidates_none();
	if (!windows)
		return;
	for (size_t i = 0; i < c->n_touched; i++)
		h1 = c->h[c->touched[i]] > h1 ? c->h[c->touched[i]] : h1;
	for (size_t i = 0; i < c->n_touched; i++) {
		const uint32_t x = c->touched[i], s = c->tree.species[x];

		if (!kh_candidate_near(c->h[x], h1, c->only))
			continue;
		if (s == KH_NO_TAXON || !kh_candidates_add(out, h, &n, s, c->h[x])) {
			*out = kh_candidates_none();
			return;
		}
	}
	for (int i = 0; i < n; i++)
		out->drop[i] = (uint8_t)(h1 - h[i]);
	if (c->only && c->top.first < c->db->bins.votes)
		out->bin = c->top.first;
}

/* The lowest taxon with the greatest h; of those of another species than `not`, unless that is
 * KH_NO_TAXON. */
static uint32_t best_taxon(const kh_classifier *c, uint32_t not)
{
	uint32_t best = KH_NO_TAXON, h = 0;

	for (size_t i = 0; i < c->n_touched; i++) {
		const uint32_t x = c->touched[i];

		if (not != KH_NO_TAXON &&
		    kh_second_group(&c->tree, x) == kh_second_group(&c->tree, not))
			continue;
		if (c->h[x] > h || (c->h[x] == h && x < best)) {
			best = x;
			h = c->h[x];
		}
	}
	return best;
}

static void note_second(kh_classifier *c, bool windows)
{
	const uint32_t best = windows ? best_taxon(c, KH_NO_TAXON) : KH_NO_TAXON;
	const uint32_t second = best != KH_NO_TAXON ? best_taxon(c, best) : best;

	*c->wanted++ = kh_candidates_second(second, second != KH_NO_TAXON ? c->h[second] : 0);
}

void kh_classifier_want(kh_classifier *c, kh_candidates *to, kh_places *places)
{
	c->wanted = to;
	c->places = places;
}

static void finish(kh_classifier *c)
{
	bool windows;

	add_votes(c);
	windows = c->n_touched > 0;
	count_over(c);
	if (windows)
		add_over(c);
	else
		over_only(c);
	forget_over(c);
	decide(c, windows);
	if (c->wanted && c->rule->candidates == KH_WANT_SECOND)
		note_second(c, windows);
	else if (c->wanted)
		note_candidates(c, windows);
	for (size_t i = 0; i < c->n_touched; i++)
		c->h[c->touched[i]] = 0;
	c->n_touched = 0;
}

/* --- segments that are asked ------------------------------------------------------ */
static void begin(kh_classifier *c, bool only)
{
	c->call = (kh_call) { .taxon = KH_NO_TAXON };
	c->n_found = 0;
	c->only = only;
	c->begun = true;
}

static int end(kh_classifier *c, kh_err *err)
{
	finish(c);
	c->begun = false;
	*c->to++ = c->call;
	c->number++;
	if (!c->distinct || c->call.taxon == KH_NO_TAXON)
		return KH_OK;
	return kh_distinct_add(c->distinct, c->call.taxon, c->found, c->n_found, err);
}

/* Counts the segments that have been asked for, and calls the fragments that end among them. */
static int settle(kh_classifier *c, const kh_asked *a, kh_answers *answers, kh_err *err)
{
	int rc = answers ? kh_lookup_answered(answers, c->db, a->key, a->n, &c->lists, err)
			 : kh_lookup(c->db, a->key, a->n, &c->lists, err);

	c->feature = a->key;
	c->len = c->lists.len;
	c->word = c->lists.word;
	for (size_t i = 0; i < a->n_segments && !rc; i++) {
		const kh_segment *s = &a->segment[i];

		if (!c->begun)
			begin(c, s->only);
		c->n = s->n;
		rc = kh_hits_segment(c, s->span, c->distinct != NULL, err);
		if (!rc && s->last)
			rc = end(c, err);
		c->feature += s->n;
		c->len += s->n;
		c->word += c->n_words;
	}
	return rc;
}

static int settle_ahead(kh_classifier *c, kh_err *err)
{
	int rc = settle(c, &c->ahead, NULL, err);

	c->ahead.n = c->ahead.n_segments = 0;
	return rc;
}

/* --- fragments -------------------------------------------------------------------- */
/* Asks for a segment whose features have been sampled. */
static int segment(kh_classifier *c, kh_asked *a, kh_segment s, kh_err *err)
{
	int rc = KH_OK;

	if (a == &c->ahead && a->n >= KH_TOGETHER)
		rc = settle_ahead(c, err);
	kh_hits_distinct(c);
	s.n = (uint32_t)c->n_key;
	return rc ? rc : kh_asked_add(a, c->key, s, err);
}

/* A record that is not one segment with its mate; `last`: of its fragment. */
static int long_record(kh_classifier *c, kh_asked *a, const kh_block *b, const kh_record *r,
		       bool last, kh_err *err)
{
	const uint64_t span = c->rule->max_span;
	kh_segment s = { .span = (uint32_t)(r->len < span ? r->len : span) };
	int rc = KH_OK;

	for (uint64_t at = 0; at < r->len && !rc; at += span) {
		c->n_key = 0;
		kh_hits_sample(c, b, r, at, at + span);
		s.last = last && at + span >= r->len;
		rc = segment(c, a, s, err);
	}
	return rc;
}

static int fragment(kh_classifier *c, kh_asked *a, const kh_block *const b[2],
		    const kh_record *const r[2], kh_err *err)
{
	const uint64_t span = c->rule->max_span, len = r[0]->len + (r[1] ? r[1]->len : 0);
	int rc = KH_OK;

	if (len > span) {
		for (int i = 0; i < 2 && r[i] && !rc; i++)
			rc = long_record(c, a, b[i], r[i], i == 1 || !r[1] || r[1]->len == 0, err);
		return rc;
	}
	c->n_key = 0;
	kh_hits_sample(c, b[0], r[0], 0, span);
	if (r[1])
		kh_hits_sample(c, b[1], r[1], 0, span);
	return segment(c, a, (kh_segment) { .span = (uint32_t)(r[1] ? span : len),
					    .only = true,
					    .last = true }, err);
}

static int ask(kh_classifier *c, const kh_job *job, kh_asked *a, kh_err *err)
{
	int rc = KH_OK;

	a->n = a->n_segments = 0;
	c->begun = false;
	for (size_t i = 0; i < job->n && !rc; i++) {
		const kh_block *b[2];
		const kh_record *r[2];

		kh_job_records(job, i, b, r);
		rc = fragment(c, a, b, r, err);
	}
	return rc;
}

/* The calls to come are those of a job. */
static void begin_job(kh_classifier *c, kh_call *call, kh_distinct *distinct)
{
	c->to = call;
	c->distinct = distinct;
	c->number = 0;
	if (c->places)
		c->places->n = 0;
}

int kh_classify_job(kh_classifier *c, const kh_job *job, kh_call *call, kh_distinct *distinct,
		    kh_err *err)
{
	int rc;

	begin_job(c, call, distinct);
	rc = ask(c, job, &c->ahead, err);
	return rc ? rc : settle_ahead(c, err);
}

/* --- in two steps ----------------------------------------------------------------- */
int kh_classify_ask(kh_classifier *c, const kh_job *job, kh_asked *a, kh_err *err)
{
	return ask(c, job, a, err);
}

int kh_classify_answer(kh_classifier *c, const kh_asked *a, kh_answers *answers, kh_call *call,
		       kh_distinct *distinct, kh_err *err)
{
	begin_job(c, call, distinct);
	return settle(c, a, answers, err);
}
