/* match.c - fragments compared with the text: segments, their seeds, look-ups in turns; match.h */
#include <config.h>
#include "classify/match_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

static void seeds_free(struct kh_seeds *s)
{
	free(s->key);
	free(s->pos);
}

static int seeds_room(struct kh_seeds *s, size_t more, kh_err *err)
{
	int rc = kh_grow((void **)&s->key, &s->cap_key, s->n + more, sizeof *s->key, err);

	return rc ? rc : kh_grow((void **)&s->pos, &s->cap_pos, s->n + more, sizeof *s->pos, err);
}

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
	if (!m->here.of || !m->sum.of || !m->best_of[0] || !m->best_of[1] ||
	    kh_places_new(m, err)) {
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
	seeds_free(&m->all);
	seeds_free(&m->ask);
	kh_seeds_found_clear(&m->bins);
	kh_places_free(m);
	free(m->here.v);
	free(m->here.of);
	free(m->sum.v);
	free(m->sum.of);
	free(m->best_of[0]);
	free(m->best_of[1]);
	free(m->had);
	free(m);
}

/* --- one segment --------------------------------------------------------------------- */
static void begin(kh_matcher *m)
{
	m->call = (kh_call) { .taxon = KH_NO_TAXON };
	m->n_had = 0;
	m->bases = 0;
	m->begun = true;
}

static int end(kh_matcher *m, size_t number, kh_err *err)
{
	m->begun = false;
	m->call.found = (uint32_t)m->n_had;
	if (UINT64_C(1000) * m->call.hits < (uint64_t)m->rule->confidence * m->call.features)
		m->call.taxon = KH_NO_TAXON;
	m->to[number] = m->call;
	if (!m->distinct || m->call.taxon == KH_NO_TAXON)
		return KH_OK;
	return kh_distinct_add(m->distinct, m->call.taxon, m->had, m->n_had, err);
}

/* Compares the mates of a segment where they could be best, and makes claims of that. */
static int make_claims(kh_matcher *m, const struct kh_mates *s, kh_err *err)
{
	const uint32_t slack = kh_match_slack(m, s);
	const struct kh_found *f = m->found;
	const kh_claim *best;
	bool more = false;
	int rc = KH_OK;

	for (uint32_t i = 0; i < 2 && !rc; i++)
		rc = kh_places_best(m, s, i, slack, err);
	if (!rc)
		rc = kh_match_claims(m, err);
	/* a species may be best by both mates, and by none of them */
	if (rc || f[0].best == 0 || f[1].best == 0 || !(best = kh_match_best(&m->here)))
		return rc;
	const int64_t score = (int64_t)best->score - slack;
	const int64_t from[2] = { score - f[1].best, score - f[0].best };

	for (uint32_t i = 0; i < 2 && !rc; i++)
		rc = kh_places_from(m, s, i, from[i], &more, err);
	if (rc || !more)
		return rc;
	kh_match_forget(&m->here);
	return kh_match_claims(m, err);
}

/* Could a place that has none of the seeds which were looked up be as good as the best one? */
static bool may_be_unseen(const kh_matcher *m, const struct kh_mates *s)
{
	const kh_claim *best = kh_match_best(&m->here);
	const int64_t score = best ? (int64_t)best->score - kh_match_slack(m, s) : 0;

	for (int i = 0; i < 2 && best; i++) {
		const int64_t most = (int64_t)s->mate[i].len - m->found[i].unseen;

		if (s->mate[i].len > 0 && score <= most + m->found[!i].best)
			return true;
	}
	return !best;
}

/* Compares a segment, the first of whose seeds that were looked up is number *seed.  *again: that
 * was not enough, and nothing is decided. */
static int settle_segment(kh_matcher *m, const struct kh_mates *s, size_t *seed, bool *again,
			  kh_err *err)
{
	const uint32_t n = s->mate[0].seeds + s->mate[1].seeds;
	int rc;

	m->n_place = 0;
	for (uint32_t i = 0; i < 2; i++) {
		const struct kh_mate *x = &s->mate[i];

		if (x->len > 0)
			kh_text_read(m->read[i], x->block->bases, x->block->amb, x->at, x->len);
		m->found[i].pos = m->ask.pos + *seed;
		kh_places_regions(m, s, i, *seed);
		*seed += x->asked;
	}
	rc = make_claims(m, s, err);
	*again = s->mate[0].asked + s->mate[1].asked < n && may_be_unseen(m, s);
	if (rc || *again) {
		kh_match_forget(&m->here);
		return rc;
	}
	if (!m->begun)
		begin(m);
	m->call.features += kh_places_kmers(m, s, 0) + kh_places_kmers(m, s, 1);
	m->bases += s->mate[0].len + s->mate[1].len;
	if (m->distinct)
		rc = kh_grow((void **)&m->had, &m->cap_had, m->n_had + n, sizeof *m->had, err);
	if (!rc)
		rc = kh_match_segment(m, s, err);
	if (rc || !s->last)
		return rc;
	if (!s->only)
		kh_match_long(m, s->number);
	return end(m, s->number, err);
}

/* --- segments that wait -------------------------------------------------------------- */
/* Looks up what is asked.  Segments for which that was not enough are the ones that stay. */
static int settle_asked(kh_matcher *m, kh_err *err)
{
	const uint64_t words = m->rule->sampling.stride / KH_TEXT_WORD;
	const size_t n = m->ask.n;
	size_t seed = 0, left = 0;
	int rc = kh_seeds_find(&m->db->seeds, m->ask.key, n, &m->bins, err);

	if (rc)
		return rc;
	for (size_t i = 0; n > 0 && i < m->bins.end[n - 1]; i++)
		if (m->bins.bin[i] != KH_SEED_MANY)
			__builtin_prefetch(m->db->text + m->bins.bin[i] * words);
	for (size_t i = 0; i < m->n_segments && !rc; i++) {
		bool again;

		rc = settle_segment(m, &m->segment[i], &seed, &again, err);
		if (again)
			m->segment[left++] = m->segment[i];
	}
	m->n_segments = left;
	m->ask.n = 0;
	return rc;
}

/* Asks for all seeds of a mate, or for those that begin behind the one before. */
static int ask_seeds(kh_matcher *m, struct kh_mate *x, bool all, kh_err *err)
{
	const uint32_t k = all ? 0 : m->rule->sampling.k;
	struct kh_seeds *to = &m->ask;
	uint32_t next = 0;
	int rc = seeds_room(to, x->seeds, err);

	x->asked = 0;
	for (size_t i = x->first; i < x->first + x->seeds && !rc; i++) {
		if (m->all.pos[i] < next)
			continue;
		next = m->all.pos[i] + k;
		to->key[to->n] = m->all.key[i];
		to->pos[to->n++] = m->all.pos[i];
		x->asked++;
	}
	return rc;
}

/* Calls the fragments that end in the segments that wait: by some of their seeds, and, where these
 * do not suffice, by all. */
static int settle(kh_matcher *m, kh_err *err)
{
	int rc = settle_asked(m, err);

	for (size_t i = 0; i < 2 * m->n_segments && !rc; i++)
		rc = ask_seeds(m, &m->segment[i / 2].mate[i % 2], true, err);
	if (!rc)
		rc = settle_asked(m, err);
	m->n_segments = m->all.n = 0;
	return rc;
}

/* Samples a mate. */
static int sample(kh_matcher *m, struct kh_mate *x, kh_err *err)
{
	const kh_sampling *k = &m->rule->sampling;
	const uint64_t starts = kh_sampling_starts(k, x->len);
	const kh_stretch stretch = { x->block->bases, x->block->amb, x->at, x->at + starts };
	int rc = seeds_room(&m->all, (size_t)kh_sampling_bound(k, starts), err);

	x->first = m->all.n;
	if (rc || starts == 0)
		return rc;
	x->seeds = (uint32_t)kh_sampling_run(k, &stretch, m->all.key + m->all.n,
					     m->all.pos + m->all.n);
	m->all.n += x->seeds;
	return KH_OK;
}

static int add_segment(kh_matcher *m, struct kh_mates s, kh_err *err)
{
	int rc = m->ask.n >= KH_TOGETHER ? settle(m, err) : KH_OK;

	for (int i = 0; i < 2 && !rc; i++) {
		if (s.mate[i].len == 0)
			continue;
		rc = sample(m, &s.mate[i], err);
		if (!rc)
			rc = ask_seeds(m, &s.mate[i], !s.only, err);
	}
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
		       size_t number, kh_err *err)
{
	const uint64_t n = (r->len + KH_MATCH_PIECE - 1) / KH_MATCH_PIECE;
	int rc = KH_OK;

	for (uint64_t i = 0; i < n && !rc; i++) {
		const uint64_t from = r->len * i / n, to = r->len * (i + 1) / n;
		const struct kh_mate part = { b, r->seq + from, (uint32_t)(to - from), 0, 0, 0 };

		rc = add_segment(m, (struct kh_mates) { .mate = { part },
						       .last = last && i + 1 == n,
						       .number = number }, err);
	}
	return rc;
}

/* A fragment of several segments: those of other ones are settled before, and its own behind it. */
static int long_fragment(kh_matcher *m, const kh_block *const b[2], const kh_record *const r[2],
			 size_t number, kh_err *err)
{
	const bool two = r[1] && r[1]->len > 0;
	int rc = settle(m, err);

	if (!rc && r[0]->len > 0)
		rc = long_record(m, b[0], r[0], !two, number, err);
	if (!rc && two)
		rc = long_record(m, b[1], r[1], true, number, err);
	return rc ? rc : settle(m, err);
}

static int fragment(kh_matcher *m, const kh_block *const b[2], const kh_record *const r[2],
		    size_t number, kh_err *err)
{
	const uint64_t second = r[1] ? r[1]->len : 0;
	struct kh_mates s = { .only = true, .last = true, .number = number };

	if (r[0]->len > (second > 0 ? KH_TEXT_SPAN : KH_MATCH_PIECE) || second > KH_TEXT_SPAN)
		return long_fragment(m, b, r, number, err);
	s.mate[0] = (struct kh_mate) { b[0], r[0]->seq, (uint32_t)r[0]->len, 0, 0, 0 };
	if (r[1])
		s.mate[1] = (struct kh_mate) { b[1], r[1]->seq, (uint32_t)second, 0, 0, 0 };
	return add_segment(m, s, err);
}

int kh_match_job(kh_matcher *m, const kh_job *job, kh_call *call, kh_candidates *wanted,
		 kh_distinct *sk, kh_err *err)
{
	int rc = KH_OK;

	m->to = call;
	m->wanted = wanted;
	m->distinct = sk;
	m->begun = false;
	m->call.found = (uint32_t)m->n_had;
	m->n_segments = m->all.n = m->ask.n = 0;
	for (size_t i = 0; i < job->n && !rc; i++) {
		const kh_block *b[2];
		const kh_record *r[2];

		kh_job_records(job, i, b, r);
		rc = fragment(m, b, r, i, err);
	}
	return rc ? rc : settle(m, err);
}
