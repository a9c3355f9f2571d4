/*
 * alike.c - which strains have their text like a tile that is kept: kmer/text.h
 *
 * Where a tile of another strain was left out, the tiles that it lies on take note of its taxon:
 * among those that are the same there, or among those that differ, which have alleles.  Of both
 * only the LCA is kept.  As an LCA does not depend on the order of taxa, what a database has can be
 * gone on with when genomes are added to it.
 *
 * Of a tile without alleles only the LCA of all is asked for, and a tile that differs from that of
 * its neighbour in nothing else goes with this one.  What only strains of the stretch's own taxon
 * are like is not written.
 */
#include <config.h>
#include "build/build_in.h"

#include "base/mem.h"
#include "kmer/text.h"

/* Of a tile: LCA + 1 of the strains that are the same, or 0, if the stretch's own one is alone; and
 * of those that differ, or 0. */
struct kh_tile_strains {
	uint32_t same, other;
};

static uint32_t lca(const struct build *b, uint32_t x, uint32_t y)
{
	const kh_tree tree = kh_taxonomy_tree(b->taxa.tax);

	return x < y ? kh_tree_lca(&tree, x, y) : kh_tree_lca(&tree, y, x);
}

int kh_build_room_for_strains(struct build *b, uint64_t tiles, kh_err *err)
{
	/* what is not touched takes no memory */
	b->taxa.strains = kh_array((size_t)tiles, sizeof *b->taxa.strains, err);
	return b->taxa.strains ? KH_OK : KH_ENOMEM;
}

void kh_build_end_like(const struct build *b, struct kh_like *last)
{
	struct kh_tile_strains *x = &b->taxa.strains[last->tile];
	const uint32_t taxon = b->taxa.taxon[last->strain];

	if (last->known && last->differs)
		x->other = 1 + (x->other ? lca(b, x->other - 1, taxon) : taxon);
	else if (last->known)
		x->same = 1 + lca(b, x->same ? x->same - 1 : last->own, taxon);
	last->known = false;
}

void kh_build_like(const struct build *b, struct kh_like *last, uint32_t target, uint64_t at,
		   uint64_t end, uint32_t differ)
{
	const struct taxa *t = &b->taxa;

	for (uint64_t i = at / t->tile; i * t->tile < end; i++, differ >>= 1) {
		struct kh_like x = { last->strain, t->tiles[target] + i, t->taxon[target],
				     (differ & 1) != 0, true };

		if (last->known && last->tile == x.tile)
			x.differs |= last->differs;
		else
			kh_build_end_like(b, last);
		*last = x;
	}
}

/* --- tiles of a stretch ------------------------------------------------------------------- */
/* A stretch whose tiles are gone through. */
struct stretch {
	const struct build *b;
	const kh_db_kept *k;
	uint32_t own, each;             /* its taxon; bins of a tile */
	uint64_t tile;                  /* its first one, among those of all targets */
	uint64_t at, bases;             /* where its text begins, and how long it is */
};

static struct stretch stretch_of(const struct build *b, const kh_db_kept *k)
{
	struct stretch s = { .b = b, .k = k, .own = b->taxa.taxon[k->target],
			     .each = b->taxa.tile / b->sampling.stride };

	s.tile = b->taxa.tiles[k->target] + k->at / s.each;
	s.at = kh_build_kept_at(b, k, &s.bases);
	return s;
}

static uint32_t tiles_of(const struct stretch *s)
{
	return (s->k->bins + s->each - 1) / s->each;
}

static bool has_alleles(const struct stretch *s, uint32_t tile)
{
	const uint64_t size = (uint64_t)s->each * s->b->sampling.stride, from = tile * size;
	const uint64_t end = from + size < s->bases ? from + size : s->bases;
	const uint32_t *alleles = s->b->taxa.alleles;

	for (uint64_t i = from / KH_TEXT_WORD; i * KH_TEXT_WORD < end; i++)
		if (alleles[s->at / KH_TEXT_WORD + i] != 0)
			return true;
	return false;
}

/* --- what a database has that is added to ------------------------------------------------- */
/* A taxon of it; if it is gone, the species. */
static uint32_t taxon_now(const struct stretch *s, uint32_t old)
{
	const struct taxa *t = &s->b->taxa;
	const kh_tree tree = kh_taxonomy_tree(t->tax);
	const uint32_t taxid = s->b->base.now[old];
	const uint32_t now = taxid ? kh_taxonomy_find(t->tax, taxid) : KH_NO_TAXON;

	return now == KH_NO_TAXON ? kh_tree_own_species(&tree, s->own) : now;
}

void kh_build_take_strains(struct build *b, const kh_db_kept *old, uint32_t *next)
{
	const kh_db *db = b->o->base;
	const struct stretch s = stretch_of(b, &b->taxa.kept[b->taxa.n_kept - 1]);

	for (uint32_t i = 0; i < tiles_of(&s); i++) {
		const uint64_t bin = old->first_bin + (uint64_t)i * s.each;
		struct kh_tile_strains *x = &b->taxa.strains[s.tile + i];
		uint32_t same = s.own, other = s.own;

		while (*next < db->n_strains &&
		       db->strains[*next].bin + (uint64_t)db->strains[*next].bins <= bin)
			++*next;
		if (*next < db->n_strains && db->strains[*next].bin <= bin) {
			same = taxon_now(&s, db->strains[*next].same);
			other = taxon_now(&s, db->strains[*next].other);
		}
		if (has_alleles(&s, i)) {
			x->other = other + 1;
			x->same = same == s.own ? 0 : same + 1;
		} else if (same != s.own || other != s.own) {
			x->same = 1 + lca(b, same, other);
		}
	}
}

/* --- the section -------------------------------------------------------------------------- */
/* Some tiles of a stretch that are written as one. */
struct run {
	uint32_t from, to;
	uint32_t same, other, all;      /* the LCA of both */
	bool alleles;
};

static int write_run(const struct stretch *s, const struct run *r, bool *any, kh_err *err)
{
	const uint32_t from = r->from * s->each, to = r->to * s->each;
	const kh_text_strains x = { s->k->first_bin + from,
				    (to < s->k->bins ? to : s->k->bins) - from, r->same,
				    r->other };
	int rc = KH_OK;

	if (r->same == s->own && r->other == s->own)
		return KH_OK;
	if (!*any)
		rc = kh_db_begin(s->b->out.w, KH_SEC_STRAINS, err);
	*any = true;
	return rc ? rc : kh_db_append(s->b->out.w, &x, sizeof x, err);
}

static struct run run_of_tile(const struct stretch *s, uint32_t i)
{
	const struct kh_tile_strains *x = &s->b->taxa.strains[s->tile + i];
	struct run r = { .from = i, .to = i + 1, .same = x->same ? x->same - 1 : s->own };

	r.alleles = x->other && has_alleles(s, i);
	r.all = x->other ? lca(s->b, r.same, x->other - 1) : r.same;
	r.other = x->other ? x->other - 1 : r.same;
	if (!r.alleles)
		r.same = r.other = r.all;
	return r;
}

/* Adds the tiles of y to those of r, in front of them, if they can be written as one. */
static bool join(struct run *r, const struct run *y)
{
	if (r->alleles && y->alleles ? r->same != y->same || r->other != y->other
				     : r->all != y->all)
		return false;
	r->to = y->to;
	if (y->alleles) {
		r->alleles = true;
		r->same = y->same;
		r->other = y->other;
	}
	return true;
}

static int write_stretch(const struct stretch *s, bool *any, kh_err *err)
{
	struct run r = run_of_tile(s, 0);
	int rc = KH_OK;

	for (uint32_t i = 1; i < tiles_of(s) && !rc; i++) {
		const struct run y = run_of_tile(s, i);

		if (join(&r, &y))
			continue;
		rc = write_run(s, &r, any, err);
		r = y;
	}
	return rc ? rc : write_run(s, &r, any, err);
}

int kh_build_write_strains(struct build *b, kh_err *err)
{
	const struct taxa *t = &b->taxa;
	bool any = false;
	int rc = KH_OK;

	for (uint32_t i = 0; i < t->n_kept && t->strains && !rc; i++) {
		const struct stretch s = stretch_of(b, &t->kept[i]);

		rc = write_stretch(&s, &any, err);
	}
	return rc;
}
