/*
 * score.h - how well a fragment fits the genera that its keys lead to: kmerhash-method(7)   [HD]
 *
 * The CPU (rule.c) and kernels come to these functions by ways of their own.  All numbers are
 * integers, and among equal ones there is an order, so it does not matter in which order places are
 * compared.
 */
#ifndef KH_TRANSLATED_SCORE_H
#define KH_TRANSLATED_SCORE_H

#include <stdbool.h>
#include "taxonomy/tree.h"
#include "kmer/fit.h"
#include "translated/graded.h"
#include "translated/look_up.h"

enum {
	KH_TRANSLATED_LEAST = 55,       /* the score that any genus asks for, */
	KH_TRANSLATED_AHEAD = 55,       /* and by how much it must be ahead of others */
	KH_TRANSLATED_FIRM = 20,        /* what is firm, for the sample: the kinship of a family, or
					 * by how much a genus is ahead, */
	KH_TRANSLATED_FIRM_OF = 8,      /* and by 1 more for each so many bases */
	KH_TRANSLATED_KIN = 7,          /* so much a base adds to a kinship that relatives lack, */
	KH_TRANSLATED_CLOSER = 8,       /* of so many at most; */
	KH_TRANSLATED_LIKE = 60,        /* of 100 bases relatives are alike where they lie right */
	KH_TRANSLATED_RUN = 25,         /* codons without a stop around a key of a read; */
	KH_TRANSLATED_RUN_LONG = 33,    /* of a longer read, which has enough such runs: */
	KH_TRANSLATED_LONG = 150,       /* of so many bases or more */
	KH_TRANSLATED_ALIKE = 48,       /* of 100 bases must match for a comparison to count */
	KH_TRANSLATED_SURE = 40,        /* score of a mate beside which the other mate is sought, */
	KH_TRANSLATED_BESIDE = 400,     /* at most so many bases away */
	KH_TRANSLATED_PART = 150,       /* bases of a part of a long read; two are like mates */
	KH_TRANSLATED_ASIDE = 8         /* on one strand, so many bases more or less apart */
};

/* A mate that is shorter has no run of codons. */
#define KH_TRANSLATED_SHORTEST (3 * KH_TRANSLATED_RUN)

/* Codons without a stop that a key of a mate lies in. */
static KH_HD uint32_t kh_translated_run(uint32_t len)
{
	return len < KH_TRANSLATED_LONG ? KH_TRANSLATED_RUN : KH_TRANSLATED_RUN_LONG;
}

/* How a mate lies along a stretch of the text, and its HSP there. */
typedef struct kh_translated_place {
	int64_t at;                     /* of its first base, or of the last one's complement */
	uint32_t stretch;
	uint16_t strand, from, to;      /* columns, of which so many match */
	uint16_t matches;
} kh_translated_place;

static_assert(KH_TEXT_SPAN < UINT16_MAX, "columns have 16 bits");

/* 2 for a match, -5 for a mismatch, of the HSP (kmer/text.h); no less than 0. */
static KH_HD uint32_t kh_translated_score(uint32_t matches, uint32_t columns)
{
	return 7 * matches > 5 * columns ? 7 * matches - 5 * columns : 0;
}

static KH_HD uint32_t kh_translated_score_of(const kh_translated_place *p)
{
	return kh_translated_score(p->matches, (uint32_t)(p->to - p->from));
}

/* 2 for a match, -4 for a mismatch, no less than 0: genera of a family are so far from each other
 * that a mismatch says less. */
static KH_HD uint32_t kh_translated_near(const kh_translated_place *p)
{
	const uint32_t matches = p->matches, columns = (uint32_t)(p->to - p->from);

	return 3 * matches > 2 * columns ? 6 * matches - 4 * columns : 0;
}

/* --- places --------------------------------------------------------------------------- */
/* How a mate of `len` bases lies by a key that begins at base `pos` of a strand of it. */
static KH_HD kh_translated_place kh_translated_lay(const kh_translated *t, uint32_t len,
						   uint32_t strand, uint32_t pos, uint64_t place)
{
	const uint64_t base = place / 2;
	const uint32_t down = place & 1;
	const uint32_t before = down ? len - 1 - pos : pos;
	kh_translated_place p;

	p.at = (int64_t)base - (int64_t)before;
	p.stretch = kh_translated_stretch_of(t, base);
	p.strand = (uint16_t)(strand ^ down);
	p.from = p.to = p.matches = 0;
	return p;
}

static KH_HD bool kh_translated_same(const kh_translated_place *p, const kh_translated_place *q)
{
	return p->at == q->at && p->strand == q->strand;
}

static KH_HD bool kh_translated_better(const kh_translated_place *p,
				       const kh_translated_place *than)
{
	const uint32_t a = kh_translated_score_of(p), b = kh_translated_score_of(than);
	const uint32_t near = kh_translated_near(p), than_near = kh_translated_near(than);

	if (a != b)
		return a > b;
	if (near != than_near)
		return near > than_near;
	return p->strand != than->strand ? p->strand < than->strand : p->at < than->at;
}

/* --- comparisons ---------------------------------------------------------------------- */
static KH_HD kh_laid kh_translated_laid(const kh_translated *t, const kh_oriented *o, uint32_t len,
					uint32_t stretch)
{
	const kh_translated_stretch *s = &t->stretch[stretch];
	const kh_laid l = { o, len, t->text, NULL, s->begin, s->end, NULL };

	return l;
}

/* Do enough bases of a read match the text?  Yes, if it hangs over an end of the text. */
static KH_HD bool kh_translated_alike(const kh_translated *t, const kh_oriented *o, uint32_t len,
				      int64_t at)
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
	return 100 * (len - differ) >= KH_TRANSLATED_ALIKE * len;
}

/* Finds the HSP of a mate, turned to its strand, where it lies. */
static KH_HD void kh_translated_fit(const kh_translated *t, const kh_oriented *o, uint32_t len,
				    kh_translated_place *p)
{
	const kh_laid l = kh_translated_laid(t, o, len, p->stretch);
	const kh_alignment fit = kh_text_fit(&l, p->at, 0, len);

	p->matches = (uint16_t)fit.matches;
	p->from = (uint16_t)fit.from;
	p->to = (uint16_t)fit.to;
}

/* The same at a place that a key has led to; none, if too little is alike, or it is of no genus. */
static KH_HD void kh_translated_compare(const kh_translated *t, const kh_oriented *o, uint32_t len,
					kh_translated_place *p)
{
	if (t->stretch[p->stretch].genus != KH_NO_TAXON && kh_translated_alike(t, o, len, p->at))
		kh_translated_fit(t, o, len, p);
}

/* --- genera --------------------------------------------------------------------------- */
/* How well a genus fits a fragment: the best place of each mate. */
typedef struct kh_translated_claim {
	uint32_t genus;                 /* by its place in the section */
	kh_translated_place best[2];
} kh_translated_claim;

/* Adds a place of a mate that is near, by 1 and more, to n claims.  False: there would be more
 * than `cap`. */
static KH_HD bool kh_translated_claim_add(const kh_translated *t, kh_translated_claim *claim,
					  uint32_t *n, uint32_t cap, uint32_t mate,
					  const kh_translated_place *p)
{
	const kh_translated_place none = { 0, 0, 0, 0, 0, 0 };
	const uint32_t genus = t->stretch[p->stretch].genus;
	uint32_t i = 0;

	while (i < *n && claim[i].genus != genus)
		i++;
	if (i == cap)
		return false;
	if (i == *n) {
		claim[i].genus = genus;
		claim[i].best[0] = claim[i].best[1] = none;
		++*n;
	}
	if (kh_translated_better(p, &claim[i].best[mate]))
		claim[i].best[mate] = *p;
	return true;
}

static KH_HD uint32_t kh_translated_sum(const kh_translated_claim *c)
{
	return kh_translated_score_of(&c->best[0]) + kh_translated_score_of(&c->best[1]);
}

static KH_HD uint32_t kh_translated_nearness(const kh_translated_claim *c)
{
	return kh_translated_near(&c->best[0]) + kh_translated_near(&c->best[1]);
}

static KH_HD bool kh_translated_ahead(const kh_translated_claim *c, const kh_translated_claim *of)
{
	const uint32_t a = kh_translated_sum(c), b = kh_translated_sum(of);

	return a > b || (a == b && c->genus < of->genus);
}

/* The family of a genus, or 0. */
static KH_HD uint32_t kh_translated_family(const kh_translated *t, uint32_t genus)
{
	return t->genus[genus].family;
}

/* Are two genera of one family? */
static KH_HD bool kh_translated_same_family(const kh_translated *t, uint32_t a, uint32_t b)
{
	const uint32_t family = kh_translated_family(t, a);

	return family > 0 && family == kh_translated_family(t, b);
}

/* The number of the best of n >= 1 claims; *second: the sum of the second best, or 0. */
static KH_HD uint32_t kh_translated_best(const kh_translated_claim *claim, uint32_t n,
					 uint32_t *second)
{
	uint32_t best = 0;

	*second = 0;
	for (uint32_t i = 1; i < n; i++)
		if (kh_translated_ahead(&claim[i], &claim[best]))
			best = i;
	for (uint32_t i = 0; i < n; i++)
		if (i != best && kh_translated_sum(&claim[i]) > *second)
			*second = kh_translated_sum(&claim[i]);
	return best;
}

/* The score that a genus asks for. */
static KH_HD uint64_t kh_translated_least(const kh_translated *t, uint32_t genus)
{
	return (uint64_t)t->genus[genus].threshold * t->level.share / 100;
}

/* Is a claim enough to call its genus, if another one has the sum `second`? */
static KH_HD bool kh_translated_enough(const kh_translated *t, const kh_translated_claim *c,
				       uint32_t second)
{
	const uint32_t sum = kh_translated_sum(c);

	return sum >= kh_translated_least(t, c->genus) && sum >= second + KH_TRANSLATED_AHEAD;
}

/* --- families --------------------------------------------------------------------------- */
/* The number of the nearest of n >= 1 claims, of equal ones the one with the lower genus; *far: the
 * greatest nearness of a claim of another family, or 0. */
static KH_HD uint32_t kh_translated_nearest(const kh_translated *t,
					    const kh_translated_claim *claim, uint32_t n,
					    uint32_t *far)
{
	uint32_t best = 0;

	*far = 0;
	for (uint32_t i = 1; i < n; i++) {
		const uint32_t a = kh_translated_nearness(&claim[i]);
		const uint32_t b = kh_translated_nearness(&claim[best]);

		if (a > b || (a == b && claim[i].genus < claim[best].genus))
			best = i;
	}
	for (uint32_t i = 0; i < n; i++)
		if (i != best && !kh_translated_same_family(t, claim[i].genus, claim[best].genus) &&
		    kh_translated_nearness(&claim[i]) > *far)
			*far = kh_translated_nearness(&claim[i]);
	return best;
}

/* In how many columns of the HSP of p, a place of a mate, the text is that where the mate lies at
 * q. */
static KH_HD uint32_t kh_translated_common(const kh_translated *t, const kh_translated_place *p,
					   const kh_translated_place *q, uint32_t len)
{
	const kh_translated_stretch *s = &t->stretch[q->stretch];
	const bool turned = p->strand != q->strand;
	uint32_t common = 0, m;

	for (uint32_t i = p->from; i < p->to; i += m) {
		m = p->to - i < 32 ? p->to - i : 32;
		const int64_t at = q->at + (int64_t)(turned ? len - i - m : i);
		uint64_t x, y;

		if (at < (int64_t)s->begin || at + (int64_t)m > (int64_t)s->end)
			continue;
		x = kh_text_bases(t->text, (uint64_t)(p->at + (int64_t)i));
		y = kh_text_bases(t->text, (uint64_t)at);
		if (turned)
			y = ~kh_kmer_reverse(y & kh_text_first(m), m);
		common += m - kh_text_count(kh_text_differ(x, y) & kh_text_first(m));
	}
	return common;
}

/* How many bases the text where claim `of` has mate m shares with the text of another claim of its
 * family, at most; -1: no other claim has a place of the mate, or only places that are as unlike as
 * other genes, or as the same gene beyond a lost codon. */
static KH_HD int32_t kh_translated_most_common(const kh_translated *t,
					       const kh_translated_claim *claim, uint32_t n,
					       uint32_t of, uint32_t m, uint32_t len)
{
	const kh_translated_place *p = &claim[of].best[m];
	int32_t most = -1;

	for (uint32_t i = 0; i < n; i++) {
		const kh_translated_place *q = &claim[i].best[m];

		if (i == of || q->matches == 0 ||
		    !kh_translated_same_family(t, claim[i].genus, claim[of].genus))
			continue;
		const uint32_t common = kh_translated_common(t, p, q, len);

		if (100 * common >= KH_TRANSLATED_LIKE * (uint32_t)(p->to - p->from) &&
		    (int32_t)common > most)
			most = (int32_t)common;
	}
	return most;
}

/* How surely a fragment is of the family of a claim: how near it is, and, as families differ, and
 * genes, whether the genus is less like others of the family there than it is like the fragment.
 * Where that is not known, nearness counts half, and, of parts of a long read, nothing. */
static KH_HD int32_t kh_translated_kinship(const kh_translated *t, const kh_translated_claim *claim,
					   uint32_t n, uint32_t of, const uint32_t len[2],
					   bool parts)
{
	int32_t sum = 0;

	for (uint32_t m = 0; m < 2; m++) {
		const kh_translated_place *p = &claim[of].best[m];
		const int32_t near = (int32_t)kh_translated_near(p);
		const int32_t most = kh_translated_most_common(t, claim, n, of, m, len[m]);
		const int32_t more = (int32_t)p->matches - most;

		sum += most < 0 ? (parts ? 0 : near / 2)
				: near + KH_TRANSLATED_KIN * (more < KH_TRANSLATED_CLOSER
							      ? more : KH_TRANSLATED_CLOSER);
	}
	return sum;
}

/* Is a fragment of so many bases firmly of the best genus, which may not be called? */
static KH_HD bool kh_translated_is_firm(const kh_translated_claim *c, uint32_t second,
					uint32_t bases)
{
	const uint32_t ahead = KH_TRANSLATED_FIRM + bases / KH_TRANSLATED_FIRM_OF;

	return kh_translated_sum(c) >= second + ahead;
}

/* How surely a fragment is of the family of the nearest of n claims. */
static KH_HD uint32_t kh_translated_family_grade(const kh_translated *t,
						 const kh_translated_claim *claim, uint32_t n,
						 const uint32_t len[2], uint32_t *nearest)
{
	uint32_t far;
	int32_t kinship;

	*nearest = kh_translated_nearest(t, claim, n, &far);
	if (kh_translated_family(t, claim[*nearest].genus) == 0 ||
	    kh_translated_nearness(&claim[*nearest]) <= far)
		return KH_GRADE_WEAK;
	kinship = kh_translated_kinship(t, claim, n, *nearest, len, false);
	return kinship >= (int32_t)t->level.kinship ? KH_GRADE_CALLED
	     : kinship >= KH_TRANSLATED_FIRM	       ? KH_GRADE_FIRM
						       : KH_GRADE_WEAK;
}

/* What n claims say of a fragment (graded.h): the best of them, if that is enough; or it is of the
 * best genus, if firmly so, or else of the nearest one; and of the nearest's family.  If these two
 * are of different families, a family that is called counts, or else the genus. */
static KH_HD uint32_t kh_translated_call_of(const kh_translated *t,
					    const kh_translated_claim *claim, uint32_t n,
					    uint32_t best, uint32_t second, const uint32_t len[2])
{
	const kh_translated_claim *c = &claim[best];
	uint32_t nearest, family;
	bool same;

	if (kh_translated_enough(t, c, second))
		return t->genus[c->genus].called;
	family = kh_translated_family_grade(t, claim, n, len, &nearest);
	same = kh_translated_same_family(t, c->genus, claim[nearest].genus);
	if (kh_translated_is_firm(c, second, len[0] + len[1]) &&
	    (same || family < KH_GRADE_CALLED)) {
		if (!same)
			family = KH_GRADE_WEAK;
		return kh_graded(c->genus, KH_GRADE_FIRM, family);
	}
	return kh_graded(claim[nearest].genus, KH_GRADE_WEAK, family);
}

/* --- a mate beside the other ------------------------------------------------------------ */
/* Where a mate is to be sought: its first base, on the strand of `place`, is one of from .. to. */
typedef struct kh_translated_beside {
	int64_t from, to;
	kh_translated_place place;
} kh_translated_beside;

/* If mate i of the best claim fits badly and the other mate fits well, it is sought beside that
 * one, where it may have no key: on the other strand; of two parts of a long read, on the same
 * strand.  False: it is not sought. */
static KH_HD bool kh_translated_seek(const kh_translated *t, const kh_translated_claim *c,
				     const uint32_t len[2], uint32_t i, bool parts,
				     kh_translated_beside *b)
{
	const kh_translated_place *sure = &c->best[1 - i];
	const kh_translated_stretch *s = &t->stretch[sure->stretch];
	const bool before = (i == 0) != (sure->strand == 1);
	const int64_t begin = (int64_t)s->begin, last = (int64_t)s->end - (int64_t)len[i];
	const int64_t part = before ? sure->at - (int64_t)len[i]
				     : sure->at + (int64_t)len[1 - i];

	if (kh_translated_score_of(sure) < KH_TRANSLATED_SURE ||
	    kh_translated_score_of(&c->best[i]) >= KH_TRANSLATED_SURE ||
	    len[i] < KH_TRANSLATED_SHORTEST)
		return false;
	b->place = *sure;
	b->place.from = b->place.to = b->place.matches = 0;
	if (!parts)
		b->place.strand = (uint16_t)(1 - sure->strand);
	b->from = parts ? part - KH_TRANSLATED_ASIDE
			 : sure->strand ? sure->at - KH_TRANSLATED_BESIDE : sure->at;
	b->to = parts ? part + KH_TRANSLATED_ASIDE
		       : sure->strand ? sure->at : sure->at + KH_TRANSLATED_BESIDE;
	b->from = b->from < begin ? begin : b->from;
	b->to = b->to > last ? last : b->to;
	return b->from <= b->to;
}

#endif
