/*
 * strains.c - which text of a species is kept, where its strains are alike
 *
 * A read that fits a strain fits most others of the species nearly as well.  So the first target of
 * a species is kept whole, and the others are compared with the kept text, in turn, in tiles
 * of 128 bases.  A tile that lies along kept text with at most 3 differing bases in 100 leaves
 * neither text nor seeds; the bases in which it differs become alleles of that text, at each base
 * the first one that comes.  So a species takes the room of its distinct sequence, and alleles are
 * mostly enough to tell its strains apart.
 *
 * Where strains differ by 2 in 100, some tiles have more than 3: what a tile has less than 3 is
 * credit for the tiles behind it on the same text.  A tile may have an insertion or a deletion of
 * up to 8 bases.  Beside tiles that do not fit, one more is kept at each side: another strain with
 * that stretch has its tiles elsewhere, and the tiles that hang over its ends should fit, too.
 *
 * A tile is first compared behind the place of the tile before it; only if it does not fit there,
 * its k-mers are looked up among those of kept tiles.  One worker does a species, so nothing
 * depends on their number.  What becomes of a target follows from its bases and from the text that
 * was kept before it, so targets can be added to a database that has no more than this text.
 *
 * A taxon that other targets are below, such as the species itself, has its targets first, and they
 * are never left out for text of a taxon below it: alleles of the species' own reference are not
 * told from those of several strains (classify/match_strain.h), so no read would be called the
 * strain that the text is of.  Other targets keep their order.
 *
 * Example: strain b has 5000 bases, and is like strain a but for the bases 960 to 1279, which a
 * does not have.  Of the tiles of b, numbers 7, 8 and 9 have some of these.  So tiles 6 to 10, the
 * bases 768 to 1407, are kept of b.
 */
#include <config.h>
#include "build/build_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/threads.h"
#include "build/apart.h"
#include "build/seen.h"
#include "kmer/fit.h"

enum {
	TILE = 128,             /* bases, or those of a bin, if there are more */
	APART = 3,              /* in 100 bases of a tile */
	CREDIT = 1000,          /* at most, in hundredths of a base: 10 more may differ */
	SHIFT = 8,              /* bases of an insertion or a deletion, at most, */
	GAP = 100,              /* and what it takes, in hundredths of a base */
	ZEROS = KH_TEXT_SPAN / 32 + 4
};

/* A target of a species. */
struct member {
	uint32_t target;
	uint64_t at, bases;             /* where its text begins, and how long it is */
	uint8_t *kept;                  /* by tile: KH_TILE_KEPT and so on */
	uint32_t taxon, turn;           /* turn: the lesser first, and then the lesser target */
	bool old;                       /* of the database that is added to */
};

/* A place in the kept text of a species. */
struct place {
	uint32_t member, strand;
	int64_t at;
	bool known;
};

struct species {
	uint32_t number;
	uint32_t first, n;              /* of the members */
	uint64_t bases;
};

struct choosing {
	const struct build *b;
	const uint32_t *text;
	kh_tree tree;
	uint32_t tile;
	struct member *member;
	struct species *species;
	uint32_t n_species;
};

/* A species while its members are visited, one after another. */
struct visit {
	const struct choosing *s;
	struct member *member;
	uint32_t taxon;                 /* of the member whose tiles are compared */
	struct kh_like like;            /* the tile that it was like last */
	kh_seen seen;                   /* k-mers of the kept text */
	kh_oriented tile[2];
	struct place last;              /* of the tile before, if it was found */
	int32_t credit;                 /* of the tiles that lie there */
	bool beside;                    /* the tile before was kept, as it does not fit */
	/* k-mers of a row, and how many; they are sampled when the first one is wanted */
	uint64_t key[KH_SEEN_OF_ROW];
	uint32_t pos[KH_SEEN_OF_ROW];
	size_t n, next;
	bool sampled;
};

static const uint32_t zeros[ZEROS];

/* --- one tile -------------------------------------------------------------------------- */
static bool is_kept(const struct visit *g, const struct member *m, int64_t at, uint32_t n)
{
	const int64_t tile = g->s->tile;

	if (at < 0 || (uint64_t)at + n > m->bases)
		return false;
	for (int64_t i = at / tile; i <= (at + n - 1) / tile; i++)
		if (!m->kept[i])
			return false;
	return true;
}

/* May what is like text of a member be left out?  Not if that is of a taxon below. */
static bool may_be_like(const struct visit *g, const struct member *m)
{
	return m->taxon == g->taxon || !kh_tree_within(&g->s->tree, g->taxon, m->taxon);
}

/* Notes the alleles that the columns from .. to - 1 of a tile have, which lies there. */
static void note_alleles(struct visit *g, const struct place *p, uint32_t from, uint32_t to)
{
	const struct member *m = &g->member[p->member];
	const uint64_t first = ((uint64_t)p->at + from) / g->s->tile;
	uint32_t *alleles = g->s->b->taxa.alleles, differ = 0;

	for (uint32_t i = from / 32 * 32; i < to; i += 32) {
		const uint64_t x = g->tile[p->strand].base[i / 32] ^
				   kh_text_bases(g->s->text, m->at + (uint64_t)p->at + i);
		uint64_t left = kh_text_differ(x, 0) & kh_text_first(to - i < 32 ? to - i : 32);

		left &= from > i ? ~kh_text_first(from - i) : UINT64_MAX;
		for (; left != 0; left &= left - 1) {
			const uint32_t column = kh_text_lowest(left);
			const uint64_t at = (uint64_t)p->at + i + column;
			const uint64_t word = (m->at + at) / KH_TEXT_WORD;
			const uint32_t sh = 2 * ((m->at + at) % KH_TEXT_WORD);

			differ |= 1u << (at / g->s->tile - first);
			if ((alleles[word] >> sh & 3) != 0)
				continue;
			alleles[word] |= (uint32_t)(x >> 2 * column & 3) << sh;
			m->kept[at / g->s->tile] |= KH_TILE_ALLELES;
		}
	}
	if (from < to)
		kh_build_like(g->s->b, &g->like, m->target, (uint64_t)p->at + from,
			      (uint64_t)p->at + to, differ);
}

/* Does a tile of n bases fit, of which so many differ, with the credit of the tiles before? */
static bool affords(struct visit *g, uint32_t n, uint32_t apart, int32_t gap)
{
	const int32_t left = g->credit + (int32_t)(n * APART) - (int32_t)(100 * apart) - gap;

	if (left < 0)
		return false;
	g->credit = left < CREDIT ? left : CREDIT;
	return true;
}

/* The tile, of n bases, as it lies there. */
static kh_apart_tile lies(const struct visit *g, const struct place *p, uint32_t n)
{
	return (kh_apart_tile) { &g->tile[p->strand], g->s->text,
				 g->member[p->member].at + (uint64_t)p->at, n };
}

/* Does the tile fit the kept text there? */
static bool fits(struct visit *g, const struct place *p, uint32_t n)
{
	kh_apart_tile t;
	kh_apart apart;

	if (!may_be_like(g, &g->member[p->member]) ||
	    !is_kept(g, &g->member[p->member], p->at, n))
		return false;
	t = lies(g, p, n);
	kh_apart_count(&t, &apart);
	if (!affords(g, n, apart.sum[apart.parts], 0))
		return false;
	note_alleles(g, p, 0, n);
	return true;
}

/* Does the tile fit with an insertion or a deletion, behind which its later part lies at q?  The
 * reverse complement of a tile has its later part in front. */
static bool fits_both(struct visit *g, const struct place *p, const struct place *q, uint32_t n)
{
	const struct place *front = p->strand ? q : p, *end = p->strand ? p : q;
	const kh_apart_tile in_front = lies(g, front, n), behind = lies(g, end, n);
	kh_apart x, y;
	uint32_t cut = 0;

	kh_apart_count(&in_front, &x);
	kh_apart_count(&behind, &y);
	if (!affords(g, n, kh_apart_least(&x, &y, &cut), GAP))
		return false;
	cut = kh_apart_cut(&in_front, &behind, cut);
	note_alleles(g, front, 0, cut);
	note_alleles(g, end, cut, n);
	return true;
}

/* Does it fit with any insertion or deletion of up to SHIFT bases?  *p becomes where its later part
 * lies, by the order of the target. */
static bool fits_shifted(struct visit *g, struct place *p, uint32_t n)
{
	const struct member *m = &g->member[p->member];

	if (!is_kept(g, m, p->at, n))
		return false;
	for (int d = 1; d <= 2 * SHIFT; d++) {
		struct place q = *p;

		q.at += d % 2 ? (d + 1) / 2 : -(d / 2);
		if (is_kept(g, m, q.at, n) && fits_both(g, p, &q, n)) {
			*p = q;
			return true;
		}
	}
	return false;
}

/* A tile of n bases, from base `at` of a target on, and where it is in its row. */
struct tile {
	uint64_t at;
	uint32_t n, offset;
};

/* The k-mers of the row that a tile is in. */
static void sample_row(struct visit *g, const struct member *m, const struct tile *t)
{
	const uint64_t at = t->at - t->offset;

	g->sampled = true;
	g->next = 0;
	g->n = kh_seen_sample(g->s->text, m->at + at, m->bases - at, g->key, g->pos);
	for (size_t i = 0; i < g->n; i++)
		__builtin_prefetch(kh_seen_first(&g->seen, g->key[i]));
}

/* Finds where the tile fits the kept text: behind the tile before it, or where one of its k-mers
 * was seen; the first place, if there are several. */
static bool find(struct visit *g, const struct member *m, const struct tile *t)
{
	struct place p = g->last;

	if (p.known) {
		p.at = p.strand ? p.at - t->n : p.at + g->s->tile;
		if (fits(g, &p, t->n) || fits_shifted(g, &p, t->n)) {
			g->last = p;
			return true;
		}
	}
	g->credit = 0;
	if (!g->sampled)
		sample_row(g, m, t);
	while (g->next < g->n && g->pos[g->next] < t->offset)
		g->next++;
	for (size_t i = g->next; i < g->n && g->pos[i] < t->offset + t->n; i++) {
		const kh_seen_at *seen = kh_seen_slot(&g->seen, g->key[i]);
		const int64_t begins = g->pos[i] - t->offset;

		for (uint32_t j = 0; seen->key != 0 && j < 4; j++) {
			const uint32_t strand = j % 2;

			p = (struct place) { seen->place[j / 2].member, strand, 0, true };
			p.at = seen->place[j / 2].at -
			       (strand ? (int64_t)t->n - KH_SEEN_K - begins : begins);
			if (fits(g, &p, t->n)) {
				g->last = p;
				return true;
			}
		}
	}
	g->last.known = false;
	return false;
}

static uint32_t bases_of_tile(const struct visit *g, const struct member *m, uint64_t number)
{
	const uint64_t left = m->bases - number * g->s->tile;

	return left < g->s->tile ? (uint32_t)left : g->s->tile;
}

/* Remembers the k-mers that lie in a kept tile whole, as the next tile may not be kept. */
static int remember(struct visit *g, uint32_t member, uint64_t number, kh_err *err)
{
	const struct member *m = &g->member[member];
	const uint64_t at = number * g->s->tile;
	uint64_t key[KH_SEEN_OF_TILE];
	uint32_t pos[KH_SEEN_OF_TILE];
	const size_t n = kh_seen_sample(g->s->text, m->at + at, bases_of_tile(g, m, number), key,
					pos);
	int rc = KH_OK;

	for (size_t i = 0; i < n && !rc; i++)
		rc = kh_seen_add(&g->seen, key[i], member, (uint32_t)at + pos[i], err);
	return rc;
}

static int keep(struct visit *g, uint32_t member, uint64_t number, kh_err *err)
{
	g->member[member].kept[number] |= KH_TILE_KEPT;
	return remember(g, member, number, err);
}

static int visit_tile(struct visit *g, uint32_t member, const struct tile *t, kh_err *err)
{
	const struct member *m = &g->member[member];
	const uint64_t at = m->at + t->at, number = t->at / g->s->tile;
	const bool beside = g->beside;
	int rc = KH_OK;

	kh_text_read(g->tile, (const uint64_t *)(const void *)g->s->text + at / 32, zeros, at % 32,
		     t->n);
	g->beside = !find(g, m, t);
	if (!g->beside)
		return beside ? keep(g, member, number, err) : KH_OK;
	if (number > 0 && !m->kept[number - 1])
		rc = keep(g, member, number - 1, err);
	return rc ? rc : keep(g, member, number, err);
}

/* --- a species ------------------------------------------------------------------------- */
static int remember_kept(struct visit *g, uint32_t member, kh_err *err)
{
	const struct member *m = &g->member[member];
	int rc = KH_OK;

	for (uint64_t i = 0; i * g->s->tile < m->bases && !rc; i++)
		rc = m->kept[i] ? remember(g, member, i, err) : KH_OK;
	return rc;
}

static int visit_member(struct visit *g, uint32_t member, kh_err *err)
{
	const struct member *m = &g->member[member];
	int rc = KH_OK;

	g->taxon = m->taxon;
	g->last.known = g->beside = false;
	g->like = (struct kh_like) { .strain = m->target };
	for (uint64_t at = 0; at < m->bases && !rc; at += KH_SEEN_ROW) {
		const uint64_t left = m->bases - at;
		struct tile t = { .at = at };

		g->sampled = false;
		for (; t.offset < KH_SEEN_ROW && t.offset < left && !rc; t.offset += g->s->tile) {
			t.at = at + t.offset;
			t.n = bases_of_tile(g, m, t.at / g->s->tile);
			rc = visit_tile(g, member, &t, err);
		}
	}
	kh_build_end_like(g->s->b, &g->like);
	return rc;
}

static int visit_species(struct choosing *s, const struct species *x, kh_err *err)
{
	struct visit *g = kh_array(1, sizeof *g, err);
	int rc;

	if (!g)
		return KH_ENOMEM;
	g->s = s;
	g->member = s->member + x->first;
	rc = kh_seen_init(&g->seen, (size_t)g->member[0].bases / KH_SEEN_EACH, err);
	for (uint32_t i = 0; i < x->n && !rc; i++)
		rc = i == 0 || g->member[i].old ? remember_kept(g, i, err)
						: visit_member(g, i, err);
	kh_seen_clear(&g->seen);
	free(g);
	return rc;
}

static int choose_species(void *arg, size_t i, kh_err *err)
{
	struct choosing *s = arg;
	const struct species *x = &s->species[i];
	const struct member *first = &s->member[x->first], *last = first + x->n - 1;

	if (x->n == 1)
		first->kept[0] = KH_TILE_WHOLE;
	else if (!first->old)
		memset(first->kept, KH_TILE_KEPT, (size_t)(first->bases / s->tile + 1));
	return last > first && !last->old ? visit_species(s, x, err) : KH_OK;
}

/* --- all species ------------------------------------------------------------------------ */
static int largest_first(const void *a, const void *b)
{
	const struct species *x = a, *y = b;

	if (x->bases != y->bases)
		return x->bases < y->bases ? 1 : -1;
	return (x->number > y->number) - (x->number < y->number);
}

static int in_turn(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->turn != y->turn)
		return x->turn < y->turn ? -1 : 1;
	return (x->target > y->target) - (x->target < y->target);
}

/* When a target has its turn: numbers of taxa are in preorder. */
static uint32_t turn_of(const kh_tree *tree, uint32_t taxon, bool old)
{
	return old ? 0 : tree->end[taxon] > taxon + 1 ? taxon : UINT32_MAX;
}

/* The targets by species. */
static int gather(struct choosing *s, uint8_t *kept, const uint64_t *tiles, kh_err *err)
{
	const struct taxa *t = &s->b->taxa;
	uint32_t *n = kh_array(t->tax->n + 1, sizeof *n, err), at = 0;

	s->member = kh_array(t->n_targets, sizeof *s->member, err);
	s->species = kh_array(t->tax->n, sizeof *s->species, err);
	if (!n || !s->member || !s->species) {
		free(n);
		return KH_ENOMEM;
	}
	for (uint32_t i = 0; i < t->n_targets; i++)
		n[kh_tree_own_species(&s->tree, t->taxon[i])]++;
	for (uint32_t x = 0; x < t->tax->n; x++) {
		if (n[x] == 0)
			continue;
		s->species[s->n_species] = (struct species) { s->n_species, at, 0, 0 };
		at += n[x];
		n[x] = s->n_species++;
	}
	for (uint32_t i = 0; i < t->n_targets; i++) {
		const uint32_t taxon = t->taxon[i];
		struct species *x = &s->species[n[kh_tree_own_species(&s->tree, taxon)]];
		const kh_ref *r = &s->b->refs.ref[t->target[i]];
		const bool old = t->target[i] < s->b->base.n;

		x->bases += r->bases;
		s->member[x->first + x->n++] = (struct member) {
			i, (uint64_t)r->first_bin * s->b->sampling.stride, r->bases,
			kept + tiles[i], taxon, turn_of(&s->tree, taxon, old), old
		};
	}
	for (uint32_t i = 0; i < s->n_species; i++)
		qsort(s->member + s->species[i].first, s->species[i].n, sizeof *s->member, in_turn);
	qsort(s->species, s->n_species, sizeof *s->species, largest_first);
	free(n);
	return KH_OK;
}

int kh_build_keep(struct build *b, kh_err *err)
{
	struct taxa *t = &b->taxa;
	const uint32_t stride = b->sampling.stride;
	struct choosing s = { .b = b, .tree = kh_taxonomy_tree(t->tax),
			      .tile = stride > TILE ? stride : TILE };
	uint64_t *tiles = kh_array((size_t)t->n_targets + 1, sizeof *tiles, err);
	uint8_t *kept = NULL;
	uint32_t n_old = 0;
	int rc;

	t->tiles = tiles;
	t->tile = s.tile;
	rc = tiles ? kh_build_text_join(b, &s.text, err) : KH_ENOMEM;

	for (uint32_t i = 0; i < t->n_targets && !rc; i++)
		tiles[i + 1] = tiles[i] + b->refs.ref[t->target[i]].bases / s.tile + 1;
	if (!rc && !(kept = kh_array((size_t)tiles[t->n_targets], 1, err)))
		rc = KH_ENOMEM;
	for (uint32_t i = 0; i < t->n_targets && !rc && b->o->keep_all; i++)
		kept[tiles[i]] = KH_TILE_WHOLE;
	if (!rc && !b->o->keep_all)
		rc = gather(&s, kept, tiles, err);
	if (!rc && (s.n_species < t->n_targets || b->o->base)) {
		rc = kh_build_room_for_alleles(b, err);
		if (!rc)
			rc = kh_build_room_for_strains(b, tiles[t->n_targets], err);
	}
	if (!rc)
		rc = kh_build_keep_old(b, kept, tiles, s.tile, &n_old, err);
	if (!rc && !b->o->keep_all)
		rc = kh_each(s.b->o->threads, s.n_species, choose_species, &s, err);
	for (uint32_t i = n_old; i < t->n_targets && !rc; i++)
		rc = kept[tiles[i]] == KH_TILE_WHOLE
			     ? kh_build_keep_whole(b, i, err)
			     : kh_build_keep_tiles(b, i, kept + tiles[i], s.tile, err);
	if (!rc)
		rc = kh_build_find_alleles(b, s.text, kept, tiles, s.tile, err);
	free(s.member);
	free(s.species);
	free(kept);
	return rc;
}
