/* match.c - fragments laid along the text: features, look-ups, places; match.h */
#include <config.h>
#include "classify/match_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

int kh_matcher_new(kh_matcher **out, const kh_db *db, const kh_rule *rule, kh_err *err)
{
	kh_matcher *m = kh_array(1, sizeof *m, err);
	const size_t species = db->h->n_species;

	if (!m)
		return KH_ENOMEM;
	m->db = db;
	m->rule = rule;
	m->tree = kh_taxonomy_tree(db->tax);
	kh_match_least(db->h, m->least);
	m->here.of = kh_array(species, sizeof *m->here.of, err);
	m->sum.of = kh_array(species, sizeof *m->sum.of, err);
	m->best_of[0] = kh_array(species, sizeof *m->best_of[0], err);
	m->best_of[1] = kh_array(species, sizeof *m->best_of[1], err);
	if (!m->here.of || !m->sum.of || !m->best_of[0] || !m->best_of[1]) {
		kh_matcher_free(m);
		return KH_ENOMEM;
	}
	*out = m;
	return KH_OK;
}

void kh_matcher_free(kh_matcher *m)
{
	if (!m)
		return;
	free(m->segment);
	free(m->key);
	free(m->pos);
	kh_hit_lists_clear(&m->lists);
	free(m->place);
	free(m->here.v);
	free(m->here.of);
	free(m->sum.v);
	free(m->sum.of);
	free(m->best_of[0]);
	free(m->best_of[1]);
	free(m->found);
	free(m);
}

/* --- places ------------------------------------------------------------------------- */
static int add_place(kh_matcher *m, uint64_t number, uint32_t bin, kh_err *err)
{
	int rc;

	/* many features of a read find the same one */
	for (size_t i = m->n_place; i > 0 && i + 8 > m->n_place; i--)
		if (m->place[i - 1].number == number)
			return KH_OK;
	rc = kh_grow((void **)&m->place, &m->cap_place, m->n_place + 1, sizeof *m->place, err);
	if (!rc)
		m->place[m->n_place++] = (struct kh_spot) { .number = number, .bin = bin };
	return rc;
}

/* The k bases of a read from `at` on, as the text has them. */
static uint64_t bases_at(const kh_oriented *r, uint32_t at, uint32_t k)
{
	return kh_packed_bits(r->base, at, k);
}

/* A feature as it stands in a mate and in its reverse complement: k bases, and where they begin. */
struct feature {
	uint32_t mate, at[2];
	uint64_t bases[2], mask;
};

static struct feature feature_of(const kh_matcher *m, const struct kh_mates *s, uint32_t mate,
				 uint32_t pos)
{
	const uint32_t k = m->rule->sampling.k, back = s->mate[mate].len - k - pos;

	return (struct feature) { mate, { pos, back },
				  { bases_at(&m->read[mate][0], pos, k),
				    bases_at(&m->read[mate][1], back, k) }, kh_kmer_mask(k) };
}

enum { FIRST = 4 };

/* The low bit of each base of a bin where some bases begin as the feature does; `text` goes on
 * behind the bin. */
static uint32_t begin_alike(const struct feature *f, int strand, uint64_t text)
{
	uint64_t differ = 0;

	/* each of its first bases 32 times */
	for (int i = 0; i < FIRST; i++)
		differ |= text >> 2 * i ^ (f->bases[strand] >> 2 * i & 3) * KH_TEXT_LOW;
	return (uint32_t)(~(differ | differ >> 1) & KH_TEXT_LOW);
}

/* Does one of the first places of the mate have the feature in the bin?  Nearly all features of a
 * read lie on the place that the first one found. */
static bool on_known(const kh_matcher *m, const struct feature *f, uint32_t bin)
{
	const int64_t from = (int64_t)bin * KH_TEXT_WORD;
	const size_t n = m->n_place - m->first_place;

	for (size_t i = 0; i < n && i < KH_MATCH_KNOWN; i++) {
		const struct kh_spot *p = &m->place[m->first_place + i];
		const uint32_t strand = kh_place_strand(p);
		const int64_t at = kh_place_at(p) + f->at[strand];

		if (at >= from && at < from + KH_TEXT_WORD &&
		    (kh_text_bases(m->db->text, (uint64_t)at) & f->mask) == f->bases[strand])
			return true;
	}
	return false;
}

/* The places where the text of a bin has the feature. */
static int look(kh_matcher *m, const struct feature *f, uint32_t bin, kh_err *err)
{
	const int64_t from = (int64_t)bin * KH_TEXT_WORD;
	uint64_t text;
	uint32_t alike[2];
	int rc = KH_OK;

	if (on_known(m, f, bin))
		return KH_OK;
	text = kh_text_bases(m->db->text, (uint64_t)from);
	alike[0] = begin_alike(f, 0, text);
	alike[1] = begin_alike(f, 1, text);
	for (uint32_t any = alike[0] | alike[1]; any != 0 && !rc; any &= any - 1) {
		const uint32_t bit = any & (0 - any);
		const int64_t at = from + __builtin_ctz(any) / 2;
		const uint64_t here = kh_text_bases(m->db->text, (uint64_t)at) & f->mask;

		for (uint32_t strand = 0; strand < 2 && !rc; strand++)
			if (alike[strand] & bit && here == f->bases[strand])
				rc = add_place(m, kh_place_number(f->mate, strand,
								  at - f->at[strand]), bin, err);
	}
	return rc;
}

static int by_number(const void *a, const void *b)
{
	const struct kh_spot *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* Sorts the places, and leaves out those that were found again. */
static void sort_places(kh_matcher *m)
{
	struct kh_spot *p = m->place;
	size_t n = 0;

	if (m->n_place > 32) {
		qsort(p, m->n_place, sizeof *p, by_number);
	} else {
		for (size_t i = 1; i < m->n_place; i++) {
			const struct kh_spot x = p[i];
			size_t j = i;

			for (; j > 0 && p[j - 1].number > x.number; j--)
				p[j] = p[j - 1];
			p[j] = x;
		}
	}
	for (size_t i = 0; i < m->n_place; i++)
		if (n == 0 || p[n - 1].number != p[i].number)
			p[n++] = p[i];
	m->n_place = n;
}

kh_laid kh_match_laid(const kh_matcher *m, const struct kh_mates *s, const struct kh_spot *p)
{
	const uint32_t mate = kh_place_mate(p);
	const kh_db_target *t = &m->db->target[p->target];
	const uint64_t begin = (uint64_t)t->first_bin * KH_TEXT_WORD;

	return (kh_laid) { &m->read[mate][kh_place_strand(p)], s->mate[mate].len, m->db->text,
			   begin, begin + t->bases };
}

/* Compares all places; and the ends of those whose score is half of the best one's of their mate,
 * or more. */
static void fit_places(kh_matcher *m, const struct kh_mates *s)
{
	uint32_t most[2] = { 0, 0 };

	for (size_t i = 0; i < m->n_place; i++) {
		struct kh_spot *p = &m->place[i];
		uint32_t *best = &most[kh_place_mate(p)];

		p->target = kh_bins_target(&m->db->bins, p->bin);
		const kh_laid l = kh_match_laid(m, s, p);

		p->fit = kh_text_fit(&l, kh_place_at(p), 0, l.len);
		*best = p->fit.score > *best ? p->fit.score : *best;
	}
	for (size_t i = 0; i < m->n_place; i++) {
		struct kh_spot *p = &m->place[i];
		const kh_laid l = kh_match_laid(m, s, p);

		if (2 * p->fit.score >= most[kh_place_mate(p)])
			kh_text_fit_ends(&l, kh_place_at(p), &p->fit);
	}
}

/* --- segments ------------------------------------------------------------------------ */
/* The seeds of a mate, from number `from` on, whose words begin at *word. */
static int find_places(kh_matcher *m, const struct kh_mates *s, int mate, size_t from,
		       const uint32_t **word, kh_err *err)
{
	int rc = KH_OK;

	m->first_place = m->n_place;
	for (size_t i = from; i < from + s->mate[mate].seeds && !rc; i++) {
		const uint8_t len = m->lists.len[i];
		const uint32_t n = kh_list_words(len);

		if (n == 0)
			continue;
		const struct feature f = feature_of(m, s, (uint32_t)mate, m->pos[i]);

		for (uint32_t j = 0; j < n && len != KH_LIST_OVER && !rc; j++)
			if ((*word)[j] < m->db->bins.votes)
				rc = look(m, &f, (*word)[j], err);
		*word += n;
		if (m->distinct && !rc)
			rc = kh_grow((void **)&m->found, &m->cap_found, m->n_found + 1,
				     sizeof *m->found, err);
		if (m->distinct && !rc)
			m->found[m->n_found++] = m->key[i];
		m->call.found++;
	}
	return rc;
}

static void begin(kh_matcher *m)
{
	m->call = (kh_call) { .taxon = KH_NO_TAXON };
	m->n_found = 0;
	m->begun = true;
}

static int end(kh_matcher *m, kh_err *err)
{
	m->begun = false;
	if (UINT64_C(1000) * m->call.hits < (uint64_t)m->rule->confidence * m->call.features)
		m->call.taxon = KH_NO_TAXON;
	*m->to++ = m->call;
	if (!m->distinct || m->call.taxon == KH_NO_TAXON)
		return KH_OK;
	return kh_distinct_add(m->distinct, m->call.taxon, m->found, m->n_found, err);
}

static int settle_segment(kh_matcher *m, const struct kh_mates *s, size_t *seed,
			  const uint32_t **word, kh_err *err)
{
	int rc = KH_OK;

	if (!m->begun)
		begin(m);
	m->n_place = 0;
	for (int i = 0; i < 2 && !rc; i++) {
		const struct kh_mate *x = &s->mate[i];

		if (x->len > 0)
			kh_text_read(m->read[i], x->block->bases, x->block->amb, x->at, x->len);
		rc = find_places(m, s, i, *seed, word, err);
		*seed += x->seeds;
		m->call.features += x->len;
	}
	sort_places(m);
	fit_places(m, s);
	if (!rc)
		rc = kh_match_segment(m, s, err);
	if (rc || !s->last)
		return rc;
	if (!s->only)
		kh_match_long(m);
	return end(m, err);
}

/* Looks up the features of all segments that wait, and calls the fragments that end there. */
static int settle(kh_matcher *m, kh_err *err)
{
	const uint32_t *word;
	size_t seed = 0;
	int rc = kh_lookup(m->db, m->key, m->n_key, &m->lists, err);

	if (rc)
		return rc;
	word = m->lists.word;
	for (size_t i = 0; i < m->lists.n_words; i++)
		__builtin_prefetch(m->db->text + (word[i] < m->db->bins.votes ? word[i] : 0));
	for (size_t i = 0; i < m->n_segments && !rc; i++)
		rc = settle_segment(m, &m->segment[i], &seed, &word, err);
	m->n_segments = m->n_key = 0;
	return rc;
}

/* Samples a mate. */
static int add_seeds(kh_matcher *m, struct kh_mate *x, kh_err *err)
{
	const kh_sampling *k = &m->rule->sampling;
	const uint64_t starts = kh_sampling_starts(k, x->len);
	const kh_stretch stretch = { x->block->bases, x->block->amb, x->at, x->at + starts };
	const size_t n = m->n_key + (size_t)kh_sampling_bound(k, starts);
	int rc;

	if (starts == 0)
		return KH_OK;
	if ((rc = kh_grow((void **)&m->key, &m->cap_key, n, sizeof *m->key, err)) ||
	    (rc = kh_grow((void **)&m->pos, &m->cap_pos, n, sizeof *m->pos, err)))
		return rc;
	x->seeds = (uint32_t)kh_sampling_run(k, &stretch, m->key + m->n_key, m->pos + m->n_key);
	m->n_key += x->seeds;
	return KH_OK;
}

static int add_segment(kh_matcher *m, struct kh_mates s, kh_err *err)
{
	int rc = m->n_key >= KH_TOGETHER ? settle(m, err) : KH_OK;

	for (int i = 0; i < 2 && !rc; i++)
		if (s.mate[i].len > 0)
			rc = add_seeds(m, &s.mate[i], err);
	if (!rc)
		rc = kh_grow((void **)&m->segment, &m->cap_segment, m->n_segments + 1,
			     sizeof *m->segment, err);
	if (!rc)
		m->segment[m->n_segments++] = s;
	return rc;
}

/* --- fragments ----------------------------------------------------------------------- */
/* A record in parts that are about as long as each other; `last`: of its fragment. */
static int long_record(kh_matcher *m, const kh_block *b, const kh_record *r, bool last,
		       kh_err *err)
{
	const uint64_t n = (r->len + KH_MATCH_PIECE - 1) / KH_MATCH_PIECE;
	int rc = KH_OK;

	for (uint64_t i = 0; i < n && !rc; i++) {
		const uint64_t from = r->len * i / n, to = r->len * (i + 1) / n;
		const struct kh_mate part = { b, r->seq + from, (uint32_t)(to - from), 0 };

		rc = add_segment(m, (struct kh_mates) { .mate = { part },
						       .last = last && i + 1 == n }, err);
	}
	return rc;
}

static int fragment(kh_matcher *m, const kh_block *const b[2], const kh_record *const r[2],
		    kh_err *err)
{
	const uint64_t second = r[1] ? r[1]->len : 0;
	struct kh_mates s = { .only = true, .last = true };
	int rc = KH_OK;

	if (r[0]->len > KH_TEXT_SPAN || second > KH_TEXT_SPAN) {
		if (r[0]->len > 0)
			rc = long_record(m, b[0], r[0], second == 0, err);
		return rc || second == 0 ? rc : long_record(m, b[1], r[1], true, err);
	}
	s.mate[0] = (struct kh_mate) { b[0], r[0]->seq, (uint32_t)r[0]->len, 0 };
	if (r[1])
		s.mate[1] = (struct kh_mate) { b[1], r[1]->seq, (uint32_t)second, 0 };
	return add_segment(m, s, err);
}

int kh_match_job(kh_matcher *m, const kh_job *job, kh_call *call, kh_distinct *sk, kh_err *err)
{
	int rc = KH_OK;

	m->to = call;
	m->distinct = sk;
	m->begun = false;
	m->n_segments = m->n_key = 0;
	for (size_t i = 0; i < job->n && !rc; i++) {
		const kh_block *b[2];
		const kh_record *r[2];

		kh_job_records(job, i, b, r);
		rc = fragment(m, b, r, err);
	}
	return rc ? rc : settle(m, err);
}
