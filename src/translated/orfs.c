/* orfs.c - open reading frames (ORFs): where references may code for proteins, as a frame has no
 * stop; and bases as they are read there */
#include <config.h>
#include "translated/make_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "kmer/fit.h"

/* Low bits of those of 32 bases that are unknown. */
static uint64_t unknown_at(const kh_translated_input *in, uint64_t base)
{
	uint64_t x = 0;

	for (int half = 0; half < 2; half++) {
		const uint64_t word = base / KH_TEXT_WORD + (unsigned)half;
		const uint16_t *chunk = in->unknown[word >> KH_UNKNOWN_CHUNK];
		const uint32_t m = chunk ? chunk[word & ((1 << KH_UNKNOWN_CHUNK) - 1)] : 0;

		x |= kh_text_spread(m) << 32 * half;
	}
	return x;
}

/* --- frames --------------------------------------------------------------------------- */
/* The frames of one strand that are gone through: where the codons without a stop begin. */
struct frames {
	kh_orfs *to;
	uint64_t from[3];
	uint32_t strand;
};

static int add(struct frames *f, uint64_t from, uint64_t to, kh_err *err)
{
	kh_orfs *c = f->to;
	int rc;

	if (to < from + 3 * KH_ORF_CODONS)
		return KH_OK;
	rc = KH_GROW(c->v, c->cap, c->n + 1, err);
	if (!rc)
		c->v[c->n++] = (kh_orf) { from, (uint32_t)((to - from) / 3), f->strand };
	return rc;
}

/* Goes on over the stops of 32 bases from `at` on. */
static int go_on(struct frames *f, uint64_t at, uint64_t stops, kh_err *err)
{
	int rc = KH_OK;

	const unsigned phase = at % 3;

	for (; stops && !rc; stops &= stops - 1) {
		const unsigned i = (unsigned)__builtin_ctzll(stops) / 2;
		uint64_t *from = &f->from[(phase + i) % 3];

		rc = add(f, *from, at + i, err);
		*from = at + i + 3;
	}
	return rc;
}

static int find_all(kh_orfs *c, const kh_translated_input *in, const kh_translated_target *t,
		    kh_err *err)
{
	struct frames f[2] = { { c, { 0, 1, 2 }, 0 }, { c, { 0, 1, 2 }, 1 } };
	uint64_t x = kh_text_bases(in->text, t->at), u = unknown_at(in, t->at);
	int rc = KH_OK;

	for (uint64_t at = 0; at + 3 <= t->bases && !rc; at += 32) {
		const uint64_t next = kh_text_bases(in->text, t->at + at + 32);
		const uint64_t next_u = unknown_at(in, t->at + at + 32);
		const uint64_t no = u | u >> 2 | next_u << 62 | u >> 4 | next_u << 60;
		const uint64_t left = t->bases - at - 2;        /* codons that begin here */
		const uint64_t in_it = kh_text_first(left < 32 ? (uint32_t)left : 32);

		rc = go_on(&f[0], at, (kh_stops(x, next, t->code_4) | no) & in_it, err);
		if (!rc)
			rc = go_on(&f[1], at,
				   (kh_stops_reverse(x, next, t->code_4) | no) & in_it, err);
		x = next;
		u = next_u;
	}
	for (int i = 0; i < 6 && !rc; i++)
		rc = add(&f[i / 3], f[i / 3].from[i % 3], t->bases, err);
	return rc;
}

/* --- those that are kept -------------------------------------------------------------- */
/* The bits of word i that are among from .. to - 1. */
static uint64_t bits_of(uint64_t i, uint64_t from, uint64_t to)
{
	uint64_t x = UINT64_MAX;

	if (from > 64 * i)
		x <<= from - 64 * i;
	if (to < 64 * i + 64)
		x &= (UINT64_C(1) << (to - 64 * i)) - 1;
	return x;
}

/* Takes an ORF, unless more than half of its bases are covered; false: they are. */
static bool cover(kh_orfs *c, const kh_orf *x)
{
	const uint64_t from = x->at, to = x->at + 3 * (uint64_t)x->codons;
	uint64_t covered = 0;

	for (uint64_t i = from / 64; i <= (to - 1) / 64; i++) {
		const uint64_t w = c->covered[i] & bits_of(i, from, to);

		covered += kh_text_count(w & KH_TEXT_LOW) + kh_text_count(w >> 1 & KH_TEXT_LOW);
	}
	if (2 * covered > to - from)
		return false;
	for (uint64_t i = from / 64; i <= (to - 1) / 64; i++)
		c->covered[i] |= bits_of(i, from, to);
	return true;
}

static int longest_first(const void *a, const void *b)
{
	const kh_orf *x = a, *y = b;

	if (x->codons != y->codons)
		return x->codons < y->codons ? 1 : -1;
	return x->at != y->at ? (x->at > y->at ? 1 : -1) : (int)x->strand - (int)y->strand;
}

int kh_orfs_find(kh_orfs *c, const kh_translated_input *in, const kh_translated_target *t,
		 kh_err *err)
{
	const size_t words = (size_t)(t->bases / 64) + 1;
	size_t kept = 0;
	int rc = kh_grow((void **)&c->covered, &c->cap_covered, words, sizeof *c->covered, err);

	c->n = 0;
	if (!rc)
		rc = find_all(c, in, t, err);
	if (rc)
		return rc;
	memset(c->covered, 0, words * sizeof *c->covered);
	if (c->n > 0)
		qsort(c->v, c->n, sizeof *c->v, longest_first);
	for (size_t i = 0; i < c->n; i++)
		if (cover(c, &c->v[i]))
			c->v[kept++] = c->v[i];
	c->n = kept;
	return KH_OK;
}

/* --- bases -------------------------------------------------------------------------------- */
void kh_read_bases(const uint32_t *text, uint64_t place, uint64_t n, uint64_t *to, uint64_t at)
{
	for (uint64_t i = 0; i < n; i += 32) {
		const uint32_t m = n - i < 32 ? (uint32_t)(n - i) : 32;
		const uint64_t first = place & 1 ? place / 2 - i - m + 1 : place / 2 + i;
		const uint64_t y = kh_text_bases(text, first) & kh_text_first(m);
		const uint64_t x = place & 1 ? kh_kmer_rc(y, m) : y;
		const unsigned sh = 2 * (unsigned)((at + i) % 32);

		to[(at + i) / 32] |= x << sh;
		if (sh)
			to[(at + i) / 32 + 1] |= x >> (64 - sh);
	}
}

void kh_read_codons(const kh_translated_made *m, uint32_t codon, uint32_t n, uint64_t *to)
{
	const kh_laid_orf *s = kh_orf_at(m, codon), *last = m->orf + m->n_orfs - 1;

	memset(to, 0, (size_t)(3 * (uint64_t)n / 32 + 2) * sizeof *to);
	for (; s <= last && s->codon < codon + (uint64_t)n; s++) {
		const uint32_t from = s->codon > codon ? s->codon : codon;
		const uint32_t end = s < last && s[1].codon - codon < n ? s[1].codon : codon + n;

		if (s->target != KH_NO_TARGET)
			kh_read_bases(m->in->text, kh_orf_place(s, from),
				      3 * (uint64_t)(end - from), to, 3 * (uint64_t)(from - codon));
	}
}
