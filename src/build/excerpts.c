/* excerpts.c - parts of excerpts, and these put together */
#include <config.h>
#include "build/excerpts.h"

#include <stdlib.h>
#include "base/mem.h"
#include "kmer/kmer.h"

/* Copies those bases of a piece that lie in excerpt x->number. */
static void copy_part(kh_excerpt *x, const kh_block_pieces *s, const kh_piece *p, uint64_t first)
{
	const uint64_t from = KH_EXCERPT_FIRST + (uint64_t)x->number * KH_EXCERPT_STEP;

	for (uint64_t i = 0; i < KH_EXCERPT; i++) {
		const uint64_t at = p->at + from + i - first;

		if (from + i < first || from + i >= first + p->bases ||
		    kh_packed_amb(s->amb, at))
			continue;
		x->base[i / 32] |= (uint64_t)kh_packed_base(s->bases, at) << 2 * (i % 32);
		x->known++;
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

static int by_place(const void *a, const void *b)
{
	const kh_excerpt *x = a, *y = b;

	return x->seq != y->seq ? (x->seq > y->seq) - (x->seq < y->seq)
				: (x->number > y->number) - (x->number < y->number);
}

void kh_excerpts_join(kh_excerpts *e)
{
	size_t n = 0;

	if (e->n == 0)
		return;
	qsort(e->v, e->n, sizeof *e->v, by_place);
	for (size_t i = 0, next; i < e->n; i = next) {
		kh_excerpt x = e->v[i];

		for (next = i + 1; next < e->n && by_place(&x, &e->v[next]) == 0; next++) {
			for (int w = 0; w < KH_EXCERPT_WORDS; w++)
				x.base[w] |= e->v[next].base[w];
			x.known += e->v[next].known;
		}
		if (x.known == KH_EXCERPT)
			e->v[n++] = x;
	}
	e->n = n;
}
