/* rule.c - fragments compared with translated stretches: rule.h */
#include <config.h>
#include "translated/rule.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "taxonomy/tree.h"
#include "text/fit.h"

enum {
	TOGETHER = 32,          /* fragments */
	RUN = 25,               /* codons of a read without a stop, */
	RUN_LONG = 33,          /* and of one of so many bases, which has enough of these */
	LONG = 150,
	ALIKE = 48,             /* of 100 bases must match for a comparison to count */
	SURE = 40,              /* the score of a mate beside which the other one is sought, */
	BESIDE = 400            /* and so many bases away at most */
};

/* A fragment's mates, as read and as reverse complements. */
struct fragment {
	size_t number;
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
	kh_translated_call call[TOGETHER];
	const kh_letters_by *by;
	kh_letter_keys keys;
	uint8_t letter[KH_LETTERS_ROOM];        /* of a mate, */
	uint8_t reverse[32 + KH_LETTERS_ROOM];  /* and of its other strand, from the 32nd on */
};

static_assert(KH_TEXT_SPAN <= KH_LETTERS_MOST, "a mate is sampled at once");

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
	free(r);
}

bool kh_translator_full(const kh_translator *r)
{
	return r->n == TOGETHER;
}

uint32_t kh_translated_score(uint32_t matches, uint32_t columns)
{
	return 7 * matches > 5 * columns ? 7 * matches - 5 * columns : 0;
}

/* --- keys ----------------------------------------------------------------------------- */
enum { WORDS = KH_LETTERS_MOST / 64 };

static_assert(3 * RUN_LONG / 2 < 64, "rows are found by shifts of less than a word");

/* Keeps the bits that have n - 1 others behind them, each the third one from the one before. */
static void keep_rows(uint64_t x[WORDS + 1], uint32_t words, uint32_t n)
{
	x[words] = 0;
	for (uint32_t have = 1, more; have < n; have += more) {
		more = have < n - have ? have : n - have;
		for (uint32_t i = 0; i < words; i++)
			x[i] &= x[i] >> 3 * more | x[i + 1] << (64 - 3 * more);
	}
}

/* Sets the n - 1 bits behind each in the same way. */
static void fill_rows(uint64_t *x, uint32_t words, uint32_t n)
{
	for (uint32_t have = 1, more; have < n; have += more) {
		more = have < n - have ? have : n - have;
		for (uint32_t i = words; i-- > 1;)
			x[i] |= x[i] << 3 * more | x[i - 1] >> (64 - 3 * more);
		x[0] |= x[0] << 3 * more;
	}
}

/* Adds the keys of one strand of a mate that lie in runs of enough codons. */
static int add_strand(kh_translator *r, struct hit like, kh_err *err)
{
	const uint32_t len = r->fragment[r->n].len[like.mate], n = len - 2, words = (n + 63) / 64;
	const uint32_t run = len < LONG ? RUN : RUN_LONG, k = r->t->head->k;
	uint64_t at[WORDS + 1];
	int rc;

	r->by->sample(&r->keys, k, 3, like.strand ? r->reverse + 32 : r->letter, n);
	memcpy(at, r->keys.open, words * sizeof *at);
	keep_rows(at, words, run);
	fill_rows(at, words, run - k + 1);
	rc = kh_grow((void **)&r->hit, &r->cap_hits, r->n_hits + n, sizeof *r->hit, err);
	for (uint32_t w = 0; w < words && !rc; w++)
		for (uint64_t x = at[w] & r->keys.kept[w]; x; x &= x - 1) {
			const uint32_t i = 64 * w + (uint32_t)__builtin_ctzll(x);

			like.key = kh_letters_key(&r->keys, k, 3, i);
			like.pos = (uint16_t)i;
			__builtin_prefetch(&r->t->line[kh_translated_line_of(r->t, like.key)]);
			r->hit[r->n_hits++] = like;
		}
	return rc;
}

int kh_translator_add(kh_translator *r, const kh_translated_read mate[2], size_t number,
		      kh_err *err)
{
	struct fragment *f = &r->fragment[r->n];
	const bool fits = mate[0].len <= KH_TEXT_SPAN && mate[1].len <= KH_TEXT_SPAN;
	int rc = KH_OK;

	if (r->n == 0)
		r->n_hits = 0;
	f->number = number;
	f->first = r->n_hits;
	for (uint32_t i = 0; i < 2 && !rc; i++) {
		const kh_translated_read *m = &mate[i];

		f->len[i] = fits ? (uint32_t)m->len : 0;
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

/* Seeks a mate that fits a genus badly beside the one that fits it well, on the other strand: it
 * may have no key there. */
static void seek_mate(const kh_translator *r, struct fragment *f, struct claim *c)
{
	for (int i = 0; i < 2; i++) {
		const struct place *sure = &c->best[1 - i];
		struct place p = { .part = sure->part, .strand = 1 - sure->strand };
		int64_t lo = sure->strand ? sure->at - BESIDE : sure->at;
		int64_t hi = sure->strand ? sure->at : sure->at + BESIDE;
		uint32_t differ;

		if (sure->score < SURE || c->best[i].score >= SURE || f->len[i] < 3 * RUN)
			continue;
		const kh_laid l = laid(r->t, oriented(f, (uint32_t)i, p.strand), f->len[i],
				       sure->part);
		const int64_t last = (int64_t)l.end - l.len;

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

static uint32_t decide(kh_translator *r, struct fragment *f)
{
	struct claim *best = NULL, *second = NULL;
	uint32_t least;

	for (size_t i = 0; i < r->n_claims; i++)
		if (ahead(&r->claim[i], best))
			best = &r->claim[i];
	if (!best)
		return KH_NO_TAXON;
	for (size_t i = 0; i < r->n_claims; i++)
		if (&r->claim[i] != best && ahead(&r->claim[i], second))
			second = &r->claim[i];
	least = r->t->genus[best->genus].threshold;
	if (second && 2 * sum(second) > least)
		least = 2 * sum(second);
	if (sum(best) < least)
		seek_mate(r, f, best);
	return sum(best) < least ? KH_NO_TAXON : r->t->genus[best->genus].called;
}

int kh_translator_settle(kh_translator *r, const kh_translated_call **call, size_t *n, kh_err *err)
{
	int rc = KH_OK;

	look_up(r);
	for (size_t i = 0; i < r->n && !rc; i++) {
		struct fragment *f = &r->fragment[i];

		rc = make_claims(r, f, err);
		r->call[i] = (kh_translated_call) { f->number, rc ? KH_NO_TAXON : decide(r, f) };
	}
	*call = r->call;
	*n = r->n;
	r->n = 0;
	return rc;
}
