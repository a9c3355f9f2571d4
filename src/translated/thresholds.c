/*
 * thresholds.c - the least score at which a fragment is called each genus
 *
 * Fragments of a genus that the database lacks are called a close genus that it has.  How high
 * they score is estimated by leaving out each genus g in turn: its text is cut into fragments of
 * two tiles of 150 bases, and these are compared with the text of each genus t with which g shares
 * a key that no other genus has.  The threshold of t is above the scores of 98 in 100 fragments of
 * any such g.  Fragments with so many equal bases that the rule for DNA would call them do not
 * count.
 */
#include <config.h>
#include "translated/make_in.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/threads.h"
#include "kmer/fit.h"
#include "translated/score.h"

enum {
	TILE = 50,              /* codons */
	BASES = 3 * TILE,
	EXACT = 18,             /* bases in a row that match, */
	EXACT_MOST = 15,        /* at so many places: the DNA rule has seen it */
	GOES_ON = 40,           /* of a tile on whose diagonal the next one is compared */
	FRAGMENTS = 500,        /* that a genus must have to set thresholds */
	PER_1000 = 20,
	NEAR = 240              /* a threshold that only a close genus sets */
};

/* How well a tile fits another genus. */
struct fit {
	uint32_t tile, genus, score, exact;
	int64_t shift;
};

/* The best fit of a fragment. */
struct best {
	uint32_t genus, score;
};

struct thresholds {
	kh_translated_made *m;
	kh_shared_key *key;             /* of all genera, by these */
	_Atomic size_t *end;            /* of those of each genus */
	_Atomic uint32_t *threshold;
};

/* The genus that is left out. */
struct genus {
	const struct thresholds *a;
	uint32_t number, tiles;
	kh_shared_key *key;
	size_t n_keys;
	struct fit *fit;
	size_t n_fits, cap_fits;
	struct best *best;
	size_t n_best, cap_best;
	uint64_t tile[BASES / 32 + 3];  /* of one of its tiles, the bases */
	uint32_t read;                  /* its number */
};

/* --- shared keys ------------------------------------------------------------------------ */
/* Adds the places of one of two genera that a key has. */
static int add_shared(const kh_translated_made *m, kh_range_made *r, const kh_key_at *key,
		      size_t n, const uint32_t genus[2], uint32_t place, kh_err *err)
{
	const uint32_t k = m->head.k, first = m->genus[genus[0]].first;
	int rc = KH_GROW(r->shared, r->cap_shared, r->n_shared + n, err);

	for (size_t i = 0; i < n && !rc; i++) {
		const uint32_t at = (uint32_t)key[i];

		if ((at - first) % TILE + k <= TILE)
			r->shared[r->n_shared++] = (kh_shared_key) {
				genus[0], (at - first) / TILE, genus[1], (int64_t)place - at
			};
	}
	return rc;
}

int kh_shared_find(kh_translated_made *m, kh_range_made *r, kh_err *err)
{
	const kh_key_at *key = m->key;
	int rc = KH_OK;

	for (size_t i = r->begin, end, second; i < r->end && !rc; i = end) {
		uint32_t genus[3] = { 0 };

		for (end = i + 1; end < r->end && key[end] >> 32 == key[i] >> 32;)
			end++;
		if (end == i + 1)
			continue;
		/* places ascend, and genera with them */
		genus[0] = genus[2] = kh_genus_at(m, (uint32_t)key[i]);
		genus[1] = kh_genus_at(m, (uint32_t)key[end - 1]);
		for (second = i + 1; second < end && genus[2] == genus[0]; second++)
			genus[2] = kh_genus_at(m, (uint32_t)key[second]);
		if (genus[0] == genus[1] || genus[2] != genus[1])
			continue;
		second--;
		rc = add_shared(m, r, key + i, second - i, genus, (uint32_t)key[second], err);
		genus[2] = genus[0];
		if (!rc)
			rc = add_shared(m, r, key + second, end - second, genus + 1,
					(uint32_t)key[i], err);
	}
	return rc;
}

static int count_shared(void *arg, size_t range, kh_err *err)
{
	const struct thresholds *a = arg;
	const kh_range_made *r = &a->m->range[range];

	(void)err;
	for (size_t i = 0; i < r->n_shared; i++)
		a->end[r->shared[i].of]++;
	return KH_OK;
}

static int join_shared(void *arg, size_t range, kh_err *err)
{
	const struct thresholds *a = arg;
	kh_range_made *r = &a->m->range[range];

	(void)err;
	for (size_t i = 0; i < r->n_shared; i++)
		a->key[a->end[r->shared[i].of]++] = r->shared[i];
	free(r->shared);
	r->shared = NULL;
	return KH_OK;
}

/* Puts the shared keys of each genus together, in any order. */
static int sort_shared(struct thresholds *a, kh_err *err)
{
	const unsigned threads = a->m->in->threads;
	size_t at = 0;
	int rc = kh_each(threads, KH_TRANSLATED_RANGES, count_shared, a, err);

	for (uint32_t i = 0; i < a->m->head.genera; i++) {
		const size_t n = a->end[i];

		a->end[i] = at;
		at += n;
	}
	a->key = kh_array_large(at, sizeof *a->key, err);
	if (!rc && !a->key)
		rc = KH_ENOMEM;
	return rc ? rc : kh_each(threads, KH_TRANSLATED_RANGES, join_shared, a, err);
}

/* --- tiles ----------------------------------------------------------------------------- */
/* Where the columns of a tile match 18 in a row. */
static uint32_t exact_in(const kh_laid *l)
{
	uint32_t from = 0, n = 0;

	for (uint32_t i = 0; i < BASES; i += 32) {
		uint64_t x = kh_text_differ(l->read->base[i / 32], kh_text_bases(l->text, i));

		for (; x; x &= x - 1) {
			const uint32_t column = i + (uint32_t)__builtin_ctzll(x) / 2;

			if (column >= BASES)
				break;
			n += column - from >= EXACT ? column - from - EXACT + 1 : 0;
			from = column + 1;
		}
	}
	return n + (BASES - from >= EXACT ? BASES - from - EXACT + 1 : 0);
}

static void fit_tile(struct genus *g, struct fit *f)
{
	const kh_translated_made *m = g->a->m;
	const uint32_t codon = m->genus[g->number].first + TILE * f->tile;
	const int64_t at = (int64_t)codon + f->shift;
	uint64_t other[BASES / 32 + 3] = { 0 };
	kh_oriented o = { .base = { 0 } };
	const kh_laid l = { &o, BASES, (const void *)other, NULL, 0, BASES, NULL };

	f->score = f->exact = 0;
	if (at < 0 || (uint64_t)at + TILE > m->codons)
		return;
	if (g->read != f->tile)
		kh_read_codons(m, codon, TILE, g->tile);
	g->read = f->tile;
	kh_read_codons(m, (uint32_t)at, TILE, other);
	memcpy(o.base, g->tile, sizeof g->tile);
	const kh_alignment fit = kh_text_fit(&l, 0, 0, BASES);

	f->score = kh_translated_score(fit.matches, fit.columns);
	f->exact = exact_in(&l);
}

static int by_tile(const void *a, const void *b)
{
	const kh_shared_key *x = a, *y = b;

	if (x->tile != y->tile)
		return x->tile < y->tile ? -1 : 1;
	if (x->genus != y->genus)
		return x->genus < y->genus ? -1 : 1;
	return (x->shift > y->shift) - (x->shift < y->shift);
}

/* The best fit of each tile and genus. */
static int fit_tiles(struct genus *g, kh_err *err)
{
	int rc = KH_OK;

	if (g->n_keys > 0)
		qsort(g->key, g->n_keys, sizeof *g->key, by_tile);
	for (size_t i = 0; i < g->n_keys && !rc; i++) {
		const kh_shared_key *key = &g->key[i];
		struct fit f = { .tile = key->tile, .genus = key->genus, .shift = key->shift };
		struct fit *last = g->n_fits > 0 ? &g->fit[g->n_fits - 1] : NULL;

		if (f.tile >= g->tiles || (i > 0 && by_tile(key, key - 1) == 0))
			continue;
		fit_tile(g, &f);
		if (last && last->tile == f.tile && last->genus == f.genus) {
			if (f.score > last->score)
				*last = f;
			continue;
		}
		rc = kh_grow((void **)&g->fit, &g->cap_fits, g->n_fits + 1, sizeof *g->fit, err);
		if (!rc)
			g->fit[g->n_fits++] = f;
	}
	return rc;
}

/* --- fragments ------------------------------------------------------------------------- */
/* Adds to the fit of a tile that of its neighbour with the same genus, f[0] to f[n - 1] being all
 * that this has; or, if that has none, the neighbour on the diagonal of the tile. */
static void add_neighbour(struct genus *g, struct fit *sum, uint32_t tile,
			  const struct fit *f, size_t n)
{
	struct fit next = { .tile = tile, .genus = sum->genus, .shift = sum->shift };

	for (size_t i = 0; i < n; i++)
		if (f[i].genus == sum->genus) {
			sum->score += f[i].score;
			sum->exact += f[i].exact;
			return;
		}
	if (sum->score < GOES_ON)
		return;
	fit_tile(g, &next);
	sum->score += next.score;
	sum->exact += next.exact;
}

/* A fragment of a tile, with n fits, and its neighbour, which has n_next. */
static int fit_fragment(struct genus *g, const struct fit *f, size_t n, uint32_t neighbour,
			const struct fit *next, size_t n_next, kh_err *err)
{
	struct best best = { 0, 0 };
	int rc;

	for (size_t i = 0; i < n; i++) {
		struct fit sum = f[i];

		add_neighbour(g, &sum, neighbour, next, n_next);
		if (sum.exact < EXACT_MOST && sum.score > best.score)
			best = (struct best) { sum.genus, sum.score };
	}
	if (best.score == 0)
		return KH_OK;
	rc = kh_grow((void **)&g->best, &g->cap_best, g->n_best + 1, sizeof *g->best, err);
	if (!rc)
		g->best[g->n_best++] = best;
	return rc;
}

static int fit_fragments(struct genus *g, kh_err *err)
{
	size_t before = 0, here = 0, next;
	int rc = KH_OK;

	for (; here < g->n_fits && !rc; before = here, here = next) {
		const struct fit *f = &g->fit[here];
		size_t end;

		for (next = here; next < g->n_fits && g->fit[next].tile == f->tile; next++)
			;
		for (end = next; end < g->n_fits && g->fit[end].tile == f->tile + 1; end++)
			;
		if (f->tile + 1 < g->tiles)
			rc = fit_fragment(g, f, next - here, f->tile + 1, &g->fit[next], end - next,
					  err);
		if (!rc && f->tile > 0 && (here == 0 || g->fit[before].tile + 1 != f->tile))
			rc = fit_fragment(g, f, next - here, f->tile - 1, NULL, 0, err);
	}
	return rc;
}

static int highest_first(const void *a, const void *b)
{
	const struct best *x = a, *y = b;

	if (x->genus != y->genus)
		return x->genus < y->genus ? -1 : 1;
	return (x->score < y->score) - (x->score > y->score);
}

static void raise_to(_Atomic uint32_t *threshold, uint32_t to)
{
	uint32_t is = atomic_load(threshold);

	while (is < to && !atomic_compare_exchange_weak(threshold, &is, to))
		;
}

/* Raises the thresholds of other genera to what fragments of this one score. */
static void raise_others(struct genus *g)
{
	const size_t rank = (size_t)(g->tiles - 1) * PER_1000 / 1000;

	if (g->n_best > 0)
		qsort(g->best, g->n_best, sizeof *g->best, highest_first);
	for (size_t i = 0, end; i < g->n_best; i = end) {
		for (end = i; end < g->n_best && g->best[end].genus == g->best[i].genus; end++)
			;
		if (rank < end - i)
			raise_to(&g->a->threshold[g->best[i].genus],
				 g->best[i + rank].score + 1);
	}
}

static int leave_out(void *arg, size_t i, kh_err *err)
{
	struct thresholds *a = arg;
	const size_t first = i > 0 ? a->end[i - 1] : 0;
	struct genus g = { .a = a, .number = (uint32_t)i, .key = a->key + first,
			   .n_keys = a->end[i] - first, .read = UINT32_MAX };
	int rc = KH_OK;

	g.tiles = (uint32_t)(a->m->made[i].codons / TILE);
	if (g.tiles > FRAGMENTS)
		rc = fit_tiles(&g, err);
	if (!rc && g.tiles > FRAGMENTS)
		rc = fit_fragments(&g, err);
	if (!rc)
		raise_others(&g);
	free(g.fit);
	free(g.best);
	return rc;
}

/* The threshold of a genus that has a close one in the database keeps these two apart, so that it
 * is called itself, however many species of its family are elsewhere. */
static void raise_genus(kh_translated_genus *g, uint32_t threshold)
{
	if (threshold > g->threshold)
		g->threshold = threshold;
	if (g->threshold >= NEAR)
		g->called = g->taxon;
}

int kh_thresholds_make(kh_translated_made *m, kh_err *err)
{
	const uint32_t n = m->head.genera;
	struct thresholds a = { .m = m };
	int rc = KH_ENOMEM;

	a.end = kh_array(n, sizeof *a.end, err);
	a.threshold = kh_array(n, sizeof *a.threshold, err);
	if (a.end && a.threshold)
		rc = sort_shared(&a, err);
	if (!rc)
		rc = kh_each(m->in->threads, n, leave_out, &a, err);
	for (uint32_t i = 0; i < n && !rc; i++)
		raise_genus(&m->genus[i], a.threshold[i]);
	free(a.key);
	free((void *)a.end);
	free((void *)a.threshold);
	return rc;
}
