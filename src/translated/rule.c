/* rule.c - fragments compared with translated stretches: rule.h */
#include <config.h>
#include "translated/rule.h"

#include <stdlib.h>
#include "base/mem.h"
#include "taxonomy/tree.h"
#include "text/fit.h"
#include "translated/votes.h"

enum {
	TOGETHER = 32,          /* fragments */
	RUN = 25,               /* codons of a read without a stop, */
	RUN_LONG = 33,          /* and of one of so many bases, which has enough of these */
	LONG = 150,
	ALIKE = 48,             /* of 100 bases must match for a comparison to count */
	SURE = 40,              /* the score of a mate beside which the other one is sought, */
	BESIDE = 400,           /* and so many bases away at most */
	PIECE = 150,            /* bases of a long read, of which two are like mates, */
	ASIDE = 8               /* but lie on one strand, so many bases at most from each other */
};

/* A fragment's mates, as read and as reverse complements; or two pieces of a long one, one behind
 * the other. */
struct fragment {
	size_t number;
	bool pieces;
	uint32_t len[2];
	size_t first, end;              /* of its keys */
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

/* How well a genus fits a fragment: the best place of each mate. */
struct claim {
	uint32_t genus;
	struct place {
		const kh_translated_part *part;
		uint32_t score, strand;
		int64_t at;
	} best[2];
};

struct kh_translator {
	const kh_translated *t;
	struct fragment fragment[TOGETHER];
	size_t n;
	struct hit *hit;
	size_t n_hits, cap_hits;
	int64_t *seen;                  /* places of a mate that were compared, and strands */
	struct claim *claim;
	size_t cap_seen, cap_claims, n_claims;
	kh_votes votes;                /* of the last long fragment, number `voted` */
	size_t voted;
	kh_translated_call *call;
	size_t n_calls, cap_calls;
	const kh_letters_by *by;
	kh_letter_keys keys;
	uint8_t letter[KH_LETTERS_ROOM];        /* of a mate, */
	uint8_t reverse[32 + KH_LETTERS_ROOM];  /* and of its other strand, from the 32nd on */
};

static_assert(KH_TEXT_SPAN <= KH_LETTERS_MOST, "a mate is sampled at once");
static_assert(RUN_LONG <= KH_LETTERS_ROW, "rows are found");

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
	free(r->hit);
	free(r->seen);
	free(r->claim);
	kh_votes_clear(&r->votes);
	free(r->call);
	free(r);
}

uint32_t kh_translated_score(uint32_t matches, uint32_t columns)
{
	return 7 * matches > 5 * columns ? 7 * matches - 5 * columns : 0;
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
	kh_letters_rows(&r->keys, n, len < LONG ? RUN : RUN_LONG, k, at);
	rc = kh_grow((void **)&r->hit, &r->cap_hits, r->n_hits + n, sizeof *r->hit, err);
	for (uint32_t w = 0; 64 * w < n && !rc; w++)
		for (uint64_t x = at[w] & r->keys.kept[w]; x; x &= x - 1) {
			const uint32_t i = 64 * w + (uint32_t)__builtin_ctzll(x);

			like.key = kh_letters_key(&r->keys, k, 3, i);
			like.pos = (uint16_t)i;
			__builtin_prefetch(&r->t->line[kh_translated_line_of(r->t, like.key)]);
			r->hit[r->n_hits++] = like;
		}
	return rc;
}

/* Adds two mates, or pieces, that are short enough. */
static int add_two(kh_translator *r, const kh_translated_read mate[2], size_t number, bool pieces,
		   kh_err *err)
{
	struct fragment *f;
	int rc = r->n == TOGETHER ? settle(r, err) : KH_OK;

	if (rc)
		return rc;
	if (r->n == 0)
		r->n_hits = 0;
	f = &r->fragment[r->n];
	f->number = number;
	f->pieces = pieces;
	f->first = r->n_hits;
	for (uint32_t i = 0; i < 2 && !rc; i++) {
		const kh_translated_read *m = &mate[i];

		f->len[i] = (uint32_t)m->len;
		if (f->len[i] < 3 * RUN)
			continue;
		f->turned[i] = false;
		kh_text_take(&f->read[i][0], m->bases, m->amb, m->at, f->len[i]);
		r->by->of_read(f->read[i][0].base, f->len[i], r->letter, r->reverse + 32);
		kh_letters_hide(f->read[i][0].unknown, f->len[i], r->letter, r->reverse + 32);
		for (uint8_t strand = 0; strand < 2 && !rc; strand++)
			rc = add_strand(r, (struct hit) { .mate = (uint8_t)i, .strand = strand },
					err);
	}
	f->end = r->n_hits;
	r->n += !rc;
	return rc;
}

/* The base at which a place's first codon begins, in the direction in which it is read. */
static uint64_t base_of(const kh_translated *t, uint64_t place)
{
	return t->head->codons > 0 ? 3 * place : place / 2;
}

/* Makes hits of keys: where the section has them. Those that it does not have go. */
static void look_up(kh_translator *r)
{
	size_t n = 0, i = 0;

	for (size_t j = 0; j < r->n; j++) {
		struct fragment *f = &r->fragment[j];

		f->first = n;
		for (; i < f->end; i++) {
			struct hit h = r->hit[i];
			const uint32_t place = kh_translated_look_up(r->t, h.key);

			if (place == UINT32_MAX)
				continue;
			__builtin_prefetch(r->t->place + place * (uint64_t)r->t->head->bits / 8);
			h.key = place;
			r->hit[n++] = h;
		}
		f->end = n;
	}
	r->n_hits = n;
	for (i = 0; i < n; i++) {
		r->hit[i].place = kh_translated_at(r->t, r->hit[i].key);
		__builtin_prefetch(&r->t->text[base_of(r->t, r->hit[i].place) / KH_TEXT_WORD]);
	}
}

/* --- comparisons ---------------------------------------------------------------------- */
/* Do enough bases of a read match the text?  Where it hangs over an end, that is not asked. */
static bool alike(const kh_translated *t, const kh_oriented *o, uint32_t len, int64_t at)
{
	uint32_t differ = 0;

	if (at < 0 || (uint64_t)at + len > t->bases)
		return true;
	for (uint32_t i = 0; i < len; i += 32) {
		const uint32_t n = len - i < 32 ? len - i : 32;
		const uint64_t here = kh_text_bases(t->text, (uint64_t)at + i);
		const uint64_t x = kh_text_differ(o->base[i / 32], here) | o->unknown[i / 32];

		differ += kh_text_count(x & kh_text_first(n));
	}
	return 100 * (len - differ) >= ALIKE * len;
}

/* A mate as it lies on a strand. */
static const kh_oriented *oriented(struct fragment *f, uint32_t mate, uint32_t strand)
{
	if (strand && !f->turned[mate])
		kh_text_turn(&f->read[mate][1], &f->read[mate][0], f->len[mate]);
	f->turned[mate] |= strand;
	return &f->read[mate][strand];
}

static bool better(const struct place *p, const struct place *than)
{
	if (p->score != than->score)
		return p->score > than->score;
	return p->strand != than->strand ? p->strand < than->strand : p->at < than->at;
}

static kh_laid laid(const kh_translated *t, const kh_oriented *o, uint32_t len,
		    const kh_translated_part *part)
{
	return (kh_laid) { o, len, t->text, part->begin, part->end };
}

/* Compares a mate at a place of a part, and notes how well that fits the genus. */
static void compare(kh_translator *r, struct fragment *f, uint32_t mate, struct place p)
{
	const kh_oriented *o = oriented(f, mate, p.strand);
	const uint32_t len = f->len[mate], genus = p.part->genus;
	size_t i = 0;

	if (genus == KH_NO_TAXON || !alike(r->t, o, len, p.at))
		return;
	const kh_laid l = laid(r->t, o, len, p.part);
	const kh_alignment fit = kh_text_fit(&l, p.at, 0, len);

	p.score = kh_translated_score(fit.matches, fit.columns);
	if (p.score == 0)
		return;
	while (i < r->n_claims && r->claim[i].genus != genus)
		i++;
	if (i == r->n_claims)
		r->claim[r->n_claims++] = (struct claim) { .genus = genus };
	if (better(&p, &r->claim[i].best[mate]))
		r->claim[i].best[mate] = p;
}

/* How a mate lies by one of its keys. */
static struct place lay(const kh_translated *t, const struct fragment *f, const struct hit *h)
{
	const uint64_t base = base_of(t, h->place);
	const uint32_t down = t->head->codons > 0 ? 0 : h->place & 1;
	const uint32_t before = down ? f->len[h->mate] - 1 - h->pos : h->pos;

	return (struct place) { .part = kh_translated_part_of(t, base),
				.strand = h->strand ^ down,
				.at = (int64_t)base - (int64_t)before };
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
		const struct place p = lay(r->t, f, h);
		const int64_t seen = 2 * p.at + p.strand;
		size_t j = 0;

		if (i > f->first && h->mate != h[-1].mate)
			n_seen = 0;
		while (j < n_seen && r->seen[j] != seen)
			j++;
		if (j < n_seen)
			continue;
		r->seen[n_seen++] = seen;
		compare(r, f, h->mate, p);
	}
	return rc;
}

/* Where the first base of a mate may be beside the other one, which fits: from .. to; on the other
 * strand, but a piece on the same one. */
static void find_beside(const struct fragment *f, int mate, const struct place *sure, int64_t *from,
			int64_t *to)
{
	const bool before = (mate == 0) != (sure->strand == 1);
	const int64_t piece = before ? sure->at - f->len[mate] : sure->at + f->len[1 - mate];

	*from = f->pieces ? piece - ASIDE : sure->strand ? sure->at - BESIDE : sure->at;
	*to = f->pieces ? piece + ASIDE : sure->strand ? sure->at : sure->at + BESIDE;
}

/* Seeks a mate that fits a genus badly beside the one that fits it well: it may have no key
 * there. */
static void seek_mate(const kh_translator *r, struct fragment *f, struct claim *c)
{
	for (int i = 0; i < 2; i++) {
		const struct place *sure = &c->best[1 - i];
		struct place p = { .part = sure->part,
				   .strand = f->pieces ? sure->strand : 1 - sure->strand };
		int64_t lo, hi;
		uint32_t differ;

		if (sure->score < SURE || c->best[i].score >= SURE || f->len[i] < 3 * RUN)
			continue;
		const kh_laid l = laid(r->t, oriented(f, (uint32_t)i, p.strand), f->len[i],
				       sure->part);
		const int64_t last = (int64_t)l.end - l.len;

		find_beside(f, i, sure, &lo, &hi);
		lo = lo < (int64_t)l.begin ? (int64_t)l.begin : lo;
		hi = hi > last ? last : hi;
		if (lo > hi)
			continue;
		p.at = (int64_t)kh_text_nearest(&l, (uint64_t)lo, (uint64_t)hi, &differ);
		const kh_alignment fit = kh_text_fit(&l, p.at, 0, l.len);

		p.score = kh_translated_score(fit.matches, fit.columns);
		if (p.score > c->best[i].score) {
			c->best[i] = p;
			return;
		}
	}
}

/* --- calls ---------------------------------------------------------------------------- */
static uint32_t sum(const struct claim *c)
{
	return c->best[0].score + c->best[1].score;
}

static bool ahead(const struct claim *c, const struct claim *of)
{
	return !of || sum(c) > sum(of) || (sum(c) == sum(of) && c->genus < of->genus);
}

/* The least score that a genus is called with. */
static uint32_t least_of(const kh_translator *r, uint32_t genus, uint32_t second)
{
	const uint32_t threshold = r->t->genus[genus].threshold;

	return 2 * second > threshold ? 2 * second : threshold;
}

/* What a fragment is most like: genera by their places in the section. */
struct ranked {
	uint32_t genus;                 /* KH_NO_TAXON: none */
	uint32_t best, second;          /* scores */
};

static struct ranked rank(kh_translator *r, struct fragment *f)
{
	struct claim *best = NULL, *second = NULL;
	struct ranked x = { KH_NO_TAXON, 0, 0 };

	for (size_t i = 0; i < r->n_claims; i++)
		if (ahead(&r->claim[i], best))
			best = &r->claim[i];
	if (!best)
		return x;
	for (size_t i = 0; i < r->n_claims; i++)
		if (&r->claim[i] != best && ahead(&r->claim[i], second))
			second = &r->claim[i];
	x.second = second ? sum(second) : 0;
	if (f->pieces || sum(best) < least_of(r, best->genus, x.second))
		seek_mate(r, f, best);
	x.genus = best->genus;
	x.best = sum(best);
	return x;
}

static int add_call(kh_translator *r, size_t number, uint32_t genus, kh_err *err)
{
	const uint32_t taxon = genus == KH_NO_TAXON ? genus : r->t->genus[genus].called;
	int rc = kh_grow((void **)&r->call, &r->cap_calls, r->n_calls + 1, sizeof *r->call, err);

	if (!rc)
		r->call[r->n_calls++] = (kh_translated_call) { number, taxon };
	return rc;
}

/* The pieces of the last long fragment were all. */
static int end_votes(kh_translator *r, kh_err *err)
{
	if (r->votes.pairs == 0)
		return KH_OK;
	return add_call(r, r->voted, kh_votes_end(&r->votes, r->t), err);
}

static int add_ranked(kh_translator *r, const struct fragment *f, struct ranked x, kh_err *err)
{
	int rc = r->voted == f->number ? KH_OK : end_votes(r, err);

	if (rc)
		return rc;
	if (!f->pieces) {
		if (x.genus != KH_NO_TAXON && x.best < least_of(r, x.genus, x.second))
			x.genus = KH_NO_TAXON;
		return add_call(r, f->number, x.genus, err);
	}
	r->voted = f->number;
	return kh_votes_add(&r->votes, x.genus, x.best - x.second, err);
}

/* Calls what has been added, but a long fragment of which there may be more. */
static int settle(kh_translator *r, kh_err *err)
{
	int rc = KH_OK;

	look_up(r);
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
/* The piece of a read from base `from` on. */
static kh_translated_read piece(const kh_translated_read *m, uint64_t from)
{
	const uint64_t left = m->len > from ? m->len - from : 0;

	return (kh_translated_read) { m->bases, m->amb, m->at + from,
				      left < PIECE ? left : PIECE };
}

int kh_translator_add(kh_translator *r, const kh_translated_read mate[2], size_t number,
		      kh_err *err)
{
	int rc = KH_OK;

	if (mate[0].len <= KH_TEXT_SPAN && mate[1].len <= KH_TEXT_SPAN)
		return add_two(r, mate, number, false, err);
	for (int i = 0; i < 2; i++)
		for (uint64_t at = 0; at < mate[i].len && !rc; at += 2 * PIECE) {
			const kh_translated_read two[2] = { piece(&mate[i], at),
							    piece(&mate[i], at + PIECE) };

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
