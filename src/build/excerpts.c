/* excerpts.c - parts of excerpts, and these put together */
#include <config.h>
#include "build/excerpts.h"

#include <stdlib.h>
#include "base/mem.h"

/* The n bases from number `at` on, n from 1 to 32, the first one lowest. */
static uint64_t bases_at(const uint64_t *bases, uint64_t at, unsigned n)
{
	const unsigned by = at % 32;
	uint64_t x = bases[at / 32] >> 2 * by;

	if (by + n > 32)
		x |= bases[at / 32 + 1] << (64 - 2 * by);
	return x & UINT64_MAX >> (64 - 2 * n);
}

/* How many of these bases are ambiguous. */
static unsigned ambiguous(const uint32_t *amb, uint64_t at, unsigned n)
{
	const unsigned by = at % 32;
	uint32_t x = amb[at / 32] >> by;

	if (by + n > 32)
		x |= amb[at / 32 + 1] << (32 - by);
	return (unsigned)__builtin_popcount(x & UINT32_MAX >> (32 - n));
}

/* Copies those bases of a piece that lie in excerpt x->number, some of one word at a time. */
static void copy_part(kh_excerpt *x, const kh_block_pieces *s, const kh_piece *p, uint64_t first)
{
	const uint64_t from = KH_EXCERPT_FIRST + (uint64_t)x->number * KH_EXCERPT_STEP;
	uint64_t i = from > first ? from : first, end = from + KH_EXCERPT;
	unsigned n;

	end = end < first + p->bases ? end : first + p->bases;
	for (; i < end; i += n) {
		const unsigned by = (unsigned)((i - from) % 32);
		const uint64_t at = p->at + i - first;

		n = end - i < 32 - by ? (unsigned)(end - i) : 32 - by;
		x->base[(i - from) / 32] |= bases_at(s->bases, at, n) << 2 * by;
		x->known += n - ambiguous(s->amb, at, n);
	}
}

int kh_excerpts_add(kh_excerpts *e, const kh_block_pieces *s, uint32_t stride, kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = 0; i < s->n && !rc; i++) {
		const kh_piece *p = &s->piece[i];
		const uint64_t first = (uint64_t)p->local * stride, end = first + p->bases;
		/* the first excerpt that ends behind the piece's first base */
		uint64_t number = first < KH_EXCERPT_FIRST + KH_EXCERPT ? 0
				: (first - KH_EXCERPT_FIRST - KH_EXCERPT) / KH_EXCERPT_STEP + 1;

		for (; KH_EXCERPT_FIRST + number * KH_EXCERPT_STEP < end && !rc; number++) {
			rc = kh_grow((void **)&e->v, &e->cap, e->n + 1, sizeof *e->v, err);
			if (rc)
				break;
			e->v[e->n] = (kh_excerpt) { .seq = p->seq, .number = (uint32_t)number };
			copy_part(&e->v[e->n++], s, p, first);
		}
	}
	return rc;
}

static void add_part(kh_excerpt *x, const kh_excerpt *part)
{
	for (int w = 0; w < KH_EXCERPT_WORDS; w++)
		x->base[w] |= part->base[w];
	x->known += part->known;
}

/* Where the excerpts of each sequence begin, and behind it where they end, if all of them are in a
 * row. */
static size_t *places(const kh_excerpts *e, uint64_t *n_seqs, kh_err *err)
{
	size_t *first;

	*n_seqs = 0;
	for (size_t i = 0; i < e->n; i++)
		*n_seqs = e->v[i].seq < *n_seqs ? *n_seqs : e->v[i].seq + 1;
	first = kh_array(*n_seqs + 1, sizeof *first, err);
	for (size_t i = 0; first && i < e->n; i++) {
		size_t *n = &first[e->v[i].seq + 1];

		*n = *n > e->v[i].number ? *n : e->v[i].number + (size_t)1;
	}
	for (uint64_t q = 0; first && q < *n_seqs; q++)
		first[q + 1] += first[q];
	return first;
}

int kh_excerpts_join(kh_excerpts *e, kh_err *err)
{
	uint64_t n_seqs;
	size_t *first = places(e, &n_seqs, err), n = 0;
	size_t *part = first ? kh_array(first[n_seqs], sizeof *part, err) : NULL;
	kh_excerpt *v = part ? kh_array(e->n, sizeof *v, err) : NULL;

	for (size_t i = 0; v && i < e->n; i++) {
		size_t *here = &part[first[e->v[i].seq] + e->v[i].number];

		if (*here)
			add_part(&e->v[*here - 1], &e->v[i]);
		else
			*here = i + 1;
	}
	for (size_t i = 0; v && i < first[n_seqs]; i++)
		if (part[i] && e->v[part[i] - 1].known == KH_EXCERPT)
			v[n++] = e->v[part[i] - 1];
	free(first);
	free(part);
	if (!v)
		return KH_ENOMEM;
	free(e->v);
	*e = (kh_excerpts) { v, n, e->n };
	return KH_OK;
}
