/* rule.c - fragments compared with translated ORFs: rule.h */
#include <config.h>
#include "translated/rule.h"

#include <stdlib.h>
#include "base/mem.h"
#include "translated/likeness.h"
#include "translated/votes.h"

enum { TOGETHER = 32 };         /* fragments */

/* A fragment's mates, as read and as reverse complements; or two parts of a long one, one behind
 * the other. */
struct fragment {
	size_t number;
	bool parts;
	uint32_t len[2];                /* 0: too short, or there is none */
	size_t first, end;              /* of its keys, then of its hits */
	kh_oriented read[2][2];
	bool turned[2];                 /* the second one has been made */
};

/* A key of a read: where it begins in the mate, on which strand; then where the section has it. */
struct hit {
	uint64_t place;
	uint32_t key;                   /* then its place's number */
	uint16_t pos;
	uint8_t mate, strand;
};

struct kh_translator {
	const kh_translated *t;
	bool compares;                  /* is it wanted what fragments are like? */
	struct fragment fragment[TOGETHER];
	size_t n;
	struct hit *key, *hit;          /* of the fragments */
	size_t n_keys, cap_keys, cap_hits;
	kh_translated_place *seen;      /* of a mate, that were compared */
	kh_translated_claim *claim;
	size_t cap_seen, cap_claims;
	uint32_t n_claims;
	kh_votes votes;                 /* of the last long fragment, number `voted` */
	size_t voted;
	kh_likeness voted_like;         /* of its parts that are ahead by most, by so much, */
	uint32_t voted_ahead;
	uint32_t voted_genus;           /*   of this genus, by its place in the section */
	kh_translated_call *call;
	size_t n_calls, cap_calls;
	const kh_letters_by *by;
	kh_letter_keys keys;
	uint8_t letter[KH_LETTERS_ROOM];        /* of a mate, */
	uint8_t reverse[32 + KH_LETTERS_ROOM];  /* and of its other strand, from the 32nd on */
};

static_assert(KH_TEXT_SPAN <= KH_LETTERS_MOST, "a mate is sampled at once");
static_assert(KH_TRANSLATED_RUN_LONG <= KH_LETTERS_ROW, "rows are found");

int kh_translator_new(kh_translator **out, const kh_translated *t, kh_err *err)
{
	kh_translator *r = kh_array(1, sizeof *r, err);

	if (!r)
		return KH_ENOMEM;
	r->t = t;
	r->by = kh_letters_best();
	*out = r;
	return KH_OK;
}

void kh_translator_free(kh_translator *r)
{
	if (!r)
		return;
	free(r->key);
	free(r->hit);
	free(r->seen);
	free(r->claim);
	kh_votes_clear(&r->votes);
	free(r->call);
	free(r);
}

void kh_translator_compare(kh_translator *r, bool wanted)
{
	r->compares = wanted;
}

static int settle(kh_translator *r, kh_err *err);

/* --- keys ----------------------------------------------------------------------------- */
/* Adds the keys of one strand of a mate that lie in runs of enough codons. */
static int add_strand(kh_translator *r, struct hit like, kh_err *err)
{
	const uint32_t len = r->fragment[r->n].len[like.mate], n = len - 2, k = r->t->head->k;
	uint64_t at[KH_LETTERS_WORDS + 1];
	int rc;

	r->by->sample(&r->keys, k, 3, like.strand ? r->reverse + 32 : r->letter, n);
	kh_letters_rows(&r->keys, n, kh_translated_run(len), k, at);
	rc = KH_GROW(r->key, r->cap_keys, r->n_keys + n, err);
	for (uint32_t w = 0; 64 * w < n && !rc; w++)
		for (uint64_t x = at[w] & r->keys.kept[w]; x; x &= x - 1) {
			const uint32_t i = 64 * w + (uint32_t)__builtin_ctzll(x);

			like.key = kh_letters_key(&r->keys, k, 3, i);
			like.pos = (uint16_t)i;
			__builtin_prefetch(&r->t->line[kh_translated_line_of(r->t, like.key)]);
			r->key[r->n_keys++] = like;
		}
	return rc;
}

/* Adds two mates, or parts, that are short enough. */
static int add_two(kh_translator *r, const kh_translated_read mate[2], size_t number, bool parts,
		   kh_err *err)
{
	struct fragment *f;
	int rc = r->n == TOGETHER ? settle(r, err) : KH_OK;

	if (rc)
		return rc;
	if (r->n == 0)
		r->n_keys = 0;
	f = &r->fragment[r->n];
	f->number = number;
	f->parts = parts;
	for (uint32_t i = 0; i < 2 && !rc; i++) {
		const kh_translated_read *m = &mate[i];

		f->len[i] = m->len < KH_TRANSLATED_SHORTEST ? 0 : (uint32_t)m->len;
		if (f->len[i] == 0)
			continue;
		f->turned[i] = false;
		kh_text_take(&f->read[i][0], m->bases, m->amb, m->at, f->len[i]);
		r->by->of_read(f->read[i][0].base, f->len[i], r->letter, r->reverse + 32);
		kh_letters_hide(f->read[i][0].unknown, f->len[i], r->letter, r->reverse + 32);
		for (uint8_t strand = 0; strand < 2 && !rc; strand++)
			rc = add_strand(r, (struct hit) { .mate = (uint8_t)i, .strand = strand },
					err);
	}
	f->end = r->n_keys;
	r->n += !rc;
	return rc;
}

/* Makes hits of keys: where the section has them, which may be at some places.  Those that it does
 * not have go. */
static int look_up(kh_translator *r, kh_err *err)
{
	size_t n = 0, i = 0;
	int rc = KH_OK;

	for (size_t j = 0; j < r->n; j++) {
		struct fragment *f = &r->fragment[j];

		f->first = n;
		for (; i < f->end && !rc; i++) {
			uint32_t found, place;

			place = kh_translated_look_up(r->t, r->key[i].key, &found);
			if (found == 0)
				continue;
			rc = KH_GROW(r->hit, r->cap_hits, n + found, err);
			for (uint32_t x = 0; x < found && !rc; x++) {
				r->hit[n] = r->key[i];
				r->hit[n++].key = place + x;
			}
			__builtin_prefetch(r->t->place +
					   place * (uint64_t)r->t->head->bits / 8);
		}
		f->end = n;
	}
	for (i = 0; i < n && !rc; i++) {
		const uint64_t place = kh_translated_at(r->t, r->hit[i].key);

		__builtin_prefetch(&r->t->text[place / 2 / KH_TEXT_WORD]);
		r->hit[i].place = place;
	}
	return rc;
}

/* --- comparisons ---------------------------------------------------------------------- */
/* A mate as it lies on a strand. */
static const kh_oriented *oriented(struct fragment *f, uint32_t mate, uint32_t strand)
{
	if (strand && !f->turned[mate])
		kh_text_turn(&f->read[mate][1], &f->read[mate][0], f->len[mate]);
	f->turned[mate] |= strand;
	return &f->read[mate][strand];
}

/* Compares a mate at a place, and notes how well that fits the genus. */
static void compare(kh_translator *r, struct fragment *f, uint32_t mate, kh_translated_place p)
{
	const kh_oriented *o = oriented(f, mate, p.strand);

	kh_translated_compare(r->t, o, f->len[mate], &p);
	if (kh_translated_near(&p) > 0)
		kh_translated_claim_add(r->t, r->claim, &r->n_claims, UINT32_MAX, mate, &p);
}

/* Compares a fragment wherever its keys lie, once each. */
static int make_claims(kh_translator *r, struct fragment *f, kh_err *err)
{
	const size_t n = f->end - f->first;
	size_t n_seen = 0;
	int rc = kh_grow((void **)&r->seen, &r->cap_seen, n, sizeof *r->seen, err);

	if (!rc)
		rc = kh_grow((void **)&r->claim, &r->cap_claims, n, sizeof *r->claim, err);
	r->n_claims = 0;
	for (size_t i = f->first; i < f->end && !rc; i++) {
		const struct hit *h = &r->hit[i];
		const kh_translated_place p =
			kh_translated_lay(r->t, f->len[h->mate], h->strand, h->pos, h->place);
		size_t j = 0;

		if (i > f->first && h->mate != h[-1].mate)
			n_seen = 0;
		while (j < n_seen && !kh_translated_same(&r->seen[j], &p))
			j++;
		if (j < n_seen)
			continue;
		r->seen[n_seen++] = p;
		compare(r, f, h->mate, p);
	}
	return rc;
}

/* Seeks a mate of the best genus beside the other one. */
static void seek_mate(const kh_translator *r, struct fragment *f, kh_translated_claim *c)
{
	for (uint32_t i = 0; i < 2; i++) {
		kh_translated_beside b;
		uint32_t differ;

		if (!kh_translated_seek(r->t, c, f->len, i, f->parts, &b))
			continue;
		const kh_oriented *o = oriented(f, i, b.place.strand);
		const kh_laid l = kh_translated_laid(r->t, o, f->len[i], b.place.stretch);

		b.place.at = (int64_t)kh_text_nearest(&l, (uint64_t)b.from, (uint64_t)b.to,
						      &differ);
		kh_translated_fit(r->t, o, f->len[i], &b.place);
		if (kh_translated_score_of(&b.place) > kh_translated_score_of(&c->best[i]))
			c->best[i] = b.place;
		return;
	}
}

/* --- likeness ------------------------------------------------------------------------- */
/* A key that has led a mate to place p; or NULL: it was sought there. */
static const struct hit *key_of(const kh_translator *r, const struct fragment *f, uint32_t mate,
				const kh_translated_place *p)
{
	for (size_t i = f->first; i < f->end; i++) {
		const struct hit *h = &r->hit[i];
		kh_translated_place q;

		if (h->mate != mate)
			continue;
		q = kh_translated_lay(r->t, f->len[mate], h->strand, h->pos, h->place);
		if (kh_translated_same(&q, p))
			return h;
	}
	return NULL;
}

/* What a fragment is like, by its places of a genus. */
static kh_likeness likeness(const kh_translator *r, struct fragment *f,
			    const kh_translated_claim *c)
{
	const kh_translated_place *better =
		&c->best[kh_translated_near(&c->best[1]) > kh_translated_near(&c->best[0])];
	kh_likeness l = { .at = (uint64_t)(better->at + better->from), .said = KH_NO_TAXON,
			  .stretch = better->stretch };

	for (uint32_t m = 0; m < 2; m++) {
		const kh_translated_place *p = &c->best[m];
		const struct hit *h = p->matches > 0 ? key_of(r, f, m, p) : NULL;

		if (h)
			kh_likeness_add(&l, r->t, p,
					&(kh_read_frame) { oriented(f, m, h->strand), f->len[m],
							   h->strand, h->pos });
	}
	return l;
}

/* --- calls ---------------------------------------------------------------------------- */
/* What a fragment is most like, by its score and by how near it is: genera by their places in the
 * section, and by how much each is ahead of the next one, and of another family. */
struct ranked {
	uint32_t genus, ahead;          /* KH_NO_TAXON: none */
	uint32_t near_genus, near_ahead;
	kh_likeness like;               /* of parts the stretch and codons only */
};

static const kh_likeness none = { .said = KH_NO_TAXON, .stretch = KH_NO_STRETCH_LIKE };

/* The claim that tells what a fragment is like, of which this is said, or NULL. */
static const kh_translated_claim *telling(const kh_translator *r, uint32_t said,
					  const kh_translated_claim *best)
{
	const kh_translated_claim *c = r->claim;

	if (!kh_is_graded(said))
		return said == KH_NO_TAXON ? NULL : best;
	if (kh_is_weak(said))
		return NULL;
	while (c->genus != kh_graded_place(said))
		c++;
	return c;
}

static struct ranked rank(kh_translator *r, struct fragment *f)
{
	struct ranked x = { KH_NO_TAXON, 0, KH_NO_TAXON, 0, none };
	const uint32_t n = r->n_claims;
	kh_translated_claim *best;
	uint32_t second, far, nearest;

	if (n == 0)
		return x;
	best = &r->claim[kh_translated_best(r->claim, n, &second)];
	if (f->parts || !kh_translated_enough(r->t, best, second))
		seek_mate(r, f, best);
	x.genus = best->genus;
	x.ahead = kh_translated_sum(best) - second;
	if (f->parts) {
		nearest = kh_translated_nearest(r->t, r->claim, n, &far);
		const int32_t kinship =
			kh_translated_kinship(r->t, r->claim, n, nearest, f->len, true);
		const uint32_t ahead = kh_translated_nearness(&r->claim[nearest]) - far;

		x.near_genus = r->claim[nearest].genus;
		x.near_ahead = kinship < 0 ? 0 : (uint32_t)kinship;
		x.near_ahead = x.near_ahead < ahead ? x.near_ahead : ahead;
		if (r->compares)
			x.like = likeness(r, f, best);
	} else {
		const uint32_t said = kh_translated_call_of(
			r->t, r->claim, n, (uint32_t)(best - r->claim), second, f->len);
		const kh_translated_claim *c = r->compares ? telling(r, said, best) : NULL;

		x.like = c ? likeness(r, f, c) : none;
		x.like.said = said;
	}
	return x;
}

static int add_call(kh_translator *r, size_t number, kh_likeness like, kh_err *err)
{
	int rc = kh_grow((void **)&r->call, &r->cap_calls, r->n_calls + 1, sizeof *r->call, err);

	if (!rc)
		r->call[r->n_calls++] = (kh_translated_call) { number, like };
	return rc;
}

/* The parts of the last long fragment were all. */
static int end_votes(kh_translator *r, kh_err *err)
{
	kh_likeness like = none;
	uint32_t said;

	if (r->votes.pairs == 0)
		return KH_OK;
	said = kh_votes_end(&r->votes, r->t);
	if (said != KH_NO_TAXON && r->voted_ahead > 0 &&
	    (said == r->t->genus[r->voted_genus].called ||
	     said == kh_translated_family(r->t, r->voted_genus)))
		like = r->voted_like;
	like.said = said;
	r->voted_ahead = 0;
	return add_call(r, r->voted, like, err);
}

static int add_ranked(kh_translator *r, const struct fragment *f, struct ranked x, kh_err *err)
{
	int rc = r->voted == f->number ? KH_OK : end_votes(r, err);

	if (rc)
		return rc;
	if (!f->parts)
		return add_call(r, f->number, x.like, err);
	r->voted = f->number;
	r->votes.pairs++;
	if (x.ahead > r->voted_ahead) {
		r->voted_ahead = x.ahead;
		r->voted_like = x.like;
		r->voted_genus = x.genus;
	}
	rc = kh_votes_add(&r->votes, x.genus, x.ahead, 0, err);
	return rc ? rc : kh_votes_add(&r->votes, x.near_genus, 0, x.near_ahead, err);
}

/* Calls what has been added, but a long fragment of which there may be more. */
static int settle(kh_translator *r, kh_err *err)
{
	int rc = look_up(r, err);

	for (size_t i = 0; i < r->n && !rc; i++) {
		struct fragment *f = &r->fragment[i];

		rc = make_claims(r, f, err);
		if (!rc)
			rc = add_ranked(r, f, rank(r, f), err);
	}
	r->n = 0;
	return rc;
}

/* --- what is asked ---------------------------------------------------------------------- */
/* The part of a read from base `from` on. */
static kh_translated_read part(const kh_translated_read *m, uint64_t from)
{
	const uint64_t left = m->len > from ? m->len - from : 0;

	return (kh_translated_read) { m->bases, m->amb, m->at + from,
				      left < KH_TRANSLATED_PART ? left : KH_TRANSLATED_PART };
}

int kh_translator_add(kh_translator *r, const kh_translated_read mate[2], size_t number,
		      kh_err *err)
{
	int rc = KH_OK;

	if (mate[0].len <= KH_TEXT_SPAN && mate[1].len <= KH_TEXT_SPAN)
		return add_two(r, mate, number, false, err);
	for (int i = 0; i < 2; i++)
		for (uint64_t at = 0; at < mate[i].len && !rc; at += 2 * KH_TRANSLATED_PART) {
			const uint64_t next = at + KH_TRANSLATED_PART;
			const kh_translated_read two[2] = { part(&mate[i], at),
							    part(&mate[i], next) };

			rc = add_two(r, two, number, true, err);
		}
	return rc;
}

int kh_translator_settle(kh_translator *r, const kh_translated_call **call, size_t *n, kh_err *err)
{
	int rc = settle(r, err);

	if (!rc)
		rc = end_votes(r, err);
	*call = r->call;
	*n = r->n_calls;
	r->n_calls = 0;
	return rc;
}

void kh_translator_forget(kh_translator *r)
{
	r->n = r->n_keys = r->n_calls = 0;
	r->votes.n = r->votes.pairs = 0;
	r->voted_ahead = 0;
}
