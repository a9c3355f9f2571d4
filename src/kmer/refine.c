/* refine.c - alignments get fewer edits: refine.h */
#include <config.h>
#include "kmer/refine.h"

#include <stdlib.h>
#include "base/mem.h"
#include "kmer/take.h"

enum {
	SURE = 16,              /* so many matches in a row stay as they are, but for */
	KEEP = 4,               /* so many at both ends */
	LONG = 4096             /* a patch of so many columns ends at the next match */
};

/* A patch is what is aligned anew, between matches that stay: columns of the record from .. on, the
 * first one in this HSP; the outermost diagonals; mismatches and bases of gaps. */
struct patch {
	size_t in;
	int64_t from, low, high;
	uint32_t edits;
};

/* An alignment is looked through. */
struct walk {
	const kh_along *l;
	const kh_ungapped *old;
	kh_refiner *to;
	struct patch patch;
	int64_t run;                    /* the column from which on all match */
	uint64_t edits;                 /* of all that is behind the patch */
	size_t in;                      /* to->fine has all in front of this HSP, */
	int64_t done;                   /* and column */
};

void kh_refiner_clear(kh_refiner *r)
{
	free(r->fine.v);
	kh_edits_clear(&r->edits);
	*r = (kh_refiner) { .fine.n = 0 };
}

int kh_ungapped_put(kh_ungapped_list *s, kh_ungapped x, kh_err *err)
{
	kh_ungapped *last = s->n > 0 ? &s->v[s->n - 1] : NULL;
	int rc;

	if (last && last->at == x.at) {
		last->to = x.to > last->to ? x.to : last->to;
		return KH_OK;
	}
	rc = KH_GROW(s->v, s->cap, s->n + 1, err);
	if (!rc)
		s->v[s->n++] = x;
	return rc;
}

/* --- bases ------------------------------------------------------------------------------- */
static unsigned base_of(const uint32_t *words, uint64_t i)
{
	return words[i / KH_TEXT_WORD] >> 2 * (i % KH_TEXT_WORD) & 3;
}

/* Base i of the record as it lies there, as a set of edits.h. */
static uint8_t read_set(const kh_along *l, int64_t i)
{
	const uint64_t in = l->seq + (uint64_t)(l->back ? (int64_t)l->len - 1 - i : i);

	if (kh_packed_amb(l->amb, in))
		return 0;
	return (uint8_t)(1u << (kh_packed_base(l->bases, in) ^ (l->back ? 3 : 0)));
}

/* Base t of the text, and its allele. */
static uint8_t text_set(const kh_along *l, int64_t t)
{
	const unsigned base = base_of(l->text, (uint64_t)t);
	const unsigned other = l->alleles ? base_of(l->alleles, (uint64_t)t) : 0;

	return (uint8_t)(1u << base | 1u << (base ^ other));
}

bool kh_along_match(const kh_along *l, int64_t i, int64_t at)
{
	return (read_set(l, i) & text_set(l, at + i)) != 0;
}

/* The low bits of those of n bases from i on, up to 32, that do not match. */
static uint64_t wrong_of(const kh_along *l, int64_t i, uint32_t n, int64_t at)
{
	const int64_t in = l->back ? (int64_t)l->len - i - n : i;
	const kh_laid laid = { .text = l->text, .alleles = l->alleles };
	kh_oriented read[2];

	kh_text_read(read, l->bases, l->amb, l->seq + (uint64_t)in, n);
	return (kh_laid_differ(&laid, read[l->back].base[0], (uint64_t)(at + i), 0) |
		read[l->back].unknown[0]) & kh_text_first(n);
}

/* --- patches ------------------------------------------------------------------------------ */
/* Copies what is in front of this column of an HSP. */
static int copy_old(struct walk *w, size_t in, int64_t end, kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = w->in; i <= in && !rc; i++) {
		kh_ungapped x = w->old[i];

		x.from = w->done > x.from ? w->done : x.from;
		x.to = i < in ? x.to : end;
		rc = x.from < x.to ? kh_ungapped_put(&w->to->fine, x, err) : KH_OK;
	}
	return rc;
}

/* Puts the new alignment of the patch, which ends at this column of an HSP, behind what is in
 * front of it. */
static int put_patch(struct walk *w, size_t in, int64_t end, kh_err *err)
{
	const struct patch *p = &w->patch;
	kh_ungapped x = { .from = p->from, .at = w->old[p->in].at };
	size_t columns;
	int64_t gap;
	int rc = copy_old(w, p->in, p->from, err);

	while (!rc && kh_edits_next(&w->to->edits, &columns, &gap)) {
		x.to = x.from + (int64_t)columns;
		rc = columns > 0 ? kh_ungapped_put(&w->to->fine, x, err) : KH_OK;
		x.from = x.to + (gap < 0 ? -gap : 0);
		x.at += gap;
	}
	w->in = in;
	w->done = end;
	return rc;
}

/* Ends the patch at this column of an HSP, and aligns it anew if it may have fewer edits: not if
 * it has two mismatches at most and no gap, or a gap and no mismatch. */
static int end_patch(struct walk *w, size_t in, int64_t end, kh_err *err)
{
	const struct patch *p = &w->patch;
	kh_edits *e = &w->to->edits;
	const int64_t at = w->old[p->in].at, drift = w->old[in].at - at, n = end - p->from;
	uint32_t edits;
	int rc;

	w->edits += p->edits;
	if ((p->low == p->high && p->edits < 3) || p->edits <= (drift < 0 ? -drift : drift))
		return KH_OK;
	rc = kh_edits_begin(e, (size_t)n, (size_t)(n + drift), err);
	if (rc)
		return rc;
	for (int64_t i = 0; i < n; i++)
		e->read[i] = read_set(w->l, p->from + i);
	for (int64_t i = 0; i < n + drift; i++)
		e->text[i] = text_set(w->l, at + p->from + i);
	rc = kh_edits_align(e, p->low - at, p->high - at, p->edits, &edits, err);
	if (rc || edits >= p->edits)
		return rc;
	w->edits -= p->edits - edits;
	return put_patch(w, in, end, err);
}

/* This column of an HSP, or the gap in front of it, is so many edits.  They begin a patch if
 * enough columns in front of them match, or the last one is long. */
static int note_edits(struct walk *w, size_t in, int64_t column, uint32_t edits, kh_err *err)
{
	const int64_t run = column - w->run, at = w->old[in].at, keep = run >= SURE ? KEEP : 0;
	int rc = KH_OK;

	if (run >= SURE || (run > 0 && column - w->patch.from >= LONG)) {
		rc = end_patch(w, in, w->run + keep, err);
		w->patch = (struct patch) { in, column - keep, at, at, 0 };
	}
	w->patch.edits += edits;
	return rc;
}

/* Columns of an HSP that do not match; the first and the last one of all stay. */
static int walk_hsp(struct walk *w, size_t in, int64_t first, int64_t last, kh_err *err)
{
	const kh_ungapped s = w->old[in];
	int rc = KH_OK;

	for (int64_t i = s.from; i < s.to; i += 32) {
		const uint32_t n = s.to - i < 32 ? (uint32_t)(s.to - i) : 32;

		for (uint64_t x = wrong_of(w->l, i, n, s.at); x != 0 && !rc; x &= x - 1) {
			const int64_t column = i + kh_text_lowest(x);

			if (column == first || column == last) {
				w->edits++;
				continue;
			}
			rc = note_edits(w, in, column, 1, err);
			w->run = column + 1;
		}
	}
	return rc;
}

/* The gap behind an HSP. */
static int walk_gap(struct walk *w, size_t in, kh_err *err)
{
	const kh_ungapped *s = &w->old[in];
	const int64_t next = s[1].at, gap = next - s->at;
	struct patch *p = &w->patch;
	const int rc = note_edits(w, in, s->to, (uint32_t)(gap < 0 ? -gap : gap), err);

	w->run = s[1].from;
	p->low = next < p->low ? next : p->low;
	p->high = next > p->high ? next : p->high;
	return rc;
}

int kh_refine(kh_refiner *r, const kh_along *l, kh_ungapped_list *s, uint64_t *edits, kh_err *err)
{
	const kh_ungapped first = s->v[0], last = s->v[s->n - 1];
	struct walk w = { .l = l, .old = s->v, .to = r, .run = first.from + 1,
			  .patch = { 0, first.from + 1, first.at, first.at, 0 } };
	int rc = KH_OK;

	r->fine.n = 0;
	for (size_t i = 0; i < s->n && !rc; i++) {
		rc = walk_hsp(&w, i, first.from, last.to - 1, err);
		if (!rc && i + 1 < s->n)
			rc = walk_gap(&w, i, err);
	}
	if (!rc)
		rc = end_patch(&w, s->n - 1, last.to - 1, err);
	*edits = w.edits;
	if (rc || r->fine.n == 0)
		return rc;
	rc = copy_old(&w, s->n - 1, last.to, err);
	const kh_ungapped_list old = *s;

	*s = r->fine;
	r->fine = old;
	return rc;
}
