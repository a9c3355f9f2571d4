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
	const uint64_t from = kh_excerpt_at(x->number);
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

/* The first excerpt that ends behind a base; no sequence has so many as 2047. */
static uint32_t first_behind(uint64_t base)
{
	uint32_t n = 0;

	for (uint32_t step = 1024; step > 0; step /= 2)
		n += kh_excerpt_at(n + step - 1) + KH_EXCERPT <= base ? step : 0;
	return n;
}

int kh_excerpts_add(kh_excerpts *e, const kh_block_pieces *s, uint32_t stride, kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = 0; i < s->n && !rc; i++) {
		const kh_piece *p = &s->piece[i];
		const uint64_t first = (uint64_t)p->local * stride, end = first + p->bases;

		for (uint32_t number = first_behind(first); kh_excerpt_at(number) < end && !rc;
		     number++) {
			rc = KH_GROW(e->v, e->cap, e->n + 1, err);
			if (rc)
				break;
			e->v[e->n] = (kh_excerpt) { .seq = p->seq, .number = number };
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

struct joining {
	size_t *first;                  /* where the excerpts of each sequence begin, if all of them
					 * are in a row, and behind it where they end */
	uint64_t n_seqs;
	kh_excerpt **part;              /* at these places; NULL: none is known */
};

static int find_places(struct joining *j, const kh_excerpts *from, size_t n, kh_err *err)
{
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < from[k].n; i++)
			if (from[k].v[i].seq >= j->n_seqs)
				j->n_seqs = from[k].v[i].seq + 1;
	j->first = kh_array(j->n_seqs + 1, sizeof *j->first, err);
	for (size_t k = 0; j->first && k < n; k++)
		for (size_t i = 0; i < from[k].n; i++) {
			size_t *many = &j->first[from[k].v[i].seq + 1];
			const size_t number = from[k].v[i].number;

			*many = *many > number ? *many : number + 1;
		}
	for (uint64_t q = 0; j->first && q < j->n_seqs; q++)
		j->first[q + 1] += j->first[q];
	j->part = j->first ? kh_array(j->first[j->n_seqs], sizeof *j->part, err) : NULL;
	return j->part ? KH_OK : KH_ENOMEM;
}

int kh_excerpts_join(kh_excerpts *to, const kh_excerpts *from, size_t n, kh_err *err)
{
	struct joining j = { .n_seqs = 0 };
	size_t known = 0;
	int rc = find_places(&j, from, n, err);

	for (size_t k = 0; k < n && !rc; k++)
		for (size_t i = 0; i < from[k].n; i++) {
			kh_excerpt *x = &from[k].v[i];
			kh_excerpt **here = &j.part[j.first[x->seq] + x->number];

			known++;
			if (*here)
				add_part(*here, x);
			else
				*here = x;
		}
	if (!rc)
		rc = KH_GROW(to->v, to->cap, known, err);
	to->n = 0;
	for (size_t i = 0; !rc && i < j.first[j.n_seqs]; i++)
		if (j.part[i] && j.part[i]->known == KH_EXCERPT)
			to->v[to->n++] = *j.part[i];
	free(j.first);
	free(j.part);
	return rc;
}
