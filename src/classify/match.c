/* match.c - fragments compared with the text: their segments, in turns; match.h */
#include <config.h>
#include "classify/match.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "classify/align_in.h"
#include "classify/match_in.h"
#include "classify/match_long.h"
#include "classify/match_strain.h"
#include "db/join.h"

/* Seeds that are looked up together, or a few more: so many that the memory has always something
 * to do, and so few that what they find is still in the cache when it is compared. */
enum { TOGETHER = 768 };

struct kh_matcher {
	const kh_rule *rule;
	kh_match_db db;
	uint32_t *guess;
	kh_asking_all waiting;          /* segments */
	/* the segment that is compared */
	kh_matching m;
	/* of a long fragment: sums of its parts by species, and the scores that they are made of */
	kh_sums sums;
	size_t cap_sum;
	kh_later parts;                 /* what these say, until the species is known */
	uint32_t n_parts;
	/* the fragment */
	kh_call call;
	uint64_t bases;
	bool sure;                      /* of a long one: it is decided by some of its parts; */
	kh_kept kept;                   /* if not, the species that the others are compared with */
	uint64_t *found;                /* if `distinct` is wanted: what note_keys notes */
	size_t n_found, found_cap;
	kh_match_results to;            /* of the job's fragments */
	/* where databases are parts of a collection (answer.h) */
	bool any;                       /* the index has seeds of the fragment */
	kh_answer answer;               /* of the fragment */
	kh_aligner *aligner;
};

/* --- its scratch --------------------------------------------------------------------- */
int kh_matcher_new(kh_matcher **out, const kh_db *db, const kh_rule *rule, kh_err *err)
{
	kh_matcher *m = kh_array(1, sizeof *m, err);

	if (!m)
		return KH_ENOMEM;
	m->rule = rule;
	kh_match_db_init(&m->db, db, rule);
	m->waiting.index = db->joined ? db->joined->index
				      : (kh_seed_joint) { .index = &m->db.seeds, .n = 1 };
	m->waiting.hidden = KH_NO_TAXON;
	m->guess = kh_array(KH_MATCH_GUESSES, sizeof *m->guess, err);
	m->sums.claims.of = kh_array(db->bins.n_species, sizeof *m->sums.claims.of, err);
	m->m.db = &m->db;
	if (!m->guess || !m->sums.claims.of ||
	    kh_matching_new(&m->m, err) || kh_aligner_new(&m->aligner, db, err)) {
		kh_matcher_free(m);
		return KH_ENOMEM;
	}
	kh_match_db_guess(&m->db, m->guess, db->h->bins);
	*out = m;
	return KH_OK;
}

void kh_matcher_free(kh_matcher *m)
{
	if (!m)
		return;
	free(m->guess);
	kh_asking_clear(&m->waiting);
	kh_matching_clear(&m->m);
	kh_claims_clear(&m->sums.claims);
	free(m->sums.sum);
	kh_later_clear(&m->parts);
	kh_aligner_free(m->aligner);
	free(m->found);
	free(m);
}

void kh_matcher_hide(kh_matcher *m, uint32_t species)
{
	m->waiting.hidden = species;
}

/* --- one segment --------------------------------------------------------------------- */
/* Begins a fragment.  What kh_asking_settled has put into the answer of one segment stays. */
static void begin(kh_matcher *m)
{
	m->answer.score = m->answer.level = 0;
	m->call = (kh_call) { .taxon = KH_NO_TAXON };
	m->n_found = 0;
	m->bases = 0;
	m->n_parts = 0;
	kh_later_forget(&m->parts);
	m->sure = false;
	m->kept = kh_kept_all();
	kh_aligner_forget(m->aligner);
}

static int end(kh_matcher *m, size_t number, kh_err *err)
{
	int rc;

	m->call.found = (uint32_t)m->n_found;
	m->answer.call = m->call;
	m->answer.bits |= (m->any ? KH_ANSWER_ANY : 0) |
			  (m->any && m->answer.score > 0 ? KH_ANSWER_PLACED : 0);
	if (m->to.answers)
		m->to.answers[number] = m->answer;
	if (!kh_call_is_confident(&m->call, m->rule->confidence))
		m->call.taxon = KH_NO_TAXON;
	if (m->call.taxon == KH_NO_TAXON)
		m->call.found = 0;
	m->to.call[number] = m->call;
	if (m->call.taxon == KH_NO_TAXON)
		return KH_OK;
	rc = kh_aligner_end(m->aligner, number, err);
	if (rc || !m->to.distinct)
		return rc;
	return kh_distinct_add(m->to.distinct, m->call.taxon, m->found, m->n_found, err);
}

/* Is a seed where a claim has the mate? */
static bool has_seed(const kh_matcher *x, const kh_segment *s, const kh_claim *c, uint32_t mate,
		     const kh_diagonals *lies, uint32_t pos)
{
	return kh_match_is_thin(&x->db)
		       ? kh_thin_has(&x->m, s, &x->m.place[c->place[mate]], pos)
		       : kh_diagonals_have_seed(&x->m, s, mate, lies, pos);
}

/* Notes the keys of the seeds that the text has where a claim has the mates: kh_call.found. */
static int note_keys(kh_matcher *x, const kh_segment *s, const kh_claim *c, kh_err *err)
{
	const size_t n = s->mate[0].seeds + s->mate[1].seeds;
	int rc = kh_grow((void **)&x->found, &x->found_cap, x->n_found + n, sizeof *x->found, err);

	for (uint32_t mate = 0; mate < 2 && !rc; mate++) {
		const kh_mate *a = &s->mate[mate];
		kh_diagonals lies;

		if (!(c->mates >> mate & 1))
			continue;
		lies = kh_claim_diagonals(&x->m, c, mate);
		for (size_t i = a->first_seed; i < a->first_seed + a->seeds; i++)
			if (has_seed(x, s, c, mate, &lies, x->waiting.all.pos[i]))
				x->found[x->n_found++] = x->waiting.all.key[i];
	}
	return rc;
}

/* The call of a fragment that is one segment. */
static void call(kh_matcher *x, const kh_segment *s, const kh_claim *best)
{
	const kh_matching *m = &x->m;

	const kh_beside beside = kh_beside_of(x->to.candidates, x->to.second, s->number);

	kh_beside_clear(beside);
	if (!best || s->mate[0].seeds + s->mate[1].seeds == 0)
		return;
	if (!kh_extent_any(m->crowd))
		kh_claims_give(&x->db, m->place, &m->here, s, best, beside);
	x->call.hits = best->hits;
	x->answer.score = best->score > 0 ? (uint32_t)best->score : 0;
	x->answer.level = (uint8_t)kh_log2(s->mate[0].seeds + s->mate[1].seeds);
	x->call.taxon = kh_match_taxon(&x->db, m->place, &m->here, s, best,
					m->crowd);
	x->call.taxon = kh_match_strain(m, s, best, x->call.taxon);
}

/* Adds up what species have in parts where sum `best` has some, and what its genus has. */
static void share_parts(kh_matcher *x, uint32_t best)
{
	const kh_claim *claim = x->sums.claims.v;
	const uint32_t genus = kh_species_genus(&x->db, claim[best].species_no);
	const kh_credit *c = x->parts.credit;
	const size_t n = x->parts.n_credit;
	kh_sum *sum = x->sums.sum;
	size_t end;

	for (size_t i = 0; i < n; i = end) {
		bool own = false, kin = false;

		for (end = i; end < n && c[end].part == c[i].part; end++) {
			own |= c[end].sum == best;
			kin |= kh_species_genus(&x->db, claim[c[end].sum].species_no) == genus;
		}
		for (size_t k = i; k < end && own; k++)
			sum[c[k].sum].shared += c[k].score;
		sum[best].kin += kin ? c[i].score : 0;
	}
}

/* The strain of sum `best`, by its parts. */
static kh_strain_poll poll_parts(kh_matcher *x, uint32_t best)
{
	return kh_later_poll(&x->parts, &x->m, best, x->sums.claims.v[best].species_no);
}

/* Do the parts that were compared first tell enough? */
static bool is_sure(kh_matcher *x)
{
	if (!kh_match_long_sure(&x->db, &x->sums, x->bases, x->call.kmers))
		return false;
	const kh_strain_poll p = poll_parts(x, kh_sums_best(&x->sums));
	return !kh_strain_poll_is_open(&p);
}

/* Counts the hits of sums that are asked for: of the best one, or of each that could be second. */
static void count_hits(kh_matcher *x, uint32_t best)
{
	kh_claims *c = &x->sums.claims;

	for (uint32_t i = 0; i < c->n && !kh_match_is_thin(&x->db); i++)
		if (i == best || x->to.second)
			c->v[i].hits = kh_later_hits(&x->parts, &x->db, i);
}

static void call_long(kh_matcher *x, size_t number)
{
	const uint32_t best = kh_sums_best(&x->sums);
	const kh_beside beside = kh_beside_of(x->to.candidates, x->to.second, number);
	const kh_claim *c;

	kh_beside_clear(beside);
	if (best == UINT32_MAX)
		return;
	share_parts(x, best);
	count_hits(x, best);
	c = &x->sums.claims.v[best];
	x->call.hits = c->hits;
	x->answer.score = (uint32_t)c->score;
	x->answer.level = KH_LEVELS - 1;
	kh_sums_give(&x->db, &x->sums, best, beside);
	kh_aligner_choose(x->aligner, c->species_no);
	x->call.taxon = kh_match_long_taxon(&x->db, &x->sums, best, x->bases);
	if (kh_match_may_be_strain(&x->db, c->species_no, x->call.taxon))
		x->call.taxon = poll_parts(x, best).taxon;
	kh_claims_forget(&x->sums.claims);
}

static int sums_room(kh_matcher *x, uint32_t more, kh_err *err)
{
	const uint32_t n = x->sums.claims.n + more;
	int rc = kh_claims_room(&x->sums.claims, n, err);

	return rc ? rc : kh_grow((void **)&x->sums.sum, &x->cap_sum, n, sizeof *x->sums.sum, err);
}

/* Adds a claim to the sum of its species. */
static int add_claim(kh_matcher *x, const kh_segment *s, const kh_claim *c,
		     const kh_part_best *best, kh_err *err)
{
	kh_credit credit = { .part = x->n_parts, .score = (uint32_t)c->score,
			     .strain = KH_NO_TAXON };

	kh_sums_add(&x->db, &x->sums, best, c, &credit.sum);
	if (!kh_match_is_thin(&x->db))
		kh_later_claims(&x->parts, c, credit.sum);
	return c->score < best->score
		       ? KH_OK : kh_later_credit(&x->parts, &x->m, s, c, &credit, err);
}

static int add_to_sums(kh_matcher *x, const kh_segment *s, kh_err *err)
{
	const kh_claims *here = &x->m.here;
	kh_part_best best = kh_part_best_none();
	bool strains = false;
	int rc = sums_room(x, here->n, err);

	for (uint32_t i = 0; i < here->n; i++)
		kh_part_see(&x->db, &best, here->v[i].species_no, here->v[i].score);
	for (uint32_t i = 0; i < here->n; i++)
		strains |= here->v[i].score == best.score &&
			   kh_species_has_strains(&x->db, here->v[i].species_no);
	if (!rc && !kh_match_is_thin(&x->db) && best.score > 0)
		rc = kh_later_keep(&x->parts, &x->m, s, strains, err);
	for (uint32_t i = 0; i < here->n && !rc; i++)
		if (here->v[i].score >= KH_MATCH_PART)
			rc = add_claim(x, s, &here->v[i], &best, err);
	x->n_parts++;
	return rc;
}

/* Makes a call of the claims of a segment, or adds them to the sums of its fragment. */
static int take_claims(kh_matcher *x, const kh_segment *s, kh_err *err)
{
	const kh_claim *best = s->whole || x->to.distinct ? kh_match_best(&x->m.here) : NULL;
	int rc = KH_OK;

	if (s->whole)
		begin(x);
	if (!x->sure) {
		x->call.kmers += kh_mate_kmers(&x->m, s, 0) + kh_mate_kmers(&x->m, s, 1);
		x->bases += s->mate[0].len + s->mate[1].len;
	}
	if (best && x->to.distinct)
		rc = note_keys(x, s, best, err);
	if (!rc && s->whole)
		call(x, s, best);
	else if (!rc && !x->sure)
		rc = add_to_sums(x, s, err);
	if (!rc)
		rc = kh_aligner_note(x->aligner, &x->m, s, err);
	return rc || !s->whole ? rc : end(x, s->number, err);
}

/* --- segments that wait -------------------------------------------------------------- */
/* Compares a segment whose anchors are known: of all its seeds, or of the early ones alone.
 * *again: these do not decide which place is best, so the segment stays open. */
static int compare(kh_matcher *x, kh_asking *asking, bool all_seeds, bool *again, kh_err *err)
{
	const kh_segment *s = &asking->s;
	const bool early_found = asking->early[0].bins + asking->early[1].bins > 0;
	kh_matching *m = &x->m;
	const bool nothing = kh_match_has_nothing(m, s, 0) || kh_match_has_nothing(m, s, 1);

	*again = true;
	/* what stays open for want of anchors needs regions for its answer only */
	if (!nothing || x->to.answers)
		kh_regions_make(m, s);
	if (x->to.answers)
		(all_seeds && early_found ? kh_asking_bounds_again : kh_asking_bounds)(asking, m);
	if (nothing || (!s->whole && kh_regions_pass_over(m, s, &x->kept)))
		return KH_OK;
	kh_regions_raise_lone(m, s);
	kh_claims_forget(&m->here);
	if (!s->whole)
		kh_text_see_nothing(m->seen, s->mate->amb, s->mate->at, s->mate->len);
	*again = kh_match_segment(m, s);
	if (!*again && (s->whole || kh_match_is_thin(&x->db)))
		kh_match_count_hits(m, s);
	if (!*again && x->to.answers && s->whole)
		kh_asking_settled(asking, m, all_seeds, &x->answer);
	return *again ? KH_OK : take_claims(x, s, err);
}

/* Compares the segments that wait by seeds that do not overlap, and those that stay open by all
 * seeds.  A fragment of one segment gets its call; for it `any` begins anew, for a long one it goes
 * on from segment to segment. */
static int settle(kh_matcher *m, kh_err *err)
{
	kh_asking_all *w = &m->waiting;
	size_t left = 0;
	int rc = kh_asking_look_up(w, &w->early, &m->db, err);
	bool again;

	for (size_t i = 0; i < w->n && !rc; i++) {
		m->any &= !w->v[i].s.whole;
		for (uint32_t mate = 0; mate < 2; mate++)
			m->any |= kh_asking_early_anchors(w, &w->v[i], mate, &m->m.found[mate]);
		rc = compare(m, &w->v[i], false, &again, err);
		if (again)
			w->v[left++] = w->v[i];
	}
	w->n = left;
	if (!rc)
		rc = kh_asking_ask_others(w, err);
	if (!rc)
		rc = kh_asking_look_up(w, &w->others, &m->db, err);
	for (size_t i = 0; i < left && !rc; i++) {
		m->any &= !w->v[i].s.whole;
		for (uint32_t mate = 0; mate < 2; mate++)
			m->any |= kh_asking_all_anchors(w, &w->v[i], mate, &m->m.found[mate]);
		rc = compare(m, &w->v[i], true, &again, err);
	}
	w->n = w->all.n = w->early.seeds.n = 0;
	return rc;
}

/* The seeds that do not overlap are asked for; or all, if the part of a longer record asks but
 * once. */
static int add_segment(kh_matcher *m, const kh_segment *s, kh_err *err)
{
	const kh_sampling *k = &m->rule->sampling;
	const uint32_t apart = kh_match_asks_all(&m->db, s) ? 0 : k->k;
	int rc = m->waiting.early.seeds.n >= TOGETHER ? settle(m, err) : KH_OK;

	return rc ? rc : kh_asking_add(&m->waiting, s, k, apart, err);
}

/* --- fragments ----------------------------------------------------------------------- */
/* Cuts a record into parts of about the same length, and adds those that are compared first, or the
 * others (kh_part_in_first_round). */
static int long_record(kh_matcher *m, const kh_block *b, const kh_record *r, bool first_round,
		       size_t number, kh_err *err)
{
	const uint64_t n = (r->len + KH_MATCH_PART_BASES - 1) / KH_MATCH_PART_BASES;
	int rc = KH_OK;

	for (uint64_t i = 0; i < n && !rc; i++) {
		const uint64_t from = r->len * i / n, to = r->len * (i + 1) / n;
		const kh_mate part = { b->bases, b->amb, r->seq + from, (uint32_t)(to - from), 0,
				       0, 0 };

		const kh_segment s = { .mate = { part }, .number = number };

		if (kh_part_in_first_round(i, n) == first_round)
			rc = add_segment(m, &s, err);
	}
	return rc;
}

/* The same of both records of a fragment. */
static int long_records(kh_matcher *m, const kh_block *const b[2], const kh_record *const r[2],
			bool first_round, size_t number, kh_err *err)
{
	int rc = KH_OK;

	for (int i = 0; i < 2 && !rc; i++)
		if (r[i])
			rc = long_record(m, b[i], r[i], first_round, number, err);
	return rc ? rc : settle(m, err);
}

/* Calls a fragment of several segments, when all fragments before it are settled.  If the first
 * segments decide, the others are compared only for alignments and distinct features. */
static int long_fragment(kh_matcher *m, const kh_block *const b[2], const kh_record *const r[2],
			 size_t number, kh_err *err)
{
	int rc = settle(m, err);

	begin(m);
	m->answer = (kh_answer) { .bits = 0 };
	m->any = false;
	if (!rc)
		rc = long_records(m, b, r, true, number, err);
	m->sure = is_sure(m);
	if (!m->sure)
		m->kept = kh_sums_kept(&m->sums);
	if (!rc && (!m->sure || m->to.distinct || kh_aligner_wanted(m->aligner)))
		rc = long_records(m, b, r, false, number, err);
	if (rc)
		return rc;
	call_long(m, number);
	return end(m, number, err);
}

static int fragment(kh_matcher *m, const kh_job *job, size_t number, kh_err *err)
{
	const kh_block *b[2];
	const kh_record *r[2];
	kh_segment s = { .whole = true, .number = number };

	kh_job_records(job, number, b, r);
	const uint64_t second = r[1] ? r[1]->len : 0;

	if (!kh_match_is_segment(r[0]->len, second))
		return long_fragment(m, b, r, number, err);
	s.mate[0] = (kh_mate) { b[0]->bases, b[0]->amb, r[0]->seq, (uint32_t)r[0]->len, 0, 0, 0 };
	if (r[1])
		s.mate[1] = (kh_mate) { b[1]->bases, b[1]->amb, r[1]->seq, (uint32_t)second, 0, 0,
					0 };
	return add_segment(m, &s, err);
}

static int begin_job(kh_matcher *m, const kh_job *job, const kh_match_results *to, kh_err *err)
{
	m->to = *to;
	m->db.want = to->candidates ? KH_WANT_CANDIDATES
		     : to->second   ? KH_WANT_SECOND
				    : KH_WANT_NONE;
	m->waiting.n = m->waiting.all.n = m->waiting.early.seeds.n = 0;
	kh_claims_forget(&m->sums.claims);      /* of a job that failed */
	return kh_aligner_begin(m->aligner, job, to->aligned, err);
}

int kh_match_job(kh_matcher *m, const kh_job *job, const kh_match_results *to, kh_err *err)
{
	int rc = begin_job(m, job, to, err);

	for (size_t i = 0; i < job->n && !rc; i++)
		rc = fragment(m, job, i, err);
	return rc ? rc : settle(m, err);
}

/* A fragment whose call is known. */
static int take_known(kh_matcher *m, const kh_call *call, size_t number, kh_err *err)
{
	begin(m);
	m->call = *call;
	return end(m, number, err);
}

int kh_match_job_known(kh_matcher *m, const kh_job *job, const kh_answer *known,
		       const kh_match_results *to, kh_err *err)
{
	int rc = begin_job(m, job, to, err);

	for (size_t i = 0; i < job->n && !rc; i++)
		rc = known[i].bits & KH_ANSWER_OPEN ? fragment(m, job, i, err)
						    : take_known(m, &known[i].call, i, err);
	return rc ? rc : settle(m, err);
}
